/* Parses the parts of a URL with libcurl's parser, because libcurl will connect to the URL. */
#include <string.h>

#include "http/http_private.h"

static void free_url(CURLU **url)
{
    acr_curl.url_cleanup(*url);
}

static void free_part(char **part)
{
    acr_curl.free(*part);
}

#define AUTO_URL __attribute__((cleanup(free_url))) CURLU
#define AUTO_PART __attribute__((cleanup(free_part))) char

static CURLU *parse_url(const char *text)
{
    AUTO_PART *scheme = NULL;
    g_assert(acr_curl.url); /* acr_http_global_init() must be called first */
    CURLU *url = acr_curl.url();
    if (url && acr_curl.url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
        acr_curl.url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0))
        return url;
    acr_curl.url_cleanup(url);
    return NULL;
}

char *acr_http_url_authority(const char *url)
{
    AUTO_URL *parsed = parse_url(url);
    AUTO_PART *host = NULL;
    AUTO_PART *port = NULL;
    if (!parsed || acr_curl.url_get(parsed, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        acr_curl.url_get(parsed, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK)
        return NULL;
    return g_strdup_printf("%s:%s", host, port);
}

/* Whether the host is 127.a.b.c, and not a name that begins with "127.". */
static bool is_ipv4_loopback(const char *host)
{
    return g_str_has_prefix(host, "127.") && host[strspn(host, "0123456789.")] == '\0' &&
           g_hostname_is_ip_address(host);
}

bool acr_http_url_is_loopback(const char *url)
{
    AUTO_URL *parsed = parse_url(url);
    AUTO_PART *host = NULL;
    if (!parsed || acr_curl.url_get(parsed, CURLUPART_HOST, &host, 0) != CURLUE_OK)
        return false;
    return g_ascii_strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           is_ipv4_loopback(host);
}
