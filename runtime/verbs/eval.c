/*
 * acr-host eval: grades predictions for benchmark tasks.
 */
#include "verbs/verbs_private.h"

#include <string.h>

#include "eval/eval.h"

#define CONTAINER "container"
#define ENVIRONMENT "environment"
#define MAX_RECIPES_BYTES ((gsize)16 * 1024 * 1024)

/* What is shown while predictions are graded. */
typedef struct {
    AcrConsole *console;
    guint resolved;
} Watch;

static void on_graded(void *ctx, const AcrPrediction *prediction, const AcrGraded *graded,
                      guint ended, guint total)
{
    Watch *watch = ctx;
    watch->resolved += graded->grade == ACR_GRADE_RESOLVED;
    g_autofree char *line =
        g_strdup_printf("%u/%u %s: %s%s%s%s", ended, total, prediction->instance_id,
                        acr_grade_name(graded->grade), graded->is_kept ? " (kept)" : "",
                        graded->error ? ": " : "", graded->error ? graded->error : "");
    g_autofree char *status =
        g_strdup_printf("%u of %u graded · %u resolved", ended, total, watch->resolved);
    if (graded->error)
        acr_console_say(watch->console, "%s", line);
    else
        acr_console_log(watch->console, line);
    acr_console_status(watch->console, status);
}

static int report(AcrHost *host, const AcrRunSpec *spec, const AcrEvalResult *result,
                  AcrConsole *console)
{
    if (acr_interrupted(host->interrupt)) {
        acr_console_say(console, "interrupted; rerun the same command to resume");
        return ACR_EXIT_INTERRUPTED;
    }
    acr_console_say(console,
                    "%u of %u tasks resolved: %u unresolved, %u with an error, %u with an empty "
                    "patch, %u without a prediction; report in '%s'",
                    result->resolved, result->tasks, result->unresolved, result->errors,
                    result->empty, result->tasks - result->predictions, result->path);
    acr_console_end(console);
    g_autofree char *line = g_strconcat(result->line, "\n", NULL);
    return acr_out_exit(spec->json ? acr_out_text(line) : ACR_OUT_WRITTEN, ACR_EXIT_OK);
}

/* A name that is one part of a path. */
static bool check_run_id(const char *id, GError **error)
{
    bool is_safe = *id && *id != '.' && strlen(id) <= 200;
    for (const char *at = id; *at; at++)
        is_safe = is_safe && (g_ascii_isalnum(*at) || strchr("_-.", *at));
    return is_safe || acr_task_refuse(error, "--run-id: '%s' cannot be the name of a folder", id);
}

static int grade(AcrHost *host, AcrRunSpec *spec, const char *recipes, const GPtrArray *tasks,
                 const GPtrArray *predictions)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrPython) python = acr_python_new(host->python_dir, &error);
    if (!python)
        return acr_verb_fail(host, error);
    g_autoptr(AcrConsole) console = acr_console_new(spec->verbose);
    Watch watch = {.console = console};
    AcrEvalOptions options = {
        .spec = spec,
        .in_environment = strcmp(spec->sandbox, ENVIRONMENT) == 0,
        .recipes = recipes,
        .host = host,
        .python = python,
        .on_graded = on_graded,
        .on_graded_ctx = &watch,
    };
    g_auto(AcrEvalResult) result = {0};
    if (!acr_eval_run(&options, tasks, predictions, &result, &error)) {
        acr_console_end(console);
        return acr_verb_fail(host, error);
    }
    return report(host, spec, &result, console);
}

/* What is known, then what was asked for: an id that is not asked for is still a known one. */
static bool read_all(const AcrRunSpec *spec, GPtrArray **out_tasks, GPtrArray **out_predictions,
                     GError **error)
{
    const char *const *only = (const char *const *)spec->instances;
    *out_tasks = acr_dataset_read(spec->dataset, ACR_DATASET_GRADE, NULL, error);
    if (!*out_tasks)
        return false;
    *out_predictions =
        acr_predictions_read(spec->predictions, *out_tasks, spec->ignore_unknown, error);
    if (!*out_predictions)
        return false;
    if (only && !acr_dataset_select(*out_tasks, spec->dataset, only, error))
        return false;
    for (guint i = (*out_predictions)->len; only && i-- > 0;)
        if (!g_strv_contains(only, ((AcrPrediction *)(*out_predictions)->pdata[i])->instance_id))
            g_ptr_array_remove_index(*out_predictions, i);
    return (*out_predictions)->len > 0 ||
           acr_task_refuse(error, "'%s' holds no prediction for the tasks that are asked for",
                           spec->predictions);
}

/* Where the tests are run; *out_recipes: owned, NULL: the user has none. */
static bool check_place(const AcrRunSpec *spec, char **out_recipes, GError **error)
{
    bool in_environment = strcmp(spec->sandbox, ENVIRONMENT) == 0;
    *out_recipes = NULL;
    if (!in_environment && strcmp(spec->sandbox, CONTAINER) != 0)
        return acr_task_refuse(error, "--sandbox: '%s' is neither " CONTAINER " nor " ENVIRONMENT,
                               spec->sandbox);
    if (in_environment && !spec->repos && !spec->regrade)
        return acr_task_refuse(error, "--sandbox " ENVIRONMENT " needs --repos");
    if (!spec->environments)
        return true;
    g_autoptr(GBytes) bytes = acr_file_read(spec->environments, MAX_RECIPES_BYTES, error);
    g_autoptr(AcrJson) json = acr_json_parse_bytes(bytes, error);
    if (json && acr_json_type(json) != ACR_JSON_ARRAY)
        return acr_task_refuse(error, "'%s' is not a list of recipes", spec->environments);
    if (!json)
        g_prefix_error(error, "'%s': ", spec->environments);
    *out_recipes = json ? acr_json_print(json) : NULL;
    return json != NULL;
}

static int run(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) predictions = NULL, tasks = NULL;
    g_autofree char *recipes = NULL;
    if (check_run_id(spec->run_id, &error) && check_place(spec, &recipes, &error) &&
        read_all(spec, &tasks, &predictions, &error))
        return grade(host, spec, recipes, tasks, predictions);
    acr_verb_fail(host, error);
    return ACR_EXIT_USAGE;
}

const AcrVerb acr_verb_eval = {
    .name = "eval",
    .summary = "Grade predictions for benchmark tasks",
    .takes = ACR_FOR_EVAL,
    .run = run,
};
