/*
 * The `diff` attribute of changed files, as the snapshot's own .gitattributes files (with the
 * overlay's changes) set it.
 *
 * libgit2 does the matching: the .gitattributes files on the way to each changed path are put into
 * the index of a repository that exists in memory only, and attributes are asked of that index.
 */
#include <string.h>

#include <git2/sys/repository.h>

#include "vcs_private.h"

/* Names of the .gitattributes files that exist on the way to `paths`; owned. */
static GHashTable *find_files(const AcrOverlay *overlay, char **paths)
{
    GHashTable *files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (gsize i = 0; paths[i]; i++) {
        const char *name = paths[i]; /* behind the folder whose file is looked for */
        while (name) {
            g_autofree char *file =
                g_strdup_printf("%.*s.gitattributes", (int)(name - paths[i]), paths[i]);
            if (acr_overlay_has(overlay, file))
                g_hash_table_add(files, g_steal_pointer(&file));
            const char *slash = strchr(name, '/');
            name = slash ? slash + 1 : NULL;
        }
    }
    return files;
}

git_repository *acr_vcs_attributes_new(const AcrOverlay *overlay, char **paths, GError **error)
{
    g_autoptr(GHashTable) files = find_files(overlay, paths);
    g_autoptr(git_repository) git = NULL;
    g_autoptr(git_index) index = NULL;
    bool ok = acr_vcs_memory_open(&git) && git_index_new(&index) == 0;
    GHashTableIter iter;
    gpointer path;
    g_hash_table_iter_init(&iter, files);
    while (ok && g_hash_table_iter_next(&iter, &path, NULL)) {
        g_autoptr(GBytes) content = acr_overlay_read(overlay, path, error);
        if (!content)
            return NULL;
        ok = acr_vcs_memory_add(git, index, path, ACR_MODE_FILE, content);
    }
    if (ok && git_repository_set_index(git, index) == 0)
        return g_steal_pointer(&git);
    return ACR_NULL(acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot read .gitattributes"));
}

AcrVcsDiffKind acr_vcs_attributes_diff(git_repository *git, const char *path)
{
    const char *value = NULL;
    if (git_attr_get(&value, git, GIT_ATTR_CHECK_INDEX_ONLY | GIT_ATTR_CHECK_NO_SYSTEM, path,
                     "diff") < 0)
        return ACR_VCS_DIFF_AUTO;
    switch (git_attr_value(value)) {
    case GIT_ATTR_VALUE_TRUE:
        return ACR_VCS_DIFF_TEXT;
    case GIT_ATTR_VALUE_FALSE:
        return ACR_VCS_DIFF_BINARY;
    case GIT_ATTR_VALUE_STRING:
        return g_str_equal(value, "python") ? ACR_VCS_DIFF_PYTHON : ACR_VCS_DIFF_AUTO;
    default:
        return ACR_VCS_DIFF_AUTO;
    }
}
