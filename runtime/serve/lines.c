/* Reads and writes lines over descriptors. Input is split as it arrives; a line that is too long is
 * dropped. Output is written in small pieces whenever the client reads, so that signals are handled
 * even if a client does not read. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "serve/serve_private.h"

#define READ_BYTES (64u * 1024)
/* number of bytes that a writable pipe or socket accepts at once */
#define WRITE_BYTES 4096u
#define WRITE_WAIT_MS 100
/* maximum time to wait for a client that has closed the input and does not read */
#define MAX_LAST_WAIT_MS 3000

static void add_bytes(AcrServeLines *lines, const char *data, gsize len)
{
    lines->is_too_long = lines->is_too_long || len > lines->max - lines->line->len;
    if (lines->is_too_long)
        g_byte_array_set_size(lines->line, 0);
    else
        g_byte_array_append(lines->line, (const guint8 *)data, (guint)len);
}

void acr_serve_lines_end(AcrServeLines *lines)
{
    const char *line = lines->line->len ? (const char *)lines->line->data : "";
    gsize blank = 0;
    while (blank < lines->line->len && g_ascii_isspace(line[blank]))
        blank++;
    if (lines->is_too_long || blank < lines->line->len)
        lines->take(lines->ctx, lines->is_too_long ? NULL : line, lines->line->len);
    lines->is_too_long = false;
    g_byte_array_set_size(lines->line, 0);
}

void acr_serve_lines_add(AcrServeLines *lines, const char *data, gsize len)
{
    for (const char *at = data, *end = data + len; at < end;) {
        const char *stop = memchr(at, '\n', (gsize)(end - at));
        add_bytes(lines, at, (gsize)((stop ? stop : end) - at));
        if (stop)
            acr_serve_lines_end(lines);
        at = stop ? stop + 1 : end;
    }
}

/* Waits for input, and returns true if some has arrived. A signal ends the wait, even a signal that
 * arrived before the wait. */
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

bool acr_serve_pipe_read(AcrServePipe *pipe, int timeout_ms, GError **error)
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
    acr_serve_lines_add(&pipe->lines, piece, (gsize)n);
    if (n == 0)
        acr_serve_lines_end(&pipe->lines);
    return n > 0 && !__atomic_load_n(&pipe->closed, __ATOMIC_RELAXED);
}

/* Writes all bytes and waits for the client to read them. Returns 0 or an errno; ECANCELED after an
 * interrupt. */
static int write_patiently(const AcrServePipe *pipe, const char *at, gsize len)
{
    for (int waited_ms = 0; len > 0;) {
        struct pollfd fd = {.fd = pipe->out, .events = POLLOUT};
        if (acr_interrupted(pipe->interrupt))
            return ECANCELED;
        if (poll(&fd, 1, WRITE_WAIT_MS) <= 0) {
            waited_ms += WRITE_WAIT_MS;
            if (__atomic_load_n(&pipe->is_ending, __ATOMIC_RELAXED) && waited_ms > MAX_LAST_WAIT_MS)
                return EPIPE;
            continue;
        }
        waited_ms = 0;
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

void acr_serve_pipe_open(AcrServePipe *pipe, int in, int out, const AcrInterrupt *interrupt)
{
    *pipe = (AcrServePipe){.in = in, .out = out, .interrupt = interrupt};
    pipe->lines = (AcrServeLines){.line = g_byte_array_new(), .max = ACR_SERVE_MAX_LINE};
    pthread_mutex_init(&pipe->writing, NULL);
}

bool acr_serve_pipe_close(AcrServePipe *pipe, GError **error)
{
    int closed = pipe->closed;
    g_byte_array_unref(pipe->lines.line);
    pthread_mutex_destroy(&pipe->writing);
    if (!closed || closed == EPIPE || closed == ECANCELED)
        return true;
    return acr_set_error(error, ACR_SERVE_ERROR, ACR_SERVE_ERROR_FAILED,
                         "cannot write to standard output: %s", g_strerror(closed));
}
