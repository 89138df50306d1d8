/* Writes a git folder for one commit, in the form of a shallow clone. Projects read their version
 * from git, and their tests may list files with git. The folder must not contain later commits, nor
 * any of the repository's configuration except for line endings. */
#include <string.h>

#include "vcs_private.h"

#define DIR_MODE 0755
#define OBJECT_MODE 0444
#define LEVEL 1 /* zlib's compression level */
#define CONFIG                                                                                     \
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tautocrlf = "

typedef struct {
    git_repository *git;
    git_odb *from, *to;
    const char *dir;
    const AcrVcsHistory *history;
    GHashTable *copied; /* set of the ids (20 bytes) of the trees copied so far */
    GPtrArray *trees;   /* array of git_oid *, which are keys of `copied`: the trees still to
                         * copy */
} Copying;

static bool copy_object(Copying *copying, const git_oid *id, GError **error)
{
    g_autoptr(git_odb_object) object = NULL;
    git_oid written;
    gsize size = 0;
    git_object_t type = GIT_OBJECT_INVALID;
    int rc = acr_git.odb_read_header(&size, &type, copying->from, id);
    if (rc == 0 && size > ACR_VCS_MAX_FILE_BYTES)
        return true; /* no reader accepts an object of this size */
    if (rc == 0)
        rc = acr_git.odb_read(&object, copying->from, id);
    if (rc < 0)
        return acr_vcs_fail_git(error,
                                rc == GIT_ENOTFOUND ? ACR_VCS_ERROR_MISSING : ACR_VCS_ERROR_FAILED,
                                "cannot read an object of the repository; git fsck names it");
    rc = acr_git.odb_write(&written, copying->to, acr_git.odb_object_data(object), size, type);
    return (rc == 0 && acr_git.oid_equal(&written, id)) ||
           acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot write an object to '%s'",
                            copying->dir);
}

static void want_tree(Copying *copying, const git_oid *id)
{
    git_oid *copy = g_memdup2(id, sizeof *id);
    if (g_hash_table_add(copying->copied, copy))
        g_ptr_array_add(copying->trees, copy);
}

static bool copy_trees(Copying *copying, GError **error)
{
    while (copying->trees->len) {
        const git_oid *id = g_ptr_array_steal_index_fast(copying->trees, copying->trees->len - 1);
        g_autoptr(git_tree) tree = NULL;
        if (!copy_object(copying, id, error))
            return false;
        if (acr_git.tree_lookup(&tree, copying->git, id) < 0)
            return acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot read a tree");
        for (gsize i = 0; i < acr_git.tree_entrycount(tree); i++) {
            const git_tree_entry *entry = acr_git.tree_entry_byindex(tree, i);
            if (acr_git.tree_entry_filemode(entry) == GIT_FILEMODE_TREE)
                want_tree(copying, acr_git.tree_entry_id(entry));
        }
    }
    return true;
}

/* Adds an entry to the index. With `is_absent`, the sandbox does not write the file or folder, so
 * the entry is marked, and git does not show it as deleted. */
static void add_row(git_index *index, const char *path, guint32 mode, const git_oid *id,
                    bool is_absent)
{
    git_index_entry row = {.mode = mode, .path = path, .id = *id};
    row.flags_extended = is_absent ? GIT_INDEX_ENTRY_SKIP_WORKTREE : 0;
    if (acr_git.index_add(index, &row) <
        0) /* an index cannot contain the name, so git will show the file as deleted */
        g_debug("%s", path);
}

static bool add_tree_files(Copying *copying, const AcrSnapshot *files, git_index *index,
                           GError **error)
{
    for (gsize i = 0; i < acr_snapshot_size(files); i++) {
        const AcrEntry *entry = acr_snapshot_entry(files, i);
        git_oid id;
        acr_git.oid_fromraw(&id, entry->id);
        if (!copy_object(copying, &id, error))
            return false;
        add_row(index, entry->path, entry->mode, &id,
                !acr_git.odb_exists_ext(copying->to, &id, GIT_ODB_LOOKUP_NO_REFRESH));
    }
    return true;
}

static void add_submodules(const git_tree *tree, const AcrSnapshot *files, git_index *index)
{
    const GPtrArray *paths = files->left[ACR_VCS_LEFT_SUBMODULE];
    for (guint i = 0; i < paths->len; i++) {
        git_tree_entry *entry = NULL;
        if (acr_git.tree_entry_bypath(&entry, tree, paths->pdata[i]) == 0)
            add_row(index, paths->pdata[i], GIT_FILEMODE_COMMIT, acr_git.tree_entry_id(entry),
                    true);
        acr_git.tree_entry_free(entry);
    }
}

static bool write_index(Copying *copying, const git_commit *head, const AcrSnapshot *files,
                        GError **error)
{
    g_autoptr(git_index) index = NULL;
    g_autoptr(git_tree) tree = NULL;
    g_autofree char *path = g_build_filename(copying->dir, "index", NULL);
    int rc = acr_git.commit_tree(&tree, head);
    if (rc == 0)
        rc = acr_git.index_open(&index, path);
    if (rc == 0 && !add_tree_files(copying, files, index, error))
        return false;
    if (rc == 0) {
        add_submodules(tree, files, index);
        rc = acr_git.index_write(index);
    }
    return rc == 0 ||
           acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot write the index '%s'", path);
}

static bool copy_tag(Copying *copying, const AcrVcsTag *tag, GString *packed, GError **error)
{
    char hex[GIT_OID_HEXSZ + 1];
    for (guint i = 0; i < tag->ids->len; i++)
        if (!copy_object(copying, &g_array_index(tag->ids, git_oid, i), error))
            return false;
    acr_git.oid_tostr(hex, sizeof hex, &g_array_index(tag->ids, git_oid, 0));
    g_string_append_printf(packed, "%s " ACR_VCS_TAGS "%s\n", hex, tag->name);
    return true;
}

static bool copy_commits(Copying *copying, GString *shallow, GString *packed, GError **error)
{
    const GArray *commits = copying->history->commits;
    for (guint i = 0; i < commits->len; i++) {
        const AcrVcsCommit *commit = &g_array_index(commits, AcrVcsCommit, i);
        const GPtrArray *tags = g_hash_table_lookup(copying->history->tags, commit->id.id);
        char hex[GIT_OID_HEXSZ + 1];
        if (!copy_object(copying, &commit->id, error))
            return false;
        if (commit->is_cut)
            g_string_append_printf(shallow, "%s\n",
                                   acr_git.oid_tostr(hex, sizeof hex, &commit->id));
        for (guint k = 0; tags && k < tags->len; k++)
            if (!copy_tag(copying, tags->pdata[k], packed, error))
                return false;
    }
    return true;
}

static bool write_blob_file(const char *dir, const char *name, const char *text, GError **error)
{
    g_autofree char *path = g_build_filename(dir, name, NULL), *folder = g_path_get_dirname(path);
    return acr_dir_make(folder, error) && acr_file_write_atomic(path, text, strlen(text), 0, error);
}

static bool write_all_blobs(Copying *copying, const AcrSnapshot *files, const char *commit,
                            GError **error)
{
    g_autoptr(GString) shallow = g_string_new(NULL), tags = g_string_new(NULL);
    g_autoptr(git_commit) head = NULL;
    const AcrVcsCommit *first = &g_array_index(copying->history->commits, AcrVcsCommit, 0);
    if (acr_git.commit_lookup(&head, copying->git, &first->id) < 0)
        return acr_vcs_fail_git(error, ACR_VCS_ERROR_MISSING, "cannot read commit %s", commit);
    want_tree(copying, acr_git.commit_tree_id(head));
    g_autofree char *main = g_strconcat(commit, "\n", NULL),
                    *config = g_strconcat(CONFIG, copying->history->autocrlf, "\n", NULL);
    return copy_commits(copying, shallow, tags, error) && copy_trees(copying, error) &&
           write_index(copying, head, files, error) &&
           write_blob_file(copying->dir, "shallow", shallow->str, error) &&
           write_blob_file(copying->dir, "packed-refs", tags->str, error) &&
           write_blob_file(copying->dir, "refs/heads/main", main, error) &&
           write_blob_file(copying->dir, "config", config, error) &&
           write_blob_file(copying->dir, "HEAD", "ref: refs/heads/main\n", error);
}

/* Makes libgit2 write objects to the folder `objects`. On failure returns false and sets libgit2's
 * error. */
static bool open_target(Copying *copying, const char *objects)
{
    git_odb_backend *loose = NULL;
    if (acr_git.odb_new(&copying->to) < 0 ||
        acr_git.odb_backend_loose(&loose, objects, LEVEL, 0, DIR_MODE, OBJECT_MODE) < 0)
        return false;
    if (acr_git.odb_add_backend(copying->to, loose, 1) == 0)
        return true;
    loose->free(loose);
    return false;
}

bool acr_snapshot_write_git(AcrSnapshot *snapshot, const char *dir, GError **error)
{
    if (!snapshot->commit[0] || !snapshot->repo || !snapshot->repo->git)
        return acr_vcs_fail(error, ACR_VCS_ERROR_EMPTY, "there is no commit");
    g_autoptr(AcrSnapshot) files = acr_snapshot_committed(snapshot, error);
    g_autofree char *objects = g_build_filename(dir, "objects", NULL);
    if (!files || !acr_dir_make(objects, error))
        return false;
    g_autoptr(GHashTable) copied =
        g_hash_table_new_full(acr_vcs_id_hash, acr_vcs_id_equal, g_free, NULL);
    g_autoptr(GPtrArray) trees = g_ptr_array_new();
    g_autoptr(git_odb) from = NULL;
    Copying copying = {.git = snapshot->repo->git, .dir = dir, .copied = copied, .trees = trees};
    pthread_mutex_lock(&snapshot->repo->lock);
    copying.history = acr_vcs_history(snapshot);
    bool is_open =
        acr_git.repository_odb(&from, copying.git) == 0 && open_target(&copying, objects);
    copying.from = from;
    bool ok = is_open ? write_all_blobs(&copying, files, snapshot->commit, error)
                      : acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot write to '%s'", dir);
    acr_git.odb_free(copying.to);
    pthread_mutex_unlock(&snapshot->repo->lock);
    return ok;
}
