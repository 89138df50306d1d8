/*
 * The one door to a model: takes its name apart, finds the backend, hands calls on. Also what all
 * backends share: error names and answers.
 */
#include "llm/llm.h"

#include <string.h>

#include "llm/provider.h"
#include "llm/scripted_model.h"

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

void acr_model_answer_clear(AcrModelAnswer *answer)
{
    if (!answer)
        return;
    g_free(answer->content);
    g_free(answer->finish);
    g_free(answer->model);
    g_free(answer->request_id);
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

/* The provider of a model's name; NULL: none, or a script's. */
static const AcrProvider *provider_of(const char *name)
{
    const char *slash = strchr(name, '/');
    const char *bare = slash ? NULL : acr_prices_provider_of(name);

    if (slash)
        return acr_provider_find(name, (gsize)(slash - name));
    return bare ? acr_provider_find(bare, strlen(bare)) : NULL;
}

bool acr_llm_same_key(const char *a, const char *b)
{
    const AcrProvider *first = provider_of(a);
    const AcrProvider *second = provider_of(b);
    const char *const *variables = first ? first->key_variables : NULL;

    if (!first || !second)
        return false;
    return first == second || (variables && second->key_variables &&
                               strcmp(variables[0], second->key_variables[0]) == 0);
}

static bool refuse_name(const char *name, GError **error)
{
    const char *slash = strchr(name, '/');
    g_autofree char *known = acr_provider_names();
    g_autofree char *shown = acr_redact_line(name, NULL, 200);

    if (!slash || slash == name || !slash[1])
        g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                    "model '%s' is not PROVIDER/NAME, such as 'openai/gpt-4.1' (providers: %s), "
                    "nor a name that only one provider has, nor script:FILE",
                    shown, known);
    else
        g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
                    "model '%s' names an unknown provider; known are: %s, and script:FILE", shown,
                    known);
    return false;
}

static bool is_script(const char *name)
{
    return g_str_has_prefix(name, "script:") && name[strlen("script:")];
}

bool acr_llm_check_name(const char *name, GError **error)
{
    const char *slash = strchr(name, '/');

    return is_script(name) || (provider_of(name) && (!slash || slash[1])) ||
           refuse_name(name, error);
}

AcrModel *acr_model_new(const char *name, const AcrModelOptions *options, GError **error)
{
    const char *slash = strchr(name, '/');
    const char *model = slash ? slash + 1 : name;

    if (!acr_llm_check_name(name, error))
        return NULL;
    if (is_script(name))
        return acr_script_model_new(name, name + strlen("script:"), options, error);
    return acr_http_model_new(provider_of(name), name, model, options, error);
}
