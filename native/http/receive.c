/* Counts and keeps received bytes, in libcurl's callbacks. The callbacks enforce the limits because
 * libcurl's own limits do not bound chunked or decompressed bodies. */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http_private.h"

/* maximum number of dropped bytes; to read more costs more than a new connection */
#define ENOUGH_BYTES (256u * 1024)
#define LATE_MS 20 /* how long to wait for more bytes after the body */

static void note_bytes(AcrHttpTransfer *x)
{
    x->last_us = g_get_monotonic_time();
    if (x->first_us == 0)
        x->first_us = x->last_us;
}

void acr_http_keep_header(GHashTable *headers, const char *line, gsize len)
{
    const char *colon = memchr(line, ':', len);
    if (!colon)
        return;
    g_autofree char *name = acr_utf8_repair(line, (gsize)(colon - line));
    g_hash_table_replace(headers, g_ascii_strdown(g_strstrip(name), -1),
                         g_strstrip(acr_utf8_repair(colon + 1, len - (gsize)(colon + 1 - line))));
}

const char *acr_http_header(GHashTable *headers, const char *name)
{
    return headers ? g_hash_table_lookup(headers, name) : NULL;
}

/* Ends a head, unless it is the head of an interim response (1xx), which the status line of the
 * next response discards. */
static void end_head(AcrHttpTransfer *x)
{
    long status = 0;
    acr_curl.easy_getinfo(x->client->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200)
        return;
    x->head.status = (int)status;
    x->head_ended = true;
}

/* Handles a line of a head, or a trailer, which is counted and dropped. */
static size_t on_header(char *line, size_t size, size_t count, void *ctx)
{
    AcrHttpTransfer *x = ctx;
    gsize len = size * count;
    note_bytes(x);
    x->header_bytes += len;
    x->header_count++;
    if (x->header_bytes > ACR_HTTP_MAX_HEADER_BYTES)
        x->end = ACR_HTTP_END_HEADER_BYTES;
    else if (x->header_count > ACR_HTTP_MAX_HEADERS)
        x->end = ACR_HTTP_END_HEADER_COUNT;
    if (x->end != ACR_HTTP_END_NONE)
        return 0;
    if (x->head_ended)
        return len;
    if (len >= 5 && memcmp(line, "HTTP/", 5) == 0)
        g_hash_table_remove_all(x->head.headers);
    /* libcurl recognises the empty line by the same test */
    else if (len > 0 && (line[0] == '\r' || line[0] == '\n'))
        end_head(x);
    else
        acr_http_keep_header(x->head.headers, line, len);
    return len;
}

static size_t hand_on(AcrHttpTransfer *x, const char *data, gsize len)
{
    AcrHttpNext next = x->request->on_body(x->request->on_body_ctx, &x->head, data, len);
    x->nearly = next == ACR_HTTP_NEARLY;
    switch (next) {
    case ACR_HTTP_MORE:
    case ACR_HTTP_NEARLY:
        return len;
    case ACR_HTTP_ENOUGH:
        x->enough_us = x->last_us;
        return len;
    case ACR_HTTP_STOP:
        break;
    }
    x->end = ACR_HTTP_END_STOPPED;
    return CURL_WRITEFUNC_ERROR;
}

/* Drops body bytes that arrive after on_body returned ENOUGH. */
static size_t drop(AcrHttpTransfer *x, gsize len)
{
    x->dropped_bytes += len;
    if (x->dropped_bytes <= ENOUGH_BYTES)
        return len;
    x->end = ACR_HTTP_END_ENOUGH;
    return CURL_WRITEFUNC_ERROR;
}

static size_t on_received_body(char *data, size_t size, size_t count, void *ctx)
{
    AcrHttpTransfer *x = ctx;
    gsize len = size * count;
    note_bytes(x);
    if (x->enough_us > 0)
        return drop(x, len);
    if (!x->head_ended) /* libcurl accepts some status lines without a status */
        x->end = ACR_HTTP_END_NO_STATUS;
    else if (len > x->body_limit - x->body_bytes)
        x->end = ACR_HTTP_END_BODY_BYTES;
    if (x->end != ACR_HTTP_END_NONE)
        return CURL_WRITEFUNC_ERROR;
    x->body_bytes += len;
    if (!x->body)
        return hand_on(x, data, len);
    g_byte_array_append(x->body, (const guint8 *)data, (guint)len);
    return len;
}

bool acr_http_is_packed(const AcrHttpTransfer *x)
{
    const char *coding = acr_http_header(x->head.headers, "content-encoding");
    return x->request->unpacks && coding && g_ascii_strcasecmp(coding, "identity") != 0;
}

gint64 acr_http_length(const AcrHttpTransfer *x)
{
    curl_off_t length = -1;
    if (acr_http_is_packed(x))
        return -1;
    acr_curl.easy_getinfo(x->client->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    return length;
}

void acr_http_look_behind(AcrHttpTransfer *x, curl_socket_t fd)
{
    struct pollfd what = {.fd = fd, .events = POLLIN};
    bool is_plain = x->request->unix_socket ||
                    g_ascii_strncasecmp(x->request->url, "https:", strlen("https:")) != 0;
    char byte = 0;
    if (fd == CURL_SOCKET_BAD || !is_plain || !x->head_ended || x->body_bytes == 0 ||
        acr_http_length(x) != (gint64)x->body_bytes)
        return;
    if (poll(&what, 1, x->request->on_body ? LATE_MS : 0) > 0 &&
        recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
        x->is_longer = true;
}

/* Closes a connection, but checks for more bytes first: libcurl closes a connection that it will
 * not reuse as soon as the body has arrived. */
static int on_close(void *ctx, curl_socket_t fd)
{
    AcrHttpClient *client = ctx;
    if (client->current)
        acr_http_look_behind(client->current, fd);
    return close(fd);
}

/* Notices that libcurl has dropped bytes that arrived together with the end of a body, because
 * libcurl reports these bytes only in its debug output. */
static int on_debug(CURL *easy, curl_infotype type, char *text, size_t len, void *ctx)
{
    static const char excess[] = "Excess found";
    AcrHttpTransfer *x = ctx;
    (void)easy;
    if (type == CURLINFO_TEXT && len >= strlen(excess) && memcmp(text, excess, strlen(excess)) == 0)
        x->is_longer = true;
    return 0;
}

void acr_http_set_receiver(AcrHttpTransfer *x)
{
    CURL *easy = x->client->easy;
    x->body = x->request->on_body ? NULL : g_byte_array_new();
    x->body_limit = x->request->body_limit > 0 ? x->request->body_limit : ACR_HTTP_MAX_BODY_BYTES;
    x->head.headers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    acr_curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, x->detail);
    acr_curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    acr_curl.easy_setopt(easy, CURLOPT_HEADERDATA, x);
    acr_curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_received_body);
    acr_curl.easy_setopt(easy, CURLOPT_WRITEDATA, x);
    acr_curl.easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    acr_curl.easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, x->client);
    acr_curl.easy_setopt(easy, CURLOPT_DEBUGFUNCTION, on_debug);
    acr_curl.easy_setopt(easy, CURLOPT_DEBUGDATA, x);
    acr_curl.easy_setopt(easy, CURLOPT_VERBOSE, 1L);
    if (x->request->unpacks)
        acr_curl.easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "identity");
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
