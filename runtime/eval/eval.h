/* eval: grades predictions for benchmark tasks. Reads and writes the files of SWE-bench's own
 * harness. The official report follows that harness; verdict.json contains the additional results
 * of acr-host. */
#pragma once

#include "batch/shards.h"
#include "extensions/extensions.h"
#include "py/grading.h"
#include "task/task.h"

typedef enum {
    ACR_EVAL_ERROR_FAILED,
    /* predictions are missing, malformed, repeated, or for unknown tasks */
    ACR_EVAL_ERROR_INPUT,
    /* no more tests can run: no engine answers, or the engine's disk is full */
    ACR_EVAL_ERROR_STOP,
} AcrEvalError;
#define ACR_EVAL_ERROR acr_eval_error_quark()
GQuark acr_eval_error_quark(void);

#define ACR_PREDICTIONS_MAX_BYTES (1024u * 1024 * 1024)

/* A prediction: a patch for one task. Strings are owned. */
typedef struct {
    char *instance_id, *model; /* `model` is the model's name in a form for paths */
    char *name, *repo, *patch; /* the model in the source, the task's repository, a diff; or NULL */
    guint number;              /* position of the prediction in its source, from 0 */
    bool is_baseline;          /* the prediction has no patch, but its tests are run */
    /* the patch is the reference patch; its grade shows whether the task is sound */
    bool is_reference;
} AcrPrediction;
void acr_prediction_free(AcrPrediction *prediction);

/* Returns a digest of the predictions in their order; owned. */
char *acr_predictions_digest(const GPtrArray *predictions) ACR_MUST_USE;

/* Returns a model's name in a form for paths; owned; NULL if there is no such form. */
char *acr_prediction_model(const char *model) ACR_MUST_USE;

/* Reads the predictions for `tasks` (AcrInstance, with rows) from `source`: a file (a JSON array,
 * JSON lines, or an object of predictions or patches by id), a folder (with preds.jsonl,
 * all_preds.jsonl or preds.json, otherwise with ID.diff, ID.patch or ID/patch.diff for each task),
 * the reference patches ("gold"), or empty patches ("empty"). Owned array of AcrPrediction in the
 * order of the source. Errors: INPUT (names a repeated or unknown id). With `ignore_unknown`, skips
 * unknown ids; *out_unknown (owned) says how many there were and names some, or is NULL. */
GPtrArray *acr_predictions_read(const char *source, const GPtrArray *tasks, bool ignore_unknown,
                                char **out_unknown, GError **error) ACR_MUST_USE;

/* The grade of a prediction. */
typedef enum {
    ACR_GRADE_RESOLVED,
    ACR_GRADE_UNRESOLVED,
    /* there is no report: the patch does not apply, the tests timed out, or the tests could not be
     * run */
    ACR_GRADE_ERROR,
    ACR_GRADE_EMPTY, /* there is no patch, so nothing was run */
} AcrGrade;
const char *acr_grade_name(AcrGrade grade); /* "resolved", … */

/* The time and space that grading a prediction took; 0 if unknown or none. */
typedef struct {
    gint64 total_ms, tests_ms; /* total time without set-up, and time of the test script */
    gint64 setup_ms;           /* time to prepare the environment or the image */
    gint64 peak_bytes, image_bytes;
} AcrEvalCost;

/* The grade of one prediction. Strings are owned. */
typedef struct {
    AcrGrade grade;
    bool is_kept; /* the grade was kept from an earlier run of the same command */
    bool stops;   /* the error also prevents the grading of all other predictions */
    bool is_late; /* the time limit was reached before the prediction was graded */
    /* why there is no report, in one line; NULL if there is a report, or if none is needed */
    char *error;
    char *failure;  /* class of the failure, in one word; NULL if there was none */
    char *no_tests; /* why no test ran, in one line; NULL if tests ran, or if it is unknown */
    AcrEvalCost cost;
    char *doubt; /* why the result "resolved" is not trusted, in one line; NULL if it is trusted */
    /* audit of the task (python/acr/grading/audit.py); NULL if there is none */
    AcrJson *audit;
    /* why the task cannot be graded; NULL if it can be graded, or if this was not checked */
    char *ungradable;
    /* array of the expected tests that the recipe of the environment excludes; NULL: none */
    AcrJson *not_counted;
    gint64 uncounted_issue; /* number of them that are FAIL_TO_PASS */
} AcrGraded;
void acr_graded_clear(AcrGraded *graded);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrGraded, acr_graded_clear)

/* Options of an evaluation. All members are borrowed. */
typedef struct {
    const AcrRunSpec *spec; /* options of `eval` */
    bool in_environment;    /* tests run in environments, not in the tasks' images */
    /* JSON with the user's recipes for environments; NULL if there are none */
    const char *recipes;
    const AcrHost *host; /* its `progress` receives an event for each prediction */
    AcrPython *python;
    struct AcrEvalImages *images; /* NULL: acr_eval_new creates the images if they are needed */
    const gint64 *spent_microusd; /* total cost of the batch, read at the end; NULL if unknown */
    /* extensions with log parsers that a row may name; NULL if there are none */
    AcrExtensions *extensions;
} AcrEvalOptions;

typedef struct {
    guint tasks, predictions, resolved, unresolved, errors, empty;
    guint unrun; /* number of predictions whose tests could not be run */
    guint late;  /* number of predictions not graded because the time limit was reached */
    char *path;  /* owned; path of the final report */
    char *table; /* owned; a table for people with the result of each task and its reason */
    char *sums;  /* owned; the result of the whole run in a few lines */
    char *line;  /* owned; the report and the summary as one JSON object */
} AcrEvalResult;
void acr_eval_result_clear(AcrEvalResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEvalResult, acr_eval_result_clear)

/* ---- Where the code of a task runs (task_place.c) ---- */

/* Plans how to run a task's tests, in the task's image (named by --image-template or the row) or in
 * the task's environment. Errors: those of grading, INPUT. */
bool acr_eval_plan(const AcrEvalOptions *options, const AcrInstance *task, AcrGradingPlan *out,
                   GError **error) ACR_MUST_USE;
/* Returns the path of the Python in a plan's environment; owned. Creates it, if needed, in the user's
 * cache, else in `out` (may be NULL), unless that failed for another task in this process (`task`
 * may be NULL). Errors: FAILED (there is no folder), those of acr_project_environment. */
ACR_MUST_USE char *acr_eval_environment(const AcrHost *host, const char *out,
                                        const AcrInstance *task, const AcrGradingPlan *plan,
                                        gint64 deadline_us, GError **error);

/* Checks that the code of a task can run: that there is a plan, and the environment or, to create
 * it, a Python of its version. Errors: those of acr_eval_plan, FAILED, those of project. */
bool acr_eval_check_place(const AcrEvalOptions *options, const AcrInstance *task,
                          GError **error) ACR_MUST_USE;
/* Adds a task to an object {reason: the tasks to which it applies}. */
void acr_eval_add_lack(AcrJson *lacks, const char *why, const char *id);
/* Returns a line for each reason of such an object, with its first tasks; owned (g_strfreev). */
char **acr_eval_lack_lines(const AcrJson *lacks) ACR_MUST_USE;
/* Returns such lines for everything that the tasks with a prediction lack to be graded (fields,
 * recipes, clones, commits, Pythons); owned (g_strfreev). *out_none: no task can be graded. */
ACR_MUST_USE char **acr_eval_lacks(const AcrEvalOptions *options, const GPtrArray *tasks,
                                   const GPtrArray *predictions, bool *out_none);

/* Grades `predictions` for `tasks`, several at a time, and writes the final report and the summary.
 * A rerun keeps a grade that was made from the same patch, script, image and rules. Errors: FAILED
 * (a folder cannot be written), INPUT (the run to compare with is invalid), STOP, those of py. */
bool acr_eval_run(const AcrEvalOptions *options, const GPtrArray *tasks,
                  const GPtrArray *predictions, AcrEvalResult *out, GError **error) ACR_MUST_USE;

/* The steps of acr_eval_run, for predictions that arrive one by one. Any thread may fill in a
 * prediction once, before the prediction is graded. A prediction that is never graded counts as
 * empty. `deadline_us` is the monotonic time at which running tests are stopped and no new tests
 * start; 0: none. */
typedef struct AcrEval AcrEval;
AcrEval *acr_eval_new(const AcrEvalOptions *options, const GPtrArray *tasks,
                      const GPtrArray *predictions, GError **error) ACR_MUST_USE;
void acr_eval_free(AcrEval *eval);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrEval, acr_eval_free)
/* Returns the name of the grade; NULL if the prediction could not be graded in time. */
const char *acr_eval_grade(AcrEval *eval, guint prediction, gint64 deadline_us);
bool acr_eval_finish(AcrEval *eval, AcrEvalResult *out, GError **error) ACR_MUST_USE;

/* ---- In shards (parts.c; see batch/shards.h) ------------------------ */

/* Returns a digest of the options that must be equal in all shards; owned. */
char *acr_eval_bound(const AcrRunSpec *spec, bool in_environment, const char *recipes) ACR_MUST_USE;
/* Writes the final report and the summary from the grades of all shards. The shards belong to an
 * evaluation, or to a batch with --grade that has spent `spent_microusd` (NULL: unknown).
 * *out_missing (owned) has a line for each shard that has not graded all of its tasks. If there are
 * such lines, or if nothing was to be graded, writes no report, and out->path is NULL. Errors:
 * INPUT (a shard is damaged or belongs to another evaluation; the folder has an evaluation without
 * shards), FAILED, those of base and py. */
bool acr_eval_merge(AcrHost *host, const AcrShards *shards, const gint64 *spent_microusd,
                    GPtrArray **out_missing, AcrEvalResult *out, GError **error) ACR_MUST_USE;
