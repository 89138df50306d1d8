/*
 * One exchange: an easy handle in a multi handle of its own, driven in short steps so that
 * interrupts and our own deadlines are seen within a tenth of a second, whatever the transfer is
 * waiting for. Ceilings are counted in the callbacks, as libcurl's own do not bound chunked bodies.
 * Connections are not kept between exchanges.
 */
#include "http/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/un.h>

#define STEP_MS 100
#define CONNECT_TIMEOUT_MS 10000
#define IDLE_TIMEOUT_MS 120000
#define TOTAL_TIMEOUT_MS 1800000

G_DEFINE_QUARK(acr - http - error - quark, acr_http_error)

/* Why we ended a transfer ourselves. */
typedef enum {
    END_NONE,
    END_INTERRUPTED,
    END_FIRST_BYTE,
    END_IDLE,
    END_TOTAL,
    END_HEADER_BYTES,
    END_HEADER_COUNT,
    END_BODY_BYTES,
    END_STOPPED,
} End;

typedef struct {
    const AcrHttpRequest *request;
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    char *authority;      /* owned; for messages */
    GByteArray *body;     /* NULL when the caller takes the body */
    GHashTable *received; /* header names, lower case, and their values */
    gsize header_bytes, header_count, body_bytes, body_limit;
    bool head_ended;                    /* the empty line behind the headers has come */
    gint64 start_us, first_us, last_us; /* first and last bytes of the response; 0: none yet */
    End end;
    char detail[CURL_ERROR_SIZE];
} Exchange;

bool acr_http_global_init(GError **error)
{
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);

    if (code == CURLE_OK)
        return true;
    g_set_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED, "cannot start libcurl: %s",
                curl_easy_strerror(code));
    return false;
}

void acr_http_global_cleanup(void)
{
    curl_global_cleanup();
}

void acr_http_response_clear(AcrHttpResponse *response)
{
    if (!response)
        return;
    if (response->body)
        g_bytes_unref(response->body);
    if (response->headers)
        g_hash_table_unref(response->headers);
    memset(response, 0, sizeof *response);
}

static void clear_exchange(Exchange *x)
{
    if (x->multi && x->easy)
        curl_multi_remove_handle(x->multi, x->easy);
    if (x->easy)
        curl_easy_cleanup(x->easy);
    if (x->multi)
        curl_multi_cleanup(x->multi);
    curl_slist_free_all(x->headers);
    g_free(x->authority);
    if (x->body)
        g_byte_array_unref(x->body);
    if (x->received)
        g_hash_table_unref(x->received);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Exchange, clear_exchange)

/* ---- What comes in ------------------------------------------------------------------------------
 */

static void note_bytes(Exchange *x)
{
    x->last_us = g_get_monotonic_time();
    if (x->first_us == 0)
        x->first_us = x->last_us;
}

static void keep_header(Exchange *x, const char *line, gsize len)
{
    const char *colon = memchr(line, ':', len);
    g_autofree char *name = NULL;

    if (!colon)
        return;
    name = g_strndup(line, (gsize)(colon - line));
    g_hash_table_replace(x->received, g_ascii_strdown(g_strstrip(name), -1),
                         g_strstrip(acr_utf8_repair(colon + 1, len - (gsize)(colon + 1 - line))));
}

/* Each header line, the status line and trailers too. A further status line begins a new set of
 * headers. */
static size_t on_header(char *line, size_t size, size_t count, void *ctx)
{
    Exchange *x = ctx;
    gsize len = size * count;

    note_bytes(x);
    x->header_bytes += len;
    x->header_count++;
    if (x->header_bytes > ACR_HTTP_MAX_HEADER_BYTES)
        x->end = END_HEADER_BYTES;
    else if (x->header_count > ACR_HTTP_MAX_HEADERS)
        x->end = END_HEADER_COUNT;
    if (x->end != END_NONE)
        return 0;
    if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        g_hash_table_remove_all(x->received);
        x->head_ended = false;
    } else if (len <= 2 && line[len - 1] == '\n') {
        x->head_ended = true;
    } else if (!x->head_ended) {
        keep_header(x, line, len);
    }
    return len;
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
    Exchange *x = ctx;
    gsize len = size * count;
    long status = 0;

    note_bytes(x);
    if (len > x->body_limit - x->body_bytes) {
        x->end = END_BODY_BYTES;
        return CURL_WRITEFUNC_ERROR;
    }
    x->body_bytes += len;
    if (x->body) {
        g_byte_array_append(x->body, (const guint8 *)data, (guint)len);
        return len;
    }
    curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    if (x->request->on_body(x->request->on_body_ctx, (int)status, data, len))
        return len;
    x->end = END_STOPPED;
    return CURL_WRITEFUNC_ERROR;
}

/* ---- What goes out ------------------------------------------------------------------------------
 */

static bool refuse(GError **error, const char *what)
{
    g_set_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED, "cannot send the request: %s", what);
    return false;
}

static bool append_header(Exchange *x, const char *line)
{
    struct curl_slist *longer = curl_slist_append(x->headers, line);

    if (longer)
        x->headers = longer;
    return longer != NULL;
}

/* Headers go out as they are given: libcurl adds neither an Expect nor a Content-Type of its own.
 */
static bool set_headers(Exchange *x, GError **error)
{
    bool typed = false;

    for (const char *const *h = x->request->headers; h && *h; h++) {
        typed = typed || g_ascii_strncasecmp(*h, "Content-Type:", strlen("Content-Type:")) == 0;
        if (strpbrk(*h, "\r\n"))
            return refuse(error, "a header holds a line break");
        if (!append_header(x, *h))
            return refuse(error, "out of memory");
    }
    if (!append_header(x, "Expect:") || (!typed && !append_header(x, "Content-Type:")))
        return refuse(error, "out of memory");
    curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers);
    return true;
}

static void set_method(const Exchange *x)
{
    const AcrHttpRequest *request = x->request;
    const char *method = request->method ? request->method : request->body ? "POST" : "GET";

    if (request->body || strcmp(method, "POST") == 0) {
        curl_easy_setopt(x->easy, CURLOPT_POST, 1L);
        curl_easy_setopt(x->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
        curl_easy_setopt(x->easy, CURLOPT_POSTFIELDS, request->body ? request->body : "");
    }
    if (strcmp(method, "HEAD") == 0)
        curl_easy_setopt(x->easy, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(x->easy, CURLOPT_CUSTOMREQUEST, method);
}

static bool set_target(Exchange *x, GError **error)
{
    const AcrHttpRequest *request = x->request;

    x->authority = acr_http_url_authority(request->url);
    if (!x->authority)
        return refuse(error, "the URL is not one of http or https");
    curl_easy_setopt(x->easy, CURLOPT_URL, request->url);
    curl_easy_setopt(x->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (request->unix_socket) {
        if (strlen(request->unix_socket) >= sizeof((struct sockaddr_un *)0)->sun_path)
            return refuse(error, "the path of the socket is too long");
        curl_easy_setopt(x->easy, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket);
    }
    if (request->unix_socket || acr_http_url_is_loopback(request->url))
        curl_easy_setopt(x->easy, CURLOPT_PROXY, "");
    if (request->ca_file)
        curl_easy_setopt(x->easy, CURLOPT_CAINFO, request->ca_file);
    return true;
}

static void set_behaviour(Exchange *x)
{
    const AcrHttpRequest *request = x->request;
    gint64 connect_ms =
        request->connect_timeout_ms > 0 ? request->connect_timeout_ms : CONNECT_TIMEOUT_MS;

    curl_easy_setopt(x->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(x->easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(x->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(x->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(x->easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(x->easy, CURLOPT_TCP_KEEPIDLE, 30L);
    curl_easy_setopt(x->easy, CURLOPT_TCP_KEEPINTVL, 15L);
    curl_easy_setopt(x->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    curl_easy_setopt(x->easy, CURLOPT_USERAGENT, "acr-host/" ACR_VERSION);
    curl_easy_setopt(x->easy, CURLOPT_ERRORBUFFER, x->detail);
    curl_easy_setopt(x->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(x->easy, CURLOPT_HEADERDATA, x);
    curl_easy_setopt(x->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(x->easy, CURLOPT_WRITEDATA, x);
}

static bool begin(Exchange *x, GError **error)
{
    x->easy = curl_easy_init();
    x->multi = curl_multi_init();
    x->body = x->request->on_body ? NULL : g_byte_array_new();
    x->received = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    x->body_limit = x->request->body_limit > 0 ? x->request->body_limit : ACR_HTTP_MAX_BODY_BYTES;
    if (!x->easy || !x->multi)
        return refuse(error, "out of memory");
    set_behaviour(x);
    set_method(x);
    if (!set_target(x, error) || !set_headers(x, error))
        return false;
    if (curl_multi_add_handle(x->multi, x->easy) != CURLM_OK)
        return refuse(error, "libcurl takes no transfer");
    x->start_us = g_get_monotonic_time();
    return true;
}

/* ---- The wait -----------------------------------------------------------------------------------
 */

static void look_at(Exchange *x, gint64 *left_ms, gint64 from_us, gint64 timeout_ms, End end)
{
    gint64 left = timeout_ms - (g_get_monotonic_time() - from_us) / 1000;

    if (left <= 0 && x->end == END_NONE)
        x->end = end;
    *left_ms = MIN(*left_ms, MAX(left, 0));
}

/* Ends the exchange when an interrupt or a deadline says so; returns how long the next step may
 * wait. */
static gint64 next_step_ms(Exchange *x)
{
    const AcrHttpRequest *request = x->request;
    gint64 left_ms = STEP_MS;

    if (acr_interrupted(request->interrupt)) {
        x->end = END_INTERRUPTED;
        return 0;
    }
    look_at(x, &left_ms, x->start_us,
            request->total_timeout_ms > 0 ? request->total_timeout_ms : TOTAL_TIMEOUT_MS,
            END_TOTAL);
    if (x->first_us > 0)
        look_at(x, &left_ms, x->last_us,
                request->idle_timeout_ms > 0 ? request->idle_timeout_ms : IDLE_TIMEOUT_MS,
                END_IDLE);
    else if (request->first_byte_timeout_ms > 0)
        look_at(x, &left_ms, x->start_us, request->first_byte_timeout_ms, END_FIRST_BYTE);
    return left_ms;
}

/* Drives the transfer to its end or ours. */
static CURLcode drive(Exchange *x)
{
    for (;;) {
        int running = 0;
        int queued = 0;
        gint64 wait_ms = 0;
        CURLMsg *message = NULL;

        if (curl_multi_perform(x->multi, &running) != CURLM_OK)
            return CURLE_FAILED_INIT;
        message = curl_multi_info_read(x->multi, &queued);
        if (message)
            return message->data.result;
        wait_ms = next_step_ms(x);
        if (x->end != END_NONE)
            return CURLE_ABORTED_BY_CALLBACK;
        (void)curl_multi_poll(x->multi, NULL, 0, (int)wait_ms, NULL);
    }
}

static bool fail_ended(const Exchange *x, GError **error)
{
    static const struct {
        AcrHttpError code;
        const char *text;
    } ends[] = {
        [END_INTERRUPTED] = {ACR_HTTP_ERROR_INTERRUPTED, "interrupted"},
        [END_FIRST_BYTE] = {ACR_HTTP_ERROR_TIMEOUT,
                            "no response within the time for its first byte"},
        [END_IDLE] = {ACR_HTTP_ERROR_TIMEOUT, "the response stopped coming"},
        [END_TOTAL] = {ACR_HTTP_ERROR_TIMEOUT,
                       "no whole response within the time for the exchange"},
        [END_HEADER_BYTES] = {ACR_HTTP_ERROR_TOO_BIG, "the headers of the response are too large"},
        [END_HEADER_COUNT] = {ACR_HTTP_ERROR_TOO_BIG, "the response has too many headers"},
        [END_BODY_BYTES] = {ACR_HTTP_ERROR_TOO_BIG, "the response is larger than"},
        [END_STOPPED] = {ACR_HTTP_ERROR_STOPPED, "stopped"},
    };

    if (x->end == END_BODY_BYTES)
        g_set_error(error, ACR_HTTP_ERROR, ends[x->end].code, "%s %zu bytes", ends[x->end].text,
                    x->body_limit);
    else
        g_set_error_literal(error, ACR_HTTP_ERROR, ends[x->end].code, ends[x->end].text);
    return false;
}

static AcrHttpError class_of(CURLcode code)
{
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return ACR_HTTP_ERROR_TIMEOUT;
    case CURLE_URL_MALFORMAT:
    case CURLE_FAILED_INIT:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
        return ACR_HTTP_ERROR_FAILED;
    default:
        return ACR_HTTP_ERROR_NETWORK;
    }
}

static bool fail_transfer(const Exchange *x, CURLcode code, GError **error)
{
    const char *what = x->detail[0] ? x->detail : curl_easy_strerror(code);

    if (x->end != END_NONE)
        return fail_ended(x, error);
    g_set_error(error, ACR_HTTP_ERROR, (gint)class_of(code), "no response from %s: %s",
                x->request->unix_socket ? x->request->unix_socket : x->authority, what);
    return false;
}

static void hand_over(Exchange *x, AcrHttpResponse *out)
{
    long status = 0;

    curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    *out = (AcrHttpResponse){
        .status = (int)status,
        .body =
            x->body ? g_byte_array_free_to_bytes(g_steal_pointer(&x->body)) : g_bytes_new(NULL, 0),
        .headers = g_steal_pointer(&x->received),
        .wall_ms = (g_get_monotonic_time() - x->start_us) / 1000,
        .first_byte_ms = (x->first_us - x->start_us) / 1000,
    };
}

static bool exchange(const AcrHttpRequest *request, AcrHttpResponse *out, GError **error)
{
    g_auto(Exchange) x = {.request = request};
    CURLcode code = CURLE_OK;

    if (!begin(&x, error))
        return false;
    code = drive(&x);
    if (code == CURLE_OK &&
        !x.head_ended) { /* libcurl takes what ends within its headers for a response */
        code = CURLE_PARTIAL_FILE;
        g_strlcpy(x.detail, "the connection ended within the headers", sizeof x.detail);
    }
    if (code == CURLE_OK && x.end == END_NONE) {
        hand_over(&x, out);
        return true;
    }
    curl_easy_setopt(x.easy, CURLOPT_QUICK_EXIT,
                     1L); /* else a name still being looked up is waited for */
    return fail_transfer(&x, code, error);
}

/* TLS writes to a closed connection would raise SIGPIPE; the signal is blocked and taken off this
 * thread only. */
bool acr_http_exchange(const AcrHttpRequest *request, AcrHttpResponse *out, GError **error)
{
    const struct timespec now = {0};
    sigset_t pipe_set, old_set, pending;
    bool was_pending = false;
    bool ok = false;

    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_set, &old_set);
    ok = exchange(request, out, error);
    while (!was_pending && sigtimedwait(&pipe_set, NULL, &now) < 0 && errno == EINTR)
        continue;
    pthread_sigmask(SIG_SETMASK, &old_set, NULL);
    return ok;
}
