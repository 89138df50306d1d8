/* batch: runs many tasks as processes of this program, and collects their predictions. A task that
 * fails never stops the other tasks. */
#pragma once

#include "base/base.h"
#include "task/task.h"

typedef enum {
    ACR_BATCH_ERROR_FAILED,
    /* the data set is missing, malformed at row N, or lacks a requested instance */
    ACR_BATCH_ERROR_DATASET,
} AcrBatchError;
#define ACR_BATCH_ERROR acr_batch_error_quark()
GQuark acr_batch_error_quark(void);

#define ACR_DATASET_MAX_BYTES (256u * 1024 * 1024)

/* One row of a SWE-bench data set. All members are owned. */
typedef struct {
    char *instance_id, *repo, *base_commit, *problem_statement;
    char *row; /* the whole row as JSON; NULL if the data set was read for solving */
    /* why the row cannot be used; then only its task fails; NULL if the row can be used */
    char *fault;
    char *lack; /* what the task's clone lacks, so that the task will fail; otherwise NULL */
} AcrInstance;
void acr_instance_free(AcrInstance *instance);

/* The purpose of reading a data set. ACR_DATASET_SOLVE drops a row's reference patch and hidden
 * tests. ACR_DATASET_GRADE keeps the whole row, which needs only its id and repository. */
typedef enum { ACR_DATASET_SOLVE, ACR_DATASET_GRADE } AcrDatasetUse;
/* Reads a data set: a JSON array of rows, or JSON lines. `only` (NULL-terminated, may be NULL)
 * selects instances. Owned array of AcrInstance in the order of the file. Errors: DATASET. */
GPtrArray *acr_dataset_read(const char *path, AcrDatasetUse use, const char *const *only,
                            GError **error) ACR_MUST_USE;
/* Parses `bytes` (borrowed) like acr_dataset_read. Error messages name `path`. */
GPtrArray *acr_dataset_parse(GBytes *bytes, const char *path, AcrDatasetUse use,
                             const char *const *only, GError **error) ACR_MUST_USE;
/* Reads the data set that the options `dataset` and `split` name, in any format: JSON, .parquet,
 * .arrow, a folder saved by `datasets`, or a task repository. Owned. Errors: DATASET. */
GPtrArray *acr_dataset_load(const AcrHost *host, const AcrRunSpec *spec, AcrDatasetUse use,
                            const char *const *only, GError **error) ACR_MUST_USE;

/* Keeps only the instances `only` of a data set that was read from `path`. Each of them must exist.
 * Errors: DATASET. */
bool acr_dataset_select(GPtrArray *rows, const char *path, const char *const *only,
                        GError **error) ACR_MUST_USE;

/* True if a name is safe as the name of a folder: it has letters, digits, "_", "-", "." and
 * characters of `also`, begins with a letter, digit or "_", and does not contain "..". If `also` is
 * NULL, any UTF-8 text is safe that has no "/" or control characters and does not begin with
 * ".". */
bool acr_name_is_safe(const char *name, const char *also);

/* Returns how many tasks cannot run because of a fault in their row, or because their clone lacks
 * the commit, and the first reasons, as one line; owned; NULL if there is none. */
char *acr_dataset_faults(const GPtrArray *instances) ACR_MUST_USE;
/* Fails if no task can run, because each row has a fault. Errors: USAGE. */
bool acr_dataset_check_faults(const GPtrArray *instances, GError **error) ACR_MUST_USE;

/* Returns the path of the repository "owner/name" inside `dir`. Its folder may be called
 * owner/name, owner+name or owner__name, each with or without .git. Owned; NULL if there is
 * none. */
char *acr_dataset_repo(const char *dir, const char *name) ACR_MUST_USE;
/* Checks that each of the tasks (AcrInstance) has a repository. Errors: USAGE of task (the
 * message says which repositories to clone, and to which folders; several commands have a line
 * each). */
bool acr_dataset_check_repos(const char *dir, const GPtrArray *instances,
                             GError **error) ACR_MUST_USE;

/* Sets `lack` of the tasks (AcrInstance) whose repository lacks their commit, unless they have a
 * run folder in `out` (NULL: none), which keeps the snapshot. */
void acr_dataset_find_commits(const char *dir, const char *out, const GPtrArray *instances);

/* Returns the names of the tasks that a file lists, one on each line: a name, or a row in JSON with
 * its "instance_id". Empty lines and lines that begin with "#" are ignored. Owned (g_strfreev).
 * Errors: those of base. */
char **acr_dataset_read_names(const char *path, GError **error) ACR_MUST_USE;

/* Returns the ids of the rows; owned (g_strfreev). NULL if `rows` is NULL. */
char **acr_dataset_ids(const GPtrArray *rows) ACR_MUST_USE;

/* Keeps only the tasks that --instance, --instances, --retry-failed and --slice select, in the
 * order of --shuffle. For a shard, acr_shard_narrow applies --retry-failed later, by the shard's
 * own summary. Errors: DATASET (also if no task is left), those of base. */
bool acr_dataset_narrow(GPtrArray *rows, const AcrRunSpec *spec, GError **error) ACR_MUST_USE;
/* With --retry-failed, keeps only tasks that failed according to OUT/summary.json. Errors:
 * DATASET, those of base. */
bool acr_dataset_keep_failed(GPtrArray *rows, const AcrRunSpec *spec, GError **error) ACR_MUST_USE;

/* A task that has ended. All members are borrowed. */
typedef struct {
    const AcrInstance *instance;
    const AcrRunResult *result;
    gint64 ms, setup_ms; /* `ms` excludes `setup_ms`, the time to prepare the task's place */
    bool was_over;       /* the task was already finished in its run folder before this command */
} AcrBatchTask;

/* Where the code of a task runs. Strings are owned; NULL: as in the batch's options. */
typedef struct {
    char *sandbox, *image, *python, *setup, *test_command;
    const char *place; /* word for the place in meta.json; borrowed */
} AcrTaskPlace;
void acr_task_place_clear(AcrTaskPlace *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTaskPlace, acr_task_place_clear)

typedef struct {
    const char *exe; /* path of this program */
    /* options of `swe-bench`: OUT/ID/ are run folders, OUT/preds.jsonl contains the predictions */
    const AcrRunSpec *spec;
    const AcrInterrupt *interrupt;
    const AcrProgress *progress;     /* may be NULL */
    struct AcrBatchSummary *summary; /* gets a row for each task that has ended */
    /* Called in the task's own thread before the task begins, to find where its code runs. `kept`
     * contains the options of the task's run if the run is finished; otherwise it is NULL. If the
     * function fails, the task fails. If the member is NULL, the code runs as in the batch's
     * options. */
    bool (*place_task)(void *ctx, guint instance, const AcrRunSpec *kept, gint64 deadline_us,
                       AcrTaskPlace *out, GError **error);
    void *place_ctx;
    /* Called in the task's own thread for each task that has ended; several threads may call it at
     * the same time. The thread's next task begins after the call. `deadline_us` is the monotonic
     * time limit of the batch; 0: none. Returns the name of the task's grade; NULL if it was not
     * graded. The member may be NULL. */
    const char *(*after_task)(void *ctx, guint instance, gint64 deadline_us);
    void *after_task_ctx;
} AcrBatchOptions;

typedef struct {
    /* `patches` counts non-empty predictions, `rejected` those of them that the run itself
     * rejected */
    guint tasks, patches, rejected, without, failed, interrupted;
    /* number of tasks that a limit stopped; a stopped task may have a patch */
    guint stopped;
    guint not_begun; /* number of tasks that a limit, a pause or an interrupt kept from starting */
    bool is_limited; /* a limit kept tasks from starting */
    AcrSpent spent;  /* total amount spent on all ended tasks */
    /* owned; why the batch ended early (a key or account was rejected, or too many tasks failed);
     * otherwise NULL */
    char *paused;
} AcrBatchResult;
void acr_batch_result_clear(AcrBatchResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBatchResult, acr_batch_result_clear)

/* Returns the amount in millionths of a dollar that the ledger of the shard `part` in `out` counts
 * as spent; 0 if there is no ledger. Unlike the summary, it has calls without an answer of runs
 * that were resumed. */
gint64 acr_batch_charged(const char *out, const char *part);

/* Returns the tasks that are not finished and still need money or time, in order. Owned array of
 * borrowed elements of `instances`. */
GPtrArray *acr_batch_unfinished(const char *out, const GPtrArray *instances);

/* Runs the tasks, several at a time. Rewrites OUT/preds.jsonl atomically after each task, so that
 * the file is complete for all ended tasks. Keeps lines of instances outside this batch, and of
 * other models. Returns true even if tasks failed. The batch ends early if a task's key or account
 * is rejected, or by --fail-fast. First removes a pause that an earlier batch left in the shared
 * folder. */
bool acr_batch_run(const AcrBatchOptions *options, const GPtrArray *instances, AcrBatchResult *out,
                   GError **error) ACR_MUST_USE;

/* Returns the text that the verb batch-task reads from standard input: the options of a task, the
 * verb to which the options belong, and the verb's arguments (NULL-terminated, may be NULL);
 * owned. */
char *acr_batch_task_text(const AcrRunSpec *task, const char *const *arguments) ACR_MUST_USE;
/* Reads the saved answers of a model: a file of JSON lines {"instance_id", "answer": a string or an
 * array of strings}, or a folder of files ID.md or ID.txt. Returns id -> array of strings, owned.
 * Errors: USAGE of task. */
GHashTable *acr_saved_answers_read(const char *path, GError **error) ACR_MUST_USE;
/* Writes OUT/preds.jsonl from an object {"instance_id": patch}: a line for each member. */
bool acr_predictions_write_texts(const char *out, const char *model, const AcrJson *patches,
                                 GError **error) ACR_MUST_USE;

/* Runs `body` in `wanted` threads, but at most `most`, including the calling thread, and waits for
 * all of them. Uses fewer threads if some cannot be started. */
void acr_batch_threads(gint64 wanted, guint most, void *(*body)(void *), void *data);

/* Returns the name of the model in the predictions; owned. */
char *acr_batch_model(const AcrRunSpec *spec) ACR_MUST_USE;
/* Returns the patch in an instance's run folder; owned; "" if the patch is empty; NULL if the
 * folder has no result of this batch. */
char *acr_batch_patch(const AcrRunSpec *spec, const AcrInstance *instance) ACR_MUST_USE;
/* Writes OUT/preds.jsonl from the run folders, atomically. */
bool acr_predictions_write(const AcrRunSpec *spec, const GPtrArray *instances,
                           GError **error) ACR_MUST_USE;
/* Calls `on_line` for each prediction in the preds.jsonl of the batch folder `out`. A missing file
 * counts as empty. */
typedef void (*AcrOnPrediction)(void *ctx, const char *id, const char *line);
bool acr_predictions_each(const char *out, AcrOnPrediction on_line, void *ctx,
                          GError **error) ACR_MUST_USE;
