/* The data of one attempt, and helpers for its steps, which handle a model that gives no answer and
 * run trials in the sandbox. */
#include "loops/attempt_work.h"

#include <string.h>

void acr_attempt_work_begin(AcrAttemptWork *work, const AcrRun *run, guint attempt,
                            GPtrArray *candidates)
{
    acr_attempt_work_clear(work);
    work->run = run;
    work->attempt = attempt;
    work->model = run->n_models ? run->models[attempt % run->n_models] : NULL;
    if (work->model)
        work->model->is_varied = false;
    work->candidates = candidates;
    work->writer.statuses = acr_json_new_array();
    work->writer.shown_bytes = G_MAXSIZE;
    work->writer.sample = 1;
}

void acr_attempt_work_again(AcrAttemptWork *work)
{
    AcrPatchWriter *writer = &work->writer;
    g_clear_pointer(&writer->conversation, acr_conversation_free);
    g_clear_pointer(&writer->feedback, g_free);
    g_clear_pointer(&writer->reason, g_free);
    writer->latest = NULL;
    writer->repeats = false;
    writer->sample++;
    work->model->is_varied = true;
    acr_dead_end_stage(&work->dead_end);
}

void acr_attempt_work_clear(AcrAttemptWork *work)
{
    acr_retrieved_clear(&work->retrieved);
    acr_conversation_free(work->writer.conversation);
    g_free(work->writer.feedback);
    acr_json_free(work->writer.statuses);
    g_free(work->writer.reason);
    acr_conversation_free(work->reproducer.conversation);
    ACR_FREE(work->reproducer.feedback, work->reproducer.script, work->reproducer.python);
    acr_test_verdict_clear(&work->reproducer.before);
    acr_calls_free(work->probe.calls);
    ACR_FREE(work->unproved, work->failing, work->calls);
    acr_dead_end_clear(&work->dead_end);
    memset(work, 0, sizeof *work);
}

void acr_step_unproved(AcrAttemptWork *work, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_free(work->unproved);
    work->unproved = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    acr_loops_note(work->run, "%s", work->unproved);
}

bool acr_step_is_no_answer(const GError *error)
{
    return g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USED_UP) ||
           g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_INCOMPLETE) ||
           g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTEXT_OVERFLOW);
}

/* Skips an impossible step (`is_unavailable`); otherwise sets `error`. `reason` is taken. */
static AcrStep not_done(AcrAttemptWork *work, bool is_unavailable, const char *what, GError *reason,
                        GError **error)
{
    if (!is_unavailable) {
        g_propagate_error(error, reason);
        return ACR_STEP_FAILED;
    }
    acr_step_unproved(work, "%s: %s", what, reason->message);
    g_error_free(reason);
    return ACR_STEP_UNAVAILABLE;
}

AcrStep acr_step_no_answer(AcrAttemptWork *work, const char *what, GError *reason, GError **error)
{
    return not_done(work, acr_step_is_no_answer(reason), what, reason, error);
}

AcrStep acr_step_run(AcrAttemptWork *work, const AcrTrial *trial, const char *what,
                     const AcrExecuted **out, GError **error)
{
    const AcrExecutor *executor = work->run->executor;
    GError *reason = NULL;
    if (!acr_loops_go_on(work->run, error))
        return ACR_STEP_FAILED;
    if (executor->run(executor->ctx, trial, out, &reason))
        return ACR_STEP_DONE;
    bool is_unavailable = g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE);
    return not_done(work, is_unavailable, what, reason, error);
}

AcrStep acr_step_run_aside(AcrAttemptWork *work, const AcrTrial *trial, const AcrExecuted **out,
                           GError **error)
{
    g_autofree char *kept = g_strdup(work->unproved);
    AcrStep step = acr_step_run(work, trial, "cannot run code for the model", out, error);
    if (step == ACR_STEP_UNAVAILABLE) {
        g_free(work->unproved);
        work->unproved = g_steal_pointer(&kept);
    }
    return step;
}

void acr_step_tell_writer(AcrAttemptWork *work, char *text)
{
    g_free(work->writer.feedback);
    work->writer.feedback = text;
}

AcrStep acr_step_refuse(AcrAttemptWork *work, AcrCandidate *candidate, char *why,
                        const char *message)
{
    acr_candidate_prove(candidate, ACR_PROOF_REFUSED, why);
    acr_step_tell_writer(work, acr_prompts_render(work->run->prompts, ACR_PROMPT_PATCH_REFUSED,
                                                  "message", message, NULL));
    return ACR_STEP_NOT_DONE;
}
