/* Makes the live models of a task. Decides which models get the user's key and headers, and adds
 * the fallback model to each. */
#include "task/recorded.h"

#define LONG_WAIT_MS 3000 /* a longer wait gets a line in the log */

AcrModelOptions acr_model_options_of(const AcrRunSpec *spec, const AcrLimits *limits,
                                     const AcrInterrupt *interrupt)
{
    return (AcrModelOptions){
        .instance_id = spec->instance_id,
        .temperature = spec->temperature,
        .effort = spec->effort,
        .broker = spec->batch_broker,
        .service = spec->batch_broker       ? ACR_SERVICE_BATCH
                   : spec->service_tier < 0 ? ACR_SERVICE_ANY
                                            : ACR_SERVICE_STANDARD + (AcrService)spec->service_tier,
        .timeout_ms = MAX(spec->verb == ACR_FOR_ASK ? spec->timeout_ms : spec->answer_ms, 0),
        .timeout_option = spec->verb == ACR_FOR_ASK ? "--timeout" : "--answer-time",
        .max_tokens = (guint)MAX(spec->max_tokens, 0),
        .shared_dir = spec->shared_dir,
        .max_retries = (guint)spec->retries,
        /* In AcrModelOptions, 0 means the default, so an explicit 0 becomes 1. */
        .retry_base_ms = spec->retry_base_ms < 0 ? 0 : MAX(spec->retry_base_ms, 1),
        .prices = limits->prices,
        .budget = limits->budget,
        .interrupt = interrupt,
    };
}

AcrModel *acr_model_of(const AcrRunSpec *spec, const char *name, const AcrModelOptions *options,
                       GError **error)
{
    AcrModelOptions own = *options;
    if (acr_llm_same_key(name, spec->models[0])) {
        own.key_command = spec->key_command;
        own.key_file = spec->key_file;
        own.headers = (const char *const *)spec->headers;
        own.base_url = spec->base_url;
    }
    return acr_model_new(name, &own, error);
}

static void on_wait(void *ctx, const char *why, gint64 wait_ms)
{
    g_autofree char *line =
        g_strdup_printf("waiting %.1f s to call the model again: %s", (double)wait_ms / 1000, why);
    if (wait_ms < 0)
        acr_progress_warn(ctx, why);
    else
        acr_progress_tell(ctx, (AcrProgressEvent){.kind = ACR_PROGRESS_NOTE,
                                                  .text = line,
                                                  .is_long = wait_ms >= LONG_WAIT_MS});
}

static void on_answer(void *ctx, gint64 begun_ms, gint64 tokens)
{
    acr_progress_tell(
        ctx,
        (AcrProgressEvent){.kind = ACR_PROGRESS_WAITING, .since_ms = begun_ms, .tokens = tokens});
}

/* Makes a model, wrapped with its fallback model if there is one. */
static AcrModel *make_model(const AcrRunSpec *spec, const char *name,
                            const AcrModelOptions *options, GError **error)
{
    g_autoptr(AcrModel) first = acr_model_of(spec, name, options, error);
    if (!first || !spec->fallback_model)
        return g_steal_pointer(&first);
    AcrModel *second = acr_model_of(spec, spec->fallback_model, options, error);
    return second ? acr_fallback_model_new(g_steal_pointer(&first), second) : NULL;
}

GPtrArray *acr_task_models_new(const AcrRunSpec *spec, const AcrLimits *limits, const AcrHost *host,
                               GError **error)
{
    g_autoptr(GPtrArray) models = g_ptr_array_new_with_free_func((GDestroyNotify)acr_model_free);
    AcrModelOptions options = acr_model_options_of(spec, limits, host->interrupt);
    options.labels = acr_role_names();
    options.on_wait = on_wait;
    options.on_answer = on_answer;
    options.on_wait_ctx = options.on_answer_ctx = (void *)host->progress;
    for (guint i = 0; spec->models[i]; i++) {
        AcrModel *model = make_model(spec, spec->models[i], &options, error);
        if (!model)
            return NULL;
        g_ptr_array_add(models, model);
        if (acr_limits_bound_money(spec))
            acr_progress_warn(host->progress, model->remark);
    }
    return g_steal_pointer(&models);
}

bool acr_task_wants_tools(const AcrRunSpec *spec, const GPtrArray *models)
{
    bool all = models->len > 0;
    for (guint i = 0; i < models->len; i++) {
        AcrModelFacts facts;
        acr_model_facts(models->pdata[i], &facts);
        all = all && facts.calls_tools;
    }
    return spec->tools == ACR_TOOLS_NATIVE || (all && spec->tools != ACR_TOOLS_TEXT);
}
