/* Private to sandbox: runs a helper on this machine, and measures what its processes use. */
#pragma once

#include "sandbox/backend.h"
#include "sandbox/sandbox_private.h"

typedef struct {
    gint64 bytes;      /* memory in bytes; near the limit, each shared page is counted only once */
    guint processes;   /* processes and threads */
    gint64 file_bytes; /* the part of `bytes` that is files in memory (memfd) */
} AcrUsage;
/* Measures the descendants of `pid`, without `pid` itself. If the memory seems to exceed `limit`,
 * counts it exactly. With `with_files`, also searches for files in memory, which takes longer;
 * otherwise uses the size of the files from the previous sample in `use`. Zero-initialise `use`. */
void acr_process_usage(pid_t pid, gint64 limit, bool with_files, AcrUsage *use);

/* The parameters and the results of a helper's run. */
typedef struct {
    const AcrSandbox *sandbox;
    const AcrExecution *execution;
    AcrHelperSpec *spec;
    const char *disk; /* folder on disk to which the helper writes; NULL if there is none */
    /* Results. */
    AcrSpawnResult spawned; /* owned */
    AcrMemoryGroup group;   /* freed when the run ends */
    int channel;
    /* owned; the error that the helper sent: its code as a digit, followed by the message */
    char *failure;
    int stage;       /* descriptor of the stage, or -1; owned */
    int wait_status; /* the command's status, as from wait(); -1 if unknown */
    /* memory of the command's largest process in bytes, as the kernel reports it at the end */
    gint64 largest_bytes;
    AcrUsage peak;
    AcrUsage use; /* the latest sample */
    guint looks;
    /* bytes of `disk` at the start, and the monotonic time of its next measurement */
    gint64 bytes_before, weigh_at_us;
    AcrSandboxLimit limit; /* the limit that was exceeded according to the samples */
    /* owned; the first output on standard error, held back because it may be a message of
     * bubblewrap */
    GByteArray *said;
    bool has_begun; /* the command itself has written output, so no output is held back any more */
} AcrHelperRun;
void acr_helper_run_clear(AcrHelperRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrHelperRun, acr_helper_run_clear)
/* Runs a helper to its end, and sets *out to the result of the execution. Returns false if the
 * helper failed before it started the command. */
bool acr_helper_run(AcrHelperRun *run, AcrExecuted *out, GError **error) ACR_MUST_USE;
