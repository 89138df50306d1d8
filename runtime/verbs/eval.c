/* acr-host eval: grades predictions for benchmark tasks. */
#include "batch/shards.h"
#include "verbs/grading.h"

#include <string.h>

#define MAX_SAID 5u /* warnings about tasks that cannot be graded */

static bool is_in_environment(const AcrRunSpec *spec)
{
    return strcmp(spec->sandbox, ACR_IN_ENVIRONMENT) == 0;
}

static int report_grades(AcrHost *host, const AcrRunSpec *spec, const AcrEvalResult *result,
                         AcrConsole *console)
{
    if (acr_interrupted(host->interrupt)) {
        acr_console_say(console, ACR_TONE_BAD, "interrupted; rerun the same command to resume");
        return ACR_EXIT_INTERRUPTED;
    }
    acr_console_end(console);
    if (!result->path) {
        acr_verb_say("'%s' has no prediction to grade", spec->out);
        return ACR_EXIT_OK;
    }
    AcrOut out = acr_verb_tell_grades(result, spec->json ? result->line : result->table);
    return acr_out_exit(out, acr_verb_grades_exit(result, ACR_EXIT_OK));
}

/* Says at once, before anything starts, what the tasks lack; refuses to start if none can be graded.
 */
static bool check_rows(const AcrEvalOptions *options, const GPtrArray *tasks,
                       const GPtrArray *predictions, GError **error)
{
    bool is_none;
    g_auto(GStrv) lacks = acr_eval_lacks(options, tasks, predictions, &is_none);
    if (is_none && lacks[0] && !lacks[1])
        return acr_task_refuse(error, "%s", lacks[0]);
    for (guint i = 0; lacks[i] && (i < MAX_SAID || is_none); i++)
        acr_verb_tell("%s: %s%s\n", g_get_prgname(), is_none ? "" : "warning: ", lacks[i]);
    return !is_none ||
           acr_task_refuse(error, "no task can be graded, as the lines above say; nothing was run");
}

static int grade(AcrHost *host, AcrRunSpec *spec, const char *recipes, const GPtrArray *tasks,
                 const GPtrArray *predictions)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrPython) python = acr_python_new(host->python_dir, &error);
    g_autoptr(AcrExtensions) extensions = NULL;
    if (!python || !acr_verb_load_extensions(host, spec, NULL, &extensions, &error))
        return acr_verb_fail(host, error);
    AcrEvalOptions options = {
        .spec = spec,
        .in_environment = is_in_environment(spec),
        .recipes = recipes,
        .host = host,
        .python = python,
        .extensions = extensions,
    };
    if (!acr_verb_check_recipes(python, spec, recipes, &error) ||
        (!spec->regrade && !check_rows(&options, tasks, predictions, &error))) {
        acr_verb_fail(host, error);
        return ACR_EXIT_USAGE;
    }
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    host->progress = acr_console_progress(console);
    g_auto(AcrEvalResult) result = {0};
    if (!acr_eval_run(&options, tasks, predictions, &result, &error)) {
        acr_console_end(console);
        if (!options.in_environment &&
            g_error_matches(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE)) {
            char *hinted = g_strconcat(
                error->message, "; without an engine, use --sandbox environment --repos DIR", NULL);
            g_free(error->message);
            error->message = hinted;
        }
        return acr_verb_fail_grading(host, error);
    }
    return report_grades(host, spec, &result, console);
}

/* Removes the predictions for tasks outside `tasks`, and returns how many it removed. */
static guint keep_predictions_of(const GPtrArray *tasks, GPtrArray *predictions)
{
    guint all = predictions->len;
    g_autoptr(GHashTable) own = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < tasks->len; i++)
        (void)g_hash_table_add(own, ((AcrInstance *)tasks->pdata[i])->instance_id);
    for (guint i = all; i-- > 0;)
        if (!g_hash_table_contains(own, ((AcrPrediction *)predictions->pdata[i])->instance_id))
            g_ptr_array_remove_index(predictions, i);
    return all - predictions->len;
}

/* Reads all instances and then selects some, so that predictions for instances that are not
 * selected are not reported as unknown. */
static bool read_tasks_and_predictions(const AcrHost *host, const AcrRunSpec *spec,
                                       GPtrArray **out_tasks, GPtrArray **out_predictions,
                                       GError **error)
{
    const char *const *only = (const char *const *)spec->instances;
    g_autofree char *unknown = NULL;
    *out_tasks = acr_dataset_load(host, spec, ACR_DATASET_GRADE, NULL, error);
    if (!*out_tasks)
        return false;
    *out_predictions =
        acr_predictions_read(spec->predictions, *out_tasks, spec->ignore_unknown, &unknown, error);
    if (!*out_predictions)
        return false;
    const char *fault = NULL;
    for (guint i = 0; !fault && i < (*out_tasks)->len; i++)
        fault = ((const AcrInstance *)(*out_tasks)->pdata[i])->fault;
    if (fault)
        acr_verb_say("warning: %s; see the column 'why'", fault);
    if (unknown)
        acr_verb_say("skipped predictions for tasks that the data set lacks %s", unknown);
    if ((only && !acr_dataset_select(*out_tasks, spec->dataset, only, error)) ||
        !acr_dataset_narrow(*out_tasks, spec, error))
        return false;
    for (guint i = 0; spec->audit > 0 && i < (*out_predictions)->len; i++)
        ((AcrPrediction *)(*out_predictions)->pdata[i])->is_reference = true;
    guint all = (*out_predictions)->len, left = keep_predictions_of(*out_tasks, *out_predictions);
    if (left)
        acr_verb_say("skipped %u of %u predictions, because their tasks are not selected", left,
                     all);
    return (*out_predictions)->len > 0 ||
           acr_task_refuse(error, "'%s' has no prediction for the selected tasks",
                           spec->predictions);
}

/* Refuses the folder of a batch for other predictions than its own, because reports would show their
 * grades as those of the batch. */
static bool check_folder(const AcrRunSpec *spec, GError **error)
{
    if (!spec->out || spec->audit > 0 || spec->regrade)
        return true;
    g_autofree char *own = g_build_filename(spec->out, ACR_FILE_PREDICTIONS, NULL),
                    *out = acr_path_real(spec->out), *from = g_path_get_dirname(spec->predictions),
                    *there = acr_path_real(from);
    return !g_file_test(own, G_FILE_TEST_EXISTS) || g_strcmp0(out, there) == 0 ||
           acr_task_refuse(error,
                           "'%s' holds a batch with its own predictions; choose another --out for "
                           "the grades of '%s'",
                           spec->out, spec->predictions);
}

/* Checks the options for grading and for the place of the tests. */
static bool check_grading_place(AcrRunSpec *spec, GError **error)
{
    if (spec->audit > 0 && !spec->predictions)
        spec->predictions = g_strdup("gold");
    if (!spec->predictions)
        return acr_task_refuse(error, "--predictions is missing");
    if (spec->audit > 0 && (spec->regrade || strcmp(spec->predictions, "gold") != 0))
        return acr_task_refuse(error, "--audit runs the reference patches: leave out %s",
                               spec->regrade ? "--regrade" : "--predictions");
    if (!check_folder(spec, error))
        return false;
    bool in_environment = is_in_environment(spec);
    if (!in_environment && strcmp(spec->sandbox, ACR_IN_CONTAINER) != 0)
        return acr_task_refuse(
            error, "--sandbox: '%s' is neither " ACR_IN_CONTAINER " nor " ACR_IN_ENVIRONMENT,
            spec->sandbox);
    if (in_environment && !spec->repos && !spec->regrade)
        return acr_task_refuse(error, "--sandbox " ACR_IN_ENVIRONMENT " needs --repos");
    if (spec->setup && (!spec->image || !spec->repos))
        return acr_task_refuse(error, "--setup needs --base-image and --repos");
    return true;
}

/* Keeps only the tasks and predictions of this shard, if there are several shards. */
static bool enter_shard(AcrRunSpec *spec, const char *recipes, GPtrArray *tasks,
                        GPtrArray *predictions, AcrLock **out_lock, GError **error)
{
    g_autofree char *options = acr_eval_bound(spec, is_in_environment(spec), recipes),
                    *digest = acr_predictions_digest(predictions);
    const AcrShardBound bound = {options, digest};
    g_autoptr(AcrJson) note = NULL;
    if (!acr_shard_narrow(spec, &bound, tasks, &note, error) ||
        (note && !acr_shard_lock(spec, note, out_lock, error))) /* acr_eval_run locks otherwise */
        return false;
    (void)keep_predictions_of(tasks, predictions);
    return true;
}

static int run_eval(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) predictions = NULL, tasks = NULL;
    g_autoptr(AcrLock) shard = NULL;
    g_autofree char *recipes = NULL;
    if (!check_grading_place(spec, &error) || !acr_verb_check_grading(spec, &recipes, &error) ||
        !read_tasks_and_predictions(host, spec, &tasks, &predictions, &error)) {
        acr_verb_fail(host, error);
        return ACR_EXIT_USAGE;
    }
    if (!enter_shard(spec, recipes, tasks, predictions, &shard, &error))
        return acr_verb_fail_grading(host, error);
    return grade(host, spec, recipes, tasks, predictions);
}

const AcrVerb acr_verb_eval = {
    .name = "eval",
    .summary = "Grade predictions for benchmark tasks",
    .takes = ACR_FOR_EVAL,
    .uses_network = true,
    .examples = {{"Grade predictions without a container engine",
                  "eval --dataset tasks.jsonl --predictions preds.jsonl --run-id 1 --out out "
                  "--sandbox environment --repos repos"}},
    .exits =
        "0 the predictions are graded, resolved or not, 3 some could not be graded on this machine",
    .run = run_eval,
};
