/* Anthropic's Messages API in its two versions: the older version takes its key in a header of its
 * own and accepts sampling parameters; the newer version takes a bearer key and rejects sampling
 * parameters. The file also handles cache marks, the events of a stream, whole answers and
 * corrections. The file sends nothing. A stream is complete when message_stop arrives. */
#include "llm/provider.h"

#include <string.h>

#define API_VERSION "2023-06-01"
#define BEARER_VERSION "2026-10-21" /* the first API version with bearer keys */

static AcrJson *append_tool_use(AcrJson *blocks, const AcrJson *call)
{
    return acr_json_add(blocks, "type", ACR_TEXT("tool_use"), "id", ACR_MEMBER(call, "id"), "name",
                        ACR_MEMBER(call, "name"), "input", acr_tool_arguments(call));
}

static AcrJson *append_tool_result(AcrJson *blocks, const AcrJson *result)
{
    return acr_json_add(blocks, "type", ACR_TEXT("tool_result"), "tool_use_id",
                        ACR_MEMBER(result, "id"), "content", ACR_MEMBER(result, "text"));
}

static const AcrTurnForm form = {.assistant = "assistant",
                                 .list = "content",
                                 .is_typed = true,
                                 .append_call = append_tool_use,
                                 .append_result = append_tool_result};

/* Returns the API version from the user's own header, else from ANTHROPIC_API_VERSION, else the
 * older version. */
static const char *version_of(const AcrEndpoint *endpoint)
{
    const char *given = acr_endpoint_find_header(endpoint, "anthropic-version");
    const char *version = given ? given : acr_variable("ANTHROPIC_API_VERSION");
    return version ? version : API_VERSION;
}

static bool anthropic_prepare(AcrEndpoint *endpoint, GError **error)
{
    bool has_v1 = g_str_has_suffix(endpoint->base_url, "/v1");
    if (!acr_endpoint_need_key(endpoint, error))
        return false;
    acr_endpoint_headers_from(endpoint, "ANTHROPIC_CUSTOM_HEADERS");
    const char *version = version_of(endpoint);
    endpoint->url = g_strconcat(endpoint->base_url, has_v1 ? "/messages" : "/v1/messages", NULL);
    endpoint->no_sampling = strcmp(version, BEARER_VERSION) >= 0;
    acr_endpoint_header(endpoint, "anthropic-version", version);
    /* Login tokens are sent as bearer tokens in both versions. */
    if (endpoint->key &&
        (endpoint->no_sampling || g_strcmp0(endpoint->key_variable, "ANTHROPIC_AUTH_TOKEN") == 0))
        acr_endpoint_bearer(endpoint);
    else if (endpoint->key)
        acr_endpoint_header(endpoint, "x-api-key", endpoint->key);
    return true;
}

static void mark(AcrJson *block)
{
    if (block)
        acr_json_set(block, "cache_control", acr_json_constant("{\"type\":\"ephemeral\"}"));
}

/* Marks the system prompt, the end of the previous request, which is in the cache now, and the end
 * of the current request, for the next request. A cache mark makes the server cache everything
 * before the mark. */
static void mark_prefix(AcrTurns *turns)
{
    mark(turns->system_end);
    if (!turns->user_ends[1])
        return;
    mark(turns->user_ends[1]);
    mark(turns->user_ends[0]);
}

static AcrJson *output_of(const AcrDialect *dialect, const AcrModelRequest *request)
{
    bool has_schema = request->schema && !dialect->no_schema;
    AcrJson *format = ACR_IF(has_schema, acr_json_of("type", ACR_TEXT("json_schema"), "schema",
                                                     acr_json_copy(request->schema), NULL));
    return acr_json_of("format", format, "effort", ACR_EFFORT(dialect), NULL);
}

static AcrJson *anthropic_tools(const AcrDialect *dialect, const AcrJson *tools)
{
    AcrJson *list = acr_json_new_array();
    for (const AcrJson *tool = acr_json_first(tools); tool; tool = acr_json_next(tool))
        acr_json_append(list, acr_tool_new(dialect, tool, "input_schema", true));
    return list;
}

static AcrJson *anthropic_request(const AcrDialect *dialect, const AcrModelRequest *request)
{
    g_autofree char *words =
        acr_json_instruction(request, false, request->schema && !dialect->no_schema);
    g_auto(AcrTurns) turns = {0};
    acr_turns_init(&turns, dialect, request, &form);
    if (!dialect->no_cache)
        mark_prefix(&turns);
    acr_turns_add_system(&turns, dialect, &form, words);
    return acr_json_of(
        "model", ACR_TEXT(dialect->model), "max_tokens", acr_json_new_int(request->max_tokens),
        "system", acr_json_any(g_steal_pointer(&turns.system)), "messages",
        g_steal_pointer(&turns.messages), "tools",
        acr_json_any(anthropic_tools(dialect, request->tools)), "temperature",
        ACR_TEMPERATURE(dialect), "output_config", acr_json_any(output_of(dialect, request)),
        "service_tier", ACR_TIER(dialect), "stream", ACR_STREAM(dialect), NULL);
}

static bool anthropic_correct(AcrDialect *dialect, const AcrFailure *failure)
{
    return acr_drop_temperature(dialect, acr_failure_is_about(failure, "temperature")) ||
           acr_learn(&dialect->no_cache, acr_failure_is_about(failure, "cache_control")) ||
           acr_drop_effort(dialect, acr_failure_says(failure, "effort")) ||
           acr_learn(
               &dialect->no_schema,
               acr_failure_says(failure, "output_config|structured output|output format|schema")) ||
           acr_drop_effort(dialect, acr_failure_says(failure, "output_config")) ||
           acr_learn(&dialect->no_stream, acr_failure_is_about(failure, "stream"));
}

/* Raises *counter to the member `key` of `usage`, because counters are cumulative. A missing member
 * changes nothing. */
static void grow(AcrPartial *partial, gint64 *counter, const AcrJson *usage, const char *key)
{
    *counter = MAX(*counter, acr_partial_counter(partial, usage, key));
}

/* Reads the usage of message_start and message_delta, which is cumulative. `is_final` means that
 * the output count is complete. */
static void read_anthropic_usage(AcrPartial *partial, const AcrJson *usage, bool is_final)
{
    AcrUsage *counters = &partial->usage;
    acr_partial_set(&partial->tier, acr_json_get_string(usage, "service_tier"));
    if (acr_json_type(usage) != ACR_JSON_OBJECT)
        return;
    grow(partial, &counters->input, usage, "input_tokens");
    grow(partial, &counters->cached, usage, "cache_read_input_tokens");
    grow(partial, &counters->written, usage, "cache_creation_input_tokens");
    if (!is_final)
        return;
    grow(partial, &counters->output, usage, "output_tokens");
    grow(partial, &counters->reasoning, acr_json_get(usage, "output_tokens_details"),
         "thinking_tokens");
}

/* Adds a whole tool call, the beginning of a call (with empty input), or a piece of a call's input
 * to the partial answer. */
static void take_call(AcrPartial *partial, gint64 index, const AcrJson *block)
{
    const AcrJson *input = acr_json_get(block, "input");
    g_autofree char *whole = acr_json_size(input) > 0 ? acr_json_print(input) : NULL;
    const char *piece = acr_json_get_string(block, "partial_json");
    acr_partial_add_call(partial, index, acr_json_get_string(block, "id"),
                         acr_json_get_string(block, "name"), whole ? whole : piece);
}

/* Adds a block of an answer, or a piece of a block, to the partial answer. Returns false if the
 * text is too long. */
static bool take_block(AcrPartial *partial, gint64 index, const AcrJson *block)
{
    const char *type = acr_json_get_string(block, "type");
    if (!type)
        return true;
    if (strcmp(type, "text") == 0 || strcmp(type, "text_delta") == 0)
        return acr_partial_add(partial, acr_json_get_string(block, "text"));
    if (strcmp(type, "tool_use") == 0 || strcmp(type, "input_json_delta") == 0)
        take_call(partial, index, block);
    /* Record thoughts, because they also show that the server still works. */
    acr_partial_think(partial, acr_json_get_string(block, "thinking"),
                      acr_json_get_string(block, "signature"));
    if (strcmp(type, "redacted_thinking") == 0)
        acr_partial_keep(partial, acr_json_copy(block));
    return true;
}

/* Ends a block and keeps its thoughts, because they must be sent back unchanged with the tool
 * calls. */
static void end_block(AcrPartial *partial)
{
    if (partial->signature->len > 0)
        acr_partial_keep(partial, acr_json_of("type", ACR_TEXT("thinking"), "thinking",
                                              ACR_TEXT(partial->thoughts->str), "signature",
                                              ACR_TEXT(partial->signature->str), NULL));
    g_string_truncate(partial->thoughts, 0);
    g_string_truncate(partial->signature, 0);
}

/* Reads the stop reason of a message or of a message's delta. */
static void take_end(AcrPartial *partial, const AcrJson *message)
{
    const AcrJson *details = acr_json_get(message, "stop_details");
    const char *explanation = acr_json_get_string(details, "explanation");
    acr_partial_finish(partial, acr_json_get_string(message, "stop_reason"));
    if (explanation && g_strcmp0(partial->finish, "refusal") == 0)
        g_string_assign(partial->refusal, explanation);
}

static AcrParseStep take_start(AcrPartial *partial, const AcrJson *message)
{
    acr_partial_set(&partial->model, acr_json_get_string(message, "model"));
    read_anthropic_usage(partial, acr_json_get(message, "usage"), false);
    return ACR_PARSE_MORE;
}

static AcrParseStep anthropic_event(AcrPartial *partial, const AcrEvent *event, const AcrJson *json)
{
    const char *said = acr_json_get_string(json, "type");
    const char *type = said ? said : event->name;
    gint64 index = acr_json_get_int(json, "index", 0);
    bool ok = true;
    if (strcmp(type, "message_start") == 0)
        return take_start(partial, acr_json_get(json, "message"));
    if (strcmp(type, "content_block_start") == 0) {
        ok = take_block(partial, index, acr_json_get(json, "content_block"));
    } else if (strcmp(type, "content_block_delta") == 0) {
        ok = take_block(partial, index, acr_json_get(json, "delta"));
    } else if (strcmp(type, "content_block_stop") == 0) {
        end_block(partial);
    } else if (strcmp(type, "message_delta") == 0) {
        take_end(partial, acr_json_get(json, "delta"));
        read_anthropic_usage(partial, acr_json_get(json, "usage"), true);
    } else if (strcmp(type, "message_stop") == 0) {
        return ACR_PARSE_DONE;
    }
    return ok ? ACR_PARSE_MORE : ACR_PARSE_FAILED;
}

static AcrParseStep anthropic_answer(AcrPartial *partial, const AcrJson *body)
{
    const AcrJson *content = acr_json_get(body, "content");
    if (acr_json_type(content) != ACR_JSON_ARRAY)
        return acr_partial_fail(partial, ACR_LLM_ERROR_MALFORMED,
                                "the response has no content list");
    gint64 index = 0;
    for (const AcrJson *block = acr_json_first(content); block; block = acr_json_next(block)) {
        if (!take_block(partial, index++, block))
            return ACR_PARSE_FAILED;
        end_block(partial);
    }
    take_start(partial, body);
    take_end(partial, body);
    read_anthropic_usage(partial, acr_json_get(body, "usage"), true);
    return ACR_PARSE_DONE;
}

const AcrProvider acr_provider_anthropic = {
    .name = "anthropic",
    .key_variables = (const char *const[]){"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", NULL},
    .base_variables = (const char *const[]){"ANTHROPIC_BASE_URL", NULL},
    .base_url = "https://api.anthropic.com",
    .prepare = anthropic_prepare,
    .request = anthropic_request,
    .event = anthropic_event,
    .answer = anthropic_answer,
    .correct = anthropic_correct,
    .needs_limit = true,
    .calls_tools = true,
    .services = {NULL, "standard_only", NULL, NULL, "batch"},
};
