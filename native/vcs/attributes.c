/*
 * The `diff` attribute of changed files, as the snapshot's own .gitattributes files (with the
 * overlay's changes) set it.
 *
 * libgit2 does the matching: the .gitattributes files on the way to each changed path are put into
 * a commit of a repository that exists in memory only, and attributes are asked of that commit.
 */
#include <string.h>

#include "vcs_private.h"

struct AcrVcsAttributes {
    git_repository *git; /* NULL: no .gitattributes concerns the paths */
    git_oid commit;
};

void acr_vcs_attributes_free(AcrVcsAttributes *attributes)
{
    if (!attributes)
        return;
    git_repository_free(attributes->git);
    g_free(attributes);
}

static bool fail(GError **error)
{
    return acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot read .gitattributes");
}

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

static bool commit(AcrVcsAttributes *attributes, git_index *index)
{
    git_oid id;
    git_tree *tree = NULL;
    git_signature *nobody = NULL;
    bool done = git_index_write_tree_to(&id, index, attributes->git) == 0 &&
                git_tree_lookup(&tree, attributes->git, &id) == 0 &&
                git_signature_new(&nobody, "acr-host", "acr-host", 0, 0) == 0 &&
                git_commit_create(&attributes->commit, attributes->git, NULL, nobody, nobody, NULL,
                                  "", tree, 0, NULL) == 0;
    git_signature_free(nobody);
    git_tree_free(tree);
    return done;
}

static bool load(AcrVcsAttributes *attributes, const AcrOverlay *overlay, GHashTable *files,
                 GError **error)
{
    g_autoptr(git_index) index = NULL;
    if (!acr_vcs_memory_open(&attributes->git) || git_index_new(&index) < 0)
        return fail(error);
    GHashTableIter iter;
    gpointer path;
    g_hash_table_iter_init(&iter, files);
    while (g_hash_table_iter_next(&iter, &path, NULL)) {
        g_autoptr(GBytes) content = acr_overlay_read(overlay, path, error);
        if (!content)
            return false;
        if (!acr_vcs_memory_add(attributes->git, index, path, ACR_MODE_FILE, content))
            return fail(error);
    }
    return commit(attributes, index) || fail(error);
}

AcrVcsAttributes *acr_vcs_attributes_new(const AcrOverlay *overlay, char **paths, GError **error)
{
    g_autoptr(AcrVcsAttributes) attributes = g_new0(AcrVcsAttributes, 1);
    g_autoptr(GHashTable) files = find_files(overlay, paths);
    if (g_hash_table_size(files) && !load(attributes, overlay, files, error))
        return NULL;
    return g_steal_pointer(&attributes);
}

AcrVcsDiffKind acr_vcs_attributes_diff(const AcrVcsAttributes *attributes, const char *path)
{
    const char *value = NULL;
    if (!attributes->git)
        return ACR_VCS_DIFF_AUTO;
    git_attr_options options = {.version = GIT_ATTR_OPTIONS_VERSION};
    options.flags =
        GIT_ATTR_CHECK_INDEX_ONLY | GIT_ATTR_CHECK_NO_SYSTEM | GIT_ATTR_CHECK_INCLUDE_COMMIT;
    git_oid_cpy(&options.attr_commit_id, &attributes->commit);
    if (git_attr_get_ext(&value, attributes->git, &options, path, "diff") < 0)
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
