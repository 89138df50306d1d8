/* server: HTTP/1.1 for programs and browsers of this machine, on 127.0.0.1, protected by a new
 * random token for each server. No other library includes libmicrohttpd.
 *
 * One thread reads and writes. It passes each complete request to the callback, unless the token is
 * wrong, the request is cross-origin, or the Host header does not name this machine (DNS
 * rebinding). The callback answers at once, or any thread answers later: with one body, or with a
 * stream. */
#pragma once

#include "base/base.h"

#define ACR_HTTP_SERVER_MAX_CONNECTIONS                                                            \
    64u /* if there are more, the connection that has been idle longest is closed */
#define ACR_HTTP_SERVER_MAX_HEADER_BYTES (32u * 1024)
#define ACR_HTTP_SERVER_REQUEST_MS                                                                 \
    10000 /* from the connection, or the end of its last answer, until a complete request */
#define ACR_HTTP_SERVER_WRITE_S 30u /* a client that reads nothing for that long is disconnected */
/* unread bytes of a stream; a client that lets more accumulate is disconnected */
#define ACR_HTTP_SERVER_MAX_UNREAD (16u * 1024 * 1024)

typedef struct AcrHttpServer AcrHttpServer;
/* A request and its answer; shared. */
typedef struct AcrHttpIncoming AcrHttpIncoming;

/* Zero-initialise; `answer` and `body_limit` are required. Copied. */
typedef struct {
    guint port; /* 0: any free port */
    gsize body_limit;
    /* from the connection, or the end of its last answer, until a complete request; 0: 10,000 */
    gint64 request_ms;
    /* accept the token in the URL ("?token=…") too, for browsers, and not only in
     * "Authorization: Bearer …" */
    bool takes_token_of_query;
    /* Both are called in the server's thread and must not block. To answer later, `answer` keeps a
     * reference. */
    void (*answer)(void *ctx, AcrHttpIncoming *incoming);
    void (*gone)(void *ctx,
                 /* called if the client disconnected before its answer was complete; may be NULL */
                 AcrHttpIncoming *incoming);
    void *ctx;
} AcrHttpServerOptions;

/* Starts a server; owned. Errors (ACR_HTTP_ERROR): FAILED (the port is taken; no libmicrohttpd). */
AcrHttpServer *acr_http_server_start(const AcrHttpServerOptions *options,
                                     GError **error) ACR_MUST_USE;
/* Ends all streams, answers the remaining requests with 503, and waits for the thread: at most a
 * second. */
void acr_http_server_stop(AcrHttpServer *server);
guint acr_http_server_port(const AcrHttpServer *server);
const char *acr_http_server_token(const AcrHttpServer *server); /* borrowed; letters and digits */
/* The version of libmicrohttpd; NULL: it cannot be loaded. */
const char *acr_http_server_library(void);

AcrHttpIncoming *acr_http_incoming_ref(AcrHttpIncoming *incoming);
void acr_http_incoming_unref(AcrHttpIncoming *incoming);

/* ---- What was asked: borrowed, and the same until the last reference goes ---- */

const char *acr_http_incoming_method(const AcrHttpIncoming *incoming); /* "GET", … */
const char *
acr_http_incoming_path(const AcrHttpIncoming *incoming); /* decoded, without the query */
/* Looks up a header by its lower-case name; the values of a repeated header are joined by ", ";
 * NULL: not sent. */
const char *acr_http_incoming_header(const AcrHttpIncoming *incoming, const char *name);
const char *acr_http_incoming_body(const AcrHttpIncoming *incoming, gsize *out_len);

/* ---- The answer: thread-safe; where the client is gone it is dropped ---- */

/* Sets a header of the answer, before the answer begins. `name` and `value` are one line of
 * ASCII. */
void acr_http_incoming_set_header(AcrHttpIncoming *incoming, const char *name, const char *value);
/* Sends the whole answer. `type` NULL: an answer without a body. */
void acr_http_incoming_answer(AcrHttpIncoming *incoming, int status, const char *type,
                              const void *data, gsize len);
/* Begins server-sent events, with status 200. */
void acr_http_incoming_begin_events(AcrHttpIncoming *incoming);
/* Sends one event; `data` may have several lines. NULL: sends a comment, which keeps the
 * connection open. Returns false if the client has disconnected. */
bool acr_http_incoming_send_event(AcrHttpIncoming *incoming, const char *data);
void acr_http_incoming_end_events(AcrHttpIncoming *incoming);
