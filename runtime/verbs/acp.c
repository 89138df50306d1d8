/* acr-host acp: serves an editor by the Agent Client Protocol, on standard input and output, until
 * the input ends. */
#include "verbs/verbs_private.h"

#include <unistd.h>

#include "serve/acp.h"

/* The text for a person who starts the verb by hand. */
static const char connecting[] =
    "An editor starts acr-host acp and talks to it over the Agent Client Protocol (stdio). Set it "
    "up like this:\n"
    "  Zed        settings.json: {\"agent_servers\": {\"acr-host\": {\"command\": \"acr-host\", "
    "\"args\": [\"acp\", \"--model\", \"MODEL\"]}}}\n"
    "  JetBrains  ~/.jetbrains/acp.json: the same member \"agent_servers\"\n"
    "  others     start acr-host acp --model MODEL\n"
    "Waiting for requests; Ctrl-D ends it.\n";

static int run_acp(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *runs = acr_user_path("XDG_STATE_HOME", ".local/state", "runs");
    if (!runs)
        return acr_verb_usage(
            host, "there is no home folder to store runs in; set HOME or XDG_STATE_HOME");
    AcrAcpOptions options = {
        .host = host,
        .spec = spec,
        .runs = runs,
        .new_folder = acr_verb_new_run_folder,
        .list_runs = acr_runs_list,
        .in = STDIN_FILENO,
        .out = STDOUT_FILENO,
    };
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        acr_verb_tell("%s", connecting);
    if (!acr_acp_stdio(&options, &error))
        return acr_verb_fail(host, error);
    return acr_interrupted(host->interrupt) ? ACR_EXIT_INTERRUPTED : ACR_EXIT_OK;
}

const AcrVerb acr_verb_acp = {
    .name = "acp",
    .summary = "Work for an editor (Agent Client Protocol)",
    .takes = ACR_FOR_ACP,
    .uses_network = true,
    .examples = {{"Work for an editor that starts it", "acp --model openai/gpt-4.1 --max-cost 2"}},
    .run = run_acp,
};
