/* Implements both ends of a peer's socket. Our end starts a process of this program, asks the
 * process questions and ends it; the other end, in the started process, answers the questions. */
#include "base/peer.h"
#include "base/base_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PEER_STEP_US 1000
#define POLL_MS 100 /* interval between checks for an interrupt */

/* ---- Life of a peer ---- */

bool acr_peer_start(const char *const *argv, const char *const *env, const char *cwd, AcrPeer *out,
                    GError **error)
{
    int ends[2] = {-1, -1};
    AcrPeer peer = {0};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return acr_base_fail(error, errno, "cannot prepare to run '%s'", argv[0]);
    ACR_AUTO_FD ours = acr_fd_above(ends[0], ACR_N_STANDARD_FDS);
    ACR_AUTO_FD its = acr_fd_above(ends[1], ACR_N_STANDARD_FDS);
    ACR_AUTO_FD null = acr_fd_above(open("/dev/null", O_WRONLY | O_CLOEXEC), ACR_N_STANDARD_FDS);
    if (ours < 0 || its < 0 || null < 0 || fcntl(ours, F_SETFL, O_NONBLOCK) != 0)
        return acr_base_fail(error, errno, "cannot prepare to run '%s'", argv[0]);
    int err =
        acr_child_start(argv, env, cwd, (int[]){its, its, null}, ACR_N_STANDARD_FDS, &peer.pid);
    if (err)
        return acr_base_fail(error, err, "cannot run '%s'", argv[0]);
    peer.fd = ours;
    ours = -1;
    *out = peer;
    return true;
}

/* Whether the process has ended. Does not reap it, so that its id stays reserved. */
static bool has_ended(pid_t pid)
{
    siginfo_t ended = {0};
    return waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == pid;
}

char *acr_peer_end(AcrPeer *peer, gint64 grace_ms)
{
    int status = 0;
    pid_t pid;
    gint64 until = g_get_monotonic_time() + grace_ms * 1000;
    acr_fd_close(&peer->fd);
    bool by_itself = has_ended(peer->pid);
    while (!by_itself && g_get_monotonic_time() < until) {
        g_usleep(PEER_STEP_US);
        by_itself = has_ended(peer->pid);
    }
    kill(-peer->pid, SIGKILL);
    kill(peer->pid, SIGKILL); /* the peer may have left its process group */
    do
        pid = waitpid(peer->pid, &status, 0);
    while (pid < 0 && errno == EINTR);
    peer->pid = 0;
    if (!by_itself || pid < 0)
        return g_strdup("was ended");
    if (WIFSIGNALED(status))
        return g_strdup_printf("crashed (signal %d)", WTERMSIG(status));
    return g_strdup_printf("ended with exit code %d", WEXITSTATUS(status));
}

/* ---- Asking ---- */

void acr_peer_put(GByteArray *out, const char *name, GBytes *question)
{
    gsize len, name_len = MIN(strlen(name), ACR_PEER_MAX_NAME);
    const void *data = g_bytes_get_data(question, &len);
    AcrPeerQuestionHead head = {(guint32)name_len, (guint32)len};
    g_byte_array_append(out, (const guint8 *)&head, sizeof head);
    g_byte_array_append(out, (const guint8 *)name, (guint)name_len);
    if (len)
        g_byte_array_append(out, data, (guint)len);
}

/* Sends and receives as many bytes as possible without blocking. Returns false if the peer has
 * ended. */
static bool exchange_message(const AcrPeer *peer, const GByteArray *out, gsize *at, GByteArray *in)
{
    guint8 chunk[64 * 1024];
    ssize_t sent = 0, got;
    if (*at < out->len)
        sent = send(peer->fd, out->data + *at, out->len - *at, MSG_NOSIGNAL);
    *at += sent > 0 ? (gsize)sent : 0;
    got = recv(peer->fd, chunk, sizeof chunk, 0);
    if (got > 0)
        g_byte_array_append(in, chunk, (guint)got);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Removes a complete answer from the input. Returns the answer's kind; GONE if the answer is
 * malformed; 0 if a part is still missing. */
static AcrPeerReply take_peer_answer(const GByteArray *in, GBytes **out_answer)
{
    AcrPeerAnswerHead head;
    if (in->len < sizeof head)
        return 0;
    memcpy(&head, in->data, sizeof head);
    if (head.reply < ACR_PEER_READY || head.reply > ACR_PEER_ASKS ||
        head.len > ACR_PEER_MAX_ANSWER || in->len > sizeof head + head.len)
        return ACR_PEER_GONE;
    if (in->len < sizeof head + head.len)
        return 0;
    *out_answer = g_bytes_new(in->data + sizeof head, head.len);
    return (AcrPeerReply)head.reply;
}

AcrPeerReply acr_peer_await(AcrPeer *peer, const GByteArray *out, gint64 timeout_ms,
                            const AcrInterrupt *interrupt, GBytes **out_answer)
{
    g_autoptr(GByteArray) in = g_byte_array_new();
    gint64 until = g_get_monotonic_time() + timeout_ms * 1000;
    AcrPeerReply reply = 0;
    gsize at = 0;
    while (!reply) {
        struct pollfd fd = {peer->fd, (short)(POLLIN | (at < out->len ? POLLOUT : 0)), 0};
        if (acr_interrupted(interrupt))
            return ACR_PEER_INTERRUPTED;
        if (g_get_monotonic_time() >= until)
            return ACR_PEER_LATE;
        (void)poll(&fd, 1, POLL_MS);
        if (!exchange_message(peer, out, &at, in))
            return ACR_PEER_GONE;
        reply = take_peer_answer(in, out_answer);
    }
    return reply;
}

/* ---- Answering ---- */

static bool socket_error(GError **error, const char *what)
{
    return acr_set_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED, "cannot %s: %s", what,
                         errno ? g_strerror(errno)
                               : "the other process ended before its message was complete");
}

/* Reads all `len` bytes. Returns false on failure; *out_end (may be NULL) then says whether the
 * stream ended before the first byte. */
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

static bool write_all_to_peer(int fd, const void *data, gsize len)
{
    errno = acr_fd_write_all(fd, data, len);
    return errno == 0;
}

static bool answer_question(int fd, AcrPeerReply reply, const void *data, gsize len)
{
    AcrPeerAnswerHead head = {.reply = reply, .len = (guint32)MIN(len, ACR_PEER_MAX_ANSWER)};
    return write_all_to_peer(fd, &head, sizeof head) && write_all_to_peer(fd, data, head.len);
}

static bool answer_text(int fd, AcrPeerReply reply, const char *text)
{
    return answer_question(fd, reply, text, strlen(text));
}

static bool serve_one(int fd, const AcrPeerQuestionHead *head, AcrPeerAnswer one, void *ctx)
{
    g_autofree char *name = g_malloc0((gsize)head->name_len + 1);
    guint8 *question = g_malloc((gsize)head->len + 1);
    g_autoptr(GBytes) bytes = g_bytes_new_take(question, head->len), said = NULL;
    g_autoptr(GError) why = NULL;
    if (!read_all(fd, name, head->name_len, NULL) || !read_all(fd, question, head->len, NULL))
        return false;
    if (!one(ctx, name, bytes, &said, &why))
        return answer_text(fd, ACR_PEER_FAILED, why->message);
    gsize len;
    const void *data = g_bytes_get_data(said, &len);
    if (len > ACR_PEER_MAX_ANSWER)
        return answer_text(fd, ACR_PEER_FAILED, "the answer is too long");
    return answer_question(fd, ACR_PEER_ANSWERED, data, len);
}

bool acr_peer_serve(int fd, AcrPeerAnswer one, void *ctx, const GError *started, GError **error)
{
    AcrPeerQuestionHead head;
    bool end = false;
    if (started)
        return answer_text(fd, ACR_PEER_REFUSED, started->message) || socket_error(error, "answer");
    if (!answer_question(fd, ACR_PEER_READY, "", 0))
        return socket_error(error, "answer");
    while (read_all(fd, &head, sizeof head, &end)) {
        if (head.name_len > ACR_PEER_MAX_NAME || head.len > ACR_PEER_MAX_QUESTION) {
            errno = EPROTO;
            return socket_error(error, "read a question");
        }
        if (!serve_one(fd, &head, one, ctx))
            return socket_error(error, "answer a question");
    }
    return end || socket_error(error, "read a question");
}
