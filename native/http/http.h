/* http: sends one request to a server over TCP, TLS or a unix socket, and reads the response within
 * limits. Only this library includes libcurl. Redirects are not followed; cookies and netrc are not
 * read. The proxies of the environment (https_proxy, http_proxy, ALL_PROXY, NO_PROXY) are used,
 * except for loopback hosts and unix sockets. Error messages name the host and the port, never a
 * path, a query, a header or the user part of a URL. */
#pragma once

#include "base/base.h"

typedef enum {
    ACR_HTTP_ERROR_FAILED, /* the request is invalid, or the server's certificate was rejected */
    /* the host does not exist, or no server listens on its port; nothing was sent */
    ACR_HTTP_ERROR_UNREACHABLE,
    ACR_HTTP_ERROR_NETWORK, /* a handshake or a transfer broke off */
    /* the time limit for connecting, for the first byte, between two pieces, or in total was
     * exceeded */
    ACR_HTTP_ERROR_TIMEOUT,
    ACR_HTTP_ERROR_TOO_BIG, /* the body, a header or the number of headers exceeds its limit */
    ACR_HTTP_ERROR_LENGTH,  /* the body is longer or shorter than its Content-Length */
    ACR_HTTP_ERROR_INTERRUPTED,
    ACR_HTTP_ERROR_STOPPED, /* on_body returned STOP */
} AcrHttpError;
#define ACR_HTTP_ERROR acr_http_error_quark()
GQuark acr_http_error_quark(void);

#define ACR_HTTP_MAX_HEADER_BYTES (256u * 1024)
#define ACR_HTTP_MAX_HEADERS 500u
#define ACR_HTTP_MAX_BODY_BYTES (64u * 1024 * 1024)

/* Loads libcurl. Call it once per process, before any other function of http and before threads
 * start. */
bool acr_http_global_init(GError **error) ACR_MUST_USE;
void acr_http_global_cleanup(void);

/* A client. It keeps connections between exchanges until they have been idle for four seconds. A
 * request is never sent twice: if a kept connection breaks before the response, the exchange fails
 * with NETWORK. Only one thread at a time may use a client. */
typedef struct AcrHttpClient AcrHttpClient;
AcrHttpClient *acr_http_client_new(void) ACR_MUST_USE; /* owned */
void acr_http_client_free(AcrHttpClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrHttpClient, acr_http_client_free)

/* The head of a response. All members are borrowed. */
typedef struct {
    int status;
    GHashTable *headers; /* lower-case name -> value; the last of repeated headers wins */
} AcrHttpHead;

typedef enum {
    ACR_HTTP_MORE,
    /* the rest of the body is optional: if the server is silent for a short time or the transfer
     * breaks off, the exchange ends without an error (unless the body is shorter than its
     * Content-Length) */
    ACR_HTTP_NEARLY,
    /* the rest of the body is not needed: the server gets a short time to end the response, so that
     * the connection can be kept; otherwise the connection is closed without an error */
    ACR_HTTP_ENOUGH,
    ACR_HTTP_STOP, /* the exchange fails with STOPPED */
} AcrHttpNext;

/* A request. Zero-initialise. All members are borrowed for the call. */
typedef struct {
    const char *method; /* method; NULL: GET, or POST if there is a body */
    const char *url;
    const char *unix_socket;    /* path of a unix socket, or NULL */
    const char *const *headers; /* headers of the request, "Name: value", NULL-terminated */
    const void *body;
    gsize body_len;
    /* decompress the body if the server compressed it although no Accept-Encoding was sent */
    bool unpacks;
    gint64 connect_timeout_ms; /* time to connect; 0: 10,000 */
    /* time until the first header line; 0: only total_timeout_ms applies */
    gint64 first_byte_timeout_ms;
    gint64 idle_timeout_ms;  /* time between two pieces of the response; 0: 120,000 */
    gint64 total_timeout_ms; /* time of the whole exchange; 0: 1,800,000 */
    /* maximum size of the body in bytes; 0: ACR_HTTP_MAX_BODY_BYTES. A body that the server
     * compresses, although no Accept-Encoding is sent, is passed on compressed unless `unpacks` is
     * set */
    gsize body_limit;
    /* file of certificates to trust instead of the system's; NULL: the file that SSL_CERT_FILE
     * or CURL_CA_BUNDLE names, or if both are unset, the system's certificates */
    const char *ca_file;
    /* Receives each piece of a response body. NULL: the body is collected into the response. */
    AcrHttpNext (*on_body)(void *ctx, const AcrHttpHead *head, const char *data, gsize len);
    void *on_body_ctx;
    const AcrInterrupt *interrupt;
} AcrHttpRequest;

typedef struct {
    int status;          /* HTTP status; 0 if no response head arrived */
    GBytes *body;        /* owned; empty if on_body was given; NULL after a failure */
    GHashTable *headers; /* owned; as in AcrHttpHead; NULL if no response head arrived */
    bool sent;           /* part of the request may have reached the server */
    gint64 wall_ms;
    gint64 first_byte_ms; /* time until the first byte; 0 if no byte arrived */
} AcrHttpResponse;

/* Performs an exchange. Returns true if a complete response arrived, whatever its status. A
 * response that is shorter than its Content-Length, or is followed by more bytes, is an error;
 * bytes that follow some milliseconds later, or in another TLS record, are not noticed. If `client`
 * is NULL, the connection is used for only one exchange. After a failure, *out holds the part of
 * the response that arrived; clear *out in any case. Thread-safe, except for the client. */
bool acr_http_exchange(AcrHttpClient *client, const AcrHttpRequest *request, AcrHttpResponse *out,
                       GError **error) ACR_MUST_USE;
void acr_http_response_clear(AcrHttpResponse *response);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrHttpResponse, acr_http_response_clear)

/* Looks up a response header by its lower-case name. `headers` may be NULL. Returns the value,
 * borrowed; NULL if the server did not send the header. */
const char *acr_http_header(GHashTable *headers, const char *name);

/* Returns "host:port" of an http or https URL, for messages; owned (g_free); NULL if the URL is not
 * usable. Thread-safe. */
char *acr_http_url_authority(const char *url) ACR_MUST_USE;
/* Whether the URL's host is spelled localhost, ::1 or an address in 127.0.0.0/8. Thread-safe. */
bool acr_http_url_is_loopback(const char *url);

/* Returns the version of libcurl, static; NULL if libcurl cannot be loaded. */
const char *acr_http_library(void);
