/*
 * acr-host swe-bench: benchmark tasks, many at a time, and their predictions.
 */
#include "verbs/verbs_private.h"

#include "batch/batch.h"

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
    else if (!options->out)
        acr_verb_usage(verb, "--out is missing");
    else if (options->jobs < 1 || options->jobs > (int)ACR_BATCH_MAX_JOBS)
        acr_verb_usage(verb, "--jobs must be from 1 to %u, not %d", ACR_BATCH_MAX_JOBS, options->jobs);
    else
        return acr_run_options_check(&options->run, verb);
    return false;
}

static void on_task(void *ctx, const AcrInstance *instance, int exit_code, const char *said, guint ended, guint total)
{
    static const char *const words[] = {"patch", "no patch"};
    if (exit_code == 0 || exit_code == 1)
        acr_console_say(ctx, "%u/%u %s: %s", ended, total, instance->instance_id, words[exit_code]);
    else
        acr_console_say(ctx, "%u/%u %s: exit %d: %s", ended, total, instance->instance_id, exit_code, said);
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
    g_ptr_array_add(arguments, NULL);
    g_autofree char *model_name = g_strjoinv("+", options->run.models_as_given);
    AcrBatchOptions batch = {
        .exe = program->exe,
        .repos = options->repos,
        .out = options->out,
        .model_name = model_name,
        .arguments = (const char *const *)arguments->pdata,
        .jobs = (guint)options->jobs,
        .interrupt = program->interrupt,
        .on_task = on_task,
        .on_task_ctx = console,
    };
    AcrBatchResult result;
    if (!acr_batch_run(&batch, instances, &result, &error))
        return acr_verb_fail(program, acr_verb_swe_bench.name, error);
    acr_console_say(console, "%u tasks: %u with a patch, %u without, %u failed; predictions in '%s/preds.jsonl'",
                    result.tasks, result.patches, result.without, result.failed, options->out);
    if (acr_interrupted(program->interrupt))
        return ACR_EXIT_INTERRUPTED;
    return result.failed ? ACR_EXIT_ENVIRONMENT : result.patches ? ACR_EXIT_OK : ACR_EXIT_NONE;
}

static int run(const AcrProgram *program, int argc, char **argv)
{
    g_auto(Options) options = {.jobs = 1, .run = ACR_RUN_OPTIONS_INIT};
    const GOptionEntry own[] = {
        {"dataset", 'd', 0, G_OPTION_ARG_FILENAME, &options.dataset, "Tasks: a JSON list or JSON lines of SWE-bench rows", "FILE"},
        {"repos", 'r', 0, G_OPTION_ARG_FILENAME, &options.repos,
         "Repositories: DIR/owner/name, owner+name or owner__name, with or without .git", "DIR"},
        {"instance", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.instances, "Only this task; may be given again", "ID"},
        {"out", 'o', 0, G_OPTION_ARG_FILENAME, &options.out, "Folder of the run folders and preds.jsonl", "DIR"},
        {"jobs", 'j', 0, G_OPTION_ARG_INT, &options.jobs, "Tasks at a time (default 1)", "N"},
        G_OPTION_ENTRY_NULL,
    };
    g_autofree GOptionEntry *entries = acr_run_option_entries(&options.run, own);
    int code;
    if (!acr_options_parse(&acr_verb_swe_bench, "", entries, &argc, &argv, &code))
        return code;
    if (argc > 1)
        return acr_verb_usage(acr_verb_swe_bench.name, "unexpected argument '%s'", argv[1]);
    return check(&options) ? run_batch(program, &options) : ACR_EXIT_USAGE;
}

const AcrVerb acr_verb_swe_bench = {"swe-bench", "Run benchmark tasks and write their predictions", run};
