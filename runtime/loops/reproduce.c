/*
 * The reproducer alone: what an attempt does before its retrieval.
 */
#include "loops/work.h"

#include <string.h>

static bool fail_unavailable(GError **error, const char *why)
{
    g_set_error(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_UNAVAILABLE, "code cannot be run here: %s",
                why);
    return false;
}

/* What should be looked at in a script that reproduces the issue; it is run once more for that. */
static AcrStep look_at(AcrWork *work, char **out_doubt, GError **error)
{
    const AcrTestVerdict *before = &work->testing.before;
    const AcrExecuted *executed;
    g_auto(AcrTestVerdict) again = {0};
    AcrStep step = acr_testing_run(work, NULL, 0, 1, &executed, &again, error);
    if (step != ACR_STEP_DONE)
        return step;
    g_free(*out_doubt);
    *out_doubt = before->doubts->len ? g_strdup(before->doubts->pdata[0])
                 : again.result != before->result
                     ? g_strdup("the script says something else each time")
                     : NULL;
    return ACR_STEP_DONE;
}

/* Guard and reproducer; DONE: the issue is reproduced. */
static AcrStep attempt(AcrWork *work, char **out_doubt, GError **error)
{
    AcrStep step = acr_testing_guard(work, error);
    if (step == ACR_STEP_DONE)
        step = acr_testing_write(work, work->run->max_tries, error);
    return step == ACR_STEP_DONE ? look_at(work, out_doubt, error) : step;
}

bool acr_reproduce_run(const AcrRun *run, AcrOutcome *out, GError **error)
{
    g_auto(AcrWork) work = {0};
    g_autofree char *text = NULL, *reason = NULL, *doubt = NULL;
    bool available = false;
    AcrStep step = ACR_STEP_NOT_DONE;
    if (!run->executor->open(run->executor->ctx, &available, &text, error))
        return false;
    if (!available)
        return fail_unavailable(error, text);
    for (guint i = 0; i < run->max_attempts && step != ACR_STEP_DONE; i++) {
        acr_work_begin(&work, run, i);
        step = attempt(&work, &doubt, error);
        if (step == ACR_STEP_FAILED)
            return false;
        g_free(reason);
        reason = g_steal_pointer(&work.unproved);
    }
    *out = (AcrOutcome){
        .script = step == ACR_STEP_DONE ? g_steal_pointer(&work.testing.script) : NULL,
        .proof_why = step == ACR_STEP_DONE ? g_steal_pointer(&doubt) : NULL,
        .reason = step == ACR_STEP_DONE ? NULL : g_steal_pointer(&reason),
        .attempt = work.attempt,
        .try_number = work.testing.number,
    };
    return true;
}
