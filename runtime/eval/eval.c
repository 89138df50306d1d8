/*
 * Grades many predictions: a few threads take one after the other; then the final report is made of
 * what all have come to.
 */
#include "eval/eval_private.h"

#include <pthread.h>
#include <string.h>

#define RUN_FILE "run.json"

typedef struct {
    const AcrEvalOptions *options;
    const GPtrArray *predictions;
    GHashTable *tasks; /* id -> AcrInstance, borrowed */
    AcrGraded *graded; /* of each prediction that was begun */
    pthread_mutex_t lock;
    guint next, ended;
} Pool;

void acr_eval_result_clear(AcrEvalResult *result)
{
    g_clear_pointer(&result->path, g_free);
    g_clear_pointer(&result->line, g_free);
}

static void *work(void *data)
{
    Pool *pool = data;
    const AcrEvalOptions *options = pool->options;
    for (;;) {
        pthread_mutex_lock(&pool->lock);
        bool is_over =
            pool->next == pool->predictions->len || acr_interrupted(options->host->interrupt);
        guint i = is_over ? 0 : pool->next++;
        pthread_mutex_unlock(&pool->lock);
        if (is_over)
            return NULL;
        const AcrPrediction *prediction = pool->predictions->pdata[i];
        acr_eval_prediction(options, g_hash_table_lookup(pool->tasks, prediction->instance_id),
                            prediction, &pool->graded[i]);
        pthread_mutex_lock(&pool->lock);
        pool->ended++;
        if (options->on_graded)
            options->on_graded(options->on_graded_ctx, prediction, &pool->graded[i], pool->ended,
                               pool->predictions->len);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* ---- The final report ---- */

/* Adds why a prediction was not resolved, where its logs show that the environment is at fault. */
static bool add_failure(const Pool *pool, guint i, AcrJson *failures, GError **error)
{
    const AcrPrediction *prediction = pool->predictions->pdata[i];
    g_auto(AcrEvalFolder) folder = {.fd = -1};
    g_autofree char *reason = NULL, *tier = NULL;
    if (pool->graded[i].grade != ACR_GRADE_UNRESOLVED && pool->graded[i].grade != ACR_GRADE_ERROR)
        return true;
    if (!acr_eval_folder_open(pool->options->spec, prediction, false, &folder, NULL))
        return true; /* which its grade has told */
    g_autoptr(GBytes) output = acr_eval_folder_read(&folder, ACR_EVAL_OUTPUT),
                      log = acr_eval_folder_read(&folder, ACR_EVAL_LOG);
    GBytes *logs[2];
    guint n = 0;
    if (output)
        logs[n++] = output;
    if (log)
        logs[n++] = log;
    if (n && !acr_grading_failure(pool->options->python, logs, n, &reason, &tier, error))
        return false;
    if (!reason)
        return true;
    AcrJson *pair = acr_json_new_array();
    acr_json_append(pair, acr_json_new_string(reason));
    acr_json_append(pair, acr_json_new_string(tier));
    acr_json_set(failures, prediction->instance_id, pair);
    return true;
}

static AcrJson *describe(const Pool *pool, const GPtrArray *tasks, GError **error)
{
    g_autoptr(AcrJson) json = acr_json_new_object();
    AcrJson *ids = acr_json_new_array(), *endings = acr_json_new_object(),
            *failures = acr_json_new_object();
    acr_json_set(json, "tasks", ids);
    acr_json_set(json, "endings", endings);
    acr_json_set(json, "failures", failures);
    acr_json_set(json, "engine", acr_json_new_null());
    for (guint i = 0; i < tasks->len; i++)
        acr_json_append(ids,
                        acr_json_new_string(((const AcrInstance *)tasks->pdata[i])->instance_id));
    for (guint i = 0; i < pool->ended; i++) {
        const AcrPrediction *prediction = pool->predictions->pdata[i];
        acr_json_set_string(endings, prediction->instance_id,
                            acr_grade_name(pool->graded[i].grade));
        if (!add_failure(pool, i, failures, error))
            return NULL;
    }
    return g_steal_pointer(&json);
}

/* OUT/MODEL.RUN_ID.json, of the first prediction's model. */
static bool write_final(const Pool *pool, const GPtrArray *tasks, AcrEvalResult *out,
                        GError **error)
{
    const AcrRunSpec *spec = pool->options->spec;
    const AcrPrediction *first = pool->predictions->pdata[0];
    g_autoptr(AcrJson) told = describe(pool, tasks, error);
    g_autofree char *text = NULL, *name = g_strdup_printf("%s.%s.json", first->model, spec->run_id);
    if (!told ||
        !acr_grading_final(pool->options->python, told, (int)spec->rules, &text, &out->line, error))
        return false;
    out->path = g_build_filename(spec->out, name, NULL);
    return acr_file_write_atomic(out->path, text, strlen(text), 0644, error);
}

/* What version 5 notes of a run, so that it can be graded again. */
static bool write_run(const AcrRunSpec *spec, GError **error)
{
    g_autofree char *path = g_build_filename(spec->out, ACR_EVAL_LOGS, spec->run_id, NULL),
                    *file = g_build_filename(path, RUN_FILE, NULL);
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *time = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S+00:00");
    g_autoptr(AcrJson) json = acr_json_new_object();
    acr_json_set_string(json, "dataset", spec->dataset);
    acr_json_set_string(json, "split", "test");
    acr_json_set_string(json, "task_repo", NULL);
    acr_json_set_string(json, "created_at", time);
    g_autofree char *text = acr_json_print_pretty(json);
    return spec->rules == 4 || (acr_dir_make(path, error) &&
                                acr_file_write_atomic(file, text, strlen(text), 0644, error));
}

static void count(const Pool *pool, const GPtrArray *tasks, AcrEvalResult *out)
{
    out->tasks = tasks->len;
    out->predictions = pool->predictions->len;
    out->not_begun = pool->predictions->len - pool->ended;
    for (guint i = 0; i < pool->ended; i++) {
        guint *const counts[] = {&out->resolved, &out->unresolved, &out->errors, &out->empty};
        ++*counts[pool->graded[i].grade];
    }
}

bool acr_eval_run(const AcrEvalOptions *options, const GPtrArray *tasks,
                  const GPtrArray *predictions, AcrEvalResult *out, GError **error)
{
    g_autoptr(GHashTable) by_id = g_hash_table_new(g_str_hash, g_str_equal);
    g_autofree AcrGraded *graded = g_new0(AcrGraded, predictions->len);
    Pool pool = {options, predictions, by_id, graded, PTHREAD_MUTEX_INITIALIZER, 0, 0};
    *out = (AcrEvalResult){0};
    for (guint i = 0; i < tasks->len; i++) {
        AcrInstance *task = tasks->pdata[i];
        g_hash_table_insert(by_id, task->instance_id, task);
    }
    bool ok = write_run(options->spec, error);
    if (ok)
        acr_batch_threads(options->spec->tasks_at_once, predictions->len, work, &pool);
    count(&pool, tasks, out);
    if (ok && !acr_interrupted(options->host->interrupt))
        ok = write_final(&pool, tasks, out, error);
    for (guint i = 0; i < predictions->len; i++)
        acr_graded_clear(&graded[i]);
    pthread_mutex_destroy(&pool.lock);
    return ok;
}
