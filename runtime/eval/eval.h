/*
 * eval: grades predictions for benchmark tasks, with the files that SWE-bench's own harness reads and
 * leaves. Official fields are that harness's; what this program knows beyond them stands beside, in
 * verdict.json.
 */
#ifndef ACR_EVAL_H
#define ACR_EVAL_H

#include "batch/shards.h"
#include "extensions/extensions.h"
#include "py/grading.h"
#include "task/task.h"

typedef enum {
    ACR_EVAL_ERROR_FAILED,
    ACR_EVAL_ERROR_INPUT, /* predictions that are missing, malformed, given twice or for no known
                             task */
    ACR_EVAL_ERROR_STOP,  /* nothing can be run any more: no engine answers, or its disk is full */
} AcrEvalError;
#define ACR_EVAL_ERROR acr_eval_error_quark()
GQuark acr_eval_error_quark(void);

#define ACR_PREDICTIONS_MAX_BYTES (1024u * 1024 * 1024)

/* One prediction; owned. */
typedef struct {
    char *instance_id, *model; /* the model's name as it is written in a path */
    char *patch;               /* a diff; NULL: none was predicted */
    guint number;              /* which one of its source, from 0 */
    bool is_baseline;          /* its tests are run although it has no patch */
    bool is_reference;         /* tells whether a task can be graded here: it is believed */
} AcrPrediction;
void acr_prediction_free(AcrPrediction *prediction);

/* A digest of predictions in their order; owned. */
char *acr_predictions_digest(const GPtrArray *predictions) ACR_MUST_USE;

/* A model's name as a part of a path; owned; NULL: it cannot be one. */
char *acr_prediction_model(const char *model) ACR_MUST_USE;

/*
 * Predictions for `tasks` (of AcrInstance, with rows): those of a file (a JSON list, JSON lines, or an
 * object of predictions, or of patches, by id), of a folder (preds.jsonl, all_preds.jsonl or preds.json, else
 * ID.diff or ID.patch each), the reference patches ("gold"), or no patches ("empty"). Owned
 * array of AcrPrediction in the file's order. Errors: INPUT, naming an id that comes twice, or one
 * of no task; with `ignore_unknown` the latter are left out.
 */
GPtrArray *acr_predictions_read(const char *source, const GPtrArray *tasks, bool ignore_unknown,
                                GError **error) ACR_MUST_USE;

/* How a prediction ended. */
typedef enum {
    ACR_GRADE_RESOLVED,
    ACR_GRADE_UNRESOLVED,
    ACR_GRADE_ERROR, /* no report: the patch does not apply, time ran out, or it could not be run */
    ACR_GRADE_EMPTY, /* no patch: nothing was run */
} AcrGrade;
const char *acr_grade_name(AcrGrade grade); /* "resolved", … */

/* What grading one prediction took; 0: not known, or there was none. */
typedef struct {
    gint64 total_ms, tests_ms; /* everything, and the script alone */
    gint64 peak_bytes, image_bytes;
} AcrEvalCost;

/* What became of one prediction. Texts are owned. */
typedef struct {
    AcrGrade grade;
    bool is_kept;  /* from an earlier run of the same command */
    bool stops;    /* nothing else can be run either */
    bool is_late;  /* the time was over before it had a grade */
    char *error;   /* why there is no report, in a line; NULL: there is one, or none is needed */
    char *failure; /* the class of what went wrong: a word; NULL: nothing did */
    AcrEvalCost cost;
    char *doubt;      /* resolved: why that is not believed, in a line; NULL: it is */
    char *ungradable; /* why its task cannot be graded here; NULL: it can, or was not tried */
} AcrGraded;
void acr_graded_clear(AcrGraded *graded);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrGraded, acr_graded_clear)

/* All borrowed. */
typedef struct {
    const AcrRunSpec *spec; /* of `eval` */
    bool in_environment;    /* not in the tasks' images */
    const char *recipes;    /* JSON, the user's own recipes of environments; NULL: none */
    const AcrHost *host;    /* its progress gets an event for each prediction */
    AcrPython *python;
    struct AcrEvalImages *images; /* made by acr_eval_new */
    const gint64 *spent_microusd; /* on the predictions, as it is at the end; NULL: not known */
    AcrExtensions *extensions;    /* whose parsers of logs rows may name; NULL: none */
} AcrEvalOptions;

typedef struct {
    guint tasks, predictions, resolved, unresolved, errors, empty;
    guint late;       /* not graded, as the time was over */
    guint doubted;    /* of those resolved */
    guint ungradable; /* predictions for tasks that cannot be graded here */
    char *path;       /* owned; of the final report */
    char *table;      /* owned; what became of each task, and why, for a person */
    char *sums;       /* owned; of the whole run, a few lines */
    char *line;       /* owned; the report and the summary as one JSON object */
} AcrEvalResult;
void acr_eval_result_clear(AcrEvalResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEvalResult, acr_eval_result_clear)

/*
 * Grades `predictions` for `tasks`, some at a time, and writes the final report from what all of them
 * have come to, and a summary of our own. Rerun, it keeps what was graded: a report counts for the patch,
 * script, image and rules that it was made of. Errors: FAILED (a folder cannot be written), INPUT (the run
 * to compare with), STOP, those of py.
 */
bool acr_eval_run(const AcrEvalOptions *options, const GPtrArray *tasks,
                  const GPtrArray *predictions, AcrEvalResult *out, GError **error) ACR_MUST_USE;

/*
 * The same in steps, for predictions that come one by one. A prediction may be filled in until it is graded,
 * which any thread may do, once; one that is not graded counts as none. `deadline_us`: of the system's
 * monotonic clock; tests that run then are stopped, and none are begun; 0: none.
 */
typedef struct AcrEval AcrEval;
AcrEval *acr_eval_new(const AcrEvalOptions *options, const GPtrArray *tasks,
                      const GPtrArray *predictions, GError **error) ACR_MUST_USE;
void acr_eval_free(AcrEval *eval);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrEval, acr_eval_free)
void acr_eval_grade(AcrEval *eval, guint prediction, gint64 deadline_us);
bool acr_eval_finish(AcrEval *eval, AcrEvalResult *out, GError **error) ACR_MUST_USE;

/* ---- In parts (parts.c); batch/shards.h has how they are entered ---- */

/* A digest of what all parts have alike beside tasks and predictions; owned. */
char *acr_eval_bound(const AcrRunSpec *spec, bool in_environment, const char *recipes) ACR_MUST_USE;
/*
 * Makes the final report and the summary of what all shards have graded: those of an evaluation, or of a batch with
 * --grade, which has spent `spent_microusd` (NULL: not known). *out_missing: shards that have not graded all of
 * their tasks, a line each, owned; where there are any, or nothing was to be graded, no report is made, and
 * out->path is NULL. Errors: INPUT (a part is damaged, or of another evaluation; there is an evaluation that was
 * not in parts), FAILED, those of base and py.
 */
bool acr_eval_merge(AcrHost *host, const AcrShards *shards, const gint64 *spent_microusd,
                    GPtrArray **out_missing, AcrEvalResult *out, GError **error) ACR_MUST_USE;

#endif
