/* What `watch` shows of a folder: its state as text and as JSON (watch_text.c). */
#ifndef ACR_WATCH_H
#define ACR_WATCH_H

#include "batch/batch_state.h"

typedef struct {
    char *out;   /* owned */
    bool is_run; /* one run's folder, shown as a batch of one task */
    AcrBatchState state;
} AcrWatched;
void acr_watched_clear(AcrWatched *watched);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrWatched, acr_watched_clear)
/* Reads a folder as it is now. Errors: USAGE of task (it is not there, or holds neither a run nor a batch). */
bool acr_watched_read(const char *out, AcrWatched *watched, GError **error) ACR_MUST_USE;
/* Whether all of it is over, and nothing is left to be done. */
bool acr_watched_is_finished(const AcrWatched *watched);

/* All owned; foreign texts in them are one line, visible. */

/* The lines of the block: the sums, each task that runs, counts of verdicts and errors. */
char *acr_watched_block(const AcrWatched *watched) ACR_MUST_USE;
/* A few lines for people. */
char *acr_watched_text(const AcrWatched *watched) ACR_MUST_USE;
/* In a line, who works on it; or why nobody does: of one part of it. */
char *acr_watched_process(const AcrWatched *watched, const AcrBatchPart *part) ACR_MUST_USE;
/* What became of a task that has ended: "patch", or "failed: why". */
char *acr_watched_ending(const AcrWatched *watched, const char *id) ACR_MUST_USE;
/* Where a task that runs is: "round 2: search". */
char *acr_watched_stage(const AcrBatchRunning *running) ACR_MUST_USE;
/* As runtime/schemas/watch.json describes it. */
AcrJson *acr_watched_to_json(const AcrWatched *watched) ACR_MUST_USE;

#endif
