/* Implements the functions that all models share, with any backend: calls, error names, answers. */
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
        [ACR_LLM_ERROR_INCOMPLETE] = "incomplete",
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
    ACR_FREE(answer->content, answer->finish, answer->thoughts, answer->model, answer->request_id);
    acr_json_free(answer->tools);
    memset(answer, 0, sizeof *answer);
}

void acr_model_answer_split(AcrModelAnswer *answer)
{
    g_autofree char *thoughts = NULL;
    char *text = acr_thoughts_split(answer->content, &thoughts);
    g_free(answer->content);
    answer->content = text;
    if (!thoughts)
        return;
    char *all = answer->thoughts ? g_strdup_printf("%s\n\n%s", answer->thoughts, thoughts)
                                 : g_strdup(thoughts);
    g_free(answer->thoughts);
    answer->thoughts = all;
}

const char *acr_model_answer_problem(const AcrModelAnswer *answer)
{
    bool is_empty = !*answer->content && !answer->tools;
    if (g_strcmp0(answer->finish, "length") == 0)
        return is_empty ? "the model used all its tokens for thinking; raise --max-answer-tokens"
                        : "the model reached its token limit (finish reason \"length\")";
    if (g_strcmp0(answer->finish, "content_filter") == 0)
        return "a content filter stopped the model (finish reason \"content_filter\")";
    if (is_empty && answer->thoughts)
        return "the model wrote only thoughts, no answer";
    return NULL;
}

bool acr_model_complete(AcrModel *model, const AcrModelRequest *request, AcrModelAnswer *out,
                        GError **error)
{
    AcrModelRequest asked = *request;
    asked.is_varied = asked.is_varied || model->is_varied;
    return model->ops->complete(model, &asked, out, error);
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

guint acr_report_tries(const AcrModelReport *report)
{
    return report && report->tries ? report->tries->len : 0;
}

char *acr_report_charge_text(const AcrModelReport *report, const GError *failure)
{
    gint64 pico = 0;
    for (guint i = 0; i < acr_report_tries(report); i++)
        pico += g_array_index(report->tries, AcrModelTry, i).charged_pico;
    if (pico <= 0 || failure->code != ACR_LLM_ERROR_INTERRUPTED)
        return NULL;
    return g_strdup_printf("the interrupted call counts as its maximum, %.6f USD, because the "
                           "provider may charge for it",
                           (double)acr_microusd(pico) / 1e6);
}

void acr_model_free(AcrModel *model)
{
    if (model)
        model->ops->free(model);
}
