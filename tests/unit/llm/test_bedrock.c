/* Tests of Bedrock's Converse dialect without a network: requests, and answers from frames and
 * JSON. */
#include "test_llm.h"

#include "frame.h"
#include "pieces.h"

#define CLAUDE "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
#define PLAIN "meta.llama3-1-70b-instruct-v1:0"

/* ---- Requests ---- */

static void assert_request(const AcrDialect *dialect, AcrModelRequest request, const AcrConversation *conversation,
                           const char *expected)
{
    g_autoptr(AcrJson) body = NULL;
    g_autofree char *text = NULL;
    request.conversation = conversation;
    body = acr_provider_bedrock.request(dialect, &request);
    text = acr_json_print(body);
    g_assert_cmpstr(text, ==, expected);
}

static AcrConversation *talk(const char *const *texts)
{
    AcrConversation *conversation = acr_conversation_new("c");
    AcrRole role = ACR_ROLE_SYSTEM;
    for (; *texts; texts++) {
        acr_conversation_add(conversation, role, *texts);
        role = role == ACR_ROLE_USER ? ACR_ROLE_ASSISTANT : ACR_ROLE_USER;
    }
    return conversation;
}

static guint marks_of(AcrDialect dialect)
{
    static const char *const texts[] = {"s", "u", NULL};
    g_autoptr(AcrConversation) c = talk(texts);
    AcrModelRequest request = {.conversation = c};
    g_autoptr(AcrJson) body = acr_provider_bedrock.request(&dialect, &request);
    g_autofree char *text = acr_json_print(body);
    g_auto(GStrv) parts = g_strsplit(text, "cachePoint", -1);
    return g_strv_length(parts) - 1;
}

TEST("/llm/bedrock", what_stays_the_same_is_marked_for_the_cache)
{
    static const char *const texts[] = {"s", "u1", "a1", "u2", "a2", "u3", NULL};
    g_autoptr(AcrConversation) c = talk(texts);
    AcrDialect dialect = {.model = CLAUDE, .temperature = -1};
    assert_request(&dialect, (AcrModelRequest){0}, c,
                   "{\"messages\":[{\"role\":\"user\",\"content\":[{\"text\":\"u1\"}]},"
                   "{\"role\":\"assistant\",\"content\":[{\"text\":\"a1\"}]},"
                   "{\"role\":\"user\",\"content\":[{\"text\":\"u2\"},"
                   "{\"cachePoint\":{\"type\":\"default\"}}]},"
                   "{\"role\":\"assistant\",\"content\":[{\"text\":\"a2\"}]},"
                   "{\"role\":\"user\",\"content\":[{\"text\":\"u3\"}]}],"
                   "\"system\":[{\"text\":\"s\"},{\"cachePoint\":{\"type\":\"default\"}}]}");
    g_assert_cmpuint(marks_of(dialect), ==, 1);
    g_assert_cmpuint(marks_of((AcrDialect){.model = CLAUDE, .no_cache = true}), ==, 0);
    g_assert_cmpuint(marks_of((AcrDialect){.model = PLAIN}), ==, 0);
    g_assert_cmpuint(marks_of((AcrDialect){.model = "amazon.nova-pro-v1:0"}), ==, 1);
    g_assert_cmpuint(marks_of((AcrDialect){.model = "anthropic.claude-3-5-sonnet-20240620-v1:0"}), ==,
                     1); /* the server refuses them once */
    g_assert_cmpuint(marks_of((AcrDialect){.model = "arn:aws:bedrock:x:1:application-inference-profile/y"}), ==, 1);
}

/* ---- Streams ---- */

#define STOP "messageStop", "{\"stopReason\":\"end_turn\"}"
#define METADATA                                                                                                       \
    "metadata", "{\"usage\":{\"inputTokens\":5,\"outputTokens\":2,\"totalTokens\":7},"                                 \
                "\"metrics\":{\"latencyMs\":3}}"
#define TEXT(text) "contentBlockDelta", "{\"contentBlockIndex\":0,\"delta\":{\"text\":\"" text "\"}}"

/* Makes frames from pairs (event, payload) that end with NULL. */
static GByteArray *frames(const char *const *pairs)
{
    GByteArray *bytes = g_byte_array_new();
    for (; *pairs; pairs += 2)
        frame_add(bytes, g_str_has_suffix(pairs[0], "Exception") ? "exception" : "event", pairs[0], pairs[1]);
    return bytes;
}

static Outcome read_bytes(const GByteArray *bytes, gsize step)
{
    g_autoptr(GHashTable) headers = g_hash_table_new(g_str_hash, g_str_equal);
    g_hash_table_insert(headers, (gpointer) "content-type", (gpointer) "application/vnd.amazon.eventstream");
    g_hash_table_insert(headers, (gpointer) "x-amzn-requestid", (gpointer) "r-1");
    return read_pieces(&acr_provider_bedrock, 200, headers, (const char *)bytes->data, bytes->len, step);
}

static void assert_broken(const char *const *pairs, gsize drop, AcrLlmError code, bool retryable, const char *words,
                          gint64 input)
{
    g_autoptr(GByteArray) bytes = frames(pairs);
    g_auto(Outcome) outcome = {0};
    g_byte_array_set_size(bytes, (guint)(bytes->len - drop));
    outcome = read_bytes(bytes, 50);
    g_assert_false(outcome.ok);
    g_assert_cmpstr(acr_llm_error_name(outcome.failure.code), ==, acr_llm_error_name(code));
    g_assert_cmpint(outcome.failure.retryable, ==, retryable);
    if (!strstr(outcome.failure.message, words))
        g_error("'%s' is not in: %s", words, outcome.failure.message);
    g_assert_cmpint(outcome.usage.input, ==, input);
}

TEST("/llm/bedrock", only_reason_and_usage_together_are_an_end)
{
    static const char *const no_metadata[] = {TEXT("a"), STOP, NULL};
    static const char *const no_reason[] = {TEXT("a"), METADATA, NULL};
    static const char *const turned[] = {TEXT("a"), METADATA, STOP, NULL};
    static const char *const whole[] = {TEXT("a"), STOP, METADATA, NULL};
    static const char words[] = "ended before the answer was complete";
    assert_broken(no_metadata, 0, ACR_LLM_ERROR_TRUNCATED, true, words, -1);
    assert_broken(no_reason, 0, ACR_LLM_ERROR_TRUNCATED, true, words, -1);
    assert_broken(turned, 0, ACR_LLM_ERROR_TRUNCATED, true, words, -1);
    assert_broken(whole, 1, ACR_LLM_ERROR_TRUNCATED, true, words, -1);
}

TEST("/llm/bedrock", exceptions_in_a_stream_have_their_class)
{
    static const struct {
        const char *name, *message;
        AcrLlmError code;
        bool retryable;
    } rows[] = {
        {"throttlingException", "Too many tokens", ACR_LLM_ERROR_RATE_LIMIT, true},
        {"modelStreamErrorException", "broke", ACR_LLM_ERROR_SERVER, true},
        {"internalServerException", "broke", ACR_LLM_ERROR_SERVER, true},
        {"serviceUnavailableException", "later", ACR_LLM_ERROR_OVERLOADED, true},
        {"validationException", "The value is wrong", ACR_LLM_ERROR_BAD_REQUEST, false},
        {"validationException", "Input is too long for requested model.", ACR_LLM_ERROR_CONTEXT_OVERFLOW, false},
        {"validationException", "Too many total text bytes: 9 > 8", ACR_LLM_ERROR_CONTEXT_OVERFLOW, false},
        {"modelTimeoutException", "slow", ACR_LLM_ERROR_TIMEOUT, true}};
    static const char *const silent[] = {"internalServerException", "", NULL};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *payload = g_strdup_printf("{\"message\":\"%s\"}", rows[i].message);
        const char *const pairs[] = {TEXT("a"), rows[i].name, payload, NULL};
        assert_broken(pairs, 0, rows[i].code, rows[i].retryable, rows[i].message, -1);
    }
    assert_broken(silent, 0, ACR_LLM_ERROR_SERVER, true, "aborted the stream", -1);
}

/* ---- Corrections ---- */

static void refuse(int status, const char *type, const char *message, AcrFailure *out)
{
    g_autoptr(GHashTable) headers = g_hash_table_new(g_str_hash, g_str_equal);
    g_autofree char *body = g_strdup_printf("{\"message\":\"%s\"}", message);
    g_autofree char *value = g_strconcat(type, ":http://internal.amazon.com/coral/", NULL);
    g_autoptr(AcrReader) reader = NULL;
    AcrUsage usage = ACR_USAGE_UNKNOWN;
    AcrModelAnswer answer = {0};
    g_hash_table_insert(headers, (gpointer) "x-amzn-errortype", value);
    reader = acr_reader_new(&acr_provider_bedrock, status, headers);
    g_assert_true(acr_reader_feed(reader, body, strlen(body)));
    g_assert_false(acr_reader_end(reader, NULL, &answer, &usage, out));
}

static bool correct(AcrDialect *dialect, int status, const char *type, const char *message)
{
    g_auto(AcrFailure) failure = {0};
    refuse(status, type, message, &failure);
    return acr_correct(&acr_provider_bedrock, dialect, &failure);
}

TEST("/llm/bedrock", each_correction_is_made_once)
{
    static const char cache[] = "You invoked an unsupported model or your request did not allow "
                                "prompt caching. See the documentation for more information.";
    AcrDialect d = {.model = "m", .temperature = 0.2, .effort = "high"};
    AcrDialect bare = {.model = "m", .temperature = -1};
    g_assert_false(correct(&d, 400, "ValidationException", "messages: at least one is needed"));
    g_assert_false(correct(&d, 429, "ThrottlingException", "Too much effort"));
    g_assert_true(correct(&d, 403, "AccessDeniedException", cache));
    g_assert_true(d.no_cache);
    g_assert_false(correct(&d, 403, "AccessDeniedException", cache));
    g_assert_true(correct(&bare, 400, "ValidationException", cache));
    g_assert_true(correct(&d, 400, "ValidationException",
                          "The model returned the following errors: `temperature` is deprecated"));
    g_assert_true(d.temperature < 0);
    g_assert_true(correct(&d, 400, "ValidationException", "extraneous key [outputConfig]"));
    g_assert_true(d.no_schema && d.effort);
    g_assert_true(correct(&d, 400, "ValidationException", "extraneous key [outputConfig]"));
    g_assert_true(!d.effort);
    g_assert_false(correct(&d, 400, "ValidationException", "extraneous key [outputConfig]"));
    g_assert_false(correct(&bare, 400, "ValidationException", "temperature and effort"));
}
