/* Tests of how an exchange reaches its server: sockets, proxies, certificates, missing hosts; and
 * of what its errors must not show. */
#include "test_http.h"

TEST("/http/reach", a_unix_socket_is_spoken_to)
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
    g_assert_true(g_str_has_prefix(server_request(server, 0), "GET /version HTTP/1.1\r\nHost: engine\r\n"));
    request.unix_socket = deep;
    assert_fails_with(acr_http_exchange(NULL, &request, &none, &error), error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED);
    g_assert_true(acr_dir_remove(folder, NULL));
}

TEST("/http/reach", loopback_hosts_are_not_reached_through_a_proxy)
{
    g_auto(AcrHttpResponse) response = {0};
    g_setenv("http_proxy", "http://127.0.0.1:1", TRUE);
    g_setenv("ALL_PROXY", "http://127.0.0.1:1", TRUE);
    get_raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &response);
    g_unsetenv("http_proxy");
    g_unsetenv("ALL_PROXY");
}

TEST("/http/reach", a_proxy_of_the_environment_is_used_for_other_hosts)
{
    TestReply reply = {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"};
    g_autoptr(TestServer) server = server_start(&reply, 1);
    AcrHttpRequest request = {.url = "http://host.invalid/x"};
    g_auto(AcrHttpResponse) response = {0};
    g_setenv("http_proxy", server->url, TRUE);
    g_assert_true(acr_http_exchange(NULL, &request, &response, NULL));
    g_unsetenv("http_proxy");
    g_assert_true(g_str_has_prefix(server_request(server, 0), "GET http://host.invalid/x HTTP/1.1\r\n"));
}

TEST("/http/reach", unusable_requests_are_refused_without_showing_them)
{
    const char *const broken[] = {"Authorization: secret\r\nX: y", NULL};
    const AcrHttpRequest requests[] = {{.url = "ftp://secret.invalid/x"},
                                       {.url = "file:///etc/secret"},
                                       {.url = "secret"},
                                       {.url = ""},
                                       {.url = "http://127.0.0.1:1/", .headers = broken},
                                       {.url = "http://"}};
    for (gsize i = 0; i < G_N_ELEMENTS(requests); i++) {
        g_autoptr(GError) error = NULL;
        AcrHttpResponse response = {0};
        g_assert_false(acr_http_exchange(NULL, &requests[i], &response, &error));
        g_assert_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED);
        g_assert_null(strstr(error->message, "secret"));
    }
}

TEST("/http/reach", a_refused_connection_names_host_and_port_only)
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
    assert_fails_with(acr_http_exchange(NULL, &tls, &response, &error), error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED);
}

TEST("/http/reach", what_cannot_be_reached_was_sent_nothing)
{
    static const struct {
        const char *url, *unix_socket, *proxy;
    } rows[] = {{"http://127.0.0.1:1/v1", NULL, NULL},
                {"https://127.0.0.1:1/v1", NULL, NULL},
                {"http://no-such-host.invalid/v1", NULL, NULL},
                {"http://engine/v1", "/nonexistent/socket", NULL},
                {"http://example.invalid/v1", NULL, "http://127.0.0.1:1"},
                {"http://example.invalid/v1", NULL, "http://no-such-proxy.invalid:99"}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        AcrHttpRequest request = {.url = rows[i].url, .unix_socket = rows[i].unix_socket, .body = "x", .body_len = 1};
        g_auto(AcrHttpResponse) response = {0};
        g_autoptr(GError) error = NULL;
        if (rows[i].proxy)
            g_setenv("http_proxy", rows[i].proxy, TRUE);
        g_assert_false(acr_http_exchange(NULL, &request, &response, &error));
        g_unsetenv("http_proxy");
        g_assert_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_UNREACHABLE);
        g_assert_false(response.sent);
        g_assert_cmpint(response.status, ==, 0);
        g_assert_cmpint(response.first_byte_ms, ==, 0);
        g_assert_null(response.headers);
    }
}

TEST("/http/reach", a_server_that_speaks_no_tls_is_sent_nothing)
{
    TestReply plain = {.raw = "HTTP/1.1 400 X\r\nContent-Length: 0\r\n\r\n"};
    g_autoptr(TestServer) server = server_start(&plain, 1);
    g_autofree char *url = g_strdup_printf("https%s", server->url + strlen("http"));
    AcrHttpRequest request = {.url = url, .first_byte_timeout_ms = 300};
    g_auto(AcrHttpResponse) response = {0};
    g_assert_false(acr_http_exchange(NULL, &request, &response, NULL));
    g_assert_false(response.sent);
    g_assert_cmpint(response.status, ==, 0);
}

/* The message of an exchange whose certificates cannot be read; owned. */
static char *certificate_failure(const char *ca_file)
{
    AcrHttpRequest request = {.url = "https://127.0.0.1:1/", .ca_file = ca_file};
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GError) error = NULL;
    g_assert_false(acr_http_exchange(NULL, &request, &response, &error));
    g_assert_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED);
    g_assert_false(response.sent);
    return g_strdup(error->message);
}

TEST("/http/reach", certificates_that_are_not_there_are_named_with_their_variable)
{
    g_autofree char *first = NULL;
    g_autofree char *second = NULL;
    g_autofree char *given = NULL;
    g_auto(AcrHttpResponse) response = {0};
    g_setenv("CURL_CA_BUNDLE", "/nonexistent/bundle.pem", TRUE);
    second = certificate_failure(NULL);
    g_setenv("SSL_CERT_FILE", "/nonexistent/file.pem", TRUE);
    first = certificate_failure(NULL);
    given = certificate_failure("/nonexistent/given.pem");
    /* an exchange without TLS needs no certificates */
    get_raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &response);
    g_unsetenv("CURL_CA_BUNDLE");
    g_unsetenv("SSL_CERT_FILE");
    g_assert_cmpstr(first, ==, "cannot read the certificates '/nonexistent/file.pem' (set by SSL_CERT_FILE)");
    g_assert_nonnull(strstr(second, "'/nonexistent/bundle.pem' (set by CURL_CA_BUNDLE)"));
    g_assert_nonnull(strstr(given, "'/nonexistent/given.pem'"));
}

TEST("/http/reach", urls_are_known_by_host_and_port)
{
    static const struct {
        const char *url, *authority;
        bool loopback;
    } rows[] = {{"https://api.openai.com/v1", "api.openai.com:443", false},
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
                {"http://a b/", NULL, false}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *authority = acr_http_url_authority(rows[i].url);
        g_assert_cmpstr(authority, ==, rows[i].authority);
        g_assert_cmpint(acr_http_url_is_loopback(rows[i].url), ==, rows[i].loopback);
    }
}
