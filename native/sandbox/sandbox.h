/* sandbox: runs a command on a private copy of a snapshot with changed files. The command sees
 * neither the user's home nor the host's environment, can write only to its copy, and has no
 * network unless an option allows it. When the call returns, the command and every process that it
 * started have ended.
 *
 * Backends are rows of one table, one file each: "bubblewrap" (namespaces; a kernel overlay over
 * the snapshot's files, which are written to disk once for each tree), "container" (an image,
 * through the Docker Engine API, for Docker and podman), "plain" (a copy in a temporary folder and
 * limits, no isolation; only if an option names it). */
#pragma once

#include "base/base.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_SANDBOX_ERROR_FAILED, /* the sandbox itself failed, not the command */
    ACR_SANDBOX_ERROR_USAGE,  /* contradictory options, or an unknown backend */
    /* this backend does not work on this machine: a program is missing, namespaces are
     * forbidden, no engine answers, no such image, no Python */
    ACR_SANDBOX_ERROR_UNAVAILABLE,
    ACR_SANDBOX_ERROR_NO_SPACE, /* the disk on which an engine keeps its images is full */
    /* the set-up command failed; the message says how in its first line, followed by the last
     * output of the command */
    ACR_SANDBOX_ERROR_SETUP,
    ACR_SANDBOX_ERROR_INTERRUPTED,
} AcrSandboxError;
#define ACR_SANDBOX_ERROR acr_sandbox_error_quark()
GQuark acr_sandbox_error_quark(void);

/* ---- Opening ---- */

/* The program's hidden verb that prepares limits, namespaces and mounts, and starts the command;
 * see acr_sandbox_helper. */
#define ACR_SANDBOX_VERB "sandbox-helper"
#define ACR_SANDBOX_IMAGE_DIR "/testbed" /* folder of the project in images */

/* Names of backends. */
#define ACR_IN_BUBBLEWRAP "bubblewrap"
#define ACR_IN_CONTAINER "container"
#define ACR_IN_PLAIN "plain"

/* Zero-initialise. All members are borrowed for the life of the sandbox. */
typedef struct {
    /* name of a backend; NULL: ACR_IN_CONTAINER if an image is given, else ACR_IN_BUBBLEWRAP */
    const char *backend;
    AcrSnapshot *snapshot; /* in a container it may be NULL: the image's own files are used */
    /* Absolute path of the working tree. The copy has the same path inside, so that packages
     * that were installed from there find it; a ".venv" is searched in it. NULL:
     * ACR_SANDBOX_IMAGE_DIR, without ".venv". */
    const char *work_tree;
    const char *python; /* a path, or a name in PATH; NULL: find one */
    const char *setup;  /* a shell command that runs once for each tree; NULL: none */
    bool setup_network;
    gint64 setup_ms; /* time limit of the set-up; 0: an hour */
    /* monotonic time by which a set-up, or the wait for another process's set-up, must end; 0:
     * none */
    gint64 deadline_us;
    /* the image's name; required for containers, rejected otherwise */
    const char *image;
    /* folder for trees and the results of set-ups, created if missing; NULL: a temporary folder
     * that is removed with the sandbox */
    const char *cache;
    const char *exe; /* path of this program, for ACR_SANDBOX_VERB */
    const AcrInterrupt *interrupt;
} AcrSandboxOptions;

/* One thread at a time. */
typedef struct AcrSandbox AcrSandbox;

/* Checks that the backend works here, by running something in it, and finds a Python. Neither
 * writes the tree nor runs the set-up. Errors: USAGE, UNAVAILABLE, FAILED, INTERRUPTED. */
AcrSandbox *acr_sandbox_open(const AcrSandboxOptions *options, GError **error) ACR_MUST_USE;
/* Removes everything that the sandbox made outside its cache. */
void acr_sandbox_free(AcrSandbox *sandbox);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrSandbox, acr_sandbox_free)

const char *acr_sandbox_backend(const AcrSandbox *sandbox); /* borrowed, e.g. "bubblewrap" */
/* The path of the Python inside; borrowed. In a container, searches for it after the set-up.
 * Errors: UNAVAILABLE, and those of acr_sandbox_run. */
const char *acr_sandbox_python(AcrSandbox *sandbox, GError **error) ACR_MUST_USE;
/* The path of the tree inside; borrowed. */
const char *acr_sandbox_dir(const AcrSandbox *sandbox);
/* Which Python was chosen, and why, in one line; borrowed; NULL: not chosen yet. */
const char *acr_sandbox_choice(const AcrSandbox *sandbox);
/* Warnings for the user, one line each: files that were skipped, and limits that this backend
 * cannot enforce on this machine; borrowed until the next call, NULL-terminated, may be empty. */
const char *const *acr_sandbox_remarks(const AcrSandbox *sandbox);

/* Runs the set-up command, unless there is none or the cache has its result. The first execution
 * calls this by itself. Errors: SETUP, FAILED, INTERRUPTED. */
bool acr_sandbox_set_up(AcrSandbox *sandbox, GError **error) ACR_MUST_USE;

/* ---- Executing ---- */

/* Limits; 0 selects the default that each comment states. The defaults suit a project's tests,
 * not a build. */
typedef struct {
    gint64 wall_ms;      /* elapsed time; default 120,000 */
    gint64 cpu_s;        /* processor time of one process; default: `wall_ms` */
    gint64 memory_bytes; /* of all processes together, in bytes; default 2 GiB */
    guint processes;     /* maximum of processes and threads at a time; default 256 */
    gint64 disk_bytes;   /* of all written files together, and of each file; default 1 GiB */
    gsize output_bytes;  /* bytes kept of each stream; default 1 MiB */
} AcrSandboxLimits;
/* A stream longer than this ends the command: 64 times the bytes kept, at most half a GiB. */
#define ACR_SANDBOX_FLOOD(kept) MAX((guint64)(kept), MIN((guint64)(kept)*64u, (guint64)512 << 20))
#define ACR_SANDBOX_MAX_PROCESSES 65536u
#define ACR_SANDBOX_MAX_INPUT ((gsize)64 * 1024 * 1024)

typedef enum {
    ACR_LIMIT_NONE,
    ACR_LIMIT_WALL,
    ACR_LIMIT_CPU,
    ACR_LIMIT_MEMORY,
    ACR_LIMIT_OUTPUT, /* a stream was longer than the number of bytes kept */
    ACR_LIMIT_FILES,  /* a file, or all files together, became too large */
    ACR_LIMIT_PROCESSES,
} AcrSandboxLimit;
const char *acr_sandbox_limit_name(AcrSandboxLimit limit); /* "wall", …; NULL for NONE */
const char *acr_sandbox_limit_words(AcrSandboxLimit limit); /* for messages: "wall-clock time", … */
bool acr_sandbox_limit_from_name(const char *name, AcrSandboxLimit *out); /* NULL: NONE */

/* Zero-initialise; only argv is required. All borrowed for the call. */
typedef struct {
    const AcrOverlay *overlay; /* changes over the sandbox's snapshot; NULL: none */
    const char *const *argv;   /* argv[0] is looked up in the PATH of the sandbox */
    const char *const *env;    /* "NAME=VALUE", added to the sandbox's own variables; NULL: none */
    GBytes *input;             /* its standard input; NULL: none */
    /* Gives the command this process's standard input instead of `input`. A container gets it
     * after it was read to its end: up to ACR_SANDBOX_MAX_INPUT bytes, for at most the command's
     * time limit. */
    bool inherit_input;
    bool network;
    /* Gives the tree a ".git" with the snapshot's commit, if there is a commit
     * (acr_snapshot_write_git). Ignored for images, whose ".git" is not changed. */
    bool has_git;
    const char
        *host_name; /* the machine's name inside, letters only; NULL: any; ignored by "plain" */
    /* report which files of the tree the command wrote; an engine must be asked about each file */
    bool tell_changed;
    AcrSandboxLimits limits;
    /* Called with each piece of output as it arrives, up to the limit. May be NULL. */
    void (*on_output)(void *ctx, bool is_stderr, const char *data, gsize len);
    void *on_output_ctx;
} AcrExecution;

#define ACR_SANDBOX_MAX_CHANGED 1000u /* limit of the number of paths that are listed */

typedef struct {
    int exit_code; /* 0-255; -1: a signal ended it */
    /* 0: none. bubblewrap and engines report signal N as exit code 128 + N, so with them, an
     * exit code above 128 is reported as a signal */
    int signal;
    AcrSandboxLimit limit; /* the first limit that was exceeded */
    /* owned; if a stream is long, a line that says how many bytes are missing replaces its
     * middle */
    GBytes *out, *err;
    guint64 out_total, err_total; /* number of bytes written, as far as they were read */
    gint64 wall_ms;
    gint64
        peak_bytes; /* memory of all processes together, sampled; in a container including files that they read and wrote; 0: unknown */
    gint64 image_bytes; /* size of the user's image; 0: none, or unknown */
    char *dir;          /* owned; path of the tree, if it differs from acr_sandbox_dir; else NULL */
    /* owned; paths of the tree that the command wrote or removed, sorted; NULL: unknown, or not
     * requested */
    char **changed;
} AcrExecuted;
void acr_executed_clear(AcrExecuted *executed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrExecuted, acr_executed_clear)

/* Runs a command and waits for it. True if it was started, however it ended. As in a shell, the
 * exit code is 127 if the program is missing, and 126 if it cannot be executed. Errors: SETUP,
 * UNAVAILABLE, FAILED, INTERRUPTED. */
bool acr_sandbox_run(AcrSandbox *sandbox, const AcrExecution *execution, AcrExecuted *out,
                     GError **error) ACR_MUST_USE;

/* ---- The helper ---- */

/* Implements ACR_SANDBOX_VERB: reads the task from descriptor 3, prepares this process, starts the
 * command and supervises it. Call it before Python and threads are started. Returns the exit code;
 * a failure is reported to the host. `interrupt` is that of this process. */
int acr_sandbox_helper(const AcrInterrupt *interrupt);

/* Removes the trees and set-up results in the cache that no process uses. Errors: FAILED. */
bool acr_sandbox_cache_clear(const char *cache, GError **error) ACR_MUST_USE;
