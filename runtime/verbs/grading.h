/* Private to verbs: what the verbs that grade share. */
#ifndef ACR_VERBS_GRADING_H
#define ACR_VERBS_GRADING_H

#include "eval/eval.h"
#include "verbs/verbs_private.h"

/* Checks --run-id and reads the user's recipes; *out_recipes: owned, NULL: none. Errors: USAGE of
 * task, those of base. */
bool acr_verb_check_grading(const AcrRunSpec *spec, char **out_recipes,
                            GError **error) ACR_MUST_USE;

/* Rejects invalid recipes of the user, before any task starts; `recipes` may be NULL. */
bool acr_verb_check_recipes(AcrPython *python, const AcrRunSpec *spec, const char *recipes,
                            GError **error) ACR_MUST_USE;

/* Prints the grades: a table on stdout, or JSON; the sums on stderr. */
AcrOut acr_verb_tell_grades(const AcrEvalResult *result, bool as_json) ACR_MUST_USE;

/* The exit code of a verb that would end with `code`: ENVIRONMENT if no test could be run, which is
 * reported. */
AcrExit acr_verb_grades_exit(const AcrEvalResult *result, AcrExit code);

/* Like acr_verb_fail; invalid input counts as a usage error. */
int acr_verb_fail_grading(AcrHost *host, const GError *error);

/* ---- Of a batch: its rows, and where its code runs (batch_rows.c) ---- */

/* The rows of a batch's tasks, which the tasks' own processes never see, because they hold the
 * hidden tests. */
typedef struct {
    const AcrRunSpec *spec;
    const GPtrArray *instances; /* their rows without the tests; borrowed */
    GPtrArray *rows;            /* the rows of the data set */
    GPtrArray *tasks;           /* the instances with tests, in their order; borrowed from `rows` */
    GHashTable *by_id;          /* id -> AcrInstance, borrowed from `rows` */
    GPtrArray *predictions;     /* one for each; without a patch until its task has ended */
    char *recipes;
    AcrPython *python;
    AcrExtensions *extensions;
    AcrEvalOptions options;       /* the options for grading */
    AcrEvalOptions running;       /* the options for running the tasks' code */
    struct AcrEvalImages *images; /* NULL: no task needs one */
    const char *place; /* the word for where the tasks' code runs; NULL: the options decide */
} AcrBatchRows;
/* Whether the batch needs the tasks' rows. */
bool acr_batch_needs_rows(const AcrRunSpec *spec);
/* Reads the rows, and decides where the code of the tasks runs. Owned. Errors: USAGE of task, those
 * of batch, eval and py. */
AcrBatchRows *acr_batch_rows_new(AcrHost *host, AcrRunSpec *spec, const GPtrArray *instances,
                                 GError **error) ACR_MUST_USE;
void acr_batch_rows_free(AcrBatchRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrBatchRows, acr_batch_rows_free)
/* For AcrBatchOptions: makes the environment of a task, or finds its image. */
bool acr_batch_rows_place(void *rows, guint instance, const AcrRunSpec *kept, gint64 deadline_us,
                          AcrTaskPlace *out, GError **error);
/* For AcrBatchOptions, without grading: the task no longer needs its image. */
void acr_batch_rows_release(void *rows, guint instance, gint64 deadline_us);

/* ---- Of a batch, as its tasks end (batch_grading.c) ---- */

typedef struct AcrBatchGrading AcrBatchGrading;
/* Prepares grading of the predictions; all borrowed; `spent_microusd` is read at the end. Owned.
 * Errors: those of eval. */
AcrBatchGrading *acr_batch_grading_new(AcrBatchRows *rows, const gint64 *spent_microusd,
                                       GError **error) ACR_MUST_USE;
void acr_batch_grading_free(AcrBatchGrading *grading);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrBatchGrading, acr_batch_grading_free)
/* For AcrBatchOptions: grades the prediction of a task. */
void acr_batch_grading_take(void *grading, guint instance, gint64 deadline_us);
/* Writes the final report and prints the grades; *out_code: `code` of the batch, or the code of a
 * failure here. */
bool acr_batch_grading_finish(AcrBatchGrading *grading, int code, int *out_code,
                              GError **error) ACR_MUST_USE;

#endif
