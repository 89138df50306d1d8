/*
 * What a batch is doing, for observers: a note in its folder (shared/live.json), replaced as tasks
 * begin and end; and the state derived from the note, the summary and the notes of the run folders.
 */
#ifndef ACR_BATCH_STATE_H
#define ACR_BATCH_STATE_H

#include "batch/batch.h"
#include "task/live.h"

/* ---- The note ---- */

/* What a batch knows about itself. Zero-initialise. */
typedef struct {
    const AcrRunSpec *spec;
    const GPtrArray *instances;
    gint64 begun_ms;               /* since 1970 */
    gint64 *task_begun_ms;         /* owned; of each instance; 0: it does not run */
    guint next;                    /* instances before it have begun, or will not */
    gint64 left_ms, left_microusd; /* a forecast; left_ms -1: not known */
    bool is_over;
    const char *why; /* borrowed; why it ended before all tasks began; NULL: it did not */
} AcrBatchNote;
void acr_batch_note_write(const AcrBatchNote *note);
/* The path of a note, below the folder of the part of that name ("": of the whole); owned. */
char *acr_batch_note_path(const char *part, const char *note) ACR_MUST_USE;

/* ---- The state ---- */

typedef enum {
    ACR_PART_WAITS, /* it has not begun */
    ACR_PART_RUNS,
    ACR_PART_ELSEWHERE, /* it runs, or was killed, on another machine */
    ACR_PART_OVER,
    ACR_PART_GONE, /* its process is gone before it was finished */
} AcrPartState;
/* A part of a batch; a batch without shards is its only part. All owned. */
typedef struct {
    char *name; /* of its folder, "": it is the whole */
    AcrPartState state;
    AcrLiveProcess process;
    char *why; /* over with tasks that have not begun: why; or NULL */
} AcrBatchPart;

/* A task that runs. */
typedef struct {
    char *id; /* owned */
    gint64 begun_ms;
    AcrLiveRun run; /* state NONE: no stage yet */
} AcrBatchRunning;

/* All owned. A single run is like a batch with one task. */
typedef struct {
    char *out;
    bool is_run;
    bool is_grading;    /* of `eval`: tasks are its predictions */
    GPtrArray *parts;   /* of AcrBatchPart */
    GPtrArray *running; /* of AcrBatchRunning */
    GHashTable *ended;  /* id -> its row of the summary (const AcrJson *) */
    GPtrArray *files;   /* of AcrJson *, which own those rows */
    AcrJson *by_status, *by_verdict, *by_error_class; /* {word: number of tasks} */
    guint total, n_ended;
    guint to_grade, graded, resolved; /* numbers of predictions; to_grade 0: no grading */
    gint64 begun_ms;                  /* of the first part; 0: not known */
    AcrSpent spent;                   /* by ended and running tasks */
    AcrSpent ceiling;                 /* of cost and tokens; -1: none */
    gint64 max_ms;                    /* 0: no limit; of a batch without shards */
    gint64 left_ms, left_microusd;    /* forecast; -1: not known */
} AcrBatchState;
/* The current state of the folder of a batch or a run: writes and locks nothing, and skips what is
 * missing or damaged. Errors: USAGE of task (the folder does not exist, or contains neither a run
 * nor a batch). */
bool acr_batch_state_read(const char *out, AcrBatchState *state, GError **error) ACR_MUST_USE;
void acr_batch_state_clear(AcrBatchState *state);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBatchState, acr_batch_state_clear)
/* The state of the whole from its parts: RUNS while one may still be running, else GONE if one is,
 * else OVER. */
AcrPartState acr_batch_state_of(const AcrBatchState *state);
/* Whether everything is finished. */
bool acr_batch_state_is_finished(const AcrBatchState *state);

#endif
