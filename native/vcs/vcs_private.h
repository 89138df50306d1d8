/*
 * What the files of vcs share. libgit2's types go no further than this folder.
 */
#ifndef ACR_VCS_PRIVATE_H
#define ACR_VCS_PRIVATE_H

#include <errno.h>
#include <pthread.h>

#include "vcs/libgit2_private.h"
#include "vcs/vcs.h"

#define ACR_VCS_MAX_DEPTH 200      /* folders inside each other, on disk and in trees */
#define ACR_VCS_MAX_PATH 4096      /* bytes of one path */
#define ACR_VCS_MAX_LEFT_SHOWN 10u /* names listed in a remark */
#define ACR_VCS_MODE_SUBMODULE 0160000u

/* ---- error.c ---- */

/* Set an error; false, for `return`. The message is shown as acr_vcs_show_path does it. */
bool acr_vcs_fail(GError **error, AcrVcsError code, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Likewise, with libgit2's message: right after the failed call. */
bool acr_vcs_fail_git(GError **error, AcrVcsError code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* `path` on one line, as UTF-8 that can be printed; owned (g_free). */
char *acr_vcs_show_path(const char *path) ACR_MUST_USE;

/* Whether an errno says that this process, or the system, can open nothing more: this shows nothing of
 * what is there. */
static inline bool acr_vcs_is_exhausted(int err)
{
    return err == EMFILE || err == ENFILE || err == ENOMEM;
}

/* ---- repository.c ---- */

struct AcrRepo {
    gatomicrefcount refs;
    char *path;
    char *workdir;        /* NULL if bare */
    git_repository *git;  /* NULL: a folder without git */
    pthread_mutex_t lock; /* held around every use of `git` by a snapshot */
};

/* Initialises libgit2 and its process-wide options, once. Errors: FAILED. */
bool acr_vcs_init(GError **error) ACR_MUST_USE;
/* A repository that exists in memory only; owned (git_repository_free). False with libgit2's error. */
bool acr_vcs_memory_open(git_repository **out) ACR_MUST_USE;
/* Adds a file to an index of it. False with libgit2's error. */
bool acr_vcs_memory_add(git_repository *git, git_index *index, const char *path, guint32 mode,
                        GBytes *content) ACR_MUST_USE;
/* For g_ptr_array_sort of char *: by byte. */
int acr_vcs_compare_names(const void *a, const void *b);

/* ---- odb.c ---- */

/* The objects that lie in a repository's folder of them, and in its alternates; owned (git_odb_free).
 * Errors: TOO_BIG (alternates), FAILED. */
git_odb *acr_vcs_odb_open(const char *objects, const char *tree, GError **error) ACR_MUST_USE;

/* ---- snapshot.c ---- */

/* Where the content of an entry is (its `where`). */
typedef enum {
    ACR_VCS_IN_ODB,   /* in the repository */
    ACR_VCS_KEPT,     /* in `kept`, or a file in `blob_dir` */
    ACR_VCS_NOT_KEPT, /* over ACR_VCS_MAX_FILE_BYTES: nowhere */
    ACR_VCS_WHERE_LAST,
} AcrVcsWhere;

/* Why a path was left out. */
typedef enum {
    ACR_VCS_LEFT_SUBMODULE,
    ACR_VCS_LEFT_NESTED, /* a repository inside the working tree */
    ACR_VCS_LEFT_UNREADABLE,
    ACR_VCS_LEFT_BAD_NAME, /* a tree entry called "..", ".git" or the like */
    ACR_VCS_LEFT_LAST,
} AcrVcsLeft;

struct AcrSnapshot {
    gatomicrefcount refs;
    AcrRepo *repo; /* NULL: loaded without one */
    GStringChunk *paths;
    GArray *entries;  /* AcrEntry, sorted by path, unique once sealed */
    GHashTable *kept; /* id (20 bytes) -> GBytes */
    char *blob_dir; /* of a loaded snapshot: where KEPT contents are files named by id; else NULL */
    GPtrArray *left[ACR_VCS_LEFT_LAST]; /* paths left out, by reason */
    char *note;                         /* one more remark, or NULL */
    char *remarks;                      /* made when sealed */
    char commit[41];                    /* empty: none */
    bool worktree;
    struct AcrVcsHistory *history; /* NULL: not asked for yet; under the repository's lock */
    struct AcrVcsMarks *marks;     /* of a working tree, where they were asked for; else NULL */
};

/* What the file system said of a working tree when it was walked (worktree_marks.c). */
typedef struct AcrVcsMarks AcrVcsMarks;
AcrVcsMarks *acr_vcs_marks_new(void) ACR_MUST_USE; /* owned; from before the walk begins */
void acr_vcs_marks_free(AcrVcsMarks *marks);
/* Marks a path below the working tree, as it was before it was read; NULL `marks`: nothing is done. */
struct stat;
void acr_vcs_marks_add(AcrVcsMarks *marks, const char *path, const struct stat *st);
/* Likewise a file by its absolute path, which need not exist. */
void acr_vcs_marks_add_file(AcrVcsMarks *marks, const char *path);

AcrSnapshot *acr_vcs_snapshot_new(AcrRepo *repo) ACR_MUST_USE; /* shared; `repo` may be NULL */
/* Adds an entry; false once ACR_VCS_MAX_FILES are there. */
bool acr_vcs_snapshot_add(AcrSnapshot *snapshot, const char *path, guint32 mode, const guint8 *id,
                          AcrVcsWhere where, GError **error) ACR_MUST_USE;
void acr_vcs_snapshot_leave(AcrSnapshot *snapshot, AcrVcsLeft why, const char *path);
/* Sorts, drops repeated paths, writes the remarks. The snapshot is immutable from here on. */
void acr_vcs_snapshot_seal(AcrSnapshot *snapshot);

/* Git's id of a blob with that content. */
void acr_vcs_blob_id(const void *data, gsize len, guint8 out_id[ACR_BLOB_ID_LEN]);
void acr_vcs_id_hex(const guint8 id[ACR_BLOB_ID_LEN], char out_hex[41]);
/* For GHashTable: keys are pointers to 20 bytes. */
guint acr_vcs_id_hash(gconstpointer id);
gboolean acr_vcs_id_equal(gconstpointer a, gconstpointer b);

/* One part of a path that may occur: not empty, ".", "..", nor ".git" in any case, no slash. */
bool acr_vcs_part_ok(const char *part, gsize len);
/* A relative path of such parts, at most ACR_VCS_MAX_PATH bytes. */
bool acr_vcs_path_ok(const char *path);

/* ---- snapshot_commit.c ---- */

/* Adds all entries of commit `id` to `snapshot`. Errors: MISSING, TOO_BIG, FAILED. */
bool acr_vcs_tree_list(AcrSnapshot *snapshot, const git_oid *id, GError **error) ACR_MUST_USE;
/* Whether the files of HEAD and of the references that `rev` may name are short, as those are that git
 * writes: libgit2 takes the square of their length. */
bool acr_vcs_references_are_short(AcrRepo *repo, const char *rev);

/* ---- snapshot_history.c ---- */

#define ACR_VCS_TAGS "refs/tags/"

typedef struct {
    git_oid id;
    bool is_cut; /* it is written as one without parents */
} AcrVcsCommit;

typedef struct {
    char *name;
    GArray *ids; /* of git_oid: what it names, and what that leads to; the last is the commit's */
} AcrVcsTag;

/* What a git folder for a snapshot's commit shows. */
typedef struct AcrVcsHistory {
    GArray *commits; /* of AcrVcsCommit: the snapshot's, then its ancestors, nearest first */
    GHashTable
        *tags; /* id of a commit (20 bytes) -> GPtrArray of AcrVcsTag *, sorted where shown */
    bool has_all_tags;
    const char *autocrlf; /* of the configuration: whether CR LF in a work tree is a change */
    char *digest;         /* over all that is shown */
} AcrVcsHistory;

/* Borrowed from a snapshot that has a repository and a commit; its lock is held. */
const AcrVcsHistory *acr_vcs_history(AcrSnapshot *snapshot);

/* ---- wildmatch.c, ignore_rules.c ---- */

/* Whether git's wildcard `pattern` matches all of `text`. */
bool acr_vcs_wildmatch(const char *pattern, const char *text, bool ignore_case);

/* The ignore rules that hold in the folder a walk is in. */
typedef struct AcrVcsIgnore AcrVcsIgnore;
AcrVcsIgnore *acr_vcs_ignore_new(git_repository *git)
    ACR_MUST_USE; /* owned; the rules outside the working tree */
void acr_vcs_ignore_free(AcrVcsIgnore *ignore);
/* Adds the rules of an open folder's .gitignore; `base` is the length of its path, with its slash
 * (0 at the root). False, with errno, where it cannot be opened although it may be there: then nothing was
 * added. */
bool acr_vcs_ignore_enter(AcrVcsIgnore *ignore, int folder, gsize base) ACR_MUST_USE;
void acr_vcs_ignore_leave(AcrVcsIgnore *ignore); /* takes off what the last enter added */
/* Whether `path`, in the folder entered last, is ignored. `folder`: it is one (a symlink is not).
 */
bool acr_vcs_ignore_has(const AcrVcsIgnore *ignore, const char *path, bool folder);

/* ---- overlay.c ---- */

/* One changed file. */
typedef struct {
    guint32 mode; /* 0: removed */
    guint8 id[ACR_BLOB_ID_LEN];
    GBytes *content; /* NULL: removed */
} AcrVcsChange;

struct AcrOverlay {
    AcrSnapshot *snapshot;
    GHashTable *changes; /* char * -> AcrVcsChange *, only what differs from the snapshot */
};

/* ---- attributes.c ---- */

/* What the `diff` attribute of a path says. */
typedef enum {
    ACR_VCS_DIFF_AUTO,
    ACR_VCS_DIFF_TEXT,
    ACR_VCS_DIFF_BINARY,
    ACR_VCS_DIFF_PYTHON, /* the driver for Python: other words of context in hunk headers */
} AcrVcsDiffKind;

/* The rules of the .gitattributes files of `overlay` that concern `paths`. */
typedef struct AcrVcsAttributes AcrVcsAttributes;
/* Owned. Errors: those of acr_overlay_read. */
AcrVcsAttributes *acr_vcs_attributes_new(const AcrOverlay *overlay, char **paths,
                                         GError **error) ACR_MUST_USE;
void acr_vcs_attributes_free(AcrVcsAttributes *attributes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrVcsAttributes, acr_vcs_attributes_free)
/* O(rules * (pattern * path)). */
AcrVcsDiffKind acr_vcs_attributes_diff(const AcrVcsAttributes *attributes, const char *path);

/* ---- diff_hunks.c, diff_binary.c ---- */

/* Appends the hunks old -> new as git prints them. */
bool acr_vcs_hunks_append(GString *out, GBytes *old, GBytes *new, bool python,
                          GError **error) ACR_MUST_USE;
/* Appends git's binary patch, both directions. */
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

#endif
