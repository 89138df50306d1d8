/*
 * vcs: repositories, immutable snapshots of them, overlays of changed files, and diffs. libgit2
 * stays inside.
 *
 * Nothing here writes to a repository but acr_branch_write, nor to its working tree but
 * acr_overlay_apply, runs a hook or a filter, or follows a symlink out of the tree.
 */
#ifndef ACR_VCS_H
#define ACR_VCS_H

#include "base/base.h"

typedef enum {
    ACR_VCS_ERROR_FAILED,
    ACR_VCS_ERROR_NOT_FOUND, /* no such folder, repository or revision */
    ACR_VCS_ERROR_EMPTY,     /* a repository without commits was asked for one */
    ACR_VCS_ERROR_MISSING,   /* an object is not there (shallow or partial clone): the message names
                                it */
    ACR_VCS_ERROR_UNSUPPORTED, /* a kind of repository that cannot be read, e.g. SHA-256 */
    ACR_VCS_ERROR_TOO_BIG,
    ACR_VCS_ERROR_NO_IDENTITY, /* git's configuration does not say who commits */
} AcrVcsError;
#define ACR_VCS_ERROR acr_vcs_error_quark()
GQuark acr_vcs_error_quark(void);

#define ACR_VCS_MAX_FILE_BYTES                                                                     \
    (128u * 1024 * 1024) /* a larger file is listed, its content refused */
#define ACR_VCS_MAX_FILES 2000000u

/* ---- Repository ---- */

/* A git repository, or a folder without git. Shared. One thread at a time. */
typedef struct AcrRepo AcrRepo;

/*
 * Opens `path`: a working tree (or a folder in it: the repository around it), a bare repository, a
 * linked worktree, or a plain folder. The working tree is the folder whose `.git` leads to the git
 * folder, never one that core.worktree names. The owner does not matter, nor do extensions that concern
 * writers only (partialClone, worktreeConfig, preciousObjects, relativeWorktrees); any other is
 * UNSUPPORTED, by name. Errors: NOT_FOUND (no such folder), UNSUPPORTED, FAILED (a file; a `.git`
 * that leads nowhere).
 */
AcrRepo *acr_repo_open(const char *path, GError **error) ACR_MUST_USE;
/* From now on, and for the whole process, a `.git` that is a file or a link, commondir, alternates and links are
 * followed to wherever they lead. Else only to places in the working tree or the repository, and to those that
 * name this working tree in return; others are FAILED. */
void acr_vcs_trust_links(void);
AcrRepo *acr_repo_ref(AcrRepo *repo);
void acr_repo_unref(AcrRepo *repo);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrRepo, acr_repo_unref)

bool acr_repo_is_git(const AcrRepo *repo); /* false: a folder without git */
bool acr_repo_is_bare(const AcrRepo *repo);
const char *acr_repo_workdir(
    const AcrRepo *repo); /* borrowed; no slash at the end; the plain folder; NULL if bare */
const char *
acr_repo_path(const AcrRepo *repo); /* borrowed; the git folder (absolute), or the plain folder */

/* ---- Snapshot ---- */

/* Git's file modes, the only ones that occur. */
#define ACR_MODE_FILE 0100644u
#define ACR_MODE_EXEC 0100755u
#define ACR_MODE_LINK 0120000u

#define ACR_BLOB_ID_LEN 20

typedef struct {
    const char *path; /* borrowed from the snapshot; bytes as git stores them, slashes, maybe not
                         UTF-8; never "..", ".git" */
    guint32 mode;     /* one of ACR_MODE_… */
    guint8 where;     /* of vcs alone */
    guint8 id[ACR_BLOB_ID_LEN]; /* git blob id (SHA-1) of the content; of a symlink: of its target
                                   text */
} AcrEntry;

/*
 * An immutable view of one commit, or of a working tree as it lay when taken: entries sorted by
 * path (byte order), unique. Submodules are left out. Shared; reads are serialised inside, so it
 * may be used from several threads.
 */
typedef struct AcrSnapshot AcrSnapshot;

/* `rev` is anything git rev-parse knows. Errors: NOT_FOUND, EMPTY, MISSING (a tree), FAILED. */
AcrSnapshot *acr_snapshot_of_commit(AcrRepo *repo, const char *rev, GError **error) ACR_MUST_USE;
/*
 * Tracked files and untracked ones that are not ignored, with the bytes and executable bits that
 * are on disk now; no line-ending or other conversion. Contents that HEAD lacks are kept in the
 * snapshot (up to ACR_VCS_MAX_WORKTREE_BYTES together), so that it stays as it is when the tree
 * changes. A folder without git: every regular file and symlink below it, except in nested `.git`
 * folders. What is untracked in an environment of Python (it has a pyvenv.cfg) counts as ignored. A
 * file that vanishes meanwhile is left out. Errors: UNSUPPORTED (bare), TOO_BIG, FAILED.
 */
#define ACR_VCS_MAX_WORKTREE_BYTES (2048ull * 1024 * 1024)
AcrSnapshot *acr_snapshot_of_worktree(AcrRepo *repo, GError **error) ACR_MUST_USE;
/* Likewise, and it notes what acr_snapshot_is_current needs. */
AcrSnapshot *acr_snapshot_of_worktree_marked(AcrRepo *repo, GError **error) ACR_MUST_USE;
/*
 * Whether the working tree is as it was when that snapshot was taken, by what the file system says of
 * its files and folders, and of git's index and ignore rules of the repository; no file is read.
 * False for any other snapshot, and where it cannot be known: something had changed just before.
 * One system call for each file and folder. Thread-safe.
 */
bool acr_snapshot_is_current(const AcrSnapshot *snapshot);
AcrSnapshot *acr_snapshot_ref(AcrSnapshot *snapshot);
void acr_snapshot_unref(AcrSnapshot *snapshot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrSnapshot, acr_snapshot_unref)

gsize acr_snapshot_size(const AcrSnapshot *snapshot);
const AcrEntry *acr_snapshot_entry(const AcrSnapshot *snapshot, gsize index); /* borrowed */
gssize acr_snapshot_find(const AcrSnapshot *snapshot,
                         const char *path); /* index, or -1; O(log n) */
/* 40 hex digits; of a worktree snapshot HEAD's; NULL without git or without commits. Borrowed. */
const char *acr_snapshot_commit(const AcrSnapshot *snapshot);
bool acr_snapshot_is_worktree(const AcrSnapshot *snapshot);
/*
 * The snapshot of the commit that this one was taken of or over: what somebody has who checked that
 * commit out. Empty where there is none; owned. Errors: those of acr_snapshot_of_commit.
 */
AcrSnapshot *acr_snapshot_committed(AcrSnapshot *snapshot, GError **error) ACR_MUST_USE;
/*
 * Fills the folder `dir` (made) as the ".git" of a work tree of that commit, as a shallow clone has it:
 * its objects, an index, the branch "main", and the nearest tag with the commits between; no
 * configuration but core.autocrlf, no hook or remote of the repository, and nothing that came after. How
 * many commits git counts from the tag may differ where branches were merged. Errors: EMPTY (there is no
 * such commit, or no repository), MISSING, FAILED.
 */
bool acr_snapshot_write_git(AcrSnapshot *snapshot, const char *dir, GError **error) ACR_MUST_USE;
/*
 * 40 hex digits over what such a folder shows: the commit, the way to the nearest tag, the tags as they
 * are when this or the folder is first asked for. Owned; NULL: there is no commit, or no repository.
 * `out_has_all_tags` may be NULL: false where the repository has more tags than
 * ACR_VCS_MAX_TAGS, and some were not read.
 */
#define ACR_VCS_MAX_TAGS 20000u
char *acr_snapshot_git_digest(AcrSnapshot *snapshot, bool *out_has_all_tags) ACR_MUST_USE;
/* A remark for the user, e.g. "2 submodules were left out: a, b"; borrowed; NULL if
 * nothing. */
const char *acr_snapshot_remarks(const AcrSnapshot *snapshot);
/* 40 hex digits over all entries (path, mode, id): equal digests, equal snapshots; owned (g_free).
 */
char *acr_snapshot_digest(const AcrSnapshot *snapshot) ACR_MUST_USE;
/*
 * The content of one entry, checked against its id; owned. Errors: MISSING, TOO_BIG (over
 * ACR_VCS_MAX_FILE_BYTES), FAILED (damaged, or no blob).
 */
GBytes *acr_snapshot_read(AcrSnapshot *snapshot, gsize index, GError **error) ACR_MUST_USE;

#define ACR_VCS_MAX_READERS 8u /* threads of one bulk read */

/*
 * Is given entry `index` of a bulk read: its content, or NULL and the error that acr_snapshot_read
 * would give. Both are borrowed for the call; a reference may be kept to `bytes`.
 */
typedef void AcrSnapshotSink(void *user, gsize index, GBytes *bytes, const GError *error);

/*
 * Reads many contents on as many threads as there are cores, this one included, and returns when
 * the sink had each of `entries` (n indices, borrowed) once. The sink is called from all the
 * threads, in no order, and must not use the repository. Contents in the repository are checked
 * against their ids (as a read of one is) only where `check` says so: what is kept under an id, or
 * under a digest of ids, must be.
 */
void acr_snapshot_read_many(AcrSnapshot *snapshot, const gsize *entries, gsize n, bool check,
                            AcrSnapshotSink *sink, void *user);

/*
 * Saves what a later process needs to have the same snapshot again into folder `dir` (made): the
 * entry list and, of a worktree snapshot, every blob that HEAD lacks. Safe to repeat after a crash.
 * Errors: those of base and of acr_snapshot_read.
 */
bool acr_snapshot_save(AcrSnapshot *snapshot, const char *dir, GError **error) ACR_MUST_USE;
/*
 * Reads it again. `repo` may be NULL when the saved blobs are all that is needed (a folder without
 * git). Contents are checked against their ids when read. Errors: NOT_FOUND, MISSING, FAILED
 * (damaged).
 */
AcrSnapshot *acr_snapshot_load(AcrRepo *repo, const char *dir, GError **error) ACR_MUST_USE;

/* ---- Overlay and diff ---- */

/* A snapshot with some files changed, in memory. Not thread-safe. */
typedef struct AcrOverlay AcrOverlay;

AcrOverlay *acr_overlay_new(AcrSnapshot *snapshot) ACR_MUST_USE;      /* owned; keeps a reference */
AcrOverlay *acr_overlay_copy(const AcrOverlay *overlay) ACR_MUST_USE; /* owned */
void acr_overlay_free(AcrOverlay *overlay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrOverlay, acr_overlay_free)

/*
 * A path that may be written: relative, no empty, ".", ".." or ".git" (any case) part; no leading
 * part that is a file or symlink, or was left out of the snapshot; itself no symlink of the
 * snapshot, no folder. (A symlink may be removed.)
 */
bool acr_overlay_path_ok(const AcrOverlay *overlay, const char *path);
/*
 * Sets a file's content. `mode` 0: the snapshot's, or ACR_MODE_FILE for a new file; ACR_MODE_LINK:
 * `content` is the target. Errors: FAILED (path not allowed).
 */
bool acr_overlay_write(AcrOverlay *overlay, const char *path, guint32 mode, GBytes *content,
                       GError **error) ACR_MUST_USE;
/* Errors: NOT_FOUND (no such file), FAILED (path not allowed). */
bool acr_overlay_remove(AcrOverlay *overlay, const char *path, GError **error) ACR_MUST_USE;
/* The file as it is in the overlay; owned. Errors: NOT_FOUND, and those of acr_snapshot_read. */
GBytes *acr_overlay_read(const AcrOverlay *overlay, const char *path, GError **error) ACR_MUST_USE;
bool acr_overlay_has(const AcrOverlay *overlay, const char *path);
/* One of ACR_MODE_…; 0: there is no such file. */
guint32 acr_overlay_mode(const AcrOverlay *overlay, const char *path);
/* Paths that differ from the snapshot, sorted; owned (g_strfreev). */
char **acr_overlay_changed(const AcrOverlay *overlay) ACR_MUST_USE;

/*
 * The unified diff snapshot -> overlay, byte for byte what `git diff --full-index` prints for that
 * change in a checkout (default configuration; three lines of context; binary files as `git diff
 * --full-index --binary` would: never dropped). A removed file and a like new one are shown as
 * such, as with --no-renames. The `diff` attribute of the overlay's own .gitattributes files
 * counts; of its drivers only "python" changes the hunk headers. Contents are compared as they are:
 * where attributes convert line endings, a working tree's diff is of the bytes on disk. In a file with
 * form feeds another one of several equal diffs may be chosen than git's. Any bytes;
 * owned (g_bytes_unref); empty when nothing differs. Errors: those of acr_snapshot_read.
 */
GBytes *acr_overlay_diff(const AcrOverlay *overlay, GError **error) ACR_MUST_USE;

/*
 * Applies a diff in git's format, made against the files as they are in the overlay: each hunk must
 * stand at its line. A mode that the diff does not give stays. All of it, or nothing. Errors:
 * FAILED (no diff; it does not apply; a path that may not be written), those of acr_snapshot_read.
 */
bool acr_overlay_apply_diff(AcrOverlay *overlay, const void *diff, gsize len,
                            GError **error) ACR_MUST_USE;

/*
 * Writes the changed files of the overlay into the working tree `workdir`, for --apply: first every
 * affected file must still hold the snapshot's bytes (or its new ones already: an apply that was
 * killed is finished by the next), else nothing is written; then each is written by temporary file
 * and rename, keeping its permissions. Never through a symlink. Errors: ACR_VCS_ERROR_FAILED (names
 * the file that has changed).
 */
bool acr_overlay_apply(const AcrOverlay *overlay, const char *workdir, GError **error) ACR_MUST_USE;

/* ---- A branch ---- */

bool acr_branch_name_is_valid(const char *name);
/* What was written. Zero-initialise. */
typedef struct {
    char *ref;                 /* "refs/heads/NAME"; owned */
    char tree[41], commit[41]; /* 40 hex digits; commit: empty where nothing was written */
    bool was_there;            /* the branch was this one already: nothing was written */
} AcrBranch;
void acr_branch_clear(AcrBranch *branch);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBranch, acr_branch_clear)
/*
 * Makes a branch with one commit on top of the commit that the overlay's snapshot is of (not of a working
 * tree): its objects, and this one reference. Author and committer are git's; everything else of the
 * repository stays as it is. `name` must be valid. `is_dry`: nothing is written, and all is checked. Errors:
 * FAILED (also: the name is taken by a branch with other files or another parent), NO_IDENTITY, EMPTY,
 * MISSING.
 */
bool acr_branch_write(const AcrOverlay *overlay, const char *name, const char *message, bool is_dry,
                      AcrBranch *out, GError **error) ACR_MUST_USE;
/* The addresses of a remote, from which is fetched and to which is pushed, as they stand in the configuration
 * (no insteadOf); owned (g_free). Errors: NOT_FOUND. */
bool acr_repo_remote(AcrRepo *repo, const char *name, char **out_url, char **out_push_url,
                     GError **error) ACR_MUST_USE;
/* The folder of the repository's own objects; owned (g_free); NULL: it has none. */
char *acr_repo_objects(const AcrRepo *repo) ACR_MUST_USE;

/* The version of libgit2; owned (g_free). */
char *acr_vcs_library(void) ACR_MUST_USE;

#endif
