/*
 * The live models of a task: which of them gets the key and the headers that the user gave, and the
 * second model that stands behind each.
 */
#include "task/task_private.h"

#include <string.h>

/* One model by its name. The address, the key and the headers that were given are the first model's
 * provider's: no other one gets to see them. */
static AcrModel *make_one(const char *name, const AcrTaskOptions *task,
                          const AcrModelOptions *shared, GError **error)
{
    AcrModelOptions options = *shared;
    if (acr_llm_same_key(name, task->models[0])) {
        options.key_command = task->key_command;
        options.key_file = task->key_file;
        options.headers = task->headers;
        options.base_url = task->base_url;
    }
    return acr_model_new(name, &options, error);
}

/* A model, with the one that takes over behind it. */
static AcrModel *make_model(const char *name, const AcrTaskOptions *task,
                            const AcrModelOptions *shared, GError **error)
{
    g_autoptr(AcrModel) first = make_one(name, task, shared, error);
    if (!first || !task->fallback_model)
        return g_steal_pointer(&first);
    AcrModel *second = make_one(task->fallback_model, task, shared, error);
    return second ? acr_fallback_model_new(g_steal_pointer(&first), second) : NULL;
}

static void on_wait(void *ctx, const char *why, gint64 wait_ms)
{
    const AcrHost *host = ctx;
    g_autofree char *line =
        g_strdup_printf("waiting %.1f s to call the model again: %s", (double)wait_ms / 1000, why);
    if (host->progress && host->progress->note)
        host->progress->note(host->progress->ctx, line);
}

static bool has_money_ceiling(const AcrTaskCeilings *ceilings)
{
    return ceilings &&
           (ceilings->run.pico >= 0 || (ceilings->batch_ledger && ceilings->batch.pico >= 0));
}

GPtrArray *acr_task_models_new(const AcrTaskOptions *task, const AcrSpending *spending,
                               const AcrHost *host, GError **error)
{
    g_autoptr(GPtrArray) models = g_ptr_array_new_with_free_func((GDestroyNotify)acr_model_free);
    /* What a script's lines may name: the roles that ask. */
    AcrModelOptions shared = {
        .instance_id = task->instance_id,
        .labels = acr_role_names(),
        .temperature = task->temperature,
        .effort = task->effort,
        .shared_dir = task->shared_dir,
        .max_retries = task->retries,
        .retry_base_ms = task->retry_base_ms,
        .prices = spending->prices,
        .budget = spending->budget,
        .interrupt = host->interrupt,
        .on_wait = on_wait,
        .on_wait_ctx = (void *)host,
    };
    for (guint i = 0; task->models[i]; i++) {
        AcrModel *model = make_model(task->models[i], task, &shared, error);
        if (!model)
            return NULL;
        g_ptr_array_add(models, model);
        if (has_money_ceiling(task->ceilings) && model->remark && host->progress &&
            host->progress->warn)
            host->progress->warn(host->progress->ctx, model->remark);
    }
    return g_steal_pointer(&models);
}
