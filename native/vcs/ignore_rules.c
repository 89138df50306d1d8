/* Decides which untracked paths git ignores, by the rules of the .gitignore files in the folders
 * that contain a path, of info/exclude, and of core.excludesFile. The nearest file with a matching
 * rule takes precedence, and within a file the last matching rule.
 *
 * libgit2's matching is not used, because libgit2 follows symlinks, and drops a rule that
 * re-includes a path which a .gitignore in a parent folder ignores. The rules are a stack: the walk
 * pushes the rules of each folder that it enters. The walk does not enter ignored folders, so no
 * rule can re-include their contents. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "rules_private.h"

#define MAX_FILE_BYTES (4u * 1024 * 1024)
#define MAX_RULES 100000u

typedef struct {
    char *pattern;
    bool takes_back;  /* the line begins with "!", so the rule re-includes paths */
    bool folder_only; /* the pattern ends in a slash, so the rule applies only to folders */
    /* the pattern contains a slash, so it is matched against the path; otherwise it is matched
     * against the file name */
    bool anchored;
} Rule;

typedef struct {
    gsize base; /* length of the path of the .gitignore's folder, with a slash at its end */
    GArray *rules;
} Level;

struct AcrVcsIgnore {
    GPtrArray *levels; /* array of Level *; later levels take precedence */
    bool ignore_case;
};

static void rule_clear(Rule *rule)
{
    g_free(rule->pattern);
}

static void level_free(Level *level)
{
    g_array_unref(level->rules);
    g_free(level);
}

static void trim_blanks(char *line)
{
    char *keep = line;
    for (char *p = line; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == ' ')
            continue;
        keep = p + 1;
    }
    *keep = '\0';
}

static void add_rule(GArray *rules, char *line)
{
    gsize len = strlen(line);
    if (len && line[len - 1] == '\r')
        line[len - 1] = '\0';
    trim_blanks(line);
    if (!*line || *line == '#')
        return;
    Rule rule = {.takes_back = *line == '!'};
    line += rule.takes_back;
    len = strlen(line);
    if (len && line[len - 1] == '/') {
        rule.folder_only = true;
        line[--len] = '\0';
    }
    rule.anchored = strchr(line, '/') != NULL;
    line += *line == '/';
    rule.pattern = g_strdup(line);
    g_array_append_val(rules, rule);
}

static void push(AcrVcsIgnore *ignore, char *text, gsize base)
{
    Level *level = g_new0(Level, 1);
    level->base = base;
    level->rules = g_array_new(FALSE, FALSE, sizeof(Rule));
    g_array_set_clear_func(level->rules, (GDestroyNotify)rule_clear);
    g_ptr_array_add(ignore->levels, level);
    char *line = g_str_has_prefix(text, "\xef\xbb\xbf") ? text + 3 : text;
    while (line && level->rules->len < MAX_RULES) {
        char *nl = strchr(line, '\n');
        if (nl)
            *nl = '\0';
        add_rule(level->rules, line);
        line = nl ? nl + 1 : NULL;
    }
}

/* Pushes the rules of an open file (taken; -1 if there is none). Returns false and sets errno if
 * the file could not be opened because this process cannot open more files. */
static bool push_file(AcrVcsIgnore *ignore, int fd, gsize base)
{
    if (fd < 0 && acr_vcs_is_exhausted(errno))
        return false;
    g_autoptr(GBytes) bytes = fd < 0 ? NULL : acr_fd_read_file(fd, "", MAX_FILE_BYTES, NULL);
    g_autofree char *text = acr_bytes_text(bytes);
    acr_fd_close(&fd);
    push(ignore, text, base);
    return true;
}

static void push_outside(AcrVcsIgnore *ignore, const char *path)
{
    (void)push_file(ignore, acr_file_open(AT_FDCWD, path, true), 0);
}

char *acr_vcs_user_file(git_repository *git, const char *key, const char *name)
{
    git_buf value = GIT_BUF_INIT;
    g_autoptr(git_config) config = NULL;
    if (acr_git.repository_config(&config, git) == 0 &&
        acr_git.config_get_path(&value, config, key) == 0) {
        char *path = g_strdup(value.ptr);
        acr_git.buf_dispose(&value);
        return path;
    }
    const char *xdg = g_getenv("XDG_CONFIG_HOME");
    const char *home = g_getenv("HOME");
    if (xdg && *xdg)
        return g_build_filename(xdg, "git", name, NULL);
    return home ? g_build_filename(home, ".config", "git", name, NULL) : NULL;
}

AcrVcsIgnore *acr_vcs_ignore_new(git_repository *git)
{
    AcrVcsIgnore *ignore = g_new0(AcrVcsIgnore, 1);
    g_autoptr(git_config) config = NULL;
    int folds = 0;
    ignore->levels = g_ptr_array_new_with_free_func((GDestroyNotify)level_free);
    g_autofree char *excludes = acr_vcs_user_file(git, "core.excludesfile", "ignore");
    if (excludes)
        push_outside(ignore, excludes);
    ignore->ignore_case = acr_git.repository_config(&config, git) == 0 &&
                          acr_git.config_get_bool(&folds, config, "core.ignorecase") == 0 && folds;
    g_autofree char *exclude =
        g_build_filename(acr_git.repository_commondir(git), "info", "exclude", NULL);
    push_outside(ignore, exclude);
    return ignore;
}

void acr_vcs_ignore_free(AcrVcsIgnore *ignore)
{
    if (!ignore)
        return;
    g_ptr_array_unref(ignore->levels);
    g_free(ignore);
}

bool acr_vcs_ignore_enter(AcrVcsIgnore *ignore, int folder, gsize base)
{
    return push_file(ignore, acr_file_open(folder, ".gitignore", false), base);
}

void acr_vcs_ignore_leave(AcrVcsIgnore *ignore)
{
    g_ptr_array_set_size(ignore->levels, (gint)ignore->levels->len - 1);
}

static bool rule_matches(const AcrVcsIgnore *ignore, const Rule *rule, const Level *level,
                         const char *path, bool folder)
{
    if (rule->folder_only && !folder)
        return false;
    const char *slash = strrchr(path, '/');
    const char *text = rule->anchored ? path + level->base : slash ? slash + 1 : path;
    return acr_vcs_wildmatch(rule->pattern, text, ignore->ignore_case);
}

bool acr_vcs_ignore_has(const AcrVcsIgnore *ignore, const char *path, bool folder)
{
    for (guint i = ignore->levels->len; i > 0; i--) {
        const Level *level = g_ptr_array_index(ignore->levels, i - 1);
        for (guint r = level->rules->len; r > 0; r--) {
            const Rule *rule = &g_array_index(level->rules, Rule, r - 1);
            if (rule_matches(ignore, rule, level, path, folder))
                return !rule->takes_back;
        }
    }
    return false;
}

/* Pushes the rules of the .gitignore in the folder of the overlay that the first `len` bytes of
 * `path` name. `len` includes the slash. */
static void push_overlaid(AcrVcsIgnore *ignore, const AcrOverlay *overlay, const char *path,
                          gsize len)
{
    g_autofree char *folder = g_strndup(path, len), *file = g_strconcat(folder, ".gitignore", NULL);
    g_autoptr(GBytes) bytes =
        acr_overlay_has(overlay, file) ? acr_overlay_read(overlay, file, NULL) : NULL;
    g_autofree char *text = acr_bytes_text(bytes);
    push(ignore, text, len);
}

static bool is_overlaid_ignored(AcrVcsIgnore *ignore, const AcrOverlay *overlay, const char *path)
{
    guint outside = ignore->levels->len;
    bool is_ignored = false;
    push_overlaid(ignore, overlay, path, 0);
    for (const char *slash = path; !is_ignored && (slash = strchr(slash, '/')); slash++) {
        g_autofree char *folder = g_strndup(path, (gsize)(slash - path));
        is_ignored = acr_vcs_ignore_has(ignore, folder, true);
        push_overlaid(ignore, overlay, path, (gsize)(slash - path) + 1);
    }
    is_ignored = is_ignored || acr_vcs_ignore_has(ignore, path, false);
    g_ptr_array_set_size(ignore->levels, (gint)outside);
    return is_ignored;
}

char *acr_overlay_ignored(const AcrOverlay *overlay)
{
    AcrRepo *repo = overlay->snapshot->repo;
    g_auto(GStrv) paths = acr_overlay_changed(overlay);
    g_autoptr(GString) out = g_string_new(NULL);
    if (!repo || !repo->git)
        return NULL;
    pthread_mutex_lock(&repo->lock);
    AcrVcsIgnore *ignore = acr_vcs_ignore_new(repo->git);
    pthread_mutex_unlock(&repo->lock);
    for (gsize i = 0; paths[i]; i++) {
        g_autofree char *shown = acr_vcs_show_path(paths[i]);
        if (acr_snapshot_find(overlay->snapshot, paths[i]) < 0 &&
            is_overlaid_ignored(ignore, overlay, paths[i]))
            g_string_append_printf(out, "%s'%s'", out->len ? ", " : "", shown);
    }
    acr_vcs_ignore_free(ignore);
    if (out->len == 0)
        return NULL;
    g_string_prepend(out, "git ignores new files of the patch; add them with 'git add -f': ");
    return g_string_free(g_steal_pointer(&out), FALSE);
}
