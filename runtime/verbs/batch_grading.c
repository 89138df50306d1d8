/* Grades the predictions of a batch as they arrive, until the batch's time limit: the thread of a
 * task grades the task's prediction before it takes the next task. */
#include "verbs/grading.h"

struct AcrBatchGrading {
    AcrBatchRows *rows;
    AcrEval *eval;
};

AcrBatchGrading *acr_batch_grading_new(AcrBatchRows *rows, const gint64 *spent_microusd,
                                       GError **error)
{
    g_autoptr(AcrBatchGrading) grading = g_new0(AcrBatchGrading, 1);
    grading->rows = rows;
    rows->options.spent_microusd = spent_microusd;
    grading->eval = acr_eval_new(&rows->options, rows->tasks, rows->predictions, error);
    return grading->eval ? g_steal_pointer(&grading) : NULL;
}

void acr_batch_grading_free(AcrBatchGrading *grading)
{
    if (!grading)
        return;
    acr_eval_free(grading->eval);
    g_free(grading);
}

const char *acr_batch_grading_take(void *ctx, guint instance, gint64 deadline_us)
{
    AcrBatchGrading *grading = ctx;
    AcrBatchRows *rows = grading->rows;
    AcrPrediction *prediction = rows->predictions->pdata[instance];
    g_autofree char *patch = acr_batch_patch(rows->spec, rows->instances->pdata[instance]);
    if (!patch)
        return acr_batch_rows_release(rows, instance, deadline_us);
    prediction->patch = *patch ? g_steal_pointer(&patch) : NULL;
    return acr_eval_grade(grading->eval, instance, deadline_us);
}

bool acr_batch_grading_finish(AcrBatchGrading *grading, int code, int *out_code, GError **error)
{
    g_auto(AcrEvalResult) result = {0};
    if (!acr_eval_finish(grading->eval, &result, error))
        return false;
    bool is_ceiling = result.late && code <= ACR_EXIT_NONE;
    AcrOut out = acr_verb_tell_grades(&result, grading->rows->spec->json ? "" : result.table);
    *out_code = acr_out_exit(
        out, acr_verb_grades_exit(&result, is_ceiling ? ACR_EXIT_CEILING : (AcrExit)code));
    return true;
}
