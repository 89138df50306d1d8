/* sandbox: runs a command on a private copy of a snapshot with changed files. The command sees
 * neither the user's home nor the host's environment, can write only to its copy, and has no
 * network access unless an option allows it. When the call returns, the command and every process
 * that it started have ended.
 *
 * Each backend is a row of one table and has its own file: "bubblewrap" (namespaces; a kernel
 * overlay over the snapshot's files, which are written to disk once for each tree), "container" (an
 * image, through the Docker Engine API, for Docker and podman), "plain" (a copy in a temporary
 * folder with limits but no isolation; used only if an option names it). */
#pragma once

#include "base/base.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_SANDBOX_ERROR_FAILED, /* the sandbox itself failed, not the command */
    ACR_SANDBOX_ERROR_USAGE,  /* contradictory options, or an unknown backend */
    /* the backend does not work on this machine: a program is missing, namespaces are forbidden, no
     * engine answers, the image does not exist, or there is no Python */
    ACR_SANDBOX_ERROR_UNAVAILABLE,
    ACR_SANDBOX_ERROR_NO_SPACE, /* the disk on which an engine keeps its images is full */
    /* the set-up command failed; the message says how, and where the command's whole output is */
    ACR_SANDBOX_ERROR_SETUP,
    ACR_SANDBOX_ERROR_INTERRUPTED,
} AcrSandboxError;
#define ACR_SANDBOX_ERROR acr_sandbox_error_quark()
GQuark acr_sandbox_error_quark(void);

/* ---- Opening ---- */

/* The hidden verb of this program that sets limits, creates namespaces and mounts, and starts the
 * command; see acr_sandbox_helper. */
#define ACR_SANDBOX_VERB "sandbox-helper"
#define ACR_SANDBOX_IMAGE_DIR "/testbed" /* folder of the project in images */

/* Names of backends. */
#define ACR_IN_BUBBLEWRAP "bubblewrap"
#define ACR_IN_CONTAINER "container"
#define ACR_IN_PLAIN "plain"

/* Options of a sandbox. Zero-initialise. All members are borrowed while the sandbox exists. */
typedef struct {
    /* name of a backend; NULL: ACR_IN_CONTAINER if an image is given, otherwise
     * ACR_IN_BUBBLEWRAP */
    const char *backend;
    AcrSnapshot *snapshot; /* may be NULL for a container, which then has only the image's files */
    /* Absolute path of the working tree. The copy has the same path inside the sandbox, because
     * installed packages may refer to that path. A ".venv" is searched for in the working tree.
     * NULL: the path is ACR_SANDBOX_IMAGE_DIR, and no ".venv" is searched for. */
    const char *work_tree;
    const char *python; /* path of the Python, or its name in PATH; NULL: find a Python */
    const char *setup;  /* shell command that runs once for each tree; NULL: none */
    bool setup_network;
    gint64 setup_ms; /* time limit of the set-up; 0: one hour */
    /* monotonic time in microseconds at which a set-up, or the wait for another process's set-up,
     * must end; 0: none */
    gint64 deadline_us;
    /* name of the image; required for containers, rejected otherwise */
    const char *image;
    /* folder for trees and the results of set-ups, created if missing; NULL: a temporary folder
     * that is removed with the sandbox */
    const char *cache;
    const char *exe; /* path of this program, which is run with ACR_SANDBOX_VERB */
    const AcrInterrupt *interrupt;
} AcrSandboxOptions;

/* A backend with its options and cache. One thread at a time. */
typedef struct AcrSandbox AcrSandbox;

/* Checks that there is a backend of this name. Errors: USAGE. */
bool acr_sandbox_check_name(const char *name, GError **error) ACR_MUST_USE;

/* Checks the options and what the backend needs on this machine, and finds a Python (in containers,
 * only the first call of acr_sandbox_python does). Does not write the tree or run the set-up.
 * Errors: USAGE, UNAVAILABLE, FAILED, INTERRUPTED. */
AcrSandbox *acr_sandbox_open(const AcrSandboxOptions *options, GError **error) ACR_MUST_USE;
/* Frees the sandbox, and removes everything that it created outside its cache. */
void acr_sandbox_free(AcrSandbox *sandbox);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrSandbox, acr_sandbox_free)

const char *acr_sandbox_backend(const AcrSandbox *sandbox); /* borrowed, e.g. "bubblewrap" */
/* Returns the path of the Python inside the sandbox; borrowed. In a container, the Python is
 * searched for after the set-up. Errors: UNAVAILABLE, and those of acr_sandbox_run. */
const char *acr_sandbox_python(AcrSandbox *sandbox, GError **error) ACR_MUST_USE;
/* Returns the path of the tree inside the sandbox; borrowed. */
const char *acr_sandbox_dir(const AcrSandbox *sandbox);
/* Returns one line that says which Python was chosen, and why; borrowed; NULL if none is chosen
 * yet. */
const char *acr_sandbox_choice(const AcrSandbox *sandbox);
/* Returns warnings for the user, one line each: files that were skipped, and limits that the
 * backend cannot enforce on this machine. NULL-terminated, may be empty; borrowed until the next
 * call. */
const char *const *acr_sandbox_remarks(const AcrSandbox *sandbox);

/* Runs the set-up command, unless there is none or the cache has its result. The first call of
 * acr_sandbox_run calls this function. Errors: SETUP, FAILED, INTERRUPTED. */
bool acr_sandbox_set_up(AcrSandbox *sandbox, GError **error) ACR_MUST_USE;

/* Returns the line of a failed command's output that matters: the last line that names an exception
 * or begins with "error: ", which is left out, otherwise the last line; "" if there is none; owned
 * (g_free). */
char *acr_sandbox_failure_line(GBytes *output) ACR_MUST_USE;

/* ---- Executing ---- */

/* Limits of an execution; 0 selects the default. The defaults suit a project's tests, not a
 * build. */
typedef struct {
    gint64 wall_ms;      /* elapsed time in milliseconds; default: 120,000 */
    gint64 cpu_s;        /* processor time of one process in seconds; default: the same time as
                          * `wall_ms` */
    gint64 memory_bytes; /* total memory of all processes, in bytes; default: 2 GiB */
    guint processes;     /* maximum number of processes and threads at a time; default: 256 */
    /* total size in bytes of all written files, and maximum size of each file; default: 1 GiB */
    gint64 disk_bytes;
    gsize output_bytes; /* maximum number of bytes kept of each stream; default: 1 MiB */
} AcrSandboxLimits;
/* Number of bytes of a stream at which the command is ended: 64 times `kept` (the number of bytes
 * kept), at most half a GiB. */
#define ACR_SANDBOX_FLOOD(kept) MAX((guint64)(kept), MIN((guint64)(kept)*64u, (guint64)512 << 20))
#define ACR_SANDBOX_MAX_PROCESSES 65536u
#define ACR_SANDBOX_MAX_INPUT ((gsize)64 * 1024 * 1024)

typedef enum {
    ACR_LIMIT_NONE,
    ACR_LIMIT_WALL,
    ACR_LIMIT_CPU,
    ACR_LIMIT_MEMORY,
    ACR_LIMIT_OUTPUT, /* a stream exceeded the number of bytes kept */
    ACR_LIMIT_FILES,  /* a file, or all files together, became too large */
    ACR_LIMIT_PROCESSES,
} AcrSandboxLimit;
const char *acr_sandbox_limit_name(AcrSandboxLimit limit); /* "wall", …; NULL for ACR_LIMIT_NONE */
/* Returns the limit in words, for messages: "wall-clock time", … */
const char *acr_sandbox_limit_words(AcrSandboxLimit limit);
/* name NULL: ACR_LIMIT_NONE */
bool acr_sandbox_limit_from_name(const char *name, AcrSandboxLimit *out);

/* A command to run. Zero-initialise; only argv is required. All members are borrowed for the
 * call. */
typedef struct {
    const AcrOverlay *overlay; /* changes over the sandbox's snapshot; NULL: none */
    const char *const *argv;   /* argv[0] is looked up in the PATH of the sandbox */
    const char *const *env;    /* "NAME=VALUE" strings, added to the sandbox's own variables; NULL:
                                * none */
    GBytes *input;             /* the command's standard input; NULL: none */
    /* The command gets this process's standard input instead of `input`. For a container, that
     * input is first read to its end: up to ACR_SANDBOX_MAX_INPUT bytes, for at most the command's
     * time limit. */
    bool inherit_input;
    bool network;
    /* The tree gets a ".git" with the snapshot's commit, if the snapshot has one
     * (acr_snapshot_write_git). Ignored for images, whose ".git" is not changed. */
    bool has_git;
    /* host name in the sandbox, letters only; NULL: any name; ignored by "plain" */
    const char *host_name;
    /* list the files of the tree that the command wrote; in containers, this costs one request to
     * the engine for each file that the host wrote */
    bool tell_changed;
    AcrSandboxLimits limits;
    /* Called with each piece of output as it arrives, up to the limit. May be NULL. */
    void (*on_output)(void *ctx, bool is_stderr, const char *data, gsize len);
    void *on_output_ctx;
} AcrExecution;

#define ACR_SANDBOX_MAX_CHANGED 1000u /* maximum number of paths in AcrExecuted.changed */

typedef struct {
    int exit_code; /* 0-255; -1 if a signal ended the command */
    /* the signal that ended the command; 0 if none. bubblewrap and engines report signal N as exit
     * code 128 + N, so these backends report an exit code above 128 as a signal */
    int signal;
    AcrSandboxLimit limit; /* the first limit that was exceeded */
    /* owned; if a stream is long, its middle is replaced by a line that says how many bytes are
     * missing */
    GBytes *out, *err;
    guint64 out_total, err_total; /* number of bytes that the command wrote, as far as they were
                                   * read */
    gint64 wall_ms;
    /* peak memory of all processes together, sampled; in a container it includes files that the
     * processes read and wrote; 0 if unknown */
    gint64 peak_bytes;
    gint64 image_bytes; /* size of the user's image; 0 if there is none, or if unknown */
    /* owned; path of the tree if it differs from acr_sandbox_dir; otherwise NULL */
    char *dir;
    /* owned; sorted paths of the tree that the command wrote or removed; NULL if unknown or not
     * requested */
    char **changed;
} AcrExecuted;
void acr_executed_clear(AcrExecuted *executed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrExecuted, acr_executed_clear)

/* Runs a command and waits until it ends. Returns true if the command was started, however it
 * ended. As in a shell, the exit code is 127 if the program is missing, and 126 if it cannot be
 * executed. Errors: SETUP, UNAVAILABLE, FAILED, INTERRUPTED. */
bool acr_sandbox_run(AcrSandbox *sandbox, const AcrExecution *execution, AcrExecuted *out,
                     GError **error) ACR_MUST_USE;

/* Runs a command whose home is an empty folder on disk. Later executions see the files that it
 * wrote there in their tree, above the tree's own files, until a call adds another layer. The result
 * is cached by the command, its input, the tree and the Python. Does nothing if the backend has no
 * layers. Errors: those of acr_sandbox_run. */
bool acr_sandbox_add_layer(AcrSandbox *sandbox, const AcrExecution *execution,
                           GError **error) ACR_MUST_USE;

/* ---- The helper ---- */

/* Implements ACR_SANDBOX_VERB: reads the spec from descriptor ACR_HELPER_SPEC, prepares this
 * process, starts the command and supervises it. Must be called before Python and threads are
 * started. Returns the exit code; failures are reported to the host. `interrupt` is the interrupt
 * of this process. */
int acr_sandbox_helper(const AcrInterrupt *interrupt);

/* Removes the trees and set-up results in the folder `cache` that no process uses. Errors:
 * FAILED. */
bool acr_sandbox_cache_clear(const char *cache, GError **error) ACR_MUST_USE;
