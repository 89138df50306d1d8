/* The state of a folder for `watch`, as text and as JSON (watch_text.c). */
#pragma once

#include "batch/batch_state.h"

/* All results are owned. Strings from the folder, which are untrusted, become one safe line. */

/* The lines of the block: totals, running tasks, and counts of verdicts and errors. */
char *acr_watched_block(const AcrBatchState *state) ACR_MUST_USE;
/* The state in a few lines for people. */
char *acr_watched_text(const AcrBatchState *state) ACR_MUST_USE;
/* One line about a shard or batch: the process that works on it, or why there is none. */
char *acr_watched_process(const AcrBatchState *state, const AcrBatchPart *part) ACR_MUST_USE;
/* The result of a task that has ended: "patch", or "failed: why". */
char *acr_watched_ending(const AcrBatchState *state, const char *id) ACR_MUST_USE;
/* The stage of a running task: "round 2: search". */
char *acr_watched_stage(const AcrBatchRunning *running) ACR_MUST_USE;
/* The state in the format of runtime/schemas/watch.json. */
AcrJson *acr_watched_to_json(const AcrBatchState *state) ACR_MUST_USE;
