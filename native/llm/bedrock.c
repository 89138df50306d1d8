/* Implements AWS Bedrock's Converse dialect. Answers are always streamed, in AWS's binary frames.
 * Requests contain a bearer key, or are signed with AWS keys from the environment or the user's
 * files. A stream ends with the stop reason (messageStop) and then the usage (metadata); a stream
 * without both is incomplete. Cache marks are sent to models that are known to accept them. This
 * file sends nothing. */
#include <string.h>

#include "llm/llm_private.h"
#include "llm/provider.h"

/* the service's name in signatures; the names of the service's hosts begin with bedrock-runtime */
#define SERVICE "bedrock"
#define OWN_HOST "https://bedrock-runtime"

static const char *const key_variables[] = {"AWS_BEARER_TOKEN_BEDROCK", NULL};
static const char *const base_variables[] = {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL",
                                             NULL};

static AcrJson *append_bedrock_call(AcrJson *blocks, const AcrJson *call)
{
    return acr_json_add(blocks, "toolUse",
                        acr_json_of("toolUseId", ACR_MEMBER(call, "id"), "name",
                                    ACR_MEMBER(call, "name"), "input", acr_tool_arguments(call),
                                    NULL));
}

static AcrJson *append_bedrock_result(AcrJson *blocks, const AcrJson *result)
{
    AcrJson *content = acr_json_new_array();
    acr_json_add(content, "text", ACR_MEMBER(result, "text"));
    return acr_json_add(
        blocks, "toolResult",
        acr_json_of("toolUseId", ACR_MEMBER(result, "id"), "content", content, NULL));
}

static const AcrTurnForm form = {.assistant = "assistant",
                                 .list = "content",
                                 .append_call = append_bedrock_call,
                                 .append_result = append_bedrock_result};

static bool fail_without_key(const char *what, GError **error)
{
    return acr_set_error(
        error, ACR_LLM_ERROR, ACR_LLM_ERROR_AUTH,
        "no key%s for Bedrock: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY (or both in ~/.aws/credentials, profile '%s'), or give "
        "--key-command or --key-file; and set AWS_REGION",
        what, acr_aws_profile());
}

static bool fail_without_region(GError **error)
{
    return acr_set_error(
        error, ACR_LLM_ERROR, ACR_LLM_ERROR_USAGE,
        "no region for Bedrock: set AWS_REGION, or region in ~/.aws/config, profile '%s'",
        acr_aws_profile());
}

/* Returns the base URL of a region; owned. If AWS_USE_FIPS_ENDPOINT is "true", returns the URL of
 * the FIPS 140 endpoint. */
static char *bedrock_base(GError **error)
{
    g_auto(AcrAwsCredentials) settings = {0};
    const char *fips = acr_variable("AWS_USE_FIPS_ENDPOINT");
    bool is_fips = fips && g_ascii_strcasecmp(fips, "true") == 0;
    if (!acr_aws_credentials_read(&settings, error))
        return NULL;
    if (!settings.region && !settings.access_key && !acr_first_variable(key_variables))
        return ACR_NULL(fail_without_key(" and no region", error));
    if (!settings.region)
        return ACR_NULL(fail_without_region(error));
    return g_strdup_printf(OWN_HOST "%s.%s.amazonaws.com%s", is_fips ? "-fips" : "",
                           settings.region, g_str_has_prefix(settings.region, "cn-") ? ".cn" : "");
}

static bool is_own_host(const char *base_url)
{
    return g_str_has_prefix(base_url, OWN_HOST) &&
           (g_str_has_suffix(base_url, ".amazonaws.com") ||
            g_str_has_suffix(base_url, ".amazonaws.com.cn")) &&
           !strpbrk(base_url + strlen("https://"), "/:");
}

/* Reads the AWS keys into the endpoint for bedrock_sign. */
static bool take_keys(AcrEndpoint *endpoint, GError **error)
{
    AcrAwsCredentials *keys = &endpoint->aws;
    if (!acr_aws_credentials_read(keys, error))
        return false;
    if (!keys->access_key)
        return fail_without_key("", error);
    if (!keys->region)
        return fail_without_region(error);
    acr_endpoint_secret(endpoint, keys->access_key);
    acr_endpoint_secret(endpoint, keys->secret_key);
    acr_endpoint_secret(endpoint, keys->session_token);
    /* the access key identifies the account for the shared rate limits */
    endpoint->key = g_strdup(keys->access_key);
    return true;
}

static bool bedrock_prepare(AcrEndpoint *endpoint, GError **error)
{
    g_autofree char *model = g_uri_escape_string(endpoint->model, NULL, FALSE);
    endpoint->url = g_strconcat(endpoint->base_url, "/model/", model, "/converse-stream", NULL);
    endpoint->is_own = is_own_host(endpoint->base_url);
    if (acr_endpoint_find_header(endpoint, "Authorization")) /* the user gave the header
                                                              * Authorization */
        return true;
    if (!endpoint->key)
        return take_keys(endpoint, error);
    acr_endpoint_bearer(endpoint);
    return true;
}

static void bedrock_sign(const AcrEndpoint *endpoint, const char *body, gsize len,
                         GPtrArray *headers)
{
    if (endpoint->aws.access_key)
        acr_sigv4_sign(&endpoint->aws, SERVICE, endpoint->url,
                       acr_endpoint_find_header(endpoint, "Content-Type"), body, len,
                       g_get_real_time() / G_USEC_PER_SEC, headers);
}

#define CACHE_POINT "{\"cachePoint\":{\"type\":\"default\"}}"

/* Whether to send cache marks. Anthropic's models and Amazon's Nova accept cache marks. The ARN of
 * an inference profile does not show the model, so we send marks until the server rejects them. */
static bool may_cache(const AcrDialect *dialect)
{
    static const char *const able[] = {"claude", "amazon.nova", "application-inference-profile"};
    for (gsize i = 0; i < G_N_ELEMENTS(able); i++)
        if (strstr(dialect->model, able[i]))
            return !dialect->no_cache;
    return false;
}

/* Marks the system prompt and the end of the previous request. A cache mark makes the server cache
 * everything before the mark. */
static void mark_prefix(AcrTurns *turns)
{
    if (acr_json_size(turns->system) > 0)
        acr_json_append(turns->system, acr_json_constant(CACHE_POINT));
    if (turns->user_blocks[1])
        acr_json_append(turns->user_blocks[1], acr_json_constant(CACHE_POINT));
}

/* Makes the output format for a schema. Bedrock expects the schema as a string inside the JSON. */
static AcrJson *format_of(const AcrJson *schema)
{
    g_autofree char *text = acr_json_print(schema);
    AcrJson *definition = acr_json_of("schema", ACR_TEXT(text), "name", ACR_TEXT("answer"), NULL);
    return acr_json_of("type", ACR_TEXT("json_schema"), "structure",
                       acr_json_of("jsonSchema", definition, NULL), NULL);
}

static AcrJson *bedrock_tools(const AcrDialect *dialect, const AcrJson *tools)
{
    AcrJson *list = acr_json_new_array();
    for (const AcrJson *tool = acr_json_first(tools); tool; tool = acr_json_next(tool)) {
        AcrJson *spec = acr_tool_new(dialect, tool, NULL, true);
        acr_json_set(spec, "inputSchema",
                     acr_json_of("json", acr_json_copy(acr_json_get(tool, "schema")), NULL));
        acr_json_add(list, "toolSpec", spec);
    }
    return acr_json_of("tools", list, NULL);
}

static AcrJson *bedrock_request(const AcrDialect *dialect, const AcrModelRequest *request)
{
    bool has_schema = request->schema && !dialect->no_schema;
    g_autofree char *words = acr_json_instruction(request, false, has_schema);
    g_auto(AcrTurns) turns = {0};
    acr_turns_init(&turns, dialect, request, &form);
    acr_turns_add_system(&turns, dialect, &form, words);
    if (may_cache(dialect))
        mark_prefix(&turns);
    AcrJson *inference =
        acr_json_of("maxTokens", ACR_LIMIT(request), "temperature", ACR_TEMPERATURE(dialect), NULL);
    AcrJson *output = acr_json_of("textFormat", ACR_IF(has_schema, format_of(request->schema)),
                                  "effort", ACR_EFFORT(dialect), NULL);
    return acr_json_of("messages", g_steal_pointer(&turns.messages), "system",
                       acr_json_any(g_steal_pointer(&turns.system)), "toolConfig",
                       ACR_IF(request->tools, bedrock_tools(dialect, request->tools)),
                       "inferenceConfig", acr_json_any(inference), "outputConfig",
                       acr_json_any(output), "serviceTier",
                       ACR_IF(dialect->tier, acr_json_of("type", ACR_TIER(dialect), NULL)), NULL);
}

/* Reads the usage. inputTokens excludes tokens read from the cache or written to it; totalTokens
 * may or may not include them. If totalTokens equals neither the sum with these tokens nor the sum
 * without them, no counter is used. */
static void read_bedrock_usage(AcrPartial *partial, const AcrJson *usage)
{
    gint64 total = acr_partial_counter(partial, usage, "totalTokens");
    AcrUsage found = ACR_USAGE_UNKNOWN;
    gint64 plain;
    found.input = acr_partial_counter(partial, usage, "inputTokens");
    found.output = acr_partial_counter(partial, usage, "outputTokens");
    found.cached = acr_partial_counter(partial, usage, "cacheReadInputTokens");
    found.written = acr_partial_counter(partial, usage, "cacheWriteInputTokens");
    plain = found.input + found.output;
    if (total >= 0 && found.input >= 0 && found.output >= 0 && total != plain &&
        total != plain + MAX(found.cached, 0) + MAX(found.written, 0))
        partial->is_nonsense = true;
    acr_partial_use(partial, &found);
}

static void take_usage(AcrPartial *partial, const AcrJson *metadata)
{
    acr_partial_set(&partial->tier,
                    acr_json_get_string(acr_json_get(metadata, "serviceTier"), "type"));
    read_bedrock_usage(partial, acr_json_get(metadata, "usage"));
}

/* Fails with the exception in an event. The exception's name is in the frame's headers, not in the
 * JSON. */
static AcrParseStep on_exception(AcrPartial *partial, const AcrEvent *event, const AcrJson *json)
{
    const char *message = acr_json_get_string(json, "message");
    if (!message)
        message = acr_json_get_string(json, "Message");
    g_autoptr(AcrJson) error =
        acr_json_of("type", ACR_TEXT(event->name), "message",
                    ACR_TEXT(message ? message : "the server aborted the stream"), NULL);
    return acr_partial_fail_json(partial, error, event->data);
}

/* Adds a `reasoningContent`, or a piece of it, to the partial answer. Thoughts must be sent back
 * unchanged with the calls. */
static void take_thoughts(AcrPartial *partial, const AcrJson *thoughts)
{
    const AcrJson *whole = acr_json_get(thoughts, "reasoningText");
    const AcrJson *from = whole ? whole : thoughts;
    acr_partial_think(partial, acr_json_get_string(from, "text"),
                      acr_json_get_string(from, "signature"));
    if (acr_json_get(thoughts, "redactedContent"))
        acr_partial_keep(partial, acr_json_of("reasoningContent", acr_json_copy(thoughts), NULL));
}

static void end_block(AcrPartial *partial)
{
    const char *signature = partial->signature->len ? partial->signature->str : NULL;
    if (partial->thoughts->len > 0 || signature) {
        AcrJson *text = acr_json_of("text", ACR_TEXT(partial->thoughts->str), "signature",
                                    signature ? ACR_TEXT(signature) : NULL, NULL);
        acr_partial_keep(partial, acr_json_of("reasoningContent",
                                              acr_json_of("reasoningText", text, NULL), NULL));
    }
    g_string_truncate(partial->thoughts, 0);
    g_string_truncate(partial->signature, 0);
}

/* Adds a block, the beginning of a block, or a piece of a block to the partial answer; the tool
 * input of a piece is text. Returns false if the text is too long. */
static bool take_block(AcrPartial *partial, gint64 index, const AcrJson *block)
{
    const AcrJson *use = acr_json_get(block, "toolUse"),
                  *thoughts = acr_json_get(block, "reasoningContent"),
                  *input = acr_json_get(use, "input");
    g_autofree char *whole = acr_json_type(input) == ACR_JSON_OBJECT ? acr_json_print(input) : NULL;
    if (use)
        acr_partial_add_call(partial, index, acr_json_get_string(use, "toolUseId"),
                             acr_json_get_string(use, "name"),
                             whole ? whole : acr_json_string(input));
    else if (thoughts)
        take_thoughts(partial, thoughts);
    else if (!acr_json_get(block, "text"))
        acr_partial_touch(partial);
    return acr_partial_add(partial, acr_json_get_string(block, "text"));
}

/* Handles an event. The metadata event is the last event; it completes the stream only if a stop
 * reason preceded it. */
static AcrParseStep bedrock_event(AcrPartial *partial, const AcrEvent *event, const AcrJson *json)
{
    static const char *const known[] = {"contentBlockStart", "contentBlockDelta",
                                        "contentBlockStop",  "messageStop",
                                        "metadata",          NULL};
    const AcrJson *delta = acr_json_get(json, "delta"), *start = acr_json_get(json, "start");
    gint64 index = acr_json_get_int(json, "contentBlockIndex", 0);
    if (event->is_exception)
        return on_exception(partial, event, json);
    if (!g_strv_contains(known, event->name))
        return ACR_PARSE_MORE;
    if ((start && !take_block(partial, index, start)) ||
        (delta && !take_block(partial, index, delta)))
        return ACR_PARSE_FAILED;
    if (strcmp(event->name, "contentBlockStop") == 0)
        end_block(partial);
    acr_partial_finish(partial, acr_json_get_string(json, "stopReason"));
    if (strcmp(event->name, "metadata") != 0)
        return ACR_PARSE_MORE;
    take_usage(partial, json);
    return partial->finish ? ACR_PARSE_DONE : ACR_PARSE_MORE;
}

static AcrParseStep bedrock_answer(AcrPartial *partial, const AcrJson *body)
{
    const AcrJson *message = acr_json_get(acr_json_get(body, "output"), "message");
    const AcrJson *content = acr_json_get(message, "content");
    if (acr_json_type(content) != ACR_JSON_ARRAY)
        return acr_partial_fail(partial, ACR_LLM_ERROR_MALFORMED,
                                "the response has no output.message.content");
    gint64 index = 0;
    for (const AcrJson *block = acr_json_first(content); block; block = acr_json_next(block)) {
        if (!take_block(partial, index++, block))
            return ACR_PARSE_FAILED;
        end_block(partial);
    }
    acr_partial_finish(partial, acr_json_get_string(body, "stopReason"));
    take_usage(partial, body);
    return ACR_PARSE_DONE;
}

/* Learns from an error of the model behind Bedrock. The message names the rejected part of the
 * request in the words of the model's maker. */
static bool bedrock_correct(AcrDialect *dialect, const AcrFailure *failure)
{
    return acr_learn(
               &dialect->no_cache,
               acr_failure_says(failure, "cachepoint|cache point|prompt caching|cache_control")) ||
           acr_drop_effort(dialect, acr_failure_says(failure, "effort")) ||
           acr_learn(
               &dialect->no_schema,
               acr_failure_says(
                   failure,
                   "textformat|schema|structured output|output_config.format|outputconfig")) ||
           acr_drop_effort(dialect, acr_failure_says(failure, "outputconfig|output_config")) ||
           acr_drop_temperature(dialect, acr_failure_says(failure, "temperature"));
}

const AcrProvider acr_provider_bedrock = {
    .name = "bedrock",
    .key_variables = key_variables,
    .base_variables = base_variables,
    .framing = ACR_FRAMES_EVENTSTREAM,
    .base = bedrock_base,
    .prepare = bedrock_prepare,
    .sign = bedrock_sign,
    .request = bedrock_request,
    .event = bedrock_event,
    .answer = bedrock_answer,
    .correct = bedrock_correct,
    .calls_tools = true,
    .services = {NULL, "default", "flex", "priority"},
};
