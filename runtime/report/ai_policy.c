/* Finds a repository's policy on patches by programs: a policy file, or a section of its
 * contribution guide. Some projects reject such patches or want them marked, so `pr` shows the
 * policy to the user before writing anything. The program itself does not interpret the policy. */
#include <string.h>

#include "report/report_private.h"

#define MAX_LINES 60u
#define MAX_LINE_BYTES 200u

/* Returns the lower-case name of a file without its folder; NULL if the file is not in a folder
 * that may have a policy. Owned. */
static char *policy_name(const char *path)
{
    static const char *const folders[] = {".", ".github", ".gitlab", "docs", NULL};
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(path);
    g_autofree char *lower = g_ascii_strdown(name, -1);
    GString *letters = g_string_new(NULL);
    for (const char *at = lower; *at && *at != '.'; at++)
        if (g_ascii_isalpha(*at))
            g_string_append_c(letters, *at);
    return g_string_free(letters, !g_strv_contains(folders, folder));
}

/* Returns the level of a heading in Markdown ("## Title" or underlined); 0 if the line is not a
 * heading. */
static guint heading_level(char *const *line)
{
    static const char marks[] = "=-~^";
    gsize hashes = strspn(line[0], "#"), len = line[1] ? strlen(line[1]) : 0;
    if (hashes > 0)
        return (guint)hashes;
    for (guint i = 0; line[0][0] && len >= 3 && marks[i]; i++)
        if (strspn(line[1], (const char[]){marks[i], '\0'}) == len)
            return i + 1;
    return 0;
}

static bool is_about_ai(const char *heading)
{
    static const char words[] = " ai | llm | llms | genai | artificial intelligence | generative "
                                "| language model| copilot | chatgpt | machine generated ";
    g_autofree char *text = g_strdup_printf(" %s ", heading);
    for (char *at = text; *at; at++)
        *at = g_ascii_isalpha(*at) ? g_ascii_tolower(*at) : ' ';
    g_auto(GStrv) list = g_strsplit(words, "|", -1);
    for (char **word = list; *word; word++)
        if (strstr(text, *word))
            return true;
    return false;
}

/* Adds the text from line `i` up to the next heading of at most `level`; with 0, up to the end. */
static void add_lines(AcrJson *out, char *const *lines, guint i, guint level)
{
    guint begin = i;
    for (; lines[i] && acr_json_size(out) < MAX_LINES; i++) {
        guint next = i > begin ? heading_level(&lines[i]) : 0;
        if (level > 0 && next > 0 && next <= level)
            return;
        g_autofree char *visible = acr_text_visible(lines[i]);
        g_autofree char *shown = acr_text_shorten(g_strchomp(visible), MAX_LINE_BYTES);
        if (*shown || acr_json_size(out) > 0)
            acr_json_append(out, acr_json_new_string(shown));
    }
}

/* Returns the lines of a file that are its policy: all lines, or, of a guide, those under the first
 * heading about AI. */
static AcrJson *policy_lines(const char *text, bool is_guide)
{
    AcrJson *out = acr_json_new_array();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; is_guide && lines[i]; i++)
        if (heading_level(&lines[i]) > 0 && is_about_ai(lines[i])) {
            add_lines(out, lines, i, heading_level(&lines[i]));
            return out;
        }
    if (!is_guide)
        add_lines(out, lines, 0, 0);
    return out;
}

static AcrJson *policy_of_snapshot(AcrSnapshot *snapshot, const char *wanted, bool is_guide)
{
    for (gsize i = 0; i < acr_snapshot_size(snapshot); i++) {
        const char *path = acr_snapshot_entry(snapshot, i)->path;
        g_autofree char *name = policy_name(path);
        if (!name || !g_str_has_prefix(name, wanted))
            continue;
        g_autoptr(GBytes) bytes = acr_snapshot_read(snapshot, i, NULL);
        g_autofree char *raw = acr_bytes_text(bytes);
        g_autofree char *text = acr_utf8_repair(raw, strlen(raw));
        g_autoptr(AcrJson) lines = policy_lines(text, is_guide);
        if (acr_json_size(lines) > 0)
            return acr_json_of(ACR_STRING("path", path), ACR_JSON("lines", g_steal_pointer(&lines)),
                               NULL);
    }
    return NULL;
}

AcrJson *acr_pull_policy(const AcrRunSpec *spec)
{
    static const char *const names[] = {"aipolic", "llmpolic", "aiusage", "generativeai"};
    g_auto(AcrOrigin) origin = {0};
    AcrJson *policy = NULL;
    if (!acr_origin_read(spec->arguments[0], &origin, NULL) || !origin.commit)
        return NULL;
    const char *place = spec->repo ? spec->repo : origin.repo;
    g_autoptr(AcrRepo) repo = place ? acr_repo_open(place, NULL) : NULL;
    g_autoptr(AcrSnapshot) snapshot =
        repo ? acr_snapshot_of_commit(repo, origin.commit, NULL) : NULL;
    for (guint i = 0; snapshot && !policy && i < G_N_ELEMENTS(names); i++)
        policy = policy_of_snapshot(snapshot, names[i], false);
    return policy || !snapshot ? policy : policy_of_snapshot(snapshot, "contributing", true);
}
