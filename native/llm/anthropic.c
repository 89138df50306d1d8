/*
 * Anthropic's Messages dialect in its two versions: the older one takes its key in a header of its
 * own and knows sampling, the newer one takes a bearer key and does not. Also marks of what to
 * cache, the events of a stream, a whole answer, corrections. Nothing is sent here. A stream is
 * complete by its message_stop.
 */
#include "llm/provider.h"

#include <string.h>

#define API_VERSION "2023-06-01"
#define BEARER_VERSION "2026-10-21" /* from this one on */
#define DEFAULT_LIMIT 8192          /* a limit must be sent; of models that no table knows */
#define MAX_OWN_LIMIT                                                                              \
    32000 /* where none is wanted: more is taken off the key's limit of a minute */
#define WINDOW_EXCEEDED "model_context_window_exceeded"

static AcrJson *append_call(AcrJson *blocks, const AcrJson *call)
{
    AcrJson *block = acr_json_new_object();

    acr_json_set_string(block, "type", "tool_use");
    acr_json_set_string(block, "id", acr_json_get_string(call, "id"));
    acr_json_set_string(block, "name", acr_json_get_string(call, "name"));
    acr_json_set(block, "input", acr_tool_arguments(call));
    acr_json_append(blocks, block);
    return block;
}

static AcrJson *append_result(AcrJson *blocks, const AcrJson *result)
{
    AcrJson *block = acr_json_new_object();

    acr_json_set_string(block, "type", "tool_result");
    acr_json_set_string(block, "tool_use_id", acr_json_get_string(result, "id"));
    acr_json_set_string(block, "content", acr_json_get_string(result, "text"));
    acr_json_append(blocks, block);
    return block;
}

static const AcrTurnForm form = {.assistant = "assistant",
                                 .list = "content",
                                 .is_typed = true,
                                 .append_call = append_call,
                                 .append_result = append_result};
static const AcrWord finish_words[] = {{"end_turn", "stop"},       {"stop_sequence", "stop"},
                                       {"pause_turn", "stop"},     {"max_tokens", "length"},
                                       {"tool_use", "tool_calls"}, {NULL, NULL}};

/* ---- Where it is asked ---- */

/* The version that the user's own header names, else the variable's, else the older one. */
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
    /* Tokens of a login are bearers in both versions. */
    if (endpoint->key &&
        (endpoint->no_sampling || g_strcmp0(endpoint->key_variable, "ANTHROPIC_AUTH_TOKEN") == 0))
        acr_endpoint_bearer(endpoint);
    else if (endpoint->key)
        acr_endpoint_header(endpoint, "x-api-key", endpoint->key);
    return true;
}

/* ---- Request ---- */

static void mark(AcrJson *block)
{
    if (block)
        acr_json_set(block, "cache_control", acr_json_constant("{\"type\":\"ephemeral\"}"));
}

/*
 * A cache holds what stands before a mark: the system prompt, and of a conversation that has grown
 * what was sent the last time (to be read) and what is sent now (to be read the next time).
 */
static void mark_prefix(AcrTurns *turns)
{
    mark(turns->system_end);
    if (!turns->user_ends[1])
        return;
    mark(turns->user_ends[1]);
    mark(turns->user_ends[0]);
}

static gint64 limit_of(const AcrDialect *dialect, const AcrModelRequest *request)
{
    gint64 own = dialect->max_output > 0 ? MIN(dialect->max_output, MAX_OWN_LIMIT) : DEFAULT_LIMIT;

    return request->max_tokens > 0 ? request->max_tokens : own;
}

static AcrJson *output_of(const AcrDialect *dialect, const AcrModelRequest *request)
{
    AcrJson *config = acr_json_new_object();

    if (request->schema && !dialect->no_schema) {
        AcrJson *format = acr_json_new_object();

        acr_json_set_string(format, "type", "json_schema");
        acr_json_set(format, "schema", acr_json_copy(request->schema));
        acr_json_set(config, "format", format);
    }
    if (dialect->effort)
        acr_json_set_string(config, "effort", dialect->effort);
    return config;
}

static AcrJson *tools_of(const AcrDialect *dialect, const AcrJson *tools)
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
    AcrJson *json = acr_json_new_object();

    acr_turns_init(&turns, dialect, request, &form);
    if (!dialect->no_cache)
        mark_prefix(&turns);
    acr_turns_add_system(&turns, &form, words);
    acr_json_set_string(json, "model", dialect->model);
    acr_json_set_int(json, "max_tokens", limit_of(dialect, request));
    acr_json_set_if_any(json, "system", g_steal_pointer(&turns.system));
    acr_json_set(json, "messages", g_steal_pointer(&turns.messages));
    acr_json_set_if_any(json, "tools", tools_of(dialect, request->tools));
    if (dialect->temperature >= 0)
        acr_json_set(json, "temperature", acr_json_new_double(dialect->temperature));
    acr_json_set_if_any(json, "output_config", output_of(dialect, request));
    if (!dialect->no_stream)
        acr_json_set_bool(json, "stream", true);
    return json;
}

static bool anthropic_correct(AcrDialect *dialect, const AcrFailure *failure)
{
    static const char *const schema[] = {"output_config", "structured output", "output format",
                                         "schema", NULL};

    return acr_drop_temperature(dialect, acr_failure_is_about(failure, "temperature")) ||
           acr_learn(&dialect->no_cache, acr_failure_is_about(failure, "cache_control")) ||
           acr_drop_effort(dialect, acr_failure_says(failure, ACR_STRINGS("effort"))) ||
           acr_learn(&dialect->no_schema, acr_failure_says(failure, schema)) ||
           acr_drop_effort(dialect, acr_failure_says(failure, ACR_STRINGS("output_config"))) ||
           acr_learn(&dialect->no_stream, acr_failure_is_about(failure, "stream"));
}

/* ---- Usage ---- */

/* A counter that grows from event to event; an event that does not name it changes nothing. */
static void grow(AcrPartial *partial, gint64 *counter, const AcrJson *usage, const char *key)
{
    *counter = MAX(*counter, acr_partial_counter(partial, usage, key));
}

/*
 * Of message_start and message_delta, whose counters are cumulative. `is_final`: the output's count is
 * the last.
 */
static void read_usage(AcrPartial *partial, const AcrJson *usage, bool is_final)
{
    AcrUsage *counters = &partial->usage;

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

/* ---- Answers ---- */

/* A call, the beginning of one, whose input is empty then, or a piece of its input. */
static void take_call(AcrPartial *partial, gint64 index, const AcrJson *block)
{
    const AcrJson *input = acr_json_get(block, "input");
    g_autofree char *whole = acr_json_size(input) > 0 ? acr_json_print(input) : NULL;
    const char *piece = acr_json_get_string(block, "partial_json");

    acr_partial_add_call(partial, index, acr_json_get_string(block, "id"),
                         acr_json_get_string(block, "name"), whole ? whole : piece);
}

/* A block of an answer, the beginning of one, or a piece of one. False: too much. */
static bool take_block(AcrPartial *partial, gint64 index, const AcrJson *block)
{
    const char *type = acr_json_get_string(block, "type");

    if (!type)
        return true;
    if (strcmp(type, "text") == 0 || strcmp(type, "text_delta") == 0)
        return acr_partial_add(partial, acr_json_get_string(block, "text"));
    if (strcmp(type, "tool_use") == 0 || strcmp(type, "input_json_delta") == 0)
        take_call(partial, index, block);
    /* Thoughts are signs of life too. */
    acr_partial_think(partial, acr_json_get_string(block, "thinking"),
                      acr_json_get_string(block, "signature"));
    if (strcmp(type, "redacted_thinking") == 0)
        acr_partial_keep(partial, acr_json_copy(block));
    return true;
}

/* A block is whole: thoughts go back with the calls as they were. */
static void end_block(AcrPartial *partial)
{
    AcrJson *block = acr_json_new_object();

    acr_json_set_string(block, "type", "thinking");
    acr_json_set_string(block, "thinking", partial->thoughts->str);
    acr_json_set_string(block, "signature", partial->signature->str);
    if (partial->signature->len > 0)
        acr_partial_keep(partial, block);
    else
        acr_json_free(block);
    g_string_truncate(partial->thoughts, 0);
    g_string_truncate(partial->signature, 0);
}

/* Why it ended, of a message or of a message's delta. */
static void take_end(AcrPartial *partial, const AcrJson *message)
{
    const AcrJson *details = acr_json_get(message, "stop_details");
    const char *explanation = acr_json_get_string(details, "explanation");

    acr_partial_finish(partial, finish_words, acr_json_get_string(message, "stop_reason"));
    if (explanation && g_strcmp0(partial->finish, "refusal") == 0)
        g_string_assign(partial->refusal, explanation);
}

/* The answer is whole. Where the window was full before anything came, the prompt was too long. */
static AcrParseStep settle(AcrPartial *partial)
{
    if (g_strcmp0(partial->finish, WINDOW_EXCEEDED) != 0)
        return ACR_PARSE_DONE;
    partial->is_complete = true;
    if (partial->content->len == 0 && !partial->has_calls)
        return acr_partial_fail(partial, ACR_LLM_ERROR_CONTEXT_OVERFLOW,
                                "the prompt leaves no room for an answer (" WINDOW_EXCEEDED ")");
    acr_partial_set(&partial->finish, "length");
    return ACR_PARSE_DONE;
}

static AcrParseStep fail_event(AcrPartial *partial, const AcrEvent *event, const AcrJson *json)
{
    acr_failure_clear(&partial->failure);
    acr_failure_of_response(200, json, event->data, event->len, NULL, &partial->failure);
    return ACR_PARSE_FAILED;
}

static AcrParseStep take_start(AcrPartial *partial, const AcrJson *message)
{
    acr_partial_set(&partial->model, acr_json_get_string(message, "model"));
    read_usage(partial, acr_json_get(message, "usage"), false);
    return ACR_PARSE_MORE;
}

static AcrParseStep anthropic_event(AcrPartial *partial, const AcrEvent *event, const AcrJson *json)
{
    const char *said = acr_json_get_string(json, "type");
    const char *type = said ? said : event->name;
    gint64 index = acr_json_get_int(json, "index", 0);
    bool ok = true;

    if (strcmp(type, "error") == 0 || strcmp(event->name, "error") == 0)
        return fail_event(partial, event, json);
    if (strcmp(type, "ping") == 0)
        return ACR_PARSE_MORE;
    if (acr_json_type(json) != ACR_JSON_OBJECT)
        return acr_partial_fail(partial, ACR_LLM_ERROR_MALFORMED,
                                "an event of the stream is not a JSON object");
    if (!said && acr_failure_in_body(json))
        return fail_event(partial, event, json);
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
        read_usage(partial, acr_json_get(json, "usage"), true);
    } else if (strcmp(type, "message_stop") == 0) {
        return settle(partial);
    }
    return ok ? ACR_PARSE_MORE : ACR_PARSE_FAILED;
}

static AcrParseStep anthropic_answer(AcrPartial *partial, const AcrJson *body)
{
    const AcrJson *content = acr_json_get(body, "content");

    if (acr_json_type(content) != ACR_JSON_ARRAY)
        return acr_partial_fail(partial, ACR_LLM_ERROR_MALFORMED,
                                "the response holds no list of content");
    gint64 index = 0;
    for (const AcrJson *block = acr_json_first(content); block; block = acr_json_next(block)) {
        if (!take_block(partial, index++, block))
            return ACR_PARSE_FAILED;
        end_block(partial);
    }
    take_start(partial, body);
    take_end(partial, body);
    read_usage(partial, acr_json_get(body, "usage"), true);
    return settle(partial);
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
    .calls_tools = true,
};
