/* What a refusal means, how long to wait after it, and what of it may be shown. */
#include "test_llm.h"

#include <string.h>

#include "llm/llm_private.h"

static void classify(int status, const char *text, GHashTable *headers, AcrFailure *out)
{
    g_autoptr(AcrJson) body = acr_json_parse(text, strlen(text), NULL);

    acr_failure_of_response(status, body, text, strlen(text), headers, out);
}

static void the_code_of_the_body_decides_before_the_status(void)
{
    static const struct {
        int status;
        const char *body;
        AcrLlmError code;
        bool retryable;
    } rows[] = {
        {401, "{\"error\":{\"message\":\"m\",\"code\":\"invalid_api_key\"}}", ACR_LLM_ERROR_AUTH,
         false},
        {403, "", ACR_LLM_ERROR_AUTH, false},
        {402, "{}", ACR_LLM_ERROR_BILLING, false},
        {429, "{\"error\":{\"message\":\"m\",\"type\":\"insufficient_quota\",\"code\":null}}",
         ACR_LLM_ERROR_BILLING, false},
        {429,
         "{\"error\":{\"type\":\"insufficient_quota\",\"code\":\"project_spend_limit_exceeded\"}}",
         ACR_LLM_ERROR_BILLING, false},
        {429, "{\"error\":{\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}",
         ACR_LLM_ERROR_RATE_LIMIT, true},
        {429, "slow down", ACR_LLM_ERROR_RATE_LIMIT, true},
        {498, "", ACR_LLM_ERROR_RATE_LIMIT, true},
        {503, "", ACR_LLM_ERROR_OVERLOADED, true},
        {529, "{\"error\":{\"type\":\"overloaded_error\"}}", ACR_LLM_ERROR_OVERLOADED, true},
        {500, "<html>", ACR_LLM_ERROR_SERVER, true},
        {502, "", ACR_LLM_ERROR_SERVER, true},
        {504, "", ACR_LLM_ERROR_SERVER, true},
        {409, "", ACR_LLM_ERROR_SERVER, true},
        {408, "", ACR_LLM_ERROR_TIMEOUT, true},
        {400, "{\"error\":{\"message\":\"m\",\"type\":\"invalid_request_error\"}}",
         ACR_LLM_ERROR_BAD_REQUEST, false},
        {404, "{\"error\":{\"code\":\"model_not_found\"}}", ACR_LLM_ERROR_BAD_REQUEST, false},
        {413, "", ACR_LLM_ERROR_BAD_REQUEST, false},
        {302, "", ACR_LLM_ERROR_BAD_REQUEST, false},
        {400, "{\"error\":{\"message\":\"m\",\"code\":\"context_length_exceeded\"}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, false},
        {400,
         "{\"error\":{\"code\":400,\"message\":\"request (6031 tokens) exceeds the available "
         "context size (4096 tokens)\","
         "\"type\":\"exceed_context_size_error\"}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, false},
        {400,
         "{\"error\":{\"message\":\"This model's maximum context length is 8192 "
         "tokens.\",\"type\":\"invalid_request_error\"}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, false},
        {400,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt "
         "is too long: 9 tokens\"}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, false},
        {400,
         "{\"object\":\"error\",\"message\":\"This model's maximum context length is "
         "8192\",\"code\":400}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, false},
        {400, "{\"error\":\"prompt is too long\"}", ACR_LLM_ERROR_CONTEXT_OVERFLOW, false},
        {400, "{\"error\":{\"code\":\"content_filter\",\"message\":\"filtered\"}}",
         ACR_LLM_ERROR_CONTENT_FILTER, false},
        {200, "{\"error\":{\"code\":502,\"message\":\"upstream\"}}", ACR_LLM_ERROR_SERVER, true},
        {200, "{\"error\":{\"code\":429,\"message\":\"upstream\"}}", ACR_LLM_ERROR_RATE_LIMIT,
         true},
        {200, "[{\"error\":{\"message\":\"x\"}}]", ACR_LLM_ERROR_SERVER, true},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(AcrFailure) failure = {0};

        classify(rows[i].status, rows[i].body, NULL, &failure);
        if (failure.code != rows[i].code || failure.retryable != rows[i].retryable)
            g_error("HTTP %d %s is %s", rows[i].status, rows[i].body,
                    acr_llm_error_name(failure.code));
        g_assert_cmpint(failure.retry_after_ms, ==, -1);
    }
}

static void the_server_may_say_whether_to_try_again(void)
{
    g_autoptr(GHashTable) headers = g_hash_table_new(g_str_hash, g_str_equal);
    g_auto(AcrFailure) no = {0};
    g_auto(AcrFailure) yes = {0};
    g_auto(AcrFailure) never = {0};

    g_hash_table_insert(headers, "x-should-retry", "false");
    classify(503, "", headers, &no);
    g_assert_false(no.retryable);
    g_hash_table_insert(headers, "x-should-retry", "true");
    classify(400, "", headers, &yes);
    g_assert_true(yes.retryable);
    classify(401, "", headers, &never);
    g_assert_false(never.retryable);
}

static void a_message_tells_status_code_words_and_request_id(void)
{
    g_autoptr(GHashTable) headers = g_hash_table_new(g_str_hash, g_str_equal);
    g_autofree char *big = g_strnfill(100000, 'w');
    g_auto(AcrFailure) failure = {0};
    g_auto(AcrFailure) long_one = {0};

    g_hash_table_insert(headers, "x-request-id", "req_7");
    classify(404,
             "{\"error\":{\"code\":\"model_not_found\",\"message\":\"no such "
             "model\",\"param\":\"model\"}}",
             headers, &failure);
    g_assert_cmpstr(failure.message, ==,
                    "HTTP 404 model_not_found: no such model (request id req_7)");
    g_assert_cmpstr(failure.param, ==, "model");
    classify(500, big, NULL, &long_one);
    g_assert_cmpuint(strlen(long_one.message), <, 2 * ACR_LLM_MAX_MESSAGE);
}

static void retry_after_is_read_in_each_of_its_forms(void)
{
    static const struct {
        const char *ms, *after;
        gint64 expected;
    } rows[] = {
        {NULL, NULL, -1},
        {"1500", "9", 1500},
        {"88.5", NULL, 88},
        {NULL, "2", 2000},
        {NULL, "0", 0},
        {NULL, "1.5", 1500},
        {"soon", "3", 3000},
        {NULL, "-5", -1},
        {NULL, "nan", -1},
        {NULL, "1e30", 24ll * 3600 * 1000},
        {NULL, "Sun, 06 Nov 1994 08:49:37 GMT", 30000},
        {NULL, "Sun, 06 Nov 1994 08:49:00 GMT", 0},
        {NULL, "Sun, 06 Nov 9999 08:49:00 GMT", 24ll * 3600 * 1000},
        {NULL, "Sun, 06 anF 1994 08:49:37 GMT", -1},
        {NULL, "tomorrow", -1},
        {"", "", -1},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GHashTable) headers = g_hash_table_new(g_str_hash, g_str_equal);

        if (rows[i].ms)
            g_hash_table_insert(headers, "retry-after-ms", (gpointer)rows[i].ms);
        if (rows[i].after)
            g_hash_table_insert(headers, "retry-after", (gpointer)rows[i].after);
        g_assert_cmpint(acr_retry_after_ms(headers, 784111747), ==, rows[i].expected);
    }
    g_assert_cmpint(acr_retry_after_ms(NULL, 0), ==, -1);
}

static void waits_double_up_to_a_cap_and_are_spread_over_their_whole_length(void)
{
    g_assert_cmpint(acr_backoff_ms(1000, 0, -1, 0.0), ==, 0);
    g_assert_cmpint(acr_backoff_ms(1000, 0, -1, 0.5), ==, 500);
    g_assert_cmpint(acr_backoff_ms(1000, 3, -1, 0.5), ==, 4000);
    g_assert_cmpint(acr_backoff_ms(1000, 6, -1, 0.5), ==, 30000);
    g_assert_cmpint(acr_backoff_ms(1000, 4000000000u, -1, 0.5), ==, 30000);
    g_assert_cmpint(acr_backoff_ms(G_MAXINT64, 0, -1, 0.5), ==, 30000);
    g_assert_cmpint(acr_backoff_ms(1000, 0, 20000, 0.0), ==, 20000);
    g_assert_cmpint(acr_backoff_ms(1000, 0, 20000, 0.5), ==, 21000);
    g_assert_cmpint(acr_backoff_ms(1000, 1, 0, 0.5), ==, 1000);
}

static void a_wait_ends_when_interrupted(void)
{
    AcrInterrupt interrupt = {.signal = SIGTERM};
    gint64 start = g_get_monotonic_time();

    g_assert_false(acr_llm_wait(60000, &interrupt));
    g_assert_false(acr_llm_wait(0, &interrupt));
    g_assert_cmpint(g_get_monotonic_time() - start, <, G_USEC_PER_SEC);
    interrupt.signal = 0;
    g_assert_true(acr_llm_wait(60, &interrupt));
    g_assert_true(acr_llm_wait(0, NULL));
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 60000);
}

static void public_text_is_one_bounded_line_without_the_key(void)
{
    g_autofree char *big = g_strnfill(10000, 'a');
    g_autofree char *with_key =
        g_strconcat("bad key sk-123\r\nsk-123 is\x1b[31m wrong \xff", big, NULL);
    g_autofree char *text = acr_llm_public_text(with_key, "sk-123", 500);

    g_assert_true(g_str_has_prefix(text, "bad key [key]  [key] is [31m wrong \xef\xbf\xbd"));
    g_assert_cmpuint(strlen(text), <=, 500);
    for (const char *c = text; *c; c++)
        g_assert_false(g_ascii_iscntrl(*c));
}

#define TEST(name) g_test_add_func("/llm/failure/" #name, name)

void add_failure_tests(void)
{
    TEST(the_code_of_the_body_decides_before_the_status);
    TEST(the_server_may_say_whether_to_try_again);
    TEST(a_message_tells_status_code_words_and_request_id);
    TEST(retry_after_is_read_in_each_of_its_forms);
    g_test_add_func("/llm/wait/waits_double_up_to_a_cap_and_are_spread_over_their_whole_length",
                    waits_double_up_to_a_cap_and_are_spread_over_their_whole_length);
    g_test_add_func("/llm/wait/a_wait_ends_when_interrupted", a_wait_ends_when_interrupted);
    g_test_add_func("/llm/public_text/public_text_is_one_bounded_line_without_the_key",
                    public_text_is_one_bounded_line_without_the_key);
}
