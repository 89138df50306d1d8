/* Tests of Google's Gemini dialect: URLs, requests, streams, answers; and how long acr-host waits
 * for a stream that does not say that it has ended. */
#include "shown.h"
#include "unit/http/server.h"

#define P &acr_provider_gemini
#define PART(text) "{'text':'" text "'}"

/* ---- The endpoint --------- */

static void clear_variables(void)
{
    g_unsetenv("GOOGLE_API_KEY");
    g_unsetenv("GEMINI_API_KEY");
    g_unsetenv("GOOGLE_GEMINI_BASE_URL");
}

static void assert_url(const char *model, const char *base, const char *url)
{
    AcrEndpoint endpoint = {0};
    make_endpoint(P, model, base, NULL, &endpoint);
    g_assert_cmpstr(endpoint.url, ==, url);
    acr_endpoint_clear(&endpoint);
}

TEST("/llm/gemini", addresses_name_version_and_model)
{
#define TAIL ":streamGenerateContent?alt=sse"
    clear_variables();
    g_setenv("GEMINI_API_KEY", "AIza-0123456789", TRUE);
    assert_url("gemini-x", "http://127.0.0.1:9", "http://127.0.0.1:9/v1beta/models/gemini-x" TAIL);
    assert_url("gemini-x", "http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1/models/gemini-x" TAIL);
    assert_url("gemini-x", "http://127.0.0.1:9/g/v1alpha1", "http://127.0.0.1:9/g/v1alpha1/models/gemini-x" TAIL);
    assert_url("gemini-x", "http://127.0.0.1:9/vault", "http://127.0.0.1:9/vault/v1beta/models/gemini-x" TAIL);
    assert_url("models/a b", "http://127.0.0.1:9", "http://127.0.0.1:9/v1beta/models/a%20b" TAIL);
    assert_url("tunedModels/a?b", "http://127.0.0.1:9", "http://127.0.0.1:9/v1beta/tunedModels/a%3Fb" TAIL);
    assert_url("gemini-x", "unix:/run/g.sock", "http://localhost/v1beta/models/gemini-x" TAIL);
    assert_url("gemini-x", NULL, "https://generativelanguage.googleapis.com/v1beta/models/gemini-x" TAIL);
    g_setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:8", TRUE);
    assert_url("gemini-x", NULL, "http://127.0.0.1:8/v1beta/models/gemini-x" TAIL);
    clear_variables();
}

static void assert_thinking(const char *model, const char *effort, const char *expected)
{
    AcrDialect dialect = {.model = model, .temperature = -1, .effort = effort};
    g_autoptr(AcrConversation) conversation = TALK("u", "hi");
    g_autofree char *text = show_request(P, &dialect, conversation, NULL, false, 0);
    g_autofree char *wanted = quoted(expected);
    if (!strstr(text, wanted))
        g_error("'%s' is not in: %s", wanted, text);
}

TEST("/llm/gemini", effort_is_a_level_or_a_budget_by_the_models_age)
{
    assert_thinking("gemini-3-pro", "high", "{'thinkingLevel':'HIGH'}");
    assert_thinking("gemini-3-pro", "xhigh", "{'thinkingLevel':'HIGH'}");
    assert_thinking("gemini-3-flash", "none", "{'thinkingLevel':'MINIMAL'}");
    assert_thinking("gemini-3-flash", "odd", "{'thinkingLevel':'ODD'}");
    assert_thinking("models/gemini-2.5-pro", "medium", "{'thinkingBudget':8192}");
    assert_thinking("gemini-2.5-flash", "none", "{'thinkingBudget':0}");
}

/* ---- Corrections ---- */

#define REFUSED(message) "{'error':{'code':400,'message':'" message "','status':'INVALID_ARGUMENT'}}"

TEST("/llm/gemini", each_correction_is_made_once)
{
    static const char *const refusals[] = {
        REFUSED("Unable to submit request because temperature must be 1"),
        REFUSED("Thinking level is not supported for this model."),
        REFUSED("Invalid JSON payload received. Unknown name \\\"responseJsonSchema\\\" at "
                "'generation_config': Cannot find field."),
        "[" REFUSED("JSON mode is not enabled for models/gemma-3") "]"};
    AcrDialect dialect = {.model = "m", .temperature = 0.2, .effort = "low"};
    g_assert_false(learns(P, &dialect, 400, REFUSED("contents is not specified")));
    g_assert_false(learns(P, &dialect, 403, "{'error':{'message':'temperature'}}"));
    for (gsize i = 0; i < G_N_ELEMENTS(refusals); i++) {
        g_assert_true(learns(P, &dialect, 400, refusals[i]));
        g_assert_false(learns(P, &dialect, 400, refusals[i]));
    }
    g_assert_true(dialect.temperature < 0 && !dialect.effort && dialect.no_schema && dialect.no_json);
    dialect = (AcrDialect){.model = "m", .temperature = -1};
    g_assert_false(learns(P, &dialect, 400, refusals[0])); /* the request had no such field */
    g_assert_false(learns(P, &dialect, 400, refusals[1]));
}

/* ---- Streams ---- */

#define CHUNK(json) "data: {" json "}\r\n\r\n"
#define SAID(parts, more) "'candidates':[{'content':{'parts':[" parts "],'role':'model'}" more "}]"
#define ENDED(reason) ",'finishReason':'" reason "'"

TEST("/llm/gemini", a_settled_stream_is_told_from_one_that_goes_on)
{
    g_autofree char *first = quoted(CHUNK(SAID(PART("a"), ENDED("FINISH_REASON_UNSPECIFIED"))));
    g_autofree char *second = quoted(CHUNK(SAID(PART("b"), ENDED("STOP"))));
    g_autoptr(AcrReader) reader = acr_reader_new(P, 200, NULL);
    g_auto(AcrModelAnswer) answer = {0};
    g_auto(AcrFailure) failure = {0};
    AcrUsage usage = ACR_USAGE_UNKNOWN;
    g_assert_true(acr_reader_feed(reader, first, strlen(first)));
    g_assert_false(acr_reader_is_settled(reader));
    g_assert_true(acr_reader_feed(reader, second, strlen(second)));
    g_assert_true(acr_reader_is_settled(reader));
    g_assert_true(acr_reader_end(reader, "the connection broke", &answer, &usage, &failure));
    g_assert_cmpstr(answer.content, ==, "ab");
}

/* The answer to one request if the server replies like this, and the elapsed time. */
static char *ask(const TestReply *reply, gint64 *out_ms)
{
    g_autoptr(AcrConversation) conversation = TALK("u", "hi");
    AcrModelRequest request = {.label = "search", .conversation = conversation};
    TestServer *server = server_start(reply, 1);
    AcrModelOptions options = {.temperature = -1, .base_url = server->url};
    g_auto(AcrModelAnswer) answer = {0};
    g_autoptr(GError) error = NULL;
    AcrModel *model = NULL;
    gint64 begun_us = g_get_monotonic_time();
    bool ok = false;
    g_setenv("GEMINI_API_KEY", "AIza-0123456789", TRUE);
    model = made(acr_model_new("gemini/gemini-x", &options, &error), error);
    ok = acr_model_complete(model, &request, &answer, &error);
    *out_ms = (g_get_monotonic_time() - begun_us) / 1000;
    acr_model_free(model);
    server_stop(server);
    clear_variables();
    return ok ? g_strdup_printf("%s|%s|%d", answer.content, answer.finish, (int)answer.usage.output)
              : g_strdup_printf("%s: %s", acr_llm_error_name((AcrLlmError)error->code), error->message);
}

TEST("/llm/gemini", a_stream_that_stays_open_after_its_end_is_an_answer_soon)
{
    g_autofree char *raw =
        quoted("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" CHUNK(SAID(PART("a"), ENDED("STOP"))));
    g_autofree char *after = quoted(CHUNK("'usageMetadata':{'candidatesTokenCount':3}"));
    TestReply reply = {.raw = raw, .after_ms = 300, .after = after, .hang = true};
    gint64 ms = 0;
    assert_text(ask(&reply, &ms), "a|stop|3");
    g_assert_cmpint(ms, >=, 300);
    g_assert_cmpint(ms, <, 30000);
}
