/* Private to sandbox: runs a helper on this machine, and measures what its processes use. */
#ifndef ACR_SANDBOX_HELPER_RUN_H
#define ACR_SANDBOX_HELPER_RUN_H

#include "sandbox/backend.h"
#include "sandbox/sandbox_private.h"

typedef struct {
    gint64 bytes;      /* bytes of memory; near the limit, shared pages are counted once */
    guint processes;   /* processes and threads */
    gint64 file_bytes; /* part of `bytes`: open files in memory (memfd) */
} AcrUsage;
/* Measures the descendants of `pid`, without itself. `limit`: above it, memory is counted exactly.
 * `with_files`: searches for files in memory too, which takes longer; otherwise those of the sample
 * before, in `use`, are counted. Zero-initialise `use`. */
void acr_process_usage(pid_t pid, gint64 limit, bool with_files, AcrUsage *use);

/* The parameters of a helper, and its result. */
typedef struct {
    const AcrSandbox *sandbox;
    const AcrExecution *execution;
    AcrHelperSpec *spec;
    const char *disk; /* folder on disk that the helper writes to; NULL: none */
    /* Results. */
    AcrSpawnResult spawned; /* owned */
    AcrMemoryGroup group;   /* removed when the run ends */
    int channel;
    char *failure; /* owned; the error that the helper sent: its code as a digit, and the message */
    int stage;     /* descriptor, or -1; owned */
    int wait_status;      /* the command's status, as from wait(); -1: unknown */
    gint64 largest_bytes; /* memory of its largest process, from the kernel at the end */
    AcrUsage peak;
    AcrUsage use; /* from the last sample */
    guint looks;
    /* bytes of `disk` at the start; time of the next measurement */
    gint64 bytes_before, weigh_at_us;
    AcrSandboxLimit limit; /* the limit that the watch saw exceeded */
    GByteArray *said;      /* owned; output that may be bubblewrap's, not passed on yet */
    bool has_begun;        /* other output has arrived: nothing is held back any more */
} AcrHelperRun;
void acr_helper_run_clear(AcrHelperRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrHelperRun, acr_helper_run_clear)
/* Runs a helper to its end and makes the result of the execution. False if the helper did not reach
 * the command. */
bool acr_helper_run(AcrHelperRun *run, AcrExecuted *out, GError **error) ACR_MUST_USE;

#endif
