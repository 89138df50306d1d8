/* Private to sandbox: running a helper on this machine, and what its processes use. */
#ifndef ACR_SANDBOX_HELPER_RUN_H
#define ACR_SANDBOX_HELPER_RUN_H

#include "sandbox/backend.h"
#include "sandbox/memory_group.h"

typedef struct {
    gint64 bytes;      /* of memory, pages that several share counted once where that decides */
    guint processes;   /* and threads */
    gint64 file_bytes; /* of `bytes`: files in memory (memfd) that are open */
} AcrUsage;
/* Of the descendants of `pid`, itself left out. `limit`: above it memory is counted exactly.
 * `with_files`: finds files in memory, too, which takes longer; else those of the sample before, in
 * `use`, count. Zero-initialise that. */
void acr_process_usage(pid_t pid, gint64 limit, bool with_files, AcrUsage *use);

/* What a helper is run with, and its result. */
typedef struct {
    const AcrSandbox *sandbox;
    const AcrExecution *execution;
    AcrHelperSpec *spec;
    const char *disk; /* the folder on disk that it writes to; NULL: none */
    /* Results. */
    AcrSpawnResult spawned; /* owned */
    AcrMemoryGroup group;   /* gone once it has run */
    int channel;
    char *failure; /* owned; the error that the helper sent: its code as a digit, and the message */
    int stage;     /* descriptor, or -1; owned */
    int wait_status;      /* of the command, as wait() gives it; -1: not known */
    gint64 largest_bytes; /* memory of its largest process, as the kernel tells it in the end */
    AcrUsage peak;
    AcrUsage use; /* at the last sample of the watch */
    guint looks;
    gint64 bytes_before, weigh_at_us; /* of `disk`; when it is measured next */
    AcrSandboxLimit limit;            /* one that the watch saw */
    GByteArray *said; /* owned; what bubblewrap itself may have said, not passed on yet */
    bool has_begun;   /* something else was said: nothing is held back any more */
} AcrHelperRun;
void acr_helper_run_clear(AcrHelperRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrHelperRun, acr_helper_run_clear)
/* Runs a helper to its end; the result of the execution. False where it did not reach the command.
 */
bool acr_helper_run(AcrHelperRun *run, AcrExecuted *out, GError **error) ACR_MUST_USE;

#endif
