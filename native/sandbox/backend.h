/* Private to sandbox: the table of backends, the sandbox object, and helper functions of the
 * backends. */
#pragma once

#include "sandbox/sandbox_private.h"
#include "sandbox/helper_spec.h"
#include "sandbox/tree_cache.h"

/* ---- Backends ---- */

typedef struct {
    const char *name;
    /* Checks what can be checked without running a command, and sets the backend's fields of
     * `sandbox`. */
    bool (*open)(AcrSandbox *sandbox, GError **error);
    /* Runs the set-up command. Called once, before the first execution, if the options have a
     * set-up. */
    bool (*set_up)(AcrSandbox *sandbox, GError **error);
    /* Runs a command. The caller has already replaced limits of 0 in `execution` by the
     * defaults. */
    bool (*run)(AcrSandbox *sandbox, const AcrExecution *execution, AcrExecuted *out,
                GError **error);
    /* See acr_sandbox_add_layer. NULL if the backend has no layers. */
    bool (*add_layer)(AcrSandbox *sandbox, const AcrExecution *execution, GError **error);
    /* Finds the Python when it is first needed. NULL if `open` finds the Python. */
    bool (*find_python)(AcrSandbox *sandbox, GError **error);
    void (*close)(AcrSandbox *sandbox);
} AcrSandboxBackend;

extern const AcrSandboxBackend acr_sandbox_bubblewrap;
extern const AcrSandboxBackend acr_sandbox_container;
extern const AcrSandboxBackend acr_sandbox_plain;

/* ---- The sandbox ---- */

struct AcrSandbox {
    const AcrSandboxBackend *backend;
    void *state; /* private data of the backend */
    AcrSandboxOptions options;
    const char *dir; /* absolute path of the tree inside the sandbox */
    char *digest;    /* hex digest of all inputs by which environments can differ */
    bool is_set_up;
    AcrSandboxPython python;
    AcrTreeCache *cache;
    gint64 tree_uid; /* user id of the owner of the tree, who also runs the commands; -1: the
                      * current user */
    char *base;      /* cache folder with the snapshot's files; NULL if not created yet */
    /* cache folder with the tree's ".git"; NULL if not created yet, or if the tree has no ".git" */
    char *git;
    bool has_no_git;    /* creating `git` has failed; do not try again */
    GPtrArray *remarks; /* array of char * that ends in NULL: warnings for the user */
};
void acr_sandbox_remark(AcrSandbox *sandbox, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Appends to `out` the standard variables, such as "PATH" and "HOME", and then the execution's own
 * variables. */
void acr_sandbox_env(const AcrSandbox *sandbox, const char *home, const AcrExecution *execution,
                     GPtrArray *out);
AcrSandboxLimits acr_sandbox_setup_limits(const AcrSandbox *sandbox);
/* Runs a command in the place `where`, whose meaning depends on the backend (a folder or a
 * container id). */
typedef bool AcrRunIn(AcrSandbox *sandbox, const char *where, const AcrExecution *execution,
                      AcrExecuted *out, GError **error);
/* Returns the user's package indexes and proxies, "NAME=VALUE", which a set-up with network access
 * gets; owned (g_strfreev). Leaves out those that may contain a password, and appends " $NAME" of
 * each to `left_out`, which may be NULL. */
char **acr_sandbox_setup_variables(const AcrSandboxOptions *options,
                                   GString *left_out) ACR_MUST_USE;
/* Runs the set-up command by calling `run_in`. Errors: SETUP, and the errors of `run_in`. */
bool acr_sandbox_run_setup(AcrSandbox *sandbox, AcrRunIn *run_in, const char *where,
                           GError **error) ACR_MUST_USE;
/* Copies the streams (beginning and end, with a note of how many bytes are missing between) and the
 * time from `spawned` to `out`. Sets out->limit to `seen`, unless the exit status or the streams
 * show that another limit was exceeded first. */
void acr_sandbox_take_result(const AcrSpawnResult *spawned, const AcrSandboxLimits *limits,
                             AcrSandboxLimit seen, AcrExecuted *out);
/* Creates the cache entry with the snapshot's files, unless it exists, and sets sandbox->base. Adds
 * a remark if files were skipped. */
bool acr_sandbox_need_base(AcrSandbox *sandbox, GError **error) ACR_MUST_USE;
/* Creates the cache entry with a ".git", unless the entry exists or the snapshot has no commit, and
 * sets sandbox->git. Adds a remark on failure. */
void acr_sandbox_need_git(AcrSandbox *sandbox);
typedef bool AcrIsAsLaid(void *ctx, const AcrHelperFile *file);
/* Returns those of `paths` (keys of a set) that the command changed: files that the host did not
 * write, and files whose content differs from what the host wrote (`laid`). Sorted; at most
 * ACR_SANDBOX_MAX_CHANGED. Owned (g_strfreev). */
char **acr_sandbox_changed(GHashTable *paths, const GPtrArray *laid, AcrIsAsLaid *is_as_laid,
                           void *ctx) ACR_MUST_USE;
/* True if a file in the folder `tree` (const char *) is unchanged since the host wrote it. */
AcrIsAsLaid acr_sandbox_is_as_laid;
/* Appends the changed and added files of an execution to `out`, as AcrHelperFile. */
bool acr_sandbox_changes(const AcrExecution *execution, GPtrArray *out,
                         GError **error) ACR_MUST_USE;
