/* vcs: repositories, immutable snapshots of repositories, overlays of changed files, and diffs. No
 * other library includes libgit2.
 *
 * Only acr_branch_write changes a repository, and only acr_overlay_apply changes a working tree. No
 * function runs a hook or a filter, or follows a symlink out of the tree. */
#pragma once

#include "base/base.h"

typedef enum {
    ACR_VCS_ERROR_FAILED,
    ACR_VCS_ERROR_NOT_FOUND, /* the folder, repository or revision does not exist */
    ACR_VCS_ERROR_EMPTY,     /* the repository has no commits */
    /* an object is missing (in a shallow or partial clone); the message names the object */
    ACR_VCS_ERROR_MISSING,
    ACR_VCS_ERROR_UNSUPPORTED, /* acr-host cannot read this kind of repository (reftable, for
                                * example) */
    ACR_VCS_ERROR_TOO_BIG,
    ACR_VCS_ERROR_NO_IDENTITY, /* git's configuration does not name an author */
} AcrVcsError;
#define ACR_VCS_ERROR acr_vcs_error_quark()
GQuark acr_vcs_error_quark(void);

#define ACR_VCS_MAX_FILE_BYTES                                                                     \
    (128u * 1024 * 1024) /* maximum size in bytes; a larger file is listed, but cannot be read */
#define ACR_VCS_MAX_FILES 2000000u

/* ---- Repository ---- */

/* A git repository, or a folder without git. Shared. One thread at a time. */
typedef struct AcrRepo AcrRepo;

/* Opens `path`, which may be a working tree or a folder inside a working tree, a bare repository, a
 * linked worktree, or a plain folder. The working tree is the folder whose `.git` leads to the git
 * folder; core.worktree is ignored. The owner of the files does not matter. Extensions that concern
 * only writers are ignored (partialClone, worktreeConfig, preciousObjects, relativeWorktrees); any
 * other extension is UNSUPPORTED, and the message names it. A working tree with SHA-256 object ids
 * is opened as a plain folder, and its snapshots have a remark. Errors: NOT_FOUND (no such folder),
 * UNSUPPORTED, FAILED (a file, or a `.git` that leads nowhere). */
AcrRepo *acr_repo_open(const char *path, GError **error) ACR_MUST_USE;
/* Makes the whole process trust a repository's references to other folders (a `.git` that is a file
 * or a link, commondir, alternates, links). Without this call, such a reference may only lead into
 * the working tree or the repository, or to a folder that itself names the working tree;
 * acr_repo_open fails with FAILED for other references. */
void acr_vcs_trust_links(void);
AcrRepo *acr_repo_ref(AcrRepo *repo);
void acr_repo_unref(AcrRepo *repo);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrRepo, acr_repo_unref)

/* Fails like acr_snapshot_of_commit if `rev` names no commit. */
bool acr_repo_has_commit(AcrRepo *repo, const char *rev, GError **error) ACR_MUST_USE;
bool acr_repo_is_git(const AcrRepo *repo); /* false for a folder without git */
bool acr_repo_is_bare(const AcrRepo *repo);
/* Returns the working tree, borrowed; without a slash at its end; for a plain folder, the folder
 * itself; NULL if the repository is bare. */
const char *acr_repo_workdir(const AcrRepo *repo);
const char *
acr_repo_path(const AcrRepo *repo); /* borrowed; the git folder (absolute), or the plain folder */

/* ---- Snapshot ---- */

/* Git's file modes. Snapshots contain no other modes. */
#define ACR_MODE_FILE 0100644u
#define ACR_MODE_EXEC 0100755u
#define ACR_MODE_LINK 0120000u

#define ACR_BLOB_ID_LEN 20

typedef struct {
    /* borrowed from the snapshot; the bytes as git stores them, with slashes, not always UTF-8;
     * never contains ".." or ".git" */
    const char *path;
    guint32 mode;   /* one of ACR_MODE_… */
    guint8 where;   /* private to vcs, like `on_disk` */
    guint8 on_disk; /* how the file in the working tree differs from the bytes that git stores */
    /* git blob id (SHA-1) of the content; the content of a symlink is its target */
    guint8 id[ACR_BLOB_ID_LEN];
} AcrEntry;

/* An immutable view of one commit, or of a working tree at one time: entries sorted by path (byte
 * order), unique. Submodules are skipped. Shared; several threads may use it. */
typedef struct AcrSnapshot AcrSnapshot;

/* Takes a snapshot of the commit `rev`, which is anything that git rev-parse accepts. Errors:
 * NOT_FOUND, EMPTY, MISSING (a tree), FAILED. */
AcrSnapshot *acr_snapshot_of_commit(AcrRepo *repo, const char *rev, GError **error) ACR_MUST_USE;
/* Takes a snapshot of tracked files and of untracked files that are not ignored, with their current
 * bytes and executable bits. There are two exceptions. If git's attributes or core.autocrlf require
 * it, a tracked file whose lines all end in CR LF has LF in the snapshot (acr_overlay_apply writes
 * CR LF again). If core.fileMode is off, modes come from git's index. Contents that HEAD lacks are
 * kept in memory (up to ACR_VCS_MAX_WORKTREE_BYTES), so that the snapshot does not change with the
 * working tree. In a folder without git, takes every regular file and symlink, except in nested
 * `.git` folders. Untracked files in a Python environment (with pyvenv.cfg) count as ignored. A
 * file that disappears in the meantime is skipped. Errors: UNSUPPORTED (bare), TOO_BIG, FAILED. */
#define ACR_VCS_MAX_WORKTREE_BYTES (2048ull * 1024 * 1024)
AcrSnapshot *acr_snapshot_of_worktree(AcrRepo *repo, GError **error) ACR_MUST_USE;
/* Takes a snapshot like acr_snapshot_of_worktree, and also records what acr_snapshot_is_current
 * needs. */
AcrSnapshot *acr_snapshot_of_worktree_marked(AcrRepo *repo, GError **error) ACR_MUST_USE;
/* True if the working tree is unchanged since `snapshot` was taken, according to the file system's
 * data on its files and folders, git's index and the repository's ignore rules. Reads no file.
 * Returns false for a snapshot that acr_snapshot_of_worktree_marked did not take, and for one that
 * was taken just after a file had changed, because a later change could then go unnoticed. Makes
 * one system call for each file and folder. Thread-safe. */
bool acr_snapshot_is_current(const AcrSnapshot *snapshot);
AcrSnapshot *acr_snapshot_ref(AcrSnapshot *snapshot);
void acr_snapshot_unref(AcrSnapshot *snapshot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrSnapshot, acr_snapshot_unref)

gsize acr_snapshot_size(const AcrSnapshot *snapshot);
const AcrEntry *acr_snapshot_entry(const AcrSnapshot *snapshot, gsize index); /* borrowed */
gssize acr_snapshot_find(const AcrSnapshot *snapshot,
                         const char *path); /* index of the entry, or -1; O(log n) */
/* Returns the id of the commit as 40 hex digits; for a snapshot of a working tree, of HEAD. NULL if
 * there is no git or no commit. Borrowed. */
const char *acr_snapshot_commit(const AcrSnapshot *snapshot);
bool acr_snapshot_is_worktree(const AcrSnapshot *snapshot);
/* Returns a snapshot of the commit on which `snapshot` is based, which has the files of a fresh
 * checkout. Empty if there is no commit; owned. Errors: those of acr_snapshot_of_commit. */
AcrSnapshot *acr_snapshot_committed(AcrSnapshot *snapshot, GError **error) ACR_MUST_USE;
/* Fills the folder `dir` (created) as the ".git" of a working tree of the snapshot's commit, in the
 * form of a shallow clone: its objects, an index, the branch "main", and the nearest tag with the
 * commits up to the tag. The folder contains no configuration except core.autocrlf, no hook or
 * remote, and no later commit. If branches were merged, git may count a different number of commits
 * since the tag. Errors: EMPTY (no such commit, or no repository), MISSING, FAILED. */
bool acr_snapshot_write_git(AcrSnapshot *snapshot, const char *dir, GError **error) ACR_MUST_USE;
/* Returns a digest (40 hex digits) of what acr_snapshot_write_git writes: the commit, the commits
 * up to the nearest tag, and the tags, as they are when the digest or the folder is first
 * requested. Owned; NULL if there is no commit or no repository. `out_has_all_tags` (may be NULL)
 * is set to false if the repository has more than ACR_VCS_MAX_TAGS tags, so that some were not
 * read. */
#define ACR_VCS_MAX_TAGS 20000u
char *acr_snapshot_git_digest(AcrSnapshot *snapshot, bool *out_has_all_tags) ACR_MUST_USE;
/* Returns a remark for the user, such as "2 submodules were left out: a, b"; borrowed; NULL if
 * there is none. */
const char *acr_snapshot_remarks(const AcrSnapshot *snapshot);
/* Returns a digest (40 hex digits) of the path, mode and id of all entries. Equal snapshots have
 * equal digests. Owned (g_free). */
char *acr_snapshot_digest(const AcrSnapshot *snapshot) ACR_MUST_USE;
/* Returns the content of one entry, checked against the entry's id; owned. Errors: MISSING, TOO_BIG
 * (above ACR_VCS_MAX_FILE_BYTES), FAILED (damaged, or not a blob). */
GBytes *acr_snapshot_read(AcrSnapshot *snapshot, gsize index, GError **error) ACR_MUST_USE;
/* Returns the size in bytes of an entry's content without reading the content; 0 if unknown. */
gsize acr_snapshot_content_size(AcrSnapshot *snapshot, gsize index);

/* Returns small generated Python files in the packages of a working tree, which are not in the
 * snapshot because git ignores them: path -> GBytes with the current content; owned
 * (g_hash_table_unref). */
GHashTable *acr_snapshot_generated(const AcrSnapshot *snapshot) ACR_MUST_USE;

#define ACR_VCS_MAX_READERS 8u /* maximum number of threads of one bulk read */

/* Receives entry `index` of a bulk read: the content, or NULL with the error (as from
 * acr_snapshot_read). Both are borrowed for the call; the callback may keep a reference to
 * `bytes`. */
typedef void AcrSnapshotSink(void *user, gsize index, GBytes *bytes, const GError *error);

/* Reads many contents on as many threads as there are cores, including the calling thread. Returns
 * when the sink has received each of `entries` (n indices, borrowed) once. The threads call the
 * sink in any order; the sink must not use the repository. With `check`, contents from the
 * repository are checked against their ids. The check is required if a result is stored under an id
 * or a digest of ids. */
void acr_snapshot_read_many(AcrSnapshot *snapshot, const gsize *entries, gsize n, bool check,
                            AcrSnapshotSink *sink, void *user);

/* Saves a snapshot to the folder `dir` (created), from which acr_snapshot_load reads it: the
 * entries and, for a working tree, every blob that HEAD lacks. After a crash, the call can be
 * repeated. Errors: those of base and of acr_snapshot_read. */
bool acr_snapshot_save(AcrSnapshot *snapshot, const char *dir, GError **error) ACR_MUST_USE;
/* Loads a saved snapshot. `repo` may be NULL if all blobs were saved (a folder without git).
 * Contents are checked against their ids when they are read. Errors: NOT_FOUND, MISSING, FAILED
 * (damaged). */
AcrSnapshot *acr_snapshot_load(AcrRepo *repo, const char *dir, GError **error) ACR_MUST_USE;

/* ---- History (commit_log.c) ---- */

typedef struct {
    char id[41];      /* 40 hex digits */
    gint64 time;      /* time of the commit, in seconds since 1970 */
    char *subject;    /* owned; one line of UTF-8 */
    GPtrArray *files; /* array of owned char *: the paths that the commit changes, sorted, UTF-8 */
} AcrCommit;

/* A query for acr_snapshot_log. */
typedef struct {
    /* The set of paths of the files whose changes are compared, and of their folders; filled by
     * acr_log_add_path. Borrowed; the set owns its strings. The search adds the earlier paths of
     * moved files. NULL: every file. */
    GHashTable *paths;
    guint max_found; /* maximum number of commits to find */
    /* Returns the part of a version of a file that matters to the query, "" if there is none; owned
     * (g_free). A commit is found if it changes this part of a file. */
    char *(*part)(void *user, GBytes *content);
    void *user;
} AcrLogQuery;

typedef struct {
    GPtrArray *commits; /* array of owned AcrCommit: the commits found, beginning with the newest */
    guint n_visited;    /* number of commits that were compared; 0 if there is no history */
    gint64 oldest;      /* time of the last commit that was compared, in seconds since 1970 */
    bool is_full;       /* max_found commits were found, and older commits remain */
    bool is_limited;    /* the search ended at the limit of commits or bytes */
    bool is_cut;        /* the repository lacks older objects (a shallow or partial clone) */
} AcrLog;
void acr_log_clear(AcrLog *log);
void acr_log_add_path(GHashTable *paths, const char *path);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLog, acr_log_clear)

/* Finds the commits that the query describes, among the snapshot's commit and its ancestors. A
 * merge is found if its `part` differs from the part of every parent; without `paths`, merges are
 * skipped. The search is limited to 1,000 commits and 8 MiB of compared objects, or to four times
 * as much as long as nothing is found. Errors: FAILED. */
bool acr_snapshot_log(AcrSnapshot *snapshot, const AcrLogQuery *query, AcrLog *out,
                      GError **error) ACR_MUST_USE;

/* ---- Overlay and diff ---- */

typedef struct AcrOverlay AcrOverlay;

/* owned; keeps a reference to the snapshot */
AcrOverlay *acr_overlay_new(AcrSnapshot *snapshot) ACR_MUST_USE;
AcrOverlay *acr_overlay_copy(const AcrOverlay *overlay) ACR_MUST_USE; /* owned */
void acr_overlay_free(AcrOverlay *overlay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrOverlay, acr_overlay_free)

/* True if a path may be written: it is relative, without empty, ".", ".." or ".git" (any case)
 * parts; no parent folder in the path is a file, a symlink or a skipped path of the snapshot; and
 * the path itself is neither a folder nor a symlink of the snapshot. (A symlink may be removed.) */
bool acr_overlay_path_ok(const AcrOverlay *overlay, const char *path);
/* Sets a file's content. If `mode` is 0, keeps the snapshot's mode, or uses ACR_MODE_FILE for a new
 * file. For ACR_MODE_LINK, `content` is the target. Errors: FAILED (the path is not allowed). */
bool acr_overlay_write(AcrOverlay *overlay, const char *path, guint32 mode, GBytes *content,
                       GError **error) ACR_MUST_USE;
/* Removes a file. Errors: NOT_FOUND (no such file), FAILED (the path is not allowed). */
bool acr_overlay_remove(AcrOverlay *overlay, const char *path, GError **error) ACR_MUST_USE;
/* Returns the file's content in the overlay; owned. Errors: NOT_FOUND, and those of
 * acr_snapshot_read. */
GBytes *acr_overlay_read(const AcrOverlay *overlay, const char *path, GError **error) ACR_MUST_USE;
bool acr_overlay_has(const AcrOverlay *overlay, const char *path);
/* Returns one of ACR_MODE_…; 0 if there is no such file. */
guint32 acr_overlay_mode(const AcrOverlay *overlay, const char *path);
/* Returns a remark that names new files that git ignores, according to the overlay's .gitignore
 * files and the rules outside the working tree; owned; NULL if there are no such files. */
char *acr_overlay_ignored(const AcrOverlay *overlay) ACR_MUST_USE;
/* Returns the paths that differ from the snapshot, sorted; owned (g_strfreev). */
char **acr_overlay_changed(const AcrOverlay *overlay) ACR_MUST_USE;

/* True if the repository's objects contain all changed files with the overlay's contents. In this
 * case, a commit on some branch may already contain the change. False without a repository or
 * without changed files. */
bool acr_overlay_is_stored(const AcrOverlay *overlay);

/* Returns the unified diff from the snapshot to the overlay, byte for byte as `git diff
 * --full-index --binary --no-renames` prints it in a checkout (default configuration, three lines
 * of context). Follows the `diff` attribute in the overlay's .gitattributes files; "python" is the
 * only driver that changes hunk headers. In a file with form feeds, git may print a different diff
 * of the same length. The diff may contain any bytes; owned (g_bytes_unref); empty if nothing
 * differs. Errors: those of acr_snapshot_read. */
GBytes *acr_overlay_diff(const AcrOverlay *overlay, GError **error) ACR_MUST_USE;

/* Returns the diff from a commit to the working tree, in the form of acr_overlay_diff, without the
 * file `omitted` (any path). Errors: those of acr_snapshot_of_commit, _of_worktree and _read. */
GBytes *acr_worktree_diff(AcrRepo *repo, const char *rev, const char *omitted,
                          GError **error) ACR_MUST_USE;

/* Applies a diff in git's format, or as `diff -u` writes it, made against the overlay's current
 * files: each hunk must match at its line. If the diff does not state a mode, the mode stays.
 * Applies the whole diff or nothing. Errors: FAILED (the bytes are not a diff; the diff does not apply; a path must not be
 * written), and those of acr_snapshot_read. */
bool acr_overlay_apply_diff(AcrOverlay *overlay, const void *diff, gsize len,
                            GError **error) ACR_MUST_USE;

/* Writes the changed files of the overlay to the working tree `workdir`, for --apply. First checks
 * that every affected file has either the snapshot's bytes or already the new bytes, and writes
 * nothing if a file has other bytes. If all files have the new bytes, sets *out_known. Then writes
 * each file to a temporary file and renames the temporary file. Keeps permissions and follows no
 * symlink. Errors: FAILED (the message names the file that has changed). */
bool acr_overlay_apply(const AcrOverlay *overlay, const char *workdir, bool *out_known,
                       GError **error) ACR_MUST_USE;

/* ---- A branch ---- */

bool acr_branch_name_is_valid(const char *name);
/* The result of writing a branch. Zero-initialise. */
typedef struct {
    char *ref;                 /* "refs/heads/NAME"; owned */
    char tree[41], commit[41]; /* 40 hex digits; `commit` is empty if nothing was written */
    /* the branch already exists with the same content, so nothing was written */
    bool was_there;
} AcrBranch;
void acr_branch_clear(AcrBranch *branch);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBranch, acr_branch_clear)
/* Creates a branch with one commit on top of the snapshot's commit (not for a snapshot of a working
 * tree): writes objects and one reference. Author and committer come from git's configuration;
 * everything else in the repository stays unchanged. `name` must be valid. With `is_dry`, checks
 * everything and writes nothing. Errors: FAILED (also if the branch exists with other files or
 * another parent), NO_IDENTITY, EMPTY, MISSING. */
bool acr_branch_write(const AcrOverlay *overlay, const char *name, const char *message, bool is_dry,
                      AcrBranch *out, GError **error) ACR_MUST_USE;
/* Sets *out_url and *out_push_url to the addresses of a remote for fetching and pushing, as the
 * configuration states them (without insteadOf); owned (g_free). Errors: NOT_FOUND. */
bool acr_repo_remote(AcrRepo *repo, const char *name, char **out_url, char **out_push_url,
                     GError **error) ACR_MUST_USE;
char *acr_repo_objects(const AcrRepo *repo) ACR_MUST_USE;

/* Returns the version of libgit2; owned (g_free). */
char *acr_vcs_library(void) ACR_MUST_USE;
