/* Combines two models into one. If the first fails permanently, for a reason that the second may
 * not share, the failed call and all later calls go to the second, so that the broken server is
 * retried only once. The report has the tries of both models; each try has its model's name. */
#include "llm/failure.h"

typedef struct {
    AcrModel base;
    AcrModel *first, *second; /* owned */
    /* the first model has failed permanently, so only the second model is called */
    bool has_fallen;
    AcrModelReport report;
} FallbackModel;

/* Whether the other model, which has another key and account, may succeed after the failure
 * `error`. The models themselves retry transient failures. */
static bool may_fall(const GError *error)
{
    return error->domain == ACR_LLM_ERROR &&
           (error->code == ACR_LLM_ERROR_AUTH || error->code == ACR_LLM_ERROR_BILLING ||
            acr_failure_retries((AcrLlmError)error->code) > 0);
}

/* Calls `model`, one of the two models, and adds its tries to the report. */
static bool ask_model(FallbackModel *self, AcrModel *model, const AcrModelRequest *request,
                      AcrModelAnswer *out, GError **error)
{
    bool ok = acr_model_complete(model, request, out, error);
    const AcrModelReport *report = acr_model_report(model);
    for (guint i = 0; report->tries && i < report->tries->len; i++) {
        AcrModelTry copy = g_array_index(report->tries, AcrModelTry, i);
        copy.request_id = g_strdup(copy.request_id);
        g_array_append_val(self->report.tries, copy);
    }
    self->report.window = report->window;
    return ok;
}

static bool fallback_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                              GError **error)
{
    FallbackModel *self = (FallbackModel *)model;
    g_autoptr(GError) reason = NULL;
    g_array_set_size(self->report.tries, 0);
    if (!self->has_fallen) {
        if (ask_model(self, self->first, request, out, &reason))
            return true;
        if (!may_fall(reason))
            return acr_pass_error(error, &reason);
        self->has_fallen = true;
    }
    if (ask_model(self, self->second, request, out, error))
        return true;
    if (reason && error && *error) {
        g_autofree char *before =
            g_strdup_printf("%s; earlier failure: %s", (*error)->message, reason->message);
        g_free((*error)->message);
        (*error)->message = g_steal_pointer(&before);
    }
    return false;
}

/* Skips the call in both models, because the journal does not say which model gave the answer.
 * Skipping matters only for scripts, which count their lines. */
static void fallback_skip(AcrModel *model, const AcrModelRequest *request)
{
    FallbackModel *self = (FallbackModel *)model;
    acr_model_skip(self->first, request);
    acr_model_skip(self->second, request);
}

static const AcrModelReport *fallback_report(AcrModel *model)
{
    return &((FallbackModel *)model)->report;
}

static void fallback_free(AcrModel *model)
{
    FallbackModel *self = (FallbackModel *)model;
    acr_model_free(self->first);
    acr_model_free(self->second);
    g_array_unref(self->report.tries);
    ACR_FREE(self->base.remark, self->base.name, self);
}

AcrModel *acr_fallback_model_new(AcrModel *first, AcrModel *second)
{
    static const AcrModelOps ops = {.complete = fallback_complete,
                                    .free = fallback_free,
                                    .skip = fallback_skip,
                                    .report = fallback_report};
    FallbackModel *self = g_new0(FallbackModel, 1);
    self->base = (AcrModel){.ops = &ops, .name = g_strdup(first->name)};
    self->base.remark = g_strdup(first->remark ? first->remark : second->remark);
    self->first = first;
    self->second = second;
    self->report.tries = g_array_new(FALSE, TRUE, sizeof(AcrModelTry));
    g_array_set_clear_func(self->report.tries, acr_model_try_clear);
    return &self->base;
}
