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
    ACR_BATCH_ERROR_DATASET, /* missing, malformed at row N, or without a requested instance */
} AcrBatchError;
#define ACR_BATCH_ERROR acr_batch_error_quark()
GQuark acr_batch_error_quark(void);

#define ACR_DATASET_MAX_BYTES (256u * 1024 * 1024)

/* One row of a SWE-bench data set. All owned. */
typedef struct {
    char *instance_id, *repo, *base_commit, *problem_statement;
    char *row;   /* the whole row, JSON; NULL: it was read for solving */
    char *fault; /* why the row cannot be used, which fails only its task; NULL: it can */
} AcrInstance;
void acr_instance_free(AcrInstance *instance);

/* What a data set is read for. Solving drops the rest of a row (the reference patch, the hidden
 * tests); grading needs only the row's id and repository. */
typedef enum { ACR_DATASET_SOLVE, ACR_DATASET_GRADE } AcrDatasetUse;
/*
 * Reads a data set: a JSON array of rows, or JSON lines. `only` (NULL-terminated, may be NULL)
 * selects instances. Owned array of AcrInstance in the file's order. Errors: DATASET.
 */
GPtrArray *acr_dataset_read(const char *path, AcrDatasetUse use, const char *const *only,
                            GError **error) ACR_MUST_USE;
/* The same for bytes (borrowed), which messages call `path`. */
GPtrArray *acr_dataset_parse(GBytes *bytes, const char *path, AcrDatasetUse use,
                             const char *const *only, GError **error) ACR_MUST_USE;
/* Reads the data set that a command names, as acr_dataset_read does (`dataset`, `split`), in any format: JSON,
 * .parquet, .arrow, a folder saved by `datasets`, a task repository. */
GPtrArray *acr_dataset_load(const AcrHost *host, const AcrRunSpec *spec, AcrDatasetUse use,
                            const char *const *only, GError **error) ACR_MUST_USE;

/* Keeps only those instances of a data set that was read from `path`; each must exist. Errors:
 * DATASET. */
bool acr_dataset_select(GPtrArray *rows, const char *path, const char *const *only,
                        GError **error) ACR_MUST_USE;

/*
 * Whether a name can safely be the name of a folder: letters, digits, "_", "-", "." and characters
 * of `also`, beginning with a letter, digit or "_", without "..". `also` NULL: any UTF-8 text
 * without "/" and control characters that does not begin with ".".
 */
bool acr_name_is_safe(const char *name, const char *also);

/* The repository of "owner/name" below `dir`: owner/name, owner+name or owner__name, each with or
 * without .git; owned; NULL if none. */
char *acr_dataset_repo(const char *dir, const char *name) ACR_MUST_USE;
/* Checks that each of the tasks (AcrInstance) has a repository. Errors: USAGE of task, saying what
 * to clone where. */
bool acr_dataset_check_repos(const char *dir, const GPtrArray *instances,
                             GError **error) ACR_MUST_USE;

/* The tasks that a file lists, one a line: a name, or a row in JSON with its "instance_id"; empty
 * lines and those that begin with "#" are ignored. Owned (g_strfreev). Errors: those of base. */
char **acr_dataset_read_names(const char *path, GError **error) ACR_MUST_USE;

/* Keeps only the tasks that --instances, --retry-failed (for a whole batch; a shard has its own
 * summary) and --slice select, in the order of --shuffle. Errors: DATASET (also if no task is
 * left), those of base. */
bool acr_dataset_narrow(GPtrArray *rows, const AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* With --retry-failed, keeps only tasks that failed according to OUT's summary. Errors: DATASET,
 * those of base. */
bool acr_dataset_keep_failed(GPtrArray *rows, const AcrRunSpec *spec, GError **error) ACR_MUST_USE;

/* A task that has ended. All borrowed. */
typedef struct {
    const AcrInstance *instance;
    const AcrRunResult *result;
    gint64 ms;
    bool was_over; /* its run folder already had the result */
} AcrBatchTask;

/* Where the code of a task runs. Texts are owned; NULL: as the batch's options say. */
typedef struct {
    char *sandbox, *image, *python, *setup, *test_command;
    const char *place; /* the word for it, which meta.json keeps; borrowed */
} AcrTaskPlace;
void acr_task_place_clear(AcrTaskPlace *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTaskPlace, acr_task_place_clear)

typedef struct {
    const char *exe; /* this program */
    /* for `swe-bench`: OUT/ID/ are run folders, OUT/preds.jsonl the predictions */
    const AcrRunSpec *spec;
    const AcrInterrupt *interrupt;
    const AcrProgress *progress;     /* may be NULL */
    struct AcrBatchSummary *summary; /* ended tasks are added to it */
    /* Called in the task's own thread before it begins, to find where its code runs; `kept`: the
     * options that a finished task was run with, else NULL. If it fails, the task fails. NULL: as
     * the batch's options say. */
    bool (*place_task)(void *ctx, guint instance, const AcrRunSpec *kept, gint64 deadline_us,
                       AcrTaskPlace *out, GError **error);
    void *place_ctx;
    /* Called in the task's own thread for each ended task, several at a time; the thread's next
     * task waits for it. `deadline_us`: the monotonic time limit of the batch; 0: none. May be
     * NULL. */
    void (*after_task)(void *ctx, guint instance, gint64 deadline_us);
    void *after_task_ctx;
} AcrBatchOptions;

typedef struct {
    guint tasks, patches, without, failed, interrupted;
    guint stopped;   /* tasks that a limit stopped or kept from starting; they may have a patch */
    guint not_begun; /* tasks that did not start because of a pause or an interrupt */
    AcrSpent spent;  /* used by all tasks that have ended */
    char *
        paused; /* owned; why the batch ended early (a key or account was rejected, too many tasks failed); or NULL */
} AcrBatchResult;
void acr_batch_result_clear(AcrBatchResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBatchResult, acr_batch_result_clear)

/*
 * Runs the tasks, several at a time, and keeps OUT/preds.jsonl complete for all ended tasks: it is
 * rewritten atomically after each. Lines of instances outside this batch, and of run folders of
 * other models, are kept. True also if tasks failed. The batch ends early if a key or account is
 * rejected, which the shared folder reports, or by --fail-fast; a pause that an earlier batch left
 * there is removed first.
 */
bool acr_batch_run(const AcrBatchOptions *options, const GPtrArray *instances, AcrBatchResult *out,
                   GError **error) ACR_MUST_USE;

/* What the verb batch-task reads from standard input: the options of a task, the verb that they are
 * for, and its arguments (NULL-terminated, may be NULL); owned. */
char *acr_batch_task_text(const AcrRunSpec *task, const char *const *arguments) ACR_MUST_USE;
/* The last line that a process wrote (its standard error); owned, "" if it wrote none. */
char *acr_batch_last_line(GBytes *written) ACR_MUST_USE;
/* The saved answers of a model, by task: a file of JSON lines {"instance_id", "answer": a text or
 * several}, or a folder of files ID.md or ID.txt: id -> array of texts, owned. Errors: USAGE of
 * task, those of base. */
GHashTable *acr_saved_answers_read(const char *path, GError **error) ACR_MUST_USE;
/* Writes OUT/preds.jsonl from {"instance_id": patch}: one line for each task that has a member. */
bool acr_predictions_write_texts(const char *out, const char *model, const AcrJson *patches,
                                 GError **error) ACR_MUST_USE;

/* Runs `body` in up to `most` threads, including this one, and waits for them; fewer if no more can
 * be started. */
void acr_batch_threads(gint64 wanted, guint most, void *(*body)(void *), void *data);

/* The name of the model in the predictions; owned. */
char *acr_batch_model(const AcrRunSpec *spec) ACR_MUST_USE;
/* The patch that an instance's run folder predicts; owned; "": an empty one; NULL: none. */
char *acr_batch_patch(const AcrRunSpec *spec, const AcrInstance *instance) ACR_MUST_USE;
/* Makes OUT/preds.jsonl from the run folders, atomically. */
bool acr_predictions_write(const AcrRunSpec *spec, const GPtrArray *instances,
                           GError **error) ACR_MUST_USE;
/* Calls `on_line` with each line of a batch's predictions that is a prediction; a missing file has
 * none. */
typedef void (*AcrOnPrediction)(void *ctx, const char *id, const char *line);
bool acr_predictions_each(const char *out, AcrOnPrediction on_line, void *ctx,
                          GError **error) ACR_MUST_USE;

#endif
