/* Computes the AWS Signature Version 4 of a POST. Method, path, headers and the SHA-256 of the body
 * are written in a canonical form, which is signed by a key derived from the secret, the day, the
 * region and the service. In that form, the path is percent-encoded once more than in the request.
 * Only the headers that AWS requires are signed. The caller passes the time. libcurl's signer is
 * not used, because before version 8.9 it did not encode the colon in a model's id, and before 8.14
 * it did not encode "%3A". */
#include "llm/llm_private.h"

#include <string.h>
#include <time.h>

#define ALGORITHM "AWS4-HMAC-SHA256"
#define SCOPE_END "aws4_request"
#define DATE_BYTES sizeof "20150830T123600Z"
#define DAY_LEN (int)(sizeof "20150830" - 1)
#define SHA256_BYTES 32

/* Returns the URL's host as in a Host header, without the default port; owned. */
static char *host_of(const char *authority, gsize len, bool is_tls)
{
    g_autofree char *host = g_strndup(authority, len);
    const char *port = is_tls ? ":443" : ":80";
    return g_strndup(host, len - (g_str_has_suffix(host, port) ? strlen(port) : 0));
}

/* Returns the canonical request: method, path, query (none), "name:value" of each signed header, an
 * empty line, the headers' names, and the body's SHA-256. Owned (acr_wipe, because it contains a
 * session token). */
static char *canonical_request(const char *url, const char *content_type, const char *date,
                               const char *token, const char *names, const void *body, gsize len)
{
    bool is_tls = g_str_has_prefix(url, "https://");
    const char *authority = url + strlen(is_tls ? "https://" : "http://");
    const char *path = authority + strcspn(authority, "/");
    g_autofree char *host = host_of(authority, (gsize)(path - authority), is_tls);
    g_autofree char *encoded = g_uri_escape_string(path, "/", FALSE);
    g_autofree char *sum = acr_sha256_hex(body, len);
    return g_strdup_printf("POST\n%s\n\ncontent-type:%s\nhost:%s\nx-amz-date:%s\n%s%s%s\n%s\n%s",
                           *encoded ? encoded : "/", content_type, host, date,
                           token ? "x-amz-security-token:" : "", token ? token : "",
                           token ? "\n" : "", names, sum);
}

/* Computes the HMAC-SHA256 of `text`; `out` may be `key`. */
static void sign_bytes(const guint8 *key, gsize key_len, const char *text,
                       guint8 out[static SHA256_BYTES])
{
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, key, key_len);
    gsize len = SHA256_BYTES;
    g_hmac_update(hmac, (const guchar *)text, (gssize)strlen(text));
    g_hmac_get_digest(hmac, out, &len);
    g_hmac_unref(hmac);
}

static char *signature(const AcrAwsCredentials *keys, const char *service, const char *date,
                       const char *text)
{
    char *first = g_strconcat("AWS4", keys->secret_key, NULL);
    g_autofree char *day = g_strndup(date, DAY_LEN);
    guint8 key[SHA256_BYTES];
    sign_bytes((const guint8 *)first, strlen(first), day, key);
    acr_wipe(first);
    sign_bytes(key, sizeof key, keys->region, key);
    sign_bytes(key, sizeof key, service, key);
    sign_bytes(key, sizeof key, SCOPE_END, key);
    char *hex = g_compute_hmac_for_string(G_CHECKSUM_SHA256, key, sizeof key, text, -1);
    explicit_bzero(key, sizeof key);
    return hex;
}

void acr_sigv4_sign(const AcrAwsCredentials *keys, const char *service, const char *url,
                    const char *content_type, const void *body, gsize len, gint64 now_unix,
                    GPtrArray *out_headers)
{
    const char *token = keys->session_token;
    const char *names = token ? "content-type;host;x-amz-date;x-amz-security-token"
                              : "content-type;host;x-amz-date";
    time_t now = (time_t)now_unix;
    struct tm tm = {0};
    char date[DATE_BYTES] = "";
    strftime(date, sizeof date, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
    char *request = canonical_request(url, content_type, date, token, names, body, len);
    g_autofree char *sum = acr_sha256_hex(request, strlen(request));
    acr_wipe(request);
    g_autofree char *scope =
        g_strdup_printf("%.*s/%s/%s/" SCOPE_END, DAY_LEN, date, keys->region, service);
    g_autofree char *to_sign = g_strjoin("\n", ALGORITHM, date, scope, sum, NULL);
    g_autofree char *signed_hex = signature(keys, service, date, to_sign);
    g_ptr_array_add(out_headers, g_strdup_printf("X-Amz-Date: %s", date));
    if (token)
        g_ptr_array_add(out_headers, g_strdup_printf("X-Amz-Security-Token: %s", token));
    g_ptr_array_add(out_headers,
                    g_strdup_printf("Authorization: " ALGORITHM
                                    " Credential=%s/%s, SignedHeaders=%s, Signature=%s",
                                    keys->access_key, scope, names, signed_hex));
}
