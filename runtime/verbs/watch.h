/* What `watch` shows of a folder: its state as text and as JSON (watch_text.c). */
#ifndef ACR_WATCH_H
#define ACR_WATCH_H

#include "batch/batch_state.h"

/* All results are owned; texts from elsewhere are shown as one safe line. */

/* The lines of the block: sums, running tasks, counts of verdicts and errors. */
char *acr_watched_block(const AcrBatchState *state) ACR_MUST_USE;
/* The state in a few lines for people. */
char *acr_watched_text(const AcrBatchState *state) ACR_MUST_USE;
/* One line about a shard or batch: which process works on it, or why none does. */
char *acr_watched_process(const AcrBatchState *state, const AcrBatchPart *part) ACR_MUST_USE;
/* The outcome of an ended task: "patch", or "failed: why". */
char *acr_watched_ending(const AcrBatchState *state, const char *id) ACR_MUST_USE;
/* The stage of a running task: "round 2: search". */
char *acr_watched_stage(const AcrBatchRunning *running) ACR_MUST_USE;
/* The state as runtime/schemas/watch.json describes it. */
AcrJson *acr_watched_to_json(const AcrBatchState *state) ACR_MUST_USE;

#endif
