/* Tests of what models share: a fallback model, rate limits and a circuit breaker for all users of
 * a key, and keys that a server echoes. */
#include "test_llm.h"

#include <glib/gstdio.h>

#include "unit/http/server.h"

#define KEY "sk-very-secret-0123456789"
#define BODY(text) "{\"model\":\"m\",\"choices\":[{\"message\":{\"content\":\"" text "\"},\"finish_reason\":\"stop\"}]}"
#define ANSWER(text) "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" BODY(text)
#define REFUSAL(status) "HTTP/1.1 " status " X\r\nConnection: close\r\n\r\n{}"

static AcrModel *make_model(TestServer *server, const char *name, const char *dir)
{
    AcrModelOptions options = {
        .max_retries = 2, .retry_base_ms = 1, .temperature = -1, .base_url = server->url, .shared_dir = dir};
    g_autoptr(GError) error = NULL;
    AcrModel *model = NULL;
    g_setenv("OPENAI_API_KEY", KEY, TRUE);
    model = made(acr_model_new(name, &options, &error), error);
    return model;
}

/* The answer's text, or the class of the failure in brackets; owned. */
static char *ask(AcrModel *model, GError **out_error)
{
    g_autoptr(AcrConversation) c = acr_conversation_new("c");
    AcrModelRequest request = {.label = "search", .step = 1, .conversation = c};
    g_auto(AcrModelAnswer) answer = {0};
    g_autoptr(GError) error = NULL;
    acr_conversation_add(c, ACR_ROLE_USER, "hi");
    if (acr_model_complete(model, &request, &answer, &error))
        return g_steal_pointer(&answer.content);
    if (out_error)
        *out_error = g_error_copy(error);
    return g_strdup_printf("[%s]", acr_llm_error_name(error->code));
}

static void assert_asked(AcrModel *model, const char *expected)
{
    assert_text(ask(model, NULL), expected);
}

/* The names of the models that were asked in the last call. */
static char *models_asked(AcrModel *model)
{
    const AcrModelReport *report = acr_model_report(model);
    GString *names = g_string_new(NULL);
    for (guint i = 0; i < report->tries->len; i++) {
        const AcrModelTry *attempt = &g_array_index(report->tries, AcrModelTry, i);
        g_string_append_printf(names, "%s%s", attempt->model, attempt->ok ? "!" : " ");
    }
    return g_string_free(names, FALSE);
}

TEST("/llm/shared", the_second_model_takes_over_and_stays)
{
    static const TestReply failing[] = {{.raw = REFUSAL("503")}, {.raw = REFUSAL("503")}, {.raw = REFUSAL("503")}};
    static const TestReply fine[] = {{.raw = ANSWER("one")}, {.raw = ANSWER("two")}};
    g_autoptr(TestServer) a = server_start(failing, G_N_ELEMENTS(failing));
    g_autoptr(TestServer) b = server_start(fine, G_N_ELEMENTS(fine));
    g_autoptr(AcrModel) model =
        acr_fallback_model_new(make_model(a, "openai/a", NULL), make_model(b, "openai/b", NULL));
    g_autofree char *first = NULL;
    g_autofree char *then = NULL;
    g_assert_cmpstr(model->name, ==, "openai/a");
    assert_asked(model, "one");
    first = models_asked(model);
    g_assert_cmpstr(first, ==, "openai/a openai/a openai/a openai/b!");
    g_assert_cmpuint(acr_report_tries(acr_model_report(model)), ==, 4);
    assert_asked(model, "two");
    then = models_asked(model);
    g_assert_cmpstr(then, ==, "openai/b!");
}

TEST("/llm/shared", what_the_request_is_guilty_of_stays_with_the_first)
{
    static const struct {
        const char *raw, *expected;
    } rows[] = {
        {"HTTP/1.1 400 X\r\nConnection: close\r\n\r\n{}", "[bad_request]"},
        {"HTTP/1.1 400 X\r\nConnection: close\r\n\r\n{\"error\":{\"code\":"
         "\"context_length_exceeded\",\"message\":\"maximum context length is 4096 tokens\"}}",
         "[context_overflow]"},
        {"HTTP/1.1 400 X\r\nConnection: close\r\n\r\n{\"error\":{\"code\":\"content_filter\"}}", "[content_filter]"}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const TestReply replies[] = {{.raw = rows[i].raw}};
        const TestReply fine[] = {{.raw = ANSWER("no")}};
        g_autoptr(TestServer) a = server_start(replies, 1);
        g_autoptr(TestServer) b = server_start(fine, 1);
        g_autoptr(AcrModel) model =
            acr_fallback_model_new(make_model(a, "openai/a", NULL), make_model(b, "openai/b", NULL));
        assert_asked(model, rows[i].expected);
        g_assert_cmpint(acr_model_report(model)->window, ==, i == 1 ? 4096 : 0);
        g_assert_cmpuint(server_connections(b), ==, 0);
    }
}

TEST("/llm/shared", the_failure_of_both_tells_of_both)
{
    static const TestReply first[] = {{.raw = REFUSAL("402")}};
    static const TestReply second[] = {{.raw = REFUSAL("401")}};
    g_autoptr(TestServer) a = server_start(first, 1);
    g_autoptr(TestServer) b = server_start(second, 1);
    g_autoptr(AcrModel) model =
        acr_fallback_model_new(make_model(a, "openai/a", NULL), make_model(b, "openai/b", NULL));
    g_autoptr(GError) error = NULL;
    assert_text(ask(model, &error), "[auth]");
    g_assert_nonnull(strstr(error->message, "openai/b"));
    g_assert_nonnull(strstr(error->message, "HTTP 402"));
}

TEST("/llm/shared", a_refused_key_stops_all_who_use_it)
{
    static const TestReply replies[] = {{.raw = REFUSAL("401")}, {.raw = ANSWER("again")}};
    g_autofree char *dir = g_dir_make_tmp("acr-shared-XXXXXX", NULL);
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrModel) one = make_model(server, "openai/a", dir);
    g_autoptr(AcrModel) other = make_model(server, "openai/b", dir);
    g_autofree char *why = NULL;
    assert_asked(one, "[auth]");
    why = acr_llm_paused(dir);
    g_assert_true(g_str_has_prefix(why, "auth: model 'openai/a' at 127.0.0.1:"));
    assert_asked(other, "[auth]");
    g_assert_cmpuint(acr_report_tries(acr_model_report(other)), ==, 0);
    g_assert_true(acr_llm_resume(dir, NULL));
    assert_asked(other, "again");
    g_assert_true(acr_dir_remove(dir, NULL));
}

TEST("/llm/shared", a_throttled_request_holds_all_who_use_the_key)
{
    static const TestReply replies[] = {{.raw = "HTTP/1.1 429 X\r\nRetry-After: 0.4\r\nConnection: close\r\n\r\n{}"},
                                        {.raw = ANSWER("one")},
                                        {.raw = "HTTP/1.1 429 X\r\nRetry-After: 0.3\r\nx-should-retry: false\r\n"
                                                "Connection: close\r\n\r\n{}"},
                                        {.raw = ANSWER("three")}};
    g_autofree char *dir = g_dir_make_tmp("acr-shared-XXXXXX", NULL);
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrModel) one = make_model(server, "openai/a", dir);
    g_autoptr(AcrModel) other = make_model(server, "openai/b", dir);
    gint64 start = g_get_monotonic_time();
    assert_asked(one, "one");
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 400000);
    assert_asked(one, "[rate_limit]");
    start = g_get_monotonic_time();
    assert_asked(other, "three");
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 250000);
    g_assert_cmpint(g_array_index(acr_model_report(other)->tries, AcrModelTry, 0).wait_ms, >=, 200);
    g_assert_true(acr_dir_remove(dir, NULL));
}

TEST("/llm/shared", a_key_that_comes_back_goes_no_further)
{
    static const TestReply replies[] = {
        {.raw = "HTTP/1.1 200 OK\r\nx-request-id: r-" KEY "\r\nConnection: close\r\n\r\n" BODY("your key is " KEY ".")},
        {.raw = "HTTP/1.1 400 X\r\nx-request-id: " KEY "\r\nConnection: close\r\n\r\n"
                "{\"error\":{\"message\":\"wrong: " KEY "\",\"code\":\"" KEY "\"}}"}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrModel) model = make_model(server, "openai/a", NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *failed = NULL;
    assert_asked(model, "your key is [key].");
    g_assert_cmpstr(g_array_index(acr_model_report(model)->tries, AcrModelTry, 0).request_id, ==, "r-[key]");
    failed = ask(model, &error);
    g_assert_cmpstr(failed, ==, "[bad_request]");
    g_assert_null(strstr(error->message, "very-secret"));
    g_assert_nonnull(strstr(error->message, "[key]"));
}

/* If limits cannot be enforced, nothing may be sent. */
TEST("/llm/shared", a_model_whose_limits_cannot_be_shared_is_not_made)
{
    AcrModelOptions options = {.base_url = "http://127.0.0.1:9", .shared_dir = "/dev/null/limits"};
    g_autoptr(GError) error = NULL;
    g_setenv("OPENAI_API_KEY", KEY, TRUE);
    g_assert_null(acr_model_new("openai/a", &options, &error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, "/dev/null"));
}
