/* Resolves the file names in an answer. Paths of the snapshot are grouped by base name, so that a
 * name is compared only with paths that are possible. If the first part of a name is not a folder
 * of the snapshot (git's a/ and b/, the repository's own name), the first part is removed if the
 * rest is a path. The location of the repository is not used, so that a run can be repeated
 * elsewhere. */
#include <string.h>

#include "patch/source_private.h"

#define MAX_NEAR 5u
/* maximum length of a part of a new path in bytes; file systems have the same limit */
#define MAX_PART 255u

struct AcrFileNames {
    AcrSnapshot *snapshot; /* shared */
    GHashTable *by_base;   /* base name of a path (borrowed) -> GPtrArray of paths (borrowed) */
};

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

AcrFileNames *acr_file_names_new(AcrSnapshot *snapshot)
{
    AcrFileNames *names = g_new0(AcrFileNames, 1);
    names->snapshot = acr_snapshot_ref(snapshot);
    names->by_base =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
    for (gsize i = 0; i < acr_snapshot_size(snapshot); i++) {
        const AcrEntry *entry = acr_snapshot_entry(snapshot, i);
        const char *base = base_of(entry->path);
        GPtrArray *list = g_hash_table_lookup(names->by_base, base);
        if (entry->mode == ACR_MODE_LINK)
            continue;
        if (!list) {
            list = g_ptr_array_new();
            g_hash_table_insert(names->by_base, (gpointer)base, list);
        }
        g_ptr_array_add(list, (gpointer)entry->path);
    }
    return names;
}

void acr_file_names_free(AcrFileNames *names)
{
    if (!names)
        return;
    g_hash_table_unref(names->by_base);
    acr_snapshot_unref(names->snapshot);
    g_free(names);
}

char *acr_file_name_clean(const char *name)
{
    static const char around[] = "`'\"* \t\r\n";
    name += strspn(name, around);
    gsize len = strlen(name);
    while (len > 0 && (strchr(around, name[len - 1]) || name[len - 1] == ':'))
        len--;
    for (; len >= 2 && name[0] == '.' && name[1] == '/'; len -= 2)
        name += 2;
    return g_strndup(name, len);
}

/* Whether `path` ends in `name`, in whole path parts. */
static bool ends_in(const char *path, const char *name)
{
    gsize len = strlen(path), n = strlen(name);
    return n <= len && strcmp(path + len - n, name) == 0 && (n == len || path[len - n - 1] == '/');
}

/* Returns the number of bytes at the end that two paths have in common, in whole parts. */
static gsize shared_tail(const char *a, const char *b)
{
    gsize n = 0, i = strlen(a), j = strlen(b);
    while (n < MIN(i, j) && a[i - 1 - n] == b[j - 1 - n])
        n++;
    while (n > 0 && ((n < i && a[i - 1 - n] != '/') || (n < j && b[j - 1 - n] != '/')))
        n--;
    return n;
}

static int by_likeness(gconstpointer a, gconstpointer b, gpointer name)
{
    const char *const *x = a, *const *y = b;
    gsize sx = shared_tail(*x, name), sy = shared_tail(*y, name);
    return sx != sy ? (sx > sy ? -1 : 1) : strcmp(*x, *y);
}

/* Lists files whose base name and the base name of `name` begin alike and have the same extension.
 * Used if no file has the same base name. */
static void near_by_spelling(const AcrFileNames *names, const char *name, GPtrArray *near)
{
    const char *base = base_of(name), *dot = strrchr(base, '.');
    gsize stem = dot ? (gsize)(dot - base) : strlen(base);
    for (gsize i = 0; stem >= 3 && i < acr_snapshot_size(names->snapshot) && near->len < 200; i++) {
        const char *path = acr_snapshot_entry(names->snapshot, i)->path, *other = base_of(path),
                   *other_dot = strrchr(other, '.');
        gsize other_stem = other_dot ? (gsize)(other_dot - other) : strlen(other);
        bool begins =
            g_ascii_strncasecmp(base, other, MIN(stem, other_stem)) == 0 && other_stem >= 3;
        if (begins && g_strcmp0(dot, other_dot) == 0 && g_utf8_validate(path, -1, NULL))
            g_ptr_array_add(near, g_strdup(path));
    }
}

bool acr_file_names_has_folder(const AcrFileNames *names, const char *folder)
{
    gsize n = strlen(folder);
    for (gsize i = 0; i < acr_snapshot_size(names->snapshot); i++) {
        const char *path = acr_snapshot_entry(names->snapshot, i)->path;
        if (strncmp(path, folder, n) == 0 && path[n] == '/')
            return true;
    }
    return false;
}

/* Returns the name without its first part if the first part is not a folder of the repository or
 * occurs twice in a row; otherwise NULL. */
static const char *without_first_part(const AcrFileNames *names, const char *name)
{
    const char *rest = strchr(name, '/');
    gsize n = rest ? (gsize)(rest - name) : 0;
    if (n == 0 || rest[1] == '\0')
        return NULL;
    g_autofree char *first = g_strndup(name, n);
    bool twice = strncmp(rest + 1, first, n) == 0 && rest[1 + n] == '/';
    if (twice) {
        g_autofree char *both = g_strdup_printf("%s/%s", first, first);
        return acr_file_names_has_folder(names, both) ? NULL : rest + 1;
    }
    return acr_file_names_has_folder(names, first) ? NULL : rest + 1;
}

/* Returns the path that equals `name`, or that ends in `name` by whole parts; borrowed. Returns
 * NULL if there is no such path, or if there are several. *out_n is their number. */
static const char *path_that_ends_in(const AcrFileNames *names, const char *name, guint *out_n)
{
    const GPtrArray *same = g_hash_table_lookup(names->by_base, base_of(name));
    const char *found = NULL;
    *out_n = 0;
    for (guint i = 0; same && i < same->len; i++) {
        const char *path = same->pdata[i];
        if (strcmp(path, name) == 0) {
            *out_n = 1;
            return path;
        }
        if (ends_in(path, name)) {
            found = path;
            (*out_n)++;
        }
    }
    return *out_n == 1 ? found : NULL;
}

static GPtrArray *near_names(const AcrFileNames *names, const char *name)
{
    const GPtrArray *same = g_hash_table_lookup(names->by_base, base_of(name));
    GPtrArray *near = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; same && i < same->len; i++)
        g_ptr_array_add(near, g_strdup(same->pdata[i]));
    if (near->len == 0)
        near_by_spelling(names, name, near);
    g_ptr_array_sort_with_data(near, by_likeness, (gpointer)name);
    if (near->len > MAX_NEAR)
        g_ptr_array_set_size(near, MAX_NEAR);
    return near;
}

static char *resolve_clean(const AcrFileNames *names, const char *clean, bool may_be_new)
{
    guint n = 0, n_rest = 0;
    const char *path = path_that_ends_in(names, clean, &n);
    const char *rest = n == 0 ? without_first_part(names, clean) : NULL;
    if (!path && rest && (strchr(rest, '/') || acr_snapshot_find(names->snapshot, rest) >= 0))
        path = path_that_ends_in(names, rest, &n_rest);
    const GPtrArray *same = g_hash_table_lookup(names->by_base, base_of(clean));
    if (!path && n == 0 && n_rest == 0 && same && same->len == 1 && !may_be_new)
        path = same->pdata[0];
    return g_strdup(path);
}

char *acr_file_names_resolve(const AcrFileNames *names, const char *name, bool may_be_new,
                             GPtrArray **out_near)
{
    /* Some systems write accents in file names as separate characters (NFD); models rarely do. */
    static const GNormalizeMode forms[] = {G_NORMALIZE_NFC, G_NORMALIZE_NFD};
    g_autofree char *clean = acr_file_name_clean(name);
    char *path = resolve_clean(names, clean, may_be_new);
    for (gsize i = 0; i < G_N_ELEMENTS(forms) && !path; i++) {
        g_autofree char *form = g_utf8_normalize(clean, -1, forms[i]);
        if (form && strcmp(form, clean) != 0)
            path = resolve_clean(names, form, may_be_new);
    }
    if (!path)
        *out_near = near_names(names, clean);
    return path;
}

char *acr_file_names_make(const AcrFileNames *names, const char *name)
{
    g_autofree char *clean = acr_file_name_clean(name);
    const char *rest = without_first_part(names, clean);
    const char *slash = rest ? strchr(rest, '/') : NULL;
    if (!slash)
        return g_steal_pointer(&clean);
    g_autofree char *next = g_strndup(rest, (gsize)(slash - rest));
    bool marked = g_str_has_prefix(clean, "a/") || g_str_has_prefix(clean, "b/") ||
                  (strncmp(clean, next, strlen(next)) == 0 && clean[strlen(next)] == '/');
    return marked && acr_file_names_has_folder(names, next) ? g_strdup(rest)
                                                            : g_steal_pointer(&clean);
}

/* Whether a part of a path equals `what`, ignoring case. */
static bool has_part(const char *path, const char *what)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    for (guint i = 0; parts[i]; i++)
        if (g_ascii_strcasecmp(parts[i], what) == 0)
            return true;
    return false;
}

/* Whether a part of a path means .git on another system, such as ".git .", ".git::$DATA" or
 * "git~1"; git rejects such paths. */
static bool is_like_git(const char *part)
{
    gsize n = strlen(".git");
    if (g_ascii_strcasecmp(part, "git~1") == 0)
        return true;
    if (g_ascii_strncasecmp(part, ".git", n) != 0)
        return false;
    return part[n] == ':' || part[n + strspn(part + n, " .")] == '\0';
}

/* Whether the name contains an invisible character or a backslash, which some systems do not
 * allow. */
static bool has_odd_character(const char *name)
{
    for (const char *at = name; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);
        if (c == '\\' || g_unichar_iscntrl(c) || g_unichar_type(c) == G_UNICODE_FORMAT)
            return true;
    }
    return false;
}

/* Returns why no file with the name `name` (valid UTF-8) may be created, owned; NULL if the file
 * may be created. */
static char *why_not_made(const char *name)
{
    g_auto(GStrv) parts = g_strsplit(name, "/", -1);
    if (has_odd_character(name))
        return g_strdup("a file name cannot contain a backslash or an invisible character: write / "
                        "between the parts of a path");
    for (guint i = 0; parts[i]; i++) {
        gsize len = strlen(parts[i]);
        if (is_like_git(parts[i]))
            return g_strdup("files in .git cannot be written");
        if (len > MAX_PART)
            return g_strdup_printf("a part of its path is longer than %u bytes", MAX_PART);
        if (len > 0 && (acr_is_blank(parts[i][0]) || acr_is_blank(parts[i][len - 1])))
            return g_strdup("a part of its path begins or ends with a space");
    }
    return NULL;
}

char *acr_file_name_refusal(const AcrFileNames *names, const AcrOverlay *overlay, const char *name)
{
    gssize entry = acr_snapshot_find(names->snapshot, name);
    if (acr_overlay_path_ok(overlay, name))
        return entry < 0 ? why_not_made(name) : NULL;
    if (*name == '/')
        return g_strdup(
            "an absolute path cannot be used: give the path from the root of the repository");
    if (has_part(name, ".."))
        return g_strdup(
            "a path with .. cannot be used: give the path from the root of the repository");
    if (has_part(name, ".git"))
        return g_strdup("files in .git cannot be written");
    if (entry >= 0 && acr_snapshot_entry(names->snapshot, (gsize)entry)->mode == ACR_MODE_LINK)
        return g_strdup(
            "it is a symbolic link, which cannot be edited: name the file that it points to");
    if (acr_file_names_has_folder(names, name))
        return g_strdup("it is a folder, not a file");
    return g_strdup("this path cannot be written: name a file of the repository");
}
