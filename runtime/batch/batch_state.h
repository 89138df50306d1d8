/* The progress of a batch, for `watch`. Whenever a task begins or ends, the batch writes a note to
 * its folder (shared/live.json). The state is derived from this note, the summary and the notes of
 * the run folders. */
#pragma once

#include "batch/batch.h"
#include "task/live.h"

/* ---- The note ---- */

/* The contents of a batch's note. Zero-initialise. */
typedef struct {
    const AcrRunSpec *spec;
    const GPtrArray *instances;
    gint64 begun_ms;               /* milliseconds since 1970 */
    gint64 *task_begun_ms;         /* owned; start time of each instance; 0 if the instance is not
                                    * running */
    guint next;                    /* number of the next instance; earlier instances have begun, or
                                    * never will */
    gint64 left_ms, left_microusd; /* forecast of the remaining time and cost; left_ms is -1 if
                                    * unknown */
    gint64 mean_ms, made_ms;       /* mean time of a task; when the forecast was made */
    bool is_over;
    const char *why; /* borrowed; why the batch ended before all tasks began; otherwise NULL */
} AcrBatchNote;
void acr_batch_note_write(const AcrBatchNote *note);
/* Returns the path of the note called `note` in the folder of the shard `part` ("": the batch
 * itself); owned. */
char *acr_batch_note_path(const char *part, const char *note) ACR_MUST_USE;

/* ---- The state ---- */

typedef enum {
    ACR_PART_WAITS, /* no task has begun */
    ACR_PART_RUNS,
    ACR_PART_ELSEWHERE, /* the shard runs, or was killed, on another machine */
    ACR_PART_OVER,
    ACR_PART_GONE, /* the shard's process ended before the shard was finished */
} AcrPartState;
/* A shard. A batch without shards counts as one shard. All members are owned. */
typedef struct {
    char *name; /* name of the shard's folder; "": the whole batch */
    AcrPartState state;
    AcrLiveProcess process;
    char *why; /* why tasks did not begin although the shard has ended; otherwise NULL */
} AcrBatchPart;

/* A running task. */
typedef struct {
    char *id; /* owned */
    gint64 begun_ms;
    AcrLiveRun run; /* progress of the run; its process state is ACR_LIVE_NONE if the run has no
                     * stage yet */
} AcrBatchRunning;

/* The state of a batch. A single run is treated as a batch with one task. All members are owned. */
typedef struct {
    char *out;
    bool is_run;
    bool is_grading;    /* the batch is an evaluation, whose tasks are its predictions */
    GPtrArray *parts;   /* array of AcrBatchPart */
    GPtrArray *running; /* array of AcrBatchRunning */
    GHashTable *ended;  /* id of a task -> the task's row of the summary (const AcrJson *) */
    GPtrArray *files;   /* array of AcrJson *: the files that own the rows in `ended` */
    AcrJson *by_status, *by_verdict, *by_error_class; /* {word: number of tasks} */
    AcrJson *by_outcome; /* likewise: the verdict of a task with a patch, else the status */
    guint total, n_ended;
    /* numbers of predictions; to_grade is 0 if nothing is being graded */
    guint to_grade, graded, resolved;
    gint64 begun_ms;  /* start of the first shard; 0 if unknown */
    AcrSpent spent;   /* total amount spent on ended and running tasks */
    AcrSpent ceiling; /* limits of cost and tokens; -1 if there is none */
    /* time limit in milliseconds; 0 if there is none; only for a batch without shards */
    gint64 max_ms;
    gint64 left_ms, left_microusd; /* forecast of the remaining time and cost; -1 if unknown */
} AcrBatchState;
/* Reads the current state of the folder of a batch or a run. Writes and locks nothing, and skips
 * missing or damaged files of a batch. Errors: USAGE of task (the folder does not exist, or contains
 * neither a run nor a batch), those of acr_task_read. */
bool acr_batch_state_read(const char *out, AcrBatchState *state, GError **error) ACR_MUST_USE;
/* Returns what stopped an unfinished run in a few words, without the model's name and the advice
 * ("HTTP 401 invalid_api_key: …"); owned; NULL if the run left no error. */
char *acr_batch_stop_of(const AcrFolder *folder) ACR_MUST_USE;
void acr_batch_state_clear(AcrBatchState *state);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBatchState, acr_batch_state_clear)
/* Returns the state of the whole batch: RUNS while a shard may still be running, otherwise GONE if
 * a shard is gone, otherwise OVER. */
AcrPartState acr_batch_state_of(const AcrBatchState *state);
/* True if all shards have ended and all their tasks have begun. */
bool acr_batch_state_is_finished(const AcrBatchState *state);
