/* Helpers for the tests of http: an exchange with a test server, and checks of the result. */
#include "test_http.h"

gint64 now_ms(void)
{
    return g_get_monotonic_time() / 1000;
}

bool exchange(const TestReply *reply, const AcrHttpRequest *given, AcrHttpResponse *out, GError **error)
{
    g_autoptr(TestServer) server = server_start(reply, 1);
    g_autofree char *url = g_strconcat(server->url, "/secret/path?key=secret", NULL);
    AcrHttpRequest request = *given;
    request.url = url;
    return acr_http_exchange(NULL, &request, out, error);
}

void get_raw(const char *raw, AcrHttpResponse *out)
{
    TestReply reply = {.raw = raw};
    AcrHttpRequest request = {0};
    g_autoptr(GError) error = NULL;
    assert_ok(exchange(&reply, &request, out, &error), error);
}

void assert_fails(const TestReply *reply, const AcrHttpRequest *request, int code)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrHttpResponse) response = {0};
    g_assert_false(exchange(reply, request, &response, &error));
    g_assert_error(error, ACR_HTTP_ERROR, code);
    g_assert_null(strstr(error->message, "secret"));
    g_assert_null(response.body);
    g_assert_true(response.sent);
}

void assert_body(const AcrHttpResponse *response, const char *text)
{
    gsize len = 0;
    const void *data = g_bytes_get_data(response->body, &len);
    g_assert_cmpmem(data, len, text, strlen(text));
}

const char *header(const AcrHttpResponse *response, const char *name)
{
    return g_hash_table_lookup(response->headers, name);
}

AcrHttpNext take(void *ctx, const AcrHttpHead *head, const char *data, gsize len)
{
    Sink *sink = ctx;
    sink->calls++;
    sink->status = head->status;
    g_string_append_len(sink->text, data, (gssize)len);
    return sink->text->len < sink->stop_after ? ACR_HTTP_MORE : sink->then;
}
