/* Finds the commits before a snapshot that change the text that a caller searches for, beginning
 * with the newest.
 *
 * If a merge has the same text as one of its parents, the walk follows only that parent, as git
 * does, so most of a long history is not read. Histories are untrusted, so commits and bytes are
 * limited. The limits count work, not time, so that the same query always gets the same answer. */
#include <string.h>

#include "vcs_private.h"

/* maximum number of commits for a search that has found a commit; reading them takes about a tenth
 * of a second */
#define MAX_COMMITS 1000u
/* maximum total size in bytes of the trees and files that are compared */
#define MAX_WORK ((gsize)8 * 1024 * 1024)
#define PATIENCE 4u      /* factor of the two limits for a search that has found no commit yet */
#define COMMIT_WORK 400u /* bytes of work that reading a commit counts as */
#define ENTRY_WORK 36u   /* bytes of work that reading an entry of a tree counts as */
#define MAX_BLOB ((gsize)4 * 1024 * 1024) /* maximum size in bytes of files that are compared */

typedef struct {
    char *path;
    git_oid before, after; /* blob ids; all zero if the file does not exist */
} FileChange;

typedef struct {
    git_oid id;
    gint64 time;
} Waiting;

typedef struct {
    AcrRepo *repo;
    git_odb *odb;
    const AcrLogQuery *query;
    AcrLog *log;
    GArray *waiting; /* array of Waiting: the commits to visit */
    GHashTable *seen;
    GHashTable *parts; /* blob id of a version of a file -> the part of this version that is
                        * compared (see AcrLogQuery) */
    gsize work;
} LogWalk;

static void log_walk_clear(LogWalk *walk)
{
    acr_git.odb_free(walk->odb);
    g_clear_pointer(&walk->waiting, g_array_unref);
    g_clear_pointer(&walk->seen, g_hash_table_unref);
    g_clear_pointer(&walk->parts, g_hash_table_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LogWalk, log_walk_clear)

static void free_change(gpointer data)
{
    ACR_FREE(((FileChange *)data)->path, data);
}

static void free_commit(gpointer data)
{
    AcrCommit *commit = data;
    g_free(commit->subject);
    g_ptr_array_unref(commit->files);
    g_free(commit);
}

void acr_log_clear(AcrLog *log)
{
    g_clear_pointer(&log->commits, g_ptr_array_unref);
}

static bool is_worn_out(const LogWalk *walk)
{
    guint patience = walk->log->commits->len ? 1 : PATIENCE;
    return walk->log->n_visited >= MAX_COMMITS * patience || walk->work >= MAX_WORK * patience;
}

void acr_log_add_path(GHashTable *paths, const char *path)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
        g_hash_table_add(paths, g_strndup(path, (gsize)(slash - path)));
    g_hash_table_add(paths, g_strdup(path));
}

static bool is_folder(const git_tree_entry *entry)
{
    return acr_git.tree_entry_filemode(entry) == GIT_FILEMODE_TREE;
}

static bool is_file(const git_tree_entry *entry)
{
    guint32 mode = acr_git.tree_entry_filemode(entry);
    return mode != GIT_FILEMODE_TREE && mode != GIT_FILEMODE_COMMIT && mode != GIT_FILEMODE_LINK;
}

static bool compare_trees(LogWalk *walk, GHashTable *only, const git_oid *before,
                          const git_oid *after, const char *folder, guint depth, GPtrArray *out);

/* Compares the entry `before` with the entry `after` of the same name; either may be NULL. */
static bool compare_tree_entries(LogWalk *walk, GHashTable *only, const git_tree_entry *before,
                                 const git_tree_entry *after, const char *folder, guint depth,
                                 GPtrArray *out)
{
    const git_oid *old = before ? acr_git.tree_entry_id(before) : NULL,
                  *new = after ? acr_git.tree_entry_id(after) : NULL;
    if (old && new &&acr_git.oid_equal(old, new))
        return true;
    g_autofree char *path =
        g_strconcat(folder, acr_git.tree_entry_name(after ? after : before), NULL);
    if (only && !g_hash_table_contains(only, path))
        return true;
    old = before && is_file(before) ? old : NULL;
    new = after &&is_file(after) ? new : NULL;
    if (old || new) {
        FileChange *change = g_new0(FileChange, 1);
        change->path = g_strdup(path);
        change->before = old ? *old : change->before;
        change->after = new ? *new : change->after;
        g_ptr_array_add(out, change);
    }
    old = before && is_folder(before) ? acr_git.tree_entry_id(before) : NULL;
    new = after &&is_folder(after) ? acr_git.tree_entry_id(after) : NULL;
    g_autofree char *below = g_strconcat(path, "/", NULL);
    return (!old && !new) || compare_trees(walk, only, old, new, below, depth + 1, out);
}

/* Appends the files (FileChange) that differ between two trees; NULL is an empty tree. `only` is
 * the set of files and folders to compare; NULL: all. Returns false if an object is missing. */
static bool compare_trees(LogWalk *walk, GHashTable *only, const git_oid *before,
                          const git_oid *after, const char *folder, guint depth, GPtrArray *out)
{
    g_autoptr(git_tree) old = NULL, new = NULL;
    if ((before && acr_git.tree_lookup(&old, walk->repo->git, before) < 0) ||
        (after && acr_git.tree_lookup(&new, walk->repo->git, after) < 0))
        return false;
    gsize n_old = old ? acr_git.tree_entrycount(old) : 0,
          n_new = new ? acr_git.tree_entrycount(new) : 0;
    walk->work += (n_old + n_new) * ENTRY_WORK;
    if (depth > ACR_VCS_MAX_DEPTH)
        return true;
    for (gsize i = 0; i < n_new && !is_worn_out(walk); i++) {
        const git_tree_entry *entry = acr_git.tree_entry_byindex(new, i),
                             *was = old ? acr_git.tree_entry_byname(old,
                                                                    acr_git.tree_entry_name(entry))
                                        : NULL;
        if (!compare_tree_entries(walk, only, was, entry, folder, depth, out))
            return false;
    }
    for (gsize i = 0; i < n_old && !is_worn_out(walk); i++) {
        const git_tree_entry *entry = acr_git.tree_entry_byindex(old, i);
        if ((!new || !acr_git.tree_entry_byname(new, acr_git.tree_entry_name(entry))) &&
            !compare_tree_entries(walk, only, entry, NULL, folder, depth, out))
            return false;
    }
    return true;
}

/* Returns the files in which a commit differs from its parent number `parent`, or from an empty
 * tree if the commit has no such parent; owned; NULL if an object is missing. */
static GPtrArray *changes_of(LogWalk *walk, const git_commit *commit, guint parent,
                             GHashTable *only)
{
    g_autoptr(git_commit) before = NULL;
    g_autoptr(GPtrArray) changes = g_ptr_array_new_with_free_func(free_change);
    if (parent < acr_git.commit_parentcount(commit) &&
        acr_git.commit_lookup(&before, walk->repo->git, acr_git.commit_parent_id(commit, parent)) <
            0)
        return NULL;
    return compare_trees(walk, only, before ? acr_git.commit_tree_id(before) : NULL,
                         acr_git.commit_tree_id(commit), "", 0, changes)
               ? g_steal_pointer(&changes)
               : NULL;
}

/* Returns the content of a file; owned; NULL if the file is missing or too large. */
static GBytes *read_blob(LogWalk *walk, const git_oid *id)
{
    git_odb_object *object = NULL;
    size_t size = 0;
    git_object_t type = GIT_OBJECT_ANY;
    if (acr_git.odb_read_header(&size, &type, walk->odb, id) < 0 || type != GIT_OBJECT_BLOB ||
        size > MAX_BLOB || acr_git.odb_read(&object, walk->odb, id) < 0)
        return NULL;
    walk->work += size;
    return g_bytes_new_with_free_func(acr_git.odb_object_data(object),
                                      acr_git.odb_object_size(object),
                                      (GDestroyNotify)acr_git.odb_object_free, object);
}

static bool is_none(const git_oid *id)
{
    static const git_oid none;
    return acr_git.oid_equal(id, &none) != 0;
}

/* Returns the part of a version of a file that the query compares; borrowed. */
static const char *part_of(LogWalk *walk, const git_oid *id)
{
    if (is_none(id))
        return "";
    char *part = g_hash_table_lookup(walk->parts, id->id);
    if (part)
        return part;
    g_autoptr(GBytes) bytes = read_blob(walk, id);
    part = bytes ? walk->query->part(walk->query->user, bytes) : g_strdup("");
    g_hash_table_insert(walk->parts, g_memdup2(id->id, GIT_OID_RAWSZ), part);
    return part;
}

static bool touches_any(LogWalk *walk, const GPtrArray *changes)
{
    for (guint i = 0; i < changes->len && !is_worn_out(walk); i++) {
        const FileChange *change = changes->pdata[i];
        if (strcmp(part_of(walk, &change->before), part_of(walk, &change->after)) != 0)
            return true;
    }
    return false;
}

static bool has_same_name(const char *path, const char *other)
{
    g_autofree char *name = g_path_get_basename(path), *other_name = g_path_get_basename(other);
    return strcmp(name, other_name) == 0;
}

/* If the commit moves files of the query, adds the files' older paths to the query. */
static void follow_moves(LogWalk *walk, const GPtrArray *changes)
{
    for (guint i = 0; walk->query->paths && i < changes->len; i++) {
        const FileChange *new = changes->pdata[i];
        if (!is_none(&new->before) || !g_hash_table_contains(walk->query->paths, new->path))
            continue;
        for (guint k = 0; k < changes->len; k++) {
            const FileChange *old = changes->pdata[k];
            if (is_none(&old->after) && has_same_name(old->path, new->path))
                acr_log_add_path(walk->query->paths, old->path);
        }
    }
}

static void add_found(LogWalk *walk, git_commit *commit)
{
    AcrCommit *found = g_new0(AcrCommit, 1);
    const char *subject = acr_git.commit_summary(commit);
    acr_git.oid_tostr(found->id, sizeof found->id, acr_git.commit_id(commit));
    found->time = acr_git.commit_time(commit);
    found->subject = acr_utf8_repair(subject ? subject : "", subject ? strlen(subject) : 0);
    found->files = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) changes = changes_of(walk, commit, 0, NULL);
    for (guint i = 0; changes && i < changes->len; i++) {
        const char *path = ((FileChange *)changes->pdata[i])->path;
        g_ptr_array_add(found->files, acr_utf8_repair(path, strlen(path)));
    }
    if (changes)
        follow_moves(walk, changes);
    g_ptr_array_sort(found->files, acr_compare_names);
    g_ptr_array_add(walk->log->commits, found);
}

static void wait_for(LogWalk *walk, const git_oid *id)
{
    g_autoptr(git_commit) commit = NULL;
    if (!g_hash_table_add(walk->seen, g_memdup2(id->id, GIT_OID_RAWSZ)))
        return;
    if (acr_git.commit_lookup(&commit, walk->repo->git, id) < 0) {
        walk->log->is_cut = true;
        return;
    }
    Waiting waiting = {*id, acr_git.commit_time(commit)};
    g_array_append_val(walk->waiting, waiting);
}

/* Compares a commit with its parents, and queues the parents to visit. If the commit has no
 * relevant difference from one of its parents, queues only that parent. */
static void visit_commit(LogWalk *walk, git_commit *commit)
{
    guint n = acr_git.commit_parentcount(commit);
    bool is_compared = n < 2 || walk->query->paths, is_known = is_compared;
    for (guint i = 0; is_compared && i < MAX(n, 1); i++) {
        g_autoptr(GPtrArray) changes = changes_of(walk, commit, i, walk->query->paths);
        is_known = is_known && changes;
        if (!changes) {
            walk->log->is_cut = true;
        } else if (!touches_any(walk, changes)) {
            if (i < n)
                wait_for(walk, acr_git.commit_parent_id(commit, i));
            return;
        }
    }
    if (is_known)
        add_found(walk, commit);
    for (guint i = 0; i < n; i++)
        wait_for(walk, acr_git.commit_parent_id(commit, i));
}

/* Removes and returns the newest of the waiting commits; if several are equally new, the one that
 * has waited longest. */
static Waiting take_newest(LogWalk *walk)
{
    guint newest = 0;
    for (guint i = 1; i < walk->waiting->len; i++)
        if (g_array_index(walk->waiting, Waiting, i).time >
            g_array_index(walk->waiting, Waiting, newest).time)
            newest = i;
    Waiting taken = g_array_index(walk->waiting, Waiting, newest);
    g_array_remove_index(walk->waiting, newest);
    return taken;
}

static void walk_commits(LogWalk *walk)
{
    AcrLog *log = walk->log;
    while (walk->waiting->len && log->commits->len < walk->query->max_found && !log->is_limited) {
        Waiting next = take_newest(walk);
        g_autoptr(git_commit) commit = NULL;
        if (acr_git.commit_lookup(&commit, walk->repo->git, &next.id) == 0)
            visit_commit(walk, commit);
        walk->work += COMMIT_WORK;
        log->oldest = next.time;
        log->n_visited++;
        log->is_limited = is_worn_out(walk);
    }
    log->is_limited = log->is_limited && walk->waiting->len;
    log->is_full = walk->waiting->len && !log->is_limited;
}

bool acr_snapshot_log(AcrSnapshot *snapshot, const AcrLogQuery *query, AcrLog *out, GError **error)
{
    g_auto(LogWalk) walk = {.repo = snapshot->repo, .query = query, .log = out};
    git_oid first;
    *out = (AcrLog){.commits = g_ptr_array_new_with_free_func(free_commit)};
    if (!snapshot->commit[0] || !snapshot->repo || !snapshot->repo->git)
        return true;
    walk.waiting = g_array_new(FALSE, FALSE, sizeof(Waiting));
    walk.seen = g_hash_table_new_full(acr_vcs_id_hash, acr_vcs_id_equal, g_free, NULL);
    walk.parts = g_hash_table_new_full(acr_vcs_id_hash, acr_vcs_id_equal, g_free, g_free);
    acr_git.oid_fromstr(&first, snapshot->commit);
    pthread_mutex_lock(&snapshot->repo->lock);
    bool ok = acr_git.repository_odb(&walk.odb, snapshot->repo->git) == 0;
    if (ok) {
        wait_for(&walk, &first);
        walk_commits(&walk);
    } else {
        acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot read objects of '%s'",
                         snapshot->repo->path);
    }
    pthread_mutex_unlock(&snapshot->repo->lock);
    return ok;
}
