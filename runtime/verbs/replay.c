/* acr-host replay: repeats the run of a folder from its journal, offline, and prints the patch
 * or the reproducer. */
#include "verbs/verbs_private.h"

static int run_replay(AcrHost *host, AcrRunSpec *spec)
{
    if (g_strv_length(spec->arguments) != 1)
        return acr_verb_refuse_runs(host, spec);
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    host->progress = acr_console_progress(console);
    g_auto(AcrRunResult) result = {0};
    bool ok = acr_task_replay(spec->arguments[0], host, &result, &error);
    return acr_run_result_print(host, spec, &result, ok ? NULL : error, console);
}

const AcrVerb acr_verb_replay = {
    .name = "replay",
    .summary = "Repeat a finished run offline and print the same result",
    .takes = ACR_FOR_REPLAY,
    .arguments = "[RUNDIR]",
    .examples = {{"Repeat a finished run without a model; nothing may differ", "replay out"}},
    .run = run_replay,
};
