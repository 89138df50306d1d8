/*
 * eval: grades predictions for benchmark tasks, with the files that SWE-bench's own harness reads
 * and writes. Official fields follow that harness; verdict.json holds our own findings.
 */
#ifndef ACR_EVAL_H
#define ACR_EVAL_H

#include "batch/shards.h"
#include "extensions/extensions.h"
#include "py/grading.h"
#include "task/task.h"

typedef enum {
    ACR_EVAL_ERROR_FAILED,
    /* predictions that are missing, malformed, repeated or for unknown tasks */
    ACR_EVAL_ERROR_INPUT,
    ACR_EVAL_ERROR_STOP, /* no more tests can be run: no engine answers, or its disk is full */
} AcrEvalError;
#define ACR_EVAL_ERROR acr_eval_error_quark()
GQuark acr_eval_error_quark(void);

#define ACR_PREDICTIONS_MAX_BYTES (1024u * 1024 * 1024)

/* One prediction; owned. */
typedef struct {
    char *instance_id, *model; /* model: the model's name in a form for paths */
    char *patch;               /* a diff; NULL: no patch */
    guint number;              /* number in its source, from 0 */
    bool is_baseline;          /* its tests are run although it has no patch */
    bool is_reference;         /* a reference patch: it is believed, and tells about the task */
} AcrPrediction;
void acr_prediction_free(AcrPrediction *prediction);

/* A digest of the predictions in their order; owned. */
char *acr_predictions_digest(const GPtrArray *predictions) ACR_MUST_USE;

/* A model's name in a form for paths; owned; NULL: not possible. */
char *acr_prediction_model(const char *model) ACR_MUST_USE;

/*
 * The predictions for `tasks` (AcrInstance, with rows): from a file (a JSON array, JSON lines, or
 * an object of predictions or patches by id), a folder (preds.jsonl, all_preds.jsonl or preds.json,
 * else ID.diff, ID.patch or ID/patch.diff each), the reference patches ("gold"), or no patches
 * ("empty"). Owned array of AcrPrediction in the file's order. Errors: INPUT, naming a repeated or
 * unknown id; with `ignore_unknown` unknown ones are left out: *out_unknown, their number and
 * names, owned; NULL: none.
 */
GPtrArray *acr_predictions_read(const char *source, const GPtrArray *tasks, bool ignore_unknown,
                                char **out_unknown, GError **error) ACR_MUST_USE;

/* How a prediction ended. */
typedef enum {
    ACR_GRADE_RESOLVED,
    ACR_GRADE_UNRESOLVED,
    /* no report: the patch does not apply, a timeout, or the tests could not be run */
    ACR_GRADE_ERROR,
    ACR_GRADE_EMPTY, /* no patch, so nothing was run */
} AcrGrade;
const char *acr_grade_name(AcrGrade grade); /* "resolved", … */

/* What it took to grade one prediction; 0: unknown or nothing. */
typedef struct {
    gint64 total_ms, tests_ms; /* the whole time, and that of the test script */
    gint64 peak_bytes, image_bytes;
} AcrEvalCost;

/* The grade of one prediction. Texts are owned. */
typedef struct {
    AcrGrade grade;
    bool is_kept;  /* kept from an earlier run of the same command */
    bool stops;    /* no later prediction can be run either */
    bool is_late;  /* the time limit was reached before it was graded */
    char *error;   /* why there is no report, one line; NULL: there is one, or none is needed */
    char *failure; /* the class of the failure, one word; NULL: no failure */
    AcrEvalCost cost;
    char *doubt;      /* why a resolved task is not believed, in one line; NULL: it is */
    AcrJson *audit;   /* the audit of its task (python/acr/grading/audit.py); NULL: none */
    char *ungradable; /* why its task cannot be graded here; NULL: it can, or unchecked */
} AcrGraded;
void acr_graded_clear(AcrGraded *graded);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrGraded, acr_graded_clear)

/* All borrowed. */
typedef struct {
    const AcrRunSpec *spec; /* the options of `eval` */
    bool in_environment;    /* tests run in environments, not in the tasks' images */
    const char *recipes;    /* JSON with the user's recipes of environments; NULL: none */
    const AcrHost *host;    /* its progress receives an event for each prediction */
    AcrPython *python;
    struct AcrEvalImages *images; /* NULL: acr_eval_new makes them if they are needed */
    const gint64 *spent_microusd; /* cost of each prediction, read at the end; NULL: unknown */
    AcrExtensions *extensions;    /* extensions whose log parsers a row may name; NULL: none */
} AcrEvalOptions;

typedef struct {
    guint tasks, predictions, resolved, unresolved, errors, empty;
    guint unrun;      /* whose tests could not be run here */
    guint late;       /* not graded because the time limit was reached */
    guint doubted;    /* resolved, but not believed */
    guint ungradable; /* predictions for tasks that cannot be graded here */
    char *path;       /* the path of the final report; owned */
    char *table;      /* the result of each task with its reason, for people; owned */
    char *sums;       /* the result of the whole run in a few lines; owned */
    char *line;       /* the report and the summary as one JSON object; owned */
} AcrEvalResult;
void acr_eval_result_clear(AcrEvalResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEvalResult, acr_eval_result_clear)

/* ---- Where the code of a task runs (task_place.c) ---- */

/* Plans the run of a task's tests: in its image, by the name of --image-template or the row, or in
 * its environment. Errors: those of grading, INPUT. */
bool acr_eval_plan(const AcrEvalOptions *options, const AcrInstance *task, AcrGradingPlan *out,
                   GError **error) ACR_MUST_USE;
/* The Python of a plan's environment, which is made if it does not exist: in the user's cache, or
 * below `out` if there is no cache (NULL: nowhere); owned. Errors: FAILED (no folder), those of
 * acr_project_environment. */
char *acr_eval_environment(const AcrHost *host, const char *out, const AcrGradingPlan *plan,
                           gint64 deadline_us, GError **error) ACR_MUST_USE;

/*
 * Grades `predictions` for `tasks`, several at a time, and writes the final report and our summary.
 * A rerun keeps existing grades: a report counts for the patch, script, image and rules from which
 * it was made. Errors: FAILED (a folder cannot be written), INPUT (the run to compare with), STOP,
 * those of py.
 */
bool acr_eval_run(const AcrEvalOptions *options, const GPtrArray *tasks,
                  const GPtrArray *predictions, AcrEvalResult *out, GError **error) ACR_MUST_USE;

/*
 * The same in steps, for predictions that arrive one by one. Any thread may fill in a prediction
 * once, before it is graded; one that is not graded counts as empty. `deadline_us`: monotonic time
 * at which running tests are stopped and no new ones start; 0: none.
 */
typedef struct AcrEval AcrEval;
AcrEval *acr_eval_new(const AcrEvalOptions *options, const GPtrArray *tasks,
                      const GPtrArray *predictions, GError **error) ACR_MUST_USE;
void acr_eval_free(AcrEval *eval);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrEval, acr_eval_free)
void acr_eval_grade(AcrEval *eval, guint prediction, gint64 deadline_us);
bool acr_eval_finish(AcrEval *eval, AcrEvalResult *out, GError **error) ACR_MUST_USE;

/* ---- In parts (parts.c); batch/shards.h has how they are entered ---- */

/* A digest of what all shards share besides tasks and predictions; owned. */
char *acr_eval_bound(const AcrRunSpec *spec, bool in_environment, const char *recipes) ACR_MUST_USE;
/*
 * Makes the final report and the summary from the grades of all shards: of an evaluation, or of a
 * batch with --grade, which has spent `spent_microusd` (NULL: unknown). *out_missing: shards that
 * have not graded all of their tasks, one line each, owned. If there are any, or nothing was to be
 * graded, no report is made, and out->path is NULL. Errors: INPUT (a shard is damaged or of another
 * evaluation; the folder has an evaluation without shards), FAILED, those of base and py.
 */
bool acr_eval_merge(AcrHost *host, const AcrShards *shards, const gint64 *spent_microusd,
                    GPtrArray **out_missing, AcrEvalResult *out, GError **error) ACR_MUST_USE;

#endif
