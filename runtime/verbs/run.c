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
    char *repo, *rev, *issue, *issue_text, *instance_id, *out;
    gboolean apply;
    gint64 parent; /* the process that this one must not outlive; 0: none */
    AcrRunOptions run;
} Options;

static void options_clear(Options *options)
{
    g_free(options->repo);
    g_free(options->rev);
    g_free(options->issue);
    g_free(options->issue_text);
    g_free(options->instance_id);
    g_free(options->out);
    acr_run_options_clear(&options->run);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

/* The issue's bytes as UTF-8 text: UTF-16 is refused, what is no UTF-8 is read as latin-1, and said
 * so. */
static char *decode_issue(GBytes *bytes, AcrConsole *console, GError **error)
{
    gsize len;
    const char *data = g_bytes_get_data(bytes, &len);
    if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
        data += 3;
        len -= 3;
    }
    if (len > 0 && memchr(data, '\0', len)) {
        g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE,
                    "the issue is not text: it holds NUL bytes");
        return NULL;
    }
    if (acr_utf8_is_text(data, len))
        return g_strndup(data ? data : "", len);
    acr_console_say(console, "acr-host run: the issue is not UTF-8, it is read as latin-1");
    return g_convert(data, (gssize)len, "UTF-8", "ISO-8859-1", NULL, NULL, error);
}

static GBytes *read_issue(const Options *options, const AcrInterrupt *interrupt, GError **error)
{
    if (options->issue_text)
        return g_bytes_new(options->issue_text, strlen(options->issue_text));
    if (strcmp(options->issue, "-") == 0)
        return acr_read_stdin(ACR_ISSUE_MAX_BYTES, interrupt, error);
    return acr_file_read(options->issue, ACR_ISSUE_MAX_BYTES, error);
}

static char *load_issue(const Options *options, const AcrInterrupt *interrupt, AcrConsole *console,
                        GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = read_issue(options, interrupt, &reason);
    if (!bytes) {
        g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE, "cannot read the issue: %s",
                    reason->message);
        return NULL;
    }
    g_autofree char *text = decode_issue(bytes, console, error);
    if (!text)
        return NULL;
    if (text[strspn(text, " \t\r\n\f\v")] == '\0') {
        g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE, "the issue is empty");
        return NULL;
    }
    return g_steal_pointer(&text);
}

static bool check(Options *options)
{
    const char *verb = acr_verb_run.name;
    if (!options->repo)
        acr_verb_usage(verb, "--repo is missing");
    else if (!options->out ||
             !*options->out) /* as a script's unset variable gives it; not the current folder */
        acr_verb_usage(verb, "--out is missing");
    else if (!options->issue == !options->issue_text)
        acr_verb_usage(verb, "give the issue by --issue FILE or by --issue-text TEXT, one of them");
    else
        return acr_run_options_check(&options->run, verb);
    return false;
}

/* Whether the patch was proved by running code, or why not. */
static void say_proof(const AcrTaskResult *result, AcrConsole *console)
{
    const char *why = result->proof_why ? result->proof_why : "nothing was run";
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
                        options->out);
        return ACR_EXIT_NONE;
    }
    say_proof(result, console);
    gsize len;
    const void *diff = g_bytes_get_data(result->diff, &len);
    return acr_out_exit(acr_out(diff, len), ACR_EXIT_OK);
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
    g_autofree char *issue = load_issue(options, program->interrupt, console, &error);
    if (!issue || !acr_http_global_init(&error)) /* before there are threads */
        return acr_verb_fail(program, acr_verb_run.name, error);
    AcrTaskOptions task = {
        .out = options->out,
        .repo = options->repo,
        .rev = options->rev,
        .issue = issue,
        .instance_id = options->instance_id,
        .models = (const char *const *)options->run.models,
        .rounds = (guint)options->run.rounds,
        .tries = (guint)options->run.tries,
        .attempts = (guint)options->run.attempts,
        .retries = (guint)options->run.client.retries,
        .verify = options->run.verify,
        .code = &options->run.code,
        .temperature = options->run.client.temperature,
        .fallback_model = options->run.fallback_model,
        .effort = options->run.client.effort,
        .key_command = options->run.client.key_command,
        .base_url = options->run.client.base_url,
        .key_file = options->run.client.key_file,
        .headers = (const char *const *)options->run.client.headers,
        .shared_dir = options->run.shared_dir,
        .retry_base_ms = options->run.client.retry_base_ms,
        .context = MAX(options->run.context, 0),
        .prompts = options->run.prompts,
        .apply = options->apply,
        .ceilings = &options->run.ceilings.ceilings,
        .price_file = options->run.client.prices,
    };
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
        {"repo", 'r', 0, G_OPTION_ARG_FILENAME, &options.repo,
         "The repository: a working tree, a bare one, or a plain folder", "DIR"},
        {"rev", 0, 0, G_OPTION_ARG_FILENAME, &options.rev,
         "Commit to work on (default: the working tree as it lies)", "REV"},
        {"issue", 'i', 0, G_OPTION_ARG_FILENAME, &options.issue,
         "File with the issue's text; - for standard input", "FILE"},
        {"issue-text", 0, 0, G_OPTION_ARG_FILENAME, &options.issue_text, "The issue's text",
         "TEXT"},
        {"out", 'o', 0, G_OPTION_ARG_FILENAME, &options.out,
         "The run folder; the same command goes on in it", "DIR"},
        {"instance-id", 0, 0, G_OPTION_ARG_FILENAME, &options.instance_id,
         "Name of a benchmark task", "ID"},
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
    if (!check(&options))
        return ACR_EXIT_USAGE;
    code = run_task(program, &options);
    acr_http_global_cleanup();
    return code;
}

const AcrVerb acr_verb_run = {"run", "Fix one issue of a repository; prints the patch", run};
