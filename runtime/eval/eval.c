/* Grades many predictions. A few threads take the predictions one by one; then final.c writes the
 * final report and the summary from all grades. */
#include "eval/eval_private.h"

#include <pthread.h>
#include <string.h>

#include "batch/batch_state.h"
#include "eval/images.h"

#define MAX_NAMED 5u         /* maximum number of tasks that a line names */
#define MAX_READ_COMMITS 50u /* reading a commit's tree takes some milliseconds */

struct AcrEval {
    const AcrEvalOptions *options;
    const GPtrArray *tasks, *predictions;
    GHashTable *by_id; /* id of a task -> AcrInstance, borrowed */
    AcrGraded *graded; /* the grade of each prediction */
    bool *is_graded;
    AcrJson *other; /* the evaluation to compare with; NULL if there is none */
    int folder;     /* descriptor of the run's folder, which is locked */
    pthread_mutex_t lock;
    guint next, ended, resolved;
    AcrLiveNote note;
    AcrEvalOptions own;  /* copy of the caller's options with `images` set */
    bool has_own_images; /* acr_eval_new created `images` */
    const char *stopped; /* why no more tests can run, borrowed; NULL as long as tests can run */
    const char *said;    /* the reason of the latest grade, borrowed; or NULL */
};

void acr_eval_result_clear(AcrEvalResult *result)
{
    char **const texts[] = {&result->path, &result->table, &result->sums, &result->line};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_clear_pointer(texts[i], g_free);
}

/* Reports the progress of grading and the grade of a prediction. The caller holds the lock. */
static void tell_grade(AcrEval *eval, const AcrPrediction *prediction, const AcrGraded *graded)
{
    const char *class = graded->audit ? acr_json_get_string(graded->audit, "class") : NULL;
    const char *why = graded->error   ? graded->error
                      : graded->doubt ? graded->doubt
                                      : graded->ungradable;
    bool is_known = why && g_strcmp0(why, eval->said) == 0;
    eval->said = why;
    g_autofree char *text = g_strconcat(graded->is_late ? "not graded: --max-time reached"
                                        : class         ? class
                                                        : acr_grade_name(graded->grade),
                                        graded->is_kept ? " (kept)" : "",
                                        graded->doubt        ? ", not believed"
                                        : graded->ungradable ? ", cannot be graded on this machine"
                                                             : "",
                                        why ? ": " : "", is_known ? "(as above)" : why, NULL);
    eval->resolved += class ? strcmp(class, "sound") == 0 : graded->grade == ACR_GRADE_RESOLVED;
    acr_progress_tell(&eval->note.progress,
                      (AcrProgressEvent){.kind = ACR_PROGRESS_GRADED,
                                         .task = prediction->instance_id,
                                         .text = text,
                                         .made = eval->options->spec->audit > 0 ? "sound" : NULL,
                                         .is_bad = why || graded->is_late,
                                         .ended = eval->ended,
                                         .total = eval->predictions->len,
                                         .good = eval->resolved,
                                         .left_ms = -1});
}

const char *acr_eval_grade(AcrEval *eval, guint i, gint64 deadline_us)
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
    else
        tell_grade(eval, prediction, &eval->graded[i]);
    pthread_mutex_unlock(&eval->lock);
    return eval->is_graded[i] ? acr_grade_name(eval->graded[i].grade) : NULL;
}

static void *grade_next(void *data)
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

static void begin_note(AcrEval *eval)
{
    const char *out = eval->options->spec->out;
    g_autofree char *shared = acr_batch_shared_dir(out),
                    *name = acr_batch_note_path("", ACR_FILE_GRADING);
    acr_live_note_init(&eval->note, eval->options->host->progress);
    eval->note.stays = true;
    if (acr_dir_make(shared, NULL))
        acr_live_note_begin(&eval->note, out, name);
    acr_progress_tell(&eval->note.progress, (AcrProgressEvent){.kind = ACR_PROGRESS_GRADED,
                                                               .total = eval->predictions->len});
}

/* Lists the tasks for reports on an evaluation that was killed; acr_eval_final removes the file. */
static bool write_unfinished(const AcrEval *eval, GError **error)
{
    const AcrRunSpec *spec = eval->options->spec;
    AcrJson *tasks = acr_json_new_array(), *empty = acr_json_new_array(),
            *models = acr_json_new_array();
    for (guint i = 0; i < eval->predictions->len; i++) {
        const AcrPrediction *prediction = eval->predictions->pdata[i];
        bool is_empty = !prediction->patch && !prediction->is_baseline;
        is_empty = is_empty && !eval->options->spent_microusd; /* a batch has no patches yet */
        acr_json_append(tasks, ACR_TEXT(prediction->instance_id));
        if (is_empty)
            acr_json_append(empty, ACR_TEXT(prediction->instance_id));
        if (i == 0) /* the model after which the report is named */
            acr_json_append(models, ACR_TEXT(prediction->model));
    }
    g_autoptr(AcrJson) json = acr_json_of("tasks", tasks, "empty_patch_ids", empty, "models",
                                          models, "dataset", ACR_TEXT(spec->dataset), NULL);
    g_autofree char *text = acr_json_print(json),
                    *path = g_build_filename(spec->out, ACR_DIR_EVALUATIONS, spec->run_id,
                                             ACR_FILE_UNFINISHED, NULL);
    return acr_file_write_atomic(path, text, strlen(text), 0644, error);
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
    eval->has_own_images = !options->images;
    if (!options->images && !options->in_environment && !options->spec->regrade &&
        predictions->len > 0) {
        eval->own.images = acr_eval_images_new(&eval->own, eval->by_id, predictions, error);
        if (!eval->own.images) {
            acr_eval_free(eval);
            return NULL;
        }
    }
    if (options->spec->compare)
        eval->other = acr_eval_read_other(options->python, options->spec->compare, error);
    bool ok = eval->other || !options->spec->compare;
    eval->folder = ok ? acr_eval_run_open(options->spec, error) : -1;
    if (eval->folder >= 0 && acr_eval_write_run(options->spec, error) &&
        write_unfinished(eval, error)) {
        begin_note(eval);
        return eval;
    }
    acr_eval_free(eval);
    return NULL;
}

void acr_eval_free(AcrEval *eval)
{
    if (!eval)
        return;
    if (eval->has_own_images)
        acr_eval_images_free(eval->own.images);
    acr_live_note_clear(&eval->note);
    for (guint i = 0; i < eval->predictions->len; i++)
        acr_graded_clear(&eval->graded[i]);
    g_hash_table_unref(eval->by_id);
    ACR_FREE(eval->graded, eval->is_graded);
    acr_json_free(eval->other);
    acr_fd_close(&eval->folder);
    pthread_mutex_destroy(&eval->lock);
    g_free(eval);
}

/* Sets *out to [reason, tier], owned, if prediction `i` was not resolved and its logs show a
 * problem with the environment; otherwise to NULL. Returns false with an error. */
static bool find_sign(const AcrEval *eval, guint i, AcrJson **out, GError **error)
{
    const AcrPrediction *prediction = eval->predictions->pdata[i];
    g_auto(AcrEvalFolder) folder = {.fd = -1};
    g_autofree char *reason = NULL, *tier = NULL;
    AcrGrade grade = eval->graded[i].grade;
    bool has_failed = grade == ACR_GRADE_UNRESOLVED || grade == ACR_GRADE_ERROR;
    if (!eval->is_graded[i] || !has_failed ||
        !acr_eval_folder_open(eval->options->spec, prediction, false, &folder, NULL))
        return true; /* the grade already reports that the folder cannot be opened */
    g_autoptr(GBytes) output = acr_eval_folder_read(&folder, ACR_FILE_EVAL_OUTPUT),
                      log = acr_eval_folder_read(&folder, ACR_FILE_EVAL_LOG);
    GBytes *logs[2];
    guint n = 0;
    if (output)
        logs[n++] = output;
    if (log)
        logs[n++] = log;
    if (n && !acr_grading_failure(eval->options->python, logs, n, &reason, &tier, error))
        return false;
    if (reason)
        *out = acr_json_new_strings((const char *const[]){reason, tier, NULL});
    return true;
}

/* Returns the name of the file that the data set's own harness writes beside the final report, from
 * the first row. Owned; NULL if there is none. */
static char *find_results_name(const AcrEval *eval)
{
    const AcrInstance *task = eval->tasks->len ? eval->tasks->pdata[0] : NULL;
    g_autoptr(AcrJson) row = task && task->row && strstr(task->row, "\"results\"")
                                 ? acr_json_parse(task->row, strlen(task->row), NULL)
                                 : NULL;
    const char *name = acr_json_get_string(row, "results");
    return name && acr_name_is_safe(name, "") ? g_strdup(name) : NULL;
}

bool acr_eval_finish(AcrEval *eval, AcrEvalResult *out, GError **error)
{
    const AcrRunSpec *spec = eval->options->spec;
    g_autoptr(AcrJson) tasks = acr_json_new_array(), rows = acr_json_new_array();
    g_autofree char *results_name = spec->audit > 0 ? NULL : find_results_name(eval);
    bool is_over = acr_interrupted(eval->options->host->interrupt) || eval->stopped;
    for (guint i = 0; i < eval->tasks->len; i++)
        acr_json_append(tasks, ACR_TEXT(((AcrInstance *)eval->tasks->pdata[i])->instance_id));
    for (guint i = 0; i < eval->predictions->len; i++) {
        AcrJson *sign = NULL;
        if (!is_over && !find_sign(eval, i, &sign, error))
            return false;
        acr_json_append(rows, acr_eval_row_of(eval->predictions->pdata[i], &eval->graded[i],
                                              eval->is_graded[i], sign));
    }
    const AcrEvalSums sums = {eval->options, tasks, rows, eval->other, eval->tasks, results_name};
    *out = (AcrEvalResult){0};
    acr_eval_count(&sums, out);
    if (acr_interrupted(eval->options->host->interrupt))
        return true;
    if (eval->stopped)
        return acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_STOP, "%s; rerun to resume",
                             eval->stopped);
    return (eval->predictions->len == 0 || acr_eval_final(&sums, out, error)) &&
           (!spec->shard || acr_eval_part_write(&sums, error));
}

/* Returns what the task lacks to be graded, or NULL; owned. Missing clones go to `uncloned`. */
static char *find_lack(const AcrEvalOptions *options, const AcrInstance *task, bool reads_commit,
                       GPtrArray *uncloned)
{
    g_autoptr(GError) reason = NULL;
    g_autofree char *clone =
        options->in_environment ? acr_dataset_repo(options->spec->repos, task->repo) : NULL;
    if (options->in_environment && !clone)
        g_ptr_array_add(uncloned, (void *)task);
    bool ok = acr_eval_check_place(options, task, &reason);
    if (ok && clone && reads_commit) {
        g_autoptr(AcrSnapshot) tree = acr_eval_tree(options->spec, task, &reason);
        ok = tree != NULL;
    }
    return ok ? NULL : g_strdup(reason->message);
}

void acr_eval_add_lack(AcrJson *lacks, const char *why, const char *id)
{
    AcrJson *ids = (AcrJson *)acr_json_get(lacks, why);
    if (!ids)
        acr_json_set(lacks, why, ids = acr_json_new_array());
    acr_json_append(ids, ACR_TEXT(id));
}

char **acr_eval_lack_lines(const AcrJson *lacks)
{
    GPtrArray *lines = g_ptr_array_new();
    for (const AcrJson *at = acr_json_first(lacks); at; at = acr_json_next(at)) {
        g_autoptr(GString) names = g_string_new(NULL);
        guint n = 0;
        for (const AcrJson *id = acr_json_first(at); id; id = acr_json_next(id))
            if (n++ < MAX_NAMED)
                g_string_append_printf(names, "%s%s", n > 1 ? ", " : "", acr_json_string(id));
        g_string_append(names, n > MAX_NAMED ? ", …: " : n ? ": " : "");
        g_ptr_array_add(lines, g_strconcat(names->str, acr_json_key(at), NULL));
    }
    g_ptr_array_add(lines, NULL);
    return (char **)g_ptr_array_free(lines, FALSE);
}

char **acr_eval_lacks(const AcrEvalOptions *options, const GPtrArray *tasks,
                      const GPtrArray *predictions, bool *out_none)
{
    g_autoptr(GPtrArray) uncloned = g_ptr_array_new();
    g_autoptr(GHashTable) by_id = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(AcrJson) lacks = acr_json_new_object();
    guint asked = 0, good = 0;
    for (guint i = 0; i < tasks->len; i++)
        g_hash_table_insert(by_id, ((AcrInstance *)tasks->pdata[i])->instance_id, tasks->pdata[i]);
    for (guint i = 0; i < predictions->len; i++) {
        const AcrPrediction *prediction = predictions->pdata[i];
        const AcrInstance *task = g_hash_table_lookup(by_id, prediction->instance_id);
        guint before = uncloned->len;
        if (!prediction->patch || !task)
            continue;
        g_autofree char *lack = find_lack(options, task, asked++ < MAX_READ_COMMITS, uncloned);
        good += !lack && uncloned->len == before;
        if (lack)
            acr_eval_add_lack(lacks, lack, task->instance_id);
    }
    g_autoptr(GError) clones = NULL;
    if (uncloned->len && !acr_dataset_check_repos(options->spec->repos, uncloned, &clones))
        acr_json_set(lacks, clones->message, acr_json_new_array()); /* it names the repositories */
    *out_none = asked > 0 && good == 0;
    return acr_eval_lack_lines(lacks);
}

bool acr_eval_run(const AcrEvalOptions *options, const GPtrArray *tasks,
                  const GPtrArray *predictions, AcrEvalResult *out, GError **error)
{
    g_autoptr(AcrEval) eval = acr_eval_new(options, tasks, predictions, error);
    *out = (AcrEvalResult){0};
    if (!eval)
        return false;
    acr_batch_threads(options->spec->tasks_at_once, predictions->len, grade_next, eval);
    return acr_eval_finish(eval, out, error);
}
