/*
 * The two descriptors that a client holds. Input is read as it comes and cut into lines, of which no
 * more is kept than one message may have. Output is written in pieces that fit whenever there is room
 * at all, so that a client that does not read cannot keep a signal from being seen.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "serve/serve_private.h"

#define READ_BYTES (64u * 1024)
#define WRITE_BYTES 4096u /* for which a pipe or socket has room if it has any */
#define WRITE_WAIT_MS 100

void acr_serve_pipe_init(AcrServePipe *pipe, const AcrServeOptions *options)
{
    *pipe = (AcrServePipe){.in = options->in,
                           .out = options->out,
                           .interrupt = options->host->interrupt,
                           .line = g_byte_array_new()};
    pthread_mutex_init(&pipe->writing, NULL);
}

void acr_serve_pipe_clear(AcrServePipe *pipe)
{
    g_byte_array_unref(pipe->line);
    pthread_mutex_destroy(&pipe->writing);
}

/* ---- Input ---- */

void acr_serve_block_signals(sigset_t *out_before)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGALRM};
    sigset_t set;
    sigemptyset(&set);
    for (gsize i = 0; i < G_N_ELEMENTS(signals); i++)
        sigaddset(&set, signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, out_before);
}

/* Waits until there is input. A signal that comes before the wait ends it, too. */
static bool wait_for_input(const AcrServePipe *pipe, int timeout_ms, bool *out_is_gone)
{
    struct pollfd fds[] = {{.fd = pipe->in, .events = POLLIN}, {.fd = pipe->out}};
    struct timespec timeout = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
    sigset_t before;
    acr_serve_block_signals(&before);
    int n = acr_interrupted(pipe->interrupt)
                ? 0
                : ppoll(fds, G_N_ELEMENTS(fds), timeout_ms < 0 ? NULL : &timeout, &before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    *out_is_gone = n > 0 && (fds[1].revents & (POLLERR | POLLHUP));
    return n > 0 && fds[0].revents;
}

static void end_line(AcrServePipe *pipe, void (*take)(void *ctx, const char *line, gsize len),
                     void *ctx)
{
    if (pipe->is_too_long)
        take(ctx, NULL, 0);
    else
        take(ctx, pipe->line->len ? (const char *)pipe->line->data : "", pipe->line->len);
    pipe->is_too_long = false;
    g_byte_array_set_size(pipe->line, 0);
}

static void add_bytes(AcrServePipe *pipe, const char *data, gsize len)
{
    pipe->is_too_long |= pipe->line->len + len > ACR_SERVE_MAX_LINE;
    if (pipe->is_too_long)
        g_byte_array_set_size(pipe->line, 0);
    else
        g_byte_array_append(pipe->line, (const guint8 *)data, (guint)len);
}

bool acr_serve_pipe_read(AcrServePipe *pipe, int timeout_ms,
                         void (*take)(void *ctx, const char *line, gsize len), void *ctx,
                         GError **error)
{
    char piece[READ_BYTES];
    bool is_gone = false;
    if (!wait_for_input(pipe, timeout_ms, &is_gone))
        return !is_gone;
    ssize_t n = read(pipe->in, piece, sizeof piece);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n < 0)
        return acr_set_error(error, ACR_SERVE_ERROR, ACR_SERVE_ERROR_FAILED,
                             "cannot read standard input: %s", g_strerror(errno));
    if (n == 0 && (pipe->line->len || pipe->is_too_long))
        end_line(pipe, take, ctx);
    for (const char *at = piece, *end = piece + n; at < end;) {
        const char *stop = memchr(at, '\n', (gsize)(end - at));
        add_bytes(pipe, at, (gsize)((stop ? stop : end) - at));
        if (stop)
            end_line(pipe, take, ctx);
        at = stop ? stop + 1 : end;
    }
    return n > 0;
}

/* ---- Output ---- */

/* 0 or an errno; ECANCELED: interrupted. */
static int write_patiently(const AcrServePipe *pipe, const char *at, gsize len)
{
    while (len > 0) {
        struct pollfd fd = {.fd = pipe->out, .events = POLLOUT};
        if (acr_interrupted(pipe->interrupt))
            return ECANCELED;
        if (poll(&fd, 1, WRITE_WAIT_MS) <= 0)
            continue;
        ssize_t n = write(pipe->out, at, MIN(len, (gsize)WRITE_BYTES));
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return errno;
        at += MAX(n, 0);
        len -= (gsize)MAX(n, 0);
    }
    return 0;
}

void acr_serve_pipe_write(AcrServePipe *pipe, const char *line)
{
    pthread_mutex_lock(&pipe->writing);
    if (!__atomic_load_n(&pipe->closed, __ATOMIC_RELAXED)) {
        int err = write_patiently(pipe, line, strlen(line));
        __atomic_store_n(&pipe->closed, err, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&pipe->writing);
}
