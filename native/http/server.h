/*
 * server: HTTP/1.1 for programs and browsers of this machine, on 127.0.0.1 and behind a token that is
 * made anew for each server. libmicrohttpd stays inside.
 *
 * One thread of the server reads and writes. It hands over each request that has come whole, with the
 * right token, a Host of this machine (a name that a stranger's DNS leads here is refused) and no
 * Origin but the server's own. The request is answered there and then or, from any thread, later: by
 * one body, or by a stream of which more is sent as it comes.
 */
#ifndef ACR_HTTP_SERVER_H
#define ACR_HTTP_SERVER_H

#include "base/base.h"

#define ACR_HTTP_SERVER_MAX_CONNECTIONS                                                            \
    64u /* beyond it, the one that has been idle longest is cut */
#define ACR_HTTP_SERVER_MAX_HEADER_BYTES (32u * 1024)
#define ACR_HTTP_SERVER_REQUEST_MS                                                                 \
    10000                           /* from a connection, or its last answer, to a whole request */
#define ACR_HTTP_SERVER_WRITE_S 30u /* in which a client must read something */
#define ACR_HTTP_SERVER_MAX_UNREAD (16u * 1024 * 1024) /* bytes of a stream; beyond it, it is cut */

typedef struct AcrHttpServer AcrHttpServer;
/* A request and its answer; shared. */
typedef struct AcrHttpIncoming AcrHttpIncoming;

/* Zero-initialise; `answer` and `body_limit` are needed. Copied. */
typedef struct {
    guint port; /* 0: a free one */
    gsize body_limit;
    gint64 request_ms; /* from a connection, or its last answer, to a whole request; 0: 10,000 */
    bool
        takes_token_of_query; /* as "?token=…" too, for browsers; else as "Authorization: Bearer …" */
    /* Both in the server's thread, and must not wait. `answer` keeps a reference where it answers
     * later. */
    void (*answer)(void *ctx, AcrHttpIncoming *incoming);
    void (*gone)(void *ctx,
                 AcrHttpIncoming *incoming); /* before its answer was complete; or NULL */
    void *ctx;
} AcrHttpServerOptions;

/* Owned. Errors (ACR_HTTP_ERROR): FAILED (the port is taken; no libmicrohttpd). */
AcrHttpServer *acr_http_server_start(const AcrHttpServerOptions *options,
                                     GError **error) ACR_MUST_USE;
/* Ends all streams, refuses what has no answer (503), and waits for its thread: at most a second. */
void acr_http_server_stop(AcrHttpServer *server);
guint acr_http_server_port(const AcrHttpServer *server);
const char *acr_http_server_token(const AcrHttpServer *server); /* borrowed; letters and digits */
/* The version of libmicrohttpd; NULL: it is not there. */
const char *acr_http_server_library(void);

AcrHttpIncoming *acr_http_incoming_ref(AcrHttpIncoming *incoming);
void acr_http_incoming_unref(AcrHttpIncoming *incoming);

/* ---- What was asked: borrowed, and the same until the last reference goes ---- */

const char *acr_http_incoming_method(const AcrHttpIncoming *incoming); /* "GET", … */
const char *
acr_http_incoming_path(const AcrHttpIncoming *incoming); /* decoded, without the query */
/* By its lower-case name; of repeated ones all, with ", " between; NULL: there is none. */
const char *acr_http_incoming_header(const AcrHttpIncoming *incoming, const char *name);
const char *acr_http_incoming_body(const AcrHttpIncoming *incoming, gsize *out_len);

/* ---- The answer: thread-safe; where the client is gone it is dropped ---- */

/* A header of the answer, before it begins. `name` and `value` are one line of ASCII. */
void acr_http_incoming_set_header(AcrHttpIncoming *incoming, const char *name, const char *value);
/* The whole answer. `type` NULL: no body is meant. */
void acr_http_incoming_answer(AcrHttpIncoming *incoming, int status, const char *type,
                              const void *data, gsize len);
/* Begins server-sent events, with status 200. */
void acr_http_incoming_begin_events(AcrHttpIncoming *incoming);
/* One event; `data` may have many lines. NULL: a comment, which keeps the connection. False: the
 * client is gone. */
bool acr_http_incoming_send_event(AcrHttpIncoming *incoming, const char *data);
void acr_http_incoming_end_events(AcrHttpIncoming *incoming);

#endif
