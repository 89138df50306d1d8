/* Private to sandbox: the table of backends, the sandbox object, and helpers for backends. */
#pragma once

#include "sandbox/sandbox_private.h"
#include "sandbox/helper_spec.h"
#include "sandbox/tree_cache.h"

/* ---- Backends ---- */

typedef struct {
    const char *name;
    /* Checks the parts that can be checked without running anything, and sets the fields that
     * belong to the backend. */
    bool (*open)(AcrSandbox *sandbox, GError **error);
    /* Runs the set-up command; called once, before the first execution, if there is one. */
    bool (*set_up)(AcrSandbox *sandbox, GError **error);
    /* Runs a command. The limits in `execution` are already filled in. */
    bool (*run)(AcrSandbox *sandbox, const AcrExecution *execution, AcrExecuted *out,
                GError **error);
    /* Finds the Python on demand; NULL if `open` has found it. */
    bool (*find_python)(AcrSandbox *sandbox, GError **error);
    void (*close)(AcrSandbox *sandbox);
} AcrSandboxBackend;

extern const AcrSandboxBackend acr_sandbox_bubblewrap;
extern const AcrSandboxBackend acr_sandbox_container;
extern const AcrSandboxBackend acr_sandbox_plain;

/* ---- The sandbox ---- */

struct AcrSandbox {
    const AcrSandboxBackend *backend;
    void *state; /* state of the backend */
    AcrSandboxOptions options;
    const char *dir; /* absolute path of the tree inside the sandbox */
    char *digest;    /* hex digest of all inputs by which environments can differ */
    bool is_set_up;
    AcrSandboxPython python;
    AcrTreeCache *cache;
    gint64 tree_uid; /* user who owns the tree and runs the commands; -1: this user */
    char *base;      /* cache folder with the snapshot's tree; NULL if not made yet */
    /* cache folder with the tree's ".git"; NULL if not made yet, or if there is none */
    char *git;
    bool has_no_git;    /* making `git` has failed */
    GPtrArray *remarks; /* array of char *; ends in NULL */
};
void acr_sandbox_remark(AcrSandbox *sandbox, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Appends standard variables such as "PATH" and "HOME", then the execution's own variables. */
void acr_sandbox_env(const AcrSandbox *sandbox, const char *home, const AcrExecution *execution,
                     GPtrArray *out);
AcrSandboxLimits acr_sandbox_setup_limits(const AcrSandbox *sandbox);
/* Runs a command in the place that the backend passes as `where`. */
typedef bool AcrRunIn(AcrSandbox *sandbox, const char *where, const AcrExecution *execution,
                      AcrExecuted *out, GError **error);
/* Runs the set-up command with `run_in`. Errors: SETUP (one line, followed by the last lines of
 * the set-up's output), and those of `run_in`. */
bool acr_sandbox_run_setup(AcrSandbox *sandbox, AcrRunIn *run_in, const char *where,
                           GError **error) ACR_MUST_USE;
/* Sets a command's streams (beginning and end, and how many bytes are missing between), its
 * time, and the limit that it exceeded: `seen`, unless the exit status or the streams show that
 * another limit was exceeded first. */
void acr_sandbox_take_result(const AcrSpawnResult *spawned, const AcrSandboxLimits *limits,
                             AcrSandboxLimit seen, AcrExecuted *out);
/* Makes sandbox->base, the cache entry with the snapshot's files, unless the entry exists. Adds
 * a remark if files were skipped. */
bool acr_sandbox_need_base(AcrSandbox *sandbox, GError **error) ACR_MUST_USE;
/* Makes sandbox->git, the cache entry with a ".git", unless the entry exists or there is no
 * commit. Adds a remark on failure. */
void acr_sandbox_need_git(AcrSandbox *sandbox);
typedef bool AcrIsAsLaid(void *ctx, const AcrHelperFile *file);
/* Lists those of `paths` (keys of a set) that the command changed: we did not write the file, or
 * its content differs from what we wrote. Sorted; at most ACR_SANDBOX_MAX_CHANGED. Owned
 * (g_strfreev). */
char **acr_sandbox_changed(GHashTable *paths, const GPtrArray *laid, AcrIsAsLaid *is_as_laid,
                           void *ctx) ACR_MUST_USE;
/* Whether a file in the folder `tree` (const char *) is unchanged since we wrote it. */
AcrIsAsLaid acr_sandbox_is_as_laid;
/* Writes the changed and added files of an execution in the form that the helper reads. */
bool acr_sandbox_changes(const AcrExecution *execution, GPtrArray *out,
                         GError **error) ACR_MUST_USE;
