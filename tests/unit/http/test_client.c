/* Tests of connections that are kept open between exchanges, and of bodies that the caller stops
 * reading. */
#include "test_http.h"

#define EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

/* POSTs "body" with the client, and expects a response whose body is `text`. */
static void post(AcrHttpClient *client, const TestServer *server, const char *text)
{
    AcrHttpRequest request = {.url = server->url, .body = "body", .body_len = 4};
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GError) error = NULL;
    assert_ok(acr_http_exchange(client, &request, &response, &error), error);
    g_assert_true(response.sent);
    g_assert_cmpint(response.first_byte_ms, >=, 1);
    assert_body(&response, text);
}

static void post_fails(AcrHttpClient *client, const char *url, int code, bool sent)
{
    AcrHttpRequest request = {.url = url, .body = "body", .body_len = 4};
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_http_exchange(client, &request, &response, &error), error, ACR_HTTP_ERROR, code);
    g_assert_cmpint(response.sent, ==, sent);
    g_assert_cmpint(response.status, ==, code == ACR_HTTP_ERROR_LENGTH ? 200 : 0);
    g_assert_true((response.headers == NULL) == (response.status == 0));
    g_assert_null(response.body);
}

TEST("/http/client", a_client_keeps_its_connection)
{
    static const TestReply replies[] = {{.raw = CHUNKED "2\r\nab\r\n0\r\nX-Late: 1\r\n\r\n", .keep = true},
                                        {.raw = "HTTP/1.1 500 X\r\nContent-Length: 3\r\n\r\nbad", .keep = true},
                                        {.raw = EMPTY, .keep = true}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrHttpClient) client = acr_http_client_new();
    post(client, server, "ab");
    post(client, server, "bad");
    post(client, server, "");
    g_assert_cmpuint(server_connections(server), ==, 1);
    for (gsize i = 0; i < 3; i++)
        g_assert_cmpstr(server_request_body(server, i), ==, "body");
}

TEST("/http/client", an_exchange_without_a_client_keeps_nothing)
{
    static const TestReply replies[] = {{.raw = EMPTY, .keep = true}, {.raw = EMPTY, .keep = true}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    post(NULL, server, "");
    post(NULL, server, "");
    g_assert_cmpuint(server_connections(server), ==, 2);
}

TEST("/http/client", nothing_of_one_request_stays_for_the_next)
{
    static const TestReply replies[] = {{.raw = EMPTY, .keep = true}, {.raw = EMPTY, .keep = true}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrHttpClient) client = acr_http_client_new();
    const char *const headers[] = {"Authorization: Bearer k", NULL};
    AcrHttpRequest first = {.url = server->url, .headers = headers, .body = "{}", .body_len = 2, .method = "PUT"};
    AcrHttpRequest second = {.url = server->url};
    g_auto(AcrHttpResponse) a = {0};
    g_auto(AcrHttpResponse) b = {0};
    g_assert_true(acr_http_exchange(client, &first, &a, NULL));
    g_assert_true(acr_http_exchange(client, &second, &b, NULL));
    g_assert_true(g_str_has_prefix(server_request(server, 0), "PUT / HTTP/1.1\r\n"));
    g_assert_true(g_str_has_prefix(server_request(server, 1), "GET / HTTP/1.1\r\n"));
    g_assert_null(strstr(server_request(server, 1), "Bearer"));
    g_assert_null(strstr(server_request(server, 1), "Content-Length"));
}

TEST("/http/client", a_connection_that_the_server_closed_meanwhile_is_not_used)
{
    static const TestReply replies[] = {{.raw = EMPTY}, {.raw = EMPTY}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrHttpClient) client = acr_http_client_new();
    post(client, server, "");
    server_await_closed(server, 1);
    post(client, server, "");
    g_assert_cmpuint(server_connections(server), ==, 2);
}

TEST("/http/client", a_connection_that_was_idle_for_long_is_not_used)
{
    static const TestReply replies[] = {
        {.raw = EMPTY, .keep = true}, {.raw = EMPTY, .keep = true}, {.raw = EMPTY, .keep = true}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrHttpClient) client = acr_http_client_new();
    post(client, server, "");
    g_usleep(1500 * 1000);
    post(client, server, "");
    g_usleep(4100 * 1000);
    post(client, server, "");
    g_assert_cmpuint(server_connections(server), ==, 2);
}

/* The server receives the request, for which it may charge, and then dies: the request must not be
 * sent again. */
TEST("/http/client", a_request_is_not_sent_again_when_its_connection_dies)
{
    static const TestReply replies[] = {{.raw = EMPTY, .keep = true}, {.raw = NULL}, {.raw = EMPTY}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrHttpClient) client = acr_http_client_new();
    post(client, server, "");
    post_fails(client, server->url, ACR_HTTP_ERROR_NETWORK, true);
    post(client, server, "");
    g_assert_cmpuint(server_connections(server), ==, 3); /* the second connection got no answer */
    g_assert_cmpuint(server->requests->len, ==, 3);
}

TEST("/http/client", a_server_that_has_gone_since_is_unreachable)
{
    static const TestReply reply = {.raw = EMPTY, .keep = true};
    g_autoptr(TestServer) server = server_start(&reply, 1);
    g_autoptr(AcrHttpClient) client = acr_http_client_new();
    post(client, server, "");
    server_end(server);
    post_fails(client, server->url, ACR_HTTP_ERROR_UNREACHABLE, false);
}

TEST("/http/client", a_response_with_bytes_behind_it_fails_and_they_do_not_begin_the_next)
{
    static const TestReply replies[] = {{.raw = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                                                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake",
                                         .keep = true},
                                        {.raw = EMPTY}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrHttpClient) client = acr_http_client_new();
    post_fails(client, server->url, ACR_HTTP_ERROR_LENGTH, true);
    post(client, server, "");
    g_assert_cmpuint(server_connections(server), ==, 2);
}

TEST("/http/client", a_failed_exchange_takes_its_connection_with_it)
{
    static const TestReply replies[] = {{.raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", .hang = true},
                                        {.raw = EMPTY}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrHttpClient) client = acr_http_client_new();
    AcrHttpRequest request = {.url = server->url, .idle_timeout_ms = 100};
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_http_exchange(client, &request, &response, &error), error, ACR_HTTP_ERROR,
                      ACR_HTTP_ERROR_TIMEOUT);
    post(client, server, "");
    g_assert_cmpuint(server_connections(server), ==, 2);
}

TEST("/http/client", a_socket_and_a_port_have_connections_of_their_own)
{
    static const TestReply reply = {.raw = EMPTY, .keep = true};
    g_autofree char *folder = g_dir_make_tmp("acr-http-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "s", NULL);
    g_autoptr(TestServer) port = server_start(&reply, 1);
    g_autoptr(TestServer) socket_server = server_start_at(path, &reply, 1);
    g_autoptr(AcrHttpClient) client = acr_http_client_new();
    AcrHttpRequest request = {.url = port->url, .unix_socket = path};
    g_auto(AcrHttpResponse) response = {0};
    post(client, port, "");
    g_assert_true(acr_http_exchange(client, &request, &response, NULL));
    g_assert_cmpuint(server_connections(port), ==, 1);
    g_assert_cmpuint(server_connections(socket_server), ==, 1);
    g_assert_true(acr_dir_remove(folder, NULL));
}

/* A streamed GET whose receiver stops after the first piece. */
static void assert_enough(AcrHttpClient *client, const TestServer *server, const char *expected)
{
    g_autoptr(GString) text = g_string_new(NULL);
    Sink sink = {.text = text, .stop_after = 1, .then = ACR_HTTP_ENOUGH};
    AcrHttpRequest request = {.url = server->url, .on_body = take, .on_body_ctx = &sink};
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GError) error = NULL;
    assert_ok(acr_http_exchange(client, &request, &response, &error), error);
    g_assert_cmpstr(text->str, ==, expected);
    g_assert_cmpuint(sink.calls, ==, 1);
    g_assert_cmpint(response.status, ==, 200);
    g_assert_nonnull(response.headers);
    g_assert_cmpuint(g_bytes_get_size(response.body), ==, 0);
}

TEST("/http/client", enough_of_a_stream_that_stays_open_is_success_and_cuts_it)
{
    static const TestReply replies[] = {{.raw = CHUNKED "3\r\nabc\r\n", .hang = true}, {.raw = EMPTY}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrHttpClient) client = acr_http_client_new();
    gint64 start = now_ms();
    assert_enough(client, server, "abc");
    g_assert_cmpint(now_ms() - start, >=, 90);
    g_assert_cmpint(now_ms() - start, <, 30000);
    post(client, server, "");
    g_assert_cmpuint(server_connections(server), ==, 2);
}

TEST("/http/client", enough_just_before_the_end_keeps_the_connection)
{
    static const TestReply replies[] = {
        {.raw = CHUNKED "3\r\nabc\r\n", .after_ms = 30, .after = "0\r\n\r\n", .keep = true},
        {.raw = EMPTY, .keep = true}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrHttpClient) client = acr_http_client_new();
    assert_enough(client, server, "abc");
    post(client, server, "");
    g_assert_cmpuint(server_connections(server), ==, 1);
}

TEST("/http/client", what_comes_after_enough_is_not_handed_on)
{
    static const TestReply reply = {.raw = CHUNKED "3\r\nabc\r\n", .after_ms = 20, .after = "3\r\ndef\r\n0\r\n\r\n"};
    static const TestReply torn = {.raw = CHUNKED "3\r\nabc\r\n", .after_ms = 20, .after = "zz\r\n"};
    static const TestReply flood = {.raw = CHUNKED "3\r\nabc\r\n", .after_ms = 20, .chunks = 1000};
    const TestReply *const replies[] = {&reply, &torn, &flood};
    for (gsize i = 0; i < G_N_ELEMENTS(replies); i++) {
        g_autoptr(TestServer) server = server_start(replies[i], 1);
        assert_enough(NULL, server, "abc");
    }
}

TEST("/http/client", a_long_rest_is_not_read_to_keep_the_connection)
{
    static const TestReply replies[] = {
        {.raw = CHUNKED "3\r\nabc\r\n", .after_ms = 20, .chunks = 16, .after = "0\r\n\r\n", .keep = true},
        {.raw = EMPTY, .keep = true}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autoptr(AcrHttpClient) client = acr_http_client_new();
    assert_enough(client, server, "abc");
    post(client, server, "");
    g_assert_cmpuint(server_connections(server), ==, 2);
}

/* A streamed GET whose receiver needs nothing more after the first piece. */
static bool exchange_nearly(const TestReply *reply, GString *text, GError **error)
{
    Sink sink = {.text = text, .stop_after = 1, .then = ACR_HTTP_NEARLY};
    AcrHttpRequest request = {.on_body = take, .on_body_ctx = &sink};
    g_auto(AcrHttpResponse) response = {0};
    return exchange(reply, &request, &response, error);
}

TEST("/http/client", what_comes_after_nearly_is_handed_on)
{
    static const TestReply replies[] = {
        {.raw = CHUNKED "3\r\nabc\r\n", .after_ms = 200, .after = "3\r\ndef\r\n0\r\n\r\n"},
        {.raw = CHUNKED "3\r\nabc\r\n", .after_ms = 200, .after = "3\r\ndef\r\n"},
        {.raw = CHUNKED "3\r\nabc\r\n", .after_ms = 200, .after = "3\r\ndef\r\nzz\r\n"}};
    for (gsize i = 0; i < G_N_ELEMENTS(replies); i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(GError) error = NULL;
        assert_ok(exchange_nearly(&replies[i], text, &error), error);
        g_assert_cmpstr(text->str, ==, "abcdef");
    }
}

TEST("/http/client", a_silence_after_nearly_ends_the_exchange)
{
    static const TestReply reply = {.raw = CHUNKED "3\r\nabc\r\n", .hang = true};
    g_autoptr(GString) text = g_string_new(NULL);
    gint64 start = now_ms();
    g_assert_true(exchange_nearly(&reply, text, NULL));
    g_assert_cmpint(now_ms() - start, >=, 1900);
    g_assert_cmpint(now_ms() - start, <, 30000);
}
