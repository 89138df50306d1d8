/* Makes the first draft of a reproducer from the examples of an issue (lines with `>>> `), without
 * a model call. An example whose output without a patch differs from the issue shows the intended
 * behaviour, and becomes the script. If all examples print what the issue shows, they describe the
 * present behaviour, and only inform the model. */
#include "loops/attempt_work.h"

/* Runs the script of the examples: the whole script if `line` is 0, otherwise only the assertion at
 * that line. Returns NOT_DONE if there is no script, or if it does not run. */
static AcrStep run_examples(AcrAttemptWork *work, guint line, char **out_script,
                            AcrTestVerdict *out, GError **error)
{
    const AcrRun *run = work->run;
    const AcrExecuted *executed;
    g_autofree char *script = NULL;
    if (!acr_python_issue_draft(run->python, run->issue, line, &script, error))
        return ACR_STEP_FAILED;
    if (!*script)
        return ACR_STEP_NOT_DONE;
    AcrTrial trial = {.test = script};
    AcrStep step = acr_step_run_aside(work, &trial, &executed, error);
    if (step != ACR_STEP_DONE)
        return step == ACR_STEP_FAILED ? step : ACR_STEP_NOT_DONE;
    acr_test_judge(executed, script, run->executor->dir(run->executor->ctx), out);
    *out_script = g_steal_pointer(&script);
    return ACR_STEP_DONE;
}

AcrStep acr_issue_draft_try(AcrAttemptWork *work, char **out_script, bool *out_fails,
                            GError **error)
{
    g_auto(AcrTestVerdict) all = {0}, one = {0};
    g_autofree char *script = NULL, *kept = NULL;
    if (!work->run->may.draft || work->attempt > 0)
        return ACR_STEP_NOT_DONE;
    AcrStep step = run_examples(work, 0, &script, &all, error);
    *out_fails = step == ACR_STEP_DONE && all.result == ACR_TEST_REPRODUCED;
    /* other examples may show wrong behaviour, which must not be asserted */
    if (*out_fails)
        step = run_examples(work, all.line, &kept, &one, error);
    if (step != ACR_STEP_DONE)
        return step;
    bool is_of_use = *out_fails ? one.result == ACR_TEST_REPRODUCED : all.result == ACR_TEST_PASSED;
    *out_script = is_of_use ? g_strdup(*out_fails ? kept : script) : NULL;
    return is_of_use ? ACR_STEP_DONE : ACR_STEP_NOT_DONE;
}
