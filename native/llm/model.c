/* Calls of a model, whatever stands behind it, and what all backends share: error names, answers. */
#include "llm/llm.h"

#include <string.h>

G_DEFINE_QUARK(acr_llm_error_quark, acr_llm_error)

const char *acr_llm_error_name(AcrLlmError code)
{
    static const char *const names[ACR_LLM_ERRORS] = {
        [ACR_LLM_ERROR_FAILED] = "failed",
        [ACR_LLM_ERROR_USAGE] = "usage",
        [ACR_LLM_ERROR_AUTH] = "auth",
        [ACR_LLM_ERROR_BILLING] = "billing",
        [ACR_LLM_ERROR_RATE_LIMIT] = "rate_limit",
        [ACR_LLM_ERROR_OVERLOADED] = "overloaded",
        [ACR_LLM_ERROR_SERVER] = "server",
        [ACR_LLM_ERROR_TIMEOUT] = "timeout",
        [ACR_LLM_ERROR_CONTEXT_OVERFLOW] = "context_overflow",
        [ACR_LLM_ERROR_CONTENT_FILTER] = "content_filter",
        [ACR_LLM_ERROR_REFUSAL] = "refusal",
        [ACR_LLM_ERROR_BAD_REQUEST] = "bad_request",
        [ACR_LLM_ERROR_NETWORK] = "network",
        [ACR_LLM_ERROR_UNREACHABLE] = "network",
        [ACR_LLM_ERROR_TRUNCATED] = "truncated_stream",
        [ACR_LLM_ERROR_MALFORMED] = "malformed",
        [ACR_LLM_ERROR_USED_UP] = "used_up",
        [ACR_LLM_ERROR_EXPECT] = "expect",
        [ACR_LLM_ERROR_CEILING] = "ceiling",
        [ACR_LLM_ERROR_INTERRUPTED] = "interrupted",
    };

    return (guint)code < ACR_LLM_ERRORS ? names[code] : names[ACR_LLM_ERROR_FAILED];
}

void acr_model_try_clear(gpointer attempt)
{
    g_free(((AcrModelTry *)attempt)->request_id);
}

void acr_model_answer_clear(AcrModelAnswer *answer)
{
    if (!answer)
        return;
    g_free(answer->content);
    g_free(answer->finish);
    g_free(answer->model);
    g_free(answer->request_id);
    acr_json_free(answer->tools);
    memset(answer, 0, sizeof *answer);
}

bool acr_model_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                        GError **error)
{
    return model->ops->complete(model, request, out, error);
}

void acr_model_skip(AcrModel *model, const AcrModelRequest *request)
{
    if (model->ops->skip)
        model->ops->skip(model, request);
}

const AcrModelReport *acr_model_report(AcrModel *model)
{
    static const AcrModelReport nothing = {0};

    return model->ops->report ? model->ops->report(model) : &nothing;
}

void acr_model_facts(AcrModel *model, AcrModelFacts *out)
{
    *out = (AcrModelFacts){.is_free = true};
    if (model->ops->facts)
        model->ops->facts(model, out);
}

bool acr_model_reach(AcrModel *model, gint64 timeout_ms, int *out_status, GError **error)
{
    *out_status = 0;
    return !model->ops->reach || model->ops->reach(model, timeout_ms, out_status, error);
}

guint acr_report_sent(const AcrModelReport *report)
{
    guint sent = 0;

    for (guint i = 0; report->tries && i < report->tries->len; i++)
        sent += g_array_index(report->tries, AcrModelTry, i).sent;
    return sent;
}

void acr_model_free(AcrModel *model)
{
    if (model)
        model->ops->free(model);
}
