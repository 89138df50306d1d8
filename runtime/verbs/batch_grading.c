/*
 * Grades the predictions of a batch as they arrive: each in the thread of its task, before that
 * takes the next one, and until the batch's time limit. A task's process never sees its tests: the
 * rows with tests are read here, separately.
 */
#include "verbs/grading.h"

#define RUN_ID "swe-bench"

struct AcrBatchGrading {
    const AcrRunSpec *spec;
    const GPtrArray *instances; /* without the tests */
    GPtrArray *rows;            /* of the data set */
    GPtrArray *tasks;           /* the instances with tests; borrowed from `rows` */
    GPtrArray *predictions;     /* of each; without a patch until its task has ended */
    char *recipes;
    AcrPython *python;
    AcrExtensions *extensions;
    AcrEvalOptions options;
    AcrEval *eval;
};

/* The rows of the same instances in the same order, each with room for its prediction. */
static bool read_tasks(const AcrHost *host, AcrBatchGrading *grading, GError **error)
{
    const AcrRunSpec *spec = grading->spec;
    g_autofree char *models = acr_batch_model(spec), *model = acr_prediction_model(models);
    if (!model)
        return acr_task_refuse(error, "--grade: the model '%s' cannot be the name of a folder",
                               models);
    g_autoptr(GPtrArray) rows = acr_dataset_load(host, spec, ACR_DATASET_GRADE,
                                                 (const char *const *)spec->instances, error);
    if (!rows)
        return false;
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < rows->len; i++)
        g_hash_table_insert(known, ((AcrInstance *)rows->pdata[i])->instance_id, rows->pdata[i]);
    grading->rows = g_steal_pointer(&rows);
    grading->tasks = g_ptr_array_new();
    grading->predictions = g_ptr_array_new_with_free_func((GDestroyNotify)acr_prediction_free);
    for (guint i = 0; i < grading->instances->len; i++) {
        const char *id = ((const AcrInstance *)grading->instances->pdata[i])->instance_id;
        AcrInstance *task = g_hash_table_lookup(known, id);
        if (!task)
            return acr_task_refuse(error, "'%s' changed while it was being read; rerun",
                                   spec->dataset);
        g_ptr_array_add(grading->tasks, task);
        AcrPrediction *prediction = g_new0(AcrPrediction, 1);
        prediction->instance_id = g_strdup(id);
        prediction->model = g_strdup(model);
        g_ptr_array_add(grading->predictions, prediction);
    }
    return true;
}

AcrBatchGrading *acr_batch_grading_new(AcrHost *host, AcrRunSpec *spec, const GPtrArray *instances,
                                       const gint64 *spent_microusd, GError **error)
{
    g_autoptr(AcrBatchGrading) grading = g_new0(AcrBatchGrading, 1);
    grading->spec = spec;
    grading->instances = instances;
    if (!spec->run_id)
        spec->run_id = g_strdup(RUN_ID);
    if (!acr_verb_check_grading(spec, &grading->recipes, error) ||
        !read_tasks(host, grading, error))
        return NULL;
    grading->python = acr_python_new(host->python_dir, error);
    if (!grading->python ||
        !acr_verb_check_recipes(grading->python, spec, grading->recipes, error) ||
        !acr_verb_load_extensions(host, spec, NULL, &grading->extensions, error))
        return NULL;
    grading->options = (AcrEvalOptions){
        .spec = spec,
        .in_environment = spec->grade == ACR_GRADE_IN_ENVIRONMENT,
        .recipes = grading->recipes,
        .host = host,
        .python = grading->python,
        .extensions = grading->extensions,
        .spent_microusd = spent_microusd,
    };
    grading->eval = acr_eval_new(&grading->options, grading->tasks, grading->predictions, error);
    return grading->eval ? g_steal_pointer(&grading) : NULL;
}

void acr_batch_grading_free(AcrBatchGrading *grading)
{
    if (!grading)
        return;
    acr_eval_free(grading->eval);
    acr_extensions_free(grading->extensions);
    acr_python_free(grading->python);
    g_clear_pointer(&grading->tasks, g_ptr_array_unref);
    g_clear_pointer(&grading->rows, g_ptr_array_unref);
    g_clear_pointer(&grading->predictions, g_ptr_array_unref);
    g_free(grading->recipes);
    g_free(grading);
}

void acr_batch_grading_take(void *ctx, guint instance, gint64 deadline_us)
{
    AcrBatchGrading *grading = ctx;
    AcrPrediction *prediction = grading->predictions->pdata[instance];
    g_autofree char *patch = acr_batch_patch(grading->spec, grading->instances->pdata[instance]);
    if (!patch)
        return;
    prediction->patch = *patch ? g_steal_pointer(&patch) : NULL;
    acr_eval_grade(grading->eval, instance, deadline_us);
}

bool acr_batch_grading_finish(AcrBatchGrading *grading, int code, int *out_code, GError **error)
{
    g_auto(AcrEvalResult) result = {0};
    if (!acr_eval_finish(grading->eval, &result, error))
        return false;
    bool is_ceiling = result.late && code <= ACR_EXIT_NONE;
    *out_code = acr_out_exit(acr_verb_tell_grades(&result, false),
                             is_ceiling ? ACR_EXIT_CEILING : (AcrExit)code);
    return true;
}
