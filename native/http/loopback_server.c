/* Runs the thread of the server. The thread lets libmicrohttpd (MHD) read and write, notices
 * clients that disconnect while their answer is being prepared (MHD does not watch a suspended
 * connection), and disconnects clients that send their request slowly. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/server_private.h"

#define TICK_MS 250
/* time limit for a request, in place of the client's limit, while many clients are connected */
#define CROWDED_MS 400
#define GRACE_MS 500 /* how long the server may send ready answers before it ends */
/* maximum number of connections of MHD, including connections that were cut but have not ended */
#define MHD_CONNECTIONS (2 * ACR_HTTP_SERVER_MAX_CONNECTIONS)
#define N_FIXED 2 /* number of open descriptors besides the connections */

guint acr_http_server_port(const AcrHttpServer *server)
{
    return server->port;
}

const char *acr_http_server_token(const AcrHttpServer *server)
{
    return server->token;
}

static bool is_stopping(const AcrHttpServer *server)
{
    return __atomic_load_n(&server->is_stopping, __ATOMIC_ACQUIRE);
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **visitor,
                          enum MHD_ConnectionNotificationCode code)
{
    AcrHttpServer *server = ctx;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        g_ptr_array_remove(server->visitors, *visitor);
        return;
    }
    AcrHttpVisitor *fresh = g_new0(AcrHttpVisitor, 1);
    fresh->fd =
        acr_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    fresh->since_us = g_get_monotonic_time();
    g_ptr_array_add(server->visitors, fresh);
    *visitor = fresh;
}

static bool is_crowded(const AcrHttpServer *server)
{
    return server->visitors->len >= ACR_HTTP_SERVER_MAX_CONNECTIONS;
}

/* Disconnects clients that send their request slowly. If many clients are connected, disconnects
 * them sooner, to make room for others. */
static void cut_slow(const AcrHttpServer *server)
{
    gint64 now_us = g_get_monotonic_time(),
           allowed_ms = is_crowded(server) ? CROWDED_MS : server->options.request_ms;
    for (guint i = 0; i < server->visitors->len; i++) {
        const AcrHttpVisitor *visitor = server->visitors->pdata[i];
        if (!visitor->is_busy && (now_us - visitor->since_us) / 1000 > allowed_ms)
            shutdown(visitor->fd, SHUT_RDWR);
    }
}

static void hand_over(AcrHttpServer *server, AcrHttpIncoming *incoming)
{
    incoming->is_handed = true;
    incoming->visitor->is_busy = true;
    if (incoming->refusal)
        acr_http_incoming_answer(incoming, incoming->refusal_status, "text/plain",
                                 incoming->refusal, strlen(incoming->refusal));
    else
        server->options.answer(server->options.ctx, incoming);
}

/* Handles a call of MHD: for the headers, for each piece of the body, at the end of the body, and
 * after each suspension. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *len, void **own)
{
    AcrHttpServer *server = ctx;
    AcrHttpIncoming *incoming = *own;
    if (is_stopping(server) && !incoming)
        return MHD_NO;
    if (!incoming) {
        *own = incoming = acr_http_incoming_new(server, connection, path, method);
        incoming->visitor =
            acr_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
                ->socket_context;
        g_ptr_array_add(server->open, incoming);
        acr_http_guard(incoming);
        return MHD_YES;
    }
    if (*len) {
        acr_http_incoming_add(incoming, data, *len);
        *len = 0;
        return MHD_YES;
    }
    if (!incoming->is_handed)
        hand_over(server, incoming);
    return acr_http_incoming_respond(incoming);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **own,
                         enum MHD_RequestTerminationCode code)
{
    AcrHttpServer *server = ctx;
    AcrHttpIncoming *incoming = *own;
    if (!incoming)
        return;
    incoming->visitor->is_busy = false;
    incoming->visitor->since_us = g_get_monotonic_time();
    bool was_complete = acr_http_incoming_leave(incoming);
    if (!was_complete && incoming->is_handed && server->options.gone)
        server->options.gone(server->options.ctx, incoming);
    g_ptr_array_remove_fast(server->open, incoming);
    *own = NULL;
}

/* Waits for work, and then marks the clients with suspended connections that have disconnected. */
static void wait_for_work(AcrHttpServer *server, int timeout_ms)
{
    struct pollfd fds[N_FIXED + MHD_CONNECTIONS] = {
        {.fd = acr_mhd.get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
         .events = POLLIN},
        {.fd = server->wake, .events = POLLIN}};
    AcrHttpIncoming *watched[MHD_CONNECTIONS];
    MHD_UNSIGNED_LONG_LONG wanted_ms;
    guint n = 0;
    guint64 count;
    for (guint i = 0; i < server->open->len && n < MHD_CONNECTIONS; i++) {
        AcrHttpIncoming *incoming = server->open->pdata[i];
        if (!incoming->is_suspended)
            continue;
        fds[N_FIXED + n] = (struct pollfd){.fd = incoming->visitor->fd, .events = POLLRDHUP};
        watched[n++] = incoming;
    }
    if (acr_mhd.get_timeout(server->daemon, &wanted_ms) == MHD_YES)
        timeout_ms = (int)MIN((guint64)timeout_ms, wanted_ms);
    if (poll(fds, N_FIXED + n, timeout_ms) <= 0)
        return;
    if (fds[1].revents)
        (void)!read(server->wake, &count, sizeof count);
    for (guint i = 0; i < n; i++)
        if (fds[N_FIXED + i].revents)
            watched[i]->is_left = true;
}

static void step_server(AcrHttpServer *server, int timeout_ms)
{
    wait_for_work(server, is_crowded(server) ? MIN(timeout_ms, CROWDED_MS) : timeout_ms);
    for (guint i = 0; i < server->open->len; i++) {
        AcrHttpIncoming *incoming = server->open->pdata[i];
        if (!incoming->is_suspended)
            continue;
        if (incoming->is_left)
            (void)acr_http_incoming_leave(incoming);
        if (acr_http_incoming_is_due(incoming)) {
            incoming->is_suspended = false;
            acr_mhd.resume_connection(incoming->connection);
        }
    }
    acr_mhd.run(server->daemon);
    cut_slow(server);
}

/* Sends the answers that are ready, and rejects all other requests. */
static void wind_up(AcrHttpServer *server)
{
    static const char text[] = "the server is shutting down\n";
    gint64 until_us = g_get_monotonic_time() + GRACE_MS * 1000;
    for (guint i = 0; i < server->open->len; i++) {
        AcrHttpIncoming *incoming = server->open->pdata[i];
        acr_http_incoming_answer(incoming, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain", text,
                                 strlen(text));
        acr_http_incoming_end_events(incoming);
    }
    while (server->open->len && g_get_monotonic_time() < until_us)
        step_server(server, TICK_MS);
    for (guint i = 0; i < server->open->len; i++)
        (void)acr_http_incoming_leave(server->open->pdata[i]);
    step_server(server, 0); /* no connection may be suspended when MHD stops */
    acr_mhd.stop_daemon(server->daemon);
}

static void *run_server(void *data)
{
    AcrHttpServer *server = data;
    while (!is_stopping(server))
        step_server(server, TICK_MS);
    wind_up(server);
    return NULL;
}

static void clear(AcrHttpServer *server)
{
    acr_fd_close(&server->wake);
    g_ptr_array_unref(server->visitors);
    g_ptr_array_unref(server->open);
    ACR_FREE(server->token, server);
}

static bool start_daemon(AcrHttpServer *server, GError **error)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server->options.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    if (!server->options.request_ms)
        server->options.request_ms = ACR_HTTP_SERVER_REQUEST_MS;
    errno = 0;
    server->daemon = acr_mhd.start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, server,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MHD_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)ACR_HTTP_SERVER_WRITE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)ACR_HTTP_SERVER_MAX_HEADER_BYTES,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, server, MHD_OPTION_END);
    if (!server->daemon)
        return acr_set_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED,
                             "cannot listen on 127.0.0.1:%u: %s", server->options.port,
                             g_strerror(errno));
    int fd = acr_mhd.get_daemon_info(server->daemon, MHD_DAEMON_INFO_LISTEN_FD)->listen_fd;
    getsockname(fd, (struct sockaddr *)&address, &len);
    server->port = ntohs(address.sin_port);
    return true;
}

/* Starts a thread that does not receive the signals that end the program. */
static bool start_thread(AcrHttpServer *server, GError **error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int failed = pthread_create(&server->thread, NULL, run_server, server);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return true;
    acr_mhd.stop_daemon(server->daemon);
    return acr_set_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED, "cannot start a thread: %s",
                         g_strerror(failed));
}

AcrHttpServer *acr_http_server_start(const AcrHttpServerOptions *options, GError **error)
{
    if (!acr_http_load_mhd(error))
        return NULL;
    AcrHttpServer *server = g_new0(AcrHttpServer, 1);
    *server = (AcrHttpServer){
        .options = *options,
        .token = acr_token_new(),
        .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
        .visitors = g_ptr_array_new_with_free_func(g_free),
        .open = g_ptr_array_new_with_free_func((GDestroyNotify)acr_http_incoming_unref),
    };
    if (server->wake < 0)
        acr_set_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED, "cannot prepare a server: %s",
                      g_strerror(errno));
    else if (start_daemon(server, error) && start_thread(server, error))
        return server;
    clear(server);
    return NULL;
}

void acr_http_server_stop(AcrHttpServer *server)
{
    const guint64 one = 1;
    if (!server)
        return;
    __atomic_store_n(&server->is_stopping, true, __ATOMIC_RELEASE);
    (void)!write(server->wake, &one, sizeof one);
    pthread_join(server->thread, NULL);
    clear(server);
}
