/* Finds the attributes of paths, as .gitattributes files set them. The nearest file with a matching
 * rule takes precedence; within a file, the last matching rule; within a rule, the last attribute.
 * For the `diff` attribute, only the overlay's files are read, so that a diff depends on nothing
 * else. For line endings, the files on disk and the rules of the repository and the user are read,
 * as git does.
 *
 * This file matches patterns without libgit2, because libgit2 takes time that grows exponentially
 * with the stars in a pattern, and patterns are untrusted. */
#include <fcntl.h>
#include <string.h>

#include "rules_private.h"

/* maximum size of a file that is read, in bytes; larger files are ignored */
#define MAX_FILE_BYTES (4u * 1024 * 1024)
/* maximum length of a line that is read, in bytes; longer lines are ignored, as in git */
#define MAX_LINE_BYTES 2048u
#define MAX_RULES 100000u
#define BLANKS " \t\r"
#define MACRO "[attr]"

/* An attribute in a line of .gitattributes: its name and value. */
typedef struct {
    char *name;
    char *value; /* "" for "name" without a value; NULL for "-name" and "!name" */
    bool is_unset;
} Word;

typedef struct {
    char *pattern;
    /* length of the path, with a slash at its end, of the folder that contains the .gitattributes
     * file */
    gsize base;
    /* the pattern contains a slash, so it is matched against the path; otherwise it is matched
     * against the file name */
    bool anchored;
    GArray *words; /* array of Word */
    char *folder;  /* path of the folder that contains the .gitattributes file */
} Rule;

struct AcrVcsAttributes {
    GArray *rules;      /* array of Rule; later rules take precedence */
    GHashTable *macros; /* name -> GArray of Word */
    /* The following members are used only for a working tree. */
    /* the repository's own rules, which take precedence; NULL if there are none */
    AcrVcsAttributes *own;
    bool autocrlf; /* line endings are converted unless a rule says otherwise */
};

static void word_clear(Word *word)
{
    ACR_FREE(word->name, word->value);
}

static void rule_clear(Rule *rule)
{
    ACR_FREE(rule->pattern, rule->folder);
    g_array_unref(rule->words);
}

static bool is_attribute_name(const char *name)
{
    for (const char *at = name; *at; at++)
        if (!g_ascii_isalnum(*at) && !strchr("-._", *at))
            return false;
    return *name && *name != '-';
}

/* Returns the attributes that follow the pattern in a line; owned; NULL if git ignores the line. */
static GArray *read_words(const char *text)
{
    GArray *words = g_array_new(FALSE, FALSE, sizeof(Word));
    g_array_set_clear_func(words, (GDestroyNotify)word_clear);
    g_auto(GStrv) parts = g_strsplit_set(text, BLANKS, -1);
    for (guint i = 0; parts[i]; i++) {
        char *name = parts[i], *equals = strchr(name, '=');
        bool is_off = *name == '-' || *name == '!';
        if (!*name)
            continue;
        if (equals)
            *equals = '\0';
        if (!is_attribute_name(name + is_off)) {
            g_array_unref(words);
            return NULL;
        }
        Word word = {.name = g_strdup(name + is_off), .is_unset = *name == '!'};
        word.value = is_off ? NULL : g_strdup(equals ? equals + 1 : "");
        g_array_append_val(words, word);
    }
    return words;
}

/* Returns the pattern at the beginning of *line, without quotes, and moves *line behind the
 * pattern; owned. */
static char *take_pattern(const char **line)
{
    const char *start = *line, *end = start + strcspn(start, BLANKS);
    if (*start != '"') {
        *line = end;
        return g_strndup(start, (gsize)(end - start));
    }
    for (end = start + 1; *end && *end != '"'; end++)
        end += *end == '\\' && end[1];
    g_autofree char *quoted = g_strndup(start + 1, (gsize)(end - start - 1));
    *line = *end ? end + 1 : end;
    return g_strcompress(quoted);
}

static void add_attributes_line(AcrVcsAttributes *attributes, const char *line, const char *folder)
{
    line += strspn(line, BLANKS);
    if (!*line || *line == '#' || strlen(line) >= MAX_LINE_BYTES)
        return;
    bool is_macro = g_str_has_prefix(line, MACRO);
    if (is_macro) {
        line += strlen(MACRO);
        line += strspn(line, BLANKS);
    }
    g_autofree char *pattern = take_pattern(&line);
    GArray *words = read_words(line);
    gsize len = strlen(pattern);
    if (words && is_macro && !*folder && is_attribute_name(pattern))
        g_hash_table_replace(attributes->macros, g_steal_pointer(&pattern), words);
    else if (!words || is_macro || len == 0 || *pattern == '!' || pattern[len - 1] == '/')
        g_clear_pointer(&words, g_array_unref); /* git ignores these lines, too */
    if (!words || !pattern)
        return;
    Rule rule = {.base = strlen(folder), .folder = g_strdup(folder), .words = words};
    rule.anchored = strchr(pattern, '/') != NULL;
    rule.pattern = g_strdup(pattern + (*pattern == '/'));
    g_array_append_val(attributes->rules, rule);
}

static void add_attributes_file(AcrVcsAttributes *attributes, GBytes *content, const char *folder)
{
    gsize len;
    const char *data = g_bytes_get_data(content, &len);
    g_autofree char *text = g_strndup(data ? data : "", len);
    char *line = g_str_has_prefix(text, "\xef\xbb\xbf") ? text + 3 : text;
    while (line && len <= MAX_FILE_BYTES && attributes->rules->len < MAX_RULES) {
        char *nl = strchr(line, '\n');
        if (nl)
            *nl = '\0';
        add_attributes_line(attributes, line, folder);
        line = nl ? nl + 1 : NULL;
    }
}

/* Returns the folders that contain `paths`, including "", each with a slash at its end. Parent
 * folders come before their subfolders. Owned. */
static GPtrArray *folders_above(char **paths)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    GPtrArray *folders = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; paths[i]; i++) {
        for (const char *name = paths[i]; name;) {
            g_autofree char *folder = g_strndup(paths[i], (gsize)(name - paths[i]));
            if (!g_hash_table_contains(seen, folder)) {
                g_hash_table_add(seen, folder);
                g_ptr_array_add(folders, g_steal_pointer(&folder));
            }
            name = strchr(name, '/');
            name = name ? name + 1 : NULL;
        }
    }
    return folders;
}

static AcrVcsAttributes *new_attributes(void)
{
    AcrVcsAttributes *attributes = g_new0(AcrVcsAttributes, 1);
    attributes->rules = g_array_new(FALSE, FALSE, sizeof(Rule));
    g_array_set_clear_func(attributes->rules, (GDestroyNotify)rule_clear);
    attributes->macros =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
    add_attributes_line(attributes, MACRO "binary -diff -merge -text", "");
    return attributes;
}

AcrVcsAttributes *acr_vcs_attributes_new(const AcrOverlay *overlay, char **paths, GError **error)
{
    g_autoptr(AcrVcsAttributes) attributes = new_attributes();
    g_autoptr(GPtrArray) folders = folders_above(paths);
    for (guint i = 0; i < folders->len; i++) {
        g_autofree char *file = g_strconcat(folders->pdata[i], ".gitattributes", NULL);
        if (!acr_overlay_has(overlay, file))
            continue;
        g_autoptr(GBytes) content = acr_overlay_read(overlay, file, error);
        if (!content)
            return NULL;
        add_attributes_file(attributes, content, folders->pdata[i]);
    }
    return g_steal_pointer(&attributes);
}

static void add_file_at(AcrVcsAttributes *attributes, int folder, const char *name, bool is_outside,
                        const char *path)
{
    ACR_AUTO_FD fd = acr_file_open(folder, name, is_outside);
    g_autoptr(GBytes) content = fd < 0 ? NULL : acr_fd_read_file(fd, "", MAX_FILE_BYTES, NULL);
    if (content)
        add_attributes_file(attributes, content, path);
}

AcrVcsAttributes *acr_vcs_attributes_of_worktree(git_repository *git)
{
    AcrVcsAttributes *attributes = new_attributes();
    g_autofree char *user = acr_vcs_user_file(git, "core.attributesfile", "attributes");
    g_autofree char *own =
        g_build_filename(acr_git.repository_commondir(git), "info", "attributes", NULL);
    if (user)
        add_file_at(attributes, AT_FDCWD, user, true, "");
    attributes->own = new_attributes();
    add_file_at(attributes->own, AT_FDCWD, own, true, "");
    attributes->autocrlf = !g_str_equal(acr_vcs_autocrlf(git), "false");
    return attributes;
}

void acr_vcs_attributes_enter(AcrVcsAttributes *attributes, int fd, const char *path)
{
    g_autofree char *folder = *path ? g_strconcat(path, "/", NULL) : g_strdup("");
    add_file_at(attributes, fd, ".gitattributes", false, folder);
}

void acr_vcs_attributes_free(AcrVcsAttributes *attributes)
{
    if (!attributes)
        return;
    g_array_unref(attributes->rules);
    g_hash_table_unref(attributes->macros);
    acr_vcs_attributes_free(attributes->own);
    g_free(attributes);
}

static bool rule_matches(const Rule *rule, const char *path)
{
    const char *slash = strrchr(path, '/');
    return g_str_has_prefix(path, rule->folder) &&
           acr_vcs_wildmatch(rule->pattern,
                             rule->anchored ? path + rule->base
                             : slash        ? slash + 1
                                            : path,
                             false);
}

/* Returns the word that decides the attribute `name`. NULL if there is none, or if a rule of higher
 * precedence has already decided it (`decided`). If a macro is set, its words are searched, too. */
static const Word *find_word(const AcrVcsAttributes *attributes, const GArray *words,
                             const char *name, GHashTable *decided)
{
    for (guint i = words->len; i > 0; i--) {
        const Word *word = &g_array_index(words, Word, i - 1), *inside = NULL;
        if (!g_hash_table_add(decided, word->name))
            continue;
        if (strcmp(word->name, name) == 0)
            return word;
        const GArray *macro = g_hash_table_lookup(attributes->macros, word->name);
        if (macro && word->value && !*word->value)
            inside = find_word(attributes, macro, name, decided);
        if (inside)
            return inside;
    }
    return NULL;
}

static const Word *attribute_of(const AcrVcsAttributes *attributes, const char *path,
                                const char *name)
{
    g_autoptr(GHashTable) decided = g_hash_table_new(g_str_hash, g_str_equal);
    const Word *word = attributes->own ? attribute_of(attributes->own, path, name) : NULL;
    for (guint i = attributes->rules->len; i > 0 && !word; i--) {
        const Rule *rule = &g_array_index(attributes->rules, Rule, i - 1);
        if (rule_matches(rule, path))
            word = find_word(attributes, rule->words, name, decided);
    }
    return word && word->is_unset ? NULL : word;
}

AcrVcsDiffKind acr_vcs_attributes_diff(const AcrVcsAttributes *attributes, const char *path)
{
    const Word *word = attribute_of(attributes, path, "diff");
    if (!word)
        return ACR_VCS_DIFF_AUTO;
    if (!word->value)
        return ACR_VCS_DIFF_BINARY;
    if (!*word->value)
        return ACR_VCS_DIFF_TEXT;
    return strcmp(word->value, "python") == 0 ? ACR_VCS_DIFF_PYTHON : ACR_VCS_DIFF_AUTO;
}

bool acr_vcs_attributes_converts(const AcrVcsAttributes *attributes, const char *path)
{
    const Word *text = attribute_of(attributes, path, "text"), *eol;
    text = text ? text : attribute_of(attributes, path, "crlf");
    if (text && !text->value)
        return false;
    if (text &&
        (!*text->value || g_str_equal(text->value, "auto") || g_str_equal(text->value, "input")))
        return true;
    eol = attribute_of(attributes, path, "eol");
    return attributes->autocrlf ||
           (eol && (g_strcmp0(eol->value, "lf") == 0 || g_strcmp0(eol->value, "crlf") == 0));
}

GBytes *acr_vcs_crlf_to_lf(GBytes *content)
{
    gsize len;
    const char *text = g_bytes_get_data(content, &len), *end = text + len, *from = text;
    const char *feed = len ? memchr(text, '\n', len) : NULL;
    if (!feed || feed == text || feed[-1] != '\r' || memchr(text, '\0', len))
        return NULL;
    g_autoptr(GString) out = g_string_sized_new(len);
    for (; feed; feed = memchr(from, '\n', (gsize)(end - from))) {
        if (feed == from || feed[-1] != '\r')
            return NULL;
        g_string_append_len(out, from, feed - 1 - from);
        g_string_append_c(out, '\n');
        from = feed + 1;
    }
    g_string_append_len(out, from, end - from);
    return g_string_free_to_bytes(g_steal_pointer(&out));
}

GBytes *acr_vcs_lf_to_crlf(GBytes *content)
{
    gsize len;
    const char *text = g_bytes_get_data(content, &len);
    g_autoptr(GString) out = g_string_sized_new(len + len / 16);
    for (gsize i = 0; i < len; i++) {
        if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r'))
            g_string_append_c(out, '\r');
        g_string_append_c(out, text[i]);
    }
    return g_string_free_to_bytes(g_steal_pointer(&out));
}
