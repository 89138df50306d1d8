/*
 * Where the modules of a project that is not installed are imported from: the folders that its
 * packaging and test settings name, read as text and never executed, and the usual ones. Each
 * folder with such settings is a project of its own, so that several packages find each other.
 */
#include "task/recorded.h"

#include <string.h>

#define MAX_PROJECTS 32u
#define MAX_FOLDERS 64u
#define MAX_DEPTH 3u /* of a project's folder */
#define MAX_SETTING_LINES 12u

static const char *const settings_files[] = {"pyproject.toml", "setup.cfg", "setup.py",
                                             "pytest.ini",     "tox.ini",   NULL};
static const char *const keys[] = {"package_dir",   "package-dir",   "where",
                                   "packages",      "find_packages", "find_namespace_packages",
                                   "python-source", "module-root",   "from",
                                   "pythonpath",    "sources",       NULL};

typedef struct {
    AcrSnapshot *snapshot;
    GPtrArray *folders; /* of char *, relative to the tree; unique, in the order of the search */
} ImportFolders;

static bool has_file(const ImportFolders *self, const char *folder, const char *name)
{
    g_autofree char *path = *folder ? g_strconcat(folder, "/", name, NULL) : g_strdup(name);
    return acr_snapshot_find(self->snapshot, path) >= 0;
}

/* Whether modules lie below a folder; `package`: whether one of its own folders is a package. */
static bool holds_modules(const ImportFolders *self, const char *folder, bool package)
{
    g_autofree char *prefix = g_strconcat(folder, "/", NULL);
    gsize len = strlen(prefix);
    for (gsize i = 0; i < acr_snapshot_size(self->snapshot); i++) {
        const char *path = acr_snapshot_entry(self->snapshot, i)->path;
        if (strncmp(path, prefix, len) != 0)
            continue;
        const char *slash = strchr(path + len, '/');
        if (package ? slash && strcmp(slash, "/__init__.py") == 0 : g_str_has_suffix(path, ".py"))
            return true;
    }
    return false;
}

/* Adds the folder that `folder` is imported from: a package is imported from the one around it. */
static void add_folder(ImportFolders *self, const char *folder, bool package)
{
    g_autofree char *at = g_strdup(folder);
    while (*at && has_file(self, at, "__init__.py")) {
        char *slash = strrchr(at, '/');
        at[slash ? slash - at : 0] = '\0';
    }
    if (*at && self->folders->len < MAX_FOLDERS && holds_modules(self, at, package) &&
        !g_ptr_array_find_with_equal_func(self->folders, at, g_str_equal, NULL))
        g_ptr_array_add(self->folders, g_steal_pointer(&at));
}

static char *join_folder(const char *project, const char *name)
{
    return *project ? g_strconcat(project, "/", name, NULL) : g_strdup(name);
}

/* Adds each word of a setting that is a folder of the project. */
static void add_words(ImportFolders *self, const char *project, const char *text)
{
    for (const char *at = text; *at;) {
        gsize len =
            strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./");
        g_autofree char *word = g_strndup(at, len);
        at += len ? len : 1;
        char *name = word + strspn(word, "./");
        for (gsize n = strlen(name); n > 0 && name[n - 1] == '/'; n--)
            name[n - 1] = '\0';
        if (strcmp(name, "exclude") == 0)
            return;
        if (!*name || strstr(name, ".."))
            continue;
        g_autofree char *folder = join_folder(project, name);
        add_folder(self, folder, false);
    }
}

/* Where a key stands as a whole word of the line: behind it; else NULL. */
static const char *find_key(const char *line)
{
    static const char *const parts_of_words = "_-";
    for (guint i = 0; keys[i]; i++)
        for (const char *at = line; (at = strstr(at, keys[i])); at++) {
            char before = at > line ? at[-1] : ' ', after = at[strlen(keys[i])];
            if (!g_ascii_isalnum(before) && !strchr(parts_of_words, before) &&
                !g_ascii_isalnum(after) && (!after || !strchr(parts_of_words, after)))
                return at + strlen(keys[i]);
        }
    return NULL;
}

static int count_depth(const char *text)
{
    int depth = 0;
    for (; *text; text++)
        depth += strchr("([{", *text) ? 1 : strchr(")]}", *text) ? -1 : 0;
    return depth;
}

/* Reads the settings of a file: what stands behind a key on its line, and on the next ones as long as
 * a bracket is open or, as in setup.cfg, they are indented. */
static void read_settings(ImportFolders *self, const char *project, char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    int depth = 0;
    guint left = 0;
    for (guint i = 0; lines[i]; i++) {
        bool is_indented = g_ascii_isspace(*lines[i]);
        g_autofree char *low = g_ascii_strdown(lines[i], -1);
        const char *key = find_key(low), *value = key ? lines[i] + (key - low) : lines[i];
        if (*g_strchug(low) == '#')
            continue;
        if (key) {
            depth = 0;
            left = MAX_SETTING_LINES;
        } else if (left == 0 || (depth <= 0 && !is_indented)) {
            left = 0;
            continue;
        }
        add_words(self, project, value);
        /* A table of TOML, [tool.setuptools.package-dir], goes on at the margin. */
        depth += count_depth(key && *low == '[' ? "[" : value);
        left--;
    }
}

static void add_project(ImportFolders *self, const char *project)
{
    for (guint i = 0; settings_files[i]; i++) {
        g_autofree char *path = join_folder(project, settings_files[i]);
        gssize index = acr_snapshot_find(self->snapshot, path);
        g_autoptr(GBytes) bytes =
            index >= 0 ? acr_snapshot_read(self->snapshot, (gsize)index, NULL) : NULL;
        g_autofree char *text = bytes ? acr_bytes_text(bytes) : NULL;
        if (text)
            read_settings(self, project, text);
    }
    g_autofree char *src = join_folder(project, "src"), *lib = join_folder(project, "lib");
    add_folder(self, src, false);
    add_folder(self, lib, true);
    if (*project)
        add_folder(self, project, true);
}

/* The folder of a project that a file of the tree makes one; NULL: it makes none, or what it makes is
 * material of tests and guides. Owned. */
static char *find_project(const char *path)
{
    static const char *const not_code[] = {"test", "example", "doc",    "fixture",
                                           "demo", "sample",  "vendor", "template"};
    const char *name = strrchr(path, '/');
    bool is_settings = false;
    for (guint i = 0; i < 3; i++)
        is_settings = is_settings || (name && strcmp(name + 1, settings_files[i]) == 0);
    if (!is_settings)
        return NULL;
    g_autofree char *folder = g_strndup(path, (gsize)(name - path));
    g_auto(GStrv) parts = g_strsplit(folder, "/", -1);
    if (g_strv_length(parts) > MAX_DEPTH)
        return NULL;
    for (guint i = 0; parts[i]; i++)
        for (guint k = 0; k < G_N_ELEMENTS(not_code); k++)
            if (g_str_has_prefix(parts[i], not_code[k]) || *parts[i] == '.')
                return NULL;
    return g_steal_pointer(&folder);
}

GPtrArray *acr_import_folders(AcrSnapshot *snapshot)
{
    ImportFolders self = {.snapshot = snapshot, .folders = g_ptr_array_new_with_free_func(g_free)};
    g_autofree char *last = NULL;
    guint projects = 0;
    add_project(&self, "");
    for (gsize i = 0; i < acr_snapshot_size(snapshot) && projects < MAX_PROJECTS; i++) {
        g_autofree char *project = find_project(acr_snapshot_entry(snapshot, i)->path);
        if (!project || g_strcmp0(project, last) == 0)
            continue;
        add_project(&self, project);
        projects++;
        g_free(last);
        last = g_steal_pointer(&project);
    }
    return self.folders;
}
