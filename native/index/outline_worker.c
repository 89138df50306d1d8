/*
 * The protocol between a process that indexes and those that outline for it, and the outlining
 * side.
 *
 * Numbers are 32 bits in the machine's order: both sides are the same binary. A peer begins with
 * one answer: READY, or REFUSED with why it can outline nothing. Then for each request, in their
 * order, one answer: ROWS, or FAILED with why.
 */
#include "index/outline_protocol_private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool socket_error(GError **error, const char *what)
{
    return acr_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED, "cannot %s: %s", what,
                         errno ? g_strerror(errno) : "it ended in the middle of a request");
}

/* Reads all of `len` bytes; at the very end of the stream *out_end, where that is asked for. */
static bool read_all(int fd, void *data, gsize len, bool *out_end)
{
    for (gsize at = 0; at < len;) {
        ssize_t n = read(fd, (char *)data + at, len - at);
        if (n > 0)
            at += (gsize)n;
        else if (n == 0) {
            errno = 0;
            if (out_end)
                *out_end = at == 0;
            return false;
        } else if (errno != EINTR)
            return false;
    }
    return true;
}

static bool write_all(int fd, const void *data, gsize len)
{
    errno = acr_fd_write_all(fd, data, len);
    return errno == 0;
}

static bool answer(int fd, AcrWorkerAnswer kind, const void *data, gsize len)
{
    AcrWorkerAnswerHead head = {.kind = kind, .len = (guint32)MIN(len, ACR_OUTLINE_MAX_ROWS)};
    return write_all(fd, &head, sizeof head) && write_all(fd, data, head.len);
}

static bool answer_text(int fd, AcrWorkerAnswer kind, const char *text)
{
    return answer(fd, kind, text, strlen(text));
}

static bool serve_one(int fd, const AcrWorkerRequestHead *head, AcrOutlineOne one, void *ctx)
{
    g_autofree char *path = g_malloc0((gsize)head->path_len + 1);
    guint8 *source = g_malloc((gsize)head->source_len + 1);
    g_autoptr(GBytes) bytes = g_bytes_new_take(source, head->source_len), rows = NULL;
    g_autoptr(GError) why = NULL;
    if (!read_all(fd, path, head->path_len, NULL) || !read_all(fd, source, head->source_len, NULL))
        return false;
    if (!one(ctx, path, bytes, &rows, &why))
        return answer_text(fd, ACR_WORKER_FAILED, why->message);
    gsize len;
    const void *data = g_bytes_get_data(rows, &len);
    if (len > ACR_OUTLINE_MAX_ROWS)
        return answer_text(fd, ACR_WORKER_FAILED, "too many definitions");
    return answer(fd, ACR_WORKER_ROWS, data, len);
}

bool acr_outline_serve(int fd, AcrOutlineOne one, void *ctx, const GError *started, GError **error)
{
    AcrWorkerRequestHead head;
    bool end = false;
    if (started)
        return answer_text(fd, ACR_WORKER_REFUSED, started->message) ||
               socket_error(error, "answer");
    if (!answer(fd, ACR_WORKER_READY, "", 0))
        return socket_error(error, "answer");
    while (read_all(fd, &head, sizeof head, &end)) {
        if (head.path_len > ACR_WORKER_MAX_PATH || head.source_len > ACR_INDEX_MAX_SOURCE_BYTES) {
            errno = EPROTO;
            return socket_error(error, "read a request");
        }
        if (!serve_one(fd, &head, one, ctx))
            return socket_error(error, "serve a request");
    }
    return end || socket_error(error, "read a request");
}
