/* Tests of the loopback-only server: which requests it accepts, its limits, streams, and clients
 * that disconnect. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/server.h"
#include "test_http.h"

#define LIMIT 1000

typedef struct {
    AcrHttpServer *server;
    AcrHttpIncoming *kept; /* the requests "/later" and "/events"; atomic */
    int gone;              /* atomic */
    char host[32];
} Fixture;

static void answer(void *ctx, AcrHttpIncoming *incoming)
{
    Fixture *fixture = ctx;
    const char *path = acr_http_incoming_path(incoming);
    gsize len;
    const char *body = acr_http_incoming_body(incoming, &len);
    if (strcmp(path, "/events") == 0)
        acr_http_incoming_begin_events(incoming);
    if (strcmp(path, "/events") == 0 || strcmp(path, "/later") == 0) {
        __atomic_store_n(&fixture->kept, acr_http_incoming_ref(incoming), __ATOMIC_RELEASE);
        return;
    }
    g_autofree char *text = g_strdup_printf("%s %s %.*s", acr_http_incoming_method(incoming), path, (int)len, body);
    acr_http_incoming_answer(incoming, 200, "text/plain", text, strlen(text));
}

static void gone(void *ctx, AcrHttpIncoming *incoming)
{
    __atomic_store_n(&((Fixture *)ctx)->gone, 1, __ATOMIC_RELEASE);
}

static void start(Fixture *fixture, gint64 request_ms)
{
    const AcrHttpServerOptions options = {.body_limit = LIMIT,
                                          .takes_token_of_query = true,
                                          .request_ms = request_ms,
                                          .answer = answer,
                                          .gone = gone,
                                          .ctx = fixture};
    *fixture = (Fixture){.server = acr_http_server_start(&options, NULL)};
    g_assert_nonnull(fixture->server);
    g_snprintf(fixture->host, sizeof fixture->host, "127.0.0.1:%u", acr_http_server_port(fixture->server));
}

static int connected(const Fixture *fixture)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)acr_http_server_port(fixture->server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
    return fd;
}

/* Sends a request line with headers and a body; returns the connection. */
static int sent(const Fixture *fixture, const char *line, const char *host, const char *token, const char *more)
{
    int fd = connected(fixture);
    g_autofree char *text =
        g_strdup_printf("%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s%s%s%s", line, host,
                        token ? "Authorization: Bearer " : "", token ? token : "", token ? "\r\n" : "", more);
    g_assert_cmpint(acr_fd_write_all(fd, text, strlen(text)), ==, 0);
    return fd;
}

/* Reads until the connection is closed. */
static char *received(int fd)
{
    g_autoptr(GBytes) bytes = acr_fd_read_all(fd, "a test", 1 << 20, 30000, NULL, NULL);
    close(fd);
    return bytes ? acr_bytes_text(bytes) : g_strdup("");
}

static void assert_status(int fd, int status)
{
    g_autofree char *reply = received(fd), *start = g_strdup_printf("HTTP/1.1 %d ", status);
    if (!g_str_has_prefix(reply, start))
        g_error("not %d: %s", status, reply);
}

static AcrHttpIncoming *kept(Fixture *fixture)
{
    AcrHttpIncoming *incoming;
    while (!(incoming = __atomic_load_n(&fixture->kept, __ATOMIC_ACQUIRE)))
        g_usleep(1000);
    return incoming;
}

TEST("/http/server", only_programs_with_the_token_are_answered)
{
    Fixture fixture;
    start(&fixture, 0);
    const char *token = acr_http_server_token(fixture.server), *port = strchr(fixture.host, ':');
    g_autofree char *almost = g_strdup(token), *local = g_strconcat("LOCALHOST", port, NULL),
                    *foreign = g_strconcat("127.0.0.1.evil.example", port, NULL),
                    *query = g_strdup_printf("GET /a%%20b?token=%s", token),
                    *own = g_strdup_printf("Origin: http://%s\r\n\r\n", fixture.host);
    almost[39] = almost[39] == '0' ? '1' : '0';
    g_assert_cmpuint(strlen(token), ==, 40);
    g_autofree char *reply = received(sent(&fixture, query, fixture.host, NULL, "\r\n"));
    g_assert_nonnull(strstr(reply, "\r\n\r\nGET /a b "));
    g_assert_nonnull(strstr(reply, "\r\nCache-Control: no-store\r\n"));
    assert_status(sent(&fixture, "GET /", local, token, own), 403); /* another origin */
    assert_status(sent(&fixture, "GET /", fixture.host, token, own), 200);
    assert_status(sent(&fixture, "GET /", fixture.host, token, "Origin: null\r\n\r\n"), 403);
    assert_status(sent(&fixture, "GET /", foreign, token, "\r\n"), 403);
    assert_status(sent(&fixture, "GET /", fixture.host, token, "Host: localhost\r\n\r\n"), 403);
    assert_status(sent(&fixture, "GET /", fixture.host, almost, "\r\n"), 401);
    assert_status(sent(&fixture, "GET /?token=", fixture.host, NULL, "\r\n"), 401);
    acr_http_server_stop(fixture.server);
}

TEST("/http/server", bodies_are_bounded)
{
    Fixture fixture;
    start(&fixture, 0);
    const char *token = acr_http_server_token(fixture.server);
    g_autofree char *full = g_strnfill(LIMIT, 'x'),
                    *fits = g_strdup_printf("Content-Length: %d\r\n\r\n%s", LIMIT, full),
                    *over = g_strdup_printf("Content-Length: %d\r\n\r\n%sx", LIMIT + 1, full),
                    *chunks = g_strdup_printf("Transfer-Encoding: chunked\r\n\r\n3e8\r\n%s\r\n"
                                              "1\r\nx\r\n0\r\n\r\n",
                                              full),
                    *long_head = g_strnfill(ACR_HTTP_SERVER_MAX_HEADER_BYTES, 'x'),
                    *header = g_strdup_printf("X: %s\r\n\r\n", long_head);
    g_autofree char *reply = received(sent(&fixture, "POST /p", fixture.host, token, fits));
    g_assert_true(g_str_has_suffix(reply, full));
    assert_status(sent(&fixture, "POST /", fixture.host, token, over), 413);
    assert_status(sent(&fixture, "POST /", fixture.host, token, chunks), 413);
    assert_status(sent(&fixture, "GET /", fixture.host, token, header), 431);
    acr_http_server_stop(fixture.server);
}

TEST("/http/server", events_are_sent_as_they_come)
{
    Fixture fixture;
    char piece[4096];
    g_autoptr(GString) text = g_string_new(NULL);
    start(&fixture, 0);
    int fd = sent(&fixture, "GET /events", fixture.host, acr_http_server_token(fixture.server), "\r\n");
    AcrHttpIncoming *incoming = kept(&fixture);
    g_assert_true(acr_http_incoming_send_event(incoming, "one\ntwo"));
    while (!strstr(text->str, "data: one\ndata: two\n\n")) {
        ssize_t n = read(fd, piece, sizeof piece);
        g_assert_cmpint(n, >, 0);
        g_string_append_len(text, piece, n);
    }
    g_assert_nonnull(strstr(text->str, "\r\nContent-Type: text/event-stream\r\n"));
    g_assert_true(acr_http_incoming_send_event(incoming, NULL));
    acr_http_server_stop(fixture.server); /* ends the stream */
    g_assert_false(acr_http_incoming_send_event(incoming, "late"));
    acr_http_incoming_unref(incoming);
    g_autofree char *rest = received(fd);
    g_assert_nonnull(strstr(rest, ":\n\n"));
    g_assert_true(g_str_has_suffix(rest, "0\r\n\r\n"));
}

TEST("/http/server", a_client_that_goes_away_is_noticed)
{
    static const char *const lines[] = {"GET /events", "GET /later"};
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
        Fixture fixture;
        start(&fixture, 0);
        int fd = sent(&fixture, lines[i], fixture.host, acr_http_server_token(fixture.server), "\r\n");
        AcrHttpIncoming *incoming = kept(&fixture);
        close(fd);
        while (!__atomic_load_n(&fixture.gone, __ATOMIC_ACQUIRE))
            g_usleep(1000);
        acr_http_incoming_answer(incoming, 200, NULL, "", 0);
        acr_http_incoming_unref(incoming);
        acr_http_server_stop(fixture.server);
    }
}

TEST("/http/server", a_client_that_does_not_read_is_cut)
{
    Fixture fixture;
    g_autofree char *much = g_strnfill(1 << 20, 'x');
    start(&fixture, 0);
    int fd = sent(&fixture, "GET /events", fixture.host, acr_http_server_token(fixture.server), "\r\n");
    AcrHttpIncoming *incoming = kept(&fixture);
    for (guint i = 0; acr_http_incoming_send_event(incoming, much); i++)
        g_assert_cmpuint(i, <, 100);
    acr_http_incoming_unref(incoming);
    acr_http_server_stop(fixture.server);
    close(fd);
}

TEST("/http/server", those_who_ask_slowly_or_not_at_all_are_cut)
{
    Fixture fixture;
    int idle[2 * ACR_HTTP_SERVER_MAX_CONNECTIONS];
    start(&fixture, 200);
    const char *token = acr_http_server_token(fixture.server);
    int slow = connected(&fixture);
    for (gsize i = 0; i < G_N_ELEMENTS(idle); i++)
        idle[i] = connected(&fixture);
    assert_status(sent(&fixture, "GET /", fixture.host, token, "\r\n"), 200);
    gint64 begun_ms = now_ms();
    while (send(slow, "G", 1, MSG_NOSIGNAL) == 1)
        g_usleep(10000);
    g_assert_cmpint(now_ms() - begun_ms, <, 20000);
    close(slow);
    for (gsize i = 0; i < G_N_ELEMENTS(idle); i++)
        close(idle[i]);
    acr_http_server_stop(fixture.server);
}

TEST("/http/server", what_is_not_answered_at_the_end_is_refused)
{
    Fixture fixture;
    start(&fixture, 0);
    int fd = sent(&fixture, "GET /later", fixture.host, acr_http_server_token(fixture.server), "\r\n");
    AcrHttpIncoming *incoming = kept(&fixture);
    const AcrHttpServerOptions taken = {.port = acr_http_server_port(fixture.server)};
    g_autoptr(GError) error = NULL;
    g_assert_null(acr_http_server_start(&taken, &error));
    g_assert_nonnull(strstr(error->message, "Address already in use"));
    acr_http_server_stop(fixture.server);
    acr_http_incoming_answer(incoming, 200, NULL, "", 0);
    acr_http_incoming_unref(incoming);
    assert_status(fd, 503);
}
