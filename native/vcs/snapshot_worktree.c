/* Takes a snapshot of a working tree in its current state, or of a folder without git.
 *
 * This file walks the tree without libgit2, because libgit2's status and diff may refresh the index
 * file and compare converted contents. Every folder is opened relative to its parent folder without
 * following symlinks. Every file is read and hashed, because sizes and times in the index do not
 * show whether a filter has changed the bytes. libgit2 only lists the files of the index. git's
 * conversion of line endings is undone, so that a file that git considers unchanged is unchanged in
 * the snapshot, too. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rules_private.h"

/* size in bytes of the pieces in which a large file is read */
#define PIECE_BYTES ((gsize)1024 * 1024)
/* maximum total size in bytes of all files above ACR_VCS_MAX_FILE_BYTES; further such files are
 * skipped */
#define MAX_HASHED_BYTES ((goffset)1 << 30)

#define MIB ((guint64)1024 * 1024)
/* A larger folder without git is probably no project, and would be copied into each run folder. */
#define MAX_PLAIN_FILES 100000u
#define MAX_PLAIN_BYTES (512 * MIB)

typedef struct {
    AcrSnapshot *snapshot;
    git_repository *git;          /* NULL for a folder without git */
    git_odb *odb;                 /* borrowed during the walk; NULL if there is no git */
    git_index *index;             /* NULL if there is no git, or if the index cannot be read */
    AcrVcsAttributes *attributes; /* NULL without git */
    bool ignores_modes;           /* core.fileMode is off, so the index determines which files are
                             * executable */
    GHashTable *tracked;          /* set of the paths of the files in the index */
    GHashTable *folders;    /* set of the paths of all folders that contain files of the index */
    GHashTable *submodules; /* set of the paths of submodules */
    AcrVcsIgnore *ignore;   /* NULL without git */
    GHashTable *head;       /* set of the ids of HEAD's blobs, 20 bytes each */
    AcrVcsMarks *marks;     /* borrowed; NULL if no marks are requested */
    GString *path;          /* path of the current file or folder, without a slash at its end */
    /* number of bytes kept in the snapshot so far, or when measuring, that would be kept */
    guint64 kept_bytes;
    bool is_measuring;    /* only add up sizes, and read no file */
    goffset hashed_bytes; /* total size in bytes of the large files so far */
    gsize seen;
    GError *error; /* the first failure ends the walk */
} Walk;

typedef enum {
    TAKE_ALL, /* take tracked files, and those untracked files that are not ignored */
    /* take only tracked files, because the folder is ignored, a repository, or a Python
     * environment */
    TAKE_TRACKED,
} Taking;

static bool walk_entered(Walk *walk, int fd, Taking taking, guint depth);

static bool has_room(Walk *walk, guint64 more)
{
    walk->kept_bytes += more;
    return walk->is_measuring || walk->kept_bytes <= ACR_VCS_MAX_WORKTREE_BYTES ||
           acr_vcs_fail(&walk->error, ACR_VCS_ERROR_TOO_BIG,
                        "the %sfiles of '%s' are larger than %u MiB in total",
                        walk->git ? "changed and untracked " : "", walk->snapshot->repo->workdir,
                        (guint)(ACR_VCS_MAX_WORKTREE_BYTES / MIB));
}

/* Keeps the content in the snapshot, unless HEAD contains it. *out_where says where the content is
 * stored. */
static bool keep_entry(Walk *walk, const guint8 *id, GBytes *content, AcrVcsWhere *out_where)
{
    git_oid oid;
    acr_git.oid_fromraw(&oid, id);
    *out_where = ACR_VCS_IN_ODB;
    if (walk->odb && g_hash_table_contains(walk->head, id) &&
        acr_git.odb_exists_ext(walk->odb, &oid, GIT_ODB_LOOKUP_NO_REFRESH))
        return true;
    *out_where = ACR_VCS_KEPT;
    if (g_hash_table_contains(walk->snapshot->kept, id))
        return true;
    if (!has_room(walk, g_bytes_get_size(content)))
        return false;
    g_hash_table_insert(walk->snapshot->kept, g_memdup2(id, ACR_BLOB_ID_LEN), g_bytes_ref(content));
    return true;
}

static bool add_content(Walk *walk, guint32 mode, GBytes *content, guint8 on_disk)
{
    guint8 id[ACR_BLOB_ID_LEN];
    AcrVcsWhere where;
    acr_vcs_blob_id(g_bytes_get_data(content, NULL), g_bytes_get_size(content), id);
    return keep_entry(walk, id, content, &where) &&
           acr_vcs_snapshot_add(walk->snapshot, walk->path->str, mode, id, where, on_disk,
                                &walk->error);
}

/* Returns the index entry of the current file; NULL if there is none, or if the file is in
 * conflict. */
static const git_index_entry *index_entry(const Walk *walk)
{
    return walk->index ? acr_git.index_get_bypath(walk->index, walk->path->str, 0) : NULL;
}

static bool has_bare_cr(const Walk *walk, const git_oid *id)
{
    g_autoptr(git_odb_object) object = NULL;
    return acr_git.odb_read(&object, walk->odb, id) < 0 ||
           memchr(acr_git.odb_object_data(object), '\r', acr_git.odb_object_size(object));
}

/* Returns the content of a file as git stores it, if the line endings on disk differ from it;
 * owned; otherwise NULL. git does not convert line endings if the stored file contains CR. */
static GBytes *stored_content(const Walk *walk, GBytes *content)
{
    guint8 id[ACR_BLOB_ID_LEN];
    const git_index_entry *known = NULL;
    g_autoptr(GBytes) stored = walk->index ? acr_vcs_crlf_to_lf(content) : NULL;
    if (!stored || !(known = index_entry(walk)))
        return NULL;
    acr_vcs_blob_id(g_bytes_get_data(stored, NULL), g_bytes_get_size(stored), id);
    bool is_clean = acr_vcs_id_equal(id, known->id.id);
    return acr_vcs_attributes_converts(walk->attributes, walk->path->str) &&
                   (is_clean || !has_bare_cr(walk, &known->id))
               ? g_steal_pointer(&stored)
               : NULL;
}

static guint32 stored_mode(const Walk *walk, guint32 mode)
{
    const git_index_entry *known = walk->ignores_modes ? index_entry(walk) : NULL;
    return known ? known->mode : walk->ignores_modes ? ACR_MODE_FILE : mode;
}

/* Computes the id of a file that is too large to keep, piece by piece. Returns false if the file's
 * size changes in the meantime, or if the size exceeds the limit (anyone can create a sparse file
 * of terabytes). */
static bool hash_large(Walk *walk, int fd, goffset size, guint8 *out_id)
{
    if (size > MAX_HASHED_BYTES - walk->hashed_bytes)
        return false;
    walk->hashed_bytes += size;
    char head[40];
    gsize id_len = ACR_BLOB_ID_LEN;
    goffset left = size;
    g_autofree guint8 *piece = g_malloc(PIECE_BYTES);
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA1);
    int head_len = g_snprintf(head, sizeof head, "blob %" G_GINT64_FORMAT, (gint64)size);
    g_checksum_update(sum, (const guchar *)head, head_len + 1);
    while (left > 0) {
        gssize got = read(fd, piece, (gsize)MIN(left, (goffset)PIECE_BYTES));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        g_checksum_update(sum, piece, got);
        left -= got;
    }
    g_checksum_get_digest(sum, out_id, &id_len);
    return left == 0;
}

/* Skips the current path because it is unreadable. Returns false if this process cannot open more
 * files. */
static bool leave_unreadable(Walk *walk)
{
    if (acr_vcs_is_exhausted(errno))
        return acr_vcs_fail(&walk->error, ACR_VCS_ERROR_FAILED, "cannot read '%s': %s",
                            walk->path->str, g_strerror(errno));
    if (errno != ENOENT && errno != EINVAL) /* the path exists, and is not a FIFO or another special
                                             * file */
        acr_vcs_snapshot_leave(walk->snapshot, ACR_VCS_LEFT_UNREADABLE, walk->path->str);
    return true;
}

static bool add_open_file(Walk *walk, int fd)
{
    struct stat st;
    guint8 id[ACR_BLOB_ID_LEN];
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return true;
    guint32 mode = stored_mode(walk, st.st_mode & S_IXUSR ? ACR_MODE_EXEC : ACR_MODE_FILE);
    guint8 on_disk = walk->ignores_modes ? ACR_VCS_DISK_MODE : 0;
    bool is_large = st.st_size > (goffset)ACR_VCS_MAX_FILE_BYTES;
    g_autoptr(GBytes) content =
        is_large ? NULL : acr_fd_read_file(fd, walk->path->str, ACR_VCS_MAX_FILE_BYTES, NULL);
    g_autoptr(GBytes) stored = content ? stored_content(walk, content) : NULL;
    if (stored)
        return add_content(walk, mode, stored, on_disk | ACR_VCS_DISK_CRLF);
    if (content)
        return add_content(walk, mode, content, on_disk);
    if (is_large && hash_large(walk, fd, st.st_size, id))
        return acr_vcs_snapshot_add(walk->snapshot, walk->path->str, mode, id, ACR_VCS_NOT_KEPT,
                                    on_disk, &walk->error);
    acr_vcs_snapshot_leave(walk->snapshot, ACR_VCS_LEFT_UNREADABLE, walk->path->str);
    return true;
}

static bool add_worktree_file(Walk *walk, int folder, const char *name)
{
    ACR_AUTO_FD fd = acr_file_open(folder, name, false);
    return fd >= 0 ? add_open_file(walk, fd) : leave_unreadable(walk);
}

static bool add_link(Walk *walk, int folder, const char *name)
{
    char target[ACR_VCS_MAX_PATH + 1];
    gssize len = readlinkat(folder, name, target, sizeof target);
    if (len < 0 || len == sizeof target)
        return leave_unreadable(walk);
    g_autoptr(GBytes) content = g_bytes_new(target, (gsize)len);
    return add_content(walk, ACR_MODE_LINK, content, 0);
}

static bool enter_folder(Walk *walk, int parent, const char *name, Taking taking, guint depth)
{
    ACR_AUTO_FD fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return leave_unreadable(walk);
    bool tracked = walk->git && g_hash_table_contains(walk->folders, walk->path->str);
    if (walk->git && faccessat(fd, ".git", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        acr_vcs_snapshot_leave(walk->snapshot, ACR_VCS_LEFT_NESTED, walk->path->str);
        taking = TAKE_TRACKED;
    } else if (faccessat(fd, "pyvenv.cfg", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
               (walk->git && taking == TAKE_ALL &&
                acr_vcs_ignore_has(walk->ignore, walk->path->str, true))) {
        taking = TAKE_TRACKED;
    }
    return !(taking == TAKE_ALL || tracked) || walk_entered(walk, fd, taking, depth + 1);
}

static bool visit(Walk *walk, int folder, const char *name, Taking taking, guint depth)
{
    struct stat st;
    const char *path = walk->path->str;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return leave_unreadable(walk);
    if (S_ISDIR(st.st_mode)) {
        if (walk->git && g_hash_table_contains(walk->submodules, path))
            return true;
        if (walk->git && taking == TAKE_TRACKED && !g_hash_table_contains(walk->folders, path))
            return true;
        return enter_folder(walk, folder, name, taking, depth);
    }
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return true;
    if (walk->git && !g_hash_table_contains(walk->tracked, path) &&
        (taking == TAKE_TRACKED || acr_vcs_ignore_has(walk->ignore, path, false)))
        return true;
    if (walk->is_measuring)
        return st.st_size > (goffset)ACR_VCS_MAX_FILE_BYTES || has_room(walk, (guint64)st.st_size);
    acr_vcs_marks_add(walk->marks, path, &st);
    return S_ISLNK(st.st_mode) ? add_link(walk, folder, name)
                               : add_worktree_file(walk, folder, name);
}

/* Adds the names in a folder to `names`, sorted. Skips names that a snapshot must not contain. */
static bool list_names(Walk *walk, int fd, GPtrArray *names)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir) {
        bool ok = leave_unreadable(walk);
        acr_fd_close(&copy);
        return ok;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) && walk->seen <= ACR_VCS_MAX_FILES;) {
        if (!acr_vcs_part_ok(entry->d_name, strlen(entry->d_name)))
            continue;
        g_ptr_array_add(names, g_strdup(entry->d_name));
        walk->seen++;
    }
    closedir(dir);
    g_ptr_array_sort(names, acr_compare_names);
    return true;
}

static bool walk_folder(Walk *walk, int fd, Taking taking, guint depth)
{
    struct stat st;
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    if (walk->marks)
        acr_vcs_marks_add(walk->marks, walk->path->str, fstat(fd, &st) == 0 ? &st : NULL);
    if (!list_names(walk, fd, names))
        return false;
    if (walk->seen > ACR_VCS_MAX_FILES || depth > ACR_VCS_MAX_DEPTH)
        return acr_vcs_fail(&walk->error, ACR_VCS_ERROR_TOO_BIG,
                            "'%s' has more than %u files, or folders nested more than %d deep",
                            walk->snapshot->repo->workdir, ACR_VCS_MAX_FILES, ACR_VCS_MAX_DEPTH);
    gsize base = walk->path->len;
    for (guint i = 0; i < names->len; i++) {
        const char *name = g_ptr_array_index(names, i);
        if (base)
            g_string_append_c(walk->path, '/');
        g_string_append(walk->path, name);
        bool fits = walk->path->len <= ACR_VCS_MAX_PATH;
        if (!fits)
            acr_vcs_snapshot_leave(walk->snapshot, ACR_VCS_LEFT_UNREADABLE, walk->path->str);
        if (fits && !visit(walk, fd, name, taking, depth))
            return false;
        g_string_truncate(walk->path, base);
    }
    return true;
}

/* Returns false if a folder without git is too large, before its files are read. */
static bool measure_folder(Walk *walk, int fd)
{
    AcrVcsMarks *marks = g_steal_pointer(&walk->marks);
    walk->is_measuring = true;
    bool fits = walk_folder(walk, fd, TAKE_ALL, 0);
    if (fits && (walk->seen > MAX_PLAIN_FILES || walk->kept_bytes > MAX_PLAIN_BYTES))
        fits = acr_vcs_fail(
            &walk->error, ACR_VCS_ERROR_TOO_BIG,
            "'%s' is not a git repository, and has %zu files and folders, %" G_GUINT64_FORMAT
            " MiB in total (at most %u and %u MiB); name a smaller folder with "
            "--repo, or run git init and commit the code",
            walk->snapshot->repo->workdir, walk->seen, walk->kept_bytes / MIB, MAX_PLAIN_FILES,
            (guint)(MAX_PLAIN_BYTES / MIB));
    for (guint i = 0; i < ACR_VCS_LEFT_LAST; i++)
        g_ptr_array_set_size(walk->snapshot->left[i], 0);
    walk->is_measuring = false;
    walk->kept_bytes = walk->seen = 0;
    walk->marks = marks;
    return fits;
}

/* Walks an open folder. Applies its .gitignore if the folder's untracked files are taken. */
static bool walk_entered(Walk *walk, int fd, Taking taking, guint depth)
{
    if (walk->git)
        acr_vcs_attributes_enter(walk->attributes, fd, walk->path->str);
    if (!walk->git || taking == TAKE_TRACKED)
        return walk_folder(walk, fd, taking, depth);
    if (!acr_vcs_ignore_enter(walk->ignore, fd, walk->path->len ? walk->path->len + 1 : 0))
        return leave_unreadable(walk);
    bool done = walk_folder(walk, fd, taking, depth);
    acr_vcs_ignore_leave(walk->ignore);
    return done;
}

static void track(Walk *walk, const char *path)
{
    g_autofree char *folder = g_strdup(path);
    g_hash_table_add(walk->tracked, g_strdup(path));
    for (char *slash; (slash = strrchr(folder, '/'));) {
        *slash = '\0';
        if (!g_hash_table_add(walk->folders, g_strdup(folder)))
            break;
    }
}

static void leave_submodule(Walk *walk, const char *path)
{
    if (g_hash_table_add(walk->submodules, g_strdup(path)))
        acr_vcs_snapshot_leave(walk->snapshot, ACR_VCS_LEFT_SUBMODULE, path);
}

/* Reads HEAD's commit and, if it is present, its tree. Collects the ids of the blobs in walk->head
 * and, with `also_track`, the paths in walk->tracked. */
static void learn_head(Walk *walk, bool also_track)
{
    git_oid id;
    if (!acr_vcs_references_are_short(walk->snapshot->repo, "HEAD") ||
        acr_git.reference_name_to_id(&id, walk->git, "HEAD") < 0)
        return;
    acr_git.oid_tostr(walk->snapshot->commit, sizeof walk->snapshot->commit, &id);
    g_autoptr(AcrSnapshot) head = acr_vcs_snapshot_new(walk->snapshot->repo);
    if (!acr_vcs_tree_list(head, &id, NULL))
        return; /* walk->head is incomplete, so more contents are kept */
    for (guint i = 0; i < head->entries->len; i++) {
        const AcrEntry *entry = &g_array_index(head->entries, AcrEntry, i);
        g_hash_table_add(walk->head, g_memdup2(entry->id, ACR_BLOB_ID_LEN));
        if (also_track)
            track(walk, entry->path);
    }
    const GPtrArray *submodules = head->left[ACR_VCS_LEFT_SUBMODULE];
    for (guint i = 0; also_track && i < submodules->len; i++)
        leave_submodule(walk, g_ptr_array_index(submodules, i));
}

/* Reads the index, and sets *out_learnt to true if that succeeded. Returns false if this process
 * cannot open more files. */
static bool learn_index(Walk *walk, bool *out_learnt)
{
    errno = 0;
    *out_learnt = acr_git.repository_index(&walk->index, walk->git) == 0;
    if (!*out_learnt && acr_vcs_is_exhausted(errno))
        return leave_unreadable(walk);
    if (!*out_learnt) {
        const git_error *last = acr_git.error_last();
        g_autofree char *cause = acr_vcs_show_path(last ? last->message : "");
        walk->snapshot->note = g_strdup_printf(
            "cannot read the git index (%s); the files of HEAD are treated as tracked", cause);
        return true;
    }
    for (size_t i = 0; i < acr_git.index_entrycount(walk->index); i++) {
        const git_index_entry *entry = acr_git.index_get_byindex(walk->index, i);
        if (entry->mode == ACR_VCS_MODE_SUBMODULE)
            leave_submodule(walk, entry->path);
        else
            track(walk, entry->path);
    }
    return true;
}

/* Marks the files of the git folder that determine which files the snapshot contains. */
static void mark_git_files(const Walk *walk)
{
    const char *own = walk->snapshot->repo->path, *common = acr_git.repository_commondir(walk->git);
    g_autofree char *index = g_build_filename(own, "index", NULL),
                    *head = g_build_filename(own, "HEAD", NULL),
                    *exclude = g_build_filename(common, "info", "exclude", NULL),
                    *attributes = g_build_filename(common, "info", "attributes", NULL);
    acr_vcs_marks_add_file(walk->marks, index);
    acr_vcs_marks_add_file(walk->marks, head);
    acr_vcs_marks_add_file(walk->marks, exclude);
    acr_vcs_marks_add_file(walk->marks, attributes);
}

static bool config_is(git_repository *git, const char *name, bool value, bool default_value)
{
    int found = default_value;
    g_autoptr(git_config) config = NULL;
    if (acr_git.repository_config(&config, git) < 0 ||
        acr_git.config_get_bool(&found, config, name) < 0)
        found = default_value;
    return !found == !value;
}

/* Reports tracked files that a sparse checkout lacks. If libgit2 cannot read the index (for
 * example, because it contains whole folders), reports all files of HEAD that are not on disk. */
static void leave_sparse(Walk *walk)
{
    struct stat st;
    GHashTableIter iter;
    gpointer path;
    bool is_known = walk->index != NULL;
    if (!is_known && config_is(walk->git, "core.sparsecheckout", false, false))
        return;
    g_hash_table_iter_init(&iter, walk->tracked);
    while (g_hash_table_iter_next(&iter, &path, NULL)) {
        const git_index_entry *entry =
            is_known ? acr_git.index_get_bypath(walk->index, path, 0) : NULL;
        if (is_known && !(entry && entry->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE))
            continue;
        g_autofree char *file = g_build_filename(walk->snapshot->repo->workdir, path, NULL);
        if (lstat(file, &st) < 0)
            acr_vcs_snapshot_leave(walk->snapshot, ACR_VCS_LEFT_SPARSE, path);
    }
}

static bool walk_all(Walk *walk)
{
    const char *root = walk->snapshot->repo->workdir;
    ACR_AUTO_FD fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return acr_vcs_fail(&walk->error,
                            errno == ENOENT || errno == ENOTDIR ? ACR_VCS_ERROR_NOT_FOUND
                                                                : ACR_VCS_ERROR_FAILED,
                            "cannot open '%s': %s", root, g_strerror(errno));
    bool has_index = false;
    if (walk->git)
        mark_git_files(walk);
    if (walk->git && !learn_index(walk, &has_index))
        return false;
    if (walk->git)
        learn_head(walk, !has_index);
    if (!walk->git && !measure_folder(walk, fd))
        return false;
    if (!walk_entered(walk, fd, TAKE_ALL, 0))
        return false;
    if (walk->git)
        leave_sparse(walk);
    return true;
}

static GHashTable *new_names(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

static AcrSnapshot *snapshot_locked(AcrRepo *repo, bool is_marked, GError **error)
{
    g_autoptr(AcrSnapshot) snapshot = acr_vcs_snapshot_new(repo);
    g_autoptr(git_odb) odb = NULL;
    if (repo->git && acr_git.repository_odb(&odb, repo->git) < 0)
        return ACR_NULL(acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED,
                                         "cannot open the objects of '%s'", repo->path));
    Walk walk = {.snapshot = snapshot, .git = repo->git, .odb = odb};
    g_autoptr(GHashTable) tracked = walk.tracked = new_names();
    g_autoptr(GHashTable) folders = walk.folders = new_names();
    g_autoptr(GHashTable) submodules = walk.submodules = new_names();
    g_autoptr(GHashTable) head = walk.head =
        g_hash_table_new_full(acr_vcs_id_hash, acr_vcs_id_equal, g_free, NULL);
    g_autoptr(GString) path = walk.path = g_string_new(NULL);
    g_autoptr(AcrVcsAttributes) attributes = walk.attributes =
        repo->git ? acr_vcs_attributes_of_worktree(repo->git) : NULL;
    walk.ignore = repo->git ? acr_vcs_ignore_new(repo->git) : NULL;
    walk.ignores_modes = repo->git && config_is(repo->git, "core.filemode", false, true);
    snapshot->note = g_strdup(repo->note);
    snapshot->worktree = true;
    walk.marks = snapshot->marks = is_marked ? acr_vcs_marks_new() : NULL;
    bool done = walk_all(&walk);
    acr_vcs_ignore_free(walk.ignore);
    acr_git.index_free(walk.index);
    if (!done)
        return ACR_NULL(g_propagate_error(error, walk.error));
    acr_vcs_snapshot_seal(snapshot);
    return g_steal_pointer(&snapshot);
}

static AcrSnapshot *snapshot_of_worktree(AcrRepo *repo, bool is_marked, GError **error)
{
    if (!repo->workdir)
        return ACR_NULL(acr_vcs_fail(
            error, ACR_VCS_ERROR_UNSUPPORTED,
            "'%s' is a bare repository and has no working tree; give --rev", repo->path));
    pthread_mutex_lock(&repo->lock);
    AcrSnapshot *snapshot = snapshot_locked(repo, is_marked, error);
    pthread_mutex_unlock(&repo->lock);
    return snapshot;
}

AcrSnapshot *acr_snapshot_of_worktree(AcrRepo *repo, GError **error)
{
    return snapshot_of_worktree(repo, false, error);
}

AcrSnapshot *acr_snapshot_of_worktree_marked(AcrRepo *repo, GError **error)
{
    return snapshot_of_worktree(repo, true, error);
}
