/* Performs one exchange with libcurl's easy handle, in short steps, so that interrupts and our
 * own deadlines take effect within a tenth of a second, even while the transfer waits. A client
 * keeps its handles and thereby its connections; the options of the easy handle are reset for
 * each exchange. An exchange without a client creates a temporary client. */
#include "http/http.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "http/http_private.h"

#define KEPT_CONNECTIONS 4L
#define UNVERIFIED 1 /* libcurl's verification result if the certificate chain was not checked */
#define STEP_MS 100
#define ENOUGH_MS 100 /* how long a response may take to end after on_body returned ENOUGH */
/* silence in milliseconds that ends the exchange after on_body returned NEARLY */
#define NEARLY_MS 2000
#define IDLE_TIMEOUT_MS 120000
#define TOTAL_TIMEOUT_MS 1800000

G_DEFINE_QUARK(acr_http_error_quark, acr_http_error)

/* Initialises libcurl without SSLKEYLOGFILE: libcurl writes the secrets of TLS connections to the
 * file that the variable names, and reads the variable only in curl_global_init. */
bool acr_http_global_init(GError **error)
{
    g_autofree char *key_log = g_strdup(g_getenv("SSLKEYLOGFILE"));
    CURLcode code = CURLE_OK;
    if (!acr_http_load_curl(error))
        return false;
    g_unsetenv("SSLKEYLOGFILE");
    code = acr_curl.global_init(CURL_GLOBAL_DEFAULT);
    if (key_log)
        g_setenv("SSLKEYLOGFILE", key_log, TRUE);
    if (code == CURLE_OK)
        return true;
    return acr_set_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED, "cannot start libcurl: %s",
                         acr_curl.easy_strerror(code));
}

void acr_http_global_cleanup(void)
{
    acr_curl.global_cleanup();
}

AcrHttpClient *acr_http_client_new(void)
{
    AcrHttpClient *client = g_new0(AcrHttpClient, 1);
    g_assert(acr_curl.multi_init); /* acr_http_global_init() must be called first */
    client->multi = acr_curl.multi_init();
    client->easy = acr_curl.easy_init();
    /* fails only without memory; then abort, as GLib does */
    g_assert(client->multi && client->easy);
    acr_curl.multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, KEPT_CONNECTIONS);
    return client;
}

void acr_http_client_free(AcrHttpClient *client)
{
    if (!client)
        return;
    acr_curl.easy_cleanup(client->easy);
    acr_curl.multi_cleanup(client->multi);
    g_free(client);
}

static bool fail_ended(const AcrHttpTransfer *x, GError **error)
{
    static const struct {
        AcrHttpError code;
        const char *text;
    } ends[] = {
        [ACR_HTTP_END_INTERRUPTED] = {ACR_HTTP_ERROR_INTERRUPTED, "interrupted"},
        [ACR_HTTP_END_FIRST_BYTE] = {ACR_HTTP_ERROR_TIMEOUT,
                                     "the server did not begin to respond within the timeout"},
        [ACR_HTTP_END_IDLE] = {ACR_HTTP_ERROR_TIMEOUT,
                               "the server stopped in the middle of its response"},
        [ACR_HTTP_END_TOTAL] = {ACR_HTTP_ERROR_TIMEOUT,
                                "the response was not complete within the timeout"},
        [ACR_HTTP_END_HEADER_BYTES] = {ACR_HTTP_ERROR_TOO_BIG,
                                       "the headers of the response are too large"},
        [ACR_HTTP_END_HEADER_COUNT] = {ACR_HTTP_ERROR_TOO_BIG, "the response has too many headers"},
        [ACR_HTTP_END_NO_STATUS] = {ACR_HTTP_ERROR_NETWORK, "the response has no valid status"},
        [ACR_HTTP_END_BODY_BYTES] = {ACR_HTTP_ERROR_TOO_BIG, "the response is larger than"},
        [ACR_HTTP_END_STOPPED] = {ACR_HTTP_ERROR_STOPPED, "stopped"},
        [ACR_HTTP_END_RESENDING] = {ACR_HTTP_ERROR_NETWORK,
                                    "the server closed a reused connection without a response"},
    };
    if (x->end == ACR_HTTP_END_BODY_BYTES)
        g_set_error(error, ACR_HTTP_ERROR, (gint)ends[x->end].code, "%s %zu bytes",
                    ends[x->end].text, x->body_limit);
    else
        g_set_error_literal(error, ACR_HTTP_ERROR, (gint)ends[x->end].code, ends[x->end].text);
    return false;
}

/* Returns the error code for a code of libcurl. If a request went out on a kept connection that
 * broke, libcurl may fail to connect again, which counts as a broken transfer and not as an
 * unreachable server. */
static AcrHttpError class_of(CURLcode code, bool sent)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
        return sent ? ACR_HTTP_ERROR_NETWORK : ACR_HTTP_ERROR_UNREACHABLE;
    case CURLE_OPERATION_TIMEDOUT:
        return ACR_HTTP_ERROR_TIMEOUT;
    case CURLE_URL_MALFORMAT:
    case CURLE_FAILED_INIT:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_PEER_FAILED_VERIFICATION: /* a retry would get the same certificate */
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
        return ACR_HTTP_ERROR_FAILED;
    default:
        return ACR_HTTP_ERROR_NETWORK;
    }
}

/* Whether a header line or a trailer exceeded libcurl's own limit. Older versions of libcurl report
 * "out of memory" for such a line; later versions have their own error code. */
static bool is_long_line(CURLcode code, bool sent)
{
#if LIBCURL_VERSION_NUM >= 0x080600
    if (code == CURLE_TOO_LARGE)
        return true;
#endif
    return code == CURLE_OUT_OF_MEMORY && sent;
}

/* Whether the certificate chain was rejected, and not only the name in the first certificate. If
 * only the name was rejected, libcurl does not set the result of the chain. */
static bool is_untrusted(const AcrHttpTransfer *x, CURLcode code)
{
    long verified = 0;
    acr_curl.easy_getinfo(x->client->easy, CURLINFO_SSL_VERIFYRESULT, &verified);
    return code == CURLE_PEER_FAILED_VERIFICATION && verified > UNVERIFIED;
}

static bool fail_exchange(const AcrHttpTransfer *x, CURLcode code, GError **error)
{
    const char *what = x->detail[0] ? x->detail : acr_curl.easy_strerror(code);
    if (x->end != ACR_HTTP_END_NONE)
        return fail_ended(x, error);
    if (is_long_line(code, x->asked))
        return acr_set_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_TOO_BIG,
                             "the response has a header line that is too long");
    return acr_set_error(
        error, ACR_HTTP_ERROR, (gint)class_of(code, x->asked), "no response from %s: %s%s",
        x->request->unix_socket ? x->request->unix_socket : x->authority, what,
        is_untrusted(x, code) ? " (set SSL_CERT_FILE to the certificates to trust)" : "");
}

static void look_at(AcrHttpTransfer *x, gint64 *left_ms, gint64 from_us, gint64 timeout_ms,
                    AcrHttpEnd end)
{
    gint64 left = timeout_ms - (g_get_monotonic_time() - from_us) / 1000;
    if (left <= 0 && x->end == ACR_HTTP_END_NONE)
        x->end = end;
    *left_ms = MIN(*left_ms, MAX(left, 0));
}

/* Whether fewer bytes have arrived than Content-Length promises. More bytes may still arrive. */
static bool lacks_bytes(const AcrHttpTransfer *x)
{
    return acr_http_length(x) > (gint64)(x->body_bytes + x->dropped_bytes);
}

/* Ends the exchange if an interrupt or a deadline requires it. Returns how long the next step may
 * wait, in milliseconds. */
static gint64 next_step_ms(AcrHttpTransfer *x)
{
    const AcrHttpRequest *request = x->request;
    gint64 left_ms = STEP_MS;
    if (x->enough_us > 0) {
        look_at(x, &left_ms, x->enough_us, lacks_bytes(x) ? NEARLY_MS : ENOUGH_MS,
                ACR_HTTP_END_ENOUGH);
        return left_ms;
    }
    if (x->nearly)
        look_at(x, &left_ms, x->last_us, NEARLY_MS, ACR_HTTP_END_ENOUGH);
    if (acr_interrupted(request->interrupt)) {
        x->end = ACR_HTTP_END_INTERRUPTED;
        return 0;
    }
    look_at(x, &left_ms, x->start_us,
            request->total_timeout_ms > 0 ? request->total_timeout_ms : TOTAL_TIMEOUT_MS,
            ACR_HTTP_END_TOTAL);
    if (x->first_us > 0)
        look_at(x, &left_ms, x->last_us,
                request->idle_timeout_ms > 0 ? request->idle_timeout_ms : IDLE_TIMEOUT_MS,
                ACR_HTTP_END_IDLE);
    else if (request->first_byte_timeout_ms > 0)
        look_at(x, &left_ms, x->start_us, request->first_byte_timeout_ms, ACR_HTTP_END_FIRST_BYTE);
    return left_ms;
}

/* Drives the transfer until it ends or until next_step_ms ends it. */
static CURLcode drive(AcrHttpTransfer *x)
{
    for (;;) {
        int running = 0;
        int queued = 0;
        gint64 wait_ms = 0;
        CURLMsg *message = NULL;
        if (acr_curl.multi_perform(x->client->multi, &running) != CURLM_OK)
            return CURLE_FAILED_INIT;
        message = acr_curl.multi_info_read(x->client->multi, &queued);
        if (message)
            return message->data.result;
        wait_ms = next_step_ms(x);
        if (x->end != ACR_HTTP_END_NONE)
            return CURLE_ABORTED_BY_CALLBACK;
        (void)acr_curl.multi_poll(x->client->multi, NULL, 0, (int)wait_ms, NULL);
    }
}

/* Returns the Content-Length of a body; -1 if there is none or no byte of the body has arrived.
 * Reads the header because libcurl ignores a number that is too large, and the header of a chunked
 * body. */
static gint64 said_length(const AcrHttpTransfer *x)
{
    const char *text = acr_http_header(x->head.headers, "content-length");
    guint64 length = 0;
    if (!text || x->body_bytes == 0 || acr_http_is_packed(x))
        return -1;
    return g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT64, &length, NULL) ? (gint64)length
                                                                              : G_MAXINT64;
}

static bool is_of_other_length(AcrHttpTransfer *x, CURLcode code, GError **error)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    gint64 came = (gint64)(x->body_bytes + x->dropped_bytes), said = said_length(x);
    bool is_shorter = (code == CURLE_PARTIAL_FILE && acr_http_length(x) >= 0) ||
                      (code == CURLE_OK && said > came) ||
                      (x->end == ACR_HTTP_END_ENOUGH && x->dropped_bytes == 0 && lacks_bytes(x));
    x->is_longer = x->is_longer || (code == CURLE_OK && said >= 0 && said < came);
    if (code == CURLE_OK && !x->is_longer) {
        acr_curl.easy_getinfo(x->client->easy, CURLINFO_ACTIVESOCKET, &fd);
        acr_http_look_behind(x, fd);
    }
    if (is_shorter || x->is_longer)
        g_set_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_LENGTH,
                    "the response is %s than its Content-Length says",
                    is_shorter ? "shorter" : "longer");
    return is_shorter || x->is_longer;
}

static bool begin_exchange(AcrHttpTransfer *x, GError **error)
{
    acr_http_set_receiver(x);
    if (!acr_http_set_request(x, error))
        return false;
    x->added = acr_curl.multi_add_handle(x->client->multi, x->client->easy) == CURLM_OK;
    if (!x->added)
        g_set_error_literal(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED,
                            "cannot send the request: libcurl rejects it");
    return x->added;
}

/* Frees everything of the exchange that the easy handle borrows. Closes the connection if the
 * transfer has not ended. */
static void clear_transfer(AcrHttpTransfer *x)
{
    x->client->current = NULL;
    if (x->added)
        acr_curl.multi_remove_handle(x->client->multi, x->client->easy);
    acr_curl.easy_reset(x->client->easy);
    for (struct curl_slist *line = x->sent_headers; line; line = line->next)
        explicit_bzero(line->data, strlen(line->data)); /* one of the headers contains a key */
    acr_curl.slist_free_all(x->sent_headers);
    g_free(x->authority);
    if (x->body)
        g_byte_array_unref(x->body);
    if (x->head.headers)
        g_hash_table_unref(x->head.headers);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrHttpTransfer, clear_transfer)

/* Returns the milliseconds from the start to `then_us`; at least 1, because 0 means "never". */
static gint64 ms_until(const AcrHttpTransfer *x, gint64 then_us)
{
    return MAX((then_us - x->start_us) / 1000, 1);
}

static void hand_over(AcrHttpTransfer *x, bool whole, AcrHttpResponse *out)
{
    out->sent = x->asked;
    out->wall_ms = ms_until(x, g_get_monotonic_time());
    if (x->first_us > 0)
        out->first_byte_ms = ms_until(x, x->first_us);
    if (x->head_ended) {
        out->status = x->head.status;
        out->headers = g_steal_pointer(&x->head.headers);
    }
    if (whole)
        out->body =
            x->body ? g_byte_array_free_to_bytes(g_steal_pointer(&x->body)) : g_bytes_new(NULL, 0);
}

static bool exchange_once(AcrHttpClient *client, const AcrHttpRequest *request,
                          AcrHttpResponse *out, GError **error)
{
    g_auto(AcrHttpTransfer)
        x = {.request = request, .client = client, .start_us = g_get_monotonic_time()};
    CURLcode code = CURLE_OK;
    client->current = &x;
    if (!begin_exchange(&x, error))
        return false;
    code = drive(&x);
    /* libcurl accepts a connection that closes within the headers as a response */
    if (code == CURLE_OK && !x.head_ended) {
        code = CURLE_PARTIAL_FILE;
        g_strlcpy(x.detail, "the connection was closed before the headers were complete",
                  sizeof x.detail);
    }
    if (is_of_other_length(&x, code, error)) {
        hand_over(&x, false, out);
        return false;
    }
    bool whole = x.enough_us > 0 || x.nearly || (code == CURLE_OK && x.end == ACR_HTTP_END_NONE);
    hand_over(&x, whole, out);
    if (whole)
        return true;
    acr_curl.easy_setopt(client->easy, CURLOPT_QUICK_EXIT,
                         /* without QUICK_EXIT, the cleanup waits until a pending host name is
                          * resolved */
                         1L);
    return fail_exchange(&x, code, error);
}

/* Performs an exchange with SIGPIPE blocked and discarded in the calling thread, because writing
 * TLS to a closed connection raises SIGPIPE. */
bool acr_http_exchange(AcrHttpClient *client, const AcrHttpRequest *request, AcrHttpResponse *out,
                       GError **error)
{
    const struct timespec now = {0};
    g_autoptr(AcrHttpClient) own = client ? NULL : acr_http_client_new();
    sigset_t pipe_set, old_set, pending;
    memset(out, 0, sizeof *out);
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_set, &old_set);
    bool ok = exchange_once(client ? client : own, request, out, error);
    g_clear_pointer(&own, acr_http_client_free); /* closes the TLS connection properly */
    while (!was_pending && sigtimedwait(&pipe_set, NULL, &now) < 0 && errno == EINTR)
        continue;
    pthread_sigmask(SIG_SETMASK, &old_set, NULL);
    return ok;
}
