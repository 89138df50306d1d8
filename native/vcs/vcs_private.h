/* Shared by the files of vcs. Only this folder uses libgit2's types. */
#pragma once

#include <errno.h>
#include <pthread.h>

#include "vcs/libgit2_private.h"
#include "vcs/vcs.h"

#define ACR_VCS_MAX_DEPTH 200      /* maximum number of nested folders, on disk and in trees */
#define ACR_VCS_MAX_PATH 4096      /* maximum length of a path in bytes */
#define ACR_VCS_MAX_LEFT_SHOWN 10u /* maximum number of names that a remark lists */
#define ACR_VCS_MODE_SUBMODULE 0160000u

/* ---- error.c ---- */

/* Sets an error. Makes paths in the message printable by acr_vcs_show_path. Returns false, so that
 * a caller can return the result. */
bool acr_vcs_fail(GError **error, AcrVcsError code, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Sets an error like acr_vcs_fail, and adds libgit2's message. Must be called right after the
 * failed libgit2 call. */
bool acr_vcs_fail_git(GError **error, AcrVcsError code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* Returns `path` as one line of printable UTF-8; owned (g_free). */
char *acr_vcs_show_path(const char *path) ACR_MUST_USE;

/* True if an errno means that this process or the system cannot open more files, and says nothing
 * about the file. */
static inline bool acr_vcs_is_exhausted(int err)
{
    return err == EMFILE || err == ENFILE || err == ENOMEM;
}

/* ---- repository.c ---- */

struct AcrRepo {
    gatomicrefcount refs;
    char *path;
    char *workdir;        /* NULL if bare */
    git_repository *git;  /* NULL for a folder without git */
    char *note;           /* a remark for each snapshot of the repository, or NULL */
    pthread_mutex_t lock; /* locked while `git` is used */
};

/* Initialises libgit2 and its process-wide options, once. Errors: FAILED. */
bool acr_vcs_init(GError **error) ACR_MUST_USE;
/* Creates a repository that exists only in memory; owned (git_repository_free). On failure returns
 * false and sets libgit2's error. */
bool acr_vcs_memory_open(git_repository **out) ACR_MUST_USE;
bool acr_vcs_memory_add(git_repository *git, git_index *index, const char *path, guint32 mode,
                        GBytes *content) ACR_MUST_USE;

/* ---- odb.c ---- */

/* Opens the objects in the folder `objects` of a repository and in its alternates; owned
 * (git_odb_free). `tree` is the working tree (or NULL). Errors: TOO_BIG (alternates), FAILED. */
git_odb *acr_vcs_odb_open(const char *objects, const char *tree, GError **error) ACR_MUST_USE;

/* ---- snapshot.c ---- */

/* Where the content of an entry is stored (AcrEntry.where). */
typedef enum {
    ACR_VCS_IN_ODB, /* in the repository's object database */
    ACR_VCS_KEPT,   /* in `kept`, or in a file of `blob_dir` */
    /* nowhere, because the content is larger than ACR_VCS_MAX_FILE_BYTES */
    ACR_VCS_NOT_KEPT,
    ACR_VCS_WHERE_LAST,
} AcrVcsWhere;

/* Bits of an entry's `on_disk`. */
#define ACR_VCS_DISK_CRLF 1u /* the file's lines end in CR LF on disk */
#define ACR_VCS_DISK_MODE 2u /* the file's mode on disk must be ignored (core.fileMode is off) */

/* Why a path was skipped. */
typedef enum {
    ACR_VCS_LEFT_SUBMODULE,
    ACR_VCS_LEFT_NESTED, /* a repository inside the working tree */
    ACR_VCS_LEFT_UNREADABLE,
    ACR_VCS_LEFT_BAD_NAME, /* a tree entry named "..", ".git" or similar */
    /* outside a sparse checkout: in the index but not on disk */
    ACR_VCS_LEFT_SPARSE,
    ACR_VCS_LEFT_LAST,
} AcrVcsLeft;

struct AcrSnapshot {
    gatomicrefcount refs;
    AcrRepo *repo; /* NULL if the snapshot was loaded without a repository */
    GStringChunk *paths;
    /* array of AcrEntry; sorted by path and unique after the snapshot is sealed */
    GArray *entries;
    GHashTable *kept; /* id (20 bytes) -> GBytes */
    /* in a loaded snapshot, the folder of the saved contents (files named by id) of entries with
     * ACR_VCS_KEPT; otherwise NULL */
    char *blob_dir;
    GPtrArray *left[ACR_VCS_LEFT_LAST]; /* skipped paths, by reason */
    char *note;                         /* a further remark, or NULL */
    char *remarks;                      /* all remarks as text, written when the snapshot is sealed;
                                         * NULL if there are none */
    char commit[41];                    /* id of the commit in hex digits; empty if there is none */
    bool worktree;
    /* history for acr_snapshot_write_git; NULL until it is needed */
    struct AcrVcsHistory *history;
    /* marks of a working tree if they were requested; otherwise NULL */
    struct AcrVcsMarks *marks;
};

/* The file system's data on a working tree at the time of the walk (worktree_marks.c). */
typedef struct AcrVcsMarks AcrVcsMarks;
AcrVcsMarks *acr_vcs_marks_new(void) ACR_MUST_USE; /* owned; must be created before the walk
                                                    * begins */
void acr_vcs_marks_free(AcrVcsMarks *marks);
/* Records the state of a path below the working tree. Must be called before the file is read. Does
 * nothing if `marks` is NULL. */
struct stat;
void acr_vcs_marks_add(AcrVcsMarks *marks, const char *path, const struct stat *st);
/* Records the state of a file by its absolute path; the file need not exist. */
void acr_vcs_marks_add_file(AcrVcsMarks *marks, const char *path);

AcrSnapshot *acr_vcs_snapshot_new(AcrRepo *repo) ACR_MUST_USE; /* shared; `repo` may be NULL */
/* Adds an entry. Returns false if there are already ACR_VCS_MAX_FILES entries. */
bool acr_vcs_snapshot_add(AcrSnapshot *snapshot, const char *path, guint32 mode, const guint8 *id,
                          AcrVcsWhere where, guint8 on_disk, GError **error) ACR_MUST_USE;
void acr_vcs_snapshot_leave(AcrSnapshot *snapshot, AcrVcsLeft why, const char *path);
/* Sorts the entries, removes repeated paths, and writes the remarks. The snapshot must not be
 * changed afterwards. */
void acr_vcs_snapshot_seal(AcrSnapshot *snapshot);

/* Sets out_id to the id that git gives to a blob with this content. */
void acr_vcs_blob_id(const void *data, gsize len, guint8 out_id[ACR_BLOB_ID_LEN]);
void acr_vcs_id_hex(const guint8 id[ACR_BLOB_ID_LEN], char out_hex[41]);
/* Hash function for GHashTable: keys point to 20 bytes. */
guint acr_vcs_id_hash(gconstpointer id);
gboolean acr_vcs_id_equal(gconstpointer a, gconstpointer b);

/* True if a part of a path is allowed: not empty, ".", ".." or ".git" in any case, and without a
 * slash. */
bool acr_vcs_part_ok(const char *part, gsize len);
/* True if a path is relative, consists of allowed parts, and is at most ACR_VCS_MAX_PATH bytes
 * long. */
bool acr_vcs_path_ok(const char *path);

/* ---- snapshot_commit.c ---- */

/* Adds all files of the commit `id` to `snapshot`. Errors: MISSING, TOO_BIG, FAILED. */
bool acr_vcs_tree_list(AcrSnapshot *snapshot, const git_oid *id, GError **error) ACR_MUST_USE;
/* True if the files of HEAD, and of the references that `rev` may name, are short. libgit2 takes
 * time proportional to the square of their length. */
bool acr_vcs_references_are_short(AcrRepo *repo, const char *rev);

/* ---- snapshot_history.c ---- */

#define ACR_VCS_TAGS "refs/tags/"

typedef struct {
    git_oid id;
    bool is_cut; /* the commit is listed in the file "shallow", so git shows it without parents */
} AcrVcsCommit;

typedef struct {
    char *name;
    /* array of git_oid: the tagged object, and the objects to which it leads; the last object is a
     * commit */
    GArray *ids;
} AcrVcsTag;

/* The part of the history that is visible in the git folder that acr_snapshot_write_git writes. */
typedef struct AcrVcsHistory {
    /* array of AcrVcsCommit: the snapshot's own commit, then its ancestors, beginning with the
     * nearest */
    GArray *commits;
    /* id of a commit (20 bytes) -> GPtrArray of AcrVcsTag *, which is sorted if `commits` contains
     * the commit */
    GHashTable *tags;
    bool has_all_tags;
    /* value of core.autocrlf in the configuration, which says how git converts CR LF */
    const char *autocrlf;
    char *digest; /* digest of everything that the git folder contains */
} AcrVcsHistory;

const char *acr_vcs_autocrlf(git_repository *git);
/* Returns the history of a snapshot that has a repository and a commit; borrowed. The caller holds
 * the repository's lock. */
const AcrVcsHistory *acr_vcs_history(AcrSnapshot *snapshot);

/* ---- overlay.c ---- */

/* A changed file. */
typedef struct {
    guint32 mode; /* 0 if the file is removed */
    guint8 id[ACR_BLOB_ID_LEN];
    GBytes *content; /* NULL if the file is removed */
} AcrVcsChange;

struct AcrOverlay {
    AcrSnapshot *snapshot;
    GHashTable *changes; /* char * -> AcrVcsChange *; contains only differences from the snapshot */
};

/* ---- diff_hunks.c, diff_binary.c ---- */

/* Appends the hunks that change `old` to `new`, in git's format. */
bool acr_vcs_hunks_append(GString *out, GBytes *old, GBytes *new, bool python,
                          GError **error) ACR_MUST_USE;
/* Appends git's binary patch between `old` and `new`, in both directions. */
bool acr_vcs_binary_append(GString *out, GBytes *old, GBytes *new, GError **error) ACR_MUST_USE;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_object, acr_git.object_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_commit, acr_git.commit_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_tree, acr_git.tree_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_reference, acr_git.reference_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_config, acr_git.config_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_odb, acr_git.odb_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_odb_object, acr_git.odb_object_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_index, acr_git.index_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(git_repository, acr_git.repository_free)
