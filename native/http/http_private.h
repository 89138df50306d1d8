/* Private declarations of http: the state of an exchange, and the handles that it borrows from its
 * client. */
#pragma once

#include <curl/curl.h>

#include "http/http.h"

/* The functions of libcurl that we call, as `acr_curl.NAME`. They are loaded on demand: libcurl and
 * the forty libraries that it needs take 8 ms to load, which verbs without network should not
 * spend. */
// clang-format off
#define ACR_CURL_FUNCTIONS(F) \
    F(global_init) F(global_cleanup) F(easy_init) F(easy_cleanup) F(easy_reset) F(easy_setopt) \
    F(easy_getinfo) F(easy_strerror) F(multi_init) F(multi_cleanup) F(multi_setopt) \
    F(multi_add_handle) F(multi_remove_handle) F(multi_perform) F(multi_info_read) F(multi_poll) \
    F(slist_append) F(slist_free_all) F(url) F(url_cleanup) F(url_set) F(url_get) F(free) \
    F(version_info)
// clang-format on
typedef struct {
#define MEMBER(name) __typeof__(&curl_##name) name;
    ACR_CURL_FUNCTIONS(MEMBER)
#undef MEMBER
} AcrCurl;
extern AcrCurl acr_curl; /* empty before acr_http_load_curl() */
bool acr_http_load_curl(GError **error) ACR_MUST_USE;

struct AcrHttpClient {
    CURLM *multi; /* owned; holds the kept connections */
    /* owned; all options of the handle are reset after each exchange */
    CURL *easy;
    struct AcrHttpTransfer *current; /* the exchange in progress, borrowed; otherwise NULL */
};

/* The reason why this program ended a transfer. */
typedef enum {
    ACR_HTTP_END_NONE,
    ACR_HTTP_END_INTERRUPTED,
    ACR_HTTP_END_FIRST_BYTE,
    ACR_HTTP_END_IDLE,
    ACR_HTTP_END_TOTAL,
    ACR_HTTP_END_HEADER_BYTES,
    ACR_HTTP_END_HEADER_COUNT,
    ACR_HTTP_END_NO_STATUS,
    ACR_HTTP_END_BODY_BYTES,
    ACR_HTTP_END_STOPPED,
    ACR_HTTP_END_ENOUGH,
    ACR_HTTP_END_RESENDING,
} AcrHttpEnd;

/* One exchange. It passes through these states in order: begun (start_us), asked (the request may
 * be sent), head_ended, enough. */
typedef struct AcrHttpTransfer {
    const AcrHttpRequest *request;
    AcrHttpClient *client; /* borrowed */
    struct curl_slist *sent_headers;
    char *authority;  /* owned; for messages */
    GByteArray *body; /* owned; NULL if on_body receives the body */
    AcrHttpHead head; /* owns `headers`; the status is 0 until the head has ended */
    gsize header_bytes, header_count, body_bytes, body_limit;
    gsize dropped_bytes; /* number of body bytes after on_body returned ENOUGH */
    bool added;          /* the easy handle is in the multi handle */
    bool asked;          /* the connection is up, and libcurl was allowed to send the request */
    bool head_ended;     /* the empty line after the headers of the last response has arrived */
    /* times of the start, and of the first and last bytes of the response (0: no byte yet) */
    gint64 start_us, first_us, last_us;
    gint64 enough_us; /* time when on_body returned ENOUGH; 0 if it has not */
    bool nearly;      /* on_body returned NEARLY */
    bool is_longer;   /* more bytes arrived than Content-Length promises */
    AcrHttpEnd end;
    char detail[CURL_ERROR_SIZE];
} AcrHttpTransfer;

/* Sets the request's options on the client's easy handle. Errors: FAILED (the request is
 * invalid). */
bool acr_http_set_request(AcrHttpTransfer *x, GError **error) ACR_MUST_USE;
/* Sets the callbacks that count and keep received bytes. */
void acr_http_set_receiver(AcrHttpTransfer *x);

/* Stores a header line, with or without its line end, in `headers`; drops a line without a
 * colon. */
void acr_http_keep_header(GHashTable *headers, const char *line, gsize len);

/* Whether the body is being decompressed. For a decompressed body, Content-Length is not the number
 * of bytes that are passed on. */
bool acr_http_is_packed(const AcrHttpTransfer *x);
/* Returns the body's Content-Length; -1 if there is none or the body is decompressed. */
gint64 acr_http_length(const AcrHttpTransfer *x);
/* Checks, after the body has arrived, whether more bytes follow the body on the connection. */
void acr_http_look_behind(AcrHttpTransfer *x, curl_socket_t fd);
