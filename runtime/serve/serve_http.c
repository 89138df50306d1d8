/* Serves many clients over HTTP, by the protocol's "streamable HTTP": each message is a POST. A
 * request with an envelope is independent, and its headers must repeat parts of its body. A request
 * without an envelope belongs to a session that began with a handshake. The server thread of
 * native/http reads requests; the main thread waits for signals and checks timeouts. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "http/server.h"
#include "serve/serve_private.h"

#define TICK_MS 200
/* interval in milliseconds between comments that keep a waiting client's connection open */
#define QUIET_MS 10000

typedef struct {
    AcrServeClient client;
    guint64 used; /* number of the last request that used the session */
} Session;

typedef struct {
    AcrServeServer *server;
    AcrHttpServer *http;
    /* The following members are used only by the HTTP server's thread. */
    GHashTable *sessions; /* id -> Session */
    guint64 requests;
    /* The following members are protected by the mutex. */
    pthread_mutex_t mutex;
    GHashTable *asked; /* set of Asked: the requests without an answer */
} Transport;

/* A request that has not been answered yet. */
typedef struct {
    Transport *transport;
    AcrHttpIncoming *incoming; /* owned reference */
    AcrServeEra era;
    const char *session; /* id of the session that the request begins; NULL if the request begins
                          * none */
    gint64 quiet_since_us;
    bool is_stream;
} Asked;

static void refuse_request(AcrHttpIncoming *incoming, int status, const char *why)
{
    acr_http_incoming_answer(incoming, status, "text/plain", why, strlen(why));
}

static void refuse_message(AcrHttpIncoming *incoming, int status, const AcrServeMessage *message,
                           const AcrServeFault *fault)
{
    g_autofree char *line = acr_serve_reply(message, NULL, fault);
    acr_http_incoming_answer(incoming, status, "application/json", line, strlen(line));
}

/* Returns the HTTP status for a fault (0: none). In a session, 404 means that the session has
 * ended, so only the later revision uses 404 for faults. */
static int status_of(const Asked *asked, int code)
{
    static const int bad[] = {ACR_SERVE_PARSE, ACR_SERVE_INVALID_REQUEST, ACR_SERVE_INVALID_PARAMS,
                              ACR_SERVE_WRONG_HEADER, ACR_SERVE_WRONG_VERSION};
    if (asked->era == ACR_SERVE_STATELESS && code == ACR_SERVE_NO_METHOD)
        return 404;
    for (gsize i = 0; asked->era == ACR_SERVE_STATELESS && i < G_N_ELEMENTS(bad); i++)
        if (code == bad[i])
            return 400;
    return 200;
}

/* Answers a request, whose Asked is `to`. If the request was cancelled (`line` is NULL), only ends
 * its event stream. */
static void reply_http(void *to, const char *line, int code)
{
    Asked *asked = to;
    pthread_mutex_lock(&asked->transport->mutex);
    g_hash_table_remove(asked->transport->asked, asked);
    pthread_mutex_unlock(&asked->transport->mutex);
    if (line && asked->session && !code)
        acr_http_incoming_set_header(asked->incoming, "Mcp-Session-Id", asked->session);
    if (line && !asked->is_stream && acr_serve_http_accepts(asked->incoming, "application/json"))
        acr_http_incoming_answer(asked->incoming, status_of(asked, code), "application/json", line,
                                 strlen(line));
    else {
        g_autofree char *event = line ? g_strchomp(g_strdup(line)) : NULL;
        acr_http_incoming_begin_events(asked->incoming);
        if (event)
            acr_http_incoming_send_event(asked->incoming, event);
        acr_http_incoming_end_events(asked->incoming);
    }
    acr_http_incoming_unref(asked->incoming);
    g_free(asked);
}

/* Sends comments to clients that have waited for QUIET_MS and accept events, so that their
 * connections stay open. */
static void keep_alive(Transport *transport, gint64 now_us)
{
    GHashTableIter iter;
    gpointer key;
    pthread_mutex_lock(&transport->mutex);
    g_hash_table_iter_init(&iter, transport->asked);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        Asked *asked = key;
        if ((now_us - asked->quiet_since_us) / 1000 < QUIET_MS ||
            !acr_serve_http_accepts(asked->incoming, "text/event-stream"))
            continue;
        asked->quiet_since_us = now_us;
        asked->is_stream = true;
        acr_http_incoming_begin_events(asked->incoming);
        acr_http_incoming_send_event(asked->incoming, NULL);
    }
    pthread_mutex_unlock(&transport->mutex);
}

static void take_post(Transport *transport, AcrServeClient *client, AcrServeMessage *message,
                      gsize size, AcrHttpIncoming *incoming, const char *session)
{
    if (!message->id || !message->method) {
        acr_http_incoming_answer(incoming, 202, NULL, "", 0);
        acr_serve_server_take(transport->server, client, message, size, NULL);
        return;
    }
    Asked *asked = g_new0(Asked, 1);
    *asked = (Asked){.transport = transport,
                     .incoming = acr_http_incoming_ref(incoming),
                     .era = message->era,
                     .session = session,
                     .quiet_since_us = g_get_monotonic_time()};
    pthread_mutex_lock(&transport->mutex);
    g_hash_table_add(transport->asked, asked);
    pthread_mutex_unlock(&transport->mutex);
    acr_serve_server_take(transport->server, client, message, size, asked);
}

static void session_free(gpointer data)
{
    Session *session = data;
    ACR_FREE(session->client.name, session);
}

static void end_session(Transport *transport, const Session *session)
{
    acr_serve_server_cancel(transport->server, session->client.name);
    g_hash_table_remove(transport->sessions, session->client.name);
}

static void make_room(Transport *transport)
{
    GHashTableIter iter;
    gpointer value;
    Session *oldest = NULL;
    if (g_hash_table_size(transport->sessions) < ACR_SERVE_MAX_SESSIONS)
        return;
    g_hash_table_iter_init(&iter, transport->sessions);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Session *session = value;
        if (!oldest || session->used < oldest->used)
            oldest = session;
    }
    end_session(transport, oldest);
}

static void begin_session(Transport *transport, AcrServeMessage *message, gsize size,
                          AcrHttpIncoming *incoming)
{
    Session *session = g_new0(Session, 1);
    session->client.name = acr_token_new();
    session->used = ++transport->requests;
    take_post(transport, &session->client, message, size, incoming, session->client.name);
    if (!session->client.has_handshake) {
        session_free(session);
        return;
    }
    make_room(transport);
    g_hash_table_insert(transport->sessions, session->client.name, session);
}

/* Returns the session of a request; NULL if there is none, after the request was rejected. */
static Session *find_session(Transport *transport, AcrHttpIncoming *incoming)
{
    const char *id = acr_http_incoming_header(incoming, "mcp-session-id");
    Session *session = id ? g_hash_table_lookup(transport->sessions, id) : NULL;
    if (!id)
        refuse_request(incoming, 400,
                       "the header Mcp-Session-Id is missing; send initialize first\n");
    else if (!session)
        refuse_request(incoming, 404, "there is no such session; send initialize first\n");
    else
        session->used = ++transport->requests;
    return session;
}

static void post_in_session(Transport *transport, AcrServeMessage *message, gsize size,
                            AcrHttpIncoming *incoming)
{
    g_auto(AcrServeFault) fault = {0};
    Session *session;
    if (!acr_serve_http_check_handshake(incoming, &fault))
        refuse_message(incoming, 400, message, &fault);
    else if (message->id && g_strcmp0(message->method, "initialize") == 0)
        begin_session(transport, message, size, incoming);
    else if ((session = find_session(transport, incoming)))
        take_post(transport, &session->client, message, size, incoming, NULL);
}

/* Returns a name for the client of an independent request, different from all other names.
 * Owned. */
static char *stateless_name(const AcrHttpIncoming *incoming)
{
    return g_strdup_printf("%p", (const void *)incoming);
}

static void post_alone(Transport *transport, AcrServeMessage *message, gsize size,
                       AcrHttpIncoming *incoming)
{
    g_auto(AcrServeFault) fault = {0};
    g_autofree char *name = stateless_name(incoming);
    AcrServeClient client = {.name = name};
    if (acr_serve_http_check_envelope(incoming, message, &fault))
        take_post(transport, &client, message, size, incoming, NULL);
    else
        refuse_message(incoming, 400, message, &fault);
}

static void post(Transport *transport, AcrHttpIncoming *incoming)
{
    gsize size;
    const char *body = acr_http_incoming_body(incoming, &size);
    g_auto(AcrServeMessage) message = {0};
    g_auto(AcrServeFault) fault = {0};
    if (!acr_serve_http_is_json(incoming))
        refuse_request(incoming, 415, "the Content-Type must be application/json\n");
    else if (!acr_serve_http_accepts(incoming, "application/json") &&
             !acr_serve_http_accepts(incoming, "text/event-stream"))
        refuse_request(incoming, 406,
                       "the Accept header must allow application/json or text/event-stream\n");
    else if (!acr_serve_message_read(body, size, &message, &fault))
        refuse_message(incoming, 400, &message, &fault);
    else if (acr_serve_http_is_stateless(incoming, &message))
        post_alone(transport, &message, size, incoming);
    else
        post_in_session(transport, &message, size, incoming);
}

static void answer_request(void *ctx, AcrHttpIncoming *incoming)
{
    Transport *transport = ctx;
    const char *method = acr_http_incoming_method(incoming);
    Session *session;
    if (strcmp(acr_http_incoming_path(incoming), ACR_SERVE_HTTP_PATH) != 0)
        refuse_request(incoming, 404, "the endpoint is " ACR_SERVE_HTTP_PATH "\n");
    else if (strcmp(method, "POST") == 0)
        post(transport, incoming);
    else if (strcmp(method, "DELETE") == 0) {
        if ((session = find_session(transport, incoming))) {
            end_session(transport, session);
            acr_http_incoming_answer(incoming, 204, NULL, "", 0);
        }
    } else {
        acr_http_incoming_set_header(incoming, "Allow", "POST, DELETE");
        refuse_request(incoming, 405, "send messages by POST; GET is not supported\n");
    }
}

/* Cancels an independent request whose client has disconnected. A request in a session is not
 * cancelled. */
static void gone(void *ctx, AcrHttpIncoming *incoming)
{
    Transport *transport = ctx;
    g_autofree char *name = stateless_name(incoming);
    acr_serve_server_cancel(transport->server, name);
}

/* Writes the line with the data that a client's configuration needs. */
static bool announce(const AcrServeOptions *options, const AcrHttpServer *http, GError **error)
{
    AcrJson *headers = acr_json_new_object();
    g_autofree char *url = g_strdup_printf("http://127.0.0.1:%u" ACR_SERVE_HTTP_PATH,
                                           acr_http_server_port(http)),
                    *bearer = g_strconcat("Bearer ", acr_http_server_token(http), NULL);
    g_autoptr(AcrJson) json = acr_json_of(ACR_STRING("type", "http"), ACR_STRING("url", url), NULL);
    acr_json_set_string(headers, "Authorization", bearer);
    acr_json_set(json, "headers", headers);
    g_autofree char *text = acr_json_print(json), *line = g_strconcat(text, "\n", NULL);
    int failed = acr_fd_write_all(options->out, line, strlen(line));
    return !failed || acr_set_error(error, ACR_SERVE_ERROR, ACR_SERVE_ERROR_FAILED,
                                    "cannot write to standard output: %s", g_strerror(failed));
}

static void wait_for_signal(Transport *transport, const AcrInterrupt *interrupt)
{
    const struct timespec tick = {0, TICK_MS * 1000000};
    sigset_t before;
    acr_serve_block_signals(&before);
    while (!acr_interrupted(interrupt)) {
        ppoll(NULL, 0, &tick, &before);
        acr_serve_server_watch(transport->server, NULL);
        keep_alive(transport, g_get_monotonic_time());
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool serve_client(Transport *transport, const AcrServeOptions *options, GError **error)
{
    AcrHttpServerOptions http = {.port = options->port,
                                 .body_limit = ACR_SERVE_MAX_LINE,
                                 .answer = answer_request,
                                 .gone = gone,
                                 .ctx = transport};
    transport->http = acr_http_server_start(&http, error);
    if (!transport->http)
        return false;
    bool is_announced = announce(options, transport->http, error);
    if (is_announced)
        wait_for_signal(transport, options->host->interrupt);
    acr_http_server_stop(transport->http);
    return is_announced;
}

AcrServeEnd acr_serve_http(const AcrServeOptions *options, GError **error)
{
    Transport transport = {.sessions =
                               g_hash_table_new_full(g_str_hash, g_str_equal, NULL, session_free),
                           .asked = g_hash_table_new(NULL, NULL)};
    pthread_mutex_init(&transport.mutex, NULL);
    transport.server = acr_serve_server_start(options, reply_http, error);
    bool is_served = transport.server && serve_client(&transport, options, error);
    if (transport.server && !acr_serve_server_end(transport.server, true, NULL))
        return ACR_SERVE_BUSY_STILL;
    acr_serve_server_free(transport.server);
    g_hash_table_unref(transport.sessions);
    g_hash_table_unref(transport.asked);
    pthread_mutex_destroy(&transport.mutex);
    return is_served ? ACR_SERVE_ENDED : ACR_SERVE_FAILED;
}
