/* Tests of how errors are classified, with rows for the formats of each provider. */
#include "test_llm.h"

#include <string.h>

static void classify(int status, const char *text, GHashTable *headers, AcrFailure *out)
{
    g_autoptr(AcrJson) body = acr_json_parse(text, strlen(text), NULL);
    acr_failure_of_response(status, body, text, strlen(text), headers, out);
}

typedef struct {
    int status;
    const char *body;
    AcrLlmError code;
    gint64 window; /* or after_ms if the call may be retried; 0: not stated */
} Row;

static void check_rows(const Row *rows, gsize n, GHashTable *headers)
{
    for (gsize i = 0; i < n; i++) {
        g_auto(AcrFailure) failure = {0};
        bool is_overflow = rows[i].code == ACR_LLM_ERROR_CONTEXT_OVERFLOW;
        gint64 number = 0;
        classify(rows[i].status, rows[i].body, headers, &failure);
        number = is_overflow ? failure.window : MAX(failure.retry_after_ms, 0);
        if (failure.code != rows[i].code || number != rows[i].window ||
            failure.retryable != (acr_failure_retries(rows[i].code) > 0))
            g_error("HTTP %d %s is %s, retryable %d, number %" G_GINT64_FORMAT, rows[i].status, rows[i].body,
                    acr_llm_error_name(failure.code), failure.retryable, number);
        g_assert_nonnull(failure.message);
        g_assert_true(g_str_has_prefix(failure.message, "HTTP "));
    }
}

TEST("/llm/failure", openai_tells_of_keys_and_limits_by_code_and_type)
{
    static const Row rows[] = {
        {401,
         "{\"error\":{\"message\":\"m\",\"type\":\"invalid_request_error\",\"code\":\"invalid_api_"
         "key\"}}",
         ACR_LLM_ERROR_AUTH, 0},
        {401,
         "{\"error\":{\"message\":\"You didn't provide an API "
         "key.\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}",
         ACR_LLM_ERROR_AUTH, 0},
        {429, "{\"error\":{\"message\":\"m\",\"type\":\"insufficient_quota\",\"code\":null}}", ACR_LLM_ERROR_BILLING,
         0},
        {429, "{\"error\":{\"type\":\"insufficient_quota\",\"code\":\"project_spend_limit_exceeded\"}}",
         ACR_LLM_ERROR_BILLING, 0},
        {429, "{\"error\":{\"type\":\"insufficient_quota\",\"code\":\"rate_limit_exceeded\"}}", ACR_LLM_ERROR_BILLING,
         0},
        {429, "{\"error\":{\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", ACR_LLM_ERROR_RATE_LIMIT, 0},
        {429, "{\"error\":{\"type\":\"rate_limit_error\",\"code\":\"slow_down\",\"message\":\"m\"}}",
         ACR_LLM_ERROR_RATE_LIMIT, 0},
        {429,
         "{\"error\":{\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\",\"message\":\"Rate "
         "limit reached. Please try again in 6m0s. Visit us.\"}}",
         ACR_LLM_ERROR_RATE_LIMIT, 360000},
        {429,
         "{\"error\":{\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\",\"message\":\"Request "
         "too large for m (TPM): Limit 10, Requested 20.\"}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 0}};
    check_rows(rows, G_N_ELEMENTS(rows), NULL);
}

TEST("/llm/failure", azure_tells_by_inner_error_and_digits)
{
    static const Row rows[] = {
        {400,
         "{\"error\":{\"code\":\"content_filter\",\"message\":\"filtered\",\"status\":400,"
         "\"innererror\":{\"code\":\"ResponsibleAIPolicyViolation\",\"content_filter_result\":{}}}"
         "}",
         ACR_LLM_ERROR_CONTENT_FILTER, 0},
        {400,
         "{\"error\":{\"code\":null,\"message\":\"m\",\"status\":400,\"innererror\":{\"code\":"
         "\"ResponsibleAIPolicyViolation\"}}}",
         ACR_LLM_ERROR_CONTENT_FILTER, 0},
        {401, "{\"error\":{\"code\":\"401\",\"message\":\"Access denied due to invalid key.\"}}", ACR_LLM_ERROR_AUTH,
         0},
        {401, "{\"statusCode\":401,\"message\":\"Unauthorized.\"}", ACR_LLM_ERROR_AUTH, 0},
        {404, "{\"error\":{\"code\":\"DeploymentNotFound\",\"message\":\"m\"}}", ACR_LLM_ERROR_BAD_REQUEST, 0},
        {429,
         "{\"error\":{\"code\":\"429\",\"message\":\"Calls exceed. Please retry after 6 "
         "seconds.\"}}",
         ACR_LLM_ERROR_RATE_LIMIT, 6000}};
    check_rows(rows, G_N_ELEMENTS(rows), NULL);
}

TEST("/llm/failure", gemini_tells_by_status_words_and_details)
{
    static const Row rows[] = {
        {400, "{\"error\":{\"code\":400,\"message\":\"m\",\"status\":\"INVALID_ARGUMENT\"}}", ACR_LLM_ERROR_BAD_REQUEST,
         0},
        {400,
         "{\"error\":{\"code\":400,\"message\":\"API key not "
         "valid.\",\"status\":\"INVALID_ARGUMENT\",\"details\":[{\"@type\":\"t/"
         "google.rpc.ErrorInfo\",\"reason\":\"API_KEY_INVALID\"}]}}",
         ACR_LLM_ERROR_AUTH, 0},
        {400,
         "[{\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\",\"message\":\"The input token "
         "count (1200000) exceeds the maximum number of tokens allowed (1048576).\"}}]",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 1048576},
        {402, "{\"error\":{\"code\":402,\"message\":\"m\",\"status\":\"RESOURCE_EXHAUSTED\"}}", ACR_LLM_ERROR_BILLING,
         0},
        {403, "{\"error\":{\"code\":403,\"message\":\"m\",\"status\":\"PERMISSION_DENIED\"}}", ACR_LLM_ERROR_AUTH, 0},
        {429,
         "{\"error\":{\"code\":429,\"message\":\"You exceeded your current "
         "quota.\",\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{\"@type\":\"t/"
         "google.rpc.QuotaFailure\"},{\"@type\":\"t/"
         "google.rpc.RetryInfo\",\"retryDelay\":\"34s\"}]}}",
         ACR_LLM_ERROR_RATE_LIMIT, 34000},
        {429,
         "[{\"error\":{\"code\":429,\"message\":\"Please retry in "
         "34.5s.\",\"status\":\"RESOURCE_EXHAUSTED\"}}]",
         ACR_LLM_ERROR_RATE_LIMIT, 34500},
        {500, "{\"error\":{\"code\":500,\"message\":\"m\",\"status\":\"INTERNAL\"}}", ACR_LLM_ERROR_SERVER, 0},
        {503, "{\"error\":{\"code\":503,\"message\":\"m\",\"status\":\"UNAVAILABLE\"}}", ACR_LLM_ERROR_OVERLOADED, 0},
        {504, "{\"error\":{\"code\":504,\"message\":\"m\",\"status\":\"DEADLINE_EXCEEDED\"}}", ACR_LLM_ERROR_SERVER, 0},
        {200, "{\"error\":{\"code\":503,\"message\":\"m\",\"status\":\"UNAVAILABLE\"}}", ACR_LLM_ERROR_OVERLOADED, 0}};
    check_rows(rows, G_N_ELEMENTS(rows), NULL);
}

TEST("/llm/failure", bedrock_tells_by_header_or_exception_name)
{
    static const struct {
        int status;
        const char *type;
        AcrLlmError code;
    } rows[] = {{429, "ThrottlingException:http://internal.amazon.com/coral/", ACR_LLM_ERROR_RATE_LIMIT},
                {429, "ModelNotReadyException", ACR_LLM_ERROR_OVERLOADED},
                {408, "ModelTimeoutException:http://x", ACR_LLM_ERROR_TIMEOUT},
                {424, "ModelErrorException", ACR_LLM_ERROR_SERVER},
                {503, "ServiceUnavailableException", ACR_LLM_ERROR_OVERLOADED},
                {500, "InternalServerException", ACR_LLM_ERROR_SERVER},
                {400, "ValidationException", ACR_LLM_ERROR_BAD_REQUEST},
                {400, "ServiceQuotaExceededException", ACR_LLM_ERROR_BAD_REQUEST},
                {400, "ThrottlingException", ACR_LLM_ERROR_RATE_LIMIT},
                {403, "AccessDeniedException", ACR_LLM_ERROR_AUTH},
                {403, "InvalidSignatureException", ACR_LLM_ERROR_AUTH},
                {400, "UnrecognizedClientException", ACR_LLM_ERROR_AUTH},
                {404, "ResourceNotFoundException", ACR_LLM_ERROR_BAD_REQUEST}};
    static const Row bodies[] = {
        {400, "{\"__type\":\"com.amazon.coral#ThrottlingException\",\"message\":\"m\"}", ACR_LLM_ERROR_RATE_LIMIT, 0},
        {200, "{\"__type\":\"throttlingException\",\"message\":\"m\"}", ACR_LLM_ERROR_RATE_LIMIT, 0},
        {200, "{\"type\":\"modelStreamErrorException\",\"message\":\"m\"}", ACR_LLM_ERROR_SERVER, 0},
        {200, "{\"type\":\"validationException\",\"message\":\"m\"}", ACR_LLM_ERROR_BAD_REQUEST, 0},
        {400, "{\"message\":\"Input is too long for requested model.\"}", ACR_LLM_ERROR_CONTEXT_OVERFLOW, 0},
        {400, "{\"Message\":\"The model returned: Too many input tokens. Max input tokens: 128000\"}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 128000}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GHashTable) headers = g_hash_table_new(g_str_hash, g_str_equal);
        Row row = {rows[i].status, "{\"message\":\"m\"}", rows[i].code, 0};
        g_hash_table_insert(headers, "x-amzn-errortype", (gpointer)rows[i].type);
        check_rows(&row, 1, headers);
    }
    check_rows(bodies, G_N_ELEMENTS(bodies), NULL);
}

TEST("/llm/failure", services_that_imitate_openai_tell_in_their_own_ways)
{
    static const Row rows[] = {
        /* Groq */
        {429,
         "{\"error\":{\"message\":\"Limit 6000. Please try again in 5.289s. "
         "More\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}",
         ACR_LLM_ERROR_RATE_LIMIT, 5289},
        {498, "{\"error\":{\"message\":\"m\",\"code\":\"capacity_exceeded\"}}", ACR_LLM_ERROR_RATE_LIMIT, 0},
        {413,
         "{\"error\":{\"message\":\"Request too large for model `m`: Limit 6, Requested "
         "8\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 0},
        /* DeepSeek */
        {402,
         "{\"error\":{\"message\":\"Insufficient "
         "Balance\",\"type\":\"unknown_error\",\"param\":null,\"code\":\"invalid_request_error\"}}",
         ACR_LLM_ERROR_BILLING, 0},
        {422, "{\"error\":{\"message\":\"m\",\"type\":\"invalid_request_error\"}}", ACR_LLM_ERROR_BAD_REQUEST, 0},
        /* OpenRouter: errors with status 200, temporary limits, a moderator */
        {200, "{\"error\":{\"code\":502,\"message\":\"upstream\"}}", ACR_LLM_ERROR_SERVER, 0},
        {200, "{\"error\":{\"code\":429,\"message\":\"upstream\"}}", ACR_LLM_ERROR_RATE_LIMIT, 0},
        {200, "{\"error\":{\"code\":402,\"message\":\"more credits\"}}", ACR_LLM_ERROR_BILLING, 0},
        {200, "{\"error\":{\"code\":408,\"message\":\"m\"}}", ACR_LLM_ERROR_TIMEOUT, 0},
        {402,
         "{\"error\":{\"code\":402,\"message\":\"m\",\"metadata\":{\"error_type\":\"in_flight_"
         "budget_exhausted\"}}}",
         ACR_LLM_ERROR_RATE_LIMIT, 0},
        {402,
         "{\"error\":{\"code\":402,\"message\":\"m\",\"metadata\":{\"limit_source\":\"openrouter_"
         "in_flight_budget\"}}}",
         ACR_LLM_ERROR_RATE_LIMIT, 0},
        {402, "{\"error\":{\"code\":402,\"message\":\"in_flight_budget_exhausted: wait\"}}", ACR_LLM_ERROR_RATE_LIMIT,
         0},
        {402, "{\"error\":{\"code\":\"in_flight_budget_exhausted\",\"message\":\"m\"}}", ACR_LLM_ERROR_RATE_LIMIT, 0},
        {402,
         "{\"error\":{\"code\":402,\"message\":\"m\",\"metadata\":{\"limit_source\":\"openrouter_"
         "credits\"}}}",
         ACR_LLM_ERROR_BILLING, 0},
        {403,
         "{\"error\":{\"code\":403,\"message\":\"m\",\"metadata\":{\"limit_source\":\"openrouter_"
         "key_limit\"}}}",
         ACR_LLM_ERROR_BILLING, 0},
        {403,
         "{\"error\":{\"code\":403,\"message\":\"flagged\",\"metadata\":{\"reasons\":[\"x\"],"
         "\"flagged_input\":\"y\"}}}",
         ACR_LLM_ERROR_CONTENT_FILTER, 0},
        {400,
         "{\"error\":{\"code\":400,\"message\":\"Provider returned "
         "error\",\"metadata\":{\"raw\":\"{'message': 'This model\\u0027s maximum context length "
         "is 4096 tokens'}\",\"provider_name\":\"p\"}}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 4096}};
    check_rows(rows, G_N_ELEMENTS(rows), NULL);
}

TEST("/llm/failure", servers_of_ones_own_tell_in_words)
{
    static const Row rows[] = {
        /* llama.cpp */
        {400,
         "{\"error\":{\"code\":400,\"message\":\"request (6031 tokens) exceeds the available "
         "context size (4096 tokens), try increasing "
         "it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":6031,\"n_ctx\":2048}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 2048},
        {503, "{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}}",
         ACR_LLM_ERROR_OVERLOADED, 0},
        {501, "{\"error\":{\"code\":501,\"message\":\"m\",\"type\":\"not_supported_error\"}}",
         ACR_LLM_ERROR_BAD_REQUEST, 0},
        /* Ollama */
        {404, "{\"error\":\"model 'x' not found\"}", ACR_LLM_ERROR_BAD_REQUEST, 0},
        {400, "{\"error\":\"the input length exceeds the context length\"}", ACR_LLM_ERROR_CONTEXT_OVERFLOW, 0},
        {200, "{\"error\":\"an error was encountered while running the model\"}", ACR_LLM_ERROR_SERVER, 0},
        /* vLLM */
        {400,
         "{\"object\":\"error\",\"message\":\"This model's maximum context length is 8192 "
         "tokens.\",\"type\":\"BadRequestError\",\"param\":null,\"code\":400}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 8192},
        {400,
         "{\"error\":{\"message\":\"You passed 5000 input tokens. However, the model's context "
         "length is only 4096 tokens\",\"type\":\"BadRequestError\",\"code\":400}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 4096},
        {401, "{\"error\":\"Unauthorized\"}", ACR_LLM_ERROR_AUTH, 0},
        {404, "{\"object\":\"error\",\"message\":\"m\",\"type\":\"NotFoundError\",\"code\":404}",
         ACR_LLM_ERROR_BAD_REQUEST, 0},
        /* LiteLLM */
        {400,
         "{\"error\":{\"message\":\"litellm.ContextWindowExceededError: "
         "m\",\"type\":null,\"param\":null,\"code\":\"400\"}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 0},
        {400,
         "{\"error\":{\"message\":\"Budget has been "
         "exceeded!\",\"type\":\"budget_exceeded\",\"param\":null,\"code\":\"400\"}}",
         ACR_LLM_ERROR_BILLING, 0},
        {401,
         "{\"error\":{\"message\":\"m\",\"type\":\"auth_error\",\"param\":\"None\",\"code\":"
         "\"401\"}}",
         ACR_LLM_ERROR_AUTH, 0}};
    check_rows(rows, G_N_ELEMENTS(rows), NULL);
}

TEST("/llm/failure", a_window_that_is_nonsense_is_not_kept)
{
    static const Row rows[] = {
        {400, "{\"error\":{\"message\":\"maximum context length is 99999999999999999999 tokens\"}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 0},
        {400, "{\"error\":{\"message\":\"maximum context length is unknown, really, to us: 5\"}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 0},
        {400, "{\"error\":{\"type\":\"exceed_context_size_error\",\"message\":\"m\",\"n_ctx\":-4}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 0},
        {400, "{\"error\":{\"message\":\"too large for model with 32768 maximum context length\"}}",
         ACR_LLM_ERROR_CONTEXT_OVERFLOW, 32768},
        {400, "{\"error\":{\"message\":\"prompt is too long\"}}", ACR_LLM_ERROR_CONTEXT_OVERFLOW, 0}};
    check_rows(rows, G_N_ELEMENTS(rows), NULL);
}

TEST("/llm/failure", each_class_has_a_number_of_retries)
{
    static const guint expected[ACR_LLM_ERRORS] = {
        [ACR_LLM_ERROR_RATE_LIMIT] = 8, [ACR_LLM_ERROR_OVERLOADED] = 8, [ACR_LLM_ERROR_SERVER] = 4,
        [ACR_LLM_ERROR_NETWORK] = 4,    [ACR_LLM_ERROR_TRUNCATED] = 4,  [ACR_LLM_ERROR_UNREACHABLE] = 4,
        [ACR_LLM_ERROR_TIMEOUT] = 2,    [ACR_LLM_ERROR_MALFORMED] = 2};
    for (int code = 0; code < ACR_LLM_ERRORS; code++) {
        g_auto(AcrFailure) failure = {0};
        g_assert_cmpuint(acr_failure_retries((AcrLlmError)code), ==, expected[code]);
        g_assert_false(acr_fail(&failure, (AcrLlmError)code, "m"));
        g_assert_cmpint(failure.code, ==, code);
        g_assert_cmpstr(failure.message, ==, "m");
        g_assert_true(failure.retryable == (expected[code] > 0));
        g_assert_cmpint(failure.retry_after_ms, ==, -1);
    }
}

TEST("/llm/failure", a_refusal_is_about_the_parameter_that_it_names)
{
    static const struct {
        const char *param, *message;
        bool expected;
    } rows[] = {{"temperature", "m", true},
                {"max_tokens", "no 'temperature' please", false},
                {"temperature.x", "m", true},
                {"temperatures", "m", false},
                {NULL, "Unsupported value: 'temperature' does not support 0.16", true},
                {"", "`temperature` is deprecated for this model.", true},
                {"None", "temperature: range: 0..1", true},
                {NULL, "HTTP 400: Unsupported parameter: temperature", true},
                {NULL, "does not support temperature", true},
                {NULL, "Unrecognized request argument supplied: temperature", true},
                {NULL, "the temperature of the server is high", false},
                {NULL, "'temperature_2' and 'my_temperature'", false},
                {NULL, NULL, false}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        AcrFailure failure = {.param = (char *)rows[i].param, .message = (char *)rows[i].message};
        if (acr_failure_is_about(&failure, "temperature") != rows[i].expected)
            g_error("row %d: %s, %s", (int)i, rows[i].param, rows[i].message);
    }
}

TEST("/llm/failure", the_server_may_say_whether_to_try_again)
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

TEST("/llm/failure", a_message_tells_status_code_words_and_request_id)
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
    g_assert_cmpstr(failure.message, ==, "HTTP 404 model_not_found: no such model (request id req_7)");
    g_assert_cmpstr(failure.param, ==, "model");
    classify(500, big, NULL, &long_one);
    g_assert_cmpuint(strlen(long_one.message), <, 2 * ACR_LLM_MAX_MESSAGE);
}
