/* What `watch` shows of a folder: its state as text and as JSON (watch_text.c). */
#ifndef ACR_WATCH_H
#define ACR_WATCH_H

#include "batch/batch_state.h"

/* All owned; foreign texts in them are one line, visible. */

/* The lines of the block: the sums, each task that runs, counts of verdicts and errors. */
char *acr_watched_block(const AcrBatchState *state) ACR_MUST_USE;
/* A few lines for people. */
char *acr_watched_text(const AcrBatchState *state) ACR_MUST_USE;
/* In a line, who works on it; or why nobody does: of one part of it. */
char *acr_watched_process(const AcrBatchState *state, const AcrBatchPart *part) ACR_MUST_USE;
/* What became of a task that has ended: "patch", or "failed: why". */
char *acr_watched_ending(const AcrBatchState *state, const char *id) ACR_MUST_USE;
/* Where a task that runs is: "round 2: search". */
char *acr_watched_stage(const AcrBatchRunning *running) ACR_MUST_USE;
/* As runtime/schemas/watch.json describes it. */
AcrJson *acr_watched_to_json(const AcrBatchState *state) ACR_MUST_USE;

#endif
