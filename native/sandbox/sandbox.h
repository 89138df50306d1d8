/*
 * sandbox: runs a command on a private copy of a snapshot with changed files. What runs there sees
 * neither the user's home nor the host's environment, writes nowhere but into its copy, has no
 * network unless it is asked for, and is gone, with all that it started, when the call returns.
 *
 * Backends are rows of one table (one file each): "bubblewrap" (namespaces; a kernel overlay over
 * the snapshot's files, which are written out once for each tree), "container" (an image, through
 * the Docker Engine API; Docker and podman alike), "plain" (a copy in a temporary folder and
 * limits, no isolation: only where it is asked for by name).
 */
#ifndef ACR_SANDBOX_H
#define ACR_SANDBOX_H

#include "base/base.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_SANDBOX_ERROR_FAILED,      /* the sandbox, not the command: the message says what */
    ACR_SANDBOX_ERROR_USAGE,       /* options that exclude each other; no such backend */
    ACR_SANDBOX_ERROR_UNAVAILABLE, /* this backend cannot work here: no such program, namespaces are
                                      forbidden, no engine listens, no such image, no Python */
    ACR_SANDBOX_ERROR_NO_SPACE,    /* where an engine keeps its images */
    ACR_SANDBOX_ERROR_SETUP, /* the set-up command failed; the first line of the message says how,
                                further ones are its last output */
    ACR_SANDBOX_ERROR_INTERRUPTED,
} AcrSandboxError;
#define ACR_SANDBOX_ERROR acr_sandbox_error_quark()
GQuark acr_sandbox_error_quark(void);

/* ---- Opening ---- */

/* The hidden verb of the program that prepares limits, namespaces and mounts, and becomes the
 * command; see acr_sandbox_helper. */
#define ACR_SANDBOX_VERB "sandbox-helper"
#define ACR_SANDBOX_IMAGE_DIR "/testbed" /* where an image holds the project */

/* Zero-initialise. All is borrowed for the life of the sandbox. */
typedef struct {
    const char *backend;   /* a row's name; NULL: "container" with an image, else "bubblewrap" */
    AcrSnapshot *snapshot; /* container: NULL: the image's own files, as they are */
    /* Absolute path of the working tree. The copy appears there, so that what was installed from
     * there finds it, and a ".venv" is looked for there. NULL: ACR_SANDBOX_IMAGE_DIR, and none. */
    const char *work_tree;
    const char *python; /* as given by the user: a path, or a name in PATH; NULL: looked for */
    const char *setup;  /* a shell command, run once for each tree; NULL: none */
    bool setup_network;
    gint64 setup_ms;    /* its time; 0: an hour */
    gint64 deadline_us; /* of the system's monotonic clock: a set-up, and the wait for another's,
                           ends by then; 0: none */
    const char *image;  /* container: its name; needed there, refused elsewhere */
    const char *cache;  /* folder for trees and set-up layers, made if missing; NULL: a temporary
                           one that goes with the sandbox */
    const char *exe;    /* this program, for ACR_SANDBOX_VERB */
    const AcrInterrupt *interrupt;
} AcrSandboxOptions;

/* One thread at a time. */
typedef struct AcrSandbox AcrSandbox;

/*
 * Checks that the backend works here, by running something in it, and finds the Python. Writes out
 * no tree and runs no set-up yet. Errors: USAGE, UNAVAILABLE, FAILED, INTERRUPTED.
 */
AcrSandbox *acr_sandbox_open(const AcrSandboxOptions *options, GError **error) ACR_MUST_USE;
/* Removes what the sandbox made outside its cache. */
void acr_sandbox_free(AcrSandbox *sandbox);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrSandbox, acr_sandbox_free)

const char *acr_sandbox_backend(const AcrSandbox *sandbox); /* borrowed, e.g. "bubblewrap" */
/* The Python inside, by its path there; borrowed. A container's is looked for in it, after the
 * set-up. Errors: UNAVAILABLE, and those of acr_sandbox_run. */
const char *acr_sandbox_python(AcrSandbox *sandbox, GError **error) ACR_MUST_USE;
/* The tree's own path inside; borrowed. */
const char *acr_sandbox_dir(const AcrSandbox *sandbox);
/* Which Python was chosen, and why, in a line; borrowed; NULL: not looked for yet. */
const char *acr_sandbox_choice(const AcrSandbox *sandbox);
/* Warnings for the user, one line each: what was left out, what this backend cannot enforce here;
 * borrowed until the next call, NULL-terminated, may be empty. */
const char *const *acr_sandbox_remarks(const AcrSandbox *sandbox);

/*
 * Runs the set-up command, unless there is none or the cache holds its result. The first execution
 * does it by itself. Errors: SETUP, FAILED, INTERRUPTED.
 */
bool acr_sandbox_set_up(AcrSandbox *sandbox, GError **error) ACR_MUST_USE;

/* ---- Executing ---- */

/* 0 of each: its default. Defaults are ceilings for a test of a project, not for a build. */
typedef struct {
    gint64 wall_ms;      /* 120,000 */
    gint64 cpu_s;        /* of one process; as many as `wall_ms` has */
    gint64 memory_bytes; /* of all processes together; 2 GiB */
    guint processes;     /* and threads, at once; 256 */
    gint64 disk_bytes;   /* written files, together; 1 GiB. A single file: the same */
    gsize output_bytes;  /* kept of each stream; 1 MiB */
} AcrSandboxLimits;
/* A stream that is longer than this ends the command: 64 times what is kept of it, at most half a GiB. */
#define ACR_SANDBOX_FLOOD(kept) MAX((guint64)(kept), MIN((guint64)(kept)*64u, (guint64)512 << 20))
#define ACR_SANDBOX_MAX_PROCESSES 65536u
#define ACR_SANDBOX_MAX_INPUT ((gsize)64 * 1024 * 1024)

typedef enum {
    ACR_LIMIT_NONE,
    ACR_LIMIT_WALL,
    ACR_LIMIT_CPU,
    ACR_LIMIT_MEMORY,
    ACR_LIMIT_OUTPUT, /* a stream was longer than what is kept of it */
    ACR_LIMIT_FILES,  /* a file's size, or all files' together */
    ACR_LIMIT_PROCESSES,
} AcrSandboxLimit;
const char *acr_sandbox_limit_name(AcrSandboxLimit limit);  /* "wall", …; NULL of NONE */
const char *acr_sandbox_limit_words(AcrSandboxLimit limit); /* "wall-clock time", … for a reader */
bool acr_sandbox_limit_from_name(const char *name, AcrSandboxLimit *out); /* NULL: NONE */

/* Zero-initialise; argv is all that is needed. All borrowed for the call. */
typedef struct {
    const AcrOverlay *overlay; /* of the sandbox's snapshot; NULL: nothing is changed */
    const char *const *argv;   /* argv[0] is looked up in the PATH inside */
    const char *const *env;    /* "NAME=VALUE", beside the few that are there; NULL: none */
    GBytes *input;             /* its standard input; NULL: none */
    /* This process's standard input, in place of `input`. For a container it is read to its end first, up to
     * ACR_SANDBOX_MAX_INPUT bytes and for no longer than the command may take. */
    bool inherit_input;
    bool network;
    /* The tree has a ".git" with the snapshot's commit, if it is of one (acr_snapshot_write_git). An
     * image has its own, or none, whatever this says. */
    bool has_git;
    const char
        *host_name; /* what it finds the machine to be called, letters; NULL: any; not in "plain" */
    bool tell_changed; /* what it wrote in the tree; an engine is asked for each file for that */
    AcrSandboxLimits limits;
    /* Given each piece of output as it comes, up to the limit. May be NULL. */
    void (*on_output)(void *ctx, bool is_stderr, const char *data, gsize len);
    void *on_output_ctx;
} AcrExecution;

#define ACR_SANDBOX_MAX_CHANGED 1000u /* paths that are listed */

typedef struct {
    int exit_code; /* 0-255; -1: a signal ended it */
    int signal; /* or 0. bubblewrap and engines report signal N as exit 128 + N, so that an exit code
                   above 128 is reported as a signal, but not by "plain" */
    AcrSandboxLimit limit; /* the first one that was hit */
    GBytes *out, *err;     /* owned; longer ones lose their middle, and say in one line how much */
    guint64 out_total, err_total; /* bytes written, as far as they were read */
    gint64 wall_ms;
    gint64
        peak_bytes; /* of all processes together, sampled; in a container with the files that they
                          read and wrote; 0: not known */
    gint64 image_bytes; /* the size of the user's image; 0: there is none, or it is not known */
    char *dir;          /* owned; where the tree was, if not at acr_sandbox_dir; else NULL */
    char **changed; /* owned; paths of the tree that it wrote or removed, sorted; NULL: not known or
                       not asked for */
} AcrExecuted;
void acr_executed_clear(AcrExecuted *executed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrExecuted, acr_executed_clear)

/*
 * Runs a command and waits for it. True whenever it was started, however it ended; a missing program
 * exits 127, one that cannot be run 126, as in a shell. Errors: SETUP, UNAVAILABLE,
 * FAILED, INTERRUPTED.
 */
bool acr_sandbox_run(AcrSandbox *sandbox, const AcrExecution *execution, AcrExecuted *out,
                     GError **error) ACR_MUST_USE;

/* ---- The helper ---- */

/*
 * The body of ACR_SANDBOX_VERB: reads what to do from descriptor 3, prepares this process and
 * becomes the command. To be called without Python and threads. Returns only when that failed, with
 * an exit code; the reason is sent through the descriptor. `interrupt` is this process's own.
 */
int acr_sandbox_helper(const AcrInterrupt *interrupt);

/* Removes trees and layers that no process uses. Errors: FAILED. */
bool acr_sandbox_cache_clear(const char *cache, GError **error) ACR_MUST_USE;

#endif
