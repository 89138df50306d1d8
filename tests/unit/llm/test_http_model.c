/* A model behind HTTP, against a real server on loopback: tries, corrections, waits, limits,
 * secrecy. */
#include "test_llm.h"

#include <stdlib.h>
#include <sys/time.h>

#include "unit/http/server.h"

#define KEY "sk-very-secret"
#define OK_BODY                                                                                    \
    "{\"model\":\"m-1\",\"choices\":[{\"message\":{\"content\":\"hello\"},\"finish_reason\":"      \
    "\"stop\"}],"                                                                                  \
    "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}"
#define ANSWER "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" OK_BODY
#define STREAM_HEAD                                                                                \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
#define CHUNK(text) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define LAST_CHUNKS                                                                                \
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"              \
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n"           \
    "data: [DONE]\n\n"
#define REPLY(status, headers, body) "HTTP/1.1 " status " X\r\n" headers "\r\n" body

typedef struct {
    guint waits;
    gint64 last_ms;
    GString *told;
} Waits;

static void on_wait(void *ctx, const char *why, gint64 wait_ms)
{
    Waits *waits = ctx;

    waits->waits++;
    waits->last_ms = wait_ms;
    g_string_append_printf(waits->told, "%s|", why);
}

typedef struct {
    TestServer *server;
    AcrModelOptions options;
    Waits waits;
    AcrModel *model;
    AcrModelAnswer answer;
    GError *error;
} Call;

static void call_clear(Call *call)
{
    acr_model_free(call->model);
    server_stop(call->server);
    acr_model_answer_clear(&call->answer);
    g_clear_error(&call->error);
    g_string_free(call->waits.told, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Call, call_clear)

/* A server with these replies, and a model "openai/m" that speaks to it and retries quickly. */
static void begin(Call *call, const TestReply *replies, gsize n)
{
    call->server = server_start(replies, n);
    call->waits.told = g_string_new(NULL);
    if (call->options.max_retries == 0)
        call->options.max_retries = ACR_LLM_RETRIES;
    call->options.retry_base_ms = 2;
    call->options.base_url = call->server->url;
    call->options.on_wait = on_wait;
    call->options.on_wait_ctx = &call->waits;
    g_setenv("OPENAI_API_KEY", KEY, TRUE);
    call->model = acr_model_new("openai/m", &call->options, &call->error);
    g_assert_no_error(call->error);
}

static bool complete(Call *call, bool json, guint max_tokens)
{
    g_autoptr(AcrConversation) c = acr_conversation_new("c");
    AcrModelRequest request = {
        .label = "search", .step = 1, .conversation = c, .json = json, .max_tokens = max_tokens};

    acr_conversation_add(c, ACR_ROLE_USER, "hi json");
    acr_model_answer_clear(&call->answer);
    g_clear_error(&call->error);
    return acr_model_complete(call->model, &request, &call->answer, &call->error);
}

static void assert_fails(Call *call, AcrLlmError code, guint waits)
{
    g_assert_false(complete(call, false, 0));
    g_assert_error(call->error, ACR_LLM_ERROR, (gint)code);
    g_assert_null(strstr(call->error->message, KEY));
    g_assert_null(strchr(call->error->message, '\n'));
    g_assert_null(strstr(call->waits.told->str, KEY));
    g_assert_cmpuint(call->waits.waits, ==, waits);
}

static void an_answer_comes_back(void)
{
    TestReply replies[] = {{.raw = ANSWER}};
    g_auto(Call) call = {.options.temperature = 0.5};

    g_setenv("OPENAI_ORG_ID", "org-1", TRUE);
    begin(&call, replies, G_N_ELEMENTS(replies));
    g_unsetenv("OPENAI_ORG_ID");
    g_assert_true(complete(&call, true, 9));
    g_assert_cmpstr(call.answer.content, ==, "hello");
    g_assert_cmpstr(call.answer.model, ==, "m-1");
    g_assert_cmpint(call.answer.usage.input, ==, 3);
    g_assert_true(
        g_str_has_prefix(server_request(call.server, 0), "POST /chat/completions HTTP/1.1\r\n"));
    g_assert_nonnull(
        strstr(server_request(call.server, 0), "\r\nAuthorization: Bearer " KEY "\r\n"));
    g_assert_nonnull(strstr(server_request(call.server, 0), "\r\nOpenAI-Organization: org-1\r\n"));
    g_assert_nonnull(
        strstr(server_request(call.server, 0), "\r\nContent-Type: application/json\r\n"));
    g_assert_cmpstr(server_request_body(call.server, 0), ==,
                    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi json\"}],"
                    "\"temperature\":0.5,"
                    "\"max_tokens\":9,\"response_format\":{\"type\":\"json_object\"},"
                    "\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
}

static void a_chunked_answer_in_slow_bytes_comes_back(void)
{
    static const char rest[] = "\"choices\":[{\"message\":{\"content\":\"\xe2\x82\xac\"}}]}";
    g_autofree char *raw = g_strdup_printf(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n%zx\r\n%s\r\n0\r\n\r\n",
        strlen(rest), rest);
    TestReply replies[] = {{.raw = raw, .byte_ms = 1}};
    g_auto(Call) call = {.options.temperature = -1};

    begin(&call, replies, G_N_ELEMENTS(replies));
    g_assert_true(complete(&call, false, 0));
    g_assert_cmpstr(call.answer.content, ==, "\xe2\x82\xac");
}

static void what_may_pass_is_tried_again(void)
{
    TestReply replies[] = {
        {.raw =
             REPLY("429", "Retry-After-Ms: 30\r\n",
                   "{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"wait " KEY "\"}}")},
        {.raw = REPLY("503", "", "")},
        {.raw = REPLY("500", "", "<html>")},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"choices\""},
        {.raw = NULL},
        {.raw = REPLY("200", "", "no json")},
        {.raw = ANSWER},
    };
    g_auto(Call) call = {.options.temperature = -1};

    begin(&call, replies, G_N_ELEMENTS(replies));
    if (!complete(&call, false, 0))
        g_error("%s", call.error->message);
    g_assert_cmpstr(call.answer.content, ==, "hello");
    g_assert_cmpuint(call.waits.waits, ==, 6);
    g_assert_true(g_str_has_prefix(
        call.waits.told->str,
        "rate_limit: HTTP 429 rate_limit_exceeded: wait [key]|overloaded: HTTP 503|"
        "server: HTTP 500: <html>|truncated_stream: "));
    g_assert_nonnull(
        strstr(call.waits.told->str, "|malformed: the server did not answer with JSON (HTTP 200"));
}

static void tries_end_with_the_last_failure(void)
{
    TestReply replies[] = {{.raw = REPLY("503", "", "")},
                           {.raw = REPLY("503", "", "")},
                           {.raw = REPLY("500", "X-Request-Id: r9\r\n", "last")}};
    g_auto(Call) call = {.options = {.temperature = -1, .max_retries = 2}};

    begin(&call, replies, G_N_ELEMENTS(replies));
    assert_fails(&call, ACR_LLM_ERROR_SERVER, 2);
    g_assert_nonnull(strstr(call.error->message, "model 'openai/m' at 127.0.0.1:"));
    g_assert_nonnull(strstr(call.error->message, "HTTP 500: last (request id r9)"));
}

static void retry_after_is_honoured(void)
{
    TestReply replies[] = {{.raw = REPLY("429", "Retry-After: 1\r\n", "")}, {.raw = ANSWER}};
    g_auto(Call) call = {.options.temperature = -1};
    gint64 start = g_get_monotonic_time();

    begin(&call, replies, G_N_ELEMENTS(replies));
    g_assert_true(complete(&call, false, 0));
    g_assert_cmpint(g_get_monotonic_time() - start, >=, G_USEC_PER_SEC);
    g_assert_cmpint(call.waits.last_ms, >=, 1000);
    g_assert_cmpint(call.waits.last_ms, <=, 1100);
}

static void a_wait_longer_than_the_time_left_is_not_begun(void)
{
    TestReply replies[] = {{.raw = REPLY("429", "Retry-After: 60\r\n", "")}};
    g_autoptr(AcrBudget) budget = acr_budget_new();
    gint64 start = g_get_monotonic_time();
    g_auto(Call) call = {.options = {.temperature = -1, .budget = budget}};

    acr_budget_set_deadline(budget, start + 50 * G_USEC_PER_SEC, "run");
    begin(&call, replies, G_N_ELEMENTS(replies));
    assert_fails(&call, ACR_LLM_ERROR_RATE_LIMIT, 0);
    g_assert_cmpint(g_get_monotonic_time() - start, <, 30 * G_USEC_PER_SEC);
}

static void a_wait_of_hours_is_not_begun(void)
{
    TestReply replies[] = {{.raw = REPLY("429", "Retry-After: 7200\r\n", "")}};
    g_auto(Call) call = {.options = {.temperature = -1}};

    begin(&call, replies, G_N_ELEMENTS(replies));
    assert_fails(&call, ACR_LLM_ERROR_RATE_LIMIT, 0);
}

static void what_cannot_pass_is_not_tried_again(void)
{
    static const struct {
        const char *raw;
        AcrLlmError code;
    } rows[] = {
        {REPLY("401", "",
               "{\"error\":{\"code\":\"invalid_api_key\",\"message\":\"Incorrect key: " KEY
               ".\\nSee\"}}"),
         ACR_LLM_ERROR_AUTH},
        {REPLY("429", "", "{\"error\":{\"type\":\"insufficient_quota\",\"message\":\"" KEY "\"}}"),
         ACR_LLM_ERROR_BILLING},
        {REPLY("400", "",
               "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}"),
         ACR_LLM_ERROR_CONTEXT_OVERFLOW},
        {REPLY("400", "", "{\"error\":{\"message\":\"bad\"}}"), ACR_LLM_ERROR_BAD_REQUEST},
        {REPLY("404", "", "<html>" KEY "</html>"), ACR_LLM_ERROR_BAD_REQUEST},
        {REPLY("302", "Location: http://127.0.0.1:1/\r\n", ""), ACR_LLM_ERROR_BAD_REQUEST},
        {REPLY("400", "", "{\"error\":{\"code\":\"content_filter\"}}"),
         ACR_LLM_ERROR_CONTENT_FILTER},
        {REPLY("200", "",
               "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"no " KEY "\"}}]}"),
         ACR_LLM_ERROR_REFUSAL},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        TestReply reply = {.raw = rows[i].raw};
        g_auto(Call) call = {.options.temperature = -1};

        begin(&call, &reply, 1);
        assert_fails(&call, rows[i].code, 0);
    }
}

static void a_refused_parameter_is_corrected_once_and_remembered(void)
{
    TestReply replies[] = {
        {.raw = REPLY("400", "",
                      "{\"error\":{\"message\":\"Unsupported parameter: "
                      "'max_tokens'\",\"param\":\"max_tokens\","
                      "\"code\":\"unsupported_parameter\"}}")},
        {.raw = REPLY(
             "400", "",
             "{\"error\":{\"message\":\"Unsupported value: 'temperature' does not support 0.5\","
             "\"param\":\"temperature\",\"code\":\"unsupported_value\"}}")},
        {.raw = ANSWER},
        {.raw = ANSWER},
        {.raw = REPLY("400", "",
                      "{\"error\":{\"message\":\"no\",\"param\":\"temperature\",\"code\":"
                      "\"unsupported_value\"}}")},
    };
    g_auto(Call) call = {.options.temperature = 0.5};

    begin(&call, replies, G_N_ELEMENTS(replies));
    g_assert_true(complete(&call, false, 9));
    g_assert_true(complete(&call, false, 9));
    g_assert_false(complete(&call, false, 9));
    g_assert_error(call.error, ACR_LLM_ERROR, ACR_LLM_ERROR_BAD_REQUEST);
    g_assert_cmpuint(call.waits.waits, ==, 0);
    g_assert_nonnull(
        strstr(server_request_body(call.server, 0), "\"temperature\":0.5,\"max_tokens\":9"));
    g_assert_nonnull(strstr(server_request_body(call.server, 1),
                            "\"temperature\":0.5,\"max_completion_tokens\":9"));
    for (gsize i = 2; i < 5; i++) {
        g_assert_null(strstr(server_request_body(call.server, i), "temperature"));
        g_assert_nonnull(
            strstr(server_request_body(call.server, i), "\"max_completion_tokens\":9"));
    }
}

static void an_answer_of_twenty_megabytes_comes_whole(void)
{
    enum { SIZE = 20 * 1024 * 1024 };
    TestReply replies[] = {
        {.raw = "HTTP/1.1 200 OK\r\n\r\n{\"choices\":[{\"message\":{\"content\":\"",
         .fill = SIZE,
         .after = "\"}}]}"}};
    g_auto(Call) call = {.options.temperature = -1};

    begin(&call, replies, G_N_ELEMENTS(replies));
    g_assert_true(complete(&call, false, 0));
    g_assert_cmpuint(strlen(call.answer.content), ==, SIZE);
}

static void a_body_without_end_is_refused_and_not_asked_for_again(void)
{
    TestReply replies[] = {
        {.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .chunks = 2000}};
    g_auto(Call) call = {.options.temperature = -1};

    begin(&call, replies, G_N_ELEMENTS(replies));
    assert_fails(&call, ACR_LLM_ERROR_MALFORMED, 0);
    g_assert_nonnull(strstr(call.error->message, "larger than 67108864 bytes"));
}

static void each_try_has_its_own_time(void)
{
    TestReply replies[] = {{.hang = true}, {.raw = STREAM_HEAD, .hang = true}, {.raw = ANSWER}};
    g_auto(Call) call = {.options = {.temperature = -1, .timeout_ms = 300}};

    begin(&call, replies, G_N_ELEMENTS(replies));
    g_assert_true(complete(&call, false, 0));
    g_assert_cmpuint(call.waits.waits, ==, 2);
    g_assert_cmpuint(acr_report_sent(acr_model_report(call.model)), ==, 3);
}

static void a_silence_before_the_deadline_is_tried_again(void)
{
    TestReply replies[] = {{.hang = true}, {.raw = ANSWER}};
    g_autoptr(AcrBudget) budget = acr_budget_new();
    g_auto(Call) call = {.options = {.budget = budget, .first_byte_ms = 200}};

    acr_budget_set_deadline(budget, g_get_monotonic_time() + 60 * G_USEC_PER_SEC, "run");
    begin(&call, replies, G_N_ELEMENTS(replies));
    g_assert_true(complete(&call, false, 0));
    g_assert_cmpuint(call.waits.waits, ==, 1);
    g_assert_true(g_str_has_prefix(call.waits.told->str, "timeout"));
}

static void the_deadline_of_a_budget_ends_a_try_as_a_ceiling(void)
{
    TestReply replies[] = {{.hang = true}};
    g_autoptr(AcrBudget) budget = acr_budget_new();
    g_auto(Call) call = {.options = {.temperature = -1, .budget = budget}};

    begin(&call, replies, G_N_ELEMENTS(replies));
    acr_budget_set_deadline(budget, g_get_monotonic_time() + G_USEC_PER_SEC / 2, "run");
    assert_fails(&call, ACR_LLM_ERROR_CEILING, 0);
    assert_fails(&call, ACR_LLM_ERROR_CEILING, 0); /* and none is begun after it */
    g_assert_cmpuint(acr_report_sent(acr_model_report(call.model)), ==, 0);
}

/* ---- Streams ---- */

static void a_stream_is_complete_by_its_last_event_alone(void)
{
    TestReply replies[] = {
        {.raw = STREAM_HEAD CHUNK("hel")},
        {.raw = STREAM_HEAD CHUNK("hel") "data: {\"choices\":[{\"index\":0,\"delta\":{},"
                                         "\"finish_reason\":\"stop\"}]}\n\n"},
        {.raw = STREAM_HEAD CHUNK("hel") ": ping\n\n" CHUNK("lo") LAST_CHUNKS, .hang = true},
    };
    g_auto(Call) call = {.options = {.temperature = -1}};
    const AcrModelReport *report = NULL;

    begin(&call, replies, G_N_ELEMENTS(replies));
    if (!complete(&call, false, 0))
        g_error("%s", call.error->message);
    g_assert_cmpstr(call.answer.content, ==, "hello");
    g_assert_cmpstr(call.answer.finish, ==, "stop");
    g_assert_cmpint(call.answer.usage.input, ==, 3);
    g_assert_cmpint(call.answer.usage.output, ==, 2);
    report = acr_model_report(call.model);
    g_assert_cmpuint(report->tries->len, ==, 3);
    for (guint i = 0; i < 3; i++) {
        const AcrModelTry *attempt = &g_array_index(report->tries, AcrModelTry, i);

        g_assert_cmpint(attempt->ok, ==, i == 2);
        g_assert_true(attempt->sent);
        g_assert_true(attempt->streamed);
        g_assert_cmpint(attempt->usage.output, ==, i == 2 ? 2 : -1);
        if (i < 2)
            g_assert_cmpint((int)attempt->code, ==, ACR_LLM_ERROR_TRUNCATED);
    }
}

static void an_error_within_a_stream_has_its_class(void)
{
    TestReply replies[] = {
        {.raw = STREAM_HEAD CHUNK("hel") "data: {\"error\":{\"message\":\"busy\","
                                         "\"type\":\"server_error\",\"code\":null}}\n\n"},
        {.raw = STREAM_HEAD
         "data: {\"error\":{\"message\":\"no\",\"code\":\"context_length_exceeded\"}}\n\n"},
    };
    g_auto(Call) call = {.options = {.temperature = -1}};

    begin(&call, replies, G_N_ELEMENTS(replies));
    assert_fails(&call, ACR_LLM_ERROR_CONTEXT_OVERFLOW, 1);
}

static AcrInterrupt alarm_interrupt; /* set by the handler of SIGALRM */

static void on_alarm(int number)
{
    alarm_interrupt.signal = number;
}

static void interrupts_end_exchanges_and_waits(void)
{
    static const TestReply replies[] = {{.hang = true},
                                        {.raw = REPLY("429", "Retry-After: 30\r\n", "")}};
    struct itimerval timer = {.it_value = {.tv_usec = 200000}};

    signal(SIGALRM, on_alarm);
    for (gsize i = 0; i < G_N_ELEMENTS(replies); i++) {
        g_auto(Call) call = {.options = {.temperature = -1, .interrupt = &alarm_interrupt}};
        gint64 start = g_get_monotonic_time();

        alarm_interrupt.signal = 0;
        begin(&call, &replies[i], 1);
        setitimer(ITIMER_REAL, &timer, NULL);
        assert_fails(&call, ACR_LLM_ERROR_INTERRUPTED, (guint)i);
        g_assert_cmpint(g_get_monotonic_time() - start, <, 20 * G_USEC_PER_SEC);
    }
}

static void a_server_that_is_not_there_is_a_network_error(void)
{
    g_autoptr(GError) error = NULL;
    AcrModelOptions options = {.temperature = -1, .base_url = "http://127.0.0.1:1/v1"};
    g_autoptr(AcrModel) model = acr_model_new("openai/m", &options, &error);
    g_autoptr(AcrConversation) c = acr_conversation_new("c");
    AcrModelRequest request = {.label = "search", .conversation = c};
    AcrModelAnswer answer = {0};

    g_assert_no_error(error);
    g_assert_false(acr_model_complete(model, &request, &answer, &error));
    g_assert_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_UNREACHABLE);
    g_assert_cmpstr(acr_llm_error_name(error->code), ==, "network");
    g_assert_cmpuint(acr_report_sent(acr_model_report(model)), ==, 0);
    g_assert_nonnull(strstr(error->message, "127.0.0.1:1"));
}

static void assert_not_made(const char *base_url, const char *key, AcrLlmError code,
                            const char *words)
{
    AcrModelOptions options = {.temperature = -1, .base_url = base_url};
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrModel) model = NULL;

    if (key)
        g_setenv("OPENAI_API_KEY", key, TRUE);
    else
        g_unsetenv("OPENAI_API_KEY");
    model = acr_model_new("openai/gpt", &options, &error);
    g_assert_null(model);
    g_assert_error(error, ACR_LLM_ERROR, (gint)code);
    g_assert_nonnull(strstr(error->message, words));
    g_assert_null(strstr(error->message, "secret"));
}

static void a_missing_or_unusable_key_or_url_is_found_at_once(void)
{
    g_unsetenv("OPENAI_BASE_URL");
    assert_not_made(NULL, NULL, ACR_LLM_ERROR_AUTH, "OPENAI_API_KEY");
    assert_not_made(NULL, "", ACR_LLM_ERROR_AUTH, "OPENAI_API_KEY");
    assert_not_made(NULL, " \n", ACR_LLM_ERROR_AUTH, "OPENAI_API_KEY");
    assert_not_made("https://llm.example.com/v1", NULL, ACR_LLM_ERROR_AUTH, "OPENAI_API_KEY");
    assert_not_made("http://127.0.0.1:8080/v1", NULL, ACR_LLM_ERROR_AUTH, "OPENAI_API_KEY");
    assert_not_made(NULL, "secret\r\nX: y", ACR_LLM_ERROR_AUTH, "OPENAI_API_KEY");
    assert_not_made("localhost:8080", "secret", ACR_LLM_ERROR_USAGE, "base URL");
    assert_not_made("http://localhost/v1?key=secret", "secret", ACR_LLM_ERROR_USAGE, "base URL");
    assert_not_made("http://u:secret@localhost/v1", "secret", ACR_LLM_ERROR_USAGE, "base URL");
    assert_not_made("unix:relative:/v1", "secret", ACR_LLM_ERROR_USAGE, "base URL");
    assert_not_made("file:///secret", "secret", ACR_LLM_ERROR_USAGE, "base URL");
    assert_not_made("", "secret", ACR_LLM_ERROR_USAGE, "base URL");
}

static void a_base_url_may_end_in_slashes(void)
{
    TestReply replies[] = {{.raw = ANSWER}};
    g_autoptr(TestServer) server = server_start(replies, 1);
    g_autofree char *base = g_strconcat(server->url, "/v1//", NULL);
    AcrModelOptions options = {.temperature = -1};
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrModel) model = NULL;
    g_autoptr(AcrConversation) c = acr_conversation_new("c");
    AcrModelRequest request = {.label = "search", .conversation = c};
    g_auto(AcrModelAnswer) answer = {0};

    g_setenv("OPENAI_API_KEY", "sk-1", TRUE);
    g_setenv("OPENAI_BASE_URL", base, TRUE);
    model = acr_model_new("openai/org/m", &options, &error);
    g_unsetenv("OPENAI_BASE_URL");
    g_unsetenv("OPENAI_API_KEY");
    g_assert_no_error(error);
    g_assert_true(acr_model_complete(model, &request, &answer, &error));
    g_assert_true(
        g_str_has_prefix(server_request(server, 0), "POST /v1/chat/completions HTTP/1.1\r\n"));
    g_assert_nonnull(strstr(server_request(server, 0), "Authorization: Bearer sk-1\r\n"));
    g_assert_true(
        g_str_has_prefix(server_request_body(server, 0), "{\"model\":\"org/m\",\"messages\":[]"));
}

#define TEST(name) g_test_add_func("/llm/http_model/" #name, name)

void add_http_model_tests(void)
{
    TEST(an_answer_comes_back);
    TEST(a_chunked_answer_in_slow_bytes_comes_back);
    TEST(what_may_pass_is_tried_again);
    TEST(tries_end_with_the_last_failure);
    TEST(retry_after_is_honoured);
    TEST(a_wait_longer_than_the_time_left_is_not_begun);
    TEST(what_cannot_pass_is_not_tried_again);
    TEST(a_refused_parameter_is_corrected_once_and_remembered);
    TEST(an_answer_of_twenty_megabytes_comes_whole);
    TEST(a_body_without_end_is_refused_and_not_asked_for_again);
    TEST(a_wait_of_hours_is_not_begun);
    TEST(each_try_has_its_own_time);
    TEST(a_silence_before_the_deadline_is_tried_again);
    TEST(the_deadline_of_a_budget_ends_a_try_as_a_ceiling);
    TEST(a_stream_is_complete_by_its_last_event_alone);
    TEST(an_error_within_a_stream_has_its_class);
    TEST(interrupts_end_exchanges_and_waits);
    TEST(a_server_that_is_not_there_is_a_network_error);
    TEST(a_missing_or_unusable_key_or_url_is_found_at_once);
    TEST(a_base_url_may_end_in_slashes);
}
