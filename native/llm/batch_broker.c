/* The broker of batch interfaces: a server on loopback receives requests, and one thread pools the
 * requests, sends the batches and polls the state of the batches. The broker's file gets a line for
 * each batch before the batch is sent, a second line with the batch's id afterwards, and a line for
 * each result. A new broker reads the file, so nothing is lost or sent twice after the program is
 * killed. */
#include "llm/batch_broker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/trace.h"
#include "http/server.h"
#include "llm/llm.h"

#define POOL_STEPS 2
#define POLL_STEPS 15
#define MAX_CALLS 10000u /* maximum number of calls in a batch */
/* maximum sum of the sizes of a batch's bodies, in bytes */
#define MAX_BYTES ((gsize)90 * 1024 * 1024)
/* maximum number of batches in which a call is sent before the broker gives up */
#define MAX_SENDS 3u
#define MAX_BODY ((gsize)64 * 1024 * 1024) /* maximum size of the body of one call, in bytes */
#define MAX_FILE ((gsize)4 << 30)
/* number of failed polls in a row after which the broker gives up a batch */
#define MAX_FAILURES 20u
#define NO_DISK 599 /* not an HTTP status: means that the results could not be saved */

/* A request that waits for its result. */
typedef struct {
    AcrBatchCall *sent; /* shared with the batch in which the call is sent */
    char *model, **headers;
    AcrHttpIncoming *incoming;
    guint sends;
    gint64 since_us;
    struct Batch *batch; /* NULL until the call is sent */
} Call;

typedef struct Batch {
    /* `id` is NULL while it is unknown whether the provider accepted the batch */
    char *nonce, *id, *url;
    /* the headers of one of the batch's calls; NULL after a restart, until one of the calls is
     * repeated */
    char **headers;
    GHashTable *keys; /* keys of the batch's calls */
    gint64 sent_s, next_us;
    guint failures;
    bool is_over;
} Batch;

struct AcrBatchBroker {
    AcrBatchBrokerOptions options;
    char *address;
    int fd;
    AcrHttpServer *server;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* protects all following members */
    pthread_cond_t changed;
    bool is_over;
    GPtrArray *calls;    /* array of owned Call */
    GPtrArray *batches;  /* array of owned Batch */
    GHashTable *answers; /* key -> owned AcrBatchAnswer */
};

static void call_free(gpointer data)
{
    Call *call = data;
    acr_batch_call_unref(call->sent);
    g_free(call->model);
    g_strfreev(call->headers);
    acr_http_incoming_unref(call->incoming);
    g_free(call);
}

static void batch_free(gpointer data)
{
    Batch *batch = data;
    ACR_FREE(batch->nonce, batch->id, batch->url);
    g_strfreev(batch->headers);
    g_hash_table_unref(batch->keys);
    g_free(batch);
}

static gint64 steps_us(const AcrBatchBroker *broker, gint64 steps)
{
    return steps * 1000 * (broker->options.scale_ms > 0 ? broker->options.scale_ms : 1000);
}

static void tell_user(const AcrBatchBroker *broker, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void tell_user(const AcrBatchBroker *broker, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    acr_trace("llm", "%s", line);
    if (broker->options.on_note)
        broker->options.on_note(broker->options.ctx, line);
}

/* ---- The broker's file ---- */

/* Appends the JSON object `line` (taken) to the broker's file and syncs the file. */
static bool write_line(const AcrBatchBroker *broker, AcrJson *line, GError **error)
{
    g_autoptr(AcrJson) owned = line;
    g_autofree char *printed = acr_json_print(line), *text = g_strconcat(printed, "\n", NULL);
    gsize len = strlen(text);
    if (write(broker->fd, text, len) == (gssize)len && fdatasync(broker->fd) == 0)
        return true;
    return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_FAILED, "cannot write '%s': %s",
                         broker->options.path, g_strerror(errno));
}

static Batch *batch_new(const char *nonce, const char *url, gint64 sent_s)
{
    Batch *batch = g_new0(Batch, 1);
    batch->nonce = g_strdup(nonce);
    batch->url = g_strdup(url);
    batch->sent_s = sent_s;
    batch->keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return batch;
}

static Batch *find_batch(const AcrBatchBroker *broker, const char *nonce)
{
    for (guint i = 0; i < broker->batches->len; i++) {
        Batch *batch = broker->batches->pdata[i];
        if (g_strcmp0(batch->nonce, nonce) == 0)
            return batch;
    }
    return NULL;
}

static void keep_answer(AcrBatchBroker *broker, const char *key, int status, const char *body)
{
    AcrBatchAnswer *answer = g_new0(AcrBatchAnswer, 1);
    *answer = (AcrBatchAnswer){g_strdup(key), status, g_strdup(body)};
    g_hash_table_replace(broker->answers, answer->key, answer);
}

/* Restores the state that a line of the broker's file records. Ignores an incomplete last line. */
static void take_kept(AcrBatchBroker *broker, const AcrJson *line)
{
    const char *nonce = acr_json_get_string(line, "nonce"), *url = acr_json_get_string(line, "url"),
               *id = acr_json_get_string(line, "id"), *key = acr_json_get_string(line, "answer"),
               *body = acr_json_get_string(line, "body");
    Batch *batch = nonce ? find_batch(broker, nonce) : NULL;
    if (nonce && url && !batch) {
        batch = batch_new(nonce, url, acr_json_get_int(line, "time", 0));
        const AcrJson *keys = acr_json_get(line, "calls");
        for (const AcrJson *at = acr_json_first(keys); at; at = acr_json_next(at))
            g_hash_table_add(batch->keys, g_strdup(acr_json_string(at)));
        g_ptr_array_add(broker->batches, batch);
    } else if (batch && id) {
        g_free(batch->id);
        batch->id = g_strdup(id);
    } else if (batch && acr_json_get_bool(line, "over", false)) {
        batch->is_over = true;
    } else if (key && body) {
        keep_answer(broker, key, (int)acr_json_get_int(line, "status", 200), body);
    }
}

static bool open_file(AcrBatchBroker *broker, GError **error)
{
    const char *path = broker->options.path;
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_FILE, &reason);
    if (!bytes && !g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
        return acr_pass_error(error, &reason);
    g_autofree char *text = bytes ? acr_bytes_text(bytes) : g_strdup("");
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        g_autoptr(AcrJson) line = acr_json_parse(lines[i], strlen(lines[i]), NULL);
        if (line)
            take_kept(broker, line);
    }
    broker->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_cut = *text && !g_str_has_suffix(text, "\n");
    if (broker->fd >= 0 && (!is_cut || write(broker->fd, "\n", 1) == 1))
        return true;
    return acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_FAILED, "cannot open '%s': %s", path,
                         g_strerror(errno));
}

/* ---- Calls ---- */

static void answer_pooled(Call *call, int status, const char *body)
{
    acr_http_incoming_answer(call->incoming, status, "application/json", body, strlen(body));
}

/* Refuses a call, so that the model sends the call to the provider's standard interface. */
static void refuse_call(Call *call, const char *why)
{
    g_autofree char *printed = acr_batch_refusal(why);
    answer_pooled(call, ACR_BATCH_NO_ANSWER, printed);
}

/* Returns the batch that contains the call with the key `key` and has no result for the call yet;
 * NULL if there is none. */
static Batch *batch_of(const AcrBatchBroker *broker, const char *key)
{
    for (guint i = 0; i < broker->batches->len; i++) {
        Batch *batch = broker->batches->pdata[i];
        if (!batch->is_over && g_hash_table_contains(batch->keys, key))
            return batch;
    }
    return NULL;
}

static Call *read_envelope(AcrHttpIncoming *incoming)
{
    gsize len = 0;
    const char *data = acr_http_incoming_body(incoming, &len);
    g_autoptr(AcrJson) json = acr_json_parse(data, len, NULL);
    const char *key = acr_json_get_string(json, "key"), *url = acr_json_get_string(json, "url"),
               *body = acr_json_get_string(json, "body");
    if (!key || !url || !body || !acr_batch_url_is_known(url))
        return NULL;
    g_autoptr(AcrJson) asked = acr_json_parse(body, strlen(body), NULL);
    const char *model = acr_json_get_string(asked, "model");
    Call *call = g_new0(Call, 1);
    *call = (Call){.model = g_strdup(model ? model : ""),
                   .sent = acr_batch_call_new(key, url, body),
                   .headers = acr_json_strings(acr_json_get(json, "headers")),
                   .incoming = acr_http_incoming_ref(incoming),
                   .since_us = g_get_monotonic_time()};
    return call;
}

/* Runs in the server's thread. Answers a request from the file if possible; otherwise lets the
 * request wait for its batch, or until it is pooled. */
static void take_pooled(void *ctx, AcrHttpIncoming *incoming)
{
    AcrBatchBroker *broker = ctx;
    Call *call = read_envelope(incoming);
    if (!call) {
        acr_http_incoming_answer(incoming, 400, "text/plain", "not a call", 10);
        return;
    }
    pthread_mutex_lock(&broker->lock);
    const AcrBatchAnswer *known = g_hash_table_lookup(broker->answers, call->sent->key);
    if (known) {
        answer_pooled(call, known->status, known->body);
        call_free(call);
    } else {
        call->batch = batch_of(broker, call->sent->key);
        if (call->batch && !call->batch->headers)
            call->batch->headers = g_strdupv(call->headers);
        g_ptr_array_add(broker->calls, call);
        pthread_cond_signal(&broker->changed);
    }
    pthread_mutex_unlock(&broker->lock);
}

/* Forgets the request of a client that has disconnected, because the client will send the request
 * again. */
static void forget_request(void *ctx, AcrHttpIncoming *incoming)
{
    AcrBatchBroker *broker = ctx;
    pthread_mutex_lock(&broker->lock);
    for (guint i = broker->calls->len; i-- > 0;)
        if (((Call *)broker->calls->pdata[i])->incoming == incoming)
            g_ptr_array_remove_index(broker->calls, i);
    pthread_mutex_unlock(&broker->lock);
}

/* ---- Sending ---- */

/* Returns the oldest call that was not sent, if no new call has arrived for a while or the oldest
 * has waited long; otherwise NULL. Call it with the lock held. */
static Call *find_ripe_call(const AcrBatchBroker *broker, gint64 now_us)
{
    Call *first = NULL;
    gint64 newest_us = 0;
    for (guint i = 0; i < broker->calls->len; i++) {
        Call *call = broker->calls->pdata[i];
        if (call->batch)
            continue;
        first = first ? first : call;
        newest_us = MAX(newest_us, call->since_us);
    }
    bool is_ripe = first && (now_us - newest_us >= steps_us(broker, POOL_STEPS) ||
                             now_us - first->since_us >= steps_us(broker, 4 * POOL_STEPS));
    return is_ripe ? first : NULL;
}

/* Whether both calls may be in one batch: providers accept only one model and one key in a
 * batch. */
static bool goes_with(const Call *call, const Call *first)
{
    return !call->batch && strcmp(call->sent->url, first->sent->url) == 0 &&
           strcmp(call->model, first->model) == 0 &&
           g_strv_equal((const char *const *)call->headers, (const char *const *)first->headers);
}

/* Makes a batch of the calls that have waited long enough; returns NULL if there are none.
 * *out_calls holds references, because clients may disconnect meanwhile. Call it with the lock
 * held. */
static Batch *begin_batch(AcrBatchBroker *broker, GPtrArray **out_calls)
{
    const Call *first = find_ripe_call(broker, g_get_monotonic_time());
    if (!first)
        return NULL;
    g_autofree char *nonce = acr_token_new();
    Batch *batch = batch_new(nonce, first->sent->url, g_get_real_time() / G_USEC_PER_SEC);
    gsize size = 0;
    *out_calls = g_ptr_array_new_with_free_func(acr_batch_call_unref);
    batch->headers = g_strdupv(first->headers);
    for (guint i = 0; i < broker->calls->len && (*out_calls)->len < MAX_CALLS; i++) {
        Call *call = broker->calls->pdata[i];
        if (!goes_with(call, first) || (size += strlen(call->sent->body)) > MAX_BYTES + MAX_BODY)
            continue;
        if (g_hash_table_add(batch->keys, g_strdup(call->sent->key)))
            g_ptr_array_add(*out_calls, g_atomic_rc_box_acquire(call->sent));
        call->batch = batch;
        call->sends++;
    }
    g_ptr_array_add(broker->batches, batch);
    return batch;
}

/* Ends a batch. Its calls without a result are sent again, unless `status` is an error that another
 * try cannot mend or a call was sent too often; then the call is refused for the reason `why`. Call
 * it with the lock held. */
static void end_batch(AcrBatchBroker *broker, Batch *batch, int status, const char *why)
{
    batch->is_over = true;
    for (guint i = broker->calls->len; i-- > 0;) {
        Call *call = broker->calls->pdata[i];
        if (call->batch != batch)
            continue;
        call->batch = NULL;
        call->since_us = g_get_monotonic_time();
        bool is_of_key = status == 401 || status == 402 || status == 403;
        bool may_help = status == 0 || status == 429 || status / 100 == 5;
        if (may_help && status != NO_DISK && call->sends < MAX_SENDS)
            continue;
        if (is_of_key)
            answer_pooled(call, status, why);
        else
            refuse_call(call, why);
        g_ptr_array_remove_index(broker->calls, i);
    }
}

static bool write_over(const AcrBatchBroker *broker, const Batch *batch, GError **error)
{
    return write_line(broker,
                      acr_json_of(ACR_STRING("nonce", batch->nonce), ACR_BOOL("over", true), NULL),
                      error);
}

static AcrBatchWire wire_of(const AcrBatchBroker *broker, char **headers)
{
    return (AcrBatchWire){(const char *const *)headers, broker->options.ca_file,
                          broker->options.interrupt};
}

/* Sends a batch. If no response arrives, it is unknown whether the provider has accepted the
 * batch. */
static void send_batch(AcrBatchBroker *broker, Batch *batch, const GPtrArray *calls)
{
    g_autoptr(GError) error = NULL;
    AcrBatchWire wire = wire_of(broker, batch->headers);
    AcrJson *keys = acr_json_new_array();
    int status = 0;
    for (guint i = 0; i < calls->len; i++)
        acr_json_append(keys, acr_json_new_string(((AcrBatchCall *)calls->pdata[i])->key));
    bool is_noted =
        write_line(broker,
                   acr_json_of(ACR_STRING("nonce", batch->nonce), ACR_STRING("url", batch->url),
                               ACR_INT("time", batch->sent_s), ACR_JSON("calls", keys), NULL),
                   &error);
    g_autofree char *id =
        is_noted ? acr_batch_send(&wire, calls, batch->nonce, &status, &error) : NULL;
    bool is_over = !is_noted || (!id && status > 0);
    if (id)
        is_noted = write_line(
            broker, acr_json_of(ACR_STRING("nonce", batch->nonce), ACR_STRING("id", id), NULL),
            &error);
    else if (is_over && is_noted)
        is_noted = write_over(broker, batch, &error);
    if (id)
        tell_user(broker, "batch %s: %u call%s sent", id, calls->len, calls->len == 1 ? "" : "s");
    else
        tell_user(broker, "a batch of %u calls could not be sent: %s", calls->len, error->message);
    pthread_mutex_lock(&broker->lock);
    batch->id = g_strdup(id);
    batch->next_us = g_get_monotonic_time() + steps_us(broker, POLL_STEPS);
    if (is_over)
        end_batch(broker, batch, is_noted ? status : NO_DISK, error->message);
    pthread_mutex_unlock(&broker->lock);
}

/* ---- Results ---- */

/* Asks the provider whether it has accepted a batch for which no id was received. */
static bool find_again(AcrBatchBroker *broker, Batch *batch, GError **error)
{
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GError) reason = NULL;
    AcrBatchWire wire = wire_of(broker, batch->headers);
    for (guint i = 0; i < broker->batches->len; i++)
        if (((Batch *)broker->batches->pdata[i])->id)
            g_hash_table_add(known, ((Batch *)broker->batches->pdata[i])->id);
    g_autofree char *id =
        acr_batch_find(&wire, batch->url, batch->nonce, batch->sent_s, known, &reason);
    if (reason)
        return acr_pass_error(error, &reason);
    bool ok =
        id ? write_line(broker,
                        acr_json_of(ACR_STRING("nonce", batch->nonce), ACR_STRING("id", id), NULL),
                        error)
           : write_over(broker, batch, error);
    pthread_mutex_lock(&broker->lock);
    if (ok && id)
        batch->id = g_strdup(id);
    else if (ok)
        end_batch(broker, batch, 0, "the batch was not sent");
    pthread_mutex_unlock(&broker->lock);
    return ok;
}

/* Saves a result, and answers the calls that wait for the result. */
static bool take_answer_of(AcrBatchBroker *broker, const Batch *batch, const AcrBatchAnswer *answer,
                           GError **error)
{
    if (answer->status == 0 || !g_hash_table_contains(batch->keys, answer->key) ||
        g_hash_table_contains(broker->answers, answer->key))
        return true;
    if (!write_line(broker,
                    acr_json_of(ACR_STRING("answer", answer->key),
                                ACR_INT("status", answer->status), ACR_STRING("body", answer->body),
                                NULL),
                    error))
        return false;
    pthread_mutex_lock(&broker->lock);
    keep_answer(broker, answer->key, answer->status, answer->body);
    for (guint i = broker->calls->len; i-- > 0;) {
        Call *call = broker->calls->pdata[i];
        if (strcmp(call->sent->key, answer->key) == 0) {
            answer_pooled(call, answer->status, answer->body);
            g_ptr_array_remove_index(broker->calls, i);
        }
    }
    pthread_mutex_unlock(&broker->lock);
    return true;
}

static bool poll_batch(AcrBatchBroker *broker, Batch *batch, GError **error)
{
    AcrBatchWire wire = wire_of(broker, batch->headers);
    g_autoptr(GPtrArray) answers = g_ptr_array_new_with_free_func(acr_batch_answer_free);
    AcrBatchState state = ACR_BATCH_RUNS;
    if (!batch->id)
        return find_again(broker, batch, error);
    if (!acr_batch_poll(&wire, batch->url, batch->id, &state, answers, error))
        return false;
    if (state == ACR_BATCH_RUNS)
        return true;
    guint good = 0;
    for (guint i = 0; i < answers->len; i++) {
        const AcrBatchAnswer *answer = answers->pdata[i];
        good += answer->status > 0 && g_hash_table_contains(batch->keys, answer->key);
        if (!take_answer_of(broker, batch, answer, error))
            return false;
    }
    if (!write_over(broker, batch, error))
        return false;
    tell_user(broker, "batch %s has ended: %u of %u calls answered", batch->id, good,
              g_hash_table_size(batch->keys));
    pthread_mutex_lock(&broker->lock);
    end_batch(broker, batch, 0,
              "several batches contained this call, but none of them answered it");
    pthread_mutex_unlock(&broker->lock);
    return true;
}

/* ---- The broker's thread ---- */

static Batch *find_due_batch(const AcrBatchBroker *broker)
{
    for (guint i = 0; i < broker->batches->len; i++) {
        Batch *batch = broker->batches->pdata[i];
        if (!batch->is_over && batch->headers && g_get_monotonic_time() >= batch->next_us)
            return batch;
    }
    return NULL;
}

static void ask_for_batch(AcrBatchBroker *broker, Batch *batch)
{
    g_autoptr(GError) error = NULL;
    bool ok = poll_batch(broker, batch, &error);
    batch->failures = ok ? 0 : batch->failures + 1;
    batch->next_us = g_get_monotonic_time() + steps_us(broker, POLL_STEPS);
    if (ok)
        return;
    tell_user(broker, "cannot read batch %s: %s", batch->id ? batch->id : "without an id",
              error->message);
    if (batch->failures < MAX_FAILURES)
        return;
    pthread_mutex_lock(&broker->lock);
    end_batch(broker, batch, NO_DISK, error->message);
    pthread_mutex_unlock(&broker->lock);
}

static void *run_broker(void *data)
{
    AcrBatchBroker *broker = data;
    pthread_mutex_lock(&broker->lock);
    while (!broker->is_over) {
        g_autoptr(GPtrArray) calls = NULL;
        Batch *made = begin_batch(broker, &calls), *due = made ? NULL : find_due_batch(broker);
        if (made || due) {
            pthread_mutex_unlock(&broker->lock);
            if (made)
                send_batch(broker, made, calls);
            else
                ask_for_batch(broker, due);
            pthread_mutex_lock(&broker->lock);
            continue;
        }
        struct timespec until;
        gint64 us = MIN(steps_us(broker, 1) / 2, G_USEC_PER_SEC / 4);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)us * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&broker->changed, &broker->lock, &until);
    }
    pthread_mutex_unlock(&broker->lock);
    return NULL;
}

AcrBatchBroker *acr_batch_broker_start(const AcrBatchBrokerOptions *options, GError **error)
{
    g_autoptr(AcrBatchBroker) broker = g_new0(AcrBatchBroker, 1);
    broker->options = *options;
    broker->fd = -1;
    pthread_mutex_init(&broker->lock, NULL);
    pthread_cond_init(&broker->changed, NULL);
    broker->calls = g_ptr_array_new_with_free_func(call_free);
    broker->batches = g_ptr_array_new_with_free_func(batch_free);
    broker->answers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, acr_batch_answer_free);
    AcrHttpServerOptions server = {
        .body_limit = MAX_BODY, .answer = take_pooled, .gone = forget_request, .ctx = broker};
    if (!open_file(broker, error) || !(broker->server = acr_http_server_start(&server, error)))
        return NULL;
    broker->address =
        g_strdup_printf("http://127.0.0.1:%u/ %s", acr_http_server_port(broker->server),
                        acr_http_server_token(broker->server));
    broker->has_thread = pthread_create(&broker->thread, NULL, run_broker, broker) == 0;
    if (broker->has_thread)
        return g_steal_pointer(&broker);
    return ACR_NULL(acr_set_error(error, ACR_LLM_ERROR, ACR_LLM_ERROR_FAILED,
                                  "cannot start a thread for batches"));
}

void acr_batch_broker_stop(AcrBatchBroker *broker)
{
    if (!broker)
        return;
    pthread_mutex_lock(&broker->lock);
    broker->is_over = true;
    pthread_cond_signal(&broker->changed);
    pthread_mutex_unlock(&broker->lock);
    if (broker->has_thread)
        pthread_join(broker->thread, NULL);
    if (broker->server)
        acr_http_server_stop(broker->server);
    if (broker->fd >= 0)
        close(broker->fd);
    g_ptr_array_unref(broker->calls);
    g_ptr_array_unref(broker->batches);
    g_hash_table_unref(broker->answers);
    pthread_cond_destroy(&broker->changed);
    pthread_mutex_destroy(&broker->lock);
    ACR_FREE(broker->address, broker);
}

const char *acr_batch_broker_address(const AcrBatchBroker *broker)
{
    return broker->address;
}
