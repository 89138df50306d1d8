/* server: speaks HTTP/1.1 for programs and browsers of this machine, on 127.0.0.1, protected by a
 * new random token for each server. No other library includes libmicrohttpd.
 *
 * One thread reads and writes. It passes each complete request to the callback, unless the token is
 * wrong, the request is cross-origin, or the Host header does not name this machine (DNS
 * rebinding). The callback may answer immediately, or any thread may answer later, with one body or
 * with a stream. */
#pragma once

#include "base/base.h"

#define ACR_HTTP_SERVER_MAX_CONNECTIONS                                                            \
    64u /* maximum number of clients; for another, the server closes the longest idle connection */
#define ACR_HTTP_SERVER_MAX_HEADER_BYTES (32u * 1024)
/* time from the start of the connection, or the end of its last answer, to a complete request */
#define ACR_HTTP_SERVER_REQUEST_MS 10000
/* time in seconds after which a client that reads nothing is disconnected */
#define ACR_HTTP_SERVER_WRITE_S 30u
/* maximum number of unread bytes of a stream; a client with more unread bytes is disconnected */
#define ACR_HTTP_SERVER_MAX_UNREAD (16u * 1024 * 1024)

typedef struct AcrHttpServer AcrHttpServer;
/* A request and its answer; shared. */
typedef struct AcrHttpIncoming AcrHttpIncoming;

/* Options of a server. Zero-initialise; `answer` and `body_limit` are required. The server copies
 * the struct. */
typedef struct {
    guint port; /* port to listen on; 0: any free port */
    gsize body_limit;
    /* maximum time from the start of the connection, or from the end of its last answer, to a
     * complete request; 0: 10,000 */
    gint64 request_ms;
    /* also accept the token in the URL ("?token=…"), because browsers can send only a URL, and not
     * only in "Authorization: Bearer …" */
    bool takes_token_of_query;
    /* `answer` and `gone` are called in the server's thread and must not block. To answer a request
     * later, `answer` keeps a reference. */
    void (*answer)(void *ctx, AcrHttpIncoming *incoming);
    void (*gone)(void *ctx,
                 /* called if the client disconnected before its answer was complete; may be NULL */
                 AcrHttpIncoming *incoming);
    void *ctx;
} AcrHttpServerOptions;

/* Starts a server; owned. Errors (ACR_HTTP_ERROR): FAILED (the port is taken, or libmicrohttpd
 * is missing). */
AcrHttpServer *acr_http_server_start(const AcrHttpServerOptions *options,
                                     GError **error) ACR_MUST_USE;
/* Ends all streams, answers the remaining requests with 503, and waits at most a second for the
 * server's thread. */
void acr_http_server_stop(AcrHttpServer *server);
guint acr_http_server_port(const AcrHttpServer *server);
/* Returns the token, borrowed; it consists of letters and digits. */
const char *acr_http_server_token(const AcrHttpServer *server);
/* Returns the version of libmicrohttpd; NULL if the library cannot be loaded. */
const char *acr_http_server_library(void);

AcrHttpIncoming *acr_http_incoming_ref(AcrHttpIncoming *incoming);
void acr_http_incoming_unref(AcrHttpIncoming *incoming);

/* ---- The request: borrowed and unchanged until the last reference is released ---- */

const char *acr_http_incoming_method(const AcrHttpIncoming *incoming); /* returns "GET", … */
const char *
/* returns the decoded path without the query */
acr_http_incoming_path(const AcrHttpIncoming *incoming);
/* Looks up a header by its lower-case name; NULL if the client did not send the header. The values
 * of a repeated header are joined by ", ". */
const char *acr_http_incoming_header(const AcrHttpIncoming *incoming, const char *name);
const char *acr_http_incoming_body(const AcrHttpIncoming *incoming, gsize *out_len);

/* ---- The response: these functions may be called from any thread, and do nothing if the client
 * has disconnected ---- */

/* Sets a header of the answer. Call it before the answer begins. `name` and `value` are one line
 * of ASCII. */
void acr_http_incoming_set_header(AcrHttpIncoming *incoming, const char *name, const char *value);
/* Sends the whole answer. If `type` is NULL, the answer has no body. */
void acr_http_incoming_answer(AcrHttpIncoming *incoming, int status, const char *type,
                              const void *data, gsize len);
/* Begins server-sent events, with status 200. */
void acr_http_incoming_begin_events(AcrHttpIncoming *incoming);
/* Sends one event; `data` may have several lines. If `data` is NULL, sends a comment, which
 * keeps the connection open. Returns false if the client has disconnected. */
bool acr_http_incoming_send_event(AcrHttpIncoming *incoming, const char *data);
void acr_http_incoming_end_events(AcrHttpIncoming *incoming);
