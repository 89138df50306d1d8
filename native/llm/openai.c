/*
 * OpenAI's chat completions dialect, which many servers speak: the request's JSON, the events of a
 * stream, the JSON of a whole answer, and the corrections that a model may ask for. Nothing is sent
 * here. A stream is complete by its [DONE] and by nothing else.
 */
#include "llm/llm_private.h"

#include <string.h>

static const AcrWord finish_words[] = {
    {"function_call", "tool_calls"}, {"eos", "stop"}, {"max_tokens", "length"}, {NULL, NULL}};

bool acr_openai_prepare(AcrEndpoint *endpoint, GError **error)
{
    if (!acr_endpoint_need_key(endpoint, error))
        return false;
    endpoint->url = acr_llm_join_url(endpoint->base_url, "chat/completions");
    acr_endpoint_bearer(endpoint);
    return true;
}

void acr_openai_headers(AcrEndpoint *endpoint)
{
    acr_endpoint_headers_from(endpoint, "OPENAI_CUSTOM_HEADERS");
    acr_endpoint_bearer(endpoint);
    acr_endpoint_header_from(endpoint, "OpenAI-Organization", "OPENAI_ORG_ID");
    acr_endpoint_header_from(endpoint, "OpenAI-Project", "OPENAI_PROJECT_ID");
}

static bool openai_prepare(AcrEndpoint *endpoint, GError **error)
{
    acr_openai_headers(endpoint);
    return acr_openai_prepare(endpoint, error);
}

/* ---- Request ------------------------------------------------------------------------------------
 */

static void append_message(AcrJson *messages, const char *role, const char *content)
{
    AcrJson *message = acr_json_new_object();

    acr_json_set_string(message, "role", role);
    acr_json_set_string(message, "content", content);
    acr_json_append(messages, message);
}

/* The conversation, with `words` (may be NULL) at the end of its first system message. */
static AcrJson *messages_of(const AcrConversation *conversation, const char *words)
{
    AcrJson *messages = acr_json_new_array();
    gsize size = acr_conversation_size(conversation);
    bool begins_with_system =
        size > 0 && acr_conversation_message(conversation, 0)->role == ACR_ROLE_SYSTEM;

    if (words && !begins_with_system)
        append_message(messages, "system", words);
    for (gsize i = 0; i < size; i++) {
        const AcrMessage *message = acr_conversation_message(conversation, i);
        g_autofree char *longer = words && begins_with_system && i == 0
                                      ? g_strdup_printf("%s\n\n%s", message->content, words)
                                      : NULL;

        append_message(messages, acr_role_name(message->role), longer ? longer : message->content);
    }
    return messages;
}

static AcrJson *format_of(const AcrDialect *dialect, const AcrModelRequest *request)
{
    bool as_schema = request->schema && !dialect->no_schema;
    AcrJson *format = acr_json_new_object();
    AcrJson *inside = NULL;

    acr_json_set_string(format, "type", as_schema ? "json_schema" : "json_object");
    if (!as_schema)
        return format;
    inside = acr_json_new_object();
    acr_json_set_string(inside, "name", "answer");
    acr_json_set(inside, "schema", acr_json_copy(request->schema));
    acr_json_set_bool(inside, "strict", true);
    acr_json_set(format, "json_schema", inside);
    return format;
}

AcrJson *acr_openai_request(const AcrDialect *dialect, const AcrModelRequest *request)
{
    bool wants_json = request->json || request->schema;
    bool has_schema = request->schema && !dialect->no_schema;
    bool has_json = wants_json && !dialect->no_json;
    g_autofree char *words = acr_json_words(request, has_json, has_schema && has_json);
    AcrJson *json = acr_json_new_object();

    acr_json_set_string(json, "model", dialect->model);
    acr_json_set(json, "messages", messages_of(request->conversation, words));
    if (dialect->temperature >= 0 && !dialect->no_temperature)
        acr_json_set(json, "temperature", acr_json_new_double(dialect->temperature));
    if (dialect->effort && !dialect->no_effort)
        acr_json_set_string(json, "reasoning_effort", dialect->effort);
    if (request->max_tokens > 0)
        acr_json_set_int(json,
                         dialect->max_completion_tokens ? "max_completion_tokens" : "max_tokens",
                         request->max_tokens);
    if (has_json)
        acr_json_set(json, "response_format", format_of(dialect, request));
    if (!dialect->no_stream) {
        acr_json_set_bool(json, "stream", true);
        if (!dialect->no_stream_options) {
            AcrJson *options = acr_json_new_object();

            acr_json_set_bool(options, "include_usage", true);
            acr_json_set(json, "stream_options", options);
        }
    }
    return json;
}

/* ---- Corrections --------------------------------------------------------------------------------
 */

bool acr_openai_correct(AcrDialect *dialect, const AcrFailure *failure)
{
    const char *limit = dialect->max_completion_tokens ? "max_completion_tokens" : "max_tokens";

    if (failure->code != ACR_LLM_ERROR_BAD_REQUEST)
        return false;
    if (acr_learn(&dialect->renamed_limit, failure, limit)) {
        dialect->max_completion_tokens = !dialect->max_completion_tokens;
        return true;
    }
    if (dialect->temperature >= 0 && acr_learn(&dialect->no_temperature, failure, "temperature"))
        return true;
    if (dialect->effort && acr_learn(&dialect->no_effort, failure, "reasoning_effort"))
        return true;
    if (acr_learn(&dialect->no_stream_options, failure, "stream_options"))
        return true;
    if (acr_failure_is_about(failure, "json_schema") &&
        acr_learn(&dialect->no_schema, failure, "json_schema"))
        return true;
    if (dialect->asks_schema && acr_learn(&dialect->no_schema, failure, "response_format"))
        return true;
    return acr_learn(&dialect->no_json, failure, "response_format") ||
           acr_learn(&dialect->no_stream, failure, "stream");
}

/* ---- Answers ------------------------------------------------------------------------------------
 */

static void read_usage(AcrDraft *draft, const AcrJson *usage)
{
    const AcrJson *details = acr_json_get(usage, "prompt_tokens_details");
    gint64 cached = acr_counter(details, "cached_tokens");

    if (acr_json_type(usage) != ACR_JSON_OBJECT)
        return;
    if (cached < 0)
        cached = acr_counter(usage, "prompt_cache_hit_tokens");
    draft->usage = acr_usage_of_prompt(acr_counter(usage, "prompt_tokens"), cached,
                                       acr_counter(details, "cache_write_tokens"));
    draft->usage.output = acr_counter(usage, "completion_tokens");
    draft->usage.reasoning =
        acr_counter(acr_json_get(usage, "completion_tokens_details"), "reasoning_tokens");
    draft->usage.cost_pico = acr_stated_cost(usage, "cost");
    draft->usage.cost_stated = draft->usage.cost_pico >= 0;
}

/* Text, or a list of parts of which those of type text count. */
static bool add_content(AcrDraft *draft, const AcrJson *content)
{
    if (acr_json_type(content) != ACR_JSON_ARRAY)
        return acr_draft_add(draft, acr_json_string(content));
    for (const AcrJson *part = acr_json_first(content); part; part = acr_json_next(part))
        if (g_strcmp0(acr_json_get_string(part, "type"), "text") == 0 &&
            !acr_draft_add(draft, acr_json_get_string(part, "text")))
            return false;
    return true;
}

/* A message or a piece of one. False: too much. */
static bool take_message(AcrDraft *draft, const AcrJson *message)
{
    const char *refusal = acr_json_get_string(message, "refusal");
    const char *reasoning = acr_json_get_string(message, "reasoning_content");
    const char *thoughts = acr_json_get_string(message, "reasoning");

    if (refusal && draft->refusal->len + strlen(refusal) < ACR_LLM_MAX_ANSWER)
        g_string_append(draft->refusal, refusal);
    if (acr_json_size(acr_json_get(message, "tool_calls")) > 0 ||
        acr_json_get_string(acr_json_get(message, "function_call"), "name"))
        draft->has_calls = true;
    if ((reasoning && *reasoning) || (thoughts && *thoughts) || draft->has_calls)
        draft->content_us = g_get_monotonic_time();
    return add_content(draft, acr_json_get(message, "content"));
}

static const AcrJson *choice_0(const AcrJson *choices)
{
    for (const AcrJson *at = acr_json_first(choices); at; at = acr_json_next(at))
        if (acr_json_get_int(at, "index", 0) == 0)
            return at;
    return NULL;
}

AcrDraftStep acr_openai_event(AcrDraft *draft, const AcrEvent *event, const AcrJson *json)
{
    const AcrJson *choice = choice_0(acr_json_get(json, "choices"));
    const AcrJson *usage = acr_json_get(json, "usage");

    if (event->len >= 6 && memcmp(event->data, "[DONE]", 6) == 0)
        return ACR_DRAFT_DONE;
    if (acr_json_type(json) != ACR_JSON_OBJECT)
        return acr_draft_fail(draft, ACR_LLM_ERROR_MALFORMED,
                              "an event of the stream is no JSON object");
    if (strcmp(event->name, "error") == 0 || acr_failure_in_body(json))
        return acr_draft_fail_json(draft, json);
    acr_draft_set(&draft->model, acr_json_get_string(json, "model"));
    if (!take_message(draft, acr_json_get(choice, "delta")))
        return ACR_DRAFT_FAILED;
    acr_draft_finish(draft, finish_words, acr_json_get_string(choice, "finish_reason"));
    if (acr_json_type(usage) != ACR_JSON_OBJECT)
        usage = acr_json_get(acr_json_get(json, "x_groq"), "usage");
    read_usage(draft, usage);
    return ACR_DRAFT_MORE;
}

AcrDraftStep acr_openai_answer(AcrDraft *draft, const AcrJson *body)
{
    const AcrJson *choice = choice_0(acr_json_get(body, "choices"));
    const AcrJson *message = acr_json_get(choice, "message");

    if (acr_json_type(message) != ACR_JSON_OBJECT)
        return acr_draft_fail(draft, ACR_LLM_ERROR_MALFORMED,
                              "the response holds no choices[0].message");
    acr_draft_set(&draft->model, acr_json_get_string(body, "model"));
    if (!take_message(draft, message))
        return ACR_DRAFT_FAILED;
    acr_draft_finish(draft, finish_words, acr_json_get_string(choice, "finish_reason"));
    read_usage(draft, acr_json_get(body, "usage"));
    return ACR_DRAFT_DONE;
}

const AcrProvider acr_provider_openai = {
    .name = "openai",
    .key_variables = (const char *const[]){"OPENAI_API_KEY", NULL},
    .base_variables = (const char *const[]){"OPENAI_BASE_URL", NULL},
    .base_url = "https://api.openai.com/v1",
    .prepare = openai_prepare,
    .request = acr_openai_request,
    .event = acr_openai_event,
    .answer = acr_openai_answer,
    .correct = acr_openai_correct,
};
