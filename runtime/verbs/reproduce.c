/*
 * acr-host reproduce: writes and runs a script that fails while an issue is there, and nothing
 * else. The script goes to stdout and to the run folder.
 */
#include "verbs/verbs_private.h"

#include "http/http.h"

typedef struct {
    AcrIssueOptions issue;
    AcrRunOptions run;
} Options;

static void options_clear(Options *options)
{
    acr_issue_options_clear(&options->issue);
    acr_run_options_clear(&options->run);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static int report(const AcrTaskResult *result, AcrConsole *console)
{
    if (result->script && result->proof_why)
        acr_console_say(console, "acr-host reproduce: look at it before you trust it: %s",
                        result->proof_why);
    if (result->script)
        return acr_out_exit(acr_out_text(result->script), ACR_EXIT_OK);
    acr_console_say(console, "acr-host reproduce: not reproduced: %s",
                    result->reason ? result->reason : "no script was written");
    return ACR_EXIT_NONE;
}

static int reproduce(const AcrProgram *program, Options *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrConsole) console = acr_console_new(options->run.verbose);
    const char *verb = acr_verb_reproduce.name;
    g_autofree char *issue =
        acr_issue_options_load(&options->issue, verb, program->interrupt, console, &error);
    if (!issue || !acr_http_global_init(&error)) /* before there are threads */
        return acr_verb_fail(program, verb, error);
    AcrTaskOptions task = acr_issue_options_task(&options->issue, issue, &options->run);
    task.goal = ACR_GOAL_REPRODUCER;
    AcrHost host = acr_verb_host(program, &options->run.indexing, acr_console_progress(console));
    g_auto(AcrTaskResult) result = {0};
    bool ok = acr_task_run(&task, &host, &result, &error);
    g_autofree char *cost = acr_cost_line(&result.cost);
    if (cost)
        acr_console_say(console, "acr-host %s: %s", verb, cost);
    int code = ok ? report(&result, console) : ACR_EXIT_OK;
    g_clear_pointer(&console, acr_console_free);
    acr_http_global_cleanup();
    return ok ? code : (int)acr_verb_fail(program, verb, error);
}

static int run(const AcrProgram *program, int argc, char **argv)
{
    g_auto(Options) options = {.run = ACR_RUN_OPTIONS_INIT};
    const GOptionEntry own[] = {ACR_ISSUE_ENTRIES(&options.issue), G_OPTION_ENTRY_NULL};
    g_autofree GOptionEntry *entries = acr_run_option_entries(&options.run, own);
    const char *verb = acr_verb_reproduce.name;
    int code;
    acr_run_options_expand(argc, argv);
    if (!acr_options_parse(&acr_verb_reproduce, "", entries, &argc, &argv, &code))
        return code;
    if (argc > 1)
        return acr_verb_usage(verb, "unexpected argument '%s'", argv[1]);
    if (!acr_issue_options_check(&options.issue, verb) ||
        !acr_run_options_check(&options.run, verb))
        return ACR_EXIT_USAGE;
    if (options.run.validate || options.run.verify_name)
        return acr_verb_usage(verb, "no patch is written here, so that %s has nothing to do",
                              options.run.validate ? "--validate" : "--verify");
    return reproduce(program, &options);
}

const AcrVerb acr_verb_reproduce = {"reproduce", "Write a script that shows an issue; prints it",
                                    run};
