/* acr-host help TOPIC|VERB: prints a guide of docs/ or, if a verb has no guide, its --help. The
 * topic `skill` is the file from which other agents learn to use the program; those agents require
 * the file's name and folder. */
#include <string.h>
#include <unistd.h>

#include "search/search.h"
#include "verbs/screen.h"
#include "verbs/verbs_private.h"

#define MAX_GUIDE_BYTES ((gsize)1024 * 1024)
#define ENDING ".md"
#define SKILL "skill"
#define TOPICS_A_LINE 4
#define TOPIC_WIDTH 18
#define SKILL_PATH "skills/acr-host/SKILL" ENDING

GPtrArray *acr_help_topics(const AcrHost *host)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *folder = g_build_filename(host->python_dir, "..", "docs", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));)
        if (g_str_has_suffix(name, ENDING) && !g_str_has_prefix(name, "README"))
            g_ptr_array_add(names, g_strndup(name, strlen(name) - strlen(ENDING)));
    g_ptr_array_add(names, g_strdup(SKILL));
    g_ptr_array_sort(names, acr_compare_names);
    return names;
}

static AcrExit refuse_topic(const AcrHost *host, const char *name)
{
    g_autoptr(GPtrArray) topics = acr_help_topics(host);
    g_ptr_array_add(topics, NULL);
    char **names = (char **)topics->pdata;
    g_autofree char *list = g_strjoinv(", ", names);
    const char *topic = acr_nearest_name(name, (const char *const *)names),
               *nearest = topic ? topic : acr_verb_nearest(name);
    acr_verb_say("there is no topic '%s'%s%s%s; give a verb, or one of: %s", name,
                 nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "",
                 list);
    return ACR_EXIT_USAGE;
}

char *acr_usage_text(const AcrHost *host)
{
    g_autoptr(GPtrArray) topics = acr_help_topics(host);
    GString *text =
        g_string_new("acr-host VERB [OPTIONS]: fixes issues in Python repositories with "
                     "a language model\n\n");
    for (guint i = 0; acr_verbs[i]; i++)
        if (acr_verbs[i]->summary)
            g_string_append_printf(text, "  %-10s  %s%s%s\n", acr_verbs[i]->name,
                                   acr_verbs[i]->summary,
                                   acr_verbs[i]->short_name ? "; also as acr-host " : "",
                                   acr_verbs[i]->short_name ? acr_verbs[i]->short_name : "");
    g_string_append(text,
                    "\nacr-host VERB --help describes a verb, acr-host help TOPIC prints a guide; "
                    "acr-host --version prints the version.\nTopics:\n");
    guint width = acr_screen_width(STDOUT_FILENO),
          n = width ? CLAMP(width / TOPIC_WIDTH, 1, TOPICS_A_LINE) : TOPICS_A_LINE;
    for (guint i = 0; i < topics->len; i++) {
        bool is_last = i % n == n - 1 || i + 1 == topics->len;
        g_string_append_printf(text, "%s%-*s%s", i % n ? "" : "    ", is_last ? 0 : TOPIC_WIDTH,
                               (char *)topics->pdata[i], is_last ? "\n" : "");
    }
    g_string_append(text, "\nExit codes: 0 a patch or result, 1 none, 2 usage, 3 environment, 4 a "
                          "ceiling was reached, 130 interrupted.\n");
    return g_string_free(text, FALSE);
}

static AcrOut print_guide(GBytes *guide)
{
    g_autofree char *markdown = acr_bytes_text(guide);
    if (!isatty(STDOUT_FILENO))
        return acr_out_bytes(guide);
    g_autofree char *text =
        acr_guide_text(markdown, acr_screen_width(STDOUT_FILENO), acr_has_colour(STDOUT_FILENO));
    return acr_out_paged(text);
}

static int start_help(AcrHost *host, int argc, char **argv)
{
    g_autofree char *name = g_strjoinv(" ", argv + MIN(argc, 1)),
                    *file = g_strconcat(name, ENDING, NULL),
                    *path = g_build_filename(host->python_dir, "..", "docs",
                                             strcmp(name, SKILL) == 0 ? SKILL_PATH : file, NULL);
    g_autoptr(GBytes) guide =
        !strchr(name, '/') ? acr_file_read(path, MAX_GUIDE_BYTES, NULL) : NULL;
    const AcrVerb *verb = acr_verb_find(name);
    if (guide)
        return acr_out_exit(print_guide(guide), ACR_EXIT_OK);
    bool is_general = argc < 2 || *name == '-';
    if (!is_general && !(verb && verb->summary))
        return refuse_topic(host, name);
    g_autofree char *text = is_general ? acr_usage_text(host) : acr_help_text(verb, false);
    return acr_out_exit(acr_out_text(text), ACR_EXIT_OK);
}

const AcrVerb acr_verb_help = {.name = "help", .start = start_help};
