/*
 * A git folder for one commit, as a shallow clone has it. Projects ask git for their version, and tests
 * for their files; what came after the commit must not be found there, nor anything of the repository's
 * own configuration.
 */
#include <git2/sys/odb_backend.h>
#include <string.h>

#include "vcs_private.h"

#define MAX_HISTORY 10000u /* commits that are looked through for a tag */
#define MAX_TAGS 20000u
#define MAX_PACKED_REFS ((gsize)64 * 1024 * 1024)
#define TAGS "refs/tags/"
#define DIR_MODE 0755
#define OBJECT_MODE 0444
#define LEVEL 1 /* of zlib */

typedef struct {
    git_oid id;
    bool is_cut; /* it is written as one without parents */
} Commit;

typedef struct {
    git_repository *git;
    git_odb *from, *to;
    const char *dir;
    GHashTable *tags;   /* id of a commit (20 bytes) -> GPtrArray of Tag *; NULL: none */
    guint n_tags;       /* that were read */
    GArray *commits;    /* of Commit: the snapshot's, then its ancestors, nearest first */
    GHashTable *copied; /* ids of trees (20 bytes) */
    GPtrArray *trees;   /* to be copied: git_oid *, keys of `copied` */
} Copying;

typedef struct {
    char *name;
    git_oid id; /* the commit's, or that of a tag object */
} Tag;

static void tag_free(gpointer data)
{
    Tag *tag = data;
    g_free(tag->name);
    g_free(tag);
}

/* ---- Tags ---- */

/* Notes a tag by the commit that it leads to; what leads to none is passed over. */
static void add_tag(Copying *copying, const char *name, const char *hex)
{
    git_oid id;
    g_autoptr(git_object) object = NULL, commit = NULL;
    g_autofree char *reference = g_strconcat(TAGS, name, NULL);
    int is_valid = 0;
    if (++copying->n_tags > MAX_TAGS || git_reference_name_is_valid(&is_valid, reference) < 0 ||
        !is_valid || git_oid_fromstr(&id, hex) < 0 ||
        git_object_lookup(&object, copying->git, &id, GIT_OBJECT_ANY) < 0 ||
        git_object_peel(&commit, object, GIT_OBJECT_COMMIT) < 0)
        return;
    const git_oid *to = git_object_id(commit);
    GPtrArray *tags = g_hash_table_lookup(copying->tags, to->id);
    if (!tags) {
        tags = g_ptr_array_new_with_free_func(tag_free);
        g_hash_table_insert(copying->tags, g_memdup2(to->id, GIT_OID_RAWSZ), tags);
    }
    Tag *tag = g_new0(Tag, 1);
    tag->name = g_strdup(name);
    tag->id = id;
    g_ptr_array_add(tags, tag);
}

static void add_loose_tags(Copying *copying, const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "refs", "tags", NULL);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_autofree char *file = g_build_filename(path, name, NULL);
        g_autoptr(GBytes) bytes = acr_file_read(file, GIT_OID_HEXSZ + 1, NULL);
        g_autofree char *hex = bytes ? g_strchomp(acr_bytes_text(bytes)) : NULL;
        if (hex)
            add_tag(copying, name, hex);
    }
}

static void add_packed_tags(Copying *copying, const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "packed-refs", NULL);
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_PACKED_REFS, NULL);
    g_autofree char *text = bytes ? acr_bytes_text(bytes) : NULL;
    char *rest = text;
    for (char *line; rest && (line = strsep(&rest, "\n"));)
        if (strlen(line) > GIT_OID_HEXSZ && line[GIT_OID_HEXSZ] == ' ' &&
            g_str_has_prefix(line + GIT_OID_HEXSZ + 1, TAGS)) {
            line[GIT_OID_HEXSZ] = '\0';
            add_tag(copying, line + GIT_OID_HEXSZ + 1 + strlen(TAGS), line);
        }
}

/* ---- History ---- */

/* Appends the parents of a commit; false: one of them is not there. */
static bool add_parents(Copying *copying, const git_oid *id, GHashTable *seen)
{
    g_autoptr(git_commit) commit = NULL;
    if (git_commit_lookup(&commit, copying->git, id) < 0)
        return false;
    for (guint i = 0; i < git_commit_parentcount(commit); i++)
        if (!git_odb_exists(copying->from, git_commit_parent_id(commit, i)))
            return false;
    for (guint i = 0; i < git_commit_parentcount(commit); i++) {
        Commit parent = {.id = *git_commit_parent_id(commit, i)};
        if (g_hash_table_add(seen, g_memdup2(parent.id.id, GIT_OID_RAWSZ)))
            g_array_append_val(copying->commits, parent);
    }
    return true;
}

/* Appends what lies between the first commit and the nearest one with a tag, and cuts what lies beyond;
 * without one the first is cut. */
static void find_history(Copying *copying)
{
    g_autoptr(GHashTable) seen =
        g_hash_table_new_full(acr_vcs_id_hash, acr_vcs_id_equal, g_free, NULL);
    GArray *commits = copying->commits;
    guint at = 0;
    bool found = false;
    for (; !found && at < commits->len && at < MAX_HISTORY && g_hash_table_size(copying->tags);
         at += !found) {
        git_oid id = g_array_index(commits, Commit, at).id;
        found = g_hash_table_contains(copying->tags, id.id);
        if (!found && !add_parents(copying, &id, seen))
            g_array_index(commits, Commit, at).is_cut = true;
    }
    if (!found)
        g_array_set_size(commits, 1);
    for (guint i = found ? at : 0; i < commits->len; i++)
        g_array_index(commits, Commit, i).is_cut = true;
}

/* ---- Objects ---- */

static bool copy_object(Copying *copying, const git_oid *id, GError **error)
{
    g_autoptr(git_odb_object) object = NULL;
    git_oid written;
    gsize size = 0;
    git_object_t type = GIT_OBJECT_INVALID;
    int rc = git_odb_read_header(&size, &type, copying->from, id);
    if (rc == 0 && size > ACR_VCS_MAX_FILE_BYTES)
        return true; /* its content is refused everywhere */
    if (rc == 0)
        rc = git_odb_read(&object, copying->from, id);
    if (rc < 0)
        return acr_vcs_fail_git(error,
                                rc == GIT_ENOTFOUND ? ACR_VCS_ERROR_MISSING : ACR_VCS_ERROR_FAILED,
                                "cannot read an object");
    rc = git_odb_write(&written, copying->to, git_odb_object_data(object), size, type);
    return (rc == 0 && git_oid_equal(&written, id)) ||
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
        if (git_tree_lookup(&tree, copying->git, id) < 0)
            return acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot read a tree");
        for (gsize i = 0; i < git_tree_entrycount(tree); i++) {
            const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
            if (git_tree_entry_filemode(entry) == GIT_FILEMODE_TREE)
                want_tree(copying, git_tree_entry_id(entry));
        }
    }
    return true;
}

static bool copy_files(Copying *copying, const AcrSnapshot *files, GError **error)
{
    g_autoptr(git_index) index = NULL;
    g_autofree char *path = g_build_filename(copying->dir, "index", NULL);
    int rc = git_index_open(&index, path);
    for (gsize i = 0; rc == 0 && i < acr_snapshot_size(files); i++) {
        const AcrEntry *entry = acr_snapshot_entry(files, i);
        git_index_entry row = {.mode = entry->mode, .path = entry->path};
        git_oid_fromraw(&row.id, entry->id);
        if (!copy_object(copying, &row.id, error))
            return false;
        if (git_index_add(index, &row) < 0) /* no name for an index: git shows it as deleted */
            g_debug("%s", entry->path);
    }
    if (rc == 0)
        rc = git_index_write(index);
    return rc == 0 ||
           acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot write the index '%s'", path);
}

static bool copy_commits(Copying *copying, GString *shallow, GString *tags, GError **error)
{
    for (guint i = 0; i < copying->commits->len; i++) {
        const Commit *commit = &g_array_index(copying->commits, Commit, i);
        const GPtrArray *named = g_hash_table_lookup(copying->tags, commit->id.id);
        char hex[GIT_OID_HEXSZ + 1];
        if (!copy_object(copying, &commit->id, error))
            return false;
        if (commit->is_cut)
            g_string_append_printf(shallow, "%s\n", git_oid_tostr(hex, sizeof hex, &commit->id));
        for (guint k = 0; named && k < named->len; k++) {
            const Tag *tag = named->pdata[k];
            if (!copy_object(copying, &tag->id, error))
                return false;
            g_string_append_printf(tags, "%s " TAGS "%s\n",
                                   git_oid_tostr(hex, sizeof hex, &tag->id), tag->name);
        }
    }
    return true;
}

/* ---- The whole ---- */

static bool write_file(const char *dir, const char *name, const char *text, GError **error)
{
    g_autofree char *path = g_build_filename(dir, name, NULL), *folder = g_path_get_dirname(path);
    return acr_dir_make(folder, error) && acr_file_write_atomic(path, text, strlen(text), 0, error);
}

static bool write_all(Copying *copying, const AcrSnapshot *files, const char *commit,
                      GError **error)
{
    g_autoptr(GString) shallow = g_string_new(NULL), tags = g_string_new(NULL);
    g_autoptr(git_commit) head = NULL;
    const Commit *first = &g_array_index(copying->commits, Commit, 0);
    if (git_commit_lookup(&head, copying->git, &first->id) < 0)
        return acr_vcs_fail_git(error, ACR_VCS_ERROR_MISSING, "cannot read commit %s", commit);
    want_tree(copying, git_commit_tree_id(head));
    add_loose_tags(copying, git_repository_commondir(copying->git));
    add_packed_tags(copying, git_repository_commondir(copying->git));
    find_history(copying);
    g_autofree char *main = g_strconcat(commit, "\n", NULL);
    return copy_commits(copying, shallow, tags, error) && copy_trees(copying, error) &&
           copy_files(copying, files, error) &&
           write_file(copying->dir, "shallow", shallow->str, error) &&
           write_file(copying->dir, "packed-refs", tags->str, error) &&
           write_file(copying->dir, "refs/heads/main", main, error) &&
           write_file(copying->dir, "config",
                      "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
                      error) &&
           write_file(copying->dir, "HEAD", "ref: refs/heads/main\n", error);
}

/* Objects are written to a folder of their own kind there. False with libgit2's error. */
static bool open_target(Copying *copying, const char *objects)
{
    git_odb_backend *loose = NULL;
    if (git_odb_new(&copying->to) < 0 ||
        git_odb_backend_loose(&loose, objects, LEVEL, 0, DIR_MODE, OBJECT_MODE) < 0)
        return false;
    if (git_odb_add_backend(copying->to, loose, 1) == 0)
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
    g_autoptr(GHashTable) tags = g_hash_table_new_full(acr_vcs_id_hash, acr_vcs_id_equal, g_free,
                                                       (GDestroyNotify)g_ptr_array_unref);
    g_autoptr(GHashTable) copied =
        g_hash_table_new_full(acr_vcs_id_hash, acr_vcs_id_equal, g_free, NULL);
    g_autoptr(GArray) commits = g_array_new(FALSE, TRUE, sizeof(Commit));
    g_autoptr(GPtrArray) trees = g_ptr_array_new();
    g_autoptr(git_odb) from = NULL;
    Copying copying = {.git = snapshot->repo->git,
                       .dir = dir,
                       .tags = tags,
                       .commits = commits,
                       .copied = copied,
                       .trees = trees};
    Commit first = {.is_cut = false};
    git_oid_fromstr(&first.id, snapshot->commit);
    g_array_append_val(commits, first);
    pthread_mutex_lock(&snapshot->repo->lock);
    bool is_open = git_repository_odb(&from, copying.git) == 0 && open_target(&copying, objects);
    copying.from = from;
    bool ok = is_open ? write_all(&copying, files, snapshot->commit, error)
                      : acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot write to '%s'", dir);
    git_odb_free(copying.to);
    pthread_mutex_unlock(&snapshot->repo->lock);
    return ok;
}
