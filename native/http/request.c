/* Sets a request as options of the client's easy handle. libcurl calls on_connection when a
 * connection is up and before it writes, so that we know whether the request was sent. The callback
 * also refuses to send a request twice: libcurl retries by itself if a kept connection turns out to
 * be dead, but the server may already have accepted the first request and charged for it. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/http_private.h"

#define CONNECT_TIMEOUT_MS 10000
/* limits how much the kernel receives before we read it; the kernel's default is up to 32 MB */
#define RECEIVE_BUFFER_BYTES (1024 * 1024)
/* Connections are reused until they have been idle for four seconds, because servers close an idle
 * connection after five seconds or more. libcurl counts whole seconds, and closes a connection that
 * was idle for more than KEPT_SECONDS. */
#define KEPT_SECONDS 3L

static bool refuse_http_request(GError **error, const char *what)
{
    return acr_set_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED,
                         "cannot send the request: %s", what);
}

/* Appends a header. Aborts if there is no memory, as GLib's allocations do. */
static void append_request_header(AcrHttpTransfer *x, const char *line)
{
    x->sent_headers = acr_curl.slist_append(x->sent_headers, line);
    g_assert(x->sent_headers);
}

/* Sends the headers as given: prevents libcurl from adding Expect and Content-Type. */
static bool set_headers(AcrHttpTransfer *x, GError **error)
{
    bool typed = false;
    for (const char *const *h = x->request->headers; h && *h; h++) {
        typed = typed || g_ascii_strncasecmp(*h, "Content-Type:", strlen("Content-Type:")) == 0;
        if (strpbrk(*h, "\r\n"))
            return refuse_http_request(error, "a header contains a line break");
        append_request_header(x, *h);
    }
    append_request_header(x, "Expect:");
    if (!typed)
        append_request_header(x, "Content-Type:");
    acr_curl.easy_setopt(x->client->easy, CURLOPT_HTTPHEADER, x->sent_headers);
    return true;
}

static void set_method(const AcrHttpTransfer *x)
{
    const AcrHttpRequest *request = x->request;
    const char *method = request->method ? request->method : request->body ? "POST" : "GET";
    CURL *easy = x->client->easy;
    if (request->body || strcmp(method, "POST") == 0) {
        acr_curl.easy_setopt(easy, CURLOPT_POST, 1L);
        acr_curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
        acr_curl.easy_setopt(easy, CURLOPT_POSTFIELDS, request->body ? request->body : "");
    }
    acr_curl.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}

/* Accepts a file of certificates, or a folder that c_rehash made. Sets both of libcurl's
 * options; otherwise the system's own certificates would be used too. */
static bool set_certificates(const AcrHttpTransfer *x, GError **error)
{
    static const char *const variables[] = {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "SSL_CERT_DIR"};
    CURL *easy = x->client->easy;
    const char *file = x->request->ca_file;
    const char *named_by = "the request";
    for (gsize i = 0; !file && i < G_N_ELEMENTS(variables); i++) {
        file = g_getenv(variables[i]);
        file = file && *file ? file : NULL;
        named_by = variables[i];
    }
    if (!file)
        return true;
    bool is_folder = g_file_test(file, G_FILE_TEST_IS_DIR);
    if (access(file, R_OK) != 0 || (!is_folder && !g_file_test(file, G_FILE_TEST_IS_REGULAR)))
        return acr_set_error(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_FAILED,
                             "cannot read the certificates '%s' (set by %s)", file, named_by);
    acr_curl.easy_setopt(easy, CURLOPT_CAINFO, is_folder ? NULL : file);
    acr_curl.easy_setopt(easy, CURLOPT_CAPATH, is_folder ? file : NULL);
    acr_curl.easy_setopt(easy, CURLOPT_PROXY_CAINFO, is_folder ? NULL : file);
    acr_curl.easy_setopt(easy, CURLOPT_PROXY_CAPATH, is_folder ? file : NULL);
    return true;
}

static bool set_target(AcrHttpTransfer *x, GError **error)
{
    const AcrHttpRequest *request = x->request;
    CURL *easy = x->client->easy;
    x->authority = acr_http_url_authority(request->url);
    if (!x->authority)
        return refuse_http_request(error, "the URL must begin with http:// or https://");
    acr_curl.easy_setopt(easy, CURLOPT_URL, request->url);
    acr_curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    if (request->unix_socket) {
        if (strlen(request->unix_socket) >= sizeof((struct sockaddr_un *)0)->sun_path)
            return refuse_http_request(error, "the path of the socket is too long");
        acr_curl.easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket);
    }
    if (request->unix_socket || acr_http_url_is_loopback(request->url))
        acr_curl.easy_setopt(easy, CURLOPT_PROXY, "");
    if (g_ascii_strncasecmp(request->url, "https:", strlen("https:")) == 0)
        return set_certificates(x, error);
    return true;
}

/* Runs after a connection is made and before the request is sent. Aborts if the request was already
 * sent once. */
static int on_connection(void *ctx, char *remote, char *local, int remote_port, int local_port)
{
    AcrHttpTransfer *x = ctx;
    if (x->asked) {
        x->end = ACR_HTTP_END_RESENDING;
        return CURL_PREREQFUNC_ABORT;
    }
    x->asked = true;
    return CURL_PREREQFUNC_OK;
}

/* Limits, for a socket before it connects, how much a server can send before we read it. */
static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    int size = RECEIVE_BUFFER_BYTES;
    (void)ctx;
    (void)purpose;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    return CURL_SOCKOPT_OK;
}

static void set_behaviour(AcrHttpTransfer *x)
{
    const AcrHttpRequest *request = x->request;
    CURL *easy = x->client->easy;
    gint64 connect_ms =
        request->connect_timeout_ms > 0 ? request->connect_timeout_ms : CONNECT_TIMEOUT_MS;
    acr_curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    acr_curl.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    acr_curl.easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    acr_curl.easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    acr_curl.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    acr_curl.easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
    acr_curl.easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 15L);
    acr_curl.easy_setopt(easy, CURLOPT_MAXAGE_CONN, KEPT_SECONDS);
    acr_curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    acr_curl.easy_setopt(easy, CURLOPT_USERAGENT, "acr-host/" ACR_VERSION);
    acr_curl.easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
    acr_curl.easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_connection);
    acr_curl.easy_setopt(easy, CURLOPT_PREREQDATA, x);
}

bool acr_http_set_request(AcrHttpTransfer *x, GError **error)
{
    set_behaviour(x);
    set_method(x);
    return set_target(x, error) && set_headers(x, error);
}
