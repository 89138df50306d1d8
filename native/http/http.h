/*
 * http: one bounded exchange with a server over TCP, TLS or a unix socket. libcurl stays inside.
 * Redirects are not followed; no cookies or netrc are read. The environment's proxies (https_proxy,
 * http_proxy, ALL_PROXY, NO_PROXY) hold, as users behind one need them, but never for a loopback
 * host or a unix socket. Error messages name the host and the port, never a path, a query, a header
 * or what stands before an "@".
 */
#ifndef ACR_HTTP_H
#define ACR_HTTP_H

#include "base/base.h"

typedef enum {
    ACR_HTTP_ERROR_FAILED, /* the request cannot be sent as it is, or not to this certificate */
    ACR_HTTP_ERROR_UNREACHABLE, /* no such host, or nothing listens: nothing was sent */
    ACR_HTTP_ERROR_NETWORK,     /* a handshake or a transfer that broke off */
    ACR_HTTP_ERROR_TIMEOUT,     /* connect, first byte, idle or total */
    ACR_HTTP_ERROR_TOO_BIG,     /* body, header or count of headers over its ceiling */
    ACR_HTTP_ERROR_LENGTH,      /* the body is longer or shorter than its Content-Length */
    ACR_HTTP_ERROR_INTERRUPTED,
    ACR_HTTP_ERROR_STOPPED, /* on_body returned STOP */
} AcrHttpError;
#define ACR_HTTP_ERROR acr_http_error_quark()
GQuark acr_http_error_quark(void);

#define ACR_HTTP_MAX_HEADER_BYTES (256u * 1024)
#define ACR_HTTP_MAX_HEADERS 500u
#define ACR_HTTP_MAX_BODY_BYTES (64u * 1024 * 1024)

/* Before everything else here, once per process, before threads: loads libcurl. */
bool acr_http_global_init(GError **error) ACR_MUST_USE;
void acr_http_global_cleanup(void);

/*
 * Keeps connections between exchanges, until they have been idle for four seconds. A request is
 * never sent twice by itself: when a kept connection dies without a response, the exchange fails as
 * NETWORK. One thread at a time.
 */
typedef struct AcrHttpClient AcrHttpClient;
AcrHttpClient *acr_http_client_new(void) ACR_MUST_USE; /* owned */
void acr_http_client_free(AcrHttpClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrHttpClient, acr_http_client_free)

/* What stands before a body. Borrowed. */
typedef struct {
    int status;
    GHashTable *headers; /* lower-case name -> value; of repeated ones the last */
} AcrHttpHead;

typedef enum {
    ACR_HTTP_MORE,
    ACR_HTTP_NEARLY, /* what still comes is welcome but not needed: a short silence, or a transfer
                        that breaks off, ends the exchange without an error; not one that breaks off
                        before its Content-Length */
    ACR_HTTP_ENOUGH, /* the exchange is complete: its end is waited for a moment, so that the
                        connection can be kept, and then cut without an error */
    ACR_HTTP_STOP,   /* the exchange fails as STOPPED */
} AcrHttpNext;

/* Zero-initialise. All borrowed for the call. */
typedef struct {
    const char *method; /* NULL: GET, or POST with a body */
    const char *url;
    const char *unix_socket;    /* path, or NULL */
    const char *const *headers; /* NULL-terminated "Name: value" */
    const void *body;
    gsize body_len;
    bool unpacks; /* a body that comes compressed, though nobody asked for that, is unpacked */
    gint64 connect_timeout_ms; /* 0: 10,000 */
    gint64
        first_byte_timeout_ms; /* from the start to the first header line; 0: none beyond total */
    gint64 idle_timeout_ms;    /* between pieces of the response, once it has begun; 0: 120,000 */
    gint64 total_timeout_ms;   /* 0: 1,800,000 */
    gsize body_limit;    /* 0: ACR_HTTP_MAX_BODY_BYTES. No Accept-Encoding is sent, and content
                            that is packed all the same is passed as it is */
    const char *ca_file; /* certificates in place of the system's; NULL: those that
                            SSL_CERT_FILE, else CURL_CA_BUNDLE, names, else the system's */
    /* Called with each piece of a response body. NULL: the body is collected into the response. */
    AcrHttpNext (*on_body)(void *ctx, const AcrHttpHead *head, const char *data, gsize len);
    void *on_body_ctx;
    const AcrInterrupt *interrupt;
} AcrHttpRequest;

typedef struct {
    int status;          /* 0: no head came */
    GBytes *body;        /* owned; empty when on_body was given; NULL after a failure */
    GHashTable *headers; /* owned; as in AcrHttpHead; NULL: no head came */
    bool sent;           /* the request, or a part of it, may have reached the server */
    gint64 wall_ms;
    gint64 first_byte_ms; /* 0: no byte came */
} AcrHttpResponse;

/*
 * True whenever a whole response came, whatever its status. One that is shorter than its Content-Length
 * is not whole, nor is one behind which more bytes come: what was sent was not what was announced.
 * Bytes that come later than some milliseconds are not seen, nor are those in further TLS records. `client` may be NULL: the connection is
 * for this exchange. *out is filled after a failure too, as far as the response came, and must be
 * cleared. Thread-safe, but for the client.
 */
bool acr_http_exchange(AcrHttpClient *client, const AcrHttpRequest *request, AcrHttpResponse *out,
                       GError **error) ACR_MUST_USE;
void acr_http_response_clear(AcrHttpResponse *response);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrHttpResponse, acr_http_response_clear)

/* A response's header by its name in lower case; `headers` may be NULL; borrowed; NULL: not sent. */
const char *acr_http_header(GHashTable *headers, const char *name);

/* "host:port" of an http or https URL, for messages; owned (g_free); NULL: no usable URL.
 * Thread-safe. */
char *acr_http_url_authority(const char *url) ACR_MUST_USE;
/* Whether the URL's host is localhost, 127.0.0.0/8 or ::1, by its spelling. Thread-safe. */
bool acr_http_url_is_loopback(const char *url);

/* The version of libcurl, static; NULL: it cannot be loaded. */
const char *acr_http_library(void);

#endif
