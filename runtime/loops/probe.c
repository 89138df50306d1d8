/* probe: lets the model run short snippets in the sandbox. In the retrieval a snippet is a search
 * call; in the review the reviewer requests a snippet instead of answering. The executor records
 * snippets like other trials, so a replay needs no sandbox. The output of a snippet only informs
 * the model; it proves nothing. */
#include "loops/attempt_work.h"

#include <string.h>

#define MAX_PROBES 3u /* maximum number of snippets in an attempt */

static const AcrParam code_param = {
    "code", ACR_PARAM_STRING, "Python that imports the project and prints what you ask for", NULL};

guint acr_probe_left(const AcrAttemptWork *work)
{
    return work->probe.calls ? MAX_PROBES - work->probe.used : 0;
}

bool acr_probe_run(AcrAttemptWork *work, const char *code, const AcrOverlay *patch, char **out_text,
                   bool *out_ran, GError **error)
{
    static const char *const args[] = {"-", NULL};
    const AcrExecuted *executed;
    *out_ran = false;
    if (acr_probe_left(work) == 0) {
        *out_text = g_strdup_printf("Not run: %u snippets were run already.\n", MAX_PROBES);
        return true;
    }
    work->probe.used++;
    g_autofree char *script = g_strconcat(code, "\n", NULL);
    g_autoptr(GBytes) input = g_bytes_new(script, strlen(script));
    AcrTrial trial = {.overlay = patch,
                      .test = script,
                      .args = args,
                      .experiment = ACR_EXPERIMENT_PROBE,
                      .input = input};
    AcrStep step = acr_step_run_aside(work, &trial, &executed, error);
    if (step == ACR_STEP_FAILED)
        return false;
    if (step != ACR_STEP_DONE) {
        *out_text = g_strdup("Not run: the sandbox failed.\n");
        return true;
    }
    g_autofree char *said = acr_validation_text(executed);
    g_autofree char *shown = g_strconcat(
        said, executed->limit == ACR_LIMIT_OUTPUT ? " (its output was too long)" : "", NULL);
    g_autofree char *fenced = acr_fence_text("", shown);
    *out_ran = true;
    *out_text = g_strdup_printf("The snippet's output and exit:\n%s\nSnippets left: %u.\n", fenced,
                                acr_probe_left(work));
    acr_progress_action(work->run->progress, "execute", NULL, "snippet %u: exit %d",
                        work->probe.used, executed->exit_code);
    return true;
}

/* Answers the call `probe` for its attempt, which is found by address: the call's spec is a member
 * of AcrAttemptWork. */
static bool answer_probe(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    AcrAttemptWork *work =
        (void *)((char *)(void *)call->spec - offsetof(AcrAttemptWork, probe.spec));
    out->places = g_ptr_array_new_with_free_func((GDestroyNotify)acr_place_free);
    return acr_probe_run(work, call->values[0], NULL, &out->output, &out->ok, error);
}

void acr_probe_offer(AcrAttemptWork *work)
{
    const AcrExecutor *executor = work->run->executor;
    AcrProbe *probe = &work->probe;
    if (!work->run->may.probe || probe->calls || !executor->is_isolated(executor->ctx))
        return;
    probe->spec = (AcrCallSpec){
        .name = "probe",
        .params = {code_param},
        .summary = "Runs a short snippet in a copy of the project, without network, for at most 10 "
                   "seconds, and shows what it prints; at most 3 in all.",
        .answer = answer_probe,
    };
    probe->calls = acr_calls_copy(work->run->calls);
    /* an extension's call of the same name takes precedence */
    if (!acr_calls_add(probe->calls, &probe->spec))
        g_clear_pointer(&probe->calls, acr_calls_free);
}
