/* The state of a folder for `watch`, as text and as JSON (watch_text.c). */
#pragma once

#include "batch/batch_state.h"

/* All results are owned. Each string from the folder, which is untrusted, becomes one safe line. */

/* Makes the lines of the block: totals, running tasks, and counts of verdicts and errors. */
char *acr_watched_block(const AcrBatchState *state) ACR_MUST_USE;
/* Describes the state in a few lines for people. */
char *acr_watched_text(const AcrBatchState *state) ACR_MUST_USE;
/* Describes the process that works on a shard or batch, or why there is none, in one line. */
char *acr_watched_process(const AcrBatchState *state, const AcrBatchPart *part) ACR_MUST_USE;
/* Describes the result of a task that has ended: "patch", or "failed: why". */
char *acr_watched_ending(const AcrBatchState *state, const char *id) ACR_MUST_USE;
/* Describes the stage of a running task: "round 2: search". */
char *acr_watched_stage(const AcrBatchRunning *running) ACR_MUST_USE;
/* Converts the state to JSON according to runtime/schemas/watch.json. */
AcrJson *acr_watched_to_json(const AcrBatchState *state) ACR_MUST_USE;
