/* Private to sandbox: runs a helper on this machine, and measures what its processes use. */
#pragma once

#include "sandbox/backend.h"
#include "sandbox/sandbox_private.h"

typedef struct {
    gint64 bytes;      /* bytes of memory; near the limit, a shared page is counted only once */
    guint processes;   /* processes and threads */
    gint64 file_bytes; /* part of `bytes`: open files in memory (memfd) */
} AcrUsage;
/* Measures the descendants of `pid`, without `pid` itself. If the memory seems to exceed
 * `limit`, counts it exactly. `with_files`: also searches for files in memory, which takes
 * longer; otherwise assumes the files of the previous sample, in `use`. Zero-initialise `use`. */
void acr_process_usage(pid_t pid, gint64 limit, bool with_files, AcrUsage *use);

/* The parameters of a helper, and its result. */
typedef struct {
    const AcrSandbox *sandbox;
    const AcrExecution *execution;
    AcrHelperSpec *spec;
    const char *disk; /* folder on disk to which the helper writes; NULL: none */
    /* Results. */
    AcrSpawnResult spawned; /* owned */
    AcrMemoryGroup group;   /* freed when the run ends */
    int channel;
    char *failure; /* owned; the error that the helper sent: its code as a digit, and the message */
    int stage;     /* descriptor, or -1; owned */
    int wait_status; /* the command's status, as from wait(); -1: unknown */
    /* memory of the command's largest process, as the kernel reports it at the end */
    gint64 largest_bytes;
    AcrUsage peak;
    AcrUsage use; /* from the last sample */
    guint looks;
    /* bytes of `disk` at the start, and the time of the next measurement */
    gint64 bytes_before, weigh_at_us;
    AcrSandboxLimit limit; /* the limit that our samples saw exceeded */
    /* owned; the first output, held back because it may be a message of bubblewrap */
    GByteArray *said;
    bool has_begun; /* output of the command has arrived: nothing is held back any more */
} AcrHelperRun;
void acr_helper_run_clear(AcrHelperRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrHelperRun, acr_helper_run_clear)
/* Runs a helper to its end and fills in the result of the execution. False if the helper failed
 * before it started the command. */
bool acr_helper_run(AcrHelperRun *run, AcrExecuted *out, GError **error) ACR_MUST_USE;
