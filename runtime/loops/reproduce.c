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

/* Guard and reproducer; DONE: the issue is reproduced. */
static AcrStep attempt(AcrWork *work, GError **error)
{
    AcrStep step = acr_testing_guard(work, error);
    return step == ACR_STEP_DONE ? acr_testing_write(work, work->run->max_tries, error) : step;
}

bool acr_reproduce_run(const AcrRun *run, AcrRunResult *out, GError **error)
{
    g_auto(AcrWork) work = {0};
    g_autofree char *text = NULL, *reason = NULL;
    bool available = false;
    AcrStep step = ACR_STEP_NOT_DONE;
    if (!run->executor->open(run->executor->ctx, &available, &text, error))
        return false;
    if (!available)
        return fail_unavailable(error, text);
    for (guint i = 0; i < run->max_attempts && step != ACR_STEP_DONE; i++) {
        acr_work_begin(&work, run, i);
        step = attempt(&work, error);
        if (step == ACR_STEP_FAILED)
            return false;
        g_free(reason);
        reason = g_steal_pointer(&work.unproved);
    }
    *out = (AcrRunResult){
        .script = step == ACR_STEP_DONE ? g_steal_pointer(&work.testing.script) : NULL,
        .reason = step == ACR_STEP_DONE ? NULL : g_steal_pointer(&reason),
        .attempt = work.attempt,
        .try_number = work.testing.number,
    };
    return true;
}
