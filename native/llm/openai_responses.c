/* Implements OpenAI's Responses API: the request's JSON, the events of a stream, the JSON of a
 * whole answer. The server stores nothing of the conversation (store: false). Each event has a
 * `type`. The last event completes the stream and contains the whole response. Its text, status and
 * tokens replace those of the pieces. Even if the HTTP status is 200, an event may report a
 * failure. */
#include "llm/provider.h"

#include <string.h>

static bool responses_prepare(AcrEndpoint *endpoint, GError **error)
{
    acr_openai_headers(endpoint);
    if (!acr_endpoint_need_key(endpoint, error))
        return false;
    endpoint->url = g_strconcat(endpoint->base_url, "/responses", NULL);
    return true;
}

/* Returns the text of the first message if it is a system message, which is then not sent as an
 * item; otherwise NULL. */
static const char *system_of(const AcrConversation *conversation)
{
    const AcrMessage *first =
        acr_conversation_size(conversation) > 0 ? acr_conversation_message(conversation, 0) : NULL;
    return first && first->role == ACR_ROLE_SYSTEM ? first->content : NULL;
}

static AcrJson *text_of_part(const AcrJson *schema)
{
    AcrJson *format =
        schema ? acr_json_of("type", ACR_TEXT("json_schema"), ACR_OPENAI_SCHEMA(schema), NULL)
               : acr_json_of("type", ACR_TEXT("json_object"), NULL);
    return acr_json_of("format", format, NULL);
}

/* Appends an answer with calls, as the items in which the answer arrived (including encrypted
 * thoughts), or the results of calls. */
static void append_items(AcrJson *input, const AcrJson *tools)
{
    for (const AcrJson *at = acr_json_first(acr_json_get(tools, "kept")); at;
         at = acr_json_next(at))
        acr_json_append(input, acr_json_copy(at));
    for (const AcrJson *at = acr_json_first(acr_json_get(tools, "results")); at;
         at = acr_json_next(at)) {
        acr_json_add(input, "type", ACR_TEXT("function_call_output"), "call_id",
                     ACR_MEMBER(at, "id"), "output", ACR_MEMBER(at, "text"));
    }
}

/* Makes the list of tools. The API rejects a tool without "parameters" or "strict". */
static AcrJson *responses_tools(const AcrDialect *dialect, const AcrJson *tools)
{
    AcrJson *list = acr_json_new_array();
    for (const AcrJson *tool = acr_json_first(tools); tool; tool = acr_json_next(tool)) {
        AcrJson *json = acr_tool_new(dialect, tool, "parameters", true);
        acr_json_set_string(json, "type", "function");
        if (!acr_json_get(json, "strict"))
            acr_json_set_bool(json, "strict", false);
        acr_json_append(list, json);
    }
    return list;
}

static AcrJson *input_of(const AcrDialect *dialect, const AcrModelRequest *request, gsize from,
                         bool needs_word)
{
    AcrJson *input = acr_json_new_array();
    /* JSON mode requires the word JSON in the input; the word in the instructions is not enough. */
    if (needs_word && !acr_mentions_json(request->conversation, from))
        acr_openai_append_message(input, "developer", ACR_JSON_INSTRUCTION);
    for (gsize i = from; i < acr_conversation_size(request->conversation); i++) {
        const AcrMessage *message = acr_conversation_message(request->conversation, i);
        const AcrJson *tools = acr_message_tools(dialect, request, message);
        if (tools)
            append_items(input, tools);
        else
            acr_openai_append_message(input, acr_role_name(message->role), message->content);
    }
    return input;
}

static AcrJson *responses_request(const AcrDialect *dialect, const AcrModelRequest *request)
{
    const char *system = system_of(request->conversation);
    bool has_json = (request->json || request->schema) && !dialect->no_json;
    bool has_schema = has_json && request->schema && !dialect->no_schema;
    bool has_thoughts = request->tools && !dialect->no_encrypted;
    g_autofree char *words =
        has_json && !request->schema ? NULL : acr_json_instruction(request, has_json, has_schema);
    g_autofree char *both = system && words ? g_strdup_printf("%s\n\n%s", system, words) : NULL;
    const char *instructions = both ? both : system ? system : words;
    return acr_json_of("model", ACR_TEXT(dialect->model), "instructions",
                       ACR_IF(instructions, ACR_TEXT(instructions)), "input",
                       input_of(dialect, request, system ? 1 : 0, has_json && !has_schema),
                       "temperature", ACR_TEMPERATURE(dialect), "reasoning",
                       ACR_IF(dialect->effort, acr_json_of("effort", ACR_EFFORT(dialect), NULL)),
                       "service_tier", ACR_TIER(dialect), "prompt_cache_key",
                       ACR_CACHE_KEY(dialect), "max_output_tokens", ACR_LIMIT(request), "text",
                       ACR_IF(has_json, text_of_part(has_schema ? request->schema : NULL)), "tools",
                       ACR_IF(request->tools, responses_tools(dialect, request->tools)), "include",
                       ACR_IF(has_thoughts, acr_json_constant("[\"reasoning.encrypted_content\"]")),
                       "store", acr_json_new_bool(false), "stream", ACR_STREAM(dialect), NULL);
}

static bool responses_correct(AcrDialect *dialect, const AcrFailure *failure)
{
    static const char *const formats[] = {"text", "text.format", "response_format", "json_schema"};
    bool is_format = false;
    for (gsize i = 0; i < G_N_ELEMENTS(formats); i++)
        is_format = is_format || acr_failure_is_about(failure, formats[i]);
    return acr_learn(&dialect->no_encrypted,
                     dialect->asks_tools &&
                         (acr_failure_is_about(failure, "include") ||
                          acr_failure_says(failure, "encrypted content|encrypted_content"))) ||
           acr_learn(&dialect->no_cache, acr_failure_is_about(failure, "prompt_cache_key")) ||
           acr_drop_temperature(dialect, acr_failure_is_about(failure, "temperature")) ||
           acr_drop_effort(dialect, acr_failure_is_about(failure, "reasoning") ||
                                        acr_failure_is_about(failure, "reasoning.effort")) ||
           acr_learn(&dialect->no_schema, is_format && dialect->asks_schema) ||
           acr_learn(&dialect->no_json, is_format) ||
           acr_learn(&dialect->no_stream, acr_failure_is_about(failure, "stream"));
}

/* Adds a message item to the partial answer. Returns false if the text is too long. */
static bool take_message(AcrPartial *partial, const AcrJson *message)
{
    const AcrJson *content = acr_json_get(message, "content");
    for (const AcrJson *part = acr_json_first(content); part; part = acr_json_next(part)) {
        const char *type = acr_json_get_string(part, "type");
        if (g_strcmp0(type, "refusal") == 0)
            acr_partial_add_refusal(partial, acr_json_get_string(part, "refusal"));
        else if (g_strcmp0(type, "output_text") == 0 &&
                 !acr_partial_add(partial, acr_json_get_string(part, "text")))
            return false;
    }
    return true;
}

static bool is_call(const AcrJson *item)
{
    const char *type = acr_json_get_string(item, "type");
    return type && g_str_has_suffix(type, "_call");
}

/* Adds a complete item, which is sent back with the calls and may itself be a call. */
static void take_item(AcrPartial *partial, const AcrJson *item)
{
    const char *type = acr_json_get_string(item, "type");
    partial->has_calls = partial->has_calls || is_call(item);
    acr_partial_keep(partial, acr_json_copy(item));
    if (g_strcmp0(type, "function_call") == 0)
        acr_partial_add_call(
            partial, (gint64)partial->calls->len, acr_json_get_string(item, "call_id"),
            acr_json_get_string(item, "name"), acr_json_get_string(item, "arguments"));
}

/* Replaces the collected pieces by the whole text of the output, if the output has a message;
 * some servers end a stream with an empty list. Returns false if the text is too long. */
static bool take_output(AcrPartial *partial, const AcrJson *output)
{
    bool is_first = true;
    if (acr_json_size(output) > 0)
        acr_partial_forget_calls(partial);
    for (const AcrJson *item = acr_json_first(output); item; item = acr_json_next(item)) {
        take_item(partial, item);
        if (g_strcmp0(acr_json_get_string(item, "type"), "message") != 0)
            continue;
        if (is_first) {
            g_string_truncate(partial->content, 0);
            g_string_truncate(partial->refusal, 0);
        }
        is_first = false;
        if (!take_message(partial, item))
            return false;
    }
    return true;
}

/* Reads a failure that was sent with status 200. The usage of the response is final. */
static AcrParseStep take_failure(AcrPartial *partial, const AcrJson *response)
{
    const AcrJson *error = acr_json_get(response, "error");
    acr_openai_read_usage(partial, acr_json_get(response, "usage"));
    partial->is_complete = acr_json_type(acr_json_get(response, "usage")) == ACR_JSON_OBJECT;
    if (acr_json_type(error) == ACR_JSON_OBJECT)
        return acr_partial_fail_json(partial, error, "");
    return acr_partial_fail(partial, ACR_LLM_ERROR_SERVER, "the response failed without a reason");
}

/* Reads a response that has ended, even if it failed. */
static AcrParseStep take_response(AcrPartial *partial, const AcrJson *response)
{
    const char *status = acr_json_get_string(response, "status");
    const char *reason =
        acr_json_get_string(acr_json_get(response, "incomplete_details"), "reason");
    acr_partial_set(&partial->model, acr_json_get_string(response, "model"));
    acr_partial_set(&partial->tier, acr_json_get_string(response, "service_tier"));
    if (g_strcmp0(status, "failed") == 0 || g_strcmp0(status, "cancelled") == 0)
        return take_failure(partial, response);
    if (g_strcmp0(status, "completed") != 0 && g_strcmp0(status, "incomplete") != 0)
        return acr_partial_fail(
            partial, ACR_LLM_ERROR_MALFORMED,
            "the response has an unknown status: it is not completed, incomplete or failed");
    if (!take_output(partial, acr_json_get(response, "output")))
        return ACR_PARSE_FAILED;
    acr_openai_read_usage(partial, acr_json_get(response, "usage"));
    if (strcmp(status, "incomplete") == 0)
        acr_partial_finish(partial, reason ? reason : status);
    else
        acr_partial_set(&partial->finish,
                        partial->has_calls && partial->content->len == 0 ? "tool_calls" : "stop");
    return ACR_PARSE_DONE;
}

static AcrParseStep responses_event(AcrPartial *partial, const AcrEvent *event, const AcrJson *json)
{
    static const char *const ends[] = {"response.completed", "response.incomplete",
                                       "response.failed", "response.cancelled", NULL};
    const char *said = acr_json_get_string(json, "type");
    const char *type = said ? said : event->name;
    const char *delta = acr_json_get_string(json, "delta");
    if (strcmp(type, "response.reasoning_summary_text.delta") == 0 ||
        strcmp(type, "response.reasoning_text.delta") == 0)
        acr_partial_show_thoughts(partial, delta);
    else if (g_str_has_suffix(type, ".delta"))
        acr_partial_touch(partial); /* calls also show that the server still works */
    if (g_strv_contains(ends, type))
        return take_response(partial, acr_json_get(json, "response"));
    if (strcmp(type, "response.output_text.delta") == 0)
        return acr_partial_add(partial, delta) ? ACR_PARSE_MORE : ACR_PARSE_FAILED;
    if (strcmp(type, "response.refusal.delta") == 0)
        acr_partial_add_refusal(partial, delta);
    else if (strcmp(type, "response.created") == 0)
        acr_partial_set(&partial->model,
                        acr_json_get_string(acr_json_get(json, "response"), "model"));
    else if (strcmp(type, "response.output_item.added") == 0)
        partial->has_calls = partial->has_calls || is_call(acr_json_get(json, "item"));
    else if (strcmp(type, "response.output_item.done") == 0)
        take_item(partial, acr_json_get(json, "item"));
    return ACR_PARSE_MORE;
}

static AcrParseStep responses_answer(AcrPartial *partial, const AcrJson *body)
{
    if (acr_json_type(acr_json_get(body, "output")) != ACR_JSON_ARRAY &&
        acr_json_type(acr_json_get(body, "error")) != ACR_JSON_OBJECT)
        return acr_partial_fail(partial, ACR_LLM_ERROR_MALFORMED, "the response has no output");
    return take_response(partial, body);
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
    .calls_tools = true,
    .services = {NULL, "default", "flex", "priority", "batch"},
};
