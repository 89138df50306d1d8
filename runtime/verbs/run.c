/*
 * acr-host run: one issue of one repository. The patch goes to stdout and to the run folder.
 */
#include "verbs/verbs_private.h"

#include "http/http.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

typedef struct {
    AcrIssueOptions issue;
    gboolean apply;
    gint64 parent; /* the process that this one must not outlive; 0: none */
    AcrRunOptions run;
} Options;

static void options_clear(Options *options)
{
    acr_issue_options_clear(&options->issue);
    acr_run_options_clear(&options->run);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

/* Whether the patch was proved by running code, or why not; nothing where none was to be run. */
static void say_proof(const Options *options, const AcrTaskResult *result, AcrConsole *console)
{
    if (options->run.verify == ACR_VERIFY_NEVER && !options->run.validate)
        return;
    g_autofree char *why = g_strdup(result->proof_why ? result->proof_why : "nothing was run");
    for (char *at = why; *at; at++) /* one line, whatever a script said */
        if (g_ascii_iscntrl(*at))
            *at = ' ';
    acr_console_say(console, "acr-host run: verified: %s (%s)",
                    result->proof == ACR_PROOF_VERIFIED ? "yes" : "no", why);
}

/* Prints the patch and a last line for the user; the exit code. */
static int report(const Options *options, const AcrTaskResult *result, AcrConsole *console)
{
    if (!result->diff) {
        const char *reason = result->reason ? result->reason : "";
        acr_console_say(console, "acr-host run: no patch (%s%s%s); what was said is in '%s'",
                        acr_extract_status_name(result->status), *reason ? ": " : "", reason,
                        options->issue.out);
        return ACR_EXIT_NONE;
    }
    say_proof(options, result, console);
    bool held_back = options->apply && acr_proof_is_against(result->proof);
    if (held_back)
        acr_console_say(console, "acr-host run: not applied: the patch is held for wrong");
    gsize len;
    const void *diff = g_bytes_get_data(result->diff, &len);
    return acr_out_exit(acr_out(diff, len), held_back ? ACR_EXIT_NONE : ACR_EXIT_OK);
}

/* One line of what the run used. */
static void say_cost(const AcrTaskResult *result, AcrConsole *console)
{
    g_autofree char *line = acr_cost_line(&result->cost);
    if (line)
        acr_console_say(console, "acr-host run: %s", line);
}

static int run_task(const AcrProgram *program, Options *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrConsole) console = acr_console_new(options->run.verbose);
    g_autofree char *issue = acr_issue_options_load(&options->issue, acr_verb_run.name,
                                                    program->interrupt, console, &error);
    if (!issue || !acr_http_global_init(&error)) /* before there are threads */
        return acr_verb_fail(program, acr_verb_run.name, error);
    AcrTaskOptions task = acr_issue_options_task(&options->issue, issue, &options->run);
    task.apply = options->apply;
    AcrHost host = acr_verb_host(program, &options->run.indexing, acr_console_progress(console));
    g_auto(AcrTaskResult) result = {0};
    bool ok = acr_task_run(&task, &host, &result, &error);
    say_cost(&result, console);
    if (ok)
        return report(options, &result, console);
    if (result.diff) /* stopped at a ceiling */
        report(options, &result, console);
    g_clear_pointer(&console, acr_console_free);
    return acr_verb_fail(program, acr_verb_run.name, error);
}

/* A task of a batch that was killed would hold its run folder, and spend, with nobody left to know.
 */
static void die_with(gint64 parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != parent)
        _exit(ACR_EXIT_INTERRUPTED); /* it was gone already */
}

static int run(const AcrProgram *program, int argc, char **argv)
{
    g_auto(Options) options = {.run = ACR_RUN_OPTIONS_INIT};
    const GOptionEntry own[] = {
        ACR_ISSUE_ENTRIES(&options.issue),
        {"apply", 0, 0, G_OPTION_ARG_NONE, &options.apply,
         "Write the change into the working tree, if it is still as it was", NULL},
        {"jobs", 'j', 0, G_OPTION_ARG_STRING, &options.run.indexing.jobs_given,
         "Processes that outline files (default: one a processor)", "N"},
        {"shared-dir", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME, &options.run.shared_dir,
         NULL, NULL},
        {"batch-ledger", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME,
         &options.run.ceilings.batch_ledger, NULL, NULL},
        {"batch-max-cost", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_STRING,
         &options.run.ceilings.batch_cost, NULL, NULL},
        {"batch-max-tokens", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_STRING,
         &options.run.ceilings.batch_tokens, NULL, NULL},
        {"batch-deadline", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_INT64,
         &options.run.ceilings.batch_deadline_us, NULL, NULL},
        {"parent", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_INT64, &options.parent, NULL, NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autofree GOptionEntry *entries = acr_run_option_entries(&options.run, own);
    int code;
    acr_run_options_expand(argc, argv);
    if (!acr_options_parse(&acr_verb_run, "", entries, &argc, &argv, &code))
        return code;
    if (argc > 1)
        return acr_verb_usage(acr_verb_run.name, "unexpected argument '%s'", argv[1]);
    if (options.parent)
        die_with(options.parent);
    if (!acr_issue_options_check(&options.issue, acr_verb_run.name) ||
        !acr_run_options_check(&options.run, acr_verb_run.name))
        return ACR_EXIT_USAGE;
    code = run_task(program, &options);
    acr_http_global_cleanup();
    return code;
}

const AcrVerb acr_verb_run = {"run", "Fix one issue of a repository; prints the patch", run};
