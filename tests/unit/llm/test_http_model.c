/* Tests of models over HTTP, with a real server on loopback: tries, corrections, waits, limits,
 * secrets. */
#include "test_llm.h"

#include <stdlib.h>
#include <sys/time.h>

#include "unit/http/server.h"

#define KEY "sk-very-secret"
#define OK_BODY                                                                                                        \
    "{\"model\":\"m-1\",\"choices\":[{\"message\":{\"content\":\"hello\"},\"finish_reason\":"                          \
    "\"stop\"}],"                                                                                                      \
    "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}"
#define ANSWER "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" OK_BODY
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

/* Starts a server with these replies, and makes a model "openai/m" that uses it and retries
 * quickly. */
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
    AcrModelRequest request = {.label = "search", .step = 1, .conversation = c, .json = json, .max_tokens = max_tokens};
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

TEST("/llm/http_model", an_answer_comes_back)
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
    g_assert_true(g_str_has_prefix(server_request(call.server, 0), "POST /chat/completions HTTP/1.1\r\n"));
    g_assert_nonnull(strstr(server_request(call.server, 0), "\r\nAuthorization: Bearer " KEY "\r\n"));
    g_assert_nonnull(strstr(server_request(call.server, 0), "\r\nOpenAI-Organization: org-1\r\n"));
    g_assert_nonnull(strstr(server_request(call.server, 0), "\r\nContent-Type: application/json\r\n"));
    g_assert_cmpstr(server_request_body(call.server, 0), ==,
                    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi json\"}],"
                    "\"temperature\":0.5,"
                    "\"max_tokens\":9,\"response_format\":{\"type\":\"json_object\"},"
                    "\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
}

TEST("/llm/http_model", what_may_pass_is_tried_again)
{
    TestReply replies[] = {
        {.raw = REPLY("429", "Retry-After-Ms: 30\r\n",
                      "{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"wait " KEY "\"}}")},
        {.raw = REPLY("503", "", "")},
        {.raw = REPLY("500", "", "<html>")},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"choices\""},
        {.raw = NULL},
        {.raw = REPLY("200", "", "no json")},
        {.raw = ANSWER}};
    g_auto(Call) call = {.options.temperature = -1};
    begin(&call, replies, G_N_ELEMENTS(replies));
    if (!complete(&call, false, 0))
        g_error("%s", call.error->message);
    g_assert_cmpstr(call.answer.content, ==, "hello");
    g_assert_cmpuint(call.waits.waits, ==, 6);
    g_assert_true(g_str_has_prefix(call.waits.told->str,
                                   "rate_limit: HTTP 429 rate_limit_exceeded: wait [key]|overloaded: HTTP 503|"
                                   "server: HTTP 500: <html>|truncated_stream: "));
    g_assert_nonnull(strstr(call.waits.told->str, "|malformed: the server's answer is not JSON (HTTP 200"));
}

TEST("/llm/http_model", a_wait_longer_than_the_time_left_is_not_begun)
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

TEST("/llm/http_model", a_refused_parameter_is_corrected_once_and_remembered)
{
    TestReply replies[] = {
        {.raw = REPLY("400", "",
                      "{\"error\":{\"message\":\"Unsupported parameter: "
                      "'max_tokens'\",\"param\":\"max_tokens\","
                      "\"code\":\"unsupported_parameter\"}}")},
        {.raw = REPLY("400", "",
                      "{\"error\":{\"message\":\"Unsupported value: 'temperature' does not support 0.5\","
                      "\"param\":\"temperature\",\"code\":\"unsupported_value\"}}")},
        {.raw = ANSWER},
        {.raw = ANSWER},
        {.raw = REPLY("400", "",
                      "{\"error\":{\"message\":\"no\",\"param\":\"temperature\",\"code\":"
                      "\"unsupported_value\"}}")}};
    g_auto(Call) call = {.options.temperature = 0.5};
    begin(&call, replies, G_N_ELEMENTS(replies));
    g_assert_true(complete(&call, false, 9));
    g_assert_true(complete(&call, false, 9));
    g_assert_false(complete(&call, false, 9));
    g_assert_error(call.error, ACR_LLM_ERROR, ACR_LLM_ERROR_BAD_REQUEST);
    g_assert_cmpuint(call.waits.waits, ==, 0);
    g_assert_nonnull(strstr(server_request_body(call.server, 0), "\"temperature\":0.5,\"max_tokens\":9"));
    g_assert_nonnull(strstr(server_request_body(call.server, 1), "\"temperature\":0.5,\"max_completion_tokens\":9"));
    for (gsize i = 2; i < 5; i++) {
        g_assert_null(strstr(server_request_body(call.server, i), "temperature"));
        g_assert_nonnull(strstr(server_request_body(call.server, i), "\"max_completion_tokens\":9"));
    }
}

TEST("/llm/http_model", a_silence_before_the_deadline_is_tried_again)
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

TEST("/llm/http_model", the_deadline_of_a_budget_ends_a_try_as_a_ceiling)
{
    TestReply replies[] = {{.hang = true}};
    g_autoptr(AcrBudget) budget = acr_budget_new();
    g_auto(Call) call = {.options = {.temperature = -1, .budget = budget}};
    begin(&call, replies, G_N_ELEMENTS(replies));
    acr_budget_set_deadline(budget, g_get_monotonic_time() + G_USEC_PER_SEC / 2, "--task-max-time");
    assert_fails(&call, ACR_LLM_ERROR_CEILING, 0);
    g_assert_nonnull(strstr(call.error->message, "--task-max-time reached; rerun with a higher limit"));
    assert_fails(&call, ACR_LLM_ERROR_CEILING, 0); /* no try begins after the deadline */
    g_assert_cmpuint(acr_report_tries(acr_model_report(call.model)), ==, 0);
}

static AcrInterrupt alarm_interrupt; /* set by the handler of SIGALRM */

static void on_alarm(int number)
{
    alarm_interrupt.signal = number;
}

TEST("/llm/http_model", interrupts_end_exchanges_and_waits)
{
    static const TestReply replies[] = {{.hang = true}, {.raw = REPLY("429", "Retry-After: 30\r\n", "")}};
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

TEST("/llm/http_model", a_base_url_may_end_in_slashes)
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
    g_assert_true(g_str_has_prefix(server_request(server, 0), "POST /v1/chat/completions HTTP/1.1\r\n"));
    g_assert_nonnull(strstr(server_request(server, 0), "Authorization: Bearer sk-1\r\n"));
    g_assert_true(g_str_has_prefix(server_request_body(server, 0), "{\"model\":\"org/m\",\"messages\":[]"));
}
