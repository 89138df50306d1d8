/*
 * Outlining by other processes: keeps each peer busy with one file and the next one waiting in its
 * socket, so that none idles while this process reads. One thread, one poll. Large files go one at
 * a time over all peers, to peers that have nothing else to do: their trees take a hundred times
 * their size.
 *
 * A peer answers in the order of its requests, so what a dead peer was doing is its oldest request;
 * the other one is asked of somebody else.
 */
#include "index/workers_private.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_WAITING 2u         /* requests in one peer: one at work, one in its socket */
#define FILES_PER_PEER 12u     /* so few files are not worth another peer's start */
#define SPARE_FDS 24u          /* for all that is no peer: each takes one descriptor here */
#define MAX_STARTS_LOST 3u     /* peers in a row that ended before they were ready */
#define START_TIMEOUT_MS 60000 /* until a peer is ready */
#define POLL_MS 100            /* how late an interruption is seen */
#define READ_CHUNK (64u * 1024)
#define HANG_UP_GRACE_MS 2000

typedef struct {
    gsize number; /* in the batch */
    bool big;
} Request;

typedef struct {
    AcrPeer peer; /* pid 0: none */
    bool ready;
    Request waiting[MAX_WAITING]; /* the first is at work */
    guint n_waiting;
    gint64 deadline_us; /* of the first, or of the start */
    gint64 timeout_us[MAX_WAITING];
    GByteArray *out; /* what the socket has not taken yet */
    gsize out_at;
    GByteArray *in; /* the answer being read */
} Worker;

typedef struct {
    const AcrOutlineBatch *batch;
    const AcrOutlineWorkers *workers;
    Worker *all;
    guint n;
    gsize next;        /* the first file that was never asked about */
    GArray *again;     /* of Request: to be asked before the next */
    guint big_at_work; /* 0 or 1 */
    guint starts_lost;
    bool no_more; /* peers than there are can be had */
    GError **error;
} Pool;

/* ---- Life of a peer ---- */

static bool has_any(const Pool *pool)
{
    for (guint i = 0; i < pool->n; i++)
        if (pool->all[i].peer.pid)
            return true;
    return false;
}

/* Where no further peer can be had, those that are there do; false when there is none. */
static bool start(Pool *pool, Worker *worker)
{
    g_autoptr(GError) why = NULL;
    if (pool->no_more && has_any(pool))
        return true;
    if (!acr_peer_start(pool->workers->argv, &worker->peer, &why)) {
        pool->no_more = true;
        if (has_any(pool))
            return true;
        g_set_error(pool->error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED,
                    "cannot start an outline worker: %s", why->message);
        return false;
    }
    worker->ready = false;
    worker->n_waiting = 0;
    worker->out_at = 0;
    g_byte_array_set_size(worker->out, 0);
    g_byte_array_set_size(worker->in, 0);
    worker->deadline_us = g_get_monotonic_time() + START_TIMEOUT_MS * 1000;
    return true;
}

static void forget_first(Pool *pool, Worker *worker)
{
    pool->big_at_work -= worker->waiting[0].big;
    worker->n_waiting--;
    memmove(worker->waiting, worker->waiting + 1, worker->n_waiting * sizeof *worker->waiting);
    memmove(worker->timeout_us, worker->timeout_us + 1,
            worker->n_waiting * sizeof *worker->timeout_us);
    if (worker->n_waiting)
        worker->deadline_us = g_get_monotonic_time() + worker->timeout_us[0];
}

/*
 * The peer is gone or is to go: its file has failed for that reason, what waited behind it is asked
 * again. False when peers cannot even start.
 */
static bool lose(Pool *pool, Worker *worker, const char *reason, gint64 grace_ms)
{
    g_autofree char *ended = acr_peer_end(&worker->peer, grace_ms);
    g_autofree char *text =
        reason ? g_strdup(reason) : g_strdup_printf("the outline worker %s", ended);
    if (!worker->ready && has_any(pool)) {
        pool->no_more = true;
    } else if (!worker->ready && ++pool->starts_lost >= MAX_STARTS_LOST) {
        g_set_error(pool->error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED,
                    "cannot start an outline worker: %s", text);
        return false;
    }
    if (worker->n_waiting) {
        pool->batch->done(pool->batch->ctx, worker->waiting[0].number, NULL,
                          &(AcrOutlineFailure){.why = text});
        forget_first(pool, worker);
    }
    while (worker->n_waiting) {
        g_array_append_val(pool->again, worker->waiting[0]);
        forget_first(pool, worker);
    }
    return true;
}

/* ---- Asking ---- */

static void send_some(Worker *worker)
{
    while (worker->out_at < worker->out->len) {
        ssize_t n = send(worker->peer.fd, worker->out->data + worker->out_at,
                         worker->out->len - worker->out_at, MSG_NOSIGNAL);
        if (n <= 0)
            return; /* full, or gone: reading tells */
        worker->out_at += (gsize)n;
    }
    worker->out_at = 0;
    g_byte_array_set_size(worker->out, 0);
}

static void put_request(Pool *pool, Worker *worker, Request request, GBytes *source)
{
    const char *path = pool->batch->path(pool->batch->ctx, request.number);
    gsize len, path_len = MIN(strlen(path), ACR_WORKER_MAX_PATH);
    const void *data = g_bytes_get_data(source, &len);
    AcrWorkerRequestHead head = {(guint32)path_len, (guint32)len};
    gint64 own =
        ACR_OUTLINE_TIMEOUT_MS + (gint64)(len * ACR_OUTLINE_TIMEOUT_MS_PER_MIB / (1024 * 1024));

    g_byte_array_append(worker->out, (const guint8 *)&head, sizeof head);
    g_byte_array_append(worker->out, (const guint8 *)path, (guint)path_len);
    if (len)
        g_byte_array_append(worker->out, data, (guint)len);
    worker->timeout_us[worker->n_waiting] =
        (pool->workers->timeout_ms ? pool->workers->timeout_ms : own) * 1000;
    worker->waiting[worker->n_waiting++] = request;
    pool->big_at_work += request.big;
    if (worker->n_waiting == 1)
        worker->deadline_us = g_get_monotonic_time() + worker->timeout_us[0];
    send_some(worker);
}

/* Whether this peer can take another file, of any size or a small one. */
static bool has_room(const Worker *worker)
{
    return worker->peer.pid && worker->ready && worker->n_waiting < MAX_WAITING &&
           worker->out->len == 0 && !(worker->n_waiting && worker->waiting[0].big);
}

/* Takes the next file for the peer; false when there is none for it now. */
static bool take(Pool *pool, const Worker *worker, Request *out)
{
    for (guint i = 0; i < pool->again->len; i++) {
        *out = g_array_index(pool->again, Request, i);
        if (out->big && (pool->big_at_work || worker->n_waiting))
            continue;
        g_array_remove_index(pool->again, i);
        return true;
    }
    if (pool->next == pool->batch->n)
        return false;
    *out = (Request){.number = pool->next++};
    return true;
}

/* Fills the peer. A file that turns out to be large and cannot go now is kept for later. */
static void feed(Pool *pool, Worker *worker)
{
    Request request;
    while (has_room(worker) && take(pool, worker, &request)) {
        g_autoptr(GBytes) source = pool->batch->read(pool->batch->ctx, request.number);
        if (!source)
            continue;
        request.big = g_bytes_get_size(source) >= ACR_OUTLINE_BIG_BYTES;
        if (request.big && (pool->big_at_work || worker->n_waiting))
            g_array_append_val(pool->again, request);
        else
            put_request(pool, worker, request, source);
    }
}

/* ---- Answers ---- */

/* An answer that is whole. False when the peer must go: *out_reason says why. */
static bool take_answer(Pool *pool, Worker *worker, guint32 kind, const guint8 *data, gsize len,
                        char **out_reason)
{
    g_autofree char *text = NULL;
    switch (kind) {
    case ACR_WORKER_READY:
        if (worker->ready)
            break;
        worker->ready = true;
        pool->starts_lost = 0;
        return true;
    case ACR_WORKER_REFUSED:
        *out_reason = acr_utf8_repair(data, len);
        return false;
    case ACR_WORKER_ROWS:
    case ACR_WORKER_FAILED:
        if (worker->n_waiting == 0)
            break;
        if (kind == ACR_WORKER_ROWS) {
            g_autoptr(GBytes) rows = g_bytes_new(data, len);
            pool->batch->done(pool->batch->ctx, worker->waiting[0].number, rows, NULL);
        } else {
            text = acr_utf8_repair(data, len);
            pool->batch->done(pool->batch->ctx, worker->waiting[0].number, NULL,
                              &(AcrOutlineFailure){.why = text, .lasting = true});
        }
        forget_first(pool, worker);
        return true;
    default:
        break;
    }
    *out_reason = g_strdup("the outline worker gave an answer that is none");
    return false;
}

/* Takes the answers that are whole. */
static bool take_answers(Pool *pool, Worker *worker, char **out_reason)
{
    AcrWorkerAnswerHead head;
    gsize at = 0;
    bool ok = true;
    while (ok && worker->in->len - at >= sizeof head) {
        memcpy(&head, worker->in->data + at, sizeof head);
        if (head.len > ACR_OUTLINE_MAX_ROWS) {
            *out_reason = g_strdup("the outline worker answered too much");
            return false;
        }
        if (worker->in->len - at - sizeof head < head.len)
            break;
        ok = take_answer(pool, worker, head.kind, worker->in->data + at + sizeof head, head.len,
                         out_reason);
        at += sizeof head + head.len;
    }
    if (at)
        g_byte_array_remove_range(worker->in, 0, (guint)at);
    return ok;
}

/* Reads what is there; false when the peer must go or has gone. */
static bool receive(Pool *pool, Worker *worker, char **out_reason)
{
    guint8 chunk[READ_CHUNK];
    ssize_t n;
    do
        n = recv(worker->peer.fd, chunk, sizeof chunk, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN;
    if (n == 0)
        return false;
    g_byte_array_append(worker->in, chunk, (guint)n);
    return take_answers(pool, worker, out_reason);
}

/* ---- The loop ---- */

static bool check_deadline(Pool *pool, Worker *worker)
{
    bool works = worker->n_waiting || !worker->ready;
    if (!worker->peer.pid || !works || g_get_monotonic_time() < worker->deadline_us)
        return true;
    g_autofree char *reason =
        worker->ready ? g_strdup_printf("outlining took longer than %" G_GINT64_FORMAT " s",
                                        worker->timeout_us[0] / G_USEC_PER_SEC)
                      : g_strdup("the outline worker did not become ready");
    return lose(pool, worker, reason, 0);
}

/* Whether there is something for another peer to do. */
static bool is_work_left(const Pool *pool)
{
    return pool->next < pool->batch->n || pool->again->len > 0;
}

static bool step(Pool *pool)
{
    struct pollfd fds[ACR_OUTLINE_MAX_JOBS];
    for (guint i = 0; i < pool->n; i++) {
        Worker *worker = &pool->all[i];
        if (!worker->peer.pid && is_work_left(pool) && !start(pool, worker))
            return false;
        feed(pool, worker);
        short events = POLLIN | (worker->out->len ? POLLOUT : 0);
        fds[i] = (struct pollfd){worker->peer.pid ? worker->peer.fd : -1, events, 0};
    }
    if (poll(fds, pool->n, POLL_MS) < 0 && errno != EINTR)
        return true;
    for (guint i = 0; i < pool->n; i++) {
        g_autofree char *reason = NULL;
        Worker *worker = &pool->all[i];
        if (fds[i].fd >= 0 && fds[i].revents & POLLOUT)
            send_some(worker);
        bool gone = fds[i].fd >= 0 && fds[i].revents & ~POLLOUT && !receive(pool, worker, &reason);
        if (gone ? !lose(pool, worker, reason, reason ? 0 : HANG_UP_GRACE_MS)
                 : !check_deadline(pool, worker))
            return false;
    }
    return true;
}

static bool is_busy(const Pool *pool)
{
    for (guint i = 0; i < pool->n; i++)
        if (pool->all[i].n_waiting)
            return true;
    return is_work_left(pool);
}

static bool run(Pool *pool)
{
    while (is_busy(pool)) {
        if (acr_interrupted(pool->batch->interrupt)) {
            g_set_error_literal(pool->error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_INTERRUPTED,
                                "interrupted while indexing");
            return false;
        }
        if (!step(pool))
            return false;
    }
    return true;
}

static guint useful_peers(const AcrOutlineBatch *batch, const AcrOutlineWorkers *workers)
{
    guint jobs = workers->jobs ? workers->jobs : g_get_num_processors();
    guint worth = (guint)MIN((batch->n + FILES_PER_PEER - 1) / FILES_PER_PEER, G_MAXINT);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        jobs = MIN(jobs, (guint)(MIN(files.rlim_cur, G_MAXINT) - MIN(files.rlim_cur, SPARE_FDS)));
    return CLAMP(MIN(jobs, worth), 1, ACR_OUTLINE_MAX_JOBS);
}

bool acr_outline_by_workers(const AcrOutlineBatch *batch, const AcrOutlineWorkers *workers,
                            GError **error)
{
    g_autoptr(GArray) again = g_array_new(FALSE, FALSE, sizeof(Request));
    Pool pool = {.batch = batch, .workers = workers, .again = again, .error = error};
    pool.n = useful_peers(batch, workers);
    pool.all = g_new0(Worker, pool.n);
    for (guint i = 0; i < pool.n; i++) {
        pool.all[i].out = g_byte_array_new();
        pool.all[i].in = g_byte_array_new();
    }
    bool ok = run(&pool);
    for (guint i = 0; i < pool.n; i++) {
        if (pool.all[i].peer.pid)
            g_free(acr_peer_end(&pool.all[i].peer, 0));
        g_byte_array_unref(pool.all[i].out);
        g_byte_array_unref(pool.all[i].in);
    }
    g_free(pool.all);
    return ok;
}
