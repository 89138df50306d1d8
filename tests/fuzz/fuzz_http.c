/* Fuzzes responses and URLs. The first byte of the input selects the form of the rest: a URL; one
 * header line; or a response, which a thread sends through a unix socket in pieces whose size is
 * the second byte, while the third byte says after how many bytes the client stops, and how. In
 * every case, the exchange must end within its limits, with success or a one-line error, and must
 * return valid text. */
#include "http/http.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/http_private.h"

#define BODY_LIMIT 5000u
#define WAIT_MS 10000

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- URLs and header lines ----------------------------------------------------------------------
 */

static void fuzz_url(const uint8_t *data, size_t size)
{
    g_autofree char *url = g_strndup((const char *)data, size);
    g_autofree char *authority = acr_http_url_authority(url);
    bool loopback = acr_http_url_is_loopback(url);

    g_assert_true(authority || !loopback);
    if (!authority)
        return;
    g_assert_nonnull(strrchr(authority, ':'));
    g_assert_null(strpbrk(authority, "@/?# \r\n\t"));
    g_assert_true(!loopback || g_str_has_prefix(authority, "127.") || g_str_has_prefix(authority, "[::1]:") ||
                  g_ascii_strncasecmp(authority, "localhost:", strlen("localhost:")) == 0);
}

static void check_headers(GHashTable *headers)
{
    GHashTableIter iter;
    gpointer name = NULL;
    gpointer value = NULL;

    g_assert_cmpuint(g_hash_table_size(headers), <=, ACR_HTTP_MAX_HEADERS);
    g_hash_table_iter_init(&iter, headers);
    while (g_hash_table_iter_next(&iter, &name, &value)) {
        g_assert_true(g_utf8_validate(name, -1, NULL) && g_utf8_validate(value, -1, NULL));
        for (const char *c = name; *c; c++)
            g_assert_false(g_ascii_isupper(*c) || *c == ':');
        g_assert_false(g_ascii_isspace(*(const char *)value));
    }
}

static void fuzz_header(const uint8_t *data, size_t size)
{
    g_autoptr(GHashTable) headers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

    acr_http_keep_header(headers, (const char *)data, size);
    g_assert_cmpuint(g_hash_table_size(headers), ==, memchr(data, ':', size) ? 1 : 0);
    check_headers(headers);
}

/* ---- Responses ----------------------------------------------------------------------------------
 */

typedef struct {
    int fd;
    const uint8_t *data;
    size_t size, piece;
} Server;

static bool readable(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};

    return poll(&poller, 1, WAIT_MS) > 0;
}

/* Serves one connection: reads a part of the request, sends the bytes and waits until the client
 * disconnects. */
static void *serve(void *ctx)
{
    const Server *server = ctx;
    char request[4096];
    int fd = readable(server->fd) ? accept(server->fd, NULL, NULL) : -1;

    if (fd < 0)
        return NULL;
    if (readable(fd) && recv(fd, request, sizeof request, 0) > 0)
        for (size_t i = 0; i < server->size; i += server->piece)
            if (send(fd, server->data + i, MIN(server->piece, server->size - i), MSG_NOSIGNAL) < 0)
                break;
    shutdown(fd, SHUT_WR);
    while (readable(fd) && recv(fd, request, sizeof request, 0) > 0)
        continue;
    close(fd);
    return NULL;
}

typedef struct {
    gsize bytes, limit;
    AcrHttpNext then; /* the answer after `limit` bytes */
    bool said;        /* whether `then` was returned */
    int status;
} Sink;

static AcrHttpNext take(void *ctx, const AcrHttpHead *head, const char *data, gsize len)
{
    Sink *sink = ctx;

    g_assert_false(sink->said && sink->then != ACR_HTTP_NEARLY);
    g_assert_cmpint(head->status, >=, 200);
    check_headers(head->headers);
    sink->status = head->status;
    sink->bytes += len;
    g_assert_cmpuint(sink->bytes, <=, BODY_LIMIT);
    sink->said = sink->then != ACR_HTTP_MORE && sink->bytes > sink->limit;
    return sink->said ? sink->then : ACR_HTTP_MORE;
}

static void check_outcome(bool ok, const AcrHttpResponse *response, const GError *error, const Sink *sink)
{
    g_assert_true(response->sent);
    g_assert_true(ok == (error == NULL) && ok == (response->body != NULL));
    g_assert_true((response->status > 0) == (response->headers != NULL));
    if (sink->status > 0)
        g_assert_cmpint(sink->status, ==, response->status);
    if (response->headers)
        check_headers(response->headers);
    if (ok)
        g_assert_cmpint(response->status, >=, 200);
    else
        g_assert_true(g_utf8_validate(error->message, -1, NULL) && !strpbrk(error->message, "\r\n"));
    g_assert_true(!sink->said || ok == (sink->then != ACR_HTTP_STOP));
}

static void fuzz_response(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/acr-fuzz-XXXXXX";
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    Sink sink = {.limit = data[1] / 4, .then = (AcrHttpNext)(data[1] % 4)};
    AcrHttpRequest request = {.url = "http://fuzz/",
                              .unix_socket = un.sun_path,
                              .body_limit = BODY_LIMIT,
                              .total_timeout_ms = WAIT_MS,
                              .on_body = data[1] == 255 ? NULL : take,
                              .on_body_ctx = &sink};
    Server server = {.data = data + 2, .size = size - 2, .piece = (size_t)data[0] * data[0] + 1};
    g_auto(AcrHttpResponse) response = {0};
    g_autoptr(GError) error = NULL;
    pthread_t thread;
    bool ok = false;

    g_assert_nonnull(g_mkdtemp(folder));
    g_snprintf(un.sun_path, sizeof un.sun_path, "%s/s", folder);
    server.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_true(bind(server.fd, (struct sockaddr *)&un, sizeof un) == 0 && listen(server.fd, 1) == 0);
    g_assert_cmpint(pthread_create(&thread, NULL, serve, &server), ==, 0);
    ok = acr_http_exchange(NULL, &request, &response, &error);
    pthread_join(thread, NULL);
    close(server.fd);
    unlink(un.sun_path);
    rmdir(folder);
    check_outcome(ok, &response, error, &sink);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return acr_http_global_init(NULL) ? 0 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    if (data[0] == 'u')
        fuzz_url(data + 1, size - 1);
    else if (data[0] == 'h')
        fuzz_header(data + 1, size - 1);
    else
        fuzz_response(data + 1, size - 1);
    return 0;
}
