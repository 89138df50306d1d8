/*
 * acr-host run: one issue of one repository. The patch goes to stdout and to the run folder.
 */
#include "verbs/verbs_private.h"

int acr_run_and_report(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrConsole) console = acr_console_new(spec->verbose);
    host->progress = acr_console_progress(console);
    g_auto(AcrRunResult) result = {.verdict = ACR_VERDICT_NONE, .found.proof = ACR_PROOF_NONE};
    bool ok = acr_issue_text_load(spec, host->interrupt, console, &error);
    if (ok)
        ok = acr_task_run(spec, host, &result, &error);
    else
        acr_run_result_fail(&result, error, host->interrupt);
    return acr_report(host, spec, &result, ok ? NULL : error, console);
}

const AcrVerb acr_verb_run = {
    .name = "run",
    .summary = "Fix one issue of a repository; prints the patch",
    .takes = ACR_FOR_RUN,
    .uses_network = true,
    .run = acr_run_and_report,
};
