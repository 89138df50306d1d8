/* The object database of a repository: the repository's own folder of objects and the folders that
 * `info/alternates` lists, up to a limit of number and depth. odb_packs.c reads the packs in each
 * folder, odb_loose.c the loose objects.
 *
 * libgit2's own database is not used: it maps every file in these folders (including multi-pack
 * indexes and commit graphs), and trusts the sizes that the files state. */
#include <string.h>
#include <sys/stat.h>

#include "git_folder.h"
#include "odb_private.h"

#define MAX_DEPTH 5u /* maximum number of nested alternates, as in git */
#define MAX_FOLDERS 64u
#define MAX_LIST_BYTES (256u * 1024)
#define LOOSE_PRIORITY 1
#define PACKS_PRIORITY 2

typedef struct {
    git_odb *odb;
    GHashTable *seen; /* set of the resolved paths of the folders added so far */
    char *objects,
        /* resolved paths of the repository's folder of objects, and of the working tree (or
         * NULL) */
        *tree;
} Adding;

static bool add_folder(Adding *adding, const char *folder, guint depth, GError **error);

/* Reads an object by the first `len` digits of its id. Both backends use this function. */
static int read_prefix(git_oid *out_id, void **out, size_t *out_len, git_object_t *out_type,
                       git_odb_backend *backend, const git_oid *prefix, size_t len)
{
    git_oid id;
    int rc = backend->exists_prefix(&id, backend, prefix, len);
    if (rc == 0)
        rc = backend->read(out, out_len, out_type, backend, &id);
    if (rc == 0)
        acr_git.oid_cpy(out_id, &id);
    return rc;
}

static bool add_backends(git_odb *odb, const char *folder, GError **error)
{
    git_odb_backend *packs = acr_vcs_odb_packs(folder), *loose = acr_vcs_odb_loose(folder);
    packs->read_prefix = loose->read_prefix = read_prefix;
    if (acr_git.odb_add_alternate(odb, packs, PACKS_PRIORITY) < 0) {
        packs->free(packs);
        loose->free(loose);
        return acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot use the objects in '%s'",
                                folder);
    }
    if (acr_git.odb_add_alternate(odb, loose, LOOSE_PRIORITY) == 0)
        return true;
    loose->free(loose);
    return acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot use the objects in '%s'", folder);
}

static bool is_own(const Adding *adding, const char *path)
{
    g_autofree char *real = acr_path_real(path);
    return acr_vcs_trusts_links() || acr_path_is_below(real, adding->objects) ||
           acr_path_is_below(real, adding->tree);
}

/* Adds the folders that info/alternates of `folder` lists, one path on each line. Lines that name
 * no folder are ignored, as in git. */
static bool add_alternates(Adding *adding, const char *folder, guint depth, GError **error)
{
    struct stat st;
    g_autoptr(GError) reason = NULL;
    g_autofree char *list = g_build_filename(folder, "info", "alternates", NULL);
    if (stat(list, &st) < 0)
        return true;
    g_autoptr(GBytes) bytes = acr_file_read(list, MAX_LIST_BYTES, &reason);
    if (!bytes)
        return acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "%s", reason->message);
    g_autofree char *text = acr_bytes_text(bytes);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        g_autofree char *path =
            *lines[i] && *lines[i] != '#' ? g_canonicalize_filename(lines[i], folder) : NULL;
        if (!path || stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
            continue;
        if (!is_own(adding, path))
            return acr_vcs_fail_outside(error, list, path);
        if (!add_folder(adding, path, depth + 1, error))
            return false;
    }
    return true;
}

static bool add_folder(Adding *adding, const char *folder, guint depth, GError **error)
{
    char *real = acr_path_real(folder);
    if (!g_hash_table_add(adding->seen, real))
        return true;
    if (depth > MAX_DEPTH || g_hash_table_size(adding->seen) > MAX_FOLDERS)
        return acr_vcs_fail(error, ACR_VCS_ERROR_TOO_BIG,
                            "'%s' lists too many alternates, or its alternates list further ones",
                            folder);
    return add_backends(adding->odb, folder, error) && add_alternates(adding, folder, depth, error);
}

git_odb *acr_vcs_odb_open(const char *objects, const char *tree, GError **error)
{
    g_autoptr(git_odb) odb = NULL;
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (acr_git.odb_new(&odb) < 0) {
        acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot use the objects in '%s'", objects);
        return NULL;
    }
    g_autofree char *own = acr_path_real(objects), *real_tree = tree ? acr_path_real(tree) : NULL;
    Adding adding = {odb, seen, own, real_tree};
    return add_folder(&adding, objects, 0, error) ? g_steal_pointer(&odb) : NULL;
}
