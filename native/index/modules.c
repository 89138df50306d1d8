/* Finds the files of module names. A relative name is resolved by folders, starting from the
 * importing file. An absolute name is compared with the ends of paths, in whole parts. We do not
 * know where a repository's packages begin (at its root, in src/, in lib/), only that the folder
 * with the packages is not a package itself. */
#include "index/index_private.h"

#include <string.h>

#define MAX_MODULE_FILES 20u

static const char *path_of_module(const AcrIndex *index, gsize file)
{
    return acr_index_file(index, file)->path;
}

static gsize dir_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (gsize)(slash - path) : 0;
}

/* Adds `base`.py and `base`/__init__.py if they exist. `base` is a path without a trailing
 * slash, and may be empty. */
static void add_at(const AcrIndex *index, const char *base, GArray *out)
{
    g_autofree char *package =
        *base ? g_strconcat(base, "/__init__.py", NULL) : g_strdup("__init__.py");
    g_autofree char *module = g_strconcat(base, ".py", NULL);
    gssize found = acr_index_find_file(index, package);
    if (found >= 0)
        acr_index_add_unique(out, (guint32)found);
    found = acr_index_find_file(index, module);
    if (found >= 0)
        acr_index_add_unique(out, (guint32)found);
}

static void add_relative(const AcrIndex *index, gsize from, const char *module, GArray *out)
{
    const char *path = path_of_module(index, from);
    gsize len = dir_len(path);
    for (module++; *module == '.'; module++) {
        if (len == 0)
            return;
        const char *slash = g_strrstr_len(path, (gssize)len, "/");
        len = slash ? (gsize)(slash - path) : 0;
    }
    g_autofree char *dir = g_strndup(path, len);
    g_autofree char *tail = g_strdelimit(g_strdup(module), ".", '/');
    g_autofree char *base = g_strconcat(dir, len && *tail ? "/" : "", tail, NULL);
    add_at(index, base, out);
}

/* Whether the first `len` bytes of `path` are a folder from which packages are imported. A `len` of
 * 0 means the root. */
static bool is_import_root(const AcrIndex *index, const char *path, gsize len)
{
    if (len == 0)
        return true;
    g_autofree char *init = g_strdup_printf("%.*s/__init__.py", (int)len, path);
    return acr_index_find_file(index, init) < 0;
}

/* Returns the length of the folder before `tail` ("a/b") in a path ".../a/b.py" or
 * ".../a/b/__init__.py"; -1 if the path does not match. */
static gssize root_len(const char *path, const char *tail)
{
    static const char init[] = "/__init__.py";
    gsize len = strlen(path), tail_len = strlen(tail);
    len -= g_str_has_suffix(path, init) ? sizeof init - 1 : strlen(".py");
    if (len < tail_len || memcmp(path + len - tail_len, tail, tail_len) != 0)
        return -1;
    if (len == tail_len)
        return 0;
    return path[len - tail_len - 1] == '/' ? (gssize)(len - tail_len - 1) : -1;
}

/* Ranks a root for the importing file: folders that contain the file rank above other folders, and
 * near folders above distant folders. */
static gssize rank(const AcrIndex *index, gssize from, const char *path, gsize root)
{
    bool above =
        from >= 0 && (root == 0 || (strncmp(path_of_module(index, (gsize)from), path, root) == 0 &&
                                    path_of_module(index, (gsize)from)[root] == '/'));
    if (is_import_root(index, path, root))
        return above ? (gssize)root + 2 : 1;
    /* Python 2 searches the folder of the importing file first. */
    return above && dir_len(path_of_module(index, (gsize)from)) == root ? 0 : -1;
}

/* Returns the first position in the table of files whose stem is not less than `stem`. */
static guint first_stem(const AcrIndex *index, const char *stem, gsize len)
{
    guint low = 0, high = index->stems->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        const AcrStem *at = &g_array_index(index->stems, AcrStem, middle);
        int order = memcmp(at->stem, stem, MIN(at->stem_len, len));
        if (order < 0 || (order == 0 && at->stem_len < len))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_absolute(const AcrIndex *index, gssize from, const char *module, GArray *out)
{
    g_autofree char *tail = g_strdelimit(g_strdup(module), ".", '/');
    const char *slash = strrchr(tail, '/');
    const char *stem = slash ? slash + 1 : tail;
    gsize len = strlen(stem);
    gssize best = -1;

    for (guint i = first_stem(index, stem, len); i < index->stems->len; i++) {
        const AcrStem *at = &g_array_index(index->stems, AcrStem, i);
        if (at->stem_len != len || memcmp(at->stem, stem, len) != 0)
            break;
        const char *path = path_of_module(index, at->file);
        gssize root = root_len(path, tail);
        gssize its = root < 0 ? -1 : rank(index, from, path, (gsize)root);
        if (its < 0 || its < best)
            continue;
        if (its > best)
            g_array_set_size(out, 0);
        best = its;
        if (out->len < MAX_MODULE_FILES)
            acr_index_add_unique(out, at->file);
    }
}

void acr_index_module_files(const AcrIndex *index, gssize from, const char *module, GArray *out)
{
    if (*module == '.' && from >= 0)
        add_relative(index, (gsize)from, module, out);
    else if (*module && *module != '.')
        add_absolute(index, from, module, out);
}
