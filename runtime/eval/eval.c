/*
 * Grades many predictions: a few threads take one after the other; then the final report and the
 * summary are made of what all have come to.
 */
#include "eval/eval_private.h"

#include <pthread.h>
#include <string.h>

#include "eval/images.h"

#define RUN_FILE "run.json"

struct AcrEval {
    const AcrEvalOptions *options;
    const GPtrArray *tasks, *predictions;
    GHashTable *by_id; /* id -> AcrInstance, borrowed */
    AcrGraded *graded; /* of each prediction */
    bool *is_graded;
    AcrOtherRun other; /* to compare with, if any */
    int folder;        /* of the run, locked */
    pthread_mutex_t lock;
    guint next, ended;
    AcrEvalOptions own;  /* with `images` */
    const char *stopped; /* why nothing can be run any more, borrowed; NULL: it can */
};

void acr_eval_result_clear(AcrEvalResult *result)
{
    char **const texts[] = {&result->path, &result->table, &result->sums, &result->line};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_clear_pointer(texts[i], g_free);
}

void acr_eval_grade(AcrEval *eval, guint i, gint64 deadline_us)
{
    const AcrEvalOptions *options = eval->options;
    const AcrPrediction *prediction = eval->predictions->pdata[i];
    acr_eval_prediction(options, g_hash_table_lookup(eval->by_id, prediction->instance_id),
                        prediction, deadline_us, &eval->graded[i]);
    if (options->images)
        acr_eval_images_release(options->images, prediction->instance_id);
    pthread_mutex_lock(&eval->lock);
    eval->ended++;
    eval->is_graded[i] = !eval->graded[i].is_late && !eval->graded[i].stops;
    if (eval->graded[i].stops)
        eval->stopped = eval->graded[i].error;
    else if (options->on_graded)
        options->on_graded(options->on_graded_ctx, prediction, &eval->graded[i], eval->ended,
                           eval->predictions->len);
    pthread_mutex_unlock(&eval->lock);
}

static void *work(void *data)
{
    AcrEval *eval = data;
    for (;;) {
        pthread_mutex_lock(&eval->lock);
        bool is_over = eval->next == eval->predictions->len || eval->stopped ||
                       acr_interrupted(eval->options->host->interrupt);
        guint i = is_over ? 0 : eval->next++;
        pthread_mutex_unlock(&eval->lock);
        if (is_over)
            return NULL;
        acr_eval_grade(eval, i, 0);
    }
}

/* ---- The final report ---- */

/* Adds why a prediction was not resolved, where its logs show that the environment is at fault. */
static bool add_failure(const AcrEval *eval, guint i, AcrJson *failures, GError **error)
{
    const AcrPrediction *prediction = eval->predictions->pdata[i];
    g_auto(AcrEvalFolder) folder = {.fd = -1};
    g_autofree char *reason = NULL, *tier = NULL;
    if (eval->graded[i].grade != ACR_GRADE_UNRESOLVED && eval->graded[i].grade != ACR_GRADE_ERROR)
        return true;
    if (!acr_eval_folder_open(eval->options->spec, prediction, false, &folder, NULL))
        return true; /* which its grade has told */
    g_autoptr(GBytes) output = acr_eval_folder_read(&folder, ACR_EVAL_OUTPUT),
                      log = acr_eval_folder_read(&folder, ACR_EVAL_LOG);
    GBytes *logs[2];
    guint n = 0;
    if (output)
        logs[n++] = output;
    if (log)
        logs[n++] = log;
    if (n && !acr_grading_failure(eval->options->python, logs, n, &reason, &tier, error))
        return false;
    if (!reason)
        return true;
    AcrJson *pair = acr_json_new_array();
    acr_json_append(pair, acr_json_new_string(reason));
    acr_json_append(pair, acr_json_new_string(tier));
    acr_json_set(failures, prediction->instance_id, pair);
    return true;
}

static AcrJson *describe(const AcrEval *eval, GError **error)
{
    const GPtrArray *tasks = eval->tasks;
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
    for (guint i = 0; i < eval->predictions->len; i++) {
        const AcrPrediction *prediction = eval->predictions->pdata[i];
        if (!eval->is_graded[i])
            continue;
        acr_json_set_string(endings, prediction->instance_id,
                            acr_grade_name(eval->graded[i].grade));
        if (!add_failure(eval, i, failures, error))
            return NULL;
    }
    return g_steal_pointer(&json);
}

/* The report with the summary as one more member, on one line; owned. */
static char *join(const char *report, AcrJson *summary)
{
    AcrJson *json = acr_json_parse(report, strlen(report), NULL);
    acr_json_set(json, "summary", summary);
    char *line = acr_json_print(json);
    acr_json_free(json);
    return line;
}

/* OUT/MODEL.RUN_ID.json, of the first prediction's model, and beside the logs what we say of the run. */
static bool write_final(const AcrEval *eval, AcrEvalResult *out, GError **error)
{
    const AcrRunSpec *spec = eval->options->spec;
    const AcrPrediction *first = eval->predictions->pdata[0];
    g_autoptr(AcrJson) told = describe(eval, error);
    g_autofree char *text = NULL, *line = NULL,
                    *name = g_strdup_printf("%s.%s.json", first->model, spec->run_id);
    if (!told ||
        !acr_grading_final(eval->options->python, told, (int)spec->rules, &text, &line, error))
        return false;
    out->path = g_build_filename(spec->out, name, NULL);
    if (!acr_eval_write_final(spec, out->path, text, error))
        return false;
    const AcrEvalSums sums = {eval->options, eval->predictions, eval->graded, eval->is_graded,
                              spec->compare ? &eval->other : NULL};
    AcrJson *summary = acr_eval_summary(&sums, out);
    g_autofree char *pretty = acr_json_print_pretty(summary),
                    *path = g_build_filename(spec->out, ACR_EVAL_LOGS, spec->run_id,
                                             ACR_EVAL_SUMMARY, NULL);
    out->line = join(line, summary);
    return acr_file_write_atomic(path, pretty, strlen(pretty), 0644, error);
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
    acr_json_set_string(json, "split", spec->split ? spec->split : "test");
    acr_json_set_string(json, "task_repo", NULL);
    acr_json_set_string(json, "created_at", time);
    g_autofree char *text = acr_json_print_pretty(json);
    return spec->rules == 4 || acr_file_write_atomic(file, text, strlen(text), 0644, error);
}

static void count(const AcrEval *eval, AcrEvalResult *out)
{
    out->tasks = eval->tasks->len;
    for (guint i = 0; i < eval->predictions->len; i++) {
        guint *const counts[] = {&out->resolved, &out->unresolved, &out->errors, &out->empty};
        out->predictions += eval->is_graded[i];
        out->late += eval->graded[i].is_late;
        if (eval->is_graded[i])
            ++*counts[eval->graded[i].grade];
        out->doubted += eval->graded[i].doubt != NULL;
        out->ungradable += eval->graded[i].ungradable != NULL;
    }
}

AcrEval *acr_eval_new(const AcrEvalOptions *options, const GPtrArray *tasks,
                      const GPtrArray *predictions, GError **error)
{
    AcrEval *eval = g_new0(AcrEval, 1);
    *eval = (AcrEval){.own = *options,
                      .tasks = tasks,
                      .predictions = predictions,
                      .by_id = g_hash_table_new(g_str_hash, g_str_equal),
                      .graded = g_new0(AcrGraded, predictions->len),
                      .is_graded = g_new0(bool, predictions->len),
                      .folder = -1,
                      .lock = PTHREAD_MUTEX_INITIALIZER};
    for (guint i = 0; i < tasks->len; i++) {
        AcrInstance *task = tasks->pdata[i];
        g_hash_table_insert(eval->by_id, task->instance_id, task);
    }
    eval->options = &eval->own;
    if (!options->in_environment && !options->spec->regrade) {
        eval->own.images = acr_eval_images_new(&eval->own, eval->by_id, predictions, error);
        if (!eval->own.images) {
            acr_eval_free(eval);
            return NULL;
        }
    }
    bool ok =
        !options->spec->compare || acr_other_run_read(options->spec->compare, &eval->other, error);
    eval->folder = ok ? acr_eval_run_open(options->spec, error) : -1;
    if (eval->folder >= 0 && write_run(options->spec, error))
        return eval;
    acr_eval_free(eval);
    return NULL;
}

void acr_eval_free(AcrEval *eval)
{
    if (!eval)
        return;
    acr_eval_images_free(eval->own.images);
    for (guint i = 0; i < eval->predictions->len; i++)
        acr_graded_clear(&eval->graded[i]);
    g_hash_table_unref(eval->by_id);
    g_free(eval->graded);
    g_free(eval->is_graded);
    acr_other_run_clear(&eval->other);
    acr_fd_close(&eval->folder);
    pthread_mutex_destroy(&eval->lock);
    g_free(eval);
}

bool acr_eval_finish(AcrEval *eval, AcrEvalResult *out, GError **error)
{
    *out = (AcrEvalResult){0};
    count(eval, out);
    if (eval->stopped && !acr_interrupted(eval->options->host->interrupt))
        return acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_STOP, "%s; rerun to resume",
                             eval->stopped);
    return acr_interrupted(eval->options->host->interrupt) || write_final(eval, out, error);
}

bool acr_eval_run(const AcrEvalOptions *options, const GPtrArray *tasks,
                  const GPtrArray *predictions, AcrEvalResult *out, GError **error)
{
    g_autoptr(AcrEval) eval = acr_eval_new(options, tasks, predictions, error);
    *out = (AcrEvalResult){0};
    if (!eval)
        return false;
    acr_batch_threads(options->spec->tasks_at_once, predictions->len, work, eval);
    return acr_eval_finish(eval, out, error);
}
