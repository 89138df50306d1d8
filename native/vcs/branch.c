/* Creates a branch with one commit: the files of an overlay on top of the commit of its snapshot.
 * The code writes loose objects, and then one reference. The working tree, the index and HEAD stay
 * unchanged. libgit2 runs no hook, and it runs no filter because contents are passed as bytes. */
#include <string.h>

#include "vcs_private.h"

#define HEADS "refs/heads/"
#define LOG "branch: created by acr-host"
/* libgit2 writes to the first backend that accepts writes; only the two backends of this file
 * accept them */
#define MEMORY_PRIORITY 3
#define DISK_PRIORITY 4

bool acr_branch_name_is_valid(const char *name)
{
    int valid = 0;
    return acr_git.branch_name_is_valid(&valid, name) == 0 && valid;
}

void acr_branch_clear(AcrBranch *branch)
{
    g_clear_pointer(&branch->ref, g_free);
}

/* Adds a backend (taken) that accepts writes. On failure returns false and sets libgit2's error. */
static bool add_writer(git_repository *git, git_odb_backend *writer, int priority)
{
    g_autoptr(git_odb) odb = NULL;
    if (acr_git.repository_odb(&odb, git) == 0 &&
        acr_git.odb_add_backend(odb, writer, priority) == 0)
        return true;
    writer->free(writer);
    return false;
}

/* Makes libgit2 write objects to memory from this call on. *out is borrowed from the repository. */
static bool open_memory(git_repository *git, git_odb_backend **out)
{
    return acr_git.mempack_new(out) == 0 && add_writer(git, *out, MEMORY_PRIORITY);
}

/* Makes libgit2 write objects to the repository from this call on. The functions that read are
 * removed from libgit2's loose backend, because it never returns from a truncated object; the
 * backends of odb.c read instead. */
static bool open_disk(git_repository *git)
{
    git_buf objects = GIT_BUF_INIT;
    git_odb_backend *loose = NULL;
    bool is_open = acr_git.repository_item_path(&objects, git, GIT_REPOSITORY_ITEM_OBJECTS) == 0 &&
                   acr_git.odb_backend_loose(&loose, objects.ptr, -1, 0, 0, 0) == 0;
    acr_git.buf_dispose(&objects);
    if (!is_open)
        return false;
    loose->read = NULL;
    loose->read_header = NULL;
    loose->read_prefix = NULL;
    loose->exists = NULL;
    loose->exists_prefix = NULL;
    loose->freshen = NULL;
    return add_writer(git, loose, DISK_PRIORITY);
}

/* Adds the overlay's changes to an index that contains the files of the base commit. On failure
 * returns false and sets libgit2's error. */
static bool add_changes(git_repository *git, git_index *index, const AcrOverlay *overlay)
{
    GHashTableIter iter;
    gpointer path, value;
    g_hash_table_iter_init(&iter, overlay->changes);
    while (g_hash_table_iter_next(&iter, &path, &value)) {
        const AcrVcsChange *change = value;
        if (change->content ? !acr_vcs_memory_add(git, index, path, change->mode, change->content)
                            : acr_git.index_remove(index, path, 0) < 0)
            return false;
    }
    return true;
}

static bool write_tree(git_repository *git, const git_commit *base, const AcrOverlay *overlay,
                       git_oid *out)
{
    g_autoptr(git_tree) tree = NULL;
    g_autoptr(git_index) index = NULL;
    return acr_git.commit_tree(&tree, base) == 0 && acr_git.index_new(&index) == 0 &&
           acr_git.index_read_tree(index, tree) == 0 && add_changes(git, index, overlay) &&
           acr_git.index_write_tree_to(out, index, git) == 0;
}

static bool is_same(git_reference *ref, const git_commit *base, const git_oid *tree, git_oid *out)
{
    g_autoptr(git_object) found = NULL;
    if (acr_git.reference_peel(&found, ref, GIT_OBJECT_COMMIT) < 0)
        return false;
    const git_commit *commit = (const git_commit *)found;
    acr_git.oid_cpy(out, acr_git.commit_id(commit));
    return acr_git.oid_equal(acr_git.commit_tree_id(commit), tree) &&
           acr_git.commit_parentcount(commit) == 1 &&
           acr_git.oid_equal(acr_git.commit_parent_id(commit, 0), acr_git.commit_id(base));
}

typedef struct {
    git_repository *git;
    git_commit *base;
    git_signature *author;
    git_odb_backend *memory; /* owned by the repository */
    git_oid tree, commit;
    bool is_dry;
} Writing;

static bool read_author(Writing *writing, GError **error)
{
    int rc = acr_git.signature_default(&writing->author, writing->git);
    if (rc == GIT_ENOTFOUND)
        return acr_vcs_fail(
            error, ACR_VCS_ERROR_NO_IDENTITY,
            "git has no author for the commit; set user.name and user.email with 'git config'");
    return rc == 0 || acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot create a commit");
}

static bool write_commit(Writing *writing, const char *message, GError **error)
{
    g_autoptr(git_tree) tree = NULL;
    const git_commit *parents[] = {writing->base};
    return (acr_git.tree_lookup(&tree, writing->git, &writing->tree) == 0 &&
            acr_git.commit_create(&writing->commit, writing->git, NULL, writing->author,
                                  writing->author, NULL, message, tree, 1, parents) == 0) ||
           acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot write a commit");
}

/* Writes the objects and the reference to the repository. Before this call, the tree exists only in
 * memory. */
static bool write_ref(Writing *writing, const AcrOverlay *overlay, const char *message,
                      const char *name, GError **error)
{
    g_autoptr(git_reference) made = NULL;
    bool ok = acr_git.mempack_reset(writing->memory) == 0 && open_disk(writing->git) &&
              write_tree(writing->git, writing->base, overlay, &writing->tree);
    if (!ok)
        return acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot write a tree");
    return write_commit(writing, message, error) &&
           (acr_git.reference_create(&made, writing->git, name, &writing->commit, 0, LOG) == 0 ||
            acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot write '%s'", name));
}

/* True if the name of another branch is a parent folder of `ref`, or vice versa; git cannot store
 * both. */
static bool collides(git_repository *git, const char *ref)
{
    git_reference_iterator *iterator = NULL;
    const char *name = NULL;
    bool found = false;
    if (acr_git.reference_iterator_glob_new(&iterator, git, HEADS "*") < 0)
        return false;
    while (!found && acr_git.reference_next_name(&name, iterator) == 0) {
        gsize len = strlen(name), own = strlen(ref);
        found = (g_str_has_prefix(ref, name) && ref[len] == '/') ||
                (g_str_has_prefix(name, ref) && name[own] == '/');
    }
    acr_git.reference_iterator_free(iterator);
    return found;
}

/* True if the file of a reference, or a folder that contains the file, is a symbolic link. libgit2
 * would follow the link and write elsewhere. */
static bool is_linked(const char *top, const char *kind, const char *ref)
{
    g_autofree char *path = g_build_filename(top, kind, ref, NULL);
    for (char *end = path + strlen(top); (end = strchr(end + 1, '/'));) {
        *end = '\0';
        bool is_link = g_file_test(path, G_FILE_TEST_IS_SYMLINK);
        *end = '/';
        if (is_link)
            return true;
    }
    return g_file_test(path, G_FILE_TEST_IS_SYMLINK);
}

/* Fails if the reference is behind a symbolic link, or if it is the branch without commits that is
 * checked out. */
static bool check_place(git_repository *git, const char *ref, GError **error)
{
    g_autoptr(git_reference) head = NULL;
    const char *top = acr_git.repository_commondir(git), *target = NULL;
    if (is_linked(top, "", ref) || is_linked(top, "logs", ref))
        return acr_vcs_fail(error, ACR_VCS_ERROR_FAILED,
                            "'%s' cannot be written, because a symbolic link has that path", ref);
    if (acr_git.repository_head_unborn(git) == 1 &&
        acr_git.reference_lookup(&head, git, "HEAD") == 0)
        target = acr_git.reference_symbolic_target(head);
    return g_strcmp0(target, ref) != 0 ||
           acr_vcs_fail(error, ACR_VCS_ERROR_FAILED,
                        "branch '%s' is checked out and has no commit; give another name",
                        ref + strlen(HEADS));
}

static bool write_branch(Writing *writing, const AcrOverlay *overlay, const char *message,
                         AcrBranch *out, GError **error)
{
    g_autoptr(git_reference) ref = NULL;
    if (!check_place(writing->git, out->ref, error))
        return false;
    if (!acr_vcs_references_are_short(overlay->snapshot->repo, out->ref))
        return acr_vcs_fail(error, ACR_VCS_ERROR_FAILED, "'%s' is damaged", out->ref);
    int rc = acr_git.reference_lookup(&ref, writing->git, out->ref);
    if (rc < 0 && rc != GIT_ENOTFOUND)
        return acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot read '%s'", out->ref);
    if (!ref && collides(writing->git, out->ref))
        return acr_vcs_fail(error, ACR_VCS_ERROR_FAILED,
                            "branch '%s' conflicts with an existing branch, because one name is a "
                            "folder of the other; give another name",
                            out->ref + strlen(HEADS));
    if (!ref && !read_author(writing, error)) /* read the author before anything is written */
        return false;
    if (!open_memory(writing->git, &writing->memory) ||
        !write_tree(writing->git, writing->base, overlay, &writing->tree))
        return acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot create a tree");
    out->was_there = ref != NULL;
    if (ref && !is_same(ref, writing->base, &writing->tree, &writing->commit))
        return acr_vcs_fail(error, ACR_VCS_ERROR_FAILED,
                            "branch '%s' exists with different content; give another name",
                            out->ref + strlen(HEADS));
    if (!ref && !writing->is_dry && !write_ref(writing, overlay, message, out->ref, error))
        return false;
    acr_git.oid_tostr(out->tree, sizeof out->tree, &writing->tree);
    if (out->was_there || !writing->is_dry)
        acr_git.oid_tostr(out->commit, sizeof out->commit, &writing->commit);
    return true;
}

bool acr_branch_write(const AcrOverlay *overlay, const char *name, const char *message, bool is_dry,
                      AcrBranch *out, GError **error)
{
    AcrSnapshot *snapshot = overlay->snapshot;
    g_autoptr(git_commit) base = NULL;
    git_oid id;
    g_auto(AcrBranch) branch = {.ref = g_strconcat(HEADS, name, NULL)};
    if (!snapshot->repo || !snapshot->repo->git || !snapshot->commit[0] || snapshot->worktree)
        return acr_vcs_fail(error, ACR_VCS_ERROR_EMPTY, "there is no commit");
    pthread_mutex_lock(&snapshot->repo->lock);
    Writing writing = {.git = snapshot->repo->git, .is_dry = is_dry};
    bool ok =
        (acr_git.oid_fromstr(&id, snapshot->commit) == 0 &&
         acr_git.commit_lookup(&base, writing.git, &id) == 0) ||
        acr_vcs_fail_git(error, ACR_VCS_ERROR_MISSING, "cannot read commit %s", snapshot->commit);
    writing.base = base;
    ok = ok && write_branch(&writing, overlay, message, &branch, error);
    acr_git.signature_free(writing.author);
    pthread_mutex_unlock(&snapshot->repo->lock);
    if (ok) {
        *out = branch;
        branch.ref = NULL;
    }
    return ok;
}

/* Returns a setting of a remote as a string; owned; NULL if it is not set. git_remote_lookup is not
 * used, because it leaks memory for each line of the configuration. */
static char *remote_value(AcrRepo *repo, const char *name, const char *key)
{
    g_autoptr(git_config) config = NULL;
    g_autofree char *path = g_strdup_printf("remote.%s.%s", name, key);
    git_buf value = GIT_BUF_INIT;
    bool ok = acr_git.repository_config(&config, repo->git) == 0 &&
              acr_git.config_get_string_buf(&value, config, path) == 0 && value.size > 0;
    char *copy = ok ? g_strdup(value.ptr) : NULL;
    acr_git.buf_dispose(&value);
    return copy;
}

bool acr_repo_remote(AcrRepo *repo, const char *name, char **out_url, char **out_push_url,
                     GError **error)
{
    int valid = 0;
    bool is_name = repo->git && acr_git.remote_name_is_valid(&valid, name) == 0 && valid;
    pthread_mutex_lock(&repo->lock);
    g_autofree char *url = is_name ? remote_value(repo, name, "url") : NULL;
    char *push = url ? remote_value(repo, name, "pushurl") : NULL;
    pthread_mutex_unlock(&repo->lock);
    if (!url)
        return acr_vcs_fail(error, ACR_VCS_ERROR_NOT_FOUND,
                            "the repository has no remote '%s'; a push needs one: git remote add "
                            "%s URL",
                            name, name);
    *out_push_url = push ? push : g_strdup(url);
    *out_url = g_steal_pointer(&url);
    return true;
}

char *acr_repo_objects(const AcrRepo *repo)
{
    git_buf path = GIT_BUF_INIT;
    bool ok = repo->git &&
              acr_git.repository_item_path(&path, repo->git, GIT_REPOSITORY_ITEM_OBJECTS) == 0;
    char *copy = ok ? g_strdup(path.ptr) : NULL;
    acr_git.buf_dispose(&path);
    return copy;
}
