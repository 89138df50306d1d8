/*
 * Runs many tasks: a few threads take one task after the other and each runs it as a process of its
 * own, `acr-host run`, so that whatever happens in one cannot reach the others. Shared between the
 * threads is only Batch, under its lock.
 */
#include "batch/batch_private.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "llm/llm.h"

#define SAID_BYTES (1024u * 1024)
#define EXIT_ENVIRONMENT 3 /* of a task */
#define EXIT_CEILING 4     /* of one that stopped at a ceiling */

typedef struct {
    const AcrBatchOptions *options;
    const GPtrArray *instances;
    pthread_mutex_t lock;
    guint next, ended;
    AcrBatchResult result;
    GError *failure; /* of writing the predictions; the first */
} Batch;

static GPtrArray *make_argv(const Batch *batch, const AcrInstance *instance, const char *repo)
{
    const AcrBatchOptions *options = batch->options;
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(argv, g_strdup(options->exe));
    g_ptr_array_add(argv, g_strdup("run"));
    g_ptr_array_add(argv, g_strdup_printf("--parent=%ld", (long)getpid()));
    g_ptr_array_add(argv, g_strdup_printf("--repo=%s", repo));
    g_ptr_array_add(argv, g_strdup_printf("--rev=%s", instance->base_commit));
    g_ptr_array_add(argv, g_strdup("--issue=-"));
    g_ptr_array_add(argv, g_strdup_printf("--instance-id=%s", instance->instance_id));
    g_ptr_array_add(argv, g_strdup_printf("--out=%s/%s", options->out, instance->instance_id));
    if (options->shared_dir)
        g_ptr_array_add(argv, g_strdup_printf("--shared-dir=%s", options->shared_dir));
    for (guint i = 0; options->arguments[i]; i++)
        g_ptr_array_add(argv, g_strdup(options->arguments[i]));
    g_ptr_array_add(argv, NULL);
    return argv;
}

/* The last line of what a process wrote to stderr; owned. */
static char *last_line(GBytes *bytes)
{
    gsize len;
    const char *data = g_bytes_get_data(bytes, &len);
    g_autofree char *text = g_strchomp(acr_utf8_repair(data, len));
    const char *line = strrchr(text, '\n');
    return g_strdup(line ? line + 1 : text);
}

/* Runs one task; its exit code, and in *out_said (owned) its last word. */
static int run_instance(Batch *batch, const AcrInstance *instance, char **out_said)
{
    g_autofree char *repo = acr_dataset_repo(batch->options->repos, instance->repo);
    if (!repo) {
        *out_said =
            g_strdup_printf("no repository of '%s' in '%s'", instance->repo, batch->options->repos);
        return EXIT_ENVIRONMENT;
    }
    g_autoptr(GPtrArray) argv = make_argv(batch, instance, repo);
    g_autoptr(GError) error = NULL;
    g_auto(AcrSpawnResult) result = {0};
    AcrSpawn spawn = {
        .argv = (const char *const *)argv->pdata,
        .input = instance->problem_statement,
        .input_len = strlen(instance->problem_statement),
        .output_limit = SAID_BYTES,
        .interrupt = batch->options->interrupt,
    };
    if (!acr_spawn_run(&spawn, &result, &error)) {
        *out_said = g_strdup(error->message);
        return EXIT_ENVIRONMENT;
    }
    *out_said = result.signal ? g_strdup_printf("ended by signal %d", result.signal)
                              : last_line(result.err);
    return result.signal ? 128 + result.signal : result.exit_code;
}

/* Whether what a task said last is about the model that the pause names: with a second model behind
 * it, a task that failed may have failed by something else. */
static bool is_about_pause(const char *said, const char *paused)
{
    const char *name = strstr(paused, "model '"), *end = name ? strstr(name, "' at ") : NULL;
    g_autofree char *model = end ? g_strndup(name, (gsize)(end - name)) : g_strdup("");
    return strstr(said, model) != NULL;
}

static void look_for_pause(Batch *batch, int code, const char *said)
{
    if (code != EXIT_ENVIRONMENT || !batch->options->shared_dir || batch->result.paused)
        return;
    g_autofree char *paused = acr_llm_paused(batch->options->shared_dir);
    if (paused && is_about_pause(said, paused))
        batch->result.paused = g_steal_pointer(&paused);
}

/* Counts an ended task and brings the predictions up to date. Called under the lock. */
static void account(Batch *batch, const AcrInstance *instance, int code, const char *said)
{
    batch->ended++;
    batch->result.patches += code == 0;
    batch->result.without += code == 1;
    batch->result.stopped += code == EXIT_CEILING;
    batch->result.failed += code > 1 && code != EXIT_CEILING;
    look_for_pause(batch, code, said);
    GError **keep_first = batch->failure ? NULL : &batch->failure;
    if (!acr_predictions_write(batch->options, batch->instances, keep_first))
        batch->result.failed += code <= 1 || code == EXIT_CEILING;
    if (batch->options->on_task)
        batch->options->on_task(batch->options->on_task_ctx, instance, code, said, batch->ended,
                                batch->instances->len);
}

/* Whether another task is to be begun. Called under the lock. */
static bool has_more(Batch *batch)
{
    const AcrBatchOptions *options = batch->options;
    guint left = batch->instances->len - batch->next;
    if (left == 0 || batch->result.paused || acr_interrupted(options->interrupt))
        return false;
    if (!options->is_over || !options->is_over(options->is_over_ctx))
        return true;
    batch->result.stopped += left;
    batch->next = batch->instances->len;
    return false;
}

static void *work(void *data)
{
    Batch *batch = data;
    for (;;) {
        pthread_mutex_lock(&batch->lock);
        bool more = has_more(batch);
        const AcrInstance *instance = more ? batch->instances->pdata[batch->next++] : NULL;
        pthread_mutex_unlock(&batch->lock);
        if (!instance)
            return NULL;
        g_autofree char *said = NULL;
        int code = run_instance(batch, instance, &said);
        pthread_mutex_lock(&batch->lock);
        account(batch, instance, code, said);
        pthread_mutex_unlock(&batch->lock);
    }
}

void acr_batch_result_clear(AcrBatchResult *result)
{
    g_clear_pointer(&result->paused, g_free);
}

bool acr_batch_run(const AcrBatchOptions *options, const GPtrArray *instances, AcrBatchResult *out,
                   GError **error)
{
    Batch batch = {.options = options, .instances = instances, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (!acr_dir_make(options->out, error) ||
        (options->shared_dir && !acr_llm_resume(options->shared_dir, error)))
        return false;
    guint n = CLAMP(options->jobs, 1, MIN(ACR_BATCH_MAX_JOBS, instances->len)), started = 0;
    g_autofree pthread_t *threads = g_new0(pthread_t, n);
    while (started + 1 < n && pthread_create(&threads[started], NULL, work, &batch) == 0)
        started++;
    work(&batch); /* this thread is one of them */
    for (guint i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&batch.lock);
    if (batch.failure) {
        g_propagate_error(error, batch.failure);
        acr_batch_result_clear(&batch.result);
        return false;
    }
    batch.result.tasks = instances->len;
    batch.result.not_begun = instances->len - batch.next;
    *out = batch.result;
    return true;
}
