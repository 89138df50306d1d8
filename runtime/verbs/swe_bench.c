/* acr-host swe-bench: runs benchmark tasks, many at a time, and writes their predictions. */
#include <string.h>

#include "batch/batch_summary.h"
#include "batch/shards.h"
#include "layout/layout.h"
#include "llm/batch_broker.h"
#include "task/run_folder.h"
#include "verbs/batch_tools.h"

static void log_summary(AcrConsole *console, const AcrBatchSummary *summary, const char *out)
{
    gint64 charged = acr_batch_charged(out, ""),
           unanswered = charged - acr_batch_summary_answered(summary);
    g_autofree char *text = acr_batch_summary_text(summary);
    g_auto(GStrv) lines = g_strsplit(g_strchomp(text), "\n", -1);
    for (guint i = 0; lines[i]; i++)
        acr_console_log(console, "%s", lines[i]);
    if (unanswered > 0)
        acr_console_log(console, "%.6f USD charged (%.6f USD of it for calls without an answer)",
                        (double)charged / 1e6, (double)unanswered / 1e6);
    g_autofree char *warning = acr_batch_summary_warning(summary);
    if (warning)
        acr_console_say(console, ACR_TONE_BAD, "warning: %s", warning);
}

/* Warns if the tasks' code ran in another place than the one that grading uses, because code may
 * pass in one place and fail in the other. */
static void warn_of_place(const AcrHost *host, const AcrRunSpec *spec, const AcrBatchRows *rows)
{
    bool runs_code = spec->verify != ACR_VERIFY_NEVER || spec->validate ||
                     acr_run_spec_regressions(spec) != ACR_VERIFY_NEVER ||
                     acr_run_spec_sbfl(spec) != ACR_VERIFY_NEVER;
    const char *graded =
        spec->grade == ACR_GRADE_IN_ENVIRONMENT ? ACR_IN_ENVIRONMENT : ACR_IN_CONTAINER;
    g_autofree char *line =
        g_strdup_printf("warning: --grade runs the tests in the %s, but the runs themselves do not "
                        "use it; add --sandbox auto",
                        graded);
    if (runs_code && spec->grade >= 0 && !spec->image && !spec->python &&
        g_strcmp0(rows->place, graded) != 0)
        acr_progress_warn(host->progress, line);
}

/* Reports the result of the batch, and returns its exit code. */
static int report_batch(AcrHost *host, const AcrRunSpec *spec, const AcrBatchResult *result,
                        AcrConsole *console)
{
    g_autoptr(GString) also = g_string_new(NULL), rejected = g_string_new(NULL);
    g_autofree char *place =
        spec->reproduce_only
            ? g_strdup_printf("scripts in '%s/ID/" ACR_FILE_SCRIPT "'", spec->out)
            : g_strdup_printf("predictions in '%s/" ACR_FILE_PREDICTIONS "'", spec->out);
    if (result->rejected)
        g_string_append_printf(rejected, " (%u refused by the run itself)", result->rejected);
    if (result->stopped)
        g_string_append_printf(also, ", %u stopped at a ceiling", result->stopped);
    if (result->interrupted)
        g_string_append_printf(also, ", %u interrupted", result->interrupted);
    if (result->not_begun)
        g_string_append_printf(also, ", %u not begun", result->not_begun);
    acr_console_say(console, ACR_TONE_PLAIN,
                    "%u task%s: %u with a %s%s, %u without, %u failed%s; %s", result->tasks,
                    result->tasks == 1 ? "" : "s", result->patches,
                    spec->reproduce_only ? "script" : "patch", rejected->str, result->without,
                    result->failed, also->str, place);
    if (acr_interrupted(host->interrupt)) {
        acr_console_log(console,
                        "interrupted; %u task%s not begun; rerun the same command to resume",
                        result->not_begun, result->not_begun == 1 ? "" : "s");
        return ACR_EXIT_INTERRUPTED;
    }
    if (result->paused)
        acr_console_say(console, ACR_TONE_BAD,
                        "paused; %u task%s not begun; rerun the same command to resume: %s",
                        result->not_begun, result->not_begun == 1 ? "" : "s", result->paused);
    if ((result->stopped || result->is_limited) && !result->paused)
        return ACR_EXIT_CEILING;
    return result->failed                       ? ACR_EXIT_ENVIRONMENT
           : result->patches > result->rejected ? ACR_EXIT_OK
                                                : ACR_EXIT_NONE;
}

/* Checks that a task can run, that each task has a repository, and that the programs and extensions
 * in options exist. */
static bool check_named_for_batch(AcrHost *host, const AcrRunSpec *spec, const GPtrArray *instances,
                                  GError **error)
{
    g_autoptr(AcrExtensions) unused = NULL;
    if (spec->json && (spec->dry_run || spec->sbfl_only || spec->extract_patches))
        return acr_task_refuse(error, "--json prints the summary of a batch: leave out --dry-run, "
                                      "--sbfl-only and --extract-patches");
    if (!acr_dataset_check_faults(instances, error) ||
        !acr_dataset_check_repos(spec->repos, instances, error) ||
        !acr_task_check_named(spec, NULL, error))
        return false;
    for (guint i = 0; spec->extensions && i < instances->len; i++) {
        g_autofree char *repo =
            acr_dataset_repo(spec->repos, ((const AcrInstance *)instances->pdata[i])->repo);
        if (!acr_extensions_check_files((const char *const *)spec->extensions, repo, error))
            return false;
    }
    return acr_verb_load_extensions(host, spec, NULL, &unused, error);
}

/* Rejects names of models that would make every task fail, before anything is written. *out_digest
 * (owned) is a digest of the options that all tasks share. */
static bool check_names(const AcrHost *host, const AcrRunSpec *spec, char **out_digest,
                        GError **error)
{
    g_autoptr(AcrPrompts) prompts = acr_prompts_load(host->prompts_dir, spec->prompts, error);
    for (guint i = 0; prompts && spec->models[i]; i++) {
        if (!acr_llm_check_name(spec->models[i], error))
            return false;
        if (spec->batch_api && g_str_has_prefix(spec->models[i], "script:"))
            return acr_task_refuse(error,
                                   "--batch-api needs a provider's batch interface; leave "
                                   "it out with '%s'",
                                   spec->models[i]);
    }
    *out_digest = prompts ? acr_meta_digest(spec, prompts) : NULL;
    return prompts && (!spec->fallback_model || acr_llm_check_name(spec->fallback_model, error));
}

/* Rejects models that no task could use (a missing key, a missing file of answers), before the
 * first task starts. A batch without unfinished tasks needs no model. */
static bool check_batch_models(const AcrHost *host, const AcrRunSpec *spec, const GPtrArray *left,
                               GError **error)
{
    g_autoptr(AcrJson) unused = NULL;
    return left->len == 0 || acr_task_plan_models(spec, host, &unused, error);
}

/* With --json, prints the summary. Returns the exit code. */
static int print_summary(const AcrRunSpec *spec, const AcrBatchSummary *summary, AcrExit code)
{
    g_autoptr(AcrJson) json = acr_batch_summary_json(summary);
    return acr_out_exit(spec->json ? acr_out_json(json) : ACR_OUT_WRITTEN, code);
}

/* Prints the grades, unless the batch was interrupted, or the summary, and returns the exit code. */
static int report_grades(AcrHost *host, const AcrRunSpec *spec, AcrBatchGrading *grading,
                         const AcrBatchSummary *summary, int code)
{
    g_autoptr(GError) error = NULL;
    if (grading && code != ACR_EXIT_INTERRUPTED &&
        !acr_batch_grading_finish(grading, code, &code, &error))
        return acr_verb_fail_grading(host, error);
    return print_summary(spec, summary, (AcrExit)code);
}

static void note_batch(void *ctx, const char *line)
{
    acr_console_log(ctx, "%s", line);
}

/* Starts the broker of --batch-api, to which the tasks send their model calls; owned. */
static AcrBatchBroker *start_broker(AcrHost *host, AcrRunSpec *spec, AcrConsole *console,
                                    char **out_path, GError **error)
{
    g_autofree char *shared = acr_batch_shared_dir(spec->out);
    *out_path = g_build_filename(shared, ACR_FILE_BATCHES, NULL);
    AcrBatchBrokerOptions options = {.path = *out_path,
                                     .scale_ms = MAX(spec->retry_base_ms, 0),
                                     .interrupt = host->interrupt,
                                     .on_note = note_batch,
                                     .ctx = console};
    AcrBatchBroker *broker =
        acr_dir_make(shared, error) ? acr_batch_broker_start(&options, error) : NULL;
    if (broker)
        spec->batch_broker = g_strdup(acr_batch_broker_address(broker));
    return broker;
}

/* Runs the tasks, grades their predictions, and returns the exit code. */
static int run_batch(AcrHost *host, AcrRunSpec *spec, const GPtrArray *instances,
                     const GPtrArray *left, char **ids)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    g_autoptr(AcrBatchSummary) summary = acr_batch_summary_open(spec->out, &error);
    if (!summary)
        return acr_verb_fail(host, error);
    acr_batch_summary_describe(summary, spec, ids);
    g_auto(AcrBatchResult) result = {0};
    g_autoptr(AcrBatchRows) rows = NULL;
    g_autoptr(AcrBatchGrading) grading = NULL;
    host->progress = acr_console_progress(console);
    bool needs_rows = acr_batch_needs_rows(spec), is_graded = spec->grade >= 0;
    if (needs_rows)
        rows = acr_batch_rows_new(host, spec, instances, &error);
    if (rows && is_graded)
        grading = acr_batch_grading_new(rows, &result.spent.cost_microusd, &error);
    if ((needs_rows && !rows) || (is_graded && !grading) ||
        (rows && !acr_batch_rows_check(rows, left, &error))) {
        acr_console_end(console);
        return acr_verb_fail_grading(host, error);
    }
    acr_dataset_find_commits(spec->repos, spec->out, left);
    g_autofree char *faults = acr_dataset_faults(instances);
    if (faults)
        acr_progress_warn(host->progress, faults);
    if (is_graded && !spec->quiet)
        warn_of_place(host, spec, rows);
    AcrBatchOptions batch = {
        .exe = host->exe,
        .spec = spec,
        .interrupt = host->interrupt,
        .progress = host->progress,
        .summary = summary,
        .place_task = rows && rows->place ? acr_batch_rows_place : NULL,
        .place_ctx = rows,
        .after_task = grading ? acr_batch_grading_take
                      : rows  ? acr_batch_rows_release
                              : NULL,
        .after_task_ctx = grading ? (void *)grading : rows,
    };
    g_autofree char *batches = NULL;
    g_autoptr(AcrBatchBroker) broker = NULL;
    if (spec->batch_api && !(broker = start_broker(host, spec, console, &batches, &error)))
        return acr_verb_fail(host, error);
    bool ok = acr_batch_run(&batch, instances, &result, &error);
    acr_console_end(console);
    if (!ok)
        return acr_verb_fail(host, error);
    log_summary(console, summary, spec->out);
    if (spec->history == ACR_HISTORY_AUTO)
        acr_console_log(console, "--history was set: the models could read git's history");
    int code = report_batch(host, spec, &result, console);
    return report_grades(host, spec, grading, summary, code);
}

/* Ends a shard that has no tasks to run. Writes earlier or empty results, so that the shard is not
 * missing in a merge. */
static int end_without_tasks(AcrHost *host, const AcrRunSpec *spec, const GPtrArray *instances)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrBatchSummary) summary = acr_batch_summary_open(spec->out, &error);
    if (!summary || !acr_predictions_write(spec, instances, &error) ||
        !acr_batch_summary_write(summary, &error))
        return acr_verb_fail(host, error);
    acr_verb_say("no task in '%s' %s", spec->out,
                 spec->retry_failed ? "has failed" : "belongs to this batch");
    return print_summary(spec, summary, ACR_EXIT_OK);
}

/* Rejects options that differ from those of the first task that has a run folder, and rows with
 * another issue or commit than the run folder of their task, before anything is written. */
static bool check_begun_tasks(const AcrRunSpec *spec, const GPtrArray *instances, GError **error)
{
    bool is_checked = false;
    for (guint i = 0; spec->out && i < instances->len; i++) {
        const AcrInstance *instance = instances->pdata[i];
        g_autofree char *path =
            g_build_filename(spec->out, instance->instance_id, ACR_FILE_META, NULL);
        g_autoptr(GBytes) bytes = acr_file_read(path, ACR_META_MAX_BYTES, NULL);
        g_autoptr(AcrJson) meta = bytes ? acr_json_parse_bytes(bytes, NULL) : NULL;
        if (meta && !is_checked && !acr_meta_check_batch(meta, spec, error))
            return false;
        if (meta && !instance->fault &&
            !acr_meta_check_task(meta, instance->instance_id, instance->problem_statement,
                                 instance->base_commit, error))
            return false;
        is_checked = is_checked || meta;
    }
    return true;
}

/* Prints the plan of the batch, after the same checks as for a real batch. */
static int dry_run_batch(AcrHost *host, AcrRunSpec *spec, const GPtrArray *instances,
                         const GPtrArray *left)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) plan = NULL;
    if (!check_begun_tasks(spec, instances, &error) ||
        !acr_task_plan_models(spec, host, &plan, &error))
        return acr_verb_fail(host, error);
    bool needs_rows = acr_batch_needs_rows(spec);
    g_autoptr(AcrBatchRows) rows =
        needs_rows ? acr_batch_rows_new(host, spec, instances, &error) : NULL;
    if (needs_rows && (!rows || !acr_batch_rows_check(rows, left, &error)))
        return acr_verb_fail_grading(host, error);
    g_autofree char *text =
        acr_dry_run_of_batch(spec, instances->len, left, rows ? rows->place : NULL, plan);
    return acr_out_exit(acr_out_text(text), ACR_EXIT_OK);
}

static int fail_shard(AcrHost *host, const GError *error)
{
    int code = acr_verb_fail(host, error);
    return error->domain == ACR_BATCH_ERROR ? ACR_EXIT_USAGE : code;
}

static int run_swe_bench(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) instances = acr_dataset_load(host, spec, ACR_DATASET_SOLVE, NULL, &error);
    g_auto(GStrv) ids = acr_dataset_ids(instances);
    g_autoptr(AcrLock) lock = NULL;
    g_autoptr(AcrJson) note = NULL;
    g_autofree char *digest = NULL;
    if (!ids || !acr_dataset_narrow(instances, spec, &error)) {
        (void)acr_verb_fail(host, error);
        return ACR_EXIT_USAGE;
    }
    if (!check_named_for_batch(host, spec, instances, &error))
        return acr_verb_fail(host, error);
    if (spec->sbfl_only || spec->extract_patches)
        return acr_batch_tools_run(host, spec, instances, ids);
    if (!check_names(host, spec, &digest, &error))
        return acr_verb_fail(host, error);
    const AcrShardBound bound = {.options = digest};
    if (!acr_shard_narrow(spec, &bound, instances, &note, &error))
        return fail_shard(host, error);
    g_autoptr(GPtrArray) left = acr_batch_unfinished(spec->out, instances);
    if (spec->dry_run) {
        acr_dataset_find_commits(spec->repos, spec->out, left);
        return dry_run_batch(host, spec, instances, left);
    }
    if (!check_batch_models(host, spec, left, &error))
        return acr_verb_fail(host, error);
    if (!acr_shard_lock(spec, note, &lock, &error))
        return fail_shard(host, error);
    if (!check_begun_tasks(spec, instances, &error))
        return acr_verb_fail(host, error);
    return instances->len > 0 ? run_batch(host, spec, instances, left, ids)
                              : end_without_tasks(host, spec, instances);
}

const AcrVerb acr_verb_swe_bench = {
    .name = "swe-bench",
    .summary = "Run benchmark tasks and write predictions",
    .takes = ACR_FOR_SWE_BENCH,
    .uses_network = true, /* for container engines */
    .examples = {{"Run a benchmark, four tasks at once, and grade each patch in its container",
                  "swe-bench --dataset tasks.jsonl --repos repos --model openai/gpt-4.1 --out out "
                  "--jobs 4 --grade"}},
    .exits = "0 a patch that its run did not refuse, 1 no such patch, 3 a task failed, 4 a ceiling "
             "stopped a task",
    .run = run_swe_bench,
};
