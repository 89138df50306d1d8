/* Implements Google's Gemini dialect. Answers are always streamed, and the URL contains the model.
 * No event ends a stream: it is complete once a finish reason has arrived, but later events may
 * still correct the usage. The answer to a blocked prompt has no candidates. This file sends
 * nothing. */
#include "llm/provider.h"

#include <string.h>

static AcrJson *append_function_response(AcrJson *parts, const AcrJson *result)
{
    const char *id = acr_json_get_string(result, "id");
    AcrJson *response = acr_json_of("output", ACR_MEMBER(result, "text"), NULL);
    return acr_json_add(parts, "functionResponse",
                        acr_json_of("id", id ? ACR_TEXT(id) : NULL, "name",
                                    ACR_MEMBER(result, "name"), "response", response, NULL));
}

/* An answer with calls must be sent back in the same parts in which it arrived, including the
 * signatures of its thoughts. */
static const AcrTurnForm form = {.assistant = "model",
                                 .list = "parts",
                                 .append_result = append_function_response,
                                 .keeps_all = true};
/* Whether a URL ends in a version, such as "/v1", "/v1beta" or "/v1alpha1". */
static bool has_version(const char *base_url)
{
    const char *last = strrchr(base_url, '/');
    if (!last || last[1] != 'v' || !g_ascii_isdigit(last[2]))
        return false;
    for (last += 3; g_ascii_isalnum(*last);)
        last++;
    return *last == '\0';
}

/* Returns the path of a request, owned. A model's name may include its folder ("models/…"). */
static char *path_of_request(const AcrEndpoint *endpoint)
{
    static const char *const folders[] = {"models/", "tunedModels/"};
    const char *folder = folders[0];
    const char *name = endpoint->model;
    for (gsize i = 0; i < G_N_ELEMENTS(folders); i++) {
        if (g_str_has_prefix(endpoint->model, folders[i])) {
            folder = folders[i];
            name = endpoint->model + strlen(folder);
        }
    }
    g_autofree char *escaped = g_uri_escape_string(name, NULL, FALSE);
    return g_strconcat(has_version(endpoint->base_url) ? "" : "v1beta/", folder, escaped,
                       ":streamGenerateContent?alt=sse", NULL);
}

static bool gemini_prepare(AcrEndpoint *endpoint, GError **error)
{
    g_autofree char *path = path_of_request(endpoint);
    if (!acr_endpoint_need_key(endpoint, error))
        return false;
    endpoint->url = g_strconcat(endpoint->base_url, "/", path, NULL);
    if (endpoint->key)
        acr_endpoint_header(endpoint, "x-goog-api-key", endpoint->key);
    return true;
}

/* Makes the thinking settings. Models before the third generation take a token budget for thoughts;
 * later models take a level. */
static AcrJson *thinking_of(const AcrDialect *dialect)
{
    static const struct {
        const char *effort;
        int budget;
        const char *level;
    } rows[] = {{"none", 0, "MINIMAL"},     {"minimal", 512, "MINIMAL"}, {"low", 1024, "LOW"},
                {"medium", 8192, "MEDIUM"}, {"high", 24576, "HIGH"},     {"xhigh", 24576, "HIGH"},
                {"max", 24576, "HIGH"}};
    bool has_budget = strstr(dialect->model, "gemini-2") != NULL;
    /* pass an unknown level on; the server decides whether the level is valid */
    g_autofree char *own = g_ascii_strup(dialect->effort, -1);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (g_ascii_strcasecmp(dialect->effort, rows[i].effort) == 0)
            return has_budget
                       ? acr_json_of("thinkingBudget", acr_json_new_int(rows[i].budget), NULL)
                       : acr_json_of("thinkingLevel", ACR_TEXT(rows[i].level), NULL);
    return acr_json_of("thinkingLevel", ACR_TEXT(own), NULL);
}

static AcrJson *config_of(const AcrDialect *dialect, const AcrModelRequest *request)
{
    bool has_json = (request->json || request->schema) && !dialect->no_json;
    bool has_schema = has_json && request->schema && !dialect->no_schema;
    return acr_json_of("temperature", ACR_TEMPERATURE(dialect), "maxOutputTokens",
                       ACR_LIMIT(request), "responseMimeType",
                       ACR_IF(has_json, ACR_TEXT("application/json")), "responseJsonSchema",
                       ACR_IF(has_schema, acr_json_copy(request->schema)), "thinkingConfig",
                       ACR_IF(dialect->effort, thinking_of(dialect)), NULL);
}

static AcrJson *gemini_tools(const AcrDialect *dialect, const AcrJson *tools)
{
    AcrJson *list = acr_json_new_array(), *functions = acr_json_new_array();
    for (const AcrJson *tool = acr_json_first(tools); tool; tool = acr_json_next(tool))
        acr_json_append(functions, acr_tool_new(dialect, tool, "parametersJsonSchema", false));
    acr_json_add(list, "functionDeclarations", functions);
    return list;
}

static AcrJson *gemini_request(const AcrDialect *dialect, const AcrModelRequest *request)
{
    g_autofree char *words = acr_json_instruction(
        request, !dialect->no_json, request->schema && !dialect->no_schema && !dialect->no_json);
    g_auto(AcrTurns) turns = {0};
    acr_turns_init(&turns, dialect, request, &form);
    acr_turns_add_system(&turns, dialect, &form, words);
    AcrJson *parts = acr_json_any(g_steal_pointer(&turns.system));
    return acr_json_of("contents", g_steal_pointer(&turns.messages), "systemInstruction",
                       ACR_IF(parts, acr_json_of("parts", parts, NULL)), "tools",
                       ACR_IF(request->tools, gemini_tools(dialect, request->tools)),
                       "generationConfig", acr_json_any(config_of(dialect, request)), "serviceTier",
                       ACR_TIER(dialect), NULL);
}

static bool gemini_correct(AcrDialect *dialect, const AcrFailure *failure)
{
    return acr_drop_temperature(dialect, acr_failure_says(failure, "temperature")) ||
           acr_drop_effort(dialect, acr_failure_says(failure, "thinking")) ||
           acr_learn(&dialect->no_schema, acr_failure_says(failure, "schema")) ||
           acr_learn(
               &dialect->no_json,
               acr_failure_says(failure,
                                "responsemimetype|response_mime_type|json mode|application/json"));
}

/* Reads the usage. The prompt count includes cached tokens but not the tokens of tools; the
 * candidates' count excludes thoughts. */
static void read_gemini_usage(AcrPartial *partial, const AcrJson *usage)
{
    gint64 prompt = acr_partial_counter(partial, usage, "promptTokenCount");
    gint64 tools = acr_partial_counter(partial, usage, "toolUsePromptTokenCount");
    gint64 cached = acr_partial_counter(partial, usage, "cachedContentTokenCount");
    gint64 thoughts = acr_partial_counter(partial, usage, "thoughtsTokenCount");
    gint64 output = acr_partial_counter(partial, usage, "candidatesTokenCount");
    AcrUsage said = acr_partial_prompt(partial, prompt, cached, -1);
    if (output >= 0)
        output += MAX(thoughts, 0);
    else if (acr_json_type(acr_json_get(usage, "candidatesTokenCount")) == ACR_JSON_NULL)
        output = thoughts; /* the server omits a count of zero, so all output was thoughts */
    if (said.input >= 0)
        said.input += MAX(tools, 0);
    said.output = output;
    said.reasoning = thoughts;
    acr_partial_use(partial, &said);
}

/* Adds a candidate's parts to the partial answer. Returns false if there is too much text. */
static bool take_candidate(AcrPartial *partial, const AcrJson *candidate)
{
    const AcrJson *parts = acr_json_get(acr_json_get(candidate, "content"), "parts");
    for (const AcrJson *part = acr_json_first(parts); part; part = acr_json_next(part)) {
        const AcrJson *call = acr_json_get(part, "functionCall");
        bool is_thought = acr_json_get_bool(part, "thought", false);
        if (!is_thought)
            acr_partial_keep(partial, acr_json_copy(part));
        if (is_thought)
            acr_partial_show_thoughts(partial, acr_json_get_string(part, "text"));
        else if (call)
            acr_partial_add_whole_call(partial, acr_json_get_string(call, "id"),
                                       acr_json_get_string(call, "name"),
                                       acr_json_get(call, "args"));
        else if (!acr_partial_add(partial, acr_json_get_string(part, "text")))
            return false;
    }
    acr_partial_finish(partial, acr_json_get_string(candidate, "finishReason"));
    return true;
}

static AcrParseStep take_chunk(AcrPartial *partial, const AcrJson *json)
{
    const AcrJson *candidates = acr_json_get(json, "candidates");
    const char *blocked = acr_json_get_string(acr_json_get(json, "promptFeedback"), "blockReason");
    const AcrJson *usage = acr_json_get(json, "usageMetadata");
    acr_partial_set(&partial->model, acr_json_get_string(json, "modelVersion"));
    acr_partial_set(&partial->tier, acr_json_get_string(usage, "serviceTier"));
    if (blocked && acr_json_size(candidates) == 0 &&
        strcmp(blocked, "BLOCK_REASON_UNSPECIFIED") != 0)
        partial->is_blocked = true;
    for (const AcrJson *at = acr_json_first(candidates); at; at = acr_json_next(at))
        if (acr_json_get_int(at, "index", 0) == 0 && !take_candidate(partial, at))
            return ACR_PARSE_FAILED;
    read_gemini_usage(partial, usage);
    return ACR_PARSE_MORE;
}

static AcrParseStep gemini_event(AcrPartial *partial, const AcrEvent *event, const AcrJson *json)
{
    return take_chunk(partial, json);
}

/* Sets the finish reason "tool_calls", because Gemini's finish reason for tool calls is the same as
 * for any other end. */
static void gemini_settle(AcrPartial *partial)
{
    if (partial->has_calls && g_strcmp0(partial->finish, "stop") == 0)
        acr_partial_set(&partial->finish, "tool_calls");
}

/* Reads one chunk, or the list of chunks that servers send if they do not stream. */
static AcrParseStep gemini_answer(AcrPartial *partial, const AcrJson *body)
{
    bool is_list = acr_json_type(body) == ACR_JSON_ARRAY;
    const AcrJson *chunk = is_list ? acr_json_first(body) : body;
    AcrParseStep step = ACR_PARSE_MORE;
    for (; chunk && step == ACR_PARSE_MORE; chunk = is_list ? acr_json_next(chunk) : NULL)
        step = acr_failure_in_body(chunk) ? acr_partial_fail_json(partial, chunk, "")
                                          : take_chunk(partial, chunk);
    if (step == ACR_PARSE_MORE && (partial->finish || partial->is_blocked))
        return ACR_PARSE_DONE;
    return step == ACR_PARSE_FAILED ? step
                                    : acr_partial_fail(partial, ACR_LLM_ERROR_MALFORMED,
                                                       "the response has no finished candidate");
}

const AcrProvider acr_provider_gemini = {
    .name = "gemini",
    .key_variables = (const char *const[]){"GOOGLE_API_KEY", "GEMINI_API_KEY", NULL},
    .base_variables = (const char *const[]){"GOOGLE_GEMINI_BASE_URL", NULL},
    .base_url = "https://generativelanguage.googleapis.com",
    .prepare = gemini_prepare,
    .request = gemini_request,
    .event = gemini_event,
    .answer = gemini_answer,
    .settle = gemini_settle,
    .stream_end = ACR_END_BY_REASON,
    .correct = gemini_correct,
    .calls_tools = true,
    .services = {NULL, "standard", "flex", "priority"},
};
