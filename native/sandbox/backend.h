/* Private to sandbox: the table of backends, the sandbox itself and what its backends share. */
#ifndef ACR_SANDBOX_BACKEND_H
#define ACR_SANDBOX_BACKEND_H

#include "sandbox/error.h"
#include "sandbox/find_python.h"
#include "sandbox/helper_spec.h"
#include "sandbox/tree_cache.h"

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

/* ---- The sandbox ---- */

struct AcrSandbox {
    const AcrSandboxBackend *backend;
    void *state; /* the backend's */
    AcrSandboxOptions options;
    const char *dir; /* the tree's own path inside */
    char *digest;    /* over all that makes one environment differ from another; hex */
    bool is_set_up;
    AcrSandboxPython python;
    AcrTreeCache *cache;
    gint64 tree_uid;    /* owner of the tree, and who executions run as; -1: this user */
    char *base;         /* folder of the cache with the snapshot's tree; NULL: not needed yet */
    char *git;          /* one with a ".git" for it; NULL: not needed yet, or there is none */
    bool has_no_git;    /* it was tried */
    GPtrArray *remarks; /* of char *; ends in NULL */
};
void acr_sandbox_remark(AcrSandbox *sandbox, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Prepends "PATH", "HOME" and the like, then the execution's own. */
void acr_sandbox_env(const AcrSandbox *sandbox, const char *home, const AcrExecution *execution,
                     GPtrArray *out);
AcrSandboxLimits acr_sandbox_setup_limits(const AcrSandbox *sandbox);
/* Runs a command in a place of the backend's. */
typedef bool AcrRunIn(AcrSandbox *sandbox, const char *where, const AcrExecution *execution,
                      AcrExecuted *out, GError **error);
/* Runs the set-up there. Errors: SETUP (a line, and where there are more its last lines), those of
 * `run_in`. */
bool acr_sandbox_run_setup(AcrSandbox *sandbox, AcrRunIn *run_in, const char *where,
                           GError **error) ACR_MUST_USE;
/* Fills in a command's streams (their two ends, and between them how much was left out), its time, and
 * the limit that it hit: `seen`, unless its end or its streams show one that came first. */
void acr_sandbox_take_result(const AcrSpawnResult *spawned, const AcrSandboxLimits *limits,
                             AcrSandboxLimit seen, AcrExecuted *out);
/* Makes the entry of the cache with the snapshot's files, sandbox->base, unless it is there, and a
 * remark on what it lacks. */
bool acr_sandbox_need_base(AcrSandbox *sandbox, GError **error) ACR_MUST_USE;
/* Makes the entry of the cache with a ".git", sandbox->git, unless it is there, or there is no commit; where
 * it cannot be made, a remark. */
void acr_sandbox_need_git(AcrSandbox *sandbox);
typedef bool AcrIsAsLaid(void *ctx, const AcrHelperFile *file);
/* Those of the paths (keys of a set) whose file was not laid, or is not as it was laid; sorted; at most
 * ACR_SANDBOX_MAX_CHANGED. Owned (g_strfreev). */
char **acr_sandbox_changed(GHashTable *paths, const GPtrArray *laid, AcrIsAsLaid *is_as_laid,
                           void *ctx) ACR_MUST_USE;
/* Whether a file is still as it was laid in the folder `tree` (const char *). */
AcrIsAsLaid acr_sandbox_is_as_laid;
/* The changed and added files of an execution, as the helper lays them. */
bool acr_sandbox_changes(const AcrExecution *execution, GPtrArray *out,
                         GError **error) ACR_MUST_USE;

#endif
