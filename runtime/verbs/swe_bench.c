/*
 * acr-host swe-bench: benchmark tasks, many at a time, and their predictions.
 */
#include "verbs/verbs_private.h"

#include "batch/batch.h"

#define MAX_COST_BYTES (1024u * 1024)
#define LEDGER_SCOPE "batch"

typedef struct {
    char *dataset, *repos, *out;
    char **instances;
    int jobs;
    AcrRunOptions run;
} Options;

static void options_clear(Options *options)
{
    g_free(options->dataset);
    g_free(options->repos);
    g_free(options->out);
    g_strfreev(options->instances);
    acr_run_options_clear(&options->run);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Options, options_clear)

static bool check(Options *options)
{
    const char *verb = acr_verb_swe_bench.name;
    if (!options->dataset)
        acr_verb_usage(verb, "--dataset is missing");
    else if (!options->repos)
        acr_verb_usage(verb, "--repos is missing");
    else if (!options->out ||
             !*options->out) /* as a script's unset variable gives it; not the current folder */
        acr_verb_usage(verb, "--out is missing");
    else if (options->jobs < 1 || options->jobs > (int)ACR_BATCH_MAX_JOBS)
        acr_verb_usage(verb, "--jobs must be from 1 to %u, not %d", ACR_BATCH_MAX_JOBS,
                       options->jobs);
    else
        return acr_run_options_check(&options->run, verb);
    return false;
}

/* What is shown while tasks run. */
typedef struct {
    AcrConsole *console;
    const char *out;
    guint patches;
    gint64 cost_microusd, tokens;
} Watch;

static void show(const Watch *watch, guint ended, guint total)
{
    g_autofree char *text =
        g_strdup_printf("%u of %u tasks · %u with a patch", ended, total, watch->patches);
    acr_console_status(watch->console, text);
    const AcrProgress *progress = acr_console_progress(watch->console);
    progress->cost(progress->ctx, watch->cost_microusd, watch->tokens);
}

/* Adds what a task used, as its run folder says. */
static void add_cost(Watch *watch, const char *instance_id)
{
    g_autofree char *path = g_build_filename(watch->out, instance_id, "cost.json", NULL);
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_COST_BYTES, NULL);
    gsize len = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    g_autoptr(AcrJson) cost = data ? acr_json_parse(data, len, NULL) : NULL;
    const AcrJson *total = acr_json_get(cost, "total");
    watch->cost_microusd += acr_json_get_int(total, "cost_microusd", 0);
    watch->tokens +=
        acr_json_get_int(total, "input_tokens", 0) + acr_json_get_int(total, "cached_tokens", 0) +
        acr_json_get_int(total, "written_tokens", 0) + acr_json_get_int(total, "output_tokens", 0);
}

static void on_task(void *ctx, const AcrInstance *instance, int exit_code, const char *said,
                    guint ended, guint total)
{
    Watch *watch = ctx;
    watch->patches += exit_code == 0;
    add_cost(watch, instance->instance_id);
    if (exit_code == 0 || exit_code == 1) {
        g_autofree char *line = g_strdup_printf("%u/%u %s: %s", ended, total, instance->instance_id,
                                                exit_code == 0 ? "patch" : "no patch");
        acr_console_log(watch->console, line);
    } else {
        acr_console_say(watch->console, "%u/%u %s: exit %d: %s", ended, total,
                        instance->instance_id, exit_code, said);
    }
    show(watch, ended, total);
}

/* What the batch may use. */
typedef struct {
    const AcrCeilingOptions *options;
    const char *ledger;
} Limits;

static bool is_spent(gint64 ceiling, gint64 spent)
{
    return ceiling >= 0 && spent >= ceiling;
}

/* Whether nothing is left of what the batch may use, so that no further task is begun. What other
 * tasks hold may come back: only what is spent counts. */
static bool is_over(void *ctx)
{
    const Limits *limits = ctx;
    const AcrAmount *ceiling = &limits->options->ceilings.run;
    gint64 deadline_us = limits->options->deadline_us;
    AcrAmount spent, reserved;
    if (deadline_us > 0 && g_get_monotonic_time() >= deadline_us)
        return true;
    if ((ceiling->pico < 0 && ceiling->tokens < 0) ||
        !g_file_test(limits->ledger, G_FILE_TEST_EXISTS))
        return false;
    g_autoptr(AcrBudget) budget = acr_budget_new();
    return acr_budget_add(budget, limits->ledger, LEDGER_SCOPE, ceiling, NULL) &&
           acr_budget_sums(budget, LEDGER_SCOPE, &spent, &reserved, NULL) &&
           (is_spent(ceiling->pico, spent.pico) || is_spent(ceiling->tokens, spent.tokens));
}

/* Makes the batch's ledger where a ceiling needs it: tasks only find it, so that one that is
 * removed meanwhile is not begun anew with nothing spent. */
static bool make_ledger(const Limits *limits, GError **error)
{
    const AcrAmount *ceiling = &limits->options->ceilings.run;
    g_autoptr(AcrBudget) budget = acr_budget_new();
    return (ceiling->pico < 0 && ceiling->tokens < 0) ||
           acr_budget_add(budget, limits->ledger, LEDGER_SCOPE, ceiling, error);
}

static int run_batch(const AcrProgram *program, const Options *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrConsole) console = acr_console_new(options->run.verbose);
    g_autoptr(GPtrArray) instances =
        acr_dataset_read(options->dataset, (const char *const *)options->instances, &error);
    if (!instances) {
        acr_verb_fail(program, acr_verb_swe_bench.name, error);
        return ACR_EXIT_USAGE;
    }
    g_autoptr(GPtrArray) arguments = g_ptr_array_new_with_free_func(g_free);
    acr_run_options_to_argv(&options->run, arguments);
    guint own_share = MAX(g_get_num_processors() / (guint)options->jobs, 1);
    g_ptr_array_add(arguments, g_strdup_printf("--jobs=%u", MIN(own_share, ACR_OUTLINE_MAX_JOBS)));
    g_autofree char *shared = g_build_filename(options->out, "shared", NULL);
    g_autofree char *ledger = g_build_filename(shared, "ledger.jsonl", NULL);
    if (!acr_dir_make(shared, &error))
        return acr_verb_fail(program, acr_verb_swe_bench.name, error);
    acr_ceiling_options_to_argv(&options->run.ceilings, ledger, arguments);
    g_ptr_array_add(arguments, NULL);
    g_autofree char *model_name = g_strjoinv("+", options->run.models_as_given);
    Watch watch = {.console = console, .out = options->out};
    Limits limits = {&options->run.ceilings, ledger};
    AcrBatchOptions batch = {
        .exe = program->exe,
        .repos = options->repos,
        .out = options->out,
        .model_name = model_name,
        .models = (const char *const *)options->run.models,
        .arguments = (const char *const *)arguments->pdata,
        .shared_dir = shared,
        .jobs = (guint)options->jobs,
        .is_over = is_over,
        .is_over_ctx = &limits,
        .interrupt = program->interrupt,
        .on_task = on_task,
        .on_task_ctx = &watch,
    };
    if (!make_ledger(&limits, &error))
        return acr_verb_fail(program, acr_verb_swe_bench.name, error);
    show(&watch, 0, instances->len);
    g_auto(AcrBatchResult) result = {0};
    if (!acr_batch_run(&batch, instances, &result, &error))
        return acr_verb_fail(program, acr_verb_swe_bench.name, error);
    g_autofree char *stopped = result.stopped
                                   ? g_strdup_printf(", %u stopped at a ceiling", result.stopped)
                                   : g_strdup("");
    acr_console_say(
        console,
        "%u tasks: %u with a patch, %u without, %u failed%s; predictions in '%s/preds.jsonl'",
        result.tasks, result.patches, result.without, result.failed, stopped, options->out);
    if (acr_interrupted(program->interrupt))
        return ACR_EXIT_INTERRUPTED;
    if (result.paused)
        acr_console_say(console, "paused with %u tasks not begun; the same command goes on: %s",
                        result.not_begun, result.paused);
    if (result.stopped && !result.paused)
        return ACR_EXIT_CEILING;
    return result.failed ? ACR_EXIT_ENVIRONMENT : result.patches ? ACR_EXIT_OK : ACR_EXIT_NONE;
}

static int run(const AcrProgram *program, int argc, char **argv)
{
    g_auto(Options) options = {.jobs = 1, .run = ACR_RUN_OPTIONS_INIT};
    const GOptionEntry own[] = {
        {"dataset", 'd', 0, G_OPTION_ARG_FILENAME, &options.dataset,
         "Tasks: a JSON list or JSON lines of SWE-bench rows", "FILE"},
        {"repos", 'r', 0, G_OPTION_ARG_FILENAME, &options.repos,
         "Repositories: DIR/owner/name, owner+name or owner__name, with or without .git", "DIR"},
        {"instance", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.instances,
         "Only this task; may be given again", "ID"},
        {"out", 'o', 0, G_OPTION_ARG_FILENAME, &options.out,
         "Folder of the run folders and preds.jsonl", "DIR"},
        {"jobs", 'j', 0, G_OPTION_ARG_INT, &options.jobs, "Tasks at a time (default 1)", "N"},
        {"task-max-cost", 0, 0, G_OPTION_ARG_STRING, &options.run.ceilings.task_cost,
         "As --max-cost, of each task; --max-cost is that of all together", "USD"},
        {"task-max-tokens", 0, 0, G_OPTION_ARG_STRING, &options.run.ceilings.task_tokens,
         "As --max-tokens-total, of each task", "N"},
        {"task-max-time", 0, 0, G_OPTION_ARG_STRING, &options.run.ceilings.task_time,
         "As --max-time, of each task", "SECONDS"},
        G_OPTION_ENTRY_NULL,
    };
    g_autofree GOptionEntry *entries = acr_run_option_entries(&options.run, own);
    int code;
    acr_run_options_expand(argc, argv);
    if (!acr_options_parse(&acr_verb_swe_bench, "", entries, &argc, &argv, &code))
        return code;
    if (argc > 1)
        return acr_verb_usage(acr_verb_swe_bench.name, "unexpected argument '%s'", argv[1]);
    return check(&options) ? run_batch(program, &options) : ACR_EXIT_USAGE;
}

const AcrVerb acr_verb_swe_bench = {"swe-bench", "Run benchmark tasks and write their predictions",
                                    run};
