/*
 * OpenAI's Responses: the request's JSON, the named events of a stream, the JSON of a whole answer.
 * The server keeps nothing of what is said (store: false). Of an event only its `type` counts. The
 * terminal event holds the whole response: what it says of text, end and tokens goes before the
 * pieces. A stream is complete by that event; a failure may come by one too, under HTTP 200.
 */
#include "llm/llm_private.h"

#include <string.h>

static const AcrWord incomplete_words[] = {{"max_output_tokens", "length"}, {NULL, NULL}};

static bool responses_prepare(AcrEndpoint *endpoint, GError **error)
{
    acr_openai_headers(endpoint);
    if (!acr_endpoint_need_key(endpoint, error))
        return false;
    endpoint->url = acr_llm_join_url(endpoint->base_url, "responses");
    return true;
}

/* ---- Request ------------------------------------------------------------------------------------
 */

static void append_item(AcrJson *input, const char *role, const char *content)
{
    AcrJson *item = acr_json_new_object();

    acr_json_set_string(item, "role", role);
    acr_json_set_string(item, "content", content);
    acr_json_append(input, item);
}

/* The text of a first system message, which is not repeated as an item; NULL: there is none. */
static const char *system_of(const AcrConversation *conversation)
{
    const AcrMessage *first =
        acr_conversation_size(conversation) > 0 ? acr_conversation_message(conversation, 0) : NULL;

    return first && first->role == ACR_ROLE_SYSTEM ? first->content : NULL;
}

static void set_instructions(AcrJson *json, const char *system, const char *words)
{
    g_autofree char *both = system && words ? g_strdup_printf("%s\n\n%s", system, words) : NULL;
    const char *text = both ? both : system ? system : words;

    if (text)
        acr_json_set_string(json, "instructions", text);
}

static void set_format(AcrJson *json, const AcrModelRequest *request, bool as_schema)
{
    AcrJson *text = acr_json_new_object();
    AcrJson *format = acr_json_new_object();

    acr_json_set_string(format, "type", as_schema ? "json_schema" : "json_object");
    if (as_schema) {
        acr_json_set_string(format, "name", "answer");
        acr_json_set(format, "schema", acr_json_copy(request->schema));
        acr_json_set_bool(format, "strict", true);
    }
    acr_json_set(text, "format", format);
    acr_json_set(json, "text", text);
}

static AcrJson *input_of(const AcrModelRequest *request, gsize from, bool needs_word)
{
    AcrJson *input = acr_json_new_array();

    /* JSON mode wants its word in the input: the instructions do not count. */
    if (needs_word && !acr_speaks_of_json(request->conversation, from))
        append_item(input, "developer", ACR_JSON_WORDS);
    for (gsize i = from; i < acr_conversation_size(request->conversation); i++) {
        const AcrMessage *message = acr_conversation_message(request->conversation, i);

        append_item(input, acr_role_name(message->role), message->content);
    }
    return input;
}

static AcrJson *responses_request(const AcrDialect *dialect, const AcrModelRequest *request)
{
    const char *system = system_of(request->conversation);
    bool has_json = (request->json || request->schema) && !dialect->no_json;
    bool has_schema = has_json && request->schema && !dialect->no_schema;
    g_autofree char *words =
        has_json && !request->schema ? NULL : acr_json_words(request, has_json, has_schema);
    AcrJson *json = acr_json_new_object();

    acr_json_set_string(json, "model", dialect->model);
    set_instructions(json, system, words);
    acr_json_set(json, "input", input_of(request, system ? 1 : 0, has_json && !has_schema));
    if (dialect->temperature >= 0 && !dialect->no_temperature)
        acr_json_set(json, "temperature", acr_json_new_double(dialect->temperature));
    if (dialect->effort && !dialect->no_effort) {
        AcrJson *reasoning = acr_json_new_object();

        acr_json_set_string(reasoning, "effort", dialect->effort);
        acr_json_set(json, "reasoning", reasoning);
    }
    if (request->max_tokens > 0)
        acr_json_set_int(json, "max_output_tokens", request->max_tokens);
    if (has_json)
        set_format(json, request, has_schema);
    acr_json_set_bool(json, "store", false);
    if (!dialect->no_stream)
        acr_json_set_bool(json, "stream", true);
    return json;
}

static bool is_about_format(const AcrFailure *failure)
{
    return acr_failure_is_about(failure, "text") || acr_failure_is_about(failure, "text.format") ||
           acr_failure_is_about(failure, "response_format") ||
           acr_failure_is_about(failure, "json_schema");
}

static bool responses_correct(AcrDialect *dialect, const AcrFailure *failure)
{
    if (failure->code != ACR_LLM_ERROR_BAD_REQUEST)
        return false;
    if (dialect->temperature >= 0 && acr_learn(&dialect->no_temperature, failure, "temperature"))
        return true;
    if (dialect->effort && (acr_learn(&dialect->no_effort, failure, "reasoning") ||
                            acr_learn(&dialect->no_effort, failure, "reasoning.effort")))
        return true;
    if (is_about_format(failure) && dialect->asks_schema && !dialect->no_schema)
        return dialect->no_schema = true;
    if (is_about_format(failure) && !dialect->no_json)
        return dialect->no_json = true;
    return acr_learn(&dialect->no_stream, failure, "stream");
}

/* ---- Answers ------------------------------------------------------------------------------------
 */

static void read_usage(AcrDraft *draft, const AcrJson *usage)
{
    const AcrJson *sent = acr_json_get(usage, "input_tokens_details");
    const AcrJson *received = acr_json_get(usage, "output_tokens_details");

    if (acr_json_type(usage) != ACR_JSON_OBJECT)
        return;
    draft->usage =
        acr_usage_of_prompt(acr_counter(usage, "input_tokens"), acr_counter(sent, "cached_tokens"),
                            acr_counter(sent, "cache_write_tokens"));
    draft->usage.output = acr_counter(usage, "output_tokens");
    draft->usage.reasoning = acr_counter(received, "reasoning_tokens");
    draft->usage.cost_pico = acr_stated_cost(usage, "cost");
    draft->usage.cost_stated = draft->usage.cost_pico >= 0;
}

static void add_refusal(AcrDraft *draft, const char *text)
{
    if (text && draft->refusal->len + strlen(text) < ACR_LLM_MAX_ANSWER)
        g_string_append(draft->refusal, text);
}

/* False: too much text. */
static bool take_message(AcrDraft *draft, const AcrJson *message)
{
    const AcrJson *content = acr_json_get(message, "content");

    for (const AcrJson *part = acr_json_first(content); part; part = acr_json_next(part)) {
        const char *type = acr_json_get_string(part, "type");

        if (g_strcmp0(type, "refusal") == 0)
            add_refusal(draft, acr_json_get_string(part, "refusal"));
        else if (g_strcmp0(type, "output_text") == 0 &&
                 !acr_draft_add(draft, acr_json_get_string(part, "text")))
            return false;
    }
    return true;
}

static bool is_call(const AcrJson *item)
{
    const char *type = acr_json_get_string(item, "type");

    return type && g_str_has_suffix(type, "_call");
}

/* Whether the output has a message: some servers end a stream with an empty list. */
static bool has_message(const AcrJson *output)
{
    for (const AcrJson *item = acr_json_first(output); item; item = acr_json_next(item))
        if (g_strcmp0(acr_json_get_string(item, "type"), "message") == 0)
            return true;
    return false;
}

/* The whole text takes the place of the pieces. False: too much. */
static bool take_output(AcrDraft *draft, const AcrJson *output)
{
    if (has_message(output)) {
        g_string_truncate(draft->content, 0);
        g_string_truncate(draft->refusal, 0);
    }
    for (const AcrJson *item = acr_json_first(output); item; item = acr_json_next(item)) {
        draft->has_calls = draft->has_calls || is_call(item);
        if (g_strcmp0(acr_json_get_string(item, "type"), "message") == 0 &&
            !take_message(draft, item))
            return false;
    }
    return true;
}

/* A failure told under HTTP 200; what it says of tokens is its last word. */
static AcrDraftStep take_failure(AcrDraft *draft, const AcrJson *response)
{
    const AcrJson *error = acr_json_get(response, "error");

    draft->is_complete = acr_json_type(acr_json_get(response, "usage")) == ACR_JSON_OBJECT;
    if (acr_json_type(error) == ACR_JSON_OBJECT)
        return acr_draft_fail_json(draft, error);
    return acr_draft_fail(draft, ACR_LLM_ERROR_SERVER, "the response failed, it is not said why");
}

/* A response that is over, one way or another. */
static AcrDraftStep take_response(AcrDraft *draft, const AcrJson *response)
{
    const char *status = acr_json_get_string(response, "status");
    const char *reason =
        acr_json_get_string(acr_json_get(response, "incomplete_details"), "reason");

    acr_draft_set(&draft->model, acr_json_get_string(response, "model"));
    read_usage(draft, acr_json_get(response, "usage"));
    if (g_strcmp0(status, "failed") == 0 || g_strcmp0(status, "cancelled") == 0)
        return take_failure(draft, response);
    if (g_strcmp0(status, "completed") != 0 && g_strcmp0(status, "incomplete") != 0)
        return acr_draft_fail(draft, ACR_LLM_ERROR_MALFORMED,
                              "the response is neither completed, incomplete nor failed");
    if (!take_output(draft, acr_json_get(response, "output")))
        return ACR_DRAFT_FAILED;
    if (strcmp(status, "incomplete") == 0)
        acr_draft_finish(draft, incomplete_words, reason ? reason : status);
    else
        acr_draft_set(&draft->finish,
                      draft->has_calls && draft->content->len == 0 ? "tool_calls" : "stop");
    return ACR_DRAFT_DONE;
}

/* ---- Events -------------------------------------------------------------------------------------
 */

static AcrDraftStep take_text(AcrDraft *draft, const AcrJson *json)
{
    return acr_draft_add(draft, acr_json_get_string(json, "delta")) ? ACR_DRAFT_MORE
                                                                    : ACR_DRAFT_FAILED;
}

static AcrDraftStep take_refusal(AcrDraft *draft, const AcrJson *json)
{
    draft->content_us = g_get_monotonic_time();
    add_refusal(draft, acr_json_get_string(json, "delta"));
    return ACR_DRAFT_MORE;
}

static AcrDraftStep take_begin(AcrDraft *draft, const AcrJson *json)
{
    acr_draft_set(&draft->model, acr_json_get_string(acr_json_get(json, "response"), "model"));
    return ACR_DRAFT_MORE;
}

static AcrDraftStep take_item(AcrDraft *draft, const AcrJson *json)
{
    draft->has_calls = draft->has_calls || is_call(acr_json_get(json, "item"));
    return ACR_DRAFT_MORE;
}

static AcrDraftStep take_end(AcrDraft *draft, const AcrJson *json)
{
    return take_response(draft, acr_json_get(json, "response"));
}

/* By their type; what is not here is passed over. */
static const struct {
    const char *type;
    AcrDraftStep (*take)(AcrDraft *draft, const AcrJson *json);
} events[] = {
    {"response.output_text.delta", take_text},
    {"response.refusal.delta", take_refusal},
    {"response.created", take_begin},
    {"response.output_item.added", take_item},
    {"response.completed", take_end},
    {"response.incomplete", take_end},
    {"response.failed", take_end},
    {"response.cancelled", take_end},
    {"error", acr_draft_fail_json},
};

static AcrDraftStep responses_event(AcrDraft *draft, const AcrEvent *event, const AcrJson *json)
{
    const char *type = acr_json_get_string(json, "type");

    if (event->len >= 6 && memcmp(event->data, "[DONE]", 6) == 0)
        return ACR_DRAFT_MORE; /* not of this dialect, and no end in it */
    if (acr_json_type(json) != ACR_JSON_OBJECT)
        return acr_draft_fail(draft, ACR_LLM_ERROR_MALFORMED,
                              "an event of the stream is no JSON object");
    type = type ? type : event->name;
    if (g_str_has_suffix(type, ".delta"))
        draft->content_us = g_get_monotonic_time(); /* reasoning and calls too are no silence */
    for (gsize i = 0; i < G_N_ELEMENTS(events); i++)
        if (strcmp(events[i].type, type) == 0)
            return events[i].take(draft, json);
    if (acr_json_get(json, "error") && acr_failure_in_body(json)) /* a gateway's own shape */
        return acr_draft_fail_json(draft, json);
    return ACR_DRAFT_MORE;
}

static AcrDraftStep responses_answer(AcrDraft *draft, const AcrJson *body)
{
    if (acr_json_type(acr_json_get(body, "output")) != ACR_JSON_ARRAY &&
        acr_json_type(acr_json_get(body, "error")) != ACR_JSON_OBJECT)
        return acr_draft_fail(draft, ACR_LLM_ERROR_MALFORMED, "the response holds no output");
    return take_response(draft, body);
}

const AcrProvider acr_provider_openai_responses = {
    .name = "openai-responses",
    .key_variables = (const char *const[]){"OPENAI_API_KEY", NULL},
    .base_variables = (const char *const[]){"OPENAI_BASE_URL", NULL},
    .base_url = "https://api.openai.com/v1",
    .prepare = responses_prepare,
    .request = responses_request,
    .event = responses_event,
    .answer = responses_answer,
    .correct = responses_correct,
};
