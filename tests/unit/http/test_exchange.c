/* Tests of exchanges with a real server on loopback, which answers correctly or incorrectly. */
#include "test_http.h"

TEST("/http/exchange", a_body_of_told_length_comes_whole)
{
    g_auto(AcrHttpResponse) response = {0};
    get_raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Two:  a \r\nx-TWO: b\r\nEmpty:\r\n\r\nhello", &response);
    g_assert_cmpint(response.status, ==, 200);
    assert_body(&response, "hello");
    g_assert_cmpstr(header(&response, "x-two"), ==, "b");
    g_assert_cmpstr(header(&response, "empty"), ==, "");
    g_assert_cmpint(response.wall_ms, >=, response.first_byte_ms);
}

TEST("/http/exchange", chunked_and_close_delimited_bodies_come_whole)
{
    g_auto(AcrHttpResponse) chunked = {0};
    g_auto(AcrHttpResponse) closed = {0};
    g_auto(AcrHttpResponse) empty = {0};
    get_raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: "
            "chunked\r\n\r\n1\r\na\r\n3;x=y\r\nbcd\r\n0\r\nX-Late: 1\r\n\r\n",
            &chunked);
    assert_body(&chunked, "abcd");
    g_assert_null(header(&chunked, "x-late")); /* trailers are not headers */
    get_raw("HTTP/1.1 200 OK\r\n\r\nto the end", &closed);
    assert_body(&closed, "to the end");
    get_raw("HTTP/1.1 204 No Content\r\n\r\n", &empty);
    g_assert_cmpint(empty.status, ==, 204);
    assert_body(&empty, "");
}

TEST("/http/exchange", interim_responses_without_end_are_refused)
{
    AcrHttpRequest request = {0};
    g_autoptr(GString) many = g_string_new(NULL);
    for (int i = 0; i < 400; i++)
        g_string_append(many, "HTTP/1.1 103 Early Hints\r\n\r\n");
    assert_fails(&(TestReply){.raw = many->str}, &request, ACR_HTTP_ERROR_TOO_BIG);
    g_string_truncate(many, strlen("HTTP/1.1 103 Early Hints\r\n\r\n"));
    assert_fails(&(TestReply){.raw = many->str}, &request, ACR_HTTP_ERROR_NETWORK);
}

TEST("/http/exchange", a_head_ends_where_the_body_begins)
{
    g_auto(AcrHttpResponse) response = {0};
    get_raw("HTTP/1.1 200 OK\r\nX-Real: 1\r\n\rX-Not: 2\r\nbody", &response);
    g_assert_cmpuint(g_hash_table_size(response.headers), ==, 1);
    assert_body(&response, "body");
}

TEST("/http/exchange", trailers_are_not_headers_whatever_they_look_like)
{
    g_auto(AcrHttpResponse) response = {0};
    get_raw("HTTP/1.1 200 OK\r\nX-Real: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
            "HTTP/1.1 500 X: y\r\nX-Real: 2\r\nRetry-After: 9\r\n\r\n",
            &response);
    g_assert_cmpint(response.status, ==, 200);
    g_assert_cmpstr(header(&response, "x-real"), ==, "1");
    g_assert_null(header(&response, "retry-after"));
    assert_body(&response, "ok");
}

/* A gzip member with "hello". */
#define GZIP                                                                                                           \
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00"                     \
    "\x00\x00"

TEST("/http/exchange", packed_content_is_not_asked_for_and_passed_as_it_is)
{
    static const char raw[] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 25\r\n\r\n" GZIP;
    TestReply reply = {.raw = raw, .raw_len = sizeof raw - 1};
    g_autoptr(TestServer) server = server_start(&reply, 1);
    AcrHttpRequest request = {.url = server->url};
    g_auto(AcrHttpResponse) response = {0};
    gsize len = 0;
    const void *data = NULL;
    g_assert_true(acr_http_exchange(NULL, &request, &response, NULL));
    data = g_bytes_get_data(response.body, &len);
    g_assert_cmpmem(data, len, GZIP, sizeof GZIP - 1);
    g_assert_null(strstr(server_request(server, 0), "Encoding"));
}

/* A gzip member with a thousand "x". */
#define PACKED                                                                                                         \
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xab\xa8\x18\x05\xa3\x60\x14\x0c\x77\x00\x00\xe6\xc9"                     \
    "\x41\x3b\xe8\x03\x00\x00"

/* libcurl decompresses a body with a transfer coding, even if the request did not allow it. */
TEST("/http/exchange", the_ceiling_of_a_body_is_of_what_it_unpacks_to)
{
    static const char raw[] =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1d\r\n" PACKED "\r\n0\r\n\r\n";
    TestReply reply = {.raw = raw, .raw_len = sizeof raw - 1};
    AcrHttpRequest loose = {.body_limit = 1000};
    AcrHttpRequest tight = {.body_limit = 999};
    g_auto(AcrHttpResponse) response = {0};
    g_assert_true(exchange(&reply, &loose, &response, NULL));
    g_assert_cmpuint(g_bytes_get_size(response.body), ==, 1000);
    assert_fails(&reply, &tight, ACR_HTTP_ERROR_TOO_BIG);
}

TEST("/http/exchange", what_is_sent_is_what_was_given)
{
    TestReply replies[] = {{.raw = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
                           {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
                           {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}};
    g_autoptr(TestServer) server = server_start(replies, G_N_ELEMENTS(replies));
    g_autofree char *url = g_strconcat(server->url, "/v1/chat?x=1", NULL);
    g_autofree char *big = g_strnfill(3 * 1024 * 1024, 'b');
    const char *const headers[] = {"Authorization: Bearer k", "X-Empty;", NULL};
    AcrHttpRequest post = {.url = url, .headers = headers, .body = big, .body_len = strlen(big)};
    AcrHttpRequest get = {.url = url};
    AcrHttpRequest delete = {.url = url, .method = "DELETE"};
    for (gsize i = 0; i < 3; i++) {
        const AcrHttpRequest *const requests[] = {&post, &get, &delete};
        g_auto(AcrHttpResponse) response = {0};
        g_assert_true(acr_http_exchange(NULL, requests[i], &response, NULL));
    }
    g_assert_true(g_str_has_prefix(server_request(server, 0), "POST /v1/chat?x=1 HTTP/1.1\r\nHost: 127.0.0.1:"));
    g_assert_nonnull(strstr(server_request(server, 0), "\r\nAuthorization: Bearer k\r\n"));
    g_assert_nonnull(strstr(server_request(server, 0), "\r\nContent-Length: 3145728\r\n"));
    g_assert_null(strstr(server_request(server, 0), "Expect"));
    g_assert_null(strstr(server_request(server, 0), "Content-Type"));
    g_assert_cmpstr(server_request_body(server, 0), ==, big);
    g_assert_true(g_str_has_prefix(server_request(server, 1), "GET /v1/chat?x=1 HTTP/1.1\r\n"));
    g_assert_null(strstr(server_request(server, 1), "Cookie"));
    g_assert_true(g_str_has_prefix(server_request(server, 2), "DELETE /v1/chat?x=1 HTTP/1.1\r\n"));
}

TEST("/http/exchange", bodies_over_the_ceiling_are_refused)
{
    AcrHttpRequest limited = {.body_limit = 1000};
    AcrHttpRequest normal = {0};
    TestReply told = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", .fill = 1001};
    TestReply exact = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", .fill = 1000};
    TestReply chunked = {
        .raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .chunks = 1, .after = "0\r\n\r\n"};
    TestReply endless = {.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .chunks = 3200}; /* 200 MiB */
    g_auto(AcrHttpResponse) response = {0};
    assert_fails(&told, &limited, ACR_HTTP_ERROR_TOO_BIG);
    assert_fails(&chunked, &limited, ACR_HTTP_ERROR_TOO_BIG);
    assert_fails(&endless, &normal, ACR_HTTP_ERROR_TOO_BIG);
    g_assert_true(exchange(&exact, &limited, &response, NULL));
    g_assert_cmpuint(g_bytes_get_size(response.body), ==, 1000);
}

TEST("/http/exchange", headers_over_the_ceilings_are_refused)
{
    AcrHttpRequest request = {0};
    g_autoptr(GString) many = g_string_new("HTTP/1.1 200 OK\r\n");
    g_autoptr(GString) large = g_string_new("HTTP/1.1 200 OK\r\n");
    g_autofree char *value = g_strnfill(60000, 'v');
    for (int i = 0; i < 600; i++)
        g_string_append_printf(many, "X-%d: 1\r\n", i);
    for (int i = 0; i < 5; i++)
        g_string_append_printf(large, "X-%d: %s\r\n", i, value);
    g_string_append(many, "\r\n");
    g_string_append(large, "\r\n");
    assert_fails(&(TestReply){.raw = many->str}, &request, ACR_HTTP_ERROR_TOO_BIG);
    assert_fails(&(TestReply){.raw = large->str}, &request, ACR_HTTP_ERROR_TOO_BIG);
}

TEST("/http/exchange", what_came_before_a_failure_is_told)
{
    static const char *const cut[] = {
        "HTTP/1.1 503 X\r\nRetry-After: 7\r\nContent-Length: 10\r\n\r\nfive!",
        "HTTP/1.1 503 X\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfive!\r\n"};
    static const int codes[] = {ACR_HTTP_ERROR_LENGTH, ACR_HTTP_ERROR_NETWORK};
    AcrHttpRequest request = {0};
    for (gsize i = 0; i < G_N_ELEMENTS(cut); i++) {
        g_auto(AcrHttpResponse) response = {0};
        g_autoptr(GError) error = NULL;
        g_assert_false(exchange(&(TestReply){.raw = cut[i]}, &request, &response, &error));
        g_assert_error(error, ACR_HTTP_ERROR, codes[i]);
        g_assert_cmpint(response.status, ==, 503);
        g_assert_cmpstr(header(&response, "retry-after"), ==, "7");
        g_assert_null(response.body);
        g_assert_true(response.sent);
        g_assert_cmpint(response.first_byte_ms, >=, 1);
        g_assert_cmpint(response.wall_ms, >=, response.first_byte_ms);
    }
}

TEST("/http/exchange", a_head_that_is_cut_is_no_head)
{
    TestReply reply = {.raw = "HTTP/1.1 503 X\r\nRetry-After: 7\r\n"};
    AcrHttpRequest request = {0};
    g_auto(AcrHttpResponse) response = {0};
    g_assert_false(exchange(&reply, &request, &response, NULL));
    g_assert_cmpint(response.status, ==, 0);
    g_assert_null(response.headers);
    g_assert_true(response.sent);
}

TEST("/http/exchange", transfers_that_break_off_are_network_errors)
{
    static const char *const raws[] = {NULL,
                                       "",
                                       "HTTP/1.1 200 OK\r\nContent-Le",
                                       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
                                       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                                       "<html>no status line</html>",
                                       "SSH-2.0-OpenSSH_9\r\n",
                                       "HTTP/1.1 099 X\r\nContent-Length: 2\r\n\r\nok",
                                       "HTTP/1.1 000 X\r\n\r\n"};
    AcrHttpRequest request = {0};
    for (gsize i = 0; i < G_N_ELEMENTS(raws); i++)
        assert_fails(&(TestReply){.raw = raws[i]}, &request, ACR_HTTP_ERROR_NETWORK);
}

static AcrHttpNext take_any(void *ctx, const AcrHttpHead *head, const char *data, gsize len)
{
    (void)head;
    (void)data;
    (void)len;
    return *(AcrHttpNext *)ctx;
}

TEST("/http/exchange", a_body_of_another_length_than_was_said_fails)
{
#define FIVE "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
    static const TestReply replies[] = {
        {.raw = FIVE "\r\n"},
        {.raw = FIVE "\r\nfour"},
        {.raw = FIVE "\r\nfives"
                     "!"},
        {.raw = FIVE "\r\nfives", .after = "!"},
        {.raw = FIVE "\r\nfives", .after = "HTTP/1.1 200 OK\r\n\r\n"},
        {.raw = FIVE "Connection: close\r\n\r\nfives!"},
        {.raw = FIVE "Connection: close\r\n\r\nfives", .after = "!"},
        {.raw = "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nfives", .fill = 100000},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000000000000\r\n\r\nfives"},
        {.raw = FIVE "Transfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n"},
        {.raw = FIVE "Transfer-Encoding: chunked\r\n\r\n6\r\nfives!\r\n0\r\n\r\n"}};
    static AcrHttpNext nexts[] = {ACR_HTTP_MORE, ACR_HTTP_NEARLY, ACR_HTTP_ENOUGH};
    AcrHttpRequest request = {.on_body = take_any};
    TestReply exact = {.raw = FIVE "\r\nfives"};
    for (gsize next = 0; next < G_N_ELEMENTS(nexts); next++) {
        g_auto(AcrHttpResponse) response = {0};
        request.on_body_ctx = &nexts[next];
        for (gsize i = 0; i < G_N_ELEMENTS(replies); i++)
            assert_fails(&replies[i], &request, ACR_HTTP_ERROR_LENGTH);
        g_assert_true(exchange(&exact, &request, &response, NULL));
    }
#undef FIVE
}

TEST("/http/exchange", a_streamed_body_comes_in_pieces_and_can_be_stopped)
{
    TestReply reply = {.raw = "HTTP/1.1 418 X\r\nTransfer-Encoding: "
                              "chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"};
    TestReply endless = {.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", .hang = true};
    g_autoptr(GString) text = g_string_new(NULL);
    Sink sink = {.text = text, .stop_after = 100, .then = ACR_HTTP_STOP};
    AcrHttpRequest request = {.on_body = take, .on_body_ctx = &sink};
    g_auto(AcrHttpResponse) response = {0};
    g_assert_true(exchange(&reply, &request, &response, NULL));
    g_assert_cmpstr(text->str, ==, "abcdef");
    g_assert_cmpint(sink.status, ==, 418);
    g_assert_cmpuint(g_bytes_get_size(response.body), ==, 0);
    g_string_truncate(text, 0);
    sink.stop_after = 2;
    assert_fails(&endless, &request, ACR_HTTP_ERROR_STOPPED);
}

static void *exchange_many(void *data)
{
    for (int i = 0; i < 5; i++) {
        g_auto(AcrHttpResponse) response = {0};
        get_raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", &response);
        assert_body(&response, "hello");
    }
    return NULL;
}

TEST("/http/exchange", threads_exchange_side_by_side)
{
    pthread_t threads[4];
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        g_assert_cmpint(pthread_create(&threads[i], NULL, exchange_many, NULL), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        pthread_join(threads[i], NULL);
}
