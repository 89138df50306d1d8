/* A small, strict HTTP server for tests, on loopback or a unix socket, in a separate thread. It
 * answers each request with one scripted reply, byte for byte, and keeps the requests. It closes a
 * connection after its reply, unless the reply says otherwise. A malformed request, or a request
 * after the last reply, makes the test fail. The functions are static: each test that needs them
 * includes this header. */
#pragma once

#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Zero-initialise. */
typedef struct {
    const char *raw;   /* sent unchanged; NULL: nothing */
    gsize raw_len;     /* 0: up to the first NUL */
    gint64 wait_ms;    /* wait before the first byte */
    gint64 byte_ms;    /* wait between bytes of `raw`; 0: none */
    gsize fill;        /* this many 'x' follow `raw` */
    gsize chunks;      /* then this many chunks of 64 KiB */
    gint64 after_ms;   /* wait before `after` */
    const char *after; /* sent last */
    bool hang;         /* the connection stays open until the server is stopped or the client disconnects */
    bool keep;         /* the next request may use the same connection */
} TestReply;

typedef struct {
    int fd;
    char *url; /* owned; http://127.0.0.1:PORT */
    const TestReply *replies;
    gsize n_replies;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the members below */
    bool stop;
    gsize connections;
    GPtrArray *requests; /* owned strings: head and body of each request */
    gsize closed;        /* number of closed connections; atomic */
} TestServer;

static inline bool server_stopped(TestServer *server)
{
    pthread_mutex_lock(&server->mutex);
    bool stop = server->stop;
    pthread_mutex_unlock(&server->mutex);
    return stop;
}

/* Waits until `fd` is readable. Returns false if the time has passed or the server is stopped. */
static inline bool server_wait(TestServer *server, int fd, gint64 ms)
{
    gint64 end = g_get_monotonic_time() + ms * 1000;
    struct pollfd poller = {.fd = fd, .events = POLLIN};

    while (!server_stopped(server) && g_get_monotonic_time() < end)
        if (poll(&poller, 1, 5) > 0)
            return true;
    return false;
}

static inline void server_send(int fd, const char *data, gsize len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

        if (n <= 0)
            return;
        data += n;
        len -= (gsize)n;
    }
}

/* Reads one request: a head that ends in an empty line, and a body of Content-Length bytes. Returns
 * false if the client sent nothing. */
static inline bool server_read(TestServer *server, int fd, bool first)
{
    GString *text = g_string_new(NULL);
    const char *end = NULL;
    gsize want = 0;
    bool came = false;

    while (!(end = strstr(text->str, "\r\n\r\n")) || text->len < want) {
        char buffer[65536];
        ssize_t n = server_wait(server, fd, 10000) ? recv(fd, buffer, sizeof buffer, 0) : 0;

        if (n <= 0)
            break;
        g_string_append_len(text, buffer, n);
        if ((end = strstr(text->str, "\r\n\r\n"))) {
            const char *length = strstr(text->str, "\r\nContent-Length: ");

            want = (gsize)(end + 4 - text->str);
            if (length && length < end)
                want += (gsize)g_ascii_strtoull(length + strlen("\r\nContent-Length: "), NULL, 10);
        }
    }
    if (end) {
        g_autofree char *line = g_strndup(text->str, (gsize)(strstr(text->str, "\r\n") - text->str));

        g_assert_true(g_str_has_suffix(line, " HTTP/1.1"));
        g_assert_cmpuint(text->len, ==, want);
    }
    came = text->len > 0;
    pthread_mutex_lock(&server->mutex);
    server->connections += first;
    if (came)
        g_ptr_array_add(server->requests, g_string_free(g_steal_pointer(&text), FALSE));
    pthread_mutex_unlock(&server->mutex);
    if (text)
        g_string_free(text, TRUE);
    return came;
}

static inline void server_reply(TestServer *server, int fd, const TestReply *reply)
{
    static const gsize chunk = 65536;
    gsize len = reply->raw_len > 0 ? reply->raw_len : reply->raw ? strlen(reply->raw) : 0;
    g_autofree char *fill = g_strnfill(MAX(chunk, reply->fill), 'x');

    for (gint64 i = 0; i < reply->wait_ms && !server_stopped(server); i += 5)
        g_usleep(5000);
    for (gsize i = 0; reply->byte_ms > 0 && i < len && !server_stopped(server); i++) {
        server_send(fd, reply->raw + i, 1);
        g_usleep((gulong)reply->byte_ms * 1000);
    }
    if (reply->byte_ms == 0)
        server_send(fd, reply->raw, len);
    server_send(fd, fill, reply->fill);
    g_usleep((gulong)reply->after_ms * 1000);
    for (gsize i = 0; i < reply->chunks; i++) {
        server_send(fd, "10000\r\n", 7);
        server_send(fd, fill, chunk);
        server_send(fd, "\r\n", 2);
    }
    if (reply->after)
        server_send(fd, reply->after, strlen(reply->after));
    if (reply->hang)
        server_wait(server, fd, 60000);
}

static inline void *server_run(void *data)
{
    TestServer *server = data;

    for (gsize i = 0; server_wait(server, server->fd, 60000);) {
        int fd = accept(server->fd, NULL, NULL);
        int now = 1;
        bool first = true;

        if (fd < 0)
            continue;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &now, sizeof now);
        for (; server_read(server, fd, first); first = false) {
            g_assert_cmpuint(i, <, server->n_replies);
            server_reply(server, fd, &server->replies[i++]);
            if (!server->replies[i - 1].keep)
                break;
        }
        shutdown(fd, SHUT_WR);
        close(fd);
        __atomic_fetch_add(&server->closed, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Serves `replies` (borrowed until server_stop) in order, at the unix socket `path` if it is given.
 * Owned (server_stop). */
static inline TestServer *server_start_at(const char *path, const TestReply *replies, gsize n)
{
    TestServer *server = g_new0(TestServer, 1);
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    socklen_t len = sizeof in;
    sigset_t all, old;

    server->fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_strlcpy(un.sun_path, path ? path : "", sizeof un.sun_path);
    g_assert_cmpint(bind(server->fd, path ? (struct sockaddr *)&un : (struct sockaddr *)&in, path ? sizeof un : len),
                    ==, 0);
    g_assert_cmpint(listen(server->fd, 16), ==, 0);
    if (!path)
        g_assert_cmpint(getsockname(server->fd, (struct sockaddr *)&in, &len), ==, 0);
    server->url = path ? g_strdup("http://localhost") : g_strdup_printf("http://127.0.0.1:%d", ntohs(in.sin_port));
    server->replies = replies;
    server->n_replies = n;
    server->requests = g_ptr_array_new_with_free_func(g_free);
    pthread_mutex_init(&server->mutex, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the test's own thread's */
    g_assert_cmpint(pthread_create(&server->thread, NULL, server_run, server), ==, 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return server;
}

static inline TestServer *server_start(const TestReply *replies, gsize n)
{
    return server_start_at(NULL, replies, n);
}

/* Ends the thread; the requests can be read without a lock then. */
static inline void server_end(TestServer *server)
{
    if (server->fd < 0)
        return;
    pthread_mutex_lock(&server->mutex);
    server->stop = true;
    pthread_mutex_unlock(&server->mutex);
    pthread_join(server->thread, NULL);
    close(server->fd);
    server->fd = -1;
}

static inline const char *server_request(TestServer *server, gsize i)
{
    server_end(server);
    g_assert_cmpuint(i, <, server->requests->len);
    return g_ptr_array_index(server->requests, i);
}

/* Waits until the server has closed so many connections. */
static inline void server_await_closed(TestServer *server, gsize n)
{
    for (int i = 0; __atomic_load_n(&server->closed, __ATOMIC_RELAXED) < n; i++) {
        g_assert_cmpint(i, <, 60000);
        g_usleep(1000);
    }
}

static inline gsize server_connections(TestServer *server)
{
    server_end(server);
    return server->connections;
}

static inline const char *server_request_body(TestServer *server, gsize i)
{
    return strstr(server_request(server, i), "\r\n\r\n") + 4;
}

static inline void server_stop(TestServer *server)
{
    if (!server)
        return;
    server_end(server);
    g_ptr_array_unref(server->requests);
    pthread_mutex_destroy(&server->mutex);
    g_free(server->url);
    g_free(server);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TestServer, server_stop)
