/*
 * What a batch is doing, as others see it: a note that it replaces in its folder (shared/live.json) as tasks
 * begin and end, and the state that is made of it, of the summary and of the notes of the run folders.
 */
#ifndef ACR_BATCH_STATE_H
#define ACR_BATCH_STATE_H

#include "batch/batch.h"
#include "task/live.h"

/* ---- The note ---- */

/* What a batch knows of itself. Zero-initialise. */
typedef struct {
    const AcrRunSpec *spec;
    const GPtrArray *instances;
    gint64 begun_ms;               /* since 1970 */
    gint64 *task_begun_ms;         /* owned; of each instance; 0: it does not run */
    guint next;                    /* instances before it have begun, or will not */
    gint64 left_ms, left_microusd; /* a forecast; left_ms -1: not known */
    bool is_over;
    const char *why; /* borrowed; why it is over with tasks that have not begun; NULL: it is not */
} AcrBatchNote;
void acr_batch_note_write(const AcrBatchNote *note);
/* Where a note is, below the folder of the part of that name ("": of the whole); owned. */
char *acr_batch_note_path(const char *part, const char *note) ACR_MUST_USE;

/* ---- The state ---- */

typedef enum {
    ACR_PART_WAITS, /* it has not begun */
    ACR_PART_RUNS,
    ACR_PART_ELSEWHERE, /* it runs, or was killed, on another machine */
    ACR_PART_OVER,
    ACR_PART_GONE, /* its process is gone, and it was not over */
} AcrPartState;
/* A part of a batch; one that has no parts is its own only one. All owned. */
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
    AcrLiveRun run; /* state NONE: it has not come to a stage yet */
} AcrBatchRunning;

/* All owned. Of a single run as of a batch with one task. */
typedef struct {
    char *out;
    bool is_run;
    bool is_grading;    /* of `eval`: tasks are its predictions */
    GPtrArray *parts;   /* of AcrBatchPart */
    GPtrArray *running; /* of AcrBatchRunning */
    GHashTable *ended;  /* id -> its row of the summary (const AcrJson *) */
    GPtrArray *files;   /* of AcrJson *, which hold those rows */
    AcrJson *by_status, *by_verdict, *by_error_class; /* {word: number of tasks} */
    guint total, n_ended;
    guint to_grade, graded, resolved; /* predictions; to_grade 0: none is graded */
    gint64 begun_ms;                  /* of the first part; 0: not known */
    AcrSpent spent;                   /* by what has ended and what runs */
    AcrSpent ceiling;                 /* of cost and tokens; -1: none */
    gint64 max_ms;                    /* likewise; of a batch without parts */
    gint64 left_ms, left_microusd;    /* forecast; -1: not known */
} AcrBatchState;
/* As the folder of a batch or a run is right now: nothing is written or locked, and what is missing or damaged is
 * left out. Errors: USAGE of task (it is not there, or holds neither a run nor a batch). */
bool acr_batch_state_read(const char *out, AcrBatchState *state, GError **error) ACR_MUST_USE;
void acr_batch_state_clear(AcrBatchState *state);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBatchState, acr_batch_state_clear)
/* Of the parts the state that says what to expect of the whole: RUNS while one may still do something, else
 * GONE where one is, else OVER. */
AcrPartState acr_batch_state_of(const AcrBatchState *state);
/* Whether all of it is over, and nothing is left to be done. */
bool acr_batch_state_is_finished(const AcrBatchState *state);

#endif
