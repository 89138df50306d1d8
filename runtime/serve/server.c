/* Answers messages from any transport. The transport's thread passes messages to the server. It
 * answers requests that need no repository immediately, so that cancellation and signals work
 * during long answers. A worker thread owns the repositories. The worker answers the other requests
 * in order and, while none is waiting, indexes repositories in advance. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "serve/serve_private.h"

#define TICK_MS 100  /* interval in milliseconds between checks of timeouts */
#define PROGRESS_S 1 /* interval in seconds between progress notifications for a waiting request */
/* time in milliseconds in which an answer in progress can finish when the server ends */
#define GRACE_MS 500
#define MAX_ID_BYTES 1024u /* maximum length in bytes of the id of a waiting request */

/* A waiting request, or the request in progress. */
typedef struct {
    AcrServeMessage message;
    const AcrServeMethod *method;
    void *to;     /* receiver of the answer, as passed to AcrServeReply */
    char *client; /* name of the client */
    char *key;    /* the client's name and the request's id as JSON */
    gsize size;   /* size of the message in bytes */
    /* monotonic time at which the request arrived, and at which its client was last notified */
    gint64 since_us, told_us;
    AcrInterrupt interrupt;
    bool is_cancelled;
} Job;

struct AcrServeServer {
    const AcrServeOptions *options;
    AcrServeReply *reply;
    AcrServeRepositories *repositories;
    pthread_t worker;
    bool has_worker;
    pthread_mutex_t mutex;  /* protects all following members */
    pthread_cond_t changed; /* uses the monotonic clock */
    GQueue waiting;         /* queue of Job */
    gsize waiting_bytes;
    GHashTable *ids;       /* key -> Job, for the waiting requests and the current one */
    AcrInterrupt *current; /* interrupts the current job; NULL if there is none */
    gint64 current_since_us;
    /* number of repositories that were indexed in advance, including failures */
    guint warmed;
    bool is_ending, is_aborted, has_ended;
};

static void job_free(Job *job)
{
    if (!job)
        return;
    acr_serve_message_clear(&job->message);
    ACR_FREE(job->client, job->key, job);
}

static void stop(AcrInterrupt *interrupt, int why)
{
    if (interrupt)
        __atomic_store_n(&interrupt->signal, why, __ATOMIC_RELAXED);
}

void acr_serve_block_signals(sigset_t *out_before)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGALRM};
    sigset_t set;
    sigemptyset(&set);
    for (gsize i = 0; i < G_N_ELEMENTS(signals); i++)
        sigaddset(&set, signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, out_before);
}

/* Answers a request with its result (taken) or the fault. */
static void reply_to(const AcrServeServer *server, void *to, const AcrServeMessage *message,
                     AcrJson *result, const AcrServeFault *fault)
{
    g_autofree char *line = acr_serve_reply(message, result, fault);
    server->reply(to, line, fault->code);
}

/* Drops a cancelled request, which gets no answer. */
static void give_up_request(const AcrServeServer *server, Job *job)
{
    server->reply(job->to, NULL, 0);
    job_free(job);
}

static AcrJson *answer_message(const AcrServeServer *server, const AcrServeMethod *method,
                               const AcrServeMessage *message, gint64 since_us,
                               const AcrInterrupt *interrupt, AcrServeFault *fault)
{
    AcrServeRequest request = {server->options, server->repositories, message, since_us, interrupt};
    return method->answer(&request, fault);
}

static void do_job(AcrServeServer *server, Job *job)
{
    g_auto(AcrServeFault) fault = {0};
    g_autoptr(AcrJson) result =
        answer_message(server, job->method, &job->message, job->since_us, &job->interrupt, &fault);
    pthread_mutex_lock(&server->mutex);
    server->current = NULL;
    g_hash_table_remove(server->ids, job->key);
    bool is_wanted = !job->is_cancelled && !server->is_aborted;
    pthread_mutex_unlock(&server->mutex);
    if (!is_wanted) {
        give_up_request(server, job);
        return;
    }
    reply_to(server, job->to, &job->message, g_steal_pointer(&result), &fault);
    job_free(job);
}

/* Indexes a repository in advance. Ignores errors, because they are reported when a request needs
 * the repository. */
static void warm(AcrServeServer *server, guint i, const AcrInterrupt *interrupt)
{
    AcrServeView view;
    g_autoptr(GError) error = NULL;
    (void)!acr_serve_repository_view(server->repositories, i, 0, interrupt, &view, &error);
    pthread_mutex_lock(&server->mutex);
    server->current = NULL;
    pthread_mutex_unlock(&server->mutex);
}

static bool is_to_warm(const AcrServeServer *server)
{
    return server->warmed <
               MIN(acr_serve_repositories_n(server->repositories), ACR_SERVE_MAX_INDEXED) &&
           !server->is_ending;
}

static void begin_request(AcrServeServer *server, AcrInterrupt *interrupt)
{
    server->current = interrupt;
    server->current_since_us = g_get_monotonic_time();
}

static void *work_on_requests(void *data)
{
    AcrServeServer *server = data;
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
        begin_request(server, job ? &job->interrupt : &warming);
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

/* Returns a key that is different from the keys of all waiting requests; owned. */
static char *request_key(const AcrServeClient *client, const AcrJson *id)
{
    g_autofree char *text = id ? acr_json_print(id) : g_strdup("");
    return g_strdup_printf("%s %s", client->name, text);
}

/* Queues a request. Sets a fault if it cannot be queued. */
static void enqueue(AcrServeServer *server, const AcrServeClient *client, AcrServeMessage *message,
                    const AcrServeMethod *method, gsize size, void *to, AcrServeFault *fault)
{
    g_autofree char *key = request_key(client, message->id);
    pthread_mutex_lock(&server->mutex);
    if (strlen(key) > strlen(client->name) + 1 + MAX_ID_BYTES)
        acr_serve_refuse(fault, ACR_SERVE_INVALID_REQUEST, "the id is longer than %u bytes",
                         MAX_ID_BYTES);
    else if (g_hash_table_contains(server->ids, key))
        acr_serve_refuse(fault, ACR_SERVE_INVALID_REQUEST,
                         "the server is already answering a request with that id");
    else if (server->waiting.length >= ACR_SERVE_MAX_IN_FLIGHT ||
             server->waiting_bytes + size > ACR_SERVE_MAX_WAITING_BYTES)
        acr_serve_refuse(fault, ACR_SERVE_BUSY,
                         "too many requests are waiting (%u, %" G_GSIZE_FORMAT
                         " bytes); send this one again after some of them are answered",
                         server->waiting.length, server->waiting_bytes);
    if (!fault->code) {
        Job *job = g_new0(Job, 1);
        *job = (Job){.message = *message,
                     .method = method,
                     .to = to,
                     .client = g_strdup(client->name),
                     .key = g_steal_pointer(&key),
                     .size = size,
                     .since_us = g_get_monotonic_time()};
        *message = (AcrServeMessage){0};
        g_queue_push_tail(&server->waiting, job);
        g_hash_table_insert(server->ids, job->key, job);
        server->waiting_bytes += size;
        pthread_cond_broadcast(&server->changed);
    }
    pthread_mutex_unlock(&server->mutex);
}

/* Cancels a job. If the job has not started, returns the job, which the caller then owns. The
 * caller holds the mutex. */
static Job *cancel_job(AcrServeServer *server, Job *job)
{
    if (!g_queue_remove(&server->waiting, job)) {
        job->is_cancelled = true;
        stop(&job->interrupt, SIGINT);
        return NULL;
    }
    server->waiting_bytes -= job->size;
    g_hash_table_remove(server->ids, job->key);
    return job;
}

static void cancel(AcrServeServer *server, const AcrServeClient *client,
                   const AcrServeMessage *message)
{
    g_autofree char *key = request_key(client, acr_json_get(message->params, "requestId"));
    pthread_mutex_lock(&server->mutex);
    Job *job = g_hash_table_lookup(server->ids, key);
    job = job ? cancel_job(server, job) : NULL;
    pthread_mutex_unlock(&server->mutex);
    if (job)
        give_up_request(server, job);
}

void acr_serve_server_cancel(AcrServeServer *server, const char *client)
{
    g_autoptr(GPtrArray) waiting = g_ptr_array_new();
    pthread_mutex_lock(&server->mutex);
    g_autoptr(GList) jobs = g_hash_table_get_values(server->ids);
    for (GList *at = jobs; at; at = at->next) {
        Job *job = at->data;
        if (strcmp(job->client, client) == 0 && cancel_job(server, job))
            g_ptr_array_add(waiting, job);
    }
    pthread_mutex_unlock(&server->mutex);
    for (guint i = 0; i < waiting->len; i++)
        give_up_request(server, waiting->pdata[i]);
}

static void take_request(AcrServeServer *server, AcrServeClient *client, AcrServeMessage *message,
                         gsize size, void *to)
{
    g_auto(AcrServeFault) fault = {0};
    const AcrServeMethod *method = NULL;
    if (acr_serve_message_check(message, client->has_handshake, &fault) &&
        !(method = acr_serve_method_find(message)))
        acr_serve_refuse(&fault, ACR_SERVE_NO_METHOD, "there is no such method");
    if (!fault.code && method->looks) {
        enqueue(server, client, message, method, size, to, &fault);
        if (!fault.code)
            return;
    }
    AcrJson *result = fault.code ? NULL : answer_message(server, method, message, 0, NULL, &fault);
    client->has_handshake |= result && strcmp(method->name, "initialize") == 0;
    reply_to(server, to, message, result, &fault);
}

void acr_serve_server_take(AcrServeServer *server, AcrServeClient *client, AcrServeMessage *message,
                           gsize size, void *to)
{
    if (message->id && message->method)
        take_request(server, client, message, size, to);
    else if (g_strcmp0(message->method, "notifications/cancelled") == 0)
        cancel(server, client, message);
    acr_serve_message_clear(message);
}

/* Returns a progress notification for a request that asked for notifications; owned; otherwise
 * NULL. */
static char *progress_line(const AcrServeServer *server, const Job *job, gint64 now_us)
{
    const AcrJson *token =
        acr_json_get(acr_json_get(job->message.params, "_meta"), "progressToken");
    const char *text = token ? acr_json_string(token) : NULL;
    bool is_number = token && acr_json_type(token) == ACR_JSON_NUMBER;
    if (!is_number && (!text || strlen(text) > MAX_ID_BYTES))
        return NULL;
    g_autofree char *doing = acr_serve_repositories_doing(server->repositories);
    double seconds = (double)(now_us - job->since_us) / G_USEC_PER_SEC;
    AcrJson *params = acr_json_of(ACR_JSON("progressToken", acr_json_copy(token)),
                                  ACR_JSON("progress", acr_json_new_double(seconds)),
                                  ACR_STRING("message", doing ? doing : "answering"), NULL);
    g_autoptr(AcrJson) json =
        acr_json_of(ACR_STRING("jsonrpc", "2.0"), ACR_STRING("method", "notifications/progress"),
                    ACR_JSON("params", params), NULL);
    g_autofree char *printed = acr_json_print(json);
    return g_strconcat(printed, "\n", NULL);
}

/* Passes progress lines to `notify`. The caller holds the mutex, so that no notification is sent
 * after the answer. */
static void tell_waiting(const AcrServeServer *server, AcrServeReply *notify)
{
    gint64 now_us = g_get_monotonic_time();
    GHashTableIter each;
    gpointer at;
    g_hash_table_iter_init(&each, server->ids);
    while (g_hash_table_iter_next(&each, NULL, &at)) {
        Job *job = at;
        gint64 wait_us =
            job->told_us ? PROGRESS_S * G_USEC_PER_SEC : PROGRESS_S * G_USEC_PER_SEC / 2;
        if (job->is_cancelled || now_us - MAX(job->told_us, job->since_us) < wait_us)
            continue;
        job->told_us = now_us;
        g_autofree char *line = progress_line(server, job, now_us);
        if (line)
            notify(job->to, line, 0);
    }
}

bool acr_serve_server_watch(AcrServeServer *server, AcrServeReply *notify)
{
    pthread_mutex_lock(&server->mutex);
    if (notify)
        tell_waiting(server, notify);
    gint64 took_us = g_get_monotonic_time() - server->current_since_us;
    if (server->current && took_us / 1000 >= server->options->call_ms)
        stop(server->current, SIGALRM);
    bool is_busy = server->current || server->waiting.length || is_to_warm(server);
    pthread_mutex_unlock(&server->mutex);
    return is_busy;
}

/* Waits at most `ms` for the worker to end. Returns true if the worker has ended. The caller holds
 * the mutex. */
static bool await_worker(AcrServeServer *server, gint64 ms)
{
    gint64 until_us = g_get_monotonic_time() + ms * 1000;
    struct timespec until = {until_us / G_USEC_PER_SEC, until_us % G_USEC_PER_SEC * 1000};
    while (!server->has_ended &&
           pthread_cond_timedwait(&server->changed, &server->mutex, &until) != ETIMEDOUT)
        continue;
    return server->has_ended;
}

static bool is_lost(const AcrServeServer *server, const int *lost)
{
    return acr_interrupted(server->options->host->interrupt) ||
           (lost && __atomic_load_n(lost, __ATOMIC_RELAXED));
}

bool acr_serve_server_end(AcrServeServer *server, bool is_aborted, const int *lost)
{
    is_aborted |= is_lost(server, lost);
    pthread_mutex_lock(&server->mutex);
    server->is_ending = true;
    pthread_cond_broadcast(&server->changed);
    while (!is_aborted && !await_worker(server, TICK_MS)) {
        pthread_mutex_unlock(&server->mutex);
        acr_serve_server_watch(server, NULL);
        is_aborted = is_lost(server, lost);
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

static bool start_serve_worker(AcrServeServer *server, GError **error)
{
    pthread_condattr_t attr;
    sigset_t before;
    server->ids = g_hash_table_new(g_str_hash, g_str_equal);
    pthread_mutex_init(&server->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &attr);
    pthread_condattr_destroy(&attr);
    acr_serve_block_signals(&before);
    int failed = pthread_create(&server->worker, NULL, work_on_requests, server);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    server->has_worker = !failed;
    return !failed || acr_set_error(error, ACR_SERVE_ERROR, ACR_SERVE_ERROR_FAILED,
                                    "cannot start a thread: %s", g_strerror(failed));
}

AcrServeServer *acr_serve_server_start(const AcrServeOptions *options, AcrServeReply *replier,
                                       GError **error)
{
    AcrServeServer *server = g_new0(AcrServeServer, 1);
    *server = (AcrServeServer){.options = options, .reply = replier};
    server->repositories = acr_serve_repositories_open(options, error);
    if (server->repositories && start_serve_worker(server, error))
        return server;
    acr_serve_server_free(server);
    return NULL;
}

void acr_serve_server_free(AcrServeServer *server)
{
    Job *job;
    if (!server)
        return;
    if (server->has_worker)
        pthread_join(server->worker, NULL);
    while ((job = g_queue_pop_head(&server->waiting)))
        give_up_request(server, job);
    g_clear_pointer(&server->repositories, acr_serve_repositories_free);
    if (server->ids) {
        g_hash_table_unref(server->ids);
        pthread_cond_destroy(&server->changed);
        pthread_mutex_destroy(&server->mutex);
    }
    g_free(server);
}
