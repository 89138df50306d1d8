/* Implements OpenAI's chat completions API, which many servers imitate: the request's JSON, the
 * events of a stream, the JSON of a whole answer, and corrections after an error. This file sends
 * nothing. A stream is complete when [DONE] arrives. */
#include "llm/provider.h"

#include <math.h>
#include <string.h>

bool acr_openai_prepare(AcrEndpoint *endpoint, GError **error)
{
    if (!acr_endpoint_need_key(endpoint, error))
        return false;
    endpoint->url = g_strconcat(endpoint->base_url, "/chat/completions", NULL);
    acr_endpoint_bearer(endpoint);
    return true;
}

void acr_openai_headers(AcrEndpoint *endpoint)
{
    const char *organization = acr_variable("OPENAI_ORG_ID");
    const char *project = acr_variable("OPENAI_PROJECT_ID");
    acr_endpoint_headers_from(endpoint, "OPENAI_CUSTOM_HEADERS");
    acr_endpoint_bearer(endpoint);
    if (organization)
        acr_endpoint_header(endpoint, "OpenAI-Organization", organization);
    if (project)
        acr_endpoint_header(endpoint, "OpenAI-Project", project);
}

static bool openai_prepare(AcrEndpoint *endpoint, GError **error)
{
    acr_openai_headers(endpoint);
    return acr_openai_prepare(endpoint, error);
}

/* Appends a message to the list of messages. An assistant message without text gets a placeholder,
 * because servers reject an empty text. */
AcrJson *acr_openai_append_message(AcrJson *messages, const char *role, const char *content)
{
    bool is_blank = content && !content[strspn(content, " \t\r\n")];
    bool is_answer = strcmp(role, "assistant") == 0;
    return acr_json_add(messages, "role", ACR_TEXT(role), "content",
                        ACR_TEXT(is_blank && is_answer ? "(no answer)" : content));
}

/* Appends an answer with tool calls. Thoughts that the server sent are sent back. */
static void append_calls(AcrJson *messages, const AcrJson *tools)
{
    const char *text = acr_json_get_string(tools, "text");
    AcrJson *message =
        acr_openai_append_message(messages, "assistant", text && *text ? text : NULL);
    AcrJson *calls = acr_json_new_array();
    for (const AcrJson *call = acr_json_first(acr_json_get(tools, "calls")); call;
         call = acr_json_next(call)) {
        AcrJson *function = acr_json_of("name", ACR_MEMBER(call, "name"), "arguments",
                                        ACR_MEMBER(call, "arguments"), NULL);
        acr_json_add(calls, "id", ACR_MEMBER(call, "id"), "type", ACR_TEXT("function"), "function",
                     function);
    }
    acr_json_set(message, "tool_calls", calls);
    for (const AcrJson *kept = acr_json_first(acr_json_get(tools, "kept")); kept;
         kept = acr_json_next(kept))
        acr_json_set_string(message, "reasoning_content", acr_json_string(kept));
}

static void append_results(AcrJson *messages, const AcrJson *tools)
{
    for (const AcrJson *result = acr_json_first(acr_json_get(tools, "results")); result;
         result = acr_json_next(result))
        acr_json_set_string(
            acr_openai_append_message(messages, "tool", acr_json_get_string(result, "text")),
            "tool_call_id", acr_json_get_string(result, "id"));
}

static AcrJson *chat_tools(const AcrDialect *dialect, const AcrJson *tools)
{
    AcrJson *list = acr_json_new_array();
    for (const AcrJson *tool = acr_json_first(tools); tool; tool = acr_json_next(tool)) {
        acr_json_add(list, "type", ACR_TEXT("function"), "function",
                     acr_tool_new(dialect, tool, "parameters", true));
    }
    return list;
}

/* Merges consecutive messages (taken) of one role, and turns system messages into user messages if
 * the server rejected the system role. */
static AcrJson *merge_messages(const AcrDialect *dialect, AcrJson *messages)
{
    AcrJson *merged = acr_json_new_array(), *last = NULL;
    for (const AcrJson *at = acr_json_first(messages); at; at = acr_json_next(at)) {
        const char *given = acr_json_get_string(at, "role"),
                   *text = acr_json_get_string(at, "content");
        bool is_moved = dialect->no_system && strcmp(given, "system") == 0;
        const char *role = is_moved ? "user" : given,
                   *before = acr_json_get_string(last, "content");
        if (before && text && acr_json_size(at) == 2 && acr_json_size(last) == 2 &&
            strcmp(acr_json_get_string(last, "role"), role) == 0) {
            g_autofree char *both = g_strdup_printf("%s\n\n%s", before, text);
            acr_json_set_string(last, "content", both);
            continue;
        }
        last = acr_json_copy(at);
        acr_json_set_string(last, "role", role);
        acr_json_append(merged, last);
    }
    acr_json_free(messages);
    return merged;
}

/* Returns the conversation as JSON, with `words` (may be NULL) appended to its first system
 * message; owned. */
static AcrJson *messages_of(const AcrDialect *dialect, const AcrModelRequest *request,
                            const char *words)
{
    const AcrConversation *conversation = request->conversation;
    AcrJson *messages = acr_json_new_array();
    gsize size = acr_conversation_size(conversation);
    bool begins_with_system =
        size > 0 && acr_conversation_message(conversation, 0)->role == ACR_ROLE_SYSTEM;
    if (words && !begins_with_system)
        acr_openai_append_message(messages, "system", words);
    for (gsize i = 0; i < size; i++) {
        const AcrMessage *message = acr_conversation_message(conversation, i);
        const AcrJson *tools = acr_message_tools(dialect, request, message);
        g_autofree char *longer = words && begins_with_system && i == 0
                                      ? g_strdup_printf("%s\n\n%s", message->content, words)
                                      : NULL;
        if (tools && message->role == ACR_ROLE_ASSISTANT)
            append_calls(messages, tools);
        else if (tools)
            append_results(messages, tools);
        else
            acr_openai_append_message(messages, acr_role_name(message->role),
                                      longer ? longer : message->content);
    }
    return dialect->no_system || dialect->takes_turns ? merge_messages(dialect, messages)
                                                      : messages;
}

static AcrJson *format_of(const AcrJson *schema)
{
    AcrJson *inside = ACR_IF(schema, acr_json_of(ACR_OPENAI_SCHEMA(schema), NULL));
    return acr_json_of("type", ACR_TEXT(schema ? "json_schema" : "json_object"), "json_schema",
                       inside, NULL);
}

AcrJson *acr_openai_request(const AcrDialect *dialect, const AcrModelRequest *request)
{
    bool has_schema = request->schema && !dialect->no_schema;
    bool has_json = (request->json || request->schema) && !dialect->no_json;
    bool has_usage = !dialect->no_stream && !dialect->no_stream_options;
    g_autofree char *words = acr_json_instruction(request, has_json, has_schema && has_json);
    return acr_json_of(
        "model", ACR_TEXT(dialect->model), "messages", messages_of(dialect, request, words),
        "temperature", ACR_TEMPERATURE(dialect), "reasoning_effort", ACR_EFFORT(dialect),
        "service_tier", ACR_TIER(dialect), "prompt_cache_key", ACR_CACHE_KEY(dialect),
        dialect->max_completion_tokens ? "max_completion_tokens" : "max_tokens", ACR_LIMIT(request),
        "tools", ACR_IF(request->tools, chat_tools(dialect, request->tools)), "response_format",
        ACR_IF(has_json, format_of(has_schema ? request->schema : NULL)), "stream",
        ACR_STREAM(dialect), "stream_options",
        ACR_IF(has_usage, acr_json_constant("{\"include_usage\":true}")), NULL);
}

bool acr_openai_correct(AcrDialect *dialect, const AcrFailure *failure)
{
    const char *limit = dialect->max_completion_tokens ? "max_completion_tokens" : "max_tokens";
    /* Some servers enforce JSON mode themselves, and reject an answer without JSON. */
    bool is_format = acr_failure_is_about(failure, "response_format") ||
                     acr_failure_says(failure, "json_validate_failed|generate json");
    if (acr_learn(&dialect->renamed_limit, acr_failure_is_about(failure, limit))) {
        dialect->max_completion_tokens = !dialect->max_completion_tokens;
        return true;
    }
    return acr_drop_temperature(dialect, acr_failure_is_about(failure, "temperature")) ||
           acr_drop_effort(dialect, acr_failure_is_about(failure, "reasoning_effort")) ||
           acr_learn(&dialect->no_cache, acr_failure_is_about(failure, "prompt_cache_key")) ||
           acr_learn(&dialect->no_stream_options,
                     acr_failure_is_about(failure, "stream_options")) ||
           acr_learn(&dialect->no_schema, acr_failure_is_about(failure, "json_schema") ||
                                              (dialect->asks_schema && is_format)) ||
           acr_learn(&dialect->no_json, is_format) ||
           acr_learn(&dialect->no_stream, acr_failure_is_about(failure, "stream"));
}

/* Returns the member `key`, or the member `other` if `key` does not exist. */
static const AcrJson *either(const AcrJson *object, const char *key, const char *other)
{
    const AcrJson *member = acr_json_get(object, key);
    return member ? member : acr_json_get(object, other);
}

/* Returns the cost that a gateway states, in dollars; negative if it states none. If OpenRouter
 * used the user's own key for the model's provider, `cost` is only OpenRouter's fee, and another
 * member states the provider's price. */
static double stated_cost(const AcrJson *usage)
{
    double cost = acr_json_get_double(usage, "cost", -1);
    const AcrJson *details = acr_json_get(usage, "cost_details");
    return cost >= 0 && acr_json_get_bool(usage, "is_byok", false)
               ? cost + acr_json_get_double(details, "upstream_inference_cost", NAN)
               : cost;
}

/* Reads the counters. If a server does not count reasoning as output, only the total includes
 * the reasoning. */
void acr_openai_read_usage(AcrPartial *partial, const AcrJson *usage)
{
    const AcrJson *sent = either(usage, "prompt_tokens_details", "input_tokens_details");
    const AcrJson *received = either(usage, "completion_tokens_details", "output_tokens_details");
    bool is_chat = acr_json_get(usage, "prompt_tokens") != NULL;
    if (acr_json_type(usage) != ACR_JSON_OBJECT)
        return;
    gint64 prompt = acr_partial_counter(partial, usage, is_chat ? "prompt_tokens" : "input_tokens"),
           cached = acr_partial_counter(partial, sent, "cached_tokens"),
           written = acr_partial_counter(partial, sent, "cache_write_tokens"),
           output =
               acr_partial_counter(partial, usage, is_chat ? "completion_tokens" : "output_tokens"),
           total = acr_partial_counter(partial, usage, "total_tokens");
    if (cached < 0) /* DeepSeek's name for the counter of cached tokens */
        cached = acr_partial_counter(partial, usage, "prompt_cache_hit_tokens");
    AcrUsage said = acr_partial_prompt(partial, prompt, cached, written);
    said.output = prompt >= 0 && output >= 0 ? MAX(output, total - prompt) : output;
    said.reasoning = acr_partial_counter(partial, received, "reasoning_tokens");
    acr_partial_use(partial, &said);
    acr_usage_set_cost(&partial->usage, stated_cost(usage));
}

/* Adds the content of a message: a string, or the texts in a list of parts. */
static bool add_content(AcrPartial *partial, const AcrJson *content)
{
    if (acr_json_type(content) != ACR_JSON_ARRAY)
        return acr_partial_add(partial, acr_json_string(content));
    for (const AcrJson *part = acr_json_first(content); part; part = acr_json_next(part))
        if (g_strcmp0(acr_json_get_string(part, "type"), "text") == 0 &&
            !acr_partial_add(partial, acr_json_get_string(part, "text")))
            return false;
    return true;
}

/* Adds calls, or pieces of calls, by their index. If a server sends no index, a piece with a name
 * begins a new call. */
static void take_calls(AcrPartial *partial, const AcrJson *calls)
{
    for (const AcrJson *call = acr_json_first(calls); call; call = acr_json_next(call)) {
        const AcrJson *function = acr_json_get(call, "function");
        const AcrJson *arguments = acr_json_get(function, "arguments");
        const char *id = acr_json_get_string(call, "id"),
                   *name = acr_json_get_string(function, "name");
        gint64 begun = (gint64)partial->calls->len, index = acr_json_get_int(call, "index", -1);
        if (index < 0)
            index = (id || name || begun == 0) ? -1 - begun : -begun;
        if (acr_json_type(arguments) == ACR_JSON_OBJECT)
            acr_partial_add_whole_call(partial, id, name, arguments);
        else
            acr_partial_add_call(partial, index, id, name, acr_json_string(arguments));
    }
}

/* Adds a message, or a piece of a message, to the partial answer. Returns false if the text is too
 * long. */
static bool take_chat_message(AcrPartial *partial, const AcrJson *message)
{
    const char *reasoning = acr_json_get_string(message, "reasoning_content");
    const char *thoughts = acr_json_get_string(message, "reasoning");
    acr_partial_add_refusal(partial, acr_json_get_string(message, "refusal"));
    if (acr_json_get_string(acr_json_get(message, "function_call"), "name"))
        partial->has_calls = true;
    if (reasoning && *reasoning)
        acr_partial_think(partial, reasoning, NULL);
    else if (thoughts && *thoughts)
        acr_partial_show_thoughts(partial, thoughts);
    take_calls(partial, acr_json_get(message, "tool_calls"));
    if (partial->has_calls)
        acr_partial_touch(partial);
    return add_content(partial, acr_json_get(message, "content"));
}

/* Whether a call before call `number` has the same id. */
static bool is_taken(const AcrPartial *partial, guint number)
{
    const AcrToolCall *call = partial->calls->pdata[number];
    for (guint i = 0; i < number; i++)
        if (g_strcmp0(((AcrToolCall *)partial->calls->pdata[i])->id, call->id) == 0)
            return true;
    return false;
}

/* Completes an answer. Gives a new id to each call with a missing or repeated id. Keeps the
 * thoughts, because some servers want them back with the calls. */
void acr_openai_settle(AcrPartial *partial)
{
    for (guint i = 0; i < partial->calls->len; i++) {
        AcrToolCall *call = partial->calls->pdata[i];
        if (call->id && !is_taken(partial, i))
            continue;
        g_free(call->id);
        call->id = g_strdup_printf("acr_call_%u", i + 1);
    }
    if (partial->thoughts->len > 0)
        acr_partial_keep(partial, acr_json_new_string(partial->thoughts->str));
}

static const AcrJson *choice_0(const AcrJson *choices)
{
    for (const AcrJson *at = acr_json_first(choices); at; at = acr_json_next(at))
        if (acr_json_get_int(at, "index", 0) == 0)
            return at;
    return NULL;
}

AcrParseStep acr_openai_event(AcrPartial *partial, const AcrEvent *event, const AcrJson *json)
{
    const AcrJson *choice = choice_0(acr_json_get(json, "choices"));
    const AcrJson *usage = acr_json_get(json, "usage");
    if (!json)
        return ACR_PARSE_DONE;
    acr_partial_set(&partial->model, acr_json_get_string(json, "model"));
    acr_partial_set(&partial->tier, acr_json_get_string(json, "service_tier"));
    if (!take_chat_message(partial, acr_json_get(choice, "delta")))
        return ACR_PARSE_FAILED;
    acr_partial_finish(partial, acr_json_get_string(choice, "finish_reason"));
    acr_openai_read_usage(partial, usage);
    return ACR_PARSE_MORE;
}

AcrParseStep acr_openai_answer(AcrPartial *partial, const AcrJson *body)
{
    const AcrJson *choice = choice_0(acr_json_get(body, "choices"));
    const AcrJson *message = acr_json_get(choice, "message");
    if (acr_json_type(message) != ACR_JSON_OBJECT)
        return acr_partial_fail(partial, ACR_LLM_ERROR_MALFORMED,
                                "the response has no choices[0].message");
    acr_partial_set(&partial->model, acr_json_get_string(body, "model"));
    acr_partial_set(&partial->tier, acr_json_get_string(body, "service_tier"));
    if (!take_chat_message(partial, message))
        return ACR_PARSE_FAILED;
    acr_partial_finish(partial, acr_json_get_string(choice, "finish_reason"));
    acr_openai_read_usage(partial, acr_json_get(body, "usage"));
    return ACR_PARSE_DONE;
}

const AcrProvider acr_provider_openai = {
    .name = "openai",
    .key_variables = (const char *const[]){"OPENAI_API_KEY", NULL},
    .base_variables = (const char *const[]){"OPENAI_BASE_URL", NULL},
    .base_url = "https://api.openai.com/v1",
    .prepare = openai_prepare,
    .calls_tools = true,
    ACR_OPENAI_CHAT,
    .services = {NULL, "default", "flex", "priority", "batch"},
};
