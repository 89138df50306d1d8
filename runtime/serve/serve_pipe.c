/*
 * Serves one client on two descriptors, until the input ends. Input is read as it arrives and split
 * into lines; no more than one message's length is kept. Output is written in small pieces whenever
 * there is room, so that a client that does not read cannot delay the handling of signals.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "serve/serve_private.h"

#define TICK_MS 100 /* interval between checks of timeouts */
#define READ_BYTES (64u * 1024)
#define WRITE_BYTES 4096u /* fits into any pipe or socket that accepts data */
#define WRITE_WAIT_MS 100

typedef struct {
    int in, out;
    const AcrInterrupt *interrupt;
    GByteArray *line; /* the beginning of the next line */
    bool is_too_long; /* … which is too long and will be dropped */
    pthread_mutex_t writing;
    int closed; /* the errno after which `out` cannot be written to; atomic */
    AcrServeServer *server;
    AcrServeClient client;
} Session;

/* ---- Output ---- */

/* Writes all bytes; returns 0 or an errno; ECANCELED: interrupted. */
static int write_patiently(const Session *session, const char *at, gsize len)
{
    while (len > 0) {
        struct pollfd fd = {.fd = session->out, .events = POLLOUT};
        if (acr_interrupted(session->interrupt))
            return ECANCELED;
        if (poll(&fd, 1, WRITE_WAIT_MS) <= 0)
            continue;
        ssize_t n = write(session->out, at, MIN(len, (gsize)WRITE_BYTES));
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return errno;
        at += MAX(n, 0);
        len -= (gsize)MAX(n, 0);
    }
    return 0;
}

/* Writes a line, waiting for the reader; does nothing after an interrupt. NULL: nothing.
 * Thread-safe. */
static void reply_pipe(void *to, const char *line, int code)
{
    Session *session = to;
    if (!line)
        return;
    pthread_mutex_lock(&session->writing);
    if (!__atomic_load_n(&session->closed, __ATOMIC_RELAXED)) {
        int err = write_patiently(session, line, strlen(line));
        __atomic_store_n(&session->closed, err, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&session->writing);
}

/* ---- Input ---- */

/* Waits for input; a signal that arrived earlier also ends the wait. */
static bool wait_for_input(const Session *session, int timeout_ms, bool *out_is_gone)
{
    struct pollfd fds[] = {{.fd = session->in, .events = POLLIN}, {.fd = session->out}};
    struct timespec timeout = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
    sigset_t before;
    acr_serve_block_signals(&before);
    int n = acr_interrupted(session->interrupt)
                ? 0
                : ppoll(fds, G_N_ELEMENTS(fds), timeout_ms < 0 ? NULL : &timeout, &before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *out_is_gone = n > 0 && (fds[1].revents & (POLLERR | POLLHUP));
    return n > 0 && fds[0].revents;
}

/* Takes a line; `line` NULL: it was too long. */
static void take_message_line(Session *session, const char *line, gsize len)
{
    g_auto(AcrServeMessage) message = {0};
    g_auto(AcrServeFault) fault = {0};
    gsize blank = 0;
    while (line && blank < len && g_ascii_isspace(line[blank]))
        blank++;
    if (line && blank == len)
        return;
    if (!line)
        acr_serve_refuse(&fault, ACR_SERVE_INVALID_REQUEST, "a message is longer than %u bytes",
                         ACR_SERVE_MAX_LINE);
    if (line && acr_serve_message_read(line, len, &message, &fault)) {
        acr_serve_server_take(session->server, &session->client, &message, len, session);
        return;
    }
    g_autofree char *refusal = acr_serve_reply(&message, NULL, &fault);
    reply_pipe(session, refusal, 0);
}

static void end_line(Session *session)
{
    const char *line = session->line->len ? (const char *)session->line->data : "";
    take_message_line(session, session->is_too_long ? NULL : line, session->line->len);
    session->is_too_long = false;
    g_byte_array_set_size(session->line, 0);
}

static void add_bytes(Session *session, const char *data, gsize len)
{
    session->is_too_long |= session->line->len + len > ACR_SERVE_MAX_LINE;
    if (session->is_too_long)
        g_byte_array_set_size(session->line, 0);
    else
        g_byte_array_append(session->line, (const guint8 *)data, (guint)len);
}

/* Waits for input, at most `timeout_ms` (-1: forever), and takes each complete line; the last one
 * may lack its line feed. False at the end of the input, if `out` is closed, or with an error
 * (FAILED); true also if nothing came, or after an interrupt. */
static bool read_lines(Session *session, int timeout_ms, GError **error)
{
    char piece[READ_BYTES];
    bool is_gone = false;
    if (!wait_for_input(session, timeout_ms, &is_gone))
        return !is_gone;
    ssize_t n = read(session->in, piece, sizeof piece);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n < 0)
        return acr_set_error(error, ACR_SERVE_ERROR, ACR_SERVE_ERROR_FAILED,
                             "cannot read standard input: %s", g_strerror(errno));
    if (n == 0 && (session->line->len || session->is_too_long))
        end_line(session);
    for (const char *at = piece, *end = piece + n; at < end;) {
        const char *stop = memchr(at, '\n', (gsize)(end - at));
        add_bytes(session, at, (gsize)((stop ? stop : end) - at));
        if (stop)
            end_line(session);
        at = stop ? stop + 1 : end;
    }
    return n > 0;
}

static bool read_messages(Session *session, GError **error)
{
    g_autoptr(GError) failed = NULL;
    while (!acr_interrupted(session->interrupt) &&
           read_lines(session, acr_serve_server_watch(session->server) ? TICK_MS : -1, &failed))
        if (__atomic_load_n(&session->closed, __ATOMIC_RELAXED))
            break;
    return !failed || acr_pass_error(error, &failed);
}

AcrServeEnd acr_serve_stdio(const AcrServeOptions *options, GError **error)
{
    char name[] = "";
    Session session = {.in = options->in,
                       .out = options->out,
                       .interrupt = options->host->interrupt,
                       .line = g_byte_array_new(),
                       .writing = PTHREAD_MUTEX_INITIALIZER,
                       .client = {.name = name}};
    session.server = acr_serve_server_start(options, reply_pipe, error);
    bool is_read = session.server && read_messages(&session, error);
    if (session.server && !acr_serve_server_end(session.server, !is_read, &session.closed))
        return ACR_SERVE_BUSY_STILL;
    acr_serve_server_free(session.server);
    int closed = session.closed;
    g_byte_array_unref(session.line);
    pthread_mutex_destroy(&session.writing);
    if (is_read && closed && closed != EPIPE && closed != ECANCELED)
        return acr_set_error(error, ACR_SERVE_ERROR, ACR_SERVE_ERROR_FAILED,
                             "cannot write to standard output: %s", g_strerror(closed)),
               ACR_SERVE_FAILED;
    return is_read ? ACR_SERVE_ENDED : ACR_SERVE_FAILED;
}
