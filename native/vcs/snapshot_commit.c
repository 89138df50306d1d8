/*
 * Snapshot of a commit: a revision becomes a commit, its trees become entries. No blob is read.
 *
 * Trees come from strangers: depth and number are bounded, and names that no checkout could hold
 * are left out.
 */
#include <string.h>

#include "vcs_private.h"

typedef struct {
    AcrSnapshot *snapshot;
    git_repository *git;
    GString *path;
    gsize trees; /* visited: bounded, as a few trees can name each other very often */
} Listing;

static bool list_tree(Listing *listing, const git_oid *id, guint depth, GError **error);

static bool fail_object(const char *path, const git_oid *id, int rc, GError **error)
{
    char hex[GIT_OID_HEXSZ + 1];
    git_oid_tostr(hex, sizeof hex, id);
    if (rc == GIT_ENOTFOUND)
        g_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING,
                    "object %s is not in '%s' (a shallow or partial clone?)", hex, path);
    else
        acr_vcs_set_git_error(error, ACR_VCS_ERROR_FAILED, "cannot read object %s of '%s'", hex,
                              path);
    return false;
}

static bool list_entry(Listing *listing, const git_tree_entry *entry, guint depth, GError **error)
{
    const char *path = listing->path->str;
    const git_oid *id = git_tree_entry_id(entry);
    switch (git_tree_entry_filemode(entry)) {
    case GIT_FILEMODE_TREE:
        g_string_append_c(listing->path, '/');
        return list_tree(listing, id, depth + 1, error);
    case GIT_FILEMODE_COMMIT:
        acr_vcs_snapshot_leave(listing->snapshot, ACR_VCS_LEFT_SUBMODULE, path);
        return true;
    case GIT_FILEMODE_LINK:
        return acr_vcs_snapshot_add(listing->snapshot, path, ACR_MODE_LINK, id->id, ACR_VCS_IN_ODB,
                                    error);
    case GIT_FILEMODE_BLOB_EXECUTABLE:
        return acr_vcs_snapshot_add(listing->snapshot, path, ACR_MODE_EXEC, id->id, ACR_VCS_IN_ODB,
                                    error);
    default:
        return acr_vcs_snapshot_add(listing->snapshot, path, ACR_MODE_FILE, id->id, ACR_VCS_IN_ODB,
                                    error);
    }
}

static bool list_tree(Listing *listing, const git_oid *id, guint depth, GError **error)
{
    g_autoptr(git_tree) tree = NULL;
    if (depth > ACR_VCS_MAX_DEPTH || ++listing->trees > ACR_VCS_MAX_FILES) {
        g_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_TOO_BIG,
                    "too many folders in a tree, or inside each other");
        return false;
    }
    int rc = git_tree_lookup(&tree, listing->git, id);
    if (rc < 0)
        return fail_object(listing->snapshot->repo->path, id, rc, error);
    gsize base = listing->path->len;
    for (size_t i = 0; i < git_tree_entrycount(tree); i++) {
        const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
        const char *name = git_tree_entry_name(entry);
        g_string_append(listing->path, name);
        if (!acr_vcs_part_ok(name, strlen(name)) || listing->path->len > ACR_VCS_MAX_PATH)
            acr_vcs_snapshot_leave(listing->snapshot, ACR_VCS_LEFT_BAD_NAME, listing->path->str);
        else if (!list_entry(listing, entry, depth, error))
            return false;
        g_string_truncate(listing->path, base);
    }
    return true;
}

bool acr_vcs_tree_list(AcrSnapshot *snapshot, const git_oid *id, GError **error)
{
    AcrRepo *repo = snapshot->repo;
    g_autoptr(git_commit) commit = NULL;
    int rc = git_commit_lookup(&commit, repo->git, id);
    if (rc < 0)
        return fail_object(repo->path, id, rc, error);
    Listing listing = {.snapshot = snapshot, .git = repo->git, .path = g_string_new(NULL)};
    bool done = list_tree(&listing, git_commit_tree_id(commit), 0, error);
    g_string_free(listing.path, TRUE);
    return done;
}

static bool has_no_refs(git_repository *git)
{
    git_reference_iterator *iterator = NULL;
    const char *name = NULL;
    if (git_reference_iterator_new(&iterator, git) < 0)
        return false;
    bool none = git_reference_next_name(&name, iterator) == GIT_ITEROVER;
    git_reference_iterator_free(iterator);
    return none;
}

/* Says why `rev` could not be resolved, after libgit2 answered `rc`. */
static void explain_revision(AcrRepo *repo, const char *rev, int rc, GError **error)
{
    const git_error *last = git_error_last();
    g_autofree char *cause = acr_vcs_show_path(last && last->message ? last->message : "");
    g_autofree char *shown = acr_vcs_show_path(rev);
    bool head = g_str_equal(rev, "HEAD") || g_str_equal(rev, "@");
    if (git_repository_head_unborn(repo->git) == 1 && (head || has_no_refs(repo->git)))
        g_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_EMPTY, "'%s' has no commits yet",
                    repo->path);
    else if (rc == GIT_ENOTFOUND)
        g_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_NOT_FOUND, "no revision '%s' in '%s'%s",
                    shown, repo->path,
                    git_repository_is_shallow(repo->git) == 1 ? ", which is a shallow clone" : "");
    else
        g_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_NOT_FOUND, "no revision '%s' in '%s': %s",
                    shown, repo->path, cause);
}

/* The object that `rev` names; NULL and `error`. References come first, as libgit2 leaks those
 * whose object is missing. */
static git_object *find_object(AcrRepo *repo, const char *rev, GError **error)
{
    git_object *object = NULL;
    g_autoptr(git_reference) reference = NULL;
    git_oid id;
    int rc = *rev ? git_reference_dwim(&reference, repo->git, rev)
                  : GIT_ENOTFOUND; /* "" would be HEAD */
    if (rc == 0 && git_reference_name_to_id(&id, repo->git, git_reference_name(reference)) == 0) {
        rc = git_object_lookup(&object, repo->git, &id, GIT_OBJECT_ANY);
        if (rc < 0)
            fail_object(repo->path, &id, rc, error);
        return object;
    }
    rc = git_revparse_single(&object, repo->git, rev);
    if (rc < 0)
        explain_revision(repo, rev, rc, error);
    return object;
}

static bool resolve(AcrRepo *repo, const char *rev, git_oid *out_id, GError **error)
{
    g_autoptr(git_object) commit = NULL;
    g_autoptr(git_object) object = find_object(repo, rev, error);
    if (!object)
        return false;
    int rc = git_object_peel(&commit, object, GIT_OBJECT_COMMIT);
    if (rc < 0) {
        g_autofree char *shown = acr_vcs_show_path(rev);
        acr_vcs_set_git_error(error,
                              rc == GIT_ENOTFOUND ? ACR_VCS_ERROR_MISSING : ACR_VCS_ERROR_NOT_FOUND,
                              "revision '%s' of '%s' leads to no commit", shown, repo->path);
        return false;
    }
    git_oid_cpy(out_id, git_object_id(commit));
    return true;
}

static AcrSnapshot *snapshot_locked(AcrRepo *repo, const char *rev, GError **error)
{
    git_oid id;
    if (!resolve(repo, rev, &id, error))
        return NULL;
    g_autoptr(AcrSnapshot) snapshot = acr_vcs_snapshot_new(repo);
    git_oid_tostr(snapshot->commit, sizeof snapshot->commit, &id);
    if (!acr_vcs_tree_list(snapshot, &id, error))
        return NULL;
    acr_vcs_snapshot_seal(snapshot);
    return g_steal_pointer(&snapshot);
}

AcrSnapshot *acr_snapshot_of_commit(AcrRepo *repo, const char *rev, GError **error)
{
    if (!repo->git) {
        g_set_error(error, ACR_VCS_ERROR, ACR_VCS_ERROR_NOT_FOUND,
                    "'%s' is a folder without git: no revision '%s'", repo->path, rev);
        return NULL;
    }
    pthread_mutex_lock(&repo->lock);
    AcrSnapshot *snapshot = snapshot_locked(repo, rev, error);
    pthread_mutex_unlock(&repo->lock);
    return snapshot;
}
