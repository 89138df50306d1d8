/*
 * acr-host replay: repeats the run of a folder from its journal, offline, and prints the patch,
 * or the reproducer.
 */
#include "verbs/verbs_private.h"

/* Prints what the run came to; the exit code. */
static int report(const AcrTaskResult *result, AcrConsole *console)
{
    if (result->script)
        return acr_out_exit(acr_out_text(result->script), ACR_EXIT_OK);
    if (result->diff) {
        gsize len;
        const void *diff = g_bytes_get_data(result->diff, &len);
        return acr_out_exit(acr_out(diff, len), ACR_EXIT_OK);
    }
    if (result->goal == ACR_GOAL_REPRODUCER)
        acr_console_say(console, "acr-host replay: not reproduced, as recorded");
    else
        acr_console_say(console, "acr-host replay: no patch (%s), as recorded",
                        acr_extract_status_name(result->status));
    return ACR_EXIT_NONE;
}

static int run(const AcrProgram *program, int argc, char **argv)
{
    gboolean verbose = FALSE;
    g_auto(AcrIndexingOptions) indexing = {0};
    const GOptionEntry entries[] = {
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &verbose,
         "Show each step on stderr, also when piped", NULL},
        ACR_INDEXING_ENTRIES(&indexing),
        G_OPTION_ENTRY_NULL,
    };
    int code;
    if (!acr_options_parse(&acr_verb_replay, "RUNDIR", entries, &argc, &argv, &code))
        return code;
    if (!acr_indexing_options_check(&indexing, acr_verb_replay.name))
        return ACR_EXIT_USAGE;
    if (argc != 2)
        return acr_verb_usage(acr_verb_replay.name, "give one run folder");
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrConsole) console = acr_console_new(verbose);
    AcrHost host = acr_verb_host(program, &indexing, acr_console_progress(console));
    g_auto(AcrTaskResult) result = {0};
    if (!acr_task_replay(argv[1], &host, &result, &error)) {
        g_clear_pointer(&console, acr_console_free);
        return acr_verb_fail(program, acr_verb_replay.name, error);
    }
    g_autofree char *cost = acr_cost_line(&result.cost);
    if (cost)
        acr_console_say(console, "acr-host replay: %s", cost);
    return report(&result, console);
}

const AcrVerb acr_verb_replay = {"replay", "Repeat a finished run offline; prints the same result",
                                 run};
