/* Exchanges with a real server on loopback that does what servers do, and what they should not. */
#include "http/http.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>

#include "server.h"

static AcrInterrupt alarm_interrupt; /* set by the handler of SIGALRM */

static void on_alarm(int number)
{
    alarm_interrupt.signal = number;
}

/* The interrupt is set by a signal, `ms` from now, as in the program. */
static void interrupt_in(int ms)
{
    struct itimerval timer = {.it_value = {.tv_usec = ms * 1000}};

    alarm_interrupt.signal = 0;
    signal(SIGALRM, on_alarm);
    g_assert_cmpint(setitimer(ITIMER_REAL, &timer, NULL), ==, 0);
}

static gint64 now_ms(void)
{
    return g_get_monotonic_time() / 1000;
}

static bool exchange(const TestReply *reply, const AcrHttpRequest *given, AcrHttpResponse *out,
                     GError **error)
{
    g_autoptr(TestServer) server = server_start(reply, 1);
    g_autofree char *url = g_strconcat(server->url, "/secret/path?key=secret", NULL);
    AcrHttpRequest request = *given;

    request.url = url;
    return acr_http_exchange(NULL, &request, out, error);
}

static void get_raw(const char *raw, AcrHttpResponse *out)
{
    TestReply reply = {.raw = raw};
    AcrHttpRequest request = {0};
    g_autoptr(GError) error = NULL;
    bool ok = exchange(&reply, &request, out, &error);

    g_assert_no_error(error);
    g_assert_true(ok);
}

static void assert_fails(const TestReply *reply, const AcrHttpRequest *request, int code)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrHttpResponse) response = {0};

    g_assert_false(exchange(reply, request, &response, &error));
    g_assert_error(error, ACR_HTTP_ERROR, code);
    g_assert_null(strstr(error->message, "secret"));
    g_assert_null(response.body);
    g_assert_true(response.sent);
}

static void assert_body(const AcrHttpResponse *response, const char *text)
{
    gsize len = 0;
    const void *data = g_bytes_get_data(response->body, &len);

    g_assert_cmpmem(data, len, text, strlen(text));
}

static const char *header(const AcrHttpResponse *response, const char *name)
{
    return g_hash_table_lookup(response->headers, name);
}

static void a_body_of_told_length_comes_whole(void)
{
    g_auto(AcrHttpResponse) response = {0};

    get_raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Two:  a \r\nx-TWO: b\r\nEmpty:\r\n\r\nhello",
            &response);
    g_assert_cmpint(response.status, ==, 200);
    assert_body(&response, "hello");
    g_assert_cmpstr(header(&response, "x-two"), ==, "b");
    g_assert_cmpstr(header(&response, "empty"), ==, "");
    g_assert_cmpint(response.wall_ms, >=, response.first_byte_ms);
}

static void chunked_and_close_delimited_bodies_come_whole(void)
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

static void every_status_is_a_response(void)
{
    static const int statuses[] = {302, 401, 404, 429, 500, 529};

    for (gsize i = 0; i < G_N_ELEMENTS(statuses); i++) {
        g_auto(AcrHttpResponse) response = {0};
        g_autofree char *raw =
            g_strdup_printf("HTTP/1.1 %d X\r\nLocation: http://127.0.0.1:1/\r\nWWW-Authenticate: "
                            "Basic\r\nContent-Length: 2\r\n\r\nno",
                            statuses[i]);

        get_raw(raw, &response);
        g_assert_cmpint(response.status, ==, statuses[i]);
        assert_body(&response, "no");
    }
}

static void headers_of_an_interim_response_are_dropped(void)
{
    g_auto(AcrHttpResponse) response = {0};

    get_raw("HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
            "0\r\n\r\n",
            &response);
    g_assert_cmpint(response.status, ==, 200);
    g_assert_null(header(&response, "x-early"));
}

static void what_is_sent_is_what_was_given(void)
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
    g_assert_true(g_str_has_prefix(server_request(server, 0),
                                   "POST /v1/chat?x=1 HTTP/1.1\r\nHost: 127.0.0.1:"));
    g_assert_nonnull(strstr(server_request(server, 0), "\r\nAuthorization: Bearer k\r\n"));
    g_assert_nonnull(strstr(server_request(server, 0), "\r\nContent-Length: 3145728\r\n"));
    g_assert_null(strstr(server_request(server, 0), "Expect"));
    g_assert_null(strstr(server_request(server, 0), "Content-Type"));
    g_assert_cmpstr(server_request_body(server, 0), ==, big);
    g_assert_true(g_str_has_prefix(server_request(server, 1), "GET /v1/chat?x=1 HTTP/1.1\r\n"));
    g_assert_null(strstr(server_request(server, 1), "Cookie"));
    g_assert_true(g_str_has_prefix(server_request(server, 2), "DELETE /v1/chat?x=1 HTTP/1.1\r\n"));
}

static void bodies_over_the_ceiling_are_refused(void)
{
    AcrHttpRequest limited = {.body_limit = 1000};
    AcrHttpRequest normal = {0};
    TestReply told = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", .fill = 1001};
    TestReply exact = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", .fill = 1000};
    TestReply chunked = {.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                         .chunks = 1,
                         .after = "0\r\n\r\n"};
    TestReply endless = {.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                         .chunks = 2000};
    g_auto(AcrHttpResponse) response = {0};

    assert_fails(&told, &limited, ACR_HTTP_ERROR_TOO_BIG);
    assert_fails(&chunked, &limited, ACR_HTTP_ERROR_TOO_BIG);
    assert_fails(&endless, &normal, ACR_HTTP_ERROR_TOO_BIG);
    g_assert_true(exchange(&exact, &limited, &response, NULL));
    g_assert_cmpuint(g_bytes_get_size(response.body), ==, 1000);
}

static void headers_over_the_ceilings_are_refused(void)
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

static void transfers_that_break_off_are_network_errors(void)
{
    static const char *const raws[] = {
        NULL,
        "",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive!",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "<html>no status line</html>",
        "SSH-2.0-OpenSSH_9\r\n",
    };
    AcrHttpRequest request = {0};

    for (gsize i = 0; i < G_N_ELEMENTS(raws); i++)
        assert_fails(&(TestReply){.raw = raws[i]}, &request, ACR_HTTP_ERROR_NETWORK);
}

static void slow_bytes_are_waited_for(void)
{
    TestReply reply = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", .byte_ms = 5};
    AcrHttpRequest request = {.idle_timeout_ms = 2000};
    g_auto(AcrHttpResponse) response = {0};

    g_assert_true(exchange(&reply, &request, &response, NULL));
    assert_body(&response, "hello");
}

static void assert_times_out(const TestReply *reply, const AcrHttpRequest *request)
{
    gint64 start = now_ms();

    assert_fails(reply, request, ACR_HTTP_ERROR_TIMEOUT);
    g_assert_cmpint(now_ms() - start, >=, 190);
    g_assert_cmpint(now_ms() - start, <, 2000);
}

static void each_deadline_ends_the_exchange(void)
{
    TestReply silent = {.hang = true};
    TestReply half = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", .hang = true};
    TestReply slow = {
        .raw =
            "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        .byte_ms = 50};

    assert_times_out(&silent, &(AcrHttpRequest){.first_byte_timeout_ms = 200});
    assert_times_out(&silent, &(AcrHttpRequest){.total_timeout_ms = 200});
    assert_times_out(&half,
                     &(AcrHttpRequest){.idle_timeout_ms = 200, .first_byte_timeout_ms = 5000});
    assert_times_out(&slow, &(AcrHttpRequest){.total_timeout_ms = 400});
}

static void silence_before_the_first_byte_is_not_idleness(void)
{
    TestReply reply = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", .wait_ms = 400};
    AcrHttpRequest request = {.idle_timeout_ms = 100};
    g_auto(AcrHttpResponse) response = {0};

    g_assert_true(exchange(&reply, &request, &response, NULL));
    g_assert_cmpint(response.first_byte_ms, >=, 390);
}

/* A listener whose queue is full: further connections get no answer at all. */
static int full_listener(int *fillers, gsize n, int *out_port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof in;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_assert_cmpint(bind(fd, (struct sockaddr *)&in, len), ==, 0);
    g_assert_cmpint(listen(fd, 0), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&in, &len), ==, 0);
    for (gsize i = 0; i < n; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)!connect(fillers[i], (struct sockaddr *)&in, len);
    }
    g_usleep(50000);
    *out_port = ntohs(in.sin_port);
    return fd;
}

static void a_connection_that_hangs_ends_by_its_deadline_or_an_interrupt(void)
{
    int fillers[8];
    int port = 0;
    int fd = full_listener(fillers, G_N_ELEMENTS(fillers), &port);
    g_autofree char *url = g_strdup_printf("http://127.0.0.1:%d/", port);
    AcrHttpRequest request = {.url = url, .connect_timeout_ms = 200};
    AcrHttpResponse response = {0};
    g_autoptr(GError) error = NULL;
    gint64 start = now_ms();

    g_assert_false(acr_http_exchange(NULL, &request, &response, &error));
    g_assert_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_TIMEOUT);
    g_assert_cmpint(now_ms() - start, <, 2000);
    g_clear_error(&error);
    request.connect_timeout_ms = 0;
    request.interrupt = &alarm_interrupt;
    interrupt_in(200);
    start = now_ms();
    g_assert_false(acr_http_exchange(NULL, &request, &response, &error));
    g_assert_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_INTERRUPTED);
    g_assert_cmpint(now_ms() - start, <, 700);
    for (gsize i = 0; i < G_N_ELEMENTS(fillers); i++)
        close(fillers[i]);
    close(fd);
}

static void an_interrupt_ends_a_wait_within_a_moment(void)
{
    TestReply silent = {.hang = true};
    TestReply half = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", .hang = true};
    AcrHttpRequest request = {.interrupt = &alarm_interrupt};

    for (int i = 0; i < 2; i++) {
        gint64 start = now_ms();

        interrupt_in(200);
        assert_fails(i ? &half : &silent, &request, ACR_HTTP_ERROR_INTERRUPTED);
        g_assert_cmpint(now_ms() - start, >=, 190);
        g_assert_cmpint(now_ms() - start, <, 700);
    }
}

typedef struct {
    GString *text;
    gsize stop_after;
    AcrHttpNext then; /* what is said after that many bytes */
    int status;
} Sink;

static AcrHttpNext take(void *ctx, const AcrHttpHead *head, const char *data, gsize len)
{
    Sink *sink = ctx;

    sink->status = head->status;
    g_string_append_len(sink->text, data, (gssize)len);
    return sink->text->len < sink->stop_after ? ACR_HTTP_MORE : sink->then;
}

static void a_streamed_body_comes_in_pieces_and_can_be_stopped(void)
{
    TestReply reply = {.raw = "HTTP/1.1 418 X\r\nTransfer-Encoding: "
                              "chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"};
    TestReply endless = {.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
                         .hang = true};
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

static void a_unix_socket_is_spoken_to(void)
{
    TestReply reply = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"};
    g_autofree char *folder = g_dir_make_tmp("acr-http-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "s", NULL);
    g_autofree char *deep = g_strnfill(200, 'd');
    g_autoptr(TestServer) server = server_start_at(path, &reply, 1);
    AcrHttpRequest request = {.url = "http://engine/version", .unix_socket = path};
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GError) error = NULL;
    AcrHttpResponse none = {0};

    g_assert_true(acr_http_exchange(NULL, &request, &response, NULL));
    assert_body(&response, "ok");
    g_assert_true(
        g_str_has_prefix(server_request(server, 0), "GET /version HTTP/1.1\r\nHost: engine\r\n"));
    request.unix_socket = deep;
    g_assert_false(acr_http_exchange(NULL, &request, &none, &error));
    g_assert_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED);
    g_assert_true(acr_dir_remove(folder, NULL));
}

static void loopback_hosts_are_not_reached_through_a_proxy(void)
{
    g_auto(AcrHttpResponse) response = {0};

    g_setenv("http_proxy", "http://127.0.0.1:1", TRUE);
    g_setenv("ALL_PROXY", "http://127.0.0.1:1", TRUE);
    get_raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &response);
    g_unsetenv("http_proxy");
    g_unsetenv("ALL_PROXY");
}

static void a_proxy_of_the_environment_is_used_for_other_hosts(void)
{
    TestReply reply = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"};
    g_autoptr(TestServer) server = server_start(&reply, 1);
    AcrHttpRequest request = {.url = "http://host.invalid/x"};
    g_auto(AcrHttpResponse) response = {0};

    g_setenv("http_proxy", server->url, TRUE);
    g_assert_true(acr_http_exchange(NULL, &request, &response, NULL));
    g_unsetenv("http_proxy");
    g_assert_true(
        g_str_has_prefix(server_request(server, 0), "GET http://host.invalid/x HTTP/1.1\r\n"));
}

static void unusable_requests_are_refused_without_showing_them(void)
{
    const char *const broken[] = {"Authorization: secret\r\nX: y", NULL};
    const AcrHttpRequest requests[] = {
        {.url = "ftp://secret.invalid/x"},
        {.url = "file:///etc/secret"},
        {.url = "secret"},
        {.url = ""},
        {.url = "http://127.0.0.1:1/", .headers = broken},
        {.url = "http://"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(requests); i++) {
        g_autoptr(GError) error = NULL;
        AcrHttpResponse response = {0};

        g_assert_false(acr_http_exchange(NULL, &requests[i], &response, &error));
        g_assert_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED);
        g_assert_null(strstr(error->message, "secret"));
    }
}

static void a_refused_connection_names_host_and_port_only(void)
{
    AcrHttpRequest request = {.url = "http://user:secret@127.0.0.1:1/secret?secret"};
    AcrHttpRequest tls = {0};
    TestReply plain = {.raw = "HTTP/1.1 200 OK\r\n\r\n"};
    g_autoptr(TestServer) server = server_start(&plain, 1);
    g_autofree char *tls_url = g_strdup_printf("https%s", server->url + 4);
    g_autoptr(GError) error = NULL;
    AcrHttpResponse response = {0};

    g_assert_false(acr_http_exchange(NULL, &request, &response, &error));
    g_assert_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_UNREACHABLE);
    g_assert_false(response.sent);
    g_assert_nonnull(strstr(error->message, "127.0.0.1:1"));
    g_assert_null(strstr(error->message, "secret"));
    g_clear_error(&error);
    tls.url = tls_url;
    tls.ca_file = "/nonexistent/ca.pem";
    g_assert_false(acr_http_exchange(NULL, &tls, &response, &error));
    g_assert_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED);
}

static void urls_are_known_by_host_and_port(void)
{
    static const struct {
        const char *url, *authority;
        bool loopback;
    } rows[] = {
        {"https://api.openai.com/v1", "api.openai.com:443", false},
        {"http://u:p@Localhost:8080/x", "Localhost:8080", true},
        {"http://127.0.0.1", "127.0.0.1:80", true},
        {"http://127.9.9.9/", "127.9.9.9:80", true},
        {"http://[::1]:99/", "[::1]:99", true},
        {"http://127.0.0.1.example.com/", "127.0.0.1.example.com:80", false},
        {"http://localhost.example.com/", "localhost.example.com:80", false},
        {"http://127.example/", "127.example:80", false},
        {"http://localhost@example.com/", "example.com:80", false},
        {"ftp://x/", NULL, false},
        {"x", NULL, false},
        {"http://a b/", NULL, false},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *authority = acr_http_url_authority(rows[i].url);

        g_assert_cmpstr(authority, ==, rows[i].authority);
        g_assert_cmpint(acr_http_url_is_loopback(rows[i].url), ==, rows[i].loopback);
    }
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

static void threads_exchange_side_by_side(void)
{
    pthread_t threads[4];

    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        g_assert_cmpint(pthread_create(&threads[i], NULL, exchange_many, NULL), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        pthread_join(threads[i], NULL);
}

#define TEST(name) g_test_add_func("/http/http/" #name, name)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_assert_true(acr_http_global_init(NULL));
    TEST(a_body_of_told_length_comes_whole);
    TEST(chunked_and_close_delimited_bodies_come_whole);
    TEST(every_status_is_a_response);
    TEST(headers_of_an_interim_response_are_dropped);
    TEST(what_is_sent_is_what_was_given);
    TEST(bodies_over_the_ceiling_are_refused);
    TEST(headers_over_the_ceilings_are_refused);
    TEST(transfers_that_break_off_are_network_errors);
    TEST(slow_bytes_are_waited_for);
    TEST(each_deadline_ends_the_exchange);
    TEST(silence_before_the_first_byte_is_not_idleness);
    TEST(a_connection_that_hangs_ends_by_its_deadline_or_an_interrupt);
    TEST(an_interrupt_ends_a_wait_within_a_moment);
    TEST(a_streamed_body_comes_in_pieces_and_can_be_stopped);
    TEST(a_unix_socket_is_spoken_to);
    TEST(loopback_hosts_are_not_reached_through_a_proxy);
    TEST(a_proxy_of_the_environment_is_used_for_other_hosts);
    TEST(unusable_requests_are_refused_without_showing_them);
    TEST(a_refused_connection_names_host_and_port_only);
    TEST(threads_exchange_side_by_side);
    g_test_add_func("/http/url/urls_are_known_by_host_and_port", urls_are_known_by_host_and_port);
    return g_test_run();
}
