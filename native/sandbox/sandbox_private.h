/* What the files of sandbox share: the table of backends, the store of trees and layers, the search
 * for a Python, the watch over a tree of processes. */
#ifndef ACR_SANDBOX_PRIVATE_H
#define ACR_SANDBOX_PRIVATE_H

#include <sys/stat.h>

#include "sandbox/helper.h"
#include "sandbox/sandbox.h"

/* Sets an error and returns false, for `return`. */
bool acr_sandbox_fail(GError **error, AcrSandboxError code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* ---- Backends ---- */

typedef struct {
    const char *name;
    /* Checks what can be checked without running anything, and fills in what is the backend's. */
    bool (*open)(AcrSandbox *sandbox, GError **error);
    /* Runs the set-up command; called once, before the first execution, where there is one. */
    bool (*set_up)(AcrSandbox *sandbox, GError **error);
    /* `execution` has its limits filled in. */
    bool (*run)(AcrSandbox *sandbox, const AcrExecution *execution, AcrExecuted *out,
                GError **error);
    /* Finds the Python when it is asked for; NULL: `open` has found it. */
    bool (*find_python)(AcrSandbox *sandbox, GError **error);
    void (*close)(AcrSandbox *sandbox);
} AcrSandboxBackend;

extern const AcrSandboxBackend acr_sandbox_bubblewrap;
extern const AcrSandboxBackend acr_sandbox_container;
extern const AcrSandboxBackend acr_sandbox_plain;

/* ---- Store ---- */

#define ACR_LAYERS_MAX_BYTES (16ll * 1024 * 1024 * 1024) /* beyond it the least used entries go */
/* What is in an entry, and in a copy. */
#define ACR_SANDBOX_TREE "tree"
#define ACR_SANDBOX_HOME "home"

/* A folder of trees that are made once and then only read. Processes share it; an entry that one
 * uses is not removed by another. */
typedef struct AcrLayers AcrLayers;
/* `path` NULL: a temporary one that is removed with the store. The interrupt (may be NULL) ends the
 * wait for an entry that another process makes. */
AcrLayers *acr_layers_open(const char *path, const AcrInterrupt *interrupt,
                           GError **error) ACR_MUST_USE;
/* When waiting ends, by the system's monotonic clock; 0: never. */
void acr_layers_set_deadline(AcrLayers *store, gint64 deadline_us);
void acr_layers_free(AcrLayers *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrLayers, acr_layers_free)
/* Fills the empty folder `dir`. */
typedef bool AcrLayerMake(void *ctx, const char *dir, GError **error);
/* The folder of an entry, made by `make` unless it is there; owned. It stays for the store's life.
 */
char *acr_layers_get(AcrLayers *store, const char *key, AcrLayerMake *make, void *ctx,
                     GError **error) ACR_MUST_USE;
/* Whether it is there already. */
bool acr_layers_has(const AcrLayers *store, const char *key);
/* A new empty folder that goes with the store (or, after a crash, with a later one); owned. */
char *acr_layers_scratch(AcrLayers *store, GError **error) ACR_MUST_USE;
/*
 * A folder for one user alone, the same for each `key`, made empty where there is none; owned. What
 * is in it stays for the next one: see AcrCopy. Where another has it: waits, or gives NULL without
 * an error. Errors: FAILED, INTERRUPTED.
 */
char *acr_layers_claim(AcrLayers *store, const char *key, bool wait, GError **error) ACR_MUST_USE;
/* Gives it back. */
void acr_layers_release(AcrLayers *store, const char *path);
/* The file beside an entry that tells of what is in it, and goes with it; owned. */
char *acr_layers_record(const char *path) ACR_MUST_USE;
/* One process at a time makes what `key` names, wherever it lies; others wait. A descriptor, to be
 * given back; -1 with an error. Errors: FAILED, INTERRUPTED. */
int acr_layers_lock(const AcrLayers *store, const char *key, GError **error) ACR_MUST_USE;
void acr_layers_unlock(const AcrLayers *store, const char *key, int fd);
/* Removes a folder that this process alone uses. */
bool acr_layers_discard(AcrLayers *store, const char *path, GError **error) ACR_MUST_USE;

/* ---- Copies ---- */

/* A folder that is filled once and that many write to in turn: what one has changed is found, and
 * put back. Nobody else may be at work in it. */
typedef struct AcrCopy AcrCopy;
/* `record`: the file that tells how the folder was when it was whole. */
AcrCopy *acr_copy_new(const char *dir, const char *record) ACR_MUST_USE;
void acr_copy_free(AcrCopy *copy);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrCopy, acr_copy_free)
/* Makes it whole, whatever is in it: removes what came or was changed; `fill` writes what is not
 * there. Without a record all is removed first. */
bool acr_copy_mend(AcrCopy *copy, AcrLayerMake *fill, void *ctx, GError **error) ACR_MUST_USE;
/* Paths of files that were written or removed since; borrowed until the next call. NULL with an
 * error. */
const GPtrArray *acr_copy_changed(AcrCopy *copy, GError **error) ACR_MUST_USE;

/* ---- Trees ---- */

/* Writes those files of the snapshot into the folder `dir` that are not there, as `uid`'s (-1: this
 * user's). Files that are too large to be read are left out and named in *out_remark (owned; NULL:
 * none). */
bool acr_tree_export(AcrSnapshot *snapshot, const char *dir, gint64 uid, char **out_remark,
                     GError **error) ACR_MUST_USE;
/* Copies what is not there yet of a tree into the folder `to`, sharing blocks where the file system
 * can; links as links; only files, folders and links. */
bool acr_tree_copy(const char *from, const char *to, GError **error) ACR_MUST_USE;
/* Makes a folder of this mode, whatever the user's umask is; one that is there stays as it is. */
bool acr_tree_folder(const char *path, mode_t mode, GError **error) ACR_MUST_USE;
/* Gives a tree to a user, links not followed. */
bool acr_tree_give(const char *path, gint64 uid, GError **error) ACR_MUST_USE;
/* Gives this user, its owner, the rights to read and copy all of a tree. */
bool acr_tree_open_up(const char *path, GError **error) ACR_MUST_USE;
/* One name in the folder `dir`; 0 or an errno, which ends the walk. */
typedef int AcrTreeVisit(void *ctx, int dir, const char *name, const struct stat *st, guint depth);
/* Visits all names below a folder, a folder's own (`depth` 0 at the top) before what is in it; 0 or
 * an errno. `is_lenient`: what is in a folder that may not be read is passed over. */
int acr_tree_walk(const char *path, bool is_lenient, AcrTreeVisit *visit, void *ctx) ACR_MUST_USE;
/* Bytes on disk of a tree, as far as it can be read. */
gint64 acr_tree_bytes(const char *path);

/* ---- Python ---- */

/* A Python and what must be visible for it to run. All owned. */
typedef struct {
    char *path;       /* as it is called inside: not resolved, so that it finds its environment */
    char *venv;       /* its virtual environment's folder, or NULL */
    GPtrArray *roots; /* of char *: folders outside /usr that must be there, the venv first */
    GPtrArray *links; /* of char *: pairs of link and target, on the way to the executable */
    char *remark;     /* which one it is, and why */
    char *not_taken;  /* which one was not taken, and why; or NULL */
    char *stamp;      /* changes when another Python is put in its place, or its packages change */
} AcrSandboxPython;
void acr_sandbox_python_clear(AcrSandboxPython *python);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrSandboxPython, acr_sandbox_python_clear)
/*
 * Finds the Python: `given` (a path, or a name in PATH), else `work_tree`/.venv where it is not
 * part of the snapshot, else the system's. Runs nothing. Errors: UNAVAILABLE.
 */
bool acr_sandbox_python_find(const char *given, const char *work_tree, AcrSnapshot *snapshot,
                             AcrSandboxPython *out, GError **error) ACR_MUST_USE;

/* ---- Watching ---- */

typedef struct {
    gint64 bytes;      /* of memory, pages that several share counted once where that decides */
    guint processes;   /* and threads */
    gint64 file_bytes; /* of `bytes`: files in memory (memfd) that are open */
} AcrUse;
/* Of the descendants of `pid`, itself left out. `limit`: above it memory is counted exactly.
 * `with_files`: looks for files in memory, too, which takes longer; else those of the look before,
 * in `use`, count. Zero-initialise that. */
void acr_watch_use(pid_t pid, gint64 limit, bool with_files, AcrUse *use);

/* ---- Helpers of this machine ---- */

/* What a helper is run with, and what came of it. */
typedef struct {
    const AcrSandbox *sandbox;
    const AcrExecution *execution;
    const AcrHelperSpec *spec;
    const char *disk; /* the folder on disk that it writes to; NULL: none */
    /* Results. */
    AcrSpawnResult spawned; /* owned */
    int stage;              /* descriptor, or -1; owned */
    int wait_status;        /* of the command, as wait() gives it; -1: not told */
    AcrUse peak;
    AcrUse use; /* at the last look of the watch */
    guint looks;
    gint64 bytes_before, weigh_at_us; /* of `disk`; when it is looked at next */
    AcrSandboxLimit limit;            /* one that the watch saw */
    GByteArray *said; /* owned; what bubblewrap itself may have said, not passed on yet */
    bool has_begun;   /* something else was said: nothing is held back any more */
} AcrHelperRun;
void acr_helper_run_clear(AcrHelperRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrHelperRun, acr_helper_run_clear)
/* Runs a helper to its end; what the execution has come to. False where it did not reach the
 * command. */
bool acr_helper_run(AcrHelperRun *run, AcrExecuted *out, GError **error) ACR_MUST_USE;

/* ---- The sandbox ---- */

struct AcrSandbox {
    const AcrSandboxBackend *backend;
    void *state; /* the backend's */
    AcrSnapshot *snapshot;
    char *mount, *work_tree, *given_python, *setup, *image, *image_dir, *engine, *exe, *digest;
    bool setup_network, is_set_up, has_told;
    gint64 setup_ms, deadline_us;
    AcrSandboxPython python;
    AcrLayers *store;
    GPtrArray *remarks; /* of char *; ends in NULL */
    const AcrInterrupt *interrupt;
};
void acr_sandbox_remark(AcrSandbox *sandbox, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Prepends "PATH", "HOME" and the like, then the execution's own. */
void acr_sandbox_env(const AcrSandbox *sandbox, const char *home, const AcrExecution *execution,
                     GPtrArray *out);
AcrSandboxLimits acr_sandbox_setup_limits(const AcrSandbox *sandbox);
/* Whether a set-up succeeded; the error is a line, and where there are more its last lines. */
bool acr_sandbox_setup_check(const AcrSandbox *sandbox, const AcrExecuted *executed,
                             GError **error) ACR_MUST_USE;
/* Paths (taken, with their strings) as a sorted list that ends in NULL; owned (g_strfreev). */
char **acr_sandbox_sorted(GPtrArray *paths) ACR_MUST_USE;
/* What is told of a command's streams and its time: the two ends of each, and of what was between
 * them how much it was. */
void acr_sandbox_take_streams(const AcrSpawnResult *spawned, AcrExecuted *out);
/* Writes into the folder ACR_SANDBOX_TREE of `dir` what is not there yet of the snapshot, as
 * acr_tree_export, and beside it which files it leaves out. */
bool acr_sandbox_fill_tree(AcrSandbox *sandbox, const char *dir, gint64 uid,
                           GError **error) ACR_MUST_USE;
/* Makes a remark of those, once; called by all who use such a folder. */
void acr_sandbox_tell_left_out(AcrSandbox *sandbox, const char *dir);
/* Whether a path below the folder `root` is still as it was laid there. */
bool acr_sandbox_is_as_laid(int root, const char *path, const GPtrArray *laid);
/* Takes the files that were laid out of a list of changed ones (taken; may be NULL). */
char **acr_sandbox_without_laid(char **changed, const GPtrArray *laid) ACR_MUST_USE;
/* The changed and added files of an execution, as the helper lays them. */
bool acr_sandbox_changes(const AcrSandbox *sandbox, const AcrExecution *execution, GPtrArray *out,
                         GError **error) ACR_MUST_USE;

#endif
