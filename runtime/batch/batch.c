/* Runs many tasks: a few threads take tasks one by one and run each task as a process, so that no
 * task can affect another. The process reads its options as JSON from standard input, and writes
 * its result as JSON. The threads share only the struct Batch, under its lock. */
#include "batch/batch_state.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "batch/batch_summary.h"
#include "llm/llm.h"
#include "task/cost.h"

#define MAX_RESULT_BYTES ((gsize)256 * 1024 * 1024)
#define LEDGER_SCOPE "batch"
/* after so many tasks in a row without an answer of the model, its server counts as down */
#define MAX_CUT_OFF 3
#define SOFT_MS 3000 /* time in milliseconds in which an interrupted task can report its cost */

typedef struct {
    const AcrBatchOptions *options;
    const GPtrArray *instances;
    char *shared_dir; /* folder through which tasks share a provider's limits */
    AcrLimits limits; /* total limits of all tasks */
    pthread_mutex_t lock;
    guint ended;
    AcrBatchNote note;
    guint paced;                     /* number of tasks that this command has finished, excluding
                                      * tasks finished earlier */
    gint64 paced_ms, paced_microusd; /* time and money spent on `paced` tasks */
    AcrBatchResult result;
    guint cut_off;   /* number of tasks in a row, up to now, without an answer of the model */
    GError *failure; /* the first error while writing the predictions or the summary */
} Batch;

/* Fails if `path` is a symbolic link, because a folder from somebody else may contain links that
 * lead out of the folder. */
static bool check_no_link(const char *path, GError **error)
{
    return !g_file_test(path, G_FILE_TEST_IS_SYMLINK) ||
           acr_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_FAILED,
                         "'%s' is a symbolic link, not a folder; use another --out", path);
}

void acr_task_place_clear(AcrTaskPlace *place)
{
    char **const texts[] = {&place->sandbox, &place->image, &place->python, &place->setup,
                            &place->test_command};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_clear_pointer(texts[i], g_free);
}

char *acr_batch_task_text(const AcrRunSpec *task, const char *const *arguments)
{
    g_autoptr(AcrJson) json = acr_json_of(
        ACR_INT("parent", getpid()), ACR_INT("verb", task->verb),
        ACR_JSON("spec", acr_run_spec_to_json(task, 0)),
        ACR_JSON("arguments", arguments ? acr_json_new_strings(arguments) : acr_json_new_array()),
        NULL);
    return acr_json_print(json);
}

/* Returns the input of a task's process as JSON: the batch's options with the task's own folder,
 * issue and place; owned. */
static char *describe_task(const Batch *batch, const AcrInstance *instance, const char *repo,
                           const AcrTaskPlace *place)
{
    const AcrRunSpec *spec = batch->options->spec;
    gint64 deadline_us = acr_budget_deadline(batch->limits.budget);
    g_autofree char *out = g_build_filename(spec->out, instance->instance_id, NULL);
    AcrRunSpec task = *spec; /* all strings of this struct are borrowed */
    task.json = false;       /* it is for the batch's own output */
    task.verb = spec->reproduce_only ? ACR_FOR_REPRODUCE : ACR_FOR_RUN;
    task.repo = (char *)repo;
    task.rev = instance->base_commit;
    task.issue_text = instance->problem_statement;
    /* published results use no notes, and results should be comparable with them */
    task.repo_notes = ACR_REPO_NOTES_NEVER;
    /* as in published results; besides, the history may contain the fix */
    if (spec->history == ACR_UNSET)
        task.history = ACR_HISTORY_NEVER;
    task.instance_id = instance->instance_id;
    task.out = out;
    task.max_cost = spec->task_max_cost;
    task.max_tokens_total = spec->task_max_tokens;
    task.max_ms = spec->task_max_ms;
    task.batch_max_cost = spec->max_cost;
    task.batch_max_tokens = spec->max_tokens_total;
    task.batch_deadline_us = deadline_us ? deadline_us : ACR_UNSET;
    task.shared_dir = batch->shared_dir;
    if (batch->options->place_task) {
        task.place = (char *)place->place;
        task.sandbox = place->sandbox;
        task.image = place->image;
        task.python = place->python;
        task.setup = place->setup;
        task.test_command = place->test_command;
        /* in a batch, the project's tests are used only if the user asks for them */
        if (spec->regressions == ACR_UNSET && !spec->test_command)
            task.regressions = ACR_VERIFY_NEVER;
    }
    task.jobs = CLAMP(g_get_num_processors() / spec->tasks_at_once, 1, ACR_OUTLINE_MAX_JOBS);
    return acr_batch_task_text(&task, NULL);
}

/* Reads the result that a task's process printed. If there is none, makes a result with the reason,
 * such as a signal. */
static void read_result(const Batch *batch, const AcrSpawnResult *ended, AcrRunResult *out)
{
    g_autoptr(AcrJson) json = acr_json_parse_bytes(ended->out, NULL);
    if (acr_run_result_from_json(json, out))
        return;
    g_autofree char *line = acr_bytes_last_line(ended->err);
    g_autoptr(GError) error =
        ended->signal ? g_error_new(ACR_BATCH_ERROR, ACR_BATCH_ERROR_FAILED, "ended by signal %d",
                                    ended->signal)
                      : g_error_new_literal(ACR_BATCH_ERROR, ACR_BATCH_ERROR_FAILED, line);
    acr_run_result_fail(out, error, batch->options->interrupt);
}

/* Runs a task. `kept` contains the options of the task's run if the run is finished; otherwise it
 * is NULL. Sets *setup_ms to the time that the task's place took, such as a new environment. */
static void run_instance(const Batch *batch, guint number, const AcrRunSpec *kept, gint64 *setup_ms,
                         AcrRunResult *out)
{
    gint64 start_us = g_get_monotonic_time();
    const AcrInstance *instance = batch->instances->pdata[number];
    const char *repos = batch->options->spec->repos;
    const char *const argv[] = {batch->options->exe, ACR_BATCH_TASK_VERB, instance->instance_id,
                                NULL};
    g_auto(AcrTaskPlace) task_place = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *repo = acr_dataset_repo(repos, instance->repo);
    const AcrBatchOptions *options = batch->options;
    bool is_placed =
        repo && !instance->fault &&
        (!options->place_task ||
         options->place_task(options->place_ctx, number, kept,
                             acr_budget_deadline(batch->limits.budget), &task_place, &error));
    *setup_ms = options->place_task ? (g_get_monotonic_time() - start_us) / 1000 : 0;
    g_autofree char *text = is_placed ? describe_task(batch, instance, repo, &task_place) : NULL;
    g_auto(AcrSpawnResult) ended = {0};
    AcrSpawn spawn = {
        .argv = argv,
        .input = text,
        .input_len = text ? strlen(text) : 0,
        .output_limit = MAX_RESULT_BYTES,
        .soft_ms = SOFT_MS,
        .interrupt = batch->options->interrupt,
    };
    g_autofree char *place =
        g_build_filename(batch->options->spec->out, instance->instance_id, NULL);
    bool is_ready = is_placed && check_no_link(place, &error);
    if (instance->fault)
        g_set_error_literal(&error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET, instance->fault);
    else if (!repo)
        g_set_error(&error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_FAILED,
                    "cannot find a repository of '%s' in '%s'", instance->repo, repos);
    if (is_ready && acr_spawn_run(&spawn, &ended, &error))
        read_result(batch, &ended, out);
    else
        acr_run_result_fail(out, error, batch->options->interrupt);
    if (instance->fault && !out->error_class)
        out->error_class = g_strdup("bad_row");
}

/* Returns whether a task ended because its model gave no answer at all, or was cut off. */
static bool was_cut_off(const AcrRunResult *result)
{
    static const AcrLlmError faults[] = {ACR_LLM_ERROR_UNREACHABLE, ACR_LLM_ERROR_OVERLOADED,
                                         ACR_LLM_ERROR_SERVER,      ACR_LLM_ERROR_TIMEOUT,
                                         ACR_LLM_ERROR_BAD_REQUEST, ACR_LLM_ERROR_MALFORMED,
                                         ACR_LLM_ERROR_RATE_LIMIT};
    const char *name = result->error_class;
    bool is_fault = false;
    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++)
        is_fault |= g_strcmp0(name, acr_llm_error_name(faults[i])) == 0;
    return (is_fault && result->cost.calls == 0) ||
           g_strcmp0(name, acr_llm_error_name(ACR_LLM_ERROR_NETWORK)) == 0;
}

/* Pauses the batch if a key or account was rejected, or if the server only fails. If the
 * rejected model has a fallback, pauses only if the task itself failed with this error. */
static void look_for_pause(Batch *batch, const AcrRunResult *result)
{
    bool is_refused =
        g_strcmp0(result->error_class, acr_llm_error_name(ACR_LLM_ERROR_AUTH)) == 0 ||
        g_strcmp0(result->error_class, acr_llm_error_name(ACR_LLM_ERROR_BILLING)) == 0;
    if (is_refused && !batch->result.paused)
        batch->result.paused = acr_llm_paused(batch->shared_dir);
    batch->cut_off = was_cut_off(result) ? batch->cut_off + 1 : 0;
    if (batch->cut_off >= MAX_CUT_OFF && !batch->result.paused)
        batch->result.paused =
            g_strdup_printf("%u tasks in a row got no answer from the model, the last one: %s",
                            batch->cut_off, result->error);
}

static void look_for_failures(Batch *batch)
{
    gint64 most = batch->options->spec->fail_fast;
    if (most > 0 && batch->result.failed >= most && !batch->result.paused)
        batch->result.paused = g_strdup_printf("%u failed (--fail-fast)", batch->result.failed);
}

/* Forecasts the remaining time and cost from the tasks that this command has finished. */
static void forecast(Batch *batch, const AcrBatchTask *task)
{
    AcrBatchNote *note = &batch->note;
    guint left = batch->instances->len - batch->ended;
    if (!task->was_over && task->result->exit_code != ACR_EXIT_INTERRUPTED) {
        batch->paced++;
        batch->paced_ms += task->ms;
        batch->paced_microusd += MAX(acr_microusd(task->result->cost.usage.cost_pico), 0);
    }
    double tasks = batch->paced ? (double)left / batch->paced : 0;
    note->mean_ms = batch->paced ? batch->paced_ms / batch->paced : 0;
    note->made_ms = acr_now_ms();
    gint64 jobs = CLAMP(batch->options->spec->tasks_at_once, 1, MAX(left, 1));
    note->left_ms = tasks > 0 ? (gint64)((double)batch->paced_ms * tasks / (double)jobs) : -1;
    note->left_microusd = (gint64)((double)batch->paced_microusd * tasks);
}

static char *describe_end(const AcrBatchTask *task)
{
    const AcrRunResult *result = task->result;
    const char *status = acr_batch_status(result);
    if (task->instance->fault)
        return g_strdup("cannot run");
    if (result->exit_code == ACR_EXIT_INTERRUPTED)
        return g_strdup(status);
    if (result->error)
        return g_strdup_printf("exit %d: %s", result->exit_code, result->error);
    return g_strconcat(strcmp(status, ACR_STATUS_NONE) != 0 ? status
                       : result->is_reproduction            ? "no script"
                                                            : "no patch",
                       task->was_over ? " (kept)" : "", NULL);
}

/* Reports the progress of the batch, and the result of `task` (NULL when the batch begins). The
 * caller holds the lock. */
static void tell_task(const Batch *batch, const AcrBatchTask *task)
{
    const AcrProgress *progress = batch->options->progress;
    g_autofree char *text = task ? describe_end(task) : NULL;
    AcrProgressEvent event = {
        .kind = ACR_PROGRESS_TASK,
        .made = batch->options->spec->reproduce_only ? "script" : "patch",
        .task = task ? task->instance->instance_id : NULL,
        .text = text,
        /* the fault of a row was already reported when the batch began */
        .is_bad = task && !task->instance->fault &&
                  (task->result->error || task->result->exit_code == ACR_EXIT_INTERRUPTED),
        .ended = batch->ended,
        .total = batch->instances->len,
        .good = batch->result.patches,
        .left_ms = batch->note.left_ms,
        .left_microusd = batch->note.left_microusd,
        .mean_ms = batch->note.mean_ms};
    acr_progress_tell(progress, event);
    AcrSpent spent = batch->result.spent;
    spent.charged_microusd =
        MAX(spent.charged_microusd, acr_batch_charged(batch->options->spec->out, ""));
    acr_progress_tell(progress, (AcrProgressEvent){.kind = ACR_PROGRESS_SPENT, .spent = spent});
}

/* Writes the predictions. With --reproduce-only, writes nothing, because scripts are not
 * predictions. */
static bool write_predictions(const Batch *batch, GError **error)
{
    const AcrRunSpec *spec = batch->options->spec;
    return spec->reproduce_only || acr_predictions_write(spec, batch->instances, error);
}

/* The caller holds the lock. */
static void write_summary(Batch *batch)
{
    GError **keep_first = batch->failure ? NULL : &batch->failure;
    if (!acr_batch_summary_write(batch->options->summary, keep_first))
        acr_progress_warn(batch->options->progress,
                          "the summary of the batch could not be updated");
}

/* Adds a task that has ended to the totals and the predictions. The caller holds the lock. */
static void account(Batch *batch, const AcrBatchTask *task, guint number)
{
    const AcrRunResult *result = task->result;
    int code = result->exit_code;
    const AcrBatchOptions *options = batch->options;
    batch->ended++;
    bool is_rejected = code == ACR_EXIT_NONE && result->found.diff;
    batch->result.patches += code == ACR_EXIT_OK || is_rejected;
    batch->result.rejected += is_rejected;
    batch->result.without += code == ACR_EXIT_NONE && !is_rejected;
    batch->result.stopped += code == ACR_EXIT_CEILING;
    batch->result.interrupted += code == ACR_EXIT_INTERRUPTED;
    bool has_failed =
        code > ACR_EXIT_NONE && code != ACR_EXIT_CEILING && code != ACR_EXIT_INTERRUPTED;
    look_for_pause(batch, result);
    GError **keep_first = batch->failure ? NULL : &batch->failure;
    if (!write_predictions(batch, keep_first))
        has_failed = true;
    batch->result.failed += has_failed;
    look_for_failures(batch);
    forecast(batch, task);
    const AcrSpent spent = acr_cost_spent(&result->cost);
    acr_spent_add(&batch->result.spent, &spent);
    acr_batch_summary_add(options->summary, task);
    write_summary(batch);
    tell_task(batch, task);
    batch->note.task_begun_ms[number] = 0;
    acr_batch_note_write(&batch->note);
}

/* True if a task is finished and needs neither money nor time. Sets *spec to the options of the
 * task's run. */
static bool is_finished(const char *out, const AcrInstance *instance, AcrRunSpec *spec)
{
    g_autofree char *path = g_build_filename(out, instance->instance_id, NULL);
    g_auto(AcrRunResult) result = {0};
    bool has_result = false;
    return acr_task_read(path, spec, &result, &has_result, NULL) && has_result && !result.error;
}

GPtrArray *acr_batch_unfinished(const char *out, const GPtrArray *instances)
{
    GPtrArray *left = g_ptr_array_new();
    for (guint i = 0; i < instances->len; i++) {
        g_auto(AcrRunSpec) unused = acr_run_spec_of(ACR_FOR_RUN);
        if (!out || !is_finished(out, instances->pdata[i], &unused))
            g_ptr_array_add(left, instances->pdata[i]);
    }
    return left;
}

/* Sets *out to the number of the next task to begin. Returns false if there is none. The caller
 * holds the lock. */
static bool take_task(Batch *batch, guint *out)
{
    AcrBatchNote *note = &batch->note;
    while (note->next < batch->instances->len && !batch->result.paused &&
           !acr_interrupted(batch->options->interrupt)) {
        g_auto(AcrRunSpec) unused = acr_run_spec_of(ACR_FOR_RUN);
        *out = note->next++;
        if (!acr_limits_are_over(&batch->limits, LEDGER_SCOPE) ||
            is_finished(batch->options->spec->out, batch->instances->pdata[*out], &unused)) {
            note->task_begun_ms[*out] = acr_now_ms();
            acr_batch_note_write(note);
            return true;
        }
        batch->result.is_limited = true;
        batch->result.not_begun++;
    }
    return false;
}

static void follow_up(Batch *batch, guint number)
{
    const AcrBatchOptions *options = batch->options;
    const AcrInstance *instance = batch->instances->pdata[number];
    if (!options->after_task || acr_interrupted(options->interrupt))
        return;
    const char *grade = options->after_task(options->after_task_ctx, number,
                                            acr_budget_deadline(batch->limits.budget));
    if (!grade || acr_interrupted(options->interrupt))
        return;
    pthread_mutex_lock(&batch->lock);
    acr_batch_summary_grade(options->summary, instance->instance_id, grade);
    write_summary(batch);
    pthread_mutex_unlock(&batch->lock);
}

static void *run_next_tasks(void *data)
{
    Batch *batch = data;
    for (;;) {
        guint number = 0;
        pthread_mutex_lock(&batch->lock);
        bool is_over = !take_task(batch, &number);
        pthread_mutex_unlock(&batch->lock);
        if (is_over)
            return NULL;
        g_auto(AcrRunResult) result = {0};
        gint64 start_us = g_get_monotonic_time();
        AcrBatchTask task = {.instance = batch->instances->pdata[number], .result = &result};
        g_auto(AcrRunSpec) kept = acr_run_spec_of(ACR_FOR_RUN);
        task.was_over = is_finished(batch->options->spec->out, task.instance, &kept);
        run_instance(batch, number, task.was_over ? &kept : NULL, &task.setup_ms, &result);
        task.ms = (g_get_monotonic_time() - start_us) / 1000 - task.setup_ms;
        pthread_mutex_lock(&batch->lock);
        account(batch, &task, number);
        pthread_mutex_unlock(&batch->lock);
        follow_up(batch, number);
    }
}

void acr_batch_result_clear(AcrBatchResult *result)
{
    g_clear_pointer(&result->paused, g_free);
}

/* Opens what the tasks share: the folder, the limits and, if a limit needs it, the ledger. Only the
 * batch creates the ledger; tasks only open it, so that a ledger that somebody removes is not
 * replaced by an empty one. */
static bool begin_batch(Batch *batch, GError **error)
{
    const AcrRunSpec *spec = batch->options->spec;
    batch->shared_dir = acr_batch_shared_dir(spec->out);
    g_autofree char *ledger = acr_batch_ledger(batch->shared_dir);
    if (!check_no_link(batch->shared_dir, error) || !acr_dir_make(batch->shared_dir, error) ||
        !acr_limits_init(&batch->limits, spec, error) || !acr_llm_resume(batch->shared_dir, error))
        return false;
    return acr_limits_open_batch(&batch->limits, spec, ledger, error);
}

void acr_batch_threads(gint64 wanted, guint most, void *(*body)(void *), void *data)
{
    guint n = CLAMP((guint)wanted, 1, most), started = 0;
    g_autofree pthread_t *threads = g_new0(pthread_t, n);
    while (started + 1 < n && pthread_create(&threads[started], NULL, body, data) == 0)
        started++;
    body(data); /* the calling thread is one of the threads */
    for (guint i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

static void run_all(Batch *batch)
{
    AcrBatchNote *note = &batch->note;
    acr_batch_note_write(note);
    tell_task(batch, NULL);
    acr_batch_threads(batch->options->spec->tasks_at_once, batch->instances->len, run_next_tasks,
                      batch);
    batch->result.tasks = batch->instances->len;
    batch->result.not_begun += batch->instances->len - note->next;
    if (batch->ended == 0 && !write_predictions(batch, &batch->failure))
        batch->result.failed++;
    note->is_over = true;
    note->why = acr_interrupted(batch->options->interrupt) ? "interrupted" : batch->result.paused;
    acr_batch_note_write(note);
}

bool acr_batch_run(const AcrBatchOptions *options, const GPtrArray *instances, AcrBatchResult *out,
                   GError **error)
{
    Batch batch = {.options = options,
                   .instances = instances,
                   .lock = PTHREAD_MUTEX_INITIALIZER,
                   .note = {.spec = options->spec,
                            .instances = instances,
                            .begun_ms = acr_now_ms(),
                            .task_begun_ms = g_new0(gint64, instances->len),
                            .left_ms = -1}};
    bool ok = begin_batch(&batch, error);
    if (ok)
        run_all(&batch);
    if (batch.failure)
        g_propagate_error(error, batch.failure);
    acr_limits_clear(&batch.limits);
    ACR_FREE(batch.shared_dir, batch.note.task_begun_ms);
    pthread_mutex_destroy(&batch.lock);
    *out = batch.result;
    return ok && !batch.failure;
}
