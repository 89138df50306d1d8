/* Takes a snapshot of a commit: resolves a revision to a commit, and converts its trees to entries.
 * No blob is read.
 *
 * Trees are untrusted: their depth and number are limited, and names that no checkout can have are
 * skipped. */
#include <string.h>

#include "vcs_private.h"

#define MAX_REFERENCE_BYTES 8192u /* maximum size of a reference's file in bytes */
#define MAX_SYMBOLIC 10u          /* maximum length of a chain of symbolic references */
#define SYMBOLIC "ref:"

typedef struct {
    AcrSnapshot *snapshot;
    git_oid folder; /* the folder that was entered last */
    /* number of trees entered; limited, because a few trees can contain each other very often */
    gsize trees;
    GError *error;
} Listing;

static bool fail_object(const char *path, const git_oid *id, int rc, GError **error)
{
    char hex[GIT_OID_HEXSZ + 1];
    acr_git.oid_tostr(hex, sizeof hex, id);
    if (rc == GIT_ENOTFOUND)
        return acr_vcs_fail(error, ACR_VCS_ERROR_MISSING,
                            "object %s is not in '%s' (a shallow or partial clone?)", hex, path);
    return acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot read object %s of '%s'", hex,
                            path);
}

static guint depth_of(const char *folder)
{
    guint depth = 0;
    for (; *folder; folder++)
        depth += *folder == '/';
    return depth;
}

/* Callback for git_tree_walk. Returns 0 to continue, 1 to skip the subtree, -1 to end the walk. */
static int list_entry(const char *folder, const git_tree_entry *entry, void *ctx)
{
    Listing *listing = ctx;
    const char *name = acr_git.tree_entry_name(entry);
    const git_oid *id = acr_git.tree_entry_id(entry);
    guint32 mode = acr_git.tree_entry_filemode(entry);
    g_autofree char *path = g_strconcat(folder, name, NULL);
    if (!acr_vcs_part_ok(name, strlen(name)) || strlen(path) > ACR_VCS_MAX_PATH) {
        acr_vcs_snapshot_leave(listing->snapshot, ACR_VCS_LEFT_BAD_NAME, path);
        return 1;
    }
    if (mode == GIT_FILEMODE_COMMIT) {
        acr_vcs_snapshot_leave(listing->snapshot, ACR_VCS_LEFT_SUBMODULE, path);
        return 0;
    }
    if (mode == GIT_FILEMODE_TREE) {
        listing->folder = *id;
        return (depth_of(folder) < ACR_VCS_MAX_DEPTH && ++listing->trees < ACR_VCS_MAX_FILES) ||
                       acr_vcs_fail(&listing->error, ACR_VCS_ERROR_TOO_BIG,
                                    "a tree has too many folders, or they are nested too deeply")
                   ? 0
                   : -1;
    }
    mode = mode == ACR_MODE_LINK || mode == ACR_MODE_EXEC ? mode : ACR_MODE_FILE;
    return acr_vcs_snapshot_add(listing->snapshot, path, mode, id->id, ACR_VCS_IN_ODB, 0,
                                &listing->error)
               ? 0
               : -1;
}

bool acr_vcs_tree_list(AcrSnapshot *snapshot, const git_oid *id, GError **error)
{
    AcrRepo *repo = snapshot->repo;
    g_autoptr(git_commit) commit = NULL;
    int rc = acr_git.commit_lookup(&commit, repo->git, id);
    if (rc < 0)
        return fail_object(repo->path, id, rc, error);
    g_autoptr(git_tree) tree = NULL;
    Listing listing = {.snapshot = snapshot, .folder = *acr_git.commit_tree_id(commit)};
    rc = acr_git.commit_tree(&tree, commit);
    if (rc == 0)
        rc = acr_git.tree_walk(tree, GIT_TREEWALK_PRE, list_entry, &listing);
    if (listing.error)
        g_propagate_error(error, listing.error);
    else if (rc < 0)
        return fail_object(repo->path, &listing.folder, rc, error);
    return rc == 0;
}

static bool has_no_refs(git_repository *git)
{
    git_reference_iterator *iterator = NULL;
    const char *name = NULL;
    if (acr_git.reference_iterator_new(&iterator, git) < 0)
        return false;
    bool none = acr_git.reference_next_name(&name, iterator) == GIT_ITEROVER;
    acr_git.reference_iterator_free(iterator);
    return none;
}

static void explain_revision(AcrRepo *repo, const char *rev, int rc, GError **error)
{
    const git_error *last = acr_git.error_last();
    g_autofree char *cause = g_strdup(last && last->message ? last->message : "");
    bool head = g_str_equal(rev, "HEAD") || g_str_equal(rev, "@");
    if (acr_git.repository_head_unborn(repo->git) == 1 && (head || has_no_refs(repo->git)))
        acr_vcs_fail(error, ACR_VCS_ERROR_EMPTY, "'%s' has no commits", repo->path);
    else if (rc == GIT_ENOTFOUND)
        acr_vcs_fail(error, ACR_VCS_ERROR_NOT_FOUND, "no revision '%s' in '%s'%s", rev, repo->path,
                     acr_git.repository_is_shallow(repo->git) == 1
                         ? ", which is a shallow clone (git fetch --unshallow)"
                         : "");
    else
        acr_vcs_fail(error, ACR_VCS_ERROR_NOT_FOUND, "no revision '%s' in '%s': %s", rev,
                     repo->path, cause);
}

/* True if the file of a reference, and the files of the references to which it leads, are short,
 * because libgit2 takes time proportional to the square of the length. Also true for an unreadable
 * file, for which libgit2 reports an error. */
static bool is_short(AcrRepo *repo, const char *reference)
{
    g_autofree char *name = g_strdup(reference);
    for (guint i = 0; i < MAX_SYMBOLIC; i++) {
        const char *folder = acr_git.repository_commondir(repo->git);
        if (g_str_equal(name, "HEAD") || strncmp(name, "refs/", 5) != 0)
            folder = acr_git.repository_path(repo->git);
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) bytes = acr_file_read(path, MAX_REFERENCE_BYTES, &error);
        if (!bytes)
            return !g_error_matches(error, ACR_BASE_ERROR, ACR_BASE_ERROR_TOO_BIG);
        g_autofree char *text = g_strchomp(acr_bytes_text(bytes));
        if (!g_str_has_prefix(text, SYMBOLIC))
            return true;
        g_free(name);
        name = g_strdup(g_strchug(text + strlen(SYMBOLIC)));
    }
    return true;
}

bool acr_vcs_references_are_short(AcrRepo *repo, const char *rev)
{
    static const char *const places[] = {"",  "refs/", "refs/tags/", "refs/heads/", "refs/remotes/",
                                         NULL};
    for (guint i = 0; places[i]; i++) {
        g_autofree char *name = g_strconcat(places[i], rev, NULL);
        if (!is_short(repo, name))
            return false;
    }
    return is_short(repo, "HEAD");
}

/* Returns the object that `rev` names; NULL with an error. Looks for a reference first, because
 * git_revparse_single leaks a reference whose object is missing. */
static git_object *find_object(AcrRepo *repo, const char *rev, GError **error)
{
    git_object *object = NULL;
    g_autoptr(git_reference) reference = NULL;
    git_oid id;
    if (!acr_vcs_references_are_short(repo, rev))
        return ACR_NULL(acr_vcs_fail(error, ACR_VCS_ERROR_NOT_FOUND,
                                     "a ref of '%s' is longer than %u bytes", repo->path,
                                     MAX_REFERENCE_BYTES));
    int rc = *rev ? acr_git.reference_dwim(&reference, repo->git, rev)
                  : GIT_ENOTFOUND; /* libgit2 would interpret "" as HEAD */
    if (rc == 0 &&
        acr_git.reference_name_to_id(&id, repo->git, acr_git.reference_name(reference)) == 0) {
        rc = acr_git.object_lookup(&object, repo->git, &id, GIT_OBJECT_ANY);
        if (rc < 0)
            fail_object(repo->path, &id, rc, error);
        return object;
    }
    rc = acr_git.revparse_single(&object, repo->git, rev);
    if (rc < 0)
        explain_revision(repo, rev, rc, error);
    return object;
}

static bool resolve_revision(AcrRepo *repo, const char *rev, git_oid *out_id, GError **error)
{
    g_autoptr(git_object) commit = NULL;
    g_autoptr(git_object) object = find_object(repo, rev, error);
    if (!object)
        return false;
    int rc = acr_git.object_peel(&commit, object, GIT_OBJECT_COMMIT);
    if (rc < 0)
        return acr_vcs_fail_git(
            error, rc == GIT_ENOTFOUND ? ACR_VCS_ERROR_MISSING : ACR_VCS_ERROR_NOT_FOUND,
            "revision '%s' of '%s' does not name a commit", rev, repo->path);
    acr_git.oid_cpy(out_id, acr_git.object_id(commit));
    return true;
}

static AcrSnapshot *snapshot_locked(AcrRepo *repo, const char *rev, GError **error)
{
    git_oid id;
    if (!resolve_revision(repo, rev, &id, error))
        return NULL;
    g_autoptr(AcrSnapshot) snapshot = acr_vcs_snapshot_new(repo);
    acr_git.oid_tostr(snapshot->commit, sizeof snapshot->commit, &id);
    if (!acr_vcs_tree_list(snapshot, &id, error))
        return NULL;
    acr_vcs_snapshot_seal(snapshot);
    return g_steal_pointer(&snapshot);
}

static bool check_is_git(const AcrRepo *repo, const char *rev, GError **error)
{
    return repo->git || acr_vcs_fail(error, ACR_VCS_ERROR_NOT_FOUND,
                                     "'%s' is not a git repository, so it has no revision '%s'",
                                     repo->path, rev);
}

bool acr_repo_has_commit(AcrRepo *repo, const char *rev, GError **error)
{
    git_oid id;
    if (!check_is_git(repo, rev, error))
        return false;
    pthread_mutex_lock(&repo->lock);
    bool ok = resolve_revision(repo, rev, &id, error);
    pthread_mutex_unlock(&repo->lock);
    return ok;
}

AcrSnapshot *acr_snapshot_of_commit(AcrRepo *repo, const char *rev, GError **error)
{
    if (!check_is_git(repo, rev, error))
        return NULL;
    pthread_mutex_lock(&repo->lock);
    AcrSnapshot *snapshot = snapshot_locked(repo, rev, error);
    pthread_mutex_unlock(&repo->lock);
    return snapshot;
}

AcrSnapshot *acr_snapshot_committed(AcrSnapshot *snapshot, GError **error)
{
    if (snapshot->commit[0] && !snapshot->worktree)
        return acr_snapshot_ref(snapshot);
    if (snapshot->commit[0] && snapshot->repo)
        return acr_snapshot_of_commit(snapshot->repo, snapshot->commit, error);
    AcrSnapshot *empty = acr_vcs_snapshot_new(NULL);
    acr_vcs_snapshot_seal(empty);
    return empty;
}
