/*
 * File names: what the name in an answer stands for. Paths of the snapshot are grouped by base
 * name, so that a name is compared only with the paths that can be meant.
 */
#include <string.h>

#include "patch/patch_private.h"

#define MAX_NEAR 5u

struct AcrFileNames {
    AcrSnapshot *snapshot; /* shared */
    GHashTable *by_base;   /* base name (borrowed) -> GArray of guint32, entry numbers */
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
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
    for (gsize i = 0; i < acr_snapshot_size(snapshot); i++) {
        const AcrEntry *entry = acr_snapshot_entry(snapshot, i);
        const char *base = base_of(entry->path);
        GArray *list = g_hash_table_lookup(names->by_base, base);
        guint32 number = (guint32)i;
        if (entry->mode == ACR_MODE_LINK)
            continue;
        if (!list) {
            list = g_array_new(FALSE, FALSE, sizeof(guint32));
            g_hash_table_insert(names->by_base, (gpointer)base, list);
        }
        g_array_append_val(list, number);
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
    gsize len = strlen(name);
    while (len > 0 && strchr("`'\"* \t\r\n", name[len - 1]))
        len--;
    while (len > 0 && strchr("`'\"* \t\r\n", *name)) {
        name++;
        len--;
    }
    while (len >= 2 && name[0] == '.' && name[1] == '/') {
        name += 2;
        len -= 2;
    }
    return g_strndup(name, len);
}

/* `path` ends in `name`, at a border of path parts. */
static bool ends_in(const char *path, const char *name)
{
    gsize len = strlen(path), n = strlen(name);
    return n <= len && strcmp(path + len - n, name) == 0 && (n == len || path[len - n - 1] == '/');
}

/* How many whole parts two paths share, from the right. */
static guint shared_parts(const char *a, const char *b)
{
    guint n = 0;
    gsize i = strlen(a), j = strlen(b);
    while (i > 0 && j > 0) {
        gsize from_i = i, from_j = j;
        while (from_i > 0 && a[from_i - 1] != '/')
            from_i--;
        while (from_j > 0 && b[from_j - 1] != '/')
            from_j--;
        if (i - from_i != j - from_j || strncmp(a + from_i, b + from_j, i - from_i) != 0)
            break;
        n++;
        i = from_i > 0 ? from_i - 1 : 0;
        j = from_j > 0 ? from_j - 1 : 0;
    }
    return n;
}

static const char *path_of(const AcrFileNames *names, guint32 entry)
{
    return acr_snapshot_entry(names->snapshot, entry)->path;
}

static int by_likeness(gconstpointer a, gconstpointer b, gpointer name)
{
    const char *const *x = a, *const *y = b;
    guint sx = shared_parts(*x, name), sy = shared_parts(*y, name);
    return sx != sy ? (sx > sy ? -1 : 1) : strcmp(*x, *y);
}

/* Files of the same folder name whose base name begins alike, when no file has that base name. */
static void near_by_spelling(const AcrFileNames *names, const char *name, GPtrArray *near)
{
    const char *base = base_of(name), *dot = strrchr(base, '.');
    gsize stem = dot ? (gsize)(dot - base) : strlen(base);
    for (gsize i = 0; stem >= 3 && i < acr_snapshot_size(names->snapshot) && near->len < 200; i++) {
        const char *path = path_of(names, (guint32)i), *other = base_of(path),
                   *other_dot = strrchr(other, '.');
        gsize other_stem = other_dot ? (gsize)(other_dot - other) : strlen(other);
        bool begins =
            g_ascii_strncasecmp(base, other, MIN(stem, other_stem)) == 0 && other_stem >= 3;
        if (begins && g_strcmp0(dot, other_dot) == 0 && g_utf8_validate(path, -1, NULL))
            g_ptr_array_add(near, g_strdup(path));
    }
}

char *acr_file_names_resolve(const AcrFileNames *names, const char *name, bool may_be_new,
                             GPtrArray **out_near)
{
    g_autofree char *clean = acr_file_name_clean(name);
    const GArray *same = g_hash_table_lookup(names->by_base, base_of(clean));
    g_autoptr(GPtrArray) near = g_ptr_array_new_with_free_func(g_free);
    const char *suffix = NULL;
    guint n_suffix = 0;
    for (guint i = 0; same && i < same->len; i++) {
        const char *path = path_of(names, g_array_index(same, guint32, i));
        if (strcmp(path, clean) == 0)
            return g_strdup(path);
        if (ends_in(path, clean)) {
            suffix = path;
            n_suffix++;
        }
        g_ptr_array_add(near, g_strdup(path));
    }
    if (n_suffix == 1)
        return g_strdup(suffix);
    if (n_suffix == 0 && same && same->len == 1 && !may_be_new)
        return g_strdup(path_of(names, g_array_index(same, guint32, 0)));
    if (near->len == 0)
        near_by_spelling(names, clean, near);
    g_ptr_array_sort_with_data(near, by_likeness, clean);
    if (near->len > MAX_NEAR)
        g_ptr_array_set_size(near, MAX_NEAR);
    *out_near = g_steal_pointer(&near);
    return NULL;
}
