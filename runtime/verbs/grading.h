/* Private to verbs: functions shared by the verbs that grade. */
#pragma once

#include "eval/eval.h"
#include "verbs/verbs_private.h"

/* Checks --run-id, and reads the user's recipes. */
bool acr_verb_check_grading(const AcrRunSpec *spec, char **out_recipes,
                            GError **error) ACR_MUST_USE;

/* Reads the user's recipes; *out_recipes is owned, and NULL if there are none. Errors: USAGE of
 * task. */
bool acr_verb_read_recipes(const AcrRunSpec *spec, char **out_recipes, GError **error) ACR_MUST_USE;
/* Rejects invalid recipes of the user, before any task starts; `recipes` may be NULL. */
bool acr_verb_check_recipes(AcrPython *python, const AcrRunSpec *spec, const char *recipes,
                            GError **error) ACR_MUST_USE;

/* Prints the grades: `text`, a table or JSON, on stdout, and the totals on stderr. */
AcrOut acr_verb_tell_grades(const AcrEvalResult *result, const char *text) ACR_MUST_USE;

/* Returns the exit code of a verb that would otherwise end with `code`. If the tests of
 * some predictions could not be run, says so and returns ENVIRONMENT. */
AcrExit acr_verb_grades_exit(const AcrEvalResult *result, AcrExit code);

/* Reports `error` like acr_verb_fail, but treats invalid input as a usage error. */
int acr_verb_fail_grading(AcrHost *host, const GError *error);

/* ---- The rows of a batch, and where its code runs (batch_rows.c) ----- */

/* The complete rows of a batch's tasks. The processes of the tasks never get these rows, because
 * the rows contain the hidden tests. */
typedef struct {
    const AcrRunSpec *spec;
    const GPtrArray *instances; /* the rows without tests; borrowed */
    GPtrArray *rows;            /* the rows of the data set */
    GPtrArray *tasks;           /* the instances with tests, in order; borrowed from `rows` */
    GHashTable *by_id;          /* id of a task -> AcrInstance, borrowed from `rows` */
    /* a prediction for each task; it has no patch until the task has ended */
    GPtrArray *predictions;
    char *recipes;
    AcrPython *python;
    AcrExtensions *extensions;
    AcrEvalOptions options;       /* the options for grading */
    AcrEvalOptions running;       /* the options for running the tasks' code */
    struct AcrEvalImages *images; /* NULL if no task needs an image */
    const char *place;            /* place where the tasks' code runs; NULL: as the options say */
} AcrBatchRows;
/* Returns whether the batch needs the complete rows of its tasks. */
bool acr_batch_needs_rows(const AcrRunSpec *spec);
/* Reads the rows, and decides where the code of the tasks runs; owned. Errors: USAGE of task, those
 * of batch, eval and py. */
AcrBatchRows *acr_batch_rows_new(AcrHost *host, AcrRunSpec *spec, const GPtrArray *instances,
                                 GError **error) ACR_MUST_USE;
/* Checks, before a model is paid, that the tasks of `left` (acr_batch_unfinished) can be run and
 * graded in their places, and that there is an engine if a place is a container. Errors: USAGE of
 * task, those of sandbox. */
bool acr_batch_rows_check(const AcrBatchRows *rows, const GPtrArray *left,
                          GError **error) ACR_MUST_USE;
void acr_batch_rows_free(AcrBatchRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrBatchRows, acr_batch_rows_free)
/* Callback of AcrBatchOptions: creates the environment of a task, or finds its image. */
bool acr_batch_rows_place(void *rows, guint instance, const AcrRunSpec *kept, gint64 deadline_us,
                          AcrTaskPlace *out, GError **error);
/* Callback of AcrBatchOptions for a batch that does not grade: releases the image of a task. */
const char *acr_batch_rows_release(void *rows, guint instance, gint64 deadline_us);

/* ---- Grading the tasks of a batch as they end (batch_grading.c) ---- */

typedef struct AcrBatchGrading AcrBatchGrading;
/* Prepares the grading of the predictions; owned. All arguments are borrowed; `spent_microusd`
 * is read at the end. Errors: those of eval. */
AcrBatchGrading *acr_batch_grading_new(AcrBatchRows *rows, const gint64 *spent_microusd,
                                       GError **error) ACR_MUST_USE;
void acr_batch_grading_free(AcrBatchGrading *grading);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrBatchGrading, acr_batch_grading_free)
/* Callback of AcrBatchOptions: grades the prediction of a task. */
const char *acr_batch_grading_take(void *grading, guint instance, gint64 deadline_us);
/* Writes the final report and prints the grades. *out_code is `code` (of the batch), or the exit
 * code of a failure in this function. */
bool acr_batch_grading_finish(AcrBatchGrading *grading, int code, int *out_code,
                              GError **error) ACR_MUST_USE;

/* Describes the plan of a batch in lines (dry_run.c); owned. `left` has the unfinished tasks of
 * `tasks` in total, `place` names where code runs (NULL: as the options say), `plan` is that of
 * acr_task_plan_models. */
char *acr_dry_run_of_batch(const AcrRunSpec *spec, guint tasks, const GPtrArray *left,
                           const char *place, const AcrJson *plan) ACR_MUST_USE;
