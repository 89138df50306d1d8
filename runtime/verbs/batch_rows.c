/* Reads the rows of a batch with their hidden tests, which the processes of the tasks never get,
 * and decides where the code of each task runs: in its image or its environment. Grading uses the
 * same images and environments, so each is created only once. */
#include <string.h>

#include "eval/images.h"
#include "sandbox/container_images.h"
#include "verbs/grading.h"

#define RUN_ID "swe-bench"
#define MAX_REASONS 5u /* maximum number of reasons that an error names */

/* ---- Choosing the place ---- */

/* Returns whether --sandbox selects the tasks' own images or environments. */
static bool is_of_tasks(const AcrRunSpec *spec)
{
    const char *name = spec->sandbox ? spec->sandbox : "";
    return strcmp(name, ACR_IN_ENVIRONMENT) == 0 || strcmp(name, ACR_IN_AUTO) == 0 ||
           (strcmp(name, ACR_IN_CONTAINER) == 0 && !spec->image);
}

bool acr_batch_needs_rows(const AcrRunSpec *spec)
{
    return spec->grade >= 0 || is_of_tasks(spec) || spec->environments || spec->image_template;
}

static bool check_place_options(const AcrRunSpec *spec, GError **error)
{
    if (is_of_tasks(spec) && (spec->python || spec->setup || spec->image))
        return acr_task_refuse(error,
                               "--sandbox %s sets the environment of each task; leave out "
                               "--python, --setup and --image",
                               spec->sandbox);
    if (spec->environments && spec->grade < 0 &&
        (!is_of_tasks(spec) || strcmp(spec->sandbox, ACR_IN_CONTAINER) == 0))
        return acr_task_refuse(error, "--environments needs --sandbox " ACR_IN_ENVIRONMENT
                                      " or --grade=" ACR_IN_ENVIRONMENT);
    if (spec->image_template && spec->grade < 0 && !is_of_tasks(spec))
        return acr_task_refuse(error,
                               "--image-template needs --sandbox " ACR_IN_CONTAINER " or --grade");
    return true;
}

/* Creates the environment of a task; returns the path of its Python, owned. Fills in `plan`
 * (zeroed). */
static char *make_task_environment(const AcrBatchRows *rows, guint i, gint64 deadline_us,
                                   AcrGradingPlan *plan, GError **error)
{
    return acr_eval_plan(&rows->running, rows->tasks->pdata[i], plan, error)
               ? acr_eval_environment(rows->running.host, rows->spec->out, rows->tasks->pdata[i],
                                      plan, deadline_us, error)
               : NULL;
}

/* Returns the first place that works, and appends the reason to `why`: the environment of the first
 * task, or a container engine. */
static const char *find_first_place(AcrBatchRows *rows, GString *why)
{
    g_auto(AcrGradingPlan) plan = {0};
    g_autoptr(GError) no_environment = NULL, no_engine = NULL;
    if (rows->spec->dry_run) {
        g_string_append(why, "chosen when the batch starts");
        return NULL;
    }
    g_autofree char *python =
        rows->tasks->len ? make_task_environment(rows, 0, 0, &plan, &no_environment) : NULL;
    if (python || rows->tasks->len == 0) {
        g_string_append(why, "acr-host could create the environment of the first task");
        return ACR_IN_ENVIRONMENT;
    }
    g_autoptr(AcrImages) engine = acr_images_open(rows->options.host->interrupt, &no_engine);
    g_string_append_printf(why, "no environment: %s", no_environment->message);
    if (engine)
        return ACR_IN_CONTAINER;
    g_string_append_printf(why, "; no container: %s", no_engine->message);
    return NULL;
}

static void choose_place(AcrBatchRows *rows)
{
    const AcrRunSpec *spec = rows->spec;
    g_autoptr(GString) why = g_string_new(NULL);
    rows->running.in_environment = true;
    if (!is_of_tasks(spec))
        return;
    if (strcmp(spec->sandbox, ACR_IN_AUTO) != 0) {
        rows->place =
            strcmp(spec->sandbox, ACR_IN_CONTAINER) == 0 ? ACR_IN_CONTAINER : ACR_IN_ENVIRONMENT;
    } else {
        if (spec->grade >= 0) {
            rows->place =
                spec->grade == ACR_GRADE_IN_ENVIRONMENT ? ACR_IN_ENVIRONMENT : ACR_IN_CONTAINER;
            g_string_append(why, "as --grade");
        } else {
            rows->place = find_first_place(rows, why);
        }
        g_autofree char *line = g_strdup_printf(
            "--sandbox auto: %s (%s)",
            rows->place ? rows->place : "the default sandbox, with this machine's Python",
            why->str);
        acr_progress_warn(rows->options.host->progress, line);
    }
    rows->running.in_environment = g_strcmp0(rows->place, ACR_IN_CONTAINER) != 0;
}

/* ---- The rows ---- */

/* Reads the rows of the batch's instances in the same order, and makes an empty prediction for each
 * row. */
static bool read_rows(const AcrHost *host, AcrBatchRows *rows, GError **error)
{
    const AcrRunSpec *spec = rows->spec;
    g_autofree char *models = acr_batch_model(spec), *model = acr_prediction_model(models);
    if (!model)
        return acr_task_refuse(error, "the model name '%s' cannot be used as a folder name",
                               models);
    rows->rows = acr_dataset_load(host, spec, ACR_DATASET_GRADE,
                                  (const char *const *)spec->instances, error);
    if (!rows->rows)
        return false;
    for (guint i = 0; i < rows->rows->len; i++) {
        AcrInstance *task = rows->rows->pdata[i];
        g_hash_table_insert(rows->by_id, task->instance_id, task);
    }
    for (guint i = 0; i < rows->instances->len; i++) {
        const char *id = ((const AcrInstance *)rows->instances->pdata[i])->instance_id;
        AcrInstance *task = g_hash_table_lookup(rows->by_id, id);
        if (!task)
            return acr_task_refuse(error, "'%s' changed while it was being read; rerun",
                                   spec->dataset);
        g_ptr_array_add(rows->tasks, task);
        AcrPrediction *prediction = g_new0(AcrPrediction, 1);
        prediction->instance_id = g_strdup(id);
        prediction->model = g_strdup(model);
        g_ptr_array_add(rows->predictions, prediction);
    }
    return true;
}

bool acr_batch_rows_check(const AcrBatchRows *rows, const GPtrArray *left, GError **error)
{
    bool is_graded = rows->spec->grade >= 0,
         is_run = rows->place &&
                  (!is_graded || rows->running.in_environment != rows->options.in_environment);
    guint good = 0;
    g_autoptr(AcrJson) lacks = acr_json_new_object();
    for (guint i = 0; i < left->len; i++) {
        const AcrInstance *instance = left->pdata[i],
                          *task = g_hash_table_lookup(rows->by_id, instance->instance_id);
        g_autoptr(GError) why = NULL;
        if (instance->fault)
            continue;
        if ((!is_graded || acr_eval_check_place(&rows->options, task, &why)) &&
            (!is_run || acr_eval_check_place(&rows->running, task, &why)))
            good++;
        else
            acr_eval_add_lack(lacks, why->message, task->instance_id);
    }
    g_auto(GStrv) lines = acr_eval_lack_lines(lacks);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; lines[i] && i <= MAX_REASONS; i++)
        g_string_append_printf(text, "%s%s", i ? "; " : "", i < MAX_REASONS ? lines[i] : "…");
    if (text->len)
        return acr_task_refuse(error, "%s; nothing was run", text->str);
    g_autoptr(AcrImages) engine =
        good && rows->images ? acr_images_open(rows->options.host->interrupt, error) : NULL;
    return engine || !good || !rows->images;
}

AcrBatchRows *acr_batch_rows_new(AcrHost *host, AcrRunSpec *spec, const GPtrArray *instances,
                                 GError **error)
{
    g_autoptr(AcrBatchRows) rows = g_new0(AcrBatchRows, 1);
    *rows = (AcrBatchRows){.spec = spec,
                           .instances = instances,
                           .tasks = g_ptr_array_new(),
                           .by_id = g_hash_table_new(g_str_hash, g_str_equal),
                           .predictions =
                               g_ptr_array_new_with_free_func((GDestroyNotify)acr_prediction_free)};
    if (!spec->run_id)
        spec->run_id = g_strdup(RUN_ID);
    if (!check_place_options(spec, error) || !acr_verb_check_grading(spec, &rows->recipes, error) ||
        !read_rows(host, rows, error))
        return NULL;
    rows->python = acr_python_new(host->python_dir, error);
    if (!rows->python || !acr_verb_check_recipes(rows->python, spec, rows->recipes, error) ||
        !acr_verb_load_extensions(host, spec, NULL, &rows->extensions, error))
        return NULL;
    rows->running = rows->options = (AcrEvalOptions){
        .spec = spec,
        .in_environment = spec->grade == ACR_GRADE_IN_ENVIRONMENT,
        .recipes = rows->recipes,
        .host = host,
        .python = rows->python,
        .extensions = rows->extensions,
    };
    choose_place(rows);
    if (spec->grade == ACR_GRADE_IN_CONTAINER || !rows->running.in_environment) {
        rows->images = acr_eval_images_new(&rows->running, rows->by_id, rows->predictions, error);
        if (!rows->images)
            return NULL;
        rows->options.images = rows->images;
    }
    return g_steal_pointer(&rows);
}

void acr_batch_rows_free(AcrBatchRows *rows)
{
    if (!rows)
        return;
    acr_eval_images_free(rows->images);
    acr_extensions_free(rows->extensions);
    acr_python_free(rows->python);
    g_clear_pointer(&rows->tasks, g_ptr_array_unref);
    g_clear_pointer(&rows->by_id, g_hash_table_unref);
    g_clear_pointer(&rows->rows, g_ptr_array_unref);
    g_clear_pointer(&rows->predictions, g_ptr_array_unref);
    ACR_FREE(rows->recipes, rows);
}

/* ---- The place of a task ---- */

/* Returns whether a finished task ran in the place of this batch. */
static bool fits_place(const AcrBatchRows *rows, const AcrRunSpec *kept)
{
    return strcmp(acr_run_spec_place(kept), rows->place) == 0;
}

static bool find_image(AcrBatchRows *rows, guint i, AcrTaskPlace *out, GError **error)
{
    const AcrInstance *task = rows->tasks->pdata[i];
    g_auto(AcrGradingPlan) plan = {0};
    if (!acr_eval_plan(&rows->running, task, &plan, error))
        return false;
    out->sandbox = g_strdup(ACR_IN_CONTAINER);
    out->image = g_strdup(plan.image);
    out->test_command = *plan.test ? g_strdup(plan.test) : NULL;
    return acr_eval_images_take(rows->images, task->instance_id, &out->image, error);
}

static bool find_environment(AcrBatchRows *rows, guint i, gint64 deadline_us, AcrTaskPlace *out,
                             GError **error)
{
    g_auto(AcrGradingPlan) plan = {0};
    out->python = make_task_environment(rows, i, deadline_us, &plan, error);
    if (!out->python)
        return false;
    out->sandbox = g_strdup(ACR_IN_BUBBLEWRAP);
    out->setup = *plan.install ? g_strdup(plan.install) : NULL;
    out->test_command = *plan.test ? g_strdup(plan.test) : NULL;
    return true;
}

bool acr_batch_rows_place(void *ctx, guint instance, const AcrRunSpec *kept, gint64 deadline_us,
                          AcrTaskPlace *out, GError **error)
{
    AcrBatchRows *rows = ctx;
    bool is_kept = kept && fits_place(rows, kept);
    if (is_kept)
        *out = (AcrTaskPlace){g_strdup(kept->sandbox),      g_strdup(kept->image),
                              g_strdup(kept->python),       g_strdup(kept->setup),
                              g_strdup(kept->test_command), NULL};
    out->place = rows->place;
    bool ok = is_kept || (rows->running.in_environment
                              ? find_environment(rows, instance, deadline_us, out, error)
                              : find_image(rows, instance, out, error));
    if (ok && rows->spec->test_command) {
        g_free(out->test_command);
        out->test_command = g_strdup(rows->spec->test_command);
    }
    if (!ok)
        g_prefix_error(
            error, "the task's %s: ", rows->running.in_environment ? ACR_IN_ENVIRONMENT : "image");
    return ok;
}

const char *acr_batch_rows_release(void *ctx, guint instance, gint64 deadline_us)
{
    AcrBatchRows *rows = ctx;
    const AcrInstance *task = rows->tasks->pdata[instance];
    if (rows->images)
        acr_eval_images_release(rows->images, task->instance_id);
    return NULL;
}
