/* Outlines files in other processes: each peer handles one file at a time. One thread polls all
 * peers. Only one large file is outlined at a time, because a syntax tree takes a hundred times the
 * size of its file. */
#include "base/peer.h"
#include "index/index.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* minimum number of files per peer; for fewer, the start of another peer takes too long */
#define FILES_PER_PEER 12u
/* number of files from which on all peers are started at once */
#define FILES_AT_ONCE 96u
#define MAX_STARTS_LOST 3u     /* maximum number of peers in a row that end before they are ready */
#define START_TIMEOUT_MS 60000 /* how long a peer may take to become ready */
#define POLL_MS 100            /* interval between checks for an interrupt */
#define READ_CHUNK (64u * 1024)
#define HANG_UP_GRACE_MS 2000

typedef struct {
    AcrPeer peer; /* the worker's peer; its pid is 0 if there is none */
    bool ready, busy;
    bool big;           /* the peer's current file is large */
    gsize file;         /* number in the batch of the file that the peer outlines, if `busy` */
    gint64 timeout_us;  /* time limit for the current file */
    gint64 deadline_us; /* deadline of the current file, or of the peer's start */
    GByteArray *out;    /* bytes that the socket has not accepted yet */
    gsize out_at;
    GByteArray *in; /* bytes of the answer that have arrived */
} Worker;

typedef struct {
    const AcrOutlineBatch *batch;
    const AcrOutlineWorkers *workers;
    Worker *all;
    guint n;
    gsize next; /* number of the first file that was not sent yet */
    /* array of gsize: large files that wait until the large file in progress is finished */
    GArray *large;
    bool big_at_work; /* a large file is in progress */
    guint starts_lost;
    bool no_more; /* no more peers can be started */
    gint64 begun_us;
    /* time until which the first peer works alone, unless there are many files: as long as its own
     * start took */
    gint64 alone_until_us;
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

/* Starts another peer. If the start fails, the running peers continue. Returns false if no peer is
 * running. */
static bool start_worker(Pool *pool, Worker *worker)
{
    static const char *const no_environment[] = {NULL}; /* our environment may contain API keys */
    g_autoptr(GError) why = NULL;
    if (pool->no_more && has_any(pool))
        return true;
    if (!acr_peer_start(pool->workers->argv, no_environment, "/", &worker->peer, &why)) {
        pool->no_more = true;
        if (has_any(pool))
            return true;
        return acr_set_error(pool->error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED,
                             "cannot start an outline worker: %s", why->message);
    }
    worker->ready = worker->busy = false;
    worker->out_at = 0;
    g_byte_array_set_size(worker->out, 0);
    g_byte_array_set_size(worker->in, 0);
    worker->deadline_us = g_get_monotonic_time() + START_TIMEOUT_MS * 1000;
    return true;
}

/* Ends the peer's work on its file: reports the file's rows, or the failure. */
static void finish_worker(Pool *pool, Worker *worker, GBytes *rows,
                          const AcrOutlineFailure *failure)
{
    worker->busy = false;
    if (worker->big)
        pool->big_at_work = false;
    pool->batch->done(pool->batch->ctx, worker->file, rows, failure);
}

/* Handles a peer that has ended or misbehaves: ends the peer, and reports that its file failed for
 * `reason`. Returns false if too many peers in a row end before they are ready. */
static bool lose(Pool *pool, Worker *worker, const char *reason, gint64 grace_ms)
{
    g_autofree char *ended = acr_peer_end(&worker->peer, grace_ms);
    g_autofree char *text =
        reason ? g_strdup(reason) : g_strdup_printf("the outline worker %s", ended);
    if (!worker->ready && has_any(pool)) {
        pool->no_more = true;
    } else if (!worker->ready && ++pool->starts_lost >= MAX_STARTS_LOST) {
        return acr_set_error(pool->error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED,
                             "cannot start an outline worker: %s", text);
    }
    if (worker->busy)
        finish_worker(pool, worker, NULL, &(AcrOutlineFailure){.why = text});
    return true;
}

/* ---- Sending files ---- */

static void send_some(Worker *worker)
{
    while (worker->out_at < worker->out->len) {
        ssize_t n = send(worker->peer.fd, worker->out->data + worker->out_at,
                         worker->out->len - worker->out_at, MSG_NOSIGNAL);
        if (n <= 0)
            return; /* the socket is full, or the peer has ended, which the next read reports */
        worker->out_at += (gsize)n;
    }
    worker->out_at = 0;
    g_byte_array_set_size(worker->out, 0);
}

static void put_request(Pool *pool, Worker *worker, gsize file, GBytes *source)
{
    gsize len = g_bytes_get_size(source);
    gint64 own =
        ACR_OUTLINE_TIMEOUT_MS + (gint64)(len * ACR_OUTLINE_TIMEOUT_MS_PER_MIB / (1024 * 1024));
    acr_peer_put(worker->out, pool->batch->path(pool->batch->ctx, file), source);
    worker->busy = true;
    worker->file = file;
    worker->timeout_us = (pool->workers->timeout_ms ? pool->workers->timeout_ms : own) * 1000;
    worker->deadline_us = g_get_monotonic_time() + worker->timeout_us;
    send_some(worker);
}

/* Sets *out_file to the number of the next file. Returns false if no file can be sent now. */
static bool take_rows(Pool *pool, gsize *out_file)
{
    if (pool->large->len && !pool->big_at_work) {
        *out_file = g_array_index(pool->large, gsize, 0);
        g_array_remove_index(pool->large, 0);
        return true;
    }
    if (pool->next == pool->batch->n)
        return false;
    *out_file = pool->next++;
    return true;
}

/* Sends the peer a file, unless it already has a file. */
static void feed(Pool *pool, Worker *worker)
{
    gsize file;
    while (worker->peer.pid && worker->ready && !worker->busy && take_rows(pool, &file)) {
        g_autoptr(GBytes) source = pool->batch->read(pool->batch->ctx, file);
        if (!source)
            continue;
        worker->big = g_bytes_get_size(source) >= ACR_OUTLINE_BIG_BYTES;
        if (worker->big && pool->big_at_work) {
            g_array_append_val(pool->large, file);
            continue;
        }
        pool->big_at_work = pool->big_at_work || worker->big;
        put_request(pool, worker, file, source);
    }
}

/* ---- Answers ---- */

/* Handles a complete answer. Returns false with *out_reason if the peer must be ended. */
static bool take_outline(Pool *pool, Worker *worker, guint32 reply, const guint8 *data, gsize len,
                         char **out_reason)
{
    if (reply == ACR_PEER_READY && !worker->ready) {
        gint64 now = g_get_monotonic_time();
        pool->alone_until_us = MIN(pool->alone_until_us, 2 * now - pool->begun_us);
        worker->ready = true;
        pool->starts_lost = 0;
        return true;
    }
    if (reply == ACR_PEER_REFUSED) {
        *out_reason = acr_utf8_repair(data, len);
        return false;
    }
    if (reply == ACR_PEER_ANSWERED && worker->busy) {
        g_autoptr(GBytes) rows = g_bytes_new(data, len);
        finish_worker(pool, worker, rows, NULL);
        return true;
    }
    if (reply == ACR_PEER_FAILED && worker->busy) {
        g_autofree char *text = acr_utf8_repair(data, len);
        finish_worker(pool, worker, NULL, &(AcrOutlineFailure){.why = text, .lasting = true});
        return true;
    }
    *out_reason = g_strdup("the outline worker sent a malformed reply");
    return false;
}

/* Handles all complete answers. Returns false with *out_reason if the peer must be ended. */
static bool take_answers(Pool *pool, Worker *worker, char **out_reason)
{
    AcrPeerAnswerHead head;
    gsize at = 0;
    bool ok = true;
    while (ok && worker->in->len - at >= sizeof head) {
        memcpy(&head, worker->in->data + at, sizeof head);
        if (head.len > ACR_PEER_MAX_ANSWER) {
            *out_reason = g_strdup("the outline worker's reply is too long");
            return false;
        }
        if (worker->in->len - at - sizeof head < head.len)
            break;
        ok = take_outline(pool, worker, head.reply, worker->in->data + at + sizeof head, head.len,
                          out_reason);
        at += sizeof head + head.len;
    }
    if (at)
        g_byte_array_remove_range(worker->in, 0, (guint)at);
    return ok;
}

/* Reads the available bytes from the peer. Returns false if the peer has ended or must be ended. */
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
    if (!worker->peer.pid || (worker->ready && !worker->busy) ||
        g_get_monotonic_time() < worker->deadline_us)
        return true;
    g_autofree char *reason =
        worker->ready ? g_strdup_printf("outlining took longer than %" G_GINT64_FORMAT " s",
                                        worker->timeout_us / G_USEC_PER_SEC)
                      : g_strdup("the outline worker did not become ready");
    return lose(pool, worker, reason, 0);
}

/* Whether files are left that were not sent to a peer. */
static bool is_work_left(const Pool *pool)
{
    return pool->next < pool->batch->n || pool->large->len > 0;
}

static bool step_pool(Pool *pool)
{
    struct pollfd fds[ACR_OUTLINE_MAX_JOBS];
    gint64 alone_ms = (pool->alone_until_us - g_get_monotonic_time()) / 1000;
    guint wanted = alone_ms < 0 ? pool->n : 1;
    for (guint i = 0; i < pool->n; i++) {
        Worker *worker = &pool->all[i];
        if (i < wanted && !worker->peer.pid && is_work_left(pool) && !start_worker(pool, worker))
            return false;
        feed(pool, worker);
        short events = POLLIN | (worker->out->len ? POLLOUT : 0);
        fds[i] = (struct pollfd){worker->peer.pid ? worker->peer.fd : -1, events, 0};
    }
    int wait_ms = alone_ms < 0 ? POLL_MS : (int)MIN(alone_ms + 1, POLL_MS);
    if (poll(fds, pool->n, wait_ms) < 0 && errno != EINTR)
        return acr_set_error(pool->error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED,
                             "cannot wait for outline workers: %s", g_strerror(errno));
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
        if (pool->all[i].busy)
            return true;
    return is_work_left(pool);
}

static bool run_pool(Pool *pool)
{
    while (is_busy(pool)) {
        if (acr_interrupted(pool->batch->interrupt))
            return acr_set_error(pool->error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_INTERRUPTED,
                                 "interrupted while indexing");
        if (!step_pool(pool))
            return false;
    }
    return true;
}

static guint useful_peers(const AcrOutlineBatch *batch, const AcrOutlineWorkers *workers)
{
    guint jobs = workers->jobs ? workers->jobs : g_get_num_processors();
    guint worth = (guint)MIN((batch->n + FILES_PER_PEER - 1) / FILES_PER_PEER, G_MAXINT);
    return CLAMP(MIN(jobs, worth), 1, ACR_OUTLINE_MAX_JOBS);
}

bool acr_outline_by_workers(const AcrOutlineBatch *batch, const AcrOutlineWorkers *workers,
                            GError **error)
{
    g_autoptr(GArray) large = g_array_new(FALSE, FALSE, sizeof(gsize));
    Pool pool = {.batch = batch, .workers = workers, .large = large, .error = error};
    pool.begun_us = g_get_monotonic_time();
    pool.alone_until_us = batch->n < FILES_AT_ONCE ? G_MAXINT64 : 0;
    pool.n = useful_peers(batch, workers);
    pool.all = g_new0(Worker, pool.n);
    for (guint i = 0; i < pool.n; i++) {
        pool.all[i].out = g_byte_array_new();
        pool.all[i].in = g_byte_array_new();
    }
    bool ok = run_pool(&pool);
    for (guint i = 0; i < pool.n; i++) {
        if (pool.all[i].peer.pid)
            g_free(acr_peer_end(&pool.all[i].peer, 0));
        g_byte_array_unref(pool.all[i].out);
        g_byte_array_unref(pool.all[i].in);
    }
    g_free(pool.all);
    return ok;
}
