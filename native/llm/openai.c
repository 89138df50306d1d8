/*
 * OpenAI's chat completions dialect, which many servers speak: the request's JSON, the answer's
 * JSON, and the two corrections that a model may ask for (another name of the token limit; no
 * temperature). Nothing is sent here.
 */
#include "llm/llm_private.h"

#include <string.h>

static void add_header(GPtrArray *headers, const char *name, const char *variable)
{
    const char *value = g_getenv(variable);

    if (value && *value)
        g_ptr_array_add(headers, g_strdup_printf("%s: %s", name, value));
}

static void openai_headers(GPtrArray *headers, const char *key)
{
    if (key)
        g_ptr_array_add(headers, g_strdup_printf("Authorization: Bearer %s", key));
    add_header(headers, "OpenAI-Organization", "OPENAI_ORG_ID");
    add_header(headers, "OpenAI-Project", "OPENAI_PROJECT_ID");
}

static AcrJson *openai_request(const AcrDialect *dialect, const AcrModelRequest *request)
{
    AcrJson *json = acr_json_new_object();

    acr_json_set_string(json, "model", dialect->model);
    acr_json_set(json, "messages", acr_conversation_to_json(request->conversation, 0));
    if (dialect->temperature >= 0 && !dialect->no_temperature)
        acr_json_set(json, "temperature", acr_json_new_double(dialect->temperature));
    if (request->max_tokens > 0)
        acr_json_set_int(json,
                         dialect->max_completion_tokens ? "max_completion_tokens" : "max_tokens",
                         request->max_tokens);
    if (request->json) {
        AcrJson *format = acr_json_new_object();

        acr_json_set_string(format, "type", "json_object");
        acr_json_set(json, "response_format", format);
    }
    return json;
}

/* Whether the refusal is about that parameter: by its `param`, or by a message that quotes it. */
static bool is_about(const AcrFailure *failure, const char *param)
{
    g_autofree char *quoted = g_strdup_printf("'%s'", param);

    if (failure->param && *failure->param)
        return strcmp(failure->param, param) == 0;
    return failure->message && strstr(failure->message, quoted);
}

static bool openai_correct(AcrDialect *dialect, const AcrFailure *failure)
{
    const char *limit = dialect->max_completion_tokens ? "max_completion_tokens" : "max_tokens";

    if (failure->code != ACR_LLM_ERROR_BAD_REQUEST)
        return false;
    if (!dialect->renamed_limit && is_about(failure, limit)) {
        dialect->renamed_limit = true;
        dialect->max_completion_tokens = !dialect->max_completion_tokens;
        return true;
    }
    if (!dialect->no_temperature && dialect->temperature >= 0 && is_about(failure, "temperature")) {
        dialect->no_temperature = true;
        return true;
    }
    return false;
}

/* A counter, or -1 where the server says none or nonsense. */
static gint64 counter(const AcrJson *object, const char *key)
{
    gint64 value = acr_json_get_int(object, key, -1);

    return value >= 0 && value < ((gint64)1 << 53) ? value : -1;
}

/* The dialect counts cached tokens within the prompt's; ours are disjoint. */
static AcrUsage read_usage(const AcrJson *usage)
{
    gint64 prompt = counter(usage, "prompt_tokens");
    gint64 cached = counter(acr_json_get(usage, "prompt_tokens_details"), "cached_tokens");

    if (prompt >= 0 && cached > prompt)
        cached = prompt;
    return (AcrUsage){
        .input = prompt >= 0 && cached > 0 ? prompt - cached : prompt,
        .cached = prompt >= 0 && cached < 0 ? 0 : cached,
        .output = counter(usage, "completion_tokens"),
        .cost_microusd = -1,
    };
}

/* An answer without text is one only where the model ran into its token limit. */
static bool check_no_content(const AcrJson *message, const char *finish, GError **error)
{
    const char *refusal = acr_json_get_string(message, "refusal");

    if (refusal && *refusal) {
        g_autofree char *shown = acr_text_shorten(refusal, ACR_LLM_MAX_MESSAGE);

        g_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_REFUSAL, "the model refused: %s", shown);
        return false;
    }
    if (strcmp(finish, "content_filter") == 0) {
        g_set_error_literal(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTENT_FILTER,
                            "the answer was filtered");
        return false;
    }
    if (strcmp(finish, "length") == 0)
        return true;
    g_set_error_literal(error, ACR_LLM_ERROR, ACR_LLM_ERROR_MALFORMED, "the answer holds no text");
    return false;
}

static bool openai_answer(const AcrJson *body, AcrModelAnswer *out, GError **error)
{
    const AcrJson *choice = acr_json_first(acr_json_get(body, "choices"));
    const AcrJson *message = acr_json_get(choice, "message");
    const AcrJson *content = acr_json_get(message, "content");
    const char *finish = acr_json_get_string(choice, "finish_reason");
    const char *text = acr_json_string(content);

    if (acr_json_type(message) != ACR_JSON_OBJECT ||
        (acr_json_type(content) != ACR_JSON_STRING && acr_json_type(content) != ACR_JSON_NULL)) {
        g_set_error_literal(error, ACR_LLM_ERROR, ACR_LLM_ERROR_MALFORMED,
                            "the response holds no choices[0].message with a text");
        return false;
    }
    finish = finish ? finish : "";
    if ((!text || (!*text && strcmp(finish, "stop") != 0)) &&
        !check_no_content(message, finish, error))
        return false;
    *out = (AcrModelAnswer){
        .content = g_strdup(text ? text : ""),
        .finish = g_strdup(finish),
        .model = g_strdup(acr_json_get_string(body, "model")),
        .usage = read_usage(acr_json_get(body, "usage")),
    };
    return true;
}

const AcrProvider acr_provider_openai = {
    .name = "openai",
    .key_variable = "OPENAI_API_KEY",
    .base_variable = "OPENAI_BASE_URL",
    .base_url = "https://api.openai.com/v1",
    .path = "chat/completions",
    .headers = openai_headers,
    .request = openai_request,
    .answer = openai_answer,
    .correct = openai_correct,
};
