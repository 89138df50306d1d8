/*
 * batch: many tasks as processes of this program, and their predictions. A task that fails never
 * stops the others.
 */
#ifndef ACR_BATCH_H
#define ACR_BATCH_H

#include "base/base.h"
#include "task/task.h"

typedef enum {
    ACR_BATCH_ERROR_FAILED,
    ACR_BATCH_ERROR_DATASET, /* missing, malformed at row N, or without the instance that was asked
                                for */
} AcrBatchError;
#define ACR_BATCH_ERROR acr_batch_error_quark()
GQuark acr_batch_error_quark(void);

#define ACR_DATASET_MAX_BYTES (256u * 1024 * 1024)

/* One row of a SWE-bench data set. All owned. */
typedef struct {
    char *instance_id, *repo, *base_commit, *problem_statement;
    char *row; /* the whole row, JSON; NULL: it was read to be solved */
    char
        *fault; /* why the row cannot be used: its task fails, and the others go on; NULL: it can */
} AcrInstance;
void acr_instance_free(AcrInstance *instance);

/* What a data set is read for. Of a row that is to be solved the rest (the reference patch, the hidden
 * tests) is not even kept; one that is to be graded needs only its id and its repository. */
typedef enum { ACR_DATASET_SOLVE, ACR_DATASET_GRADE } AcrDatasetUse;
/*
 * Reads a data set: a JSON list of rows, or JSON lines. `only` (NULL-terminated, may be NULL)
 * selects instances. Owned array of AcrInstance in the file's order. Errors: DATASET.
 */
GPtrArray *acr_dataset_read(const char *path, AcrDatasetUse use, const char *const *only,
                            GError **error) ACR_MUST_USE;
/* The same of bytes (borrowed) that are called `path` in messages. */
GPtrArray *acr_dataset_parse(GBytes *bytes, const char *path, AcrDatasetUse use,
                             const char *const *only, GError **error) ACR_MUST_USE;
/* The same of the data set that a command names (`dataset`, `split`), in any format: JSON, .parquet, .arrow, a
 * folder saved by `datasets`, a task repository. */
GPtrArray *acr_dataset_load(const AcrHost *host, const AcrRunSpec *spec, AcrDatasetUse use,
                            const char *const *only, GError **error) ACR_MUST_USE;

/* Leaves only those instances of a data set that was read from `path`; each must be there. Errors:
 * DATASET. */
bool acr_dataset_select(GPtrArray *rows, const char *path, const char *const *only,
                        GError **error) ACR_MUST_USE;

/*
 * Whether a name may become a folder's, on one level: letters, digits, "_", "-", "." and those of `also`,
 * at the start a letter, digit or "_", without "..". `also` NULL: any text in UTF-8 without "/" and control
 * characters that does not begin with ".".
 */
bool acr_name_is_safe(const char *name, const char *also);

/* The repository of "owner/name" below `dir`: owner/name, owner+name or owner__name, each with or
 * without .git; owned; NULL if none. */
char *acr_dataset_repo(const char *dir, const char *name) ACR_MUST_USE;
/* Whether there is one for each of the tasks (AcrInstance). Errors: USAGE of task, with what to clone where. */
bool acr_dataset_check_repos(const char *dir, const GPtrArray *instances,
                             GError **error) ACR_MUST_USE;

/* Leaves of a data set what --instances, --retry-failed (of a whole batch: a part has a summary of its own) and
 * --slice ask for, in the order of --shuffle. Errors: DATASET (also: nothing is left), those of base. */
bool acr_dataset_narrow(GPtrArray *rows, const AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* With --retry-failed leaves only what has failed by OUT's summary. Errors: DATASET, those of base. */
bool acr_dataset_keep_failed(GPtrArray *rows, const AcrRunSpec *spec, GError **error) ACR_MUST_USE;

/* A task that has ended. All borrowed. */
typedef struct {
    const AcrInstance *instance;
    const AcrRunResult *result;
    gint64 ms;
    bool was_over; /* its run folder held the result already */
} AcrBatchTask;

/* All borrowed. */
typedef struct {
    const char *exe;        /* this program */
    const AcrRunSpec *spec; /* of `swe-bench`: OUT/ID/ are run folders, OUT/preds.jsonl the
                               predictions */
    const AcrInterrupt *interrupt;
    const AcrProgress *progress;     /* may be NULL */
    struct AcrBatchSummary *summary; /* to which ended tasks are added */
    /* Called in the task's own thread, several at once, for each that has ended; the next one waits for
     * it. `deadline_us`: of the system's monotonic clock, when the batch's time is over; 0: never. NULL:
     * nothing is called. */
    void (*after_task)(void *ctx, guint instance, gint64 deadline_us);
    void *after_task_ctx;
} AcrBatchOptions;

typedef struct {
    guint tasks, patches, without, failed, interrupted;
    guint stopped;   /* at a ceiling, or not started because of one; they may have a patch */
    guint not_begun; /* because of a pause or an interrupt */
    AcrSpent spent;  /* by all tasks that have ended */
    char *
        paused; /* owned; a key or an account was refused, or too many tasks failed: why; or NULL */
} AcrBatchResult;
void acr_batch_result_clear(AcrBatchResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBatchResult, acr_batch_result_clear)

/*
 * Runs the tasks, some at a time, and keeps OUT/preds.jsonl complete for all that have ended: it
 * is rewritten atomically after each one. Lines of instances outside this batch, and of run folders
 * of other models, are kept. True also when tasks failed. A refused key or account, of which the
 * shared folder tells, ends it early, and so does --fail-fast; a pause that an earlier batch left there is taken off first.
 */
bool acr_batch_run(const AcrBatchOptions *options, const GPtrArray *instances, AcrBatchResult *out,
                   GError **error) ACR_MUST_USE;

/* Runs `body` in as many threads as wanted, from 1 (this one) to `most`, and waits for them; fewer where
 * no more can be started. */
void acr_batch_threads(gint64 wanted, guint most, void *(*body)(void *), void *data);

/* The name of the model in the predictions; owned. */
char *acr_batch_model(const AcrRunSpec *spec) ACR_MUST_USE;
/* The patch that is predicted for an instance, by its run folder; owned, "": an empty one; NULL: none is
 * predicted. */
char *acr_batch_patch(const AcrRunSpec *spec, const AcrInstance *instance) ACR_MUST_USE;
/* Makes OUT/preds.jsonl from the run folders, atomically. */
bool acr_predictions_write(const AcrRunSpec *spec, const GPtrArray *instances,
                           GError **error) ACR_MUST_USE;
/* Calls `on_line` with each prediction of a batch's folder, as its line stands; what is not one is left out, and a
 * file that is missing holds none. */
typedef void (*AcrOnPrediction)(void *ctx, const char *id, const char *line);
bool acr_predictions_each(const char *out, AcrOnPrediction on_line, void *ctx,
                          GError **error) ACR_MUST_USE;

#endif
