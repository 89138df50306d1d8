/* Implements a request and its answer. The request does not change after the callback has received
 * it. Any thread may extend the answer, under a mutex; the server's thread reads the answer. */
#include <string.h>
#include <unistd.h>

#include "http/server_private.h"

#define BLOCK_BYTES (16u * 1024) /* number of bytes of a stream that MHD reads at a time */

AcrHttpIncoming *acr_http_incoming_ref(AcrHttpIncoming *incoming)
{
    __atomic_add_fetch(&incoming->references, 1, __ATOMIC_RELAXED);
    return incoming;
}

void acr_http_incoming_unref(AcrHttpIncoming *incoming)
{
    if (!incoming || __atomic_sub_fetch(&incoming->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    ACR_FREE(incoming->method, incoming->path);
    g_hash_table_unref(incoming->headers);
    g_byte_array_unref(incoming->body);
    g_hash_table_unref(incoming->answer_headers);
    g_byte_array_unref(incoming->answer);
    pthread_mutex_destroy(&incoming->mutex);
    g_free(incoming);
}

static enum MHD_Result keep_header(void *ctx, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    GHashTable *headers = ctx;
    g_autofree char *key = g_ascii_strdown(name, -1);
    const char *before = g_hash_table_lookup(headers, key);
    g_autofree char *now = g_strstrip(g_strdup(value ? value : ""));
    char *all = before ? g_strconcat(before, ", ", now, NULL) : g_strdup(now);
    g_hash_table_insert(headers, g_steal_pointer(&key), all);
    return MHD_YES;
}

AcrHttpIncoming *acr_http_incoming_new(AcrHttpServer *server, struct MHD_Connection *connection,
                                       const char *path, const char *method)
{
    AcrHttpIncoming *incoming = g_new0(AcrHttpIncoming, 1);
    *incoming = (AcrHttpIncoming){
        .references = 1,
        .method = g_strdup(method),
        .path = g_strdup(path),
        .headers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .body = g_byte_array_new(),
        .server = server,
        .connection = connection,
        .answer_headers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .answer = g_byte_array_new(),
    };
    pthread_mutex_init(&incoming->mutex, NULL);
    acr_mhd.get_connection_values(connection, MHD_HEADER_KIND, keep_header, incoming->headers);
    return incoming;
}

void acr_http_incoming_add(AcrHttpIncoming *incoming, const char *data, gsize len)
{
    if (!incoming->refusal && incoming->body->len + len > incoming->server->options.body_limit) {
        incoming->refusal = "the body is too large\n";
        incoming->refusal_status = MHD_HTTP_CONTENT_TOO_LARGE;
    }
    if (incoming->refusal)
        g_byte_array_set_size(incoming->body, 0);
    else
        g_byte_array_append(incoming->body, (const guint8 *)data, (guint)len);
}

const char *acr_http_incoming_method(const AcrHttpIncoming *incoming)
{
    return incoming->method;
}

const char *acr_http_incoming_path(const AcrHttpIncoming *incoming)
{
    return incoming->path;
}

const char *acr_http_incoming_header(const AcrHttpIncoming *incoming, const char *name)
{
    return g_hash_table_lookup(incoming->headers, name);
}

const char *acr_http_incoming_body(const AcrHttpIncoming *incoming, gsize *out_len)
{
    *out_len = incoming->body->len;
    return incoming->body->len ? (const char *)incoming->body->data : "";
}

/* Unlocks the mutex and wakes the server's thread. */
static void unlock_and_wake(AcrHttpIncoming *incoming)
{
    const guint64 one = 1;
    if (!incoming->is_gone)
        (void)!write(incoming->server->wake, &one, sizeof one);
    pthread_mutex_unlock(&incoming->mutex);
}

void acr_http_incoming_set_header(AcrHttpIncoming *incoming, const char *name, const char *value)
{
    pthread_mutex_lock(&incoming->mutex);
    g_hash_table_insert(incoming->answer_headers, g_strdup(name), g_strdup(value));
    pthread_mutex_unlock(&incoming->mutex);
}

void acr_http_incoming_answer(AcrHttpIncoming *incoming, int status, const char *type,
                              const void *data, gsize len)
{
    if (type)
        acr_http_incoming_set_header(incoming, "Content-Type", type);
    pthread_mutex_lock(&incoming->mutex);
    if (!incoming->status) {
        g_byte_array_append(incoming->answer, data, (guint)len);
        incoming->status = status;
        incoming->is_ended = true;
    }
    unlock_and_wake(incoming);
}

void acr_http_incoming_begin_events(AcrHttpIncoming *incoming)
{
    acr_http_incoming_set_header(incoming, "Content-Type", "text/event-stream");
    acr_http_incoming_set_header(incoming, "X-Accel-Buffering", "no");
    pthread_mutex_lock(&incoming->mutex);
    if (!incoming->status) {
        incoming->status = MHD_HTTP_OK;
        incoming->is_stream = true;
    }
    unlock_and_wake(incoming);
}

bool acr_http_incoming_send_event(AcrHttpIncoming *incoming, const char *data)
{
    g_autoptr(GString) event = g_string_new(data ? "event: message\n" : ":\n");
    g_auto(GStrv) lines = g_strsplit(data ? data : "", "\n", -1);
    for (char **line = lines; data && *line; line++)
        g_string_append_printf(event, "data: %s\n", *line);
    g_string_append_c(event, '\n');
    pthread_mutex_lock(&incoming->mutex);
    if (incoming->is_stream && !incoming->is_gone && !incoming->is_ended) {
        g_byte_array_append(incoming->answer, (const guint8 *)event->str, (guint)event->len);
        incoming->is_gone =
            incoming->answer->len - incoming->answer_at > ACR_HTTP_SERVER_MAX_UNREAD;
    }
    bool is_there = !incoming->is_gone && !incoming->is_ended;
    unlock_and_wake(incoming);
    return is_there;
}

void acr_http_incoming_end_events(AcrHttpIncoming *incoming)
{
    pthread_mutex_lock(&incoming->mutex);
    incoming->is_ended = true;
    unlock_and_wake(incoming);
}

static gsize unread(const AcrHttpIncoming *incoming)
{
    return incoming->answer->len - incoming->answer_at;
}

bool acr_http_incoming_is_due(AcrHttpIncoming *incoming)
{
    pthread_mutex_lock(&incoming->mutex);
    bool is_due = incoming->is_gone || incoming->is_ended || unread(incoming) ||
                  (incoming->status && !incoming->is_answering);
    pthread_mutex_unlock(&incoming->mutex);
    return is_due;
}

static void suspend(AcrHttpIncoming *incoming)
{
    acr_mhd.suspend_connection(incoming->connection);
    incoming->is_suspended = true;
}

static ssize_t read_stream(void *ctx, uint64_t at, char *buffer, size_t max)
{
    AcrHttpIncoming *incoming = ctx;
    pthread_mutex_lock(&incoming->mutex);
    gsize n = MIN(max, unread(incoming));
    if (n)
        memcpy(buffer, incoming->answer->data + incoming->answer_at, n);
    incoming->answer_at += n;
    if (n && !unread(incoming)) {
        g_byte_array_set_size(incoming->answer, 0);
        incoming->answer_at = 0;
    }
    bool is_gone = incoming->is_gone, is_ended = incoming->is_ended;
    pthread_mutex_unlock(&incoming->mutex);
    if (n || (!is_gone && !is_ended)) {
        if (!n)
            suspend(incoming);
        return (ssize_t)n;
    }
    return is_gone ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
}

static void add_headers(const AcrHttpIncoming *incoming, struct MHD_Response *response)
{
    static const char *const always[][2] = {{"Cache-Control", "no-store"},
                                            {"X-Content-Type-Options", "nosniff"},
                                            {"Referrer-Policy", "no-referrer"}};
    GHashTableIter iter;
    gpointer name, value;
    for (gsize i = 0; i < G_N_ELEMENTS(always); i++)
        acr_mhd.add_response_header(response, always[i][0], always[i][1]);
    g_hash_table_iter_init(&iter, incoming->answer_headers);
    while (g_hash_table_iter_next(&iter, &name, &value))
        acr_mhd.add_response_header(response, name, value);
}

enum MHD_Result acr_http_incoming_respond(AcrHttpIncoming *incoming)
{
    struct MHD_Response *response = NULL;
    pthread_mutex_lock(&incoming->mutex);
    bool is_gone = incoming->is_gone;
    int status = incoming->status;
    incoming->is_answering = status != 0;
    if (status && !is_gone) {
        response = incoming->is_stream
                       ? acr_mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
                                                               read_stream, incoming, NULL)
                       : acr_mhd.create_response_from_buffer(
                             incoming->answer->len, incoming->answer->data, MHD_RESPMEM_MUST_COPY);
        add_headers(incoming, response);
    }
    pthread_mutex_unlock(&incoming->mutex);
    if (is_gone)
        return MHD_NO;
    if (!status) {
        suspend(incoming);
        return MHD_YES;
    }
    enum MHD_Result result =
        acr_mhd.queue_response(incoming->connection, (unsigned)status, response);
    acr_mhd.destroy_response(response);
    return result;
}

bool acr_http_incoming_leave(AcrHttpIncoming *incoming)
{
    pthread_mutex_lock(&incoming->mutex);
    bool was_complete = incoming->is_ended;
    incoming->is_gone = true;
    pthread_mutex_unlock(&incoming->mutex);
    return was_complete;
}
