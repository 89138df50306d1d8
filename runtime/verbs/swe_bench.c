/*
 * acr-host swe-bench: benchmark tasks, many at a time, and their predictions.
 */
#include "verbs/verbs_private.h"

#include "batch/batch.h"

/* What is shown while tasks run. */
typedef struct {
    AcrConsole *console;
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

static void on_task(void *ctx, const AcrInstance *instance, const AcrRunResult *result, guint ended,
                    guint total)
{
    Watch *watch = ctx;
    watch->patches += result->exit_code == ACR_EXIT_OK;
    watch->cost_microusd += acr_microusd(result->cost.usage.cost_pico);
    watch->tokens += acr_usage_tokens(&result->cost.usage);
    if (result->error) {
        acr_console_say(watch->console, "%u/%u %s: exit %d: %s", ended, total,
                        instance->instance_id, result->exit_code, result->error);
    } else {
        const char *word = !result->found.diff                      ? "no patch"
                           : result->verdict == ACR_VERDICT_REFUSED ? "the patch was rejected"
                                                                    : "patch";
        g_autofree char *line =
            g_strdup_printf("%u/%u %s: %s", ended, total, instance->instance_id, word);
        acr_console_log(watch->console, line);
    }
    show(watch, ended, total);
}

static int report(AcrHost *host, const AcrRunSpec *spec, const AcrBatchResult *result,
                  AcrConsole *console)
{
    g_autofree char *stopped = result->stopped
                                   ? g_strdup_printf(", %u stopped at a ceiling", result->stopped)
                                   : g_strdup("");
    acr_console_say(
        console,
        "%u tasks: %u with a patch, %u without, %u failed%s; predictions in '%s/preds.jsonl'",
        result->tasks, result->patches, result->without, result->failed, stopped, spec->out);
    if (acr_interrupted(host->interrupt))
        return ACR_EXIT_INTERRUPTED;
    if (result->paused)
        acr_console_say(console,
                        "paused with %u tasks not started; rerun the same command to resume: %s",
                        result->not_begun, result->paused);
    if (result->stopped && !result->paused)
        return ACR_EXIT_CEILING;
    return result->failed ? ACR_EXIT_ENVIRONMENT : result->patches ? ACR_EXIT_OK : ACR_EXIT_NONE;
}

/* What would fail each task is reported before the first. */
static bool check(const AcrHost *host, const AcrRunSpec *spec, GError **error)
{
    g_autoptr(AcrPrompts) prompts = acr_prompts_load(host->prompts_dir, spec->prompts, error);
    for (guint i = 0; prompts && spec->models[i]; i++)
        if (!acr_llm_check_name(spec->models[i], error))
            return false;
    return prompts && (!spec->fallback_model || acr_llm_check_name(spec->fallback_model, error));
}

static int run(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrConsole) console = acr_console_new(spec->verbose);
    g_autoptr(GPtrArray) instances = acr_dataset_read(spec->dataset, ACR_DATASET_SOLVE,
                                                      (const char *const *)spec->instances, &error);
    if (!instances) {
        acr_verb_fail(host, error);
        return ACR_EXIT_USAGE;
    }
    if (!check(host, spec, &error))
        return acr_verb_fail(host, error);
    Watch watch = {.console = console};
    AcrBatchOptions batch = {
        .exe = host->exe,
        .spec = spec,
        .interrupt = host->interrupt,
        .on_task = on_task,
        .on_task_ctx = &watch,
    };
    show(&watch, 0, instances->len);
    g_auto(AcrBatchResult) result = {0};
    if (!acr_batch_run(&batch, instances, &result, &error)) {
        acr_console_end(console);
        return acr_verb_fail(host, error);
    }
    return report(host, spec, &result, console);
}

const AcrVerb acr_verb_swe_bench = {
    .name = "swe-bench",
    .summary = "Run benchmark tasks and write their predictions",
    .takes = ACR_FOR_SWE_BENCH,
    .run = run,
};
