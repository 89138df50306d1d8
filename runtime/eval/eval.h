/*
 * eval: grades predictions for benchmark tasks, with the files that SWE-bench's own harness reads and
 * leaves. Official fields are that harness's; what this program knows beyond them stands beside, in
 * verdict.json.
 */
#ifndef ACR_EVAL_H
#define ACR_EVAL_H

#include "batch/batch.h"
#include "py/grading.h"
#include "task/task.h"

typedef enum {
    ACR_EVAL_ERROR_FAILED,
    ACR_EVAL_ERROR_INPUT, /* predictions that are missing, malformed, given twice or for no known
                             task */
} AcrEvalError;
#define ACR_EVAL_ERROR acr_eval_error_quark()
GQuark acr_eval_error_quark(void);

#define ACR_PREDICTIONS_MAX_BYTES (1024u * 1024 * 1024)

/* One prediction; owned. */
typedef struct {
    char *instance_id, *model; /* the model's name as it is written in a path */
    char *patch;               /* a diff; NULL: none was predicted */
    bool is_baseline;          /* its tests are run although it has no patch */
} AcrPrediction;
void acr_prediction_free(AcrPrediction *prediction);

/*
 * Predictions for `tasks` (of AcrInstance, with rows): those of a file (a JSON list, JSON lines, or an
 * object of predictions by any key), the reference patches ("gold"), or no patches ("empty"). Owned
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

/* What became of one prediction. Texts are owned. */
typedef struct {
    AcrGrade grade;
    bool is_kept; /* from an earlier run of the same command */
    char *error;  /* why there is no report, in a line; NULL: there is one, or none is needed */
} AcrGraded;
void acr_graded_clear(AcrGraded *graded);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrGraded, acr_graded_clear)

/* All borrowed. */
typedef struct {
    const AcrRunSpec *spec; /* of `eval` */
    bool in_environment;    /* not in the tasks' images */
    const char *recipes;    /* JSON, the user's own recipes of environments; NULL: none */
    const AcrHost *host;
    AcrPython *python;
    /* Called after each prediction, one call at a time. */
    void (*on_graded)(void *ctx, const AcrPrediction *prediction, const AcrGraded *graded,
                      guint ended, guint total);
    void *on_graded_ctx;
} AcrEvalOptions;

typedef struct {
    guint tasks, predictions, resolved, unresolved, errors, empty;
    guint not_begun; /* because of an interrupt */
    char *path;      /* owned; of the final report */
    char *line;      /* owned; its content, on one line */
} AcrEvalResult;
void acr_eval_result_clear(AcrEvalResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrEvalResult, acr_eval_result_clear)

/*
 * Grades `predictions` for `tasks`, some at a time, and writes the final report from what all of them
 * have come to. Rerun, it keeps what was graded: a report counts for the patch, script, image and
 * rules that it was made of. Errors: FAILED (a folder cannot be written), those of py.
 */
bool acr_eval_run(const AcrEvalOptions *options, const GPtrArray *tasks,
                  const GPtrArray *predictions, AcrEvalResult *out, GError **error) ACR_MUST_USE;

#endif
