/*
 * Two threads. This one reads, and answers at once what looks at no repository, so that a request can
 * be cancelled and a signal be seen whatever is being worked on. The other one owns the repositories:
 * it answers requests in the order in which they came and, while there are none, indexes what has
 * not been asked for yet.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "serve/serve_private.h"

#define TICK_MS 100        /* in which the end of a time is seen */
#define GRACE_MS 500       /* what is being answered may end by itself, once all ends */
#define MAX_ID_BYTES 1024u /* of an id that waits */

/* A request that waits, or is being answered. */
typedef struct {
    AcrMcpMessage message;
    const AcrMcpMethod *method;
    char *key;  /* its id as JSON */
    gsize size; /* of its line */
    gint64 since_us;
    AcrInterrupt interrupt;
    bool is_cancelled;
} Job;

typedef struct {
    const AcrMcpOptions *options;
    AcrMcpPipe pipe;
    AcrMcpRepositories *repositories;
    bool has_handshake; /* of the reading thread alone */
    pthread_t worker;
    pthread_mutex_t mutex;  /* of all below */
    pthread_cond_t changed; /* monotonic */
    GQueue waiting;         /* of Job */
    gsize waiting_bytes;
    GHashTable *ids;       /* key -> Job, of those and of the current one */
    AcrInterrupt *current; /* of what is being worked on; NULL: nothing is */
    gint64 current_since_us;
    guint warmed; /* repositories that have been indexed, or tried */
    bool is_ending, is_aborted, has_ended;
} Server;

static void job_free(Job *job)
{
    if (!job)
        return;
    acr_mcp_message_clear(&job->message);
    g_free(job->key);
    g_free(job);
}

static void stop(AcrInterrupt *interrupt, int why)
{
    if (interrupt)
        __atomic_store_n(&interrupt->signal, why, __ATOMIC_RELAXED);
}

/* ---- Answering ---- */

/* The line that answers a request; owned. */
static char *answer(Server *server, const AcrMcpMethod *method, const AcrMcpMessage *message,
                    gint64 since_us, const AcrInterrupt *interrupt)
{
    g_auto(AcrMcpFault) fault = {0};
    AcrMcpRequest request = {server->options, server->repositories, message, since_us, interrupt};
    AcrJson *result = method->answer(&request, &fault);
    return acr_mcp_reply(message, result, &fault);
}

static void refuse(Server *server, const AcrMcpMessage *message, const AcrMcpFault *fault)
{
    g_autofree char *line = acr_mcp_reply(message, NULL, fault);
    acr_mcp_pipe_write(&server->pipe, line);
}

static void do_job(Server *server, Job *job)
{
    g_autofree char *line =
        answer(server, job->method, &job->message, job->since_us, &job->interrupt);
    pthread_mutex_lock(&server->mutex);
    server->current = NULL;
    g_hash_table_remove(server->ids, job->key);
    bool is_wanted = !job->is_cancelled && !server->is_aborted;
    pthread_mutex_unlock(&server->mutex);
    if (is_wanted)
        acr_mcp_pipe_write(&server->pipe, line);
    job_free(job);
}

/* Indexes a repository before it is asked for; an error is reported to whoever asks. */
static void warm(Server *server, guint i, const AcrInterrupt *interrupt)
{
    AcrMcpView view;
    g_autoptr(GError) error = NULL;
    (void)!acr_mcp_repository_view(server->repositories, i, 0, interrupt, &view, &error);
    pthread_mutex_lock(&server->mutex);
    server->current = NULL;
    pthread_mutex_unlock(&server->mutex);
}

static bool is_to_warm(const Server *server)
{
    return server->warmed <
               MIN(acr_mcp_repositories_n(server->repositories), ACR_MCP_MAX_INDEXED) &&
           !server->is_ending;
}

static void begin(Server *server, AcrInterrupt *interrupt)
{
    server->current = interrupt;
    server->current_since_us = g_get_monotonic_time();
}

static void *work(void *data)
{
    Server *server = data;
    AcrInterrupt warming = {0};
    pthread_mutex_lock(&server->mutex);
    while (!server->is_aborted && (!server->is_ending || server->waiting.length)) {
        Job *job = g_queue_pop_head(&server->waiting);
        guint i = server->warmed;
        if (!job && !is_to_warm(server)) {
            pthread_cond_wait(&server->changed, &server->mutex);
            continue;
        }
        server->waiting_bytes -= job ? job->size : 0;
        server->warmed += !job;
        warming = (AcrInterrupt){0};
        begin(server, job ? &job->interrupt : &warming);
        pthread_mutex_unlock(&server->mutex);
        if (job)
            do_job(server, job);
        else
            warm(server, i, &warming);
        pthread_mutex_lock(&server->mutex);
    }
    server->has_ended = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->mutex);
    return NULL;
}

/* ---- Reading ---- */

/* Puts a request in the queue; a fault where it cannot. */
static void enqueue(Server *server, AcrMcpMessage *message, const AcrMcpMethod *method, gsize size,
                    AcrMcpFault *fault)
{
    g_autofree char *key = acr_json_print(message->id);
    pthread_mutex_lock(&server->mutex);
    if (strlen(key) > MAX_ID_BYTES)
        acr_mcp_refuse(fault, ACR_MCP_INVALID_REQUEST, "the id is longer than %u bytes",
                       MAX_ID_BYTES);
    else if (g_hash_table_contains(server->ids, key))
        acr_mcp_refuse(fault, ACR_MCP_INVALID_REQUEST, "a request with that id is being answered");
    else if (server->waiting.length >= ACR_MCP_MAX_IN_FLIGHT ||
             server->waiting_bytes + size > ACR_MCP_MAX_WAITING_BYTES)
        acr_mcp_refuse(fault, ACR_MCP_BUSY,
                       "too many requests wait (%u, %" G_GSIZE_FORMAT
                       " bytes): send it again after some answers",
                       server->waiting.length, server->waiting_bytes);
    if (!fault->code) {
        Job *job = g_new0(Job, 1);
        *job = (Job){.message = *message,
                     .method = method,
                     .key = g_steal_pointer(&key),
                     .size = size,
                     .since_us = g_get_monotonic_time()};
        *message = (AcrMcpMessage){0};
        g_queue_push_tail(&server->waiting, job);
        g_hash_table_insert(server->ids, job->key, job);
        server->waiting_bytes += size;
        pthread_cond_broadcast(&server->changed);
    }
    pthread_mutex_unlock(&server->mutex);
}

/* A request that is cancelled gets no answer. */
static void cancel(Server *server, const AcrMcpMessage *message)
{
    const AcrJson *id = acr_json_get(message->params, "requestId");
    g_autofree char *key = id ? acr_json_print(id) : g_strdup("");
    pthread_mutex_lock(&server->mutex);
    Job *job = g_hash_table_lookup(server->ids, key);
    if (job && g_queue_remove(&server->waiting, job)) {
        server->waiting_bytes -= job->size;
        g_hash_table_remove(server->ids, key);
        job_free(job);
    } else if (job) {
        job->is_cancelled = true;
        stop(&job->interrupt, SIGINT);
    }
    pthread_mutex_unlock(&server->mutex);
}

static void take_request(Server *server, AcrMcpMessage *message, gsize size)
{
    g_auto(AcrMcpFault) fault = {0};
    const AcrMcpMethod *method = NULL;
    if (acr_mcp_message_check(message, server->has_handshake, &fault) &&
        !(method = acr_mcp_method_find(message)))
        acr_mcp_refuse(&fault, ACR_MCP_NO_METHOD, "there is no such method in this era");
    if (!fault.code && method->looks)
        enqueue(server, message, method, size, &fault);
    else if (!fault.code) {
        g_autofree char *line = answer(server, method, message, 0, NULL);
        server->has_handshake |= strcmp(method->name, "initialize") == 0;
        acr_mcp_pipe_write(&server->pipe, line);
    }
    if (fault.code)
        refuse(server, message, &fault);
}

static void take_line(void *ctx, const char *line, gsize len)
{
    Server *server = ctx;
    g_auto(AcrMcpMessage) message = {0};
    g_auto(AcrMcpFault) fault = {0};
    gsize blank = 0;
    while (line && blank < len && g_ascii_isspace(line[blank]))
        blank++;
    if (line && blank == len)
        return;
    if (!line)
        acr_mcp_refuse(&fault, ACR_MCP_INVALID_REQUEST, "a message may have %u bytes",
                       ACR_MCP_MAX_LINE);
    if (!line || !acr_mcp_message_read(line, len, &message, &fault))
        refuse(server, &message, &fault);
    else if (message.id && message.method)
        take_request(server, &message, len);
    else if (g_strcmp0(message.method, "notifications/cancelled") == 0)
        cancel(server, &message);
}

/* ---- From the beginning to the end ---- */

/* Ends what has taken too long. Returns whether anything is being worked on. */
static bool watch(Server *server)
{
    pthread_mutex_lock(&server->mutex);
    gint64 took_us = g_get_monotonic_time() - server->current_since_us;
    if (server->current && took_us / 1000 >= server->options->call_ms)
        stop(server->current, SIGALRM);
    bool is_busy = server->current || server->waiting.length || is_to_warm(server);
    pthread_mutex_unlock(&server->mutex);
    return is_busy;
}

static bool read_all(Server *server, GError **error)
{
    g_autoptr(GError) failed = NULL;
    while (
        !acr_interrupted(server->pipe.interrupt) &&
        acr_mcp_pipe_read(&server->pipe, watch(server) ? TICK_MS : -1, take_line, server, &failed))
        if (__atomic_load_n(&server->pipe.closed, __ATOMIC_RELAXED))
            break;
    return !failed || acr_pass_error(error, &failed);
}

/* Waits until the worker has ended, at most `ms`; whether it has. The mutex is held. */
static bool await_worker(Server *server, gint64 ms)
{
    gint64 until_us = g_get_monotonic_time() + ms * 1000;
    struct timespec until = {until_us / G_USEC_PER_SEC, until_us % G_USEC_PER_SEC * 1000};
    while (!server->has_ended &&
           pthread_cond_timedwait(&server->changed, &server->mutex, &until) != ETIMEDOUT)
        continue;
    return server->has_ended;
}

/* After the end of the input what has come is answered still, as long as somebody reads it. */
static bool end(Server *server, bool is_aborted)
{
    pthread_mutex_lock(&server->mutex);
    server->is_ending = true;
    pthread_cond_broadcast(&server->changed);
    while (!is_aborted && !await_worker(server, TICK_MS)) {
        pthread_mutex_unlock(&server->mutex);
        watch(server);
        is_aborted = acr_interrupted(server->pipe.interrupt) ||
                     __atomic_load_n(&server->pipe.closed, __ATOMIC_RELAXED);
        pthread_mutex_lock(&server->mutex);
    }
    server->is_aborted = is_aborted;
    if (is_aborted)
        stop(server->current, SIGTERM);
    pthread_cond_broadcast(&server->changed);
    bool has_ended = await_worker(server, GRACE_MS);
    pthread_mutex_unlock(&server->mutex);
    return has_ended;
}

static bool start(Server *server, const AcrMcpOptions *options, GError **error)
{
    pthread_condattr_t attr;
    sigset_t before;
    *server = (Server){.options = options};
    server->repositories = acr_mcp_repositories_open(options, error);
    if (!server->repositories)
        return false;
    server->ids = g_hash_table_new(g_str_hash, g_str_equal);
    acr_mcp_pipe_init(&server->pipe, options);
    pthread_mutex_init(&server->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &attr);
    pthread_condattr_destroy(&attr);
    acr_mcp_block_signals(&before);
    int failed = pthread_create(&server->worker, NULL, work, server);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed || acr_set_error(error, ACR_MCP_ERROR, ACR_MCP_ERROR_FAILED,
                                    "cannot start a thread: %s", g_strerror(failed));
}

static void clear(Server *server)
{
    g_clear_pointer(&server->repositories, acr_mcp_repositories_free);
    if (!server->ids)
        return;
    g_queue_clear_full(&server->waiting, (GDestroyNotify)job_free);
    g_hash_table_unref(server->ids);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->mutex);
    acr_mcp_pipe_clear(&server->pipe);
}

AcrMcpEnd acr_mcp_serve(const AcrMcpOptions *options, GError **error)
{
    Server server;
    if (!start(&server, options, error)) {
        clear(&server);
        return ACR_MCP_FAILED;
    }
    bool is_read = read_all(&server, error);
    int closed = __atomic_load_n(&server.pipe.closed, __ATOMIC_RELAXED);
    if (!end(&server, !is_read || closed || acr_interrupted(options->host->interrupt)))
        return ACR_MCP_BUSY_STILL;
    pthread_join(server.worker, NULL);
    closed = server.pipe.closed;
    clear(&server);
    if (is_read && closed && closed != EPIPE && closed != ECANCELED)
        return acr_set_error(error, ACR_MCP_ERROR, ACR_MCP_ERROR_FAILED,
                             "cannot write to standard output: %s", g_strerror(closed)),
               ACR_MCP_FAILED;
    return is_read ? ACR_MCP_ENDED : ACR_MCP_FAILED;
}
