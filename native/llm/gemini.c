/*
 * Google's Gemini dialect: always streamed, by an address that names the model. A stream has no
 * terminal event: it is whole once a reason of its end has come, and what follows that may still
 * say more exactly what was used. A prompt that was blocked has no candidates at all. Nothing is
 * sent here.
 */
#include "llm/llm_private.h"

#include <string.h>

static const AcrTurnForm form = {.assistant = "model", .list = "parts"};
static const AcrWord finish_words[] = {
    {"STOP", "stop"},
    {"MAX_TOKENS", "length"},
    {"FUNCTION_CALL", "tool_calls"}, /* of servers that imitate it: its own word is STOP */
    {"SAFETY", "content_filter"},
    {"RECITATION", "content_filter"},
    {"LANGUAGE", "content_filter"},
    {"BLOCKLIST", "content_filter"},
    {"PROHIBITED_CONTENT", "content_filter"},
    {"SPII", "content_filter"},
    {"IMAGE_SAFETY", "content_filter"},
    {"IMAGE_PROHIBITED_CONTENT", "content_filter"},
    {"IMAGE_RECITATION", "content_filter"},
    {NULL, NULL},
};

/* ---- Where it is asked --------------------------------------------------------------------------
 */

/* Whether an address ends in a version: "/v1", "/v1beta", "/v1alpha1". */
static bool has_version(const char *base_url)
{
    const char *last = strrchr(base_url, '/');

    if (!last || last[1] != 'v' || !g_ascii_isdigit(last[2]))
        return false;
    for (last += 3; g_ascii_isalnum(*last);)
        last++;
    return *last == '\0';
}

/* A model's name may bring the folder that it stands in. */
static char *path_of(const AcrEndpoint *endpoint)
{
    static const char *const folders[] = {"models/", "tunedModels/"};
    const char *folder = folders[0];
    const char *name = endpoint->model;
    g_autofree char *escaped = NULL;

    for (gsize i = 0; i < G_N_ELEMENTS(folders); i++) {
        if (g_str_has_prefix(endpoint->model, folders[i])) {
            folder = folders[i];
            name = endpoint->model + strlen(folder);
        }
    }
    escaped = acr_llm_escape_segment(name);
    return g_strconcat(has_version(endpoint->base_url) ? "" : "v1beta/", folder, escaped,
                       ":streamGenerateContent?alt=sse", NULL);
}

static bool gemini_prepare(AcrEndpoint *endpoint, GError **error)
{
    g_autofree char *path = path_of(endpoint);

    if (!acr_endpoint_need_key(endpoint, error))
        return false;
    endpoint->url = acr_llm_join_url(endpoint->base_url, path);
    if (endpoint->key)
        acr_endpoint_header(endpoint, "x-goog-api-key", endpoint->key);
    return true;
}

/* ---- Request ------------------------------------------------------------------------------------
 */

/* Models before the third generation count the tokens of their thoughts, later ones know levels. */
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
    AcrJson *config = acr_json_new_object();

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (g_ascii_strcasecmp(dialect->effort, rows[i].effort) != 0)
            continue;
        if (has_budget)
            acr_json_set_int(config, "thinkingBudget", rows[i].budget);
        else
            acr_json_set_string(config, "thinkingLevel", rows[i].level);
    }
    if (acr_json_size(config) == 0) { /* a word of the user's own is the server's to judge */
        g_autofree char *level = g_ascii_strup(dialect->effort, -1);

        acr_json_set_string(config, "thinkingLevel", level);
    }
    return config;
}

static AcrJson *config_of(const AcrDialect *dialect, const AcrModelRequest *request)
{
    bool has_json = (request->json || request->schema) && !dialect->no_json;
    AcrJson *config = acr_json_new_object();

    if (dialect->temperature >= 0 && !dialect->no_temperature)
        acr_json_set(config, "temperature", acr_json_new_double(dialect->temperature));
    if (request->max_tokens > 0)
        acr_json_set_int(config, "maxOutputTokens", request->max_tokens);
    if (has_json)
        acr_json_set_string(config, "responseMimeType", "application/json");
    if (has_json && request->schema && !dialect->no_schema)
        acr_json_set(config, "responseJsonSchema", acr_json_copy(request->schema));
    if (dialect->effort && !dialect->no_effort)
        acr_json_set(config, "thinkingConfig", thinking_of(dialect));
    return config;
}

static AcrJson *gemini_request(const AcrDialect *dialect, const AcrModelRequest *request)
{
    g_autofree char *words = acr_json_words(
        request, !dialect->no_json, request->schema && !dialect->no_schema && !dialect->no_json);
    g_auto(AcrTurns) turns = {0};
    AcrJson *json = acr_json_new_object();
    AcrJson *config = config_of(dialect, request);
    AcrJson *system = NULL;

    acr_turns_init(&turns, request->conversation, &form);
    acr_turns_add_system(&turns, &form, words);
    system = acr_turns_take_system(&turns);
    acr_json_set(json, "contents", g_steal_pointer(&turns.messages));
    if (system) {
        AcrJson *instruction = acr_json_new_object();

        acr_json_set(instruction, "parts", system);
        acr_json_set(json, "systemInstruction", instruction);
    }
    if (acr_json_size(config) > 0)
        acr_json_set(json, "generationConfig", config);
    else
        acr_json_free(config);
    return json;
}

static bool gemini_correct(AcrDialect *dialect, const AcrFailure *failure)
{
    static const char *const temperature[] = {"temperature", NULL};
    static const char *const thinking[] = {"thinking", NULL};
    static const char *const schema[] = {"responsejsonschema", "response_json_schema", "schema",
                                         NULL};
    static const char *const json[] = {"responsemimetype", "response_mime_type", "json mode",
                                       "application/json", NULL};

    if (failure->code != ACR_LLM_ERROR_BAD_REQUEST)
        return false;
    return (dialect->temperature >= 0 &&
            acr_learn_from_words(&dialect->no_temperature, failure, temperature)) ||
           (dialect->effort && acr_learn_from_words(&dialect->no_effort, failure, thinking)) ||
           acr_learn_from_words(&dialect->no_schema, failure, schema) ||
           acr_learn_from_words(&dialect->no_json, failure, json);
}

/* ---- Answers ------------------------------------------------------------------------------------
 */

/* The prompt's count holds what was cached, not what tools brought; the candidates' no thoughts. */
static void read_usage(AcrDraft *draft, const AcrJson *usage)
{
    gint64 prompt = acr_counter(usage, "promptTokenCount");
    gint64 tools = acr_counter(usage, "toolUsePromptTokenCount");
    gint64 cached = acr_counter(usage, "cachedContentTokenCount");
    gint64 thoughts = acr_counter(usage, "thoughtsTokenCount");
    gint64 output = acr_counter(usage, "candidatesTokenCount");

    if (acr_json_type(usage) != ACR_JSON_OBJECT)
        return;
    cached = MIN(cached, prompt);
    if (output >= 0)
        output += MAX(thoughts, 0);
    else if (acr_json_type(acr_json_get(usage, "candidatesTokenCount")) == ACR_JSON_NULL)
        output = thoughts; /* all went into thoughts: a count of zero is left out */
    draft->usage = (AcrUsage){
        .input = prompt < 0 ? -1 : prompt - MAX(cached, 0) + MAX(tools, 0),
        .cached = cached,
        .written = -1,
        .written_1h = -1,
        .output = output,
        .reasoning = thoughts,
        .cost_pico = -1,
    };
}

/* False: too much. */
static bool take_part(AcrDraft *draft, const AcrJson *part)
{
    bool is_call = acr_json_get(part, "functionCall") != NULL;

    if (is_call)
        draft->has_calls = true;
    if (is_call || acr_json_get_bool(part, "thought", false)) {
        draft->content_us = g_get_monotonic_time();
        return true;
    }
    return acr_draft_add(draft, acr_json_get_string(part, "text"));
}

/* False: too much. */
static bool take_candidate(AcrDraft *draft, const AcrJson *candidate)
{
    const AcrJson *parts = acr_json_get(acr_json_get(candidate, "content"), "parts");
    const char *reason = acr_json_get_string(candidate, "finishReason");

    for (const AcrJson *part = acr_json_first(parts); part; part = acr_json_next(part))
        if (!take_part(draft, part))
            return false;
    if (reason && strcmp(reason, "FINISH_REASON_UNSPECIFIED") != 0)
        acr_draft_finish(draft, finish_words, reason);
    return true;
}

static AcrDraftStep take_chunk(AcrDraft *draft, const AcrJson *json)
{
    const AcrJson *candidates = acr_json_get(json, "candidates");
    const char *blocked = acr_json_get_string(acr_json_get(json, "promptFeedback"), "blockReason");

    if (acr_failure_in_body(json))
        return acr_draft_fail_json(draft, json);
    if (acr_json_type(json) != ACR_JSON_OBJECT)
        return acr_draft_fail(draft, ACR_LLM_ERROR_MALFORMED,
                              "a piece of the answer is no JSON object");
    acr_draft_set(&draft->model, acr_json_get_string(json, "modelVersion"));
    if (blocked && acr_json_size(candidates) == 0 &&
        strcmp(blocked, "BLOCK_REASON_UNSPECIFIED") != 0)
        draft->is_blocked = true;
    for (const AcrJson *at = acr_json_first(candidates); at; at = acr_json_next(at))
        if (acr_json_get_int(at, "index", 0) == 0 && !take_candidate(draft, at))
            return ACR_DRAFT_FAILED;
    read_usage(draft, acr_json_get(json, "usageMetadata"));
    return ACR_DRAFT_MORE;
}

static AcrDraftStep gemini_event(AcrDraft *draft, const AcrEvent *event, const AcrJson *json)
{
    if (strcmp(event->name, "error") == 0 && json)
        return acr_draft_fail_json(draft, json);
    return take_chunk(draft, json);
}

/* Ends that a model comes to by no fault of the request, with nothing to show for it. */
static bool is_mishap(const AcrDraft *draft)
{
    static const char *const words[] = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL",
                                        "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "OTHER"};
    bool found = false;

    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        found = found || g_strcmp0(draft->finish, words[i]) == 0;
    return found && draft->content->len == 0;
}

/* The answer as far as it came; MORE: its end has not come. */
static AcrDraftStep gemini_settle(AcrDraft *draft)
{
    if (!draft->finish && !draft->is_blocked)
        return ACR_DRAFT_MORE;
    draft->is_complete = true;
    if (!draft->is_blocked && is_mishap(draft)) {
        g_autofree char *why =
            g_strdup_printf("the answer ended by %s, without text", draft->finish);

        return acr_draft_fail(draft, ACR_LLM_ERROR_MALFORMED, why);
    }
    if (draft->has_calls && g_strcmp0(draft->finish, "stop") == 0)
        acr_draft_set(&draft->finish, "tool_calls");
    return ACR_DRAFT_DONE;
}

/* One chunk, or a list of them as servers send it that do not stream. */
static AcrDraftStep gemini_answer(AcrDraft *draft, const AcrJson *body)
{
    bool is_list = acr_json_type(body) == ACR_JSON_ARRAY;
    const AcrJson *chunk = is_list ? acr_json_first(body) : body;
    AcrDraftStep step = ACR_DRAFT_MORE;

    for (; chunk && step == ACR_DRAFT_MORE; chunk = is_list ? acr_json_next(chunk) : NULL)
        step = take_chunk(draft, chunk);
    if (step == ACR_DRAFT_MORE)
        step = gemini_settle(draft);
    if (step != ACR_DRAFT_MORE)
        return step;
    return acr_draft_fail(draft, ACR_LLM_ERROR_MALFORMED,
                          "the response holds no candidate that has ended");
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
    .ended = gemini_settle,
    .correct = gemini_correct,
};
