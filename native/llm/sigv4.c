/*
 * AWS Signature Version 4 for services other than S3: a request's method, path, query, headers and
 * the SHA-256 of its body are written in one canonical form, and a key derived from the secret, the
 * day, the region and the service signs that. The rules are botocore's: the path as it is sent is
 * normalised and percent-encoded once more, queries are sorted but not encoded, headers that hops
 * may change are left out. Signing is pure: the time comes from the caller. libcurl's own signer is
 * not used, since its versions disagree about paths that hold a colon.
 */
#include "llm/llm_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ALGORITHM "AWS4-HMAC-SHA256"
#define SCOPE_END "aws4_request"
#define BLANKS " \t\r\n\v\f"
#define DATE_BYTES sizeof "20150830T123600Z"
#define DAY_LEN (sizeof "20150830" - 1)
#define SHA256_BYTES 32

/* Lower-case; what a proxy on the way may change, and what this signature writes itself. */
static const char *const unsigned_headers[] = {
    "authorization",
    "baggage",
    "connection",
    "expect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "x-amzn-trace-id",
    NULL,
};
static const char *const own_headers[] = {"x-amz-date", "x-amz-security-token", NULL};

/* ---- The canonical request ----------------------------------------------------------------------
 */

static void append_encoded(GString *out, const char *text)
{
    for (; *text; text++) {
        if (g_ascii_isalnum(*text) || strchr("-._~/", *text))
            g_string_append_c(out, *text);
        else
            g_string_append_printf(out, "%%%02X", (guchar)*text);
    }
}

/* Without empty and dot segments; an encoded slash is no border. */
static char *canonical_path(const char *path)
{
    g_auto(GStrv) segments = g_strsplit(path, "/", -1);
    g_autoptr(GPtrArray) kept = g_ptr_array_new();
    GString *out = g_string_new(NULL);

    for (gsize i = 0; segments[i]; i++) {
        if (strcmp(segments[i], "..") == 0)
            g_ptr_array_set_size(kept, (gint)MAX(kept->len, 1) - 1);
        else if (*segments[i] && strcmp(segments[i], ".") != 0)
            g_ptr_array_add(kept, segments[i]);
    }
    for (guint i = 0; i < kept->len; i++) {
        g_string_append_c(out, '/');
        append_encoded(out, kept->pdata[i]);
    }
    if (kept->len == 0 || g_str_has_suffix(path, "/"))
        g_string_append_c(out, '/');
    return g_string_free(out, FALSE);
}

/* By key, then by value: "=" must not count in the order, since "-" and others sort before it. */
static gint compare_parameters(gconstpointer a, gconstpointer b)
{
    const char *left = *(const char *const *)a, *right = *(const char *const *)b;
    gsize left_key = strcspn(left, "="), right_key = strcspn(right, "=");
    int order = memcmp(left, right, MIN(left_key, right_key));

    if (order == 0 && left_key != right_key)
        return left_key < right_key ? -1 : 1;
    return order ? order : strcmp(left + left_key, right + right_key);
}

static char *canonical_query(const char *query)
{
    g_auto(GStrv) parts = g_strsplit(query ? query : "", "&", -1);
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    GString *out = g_string_new(NULL);

    for (gsize i = 0; parts[i]; i++)
        g_ptr_array_add(sorted, parts[i]);
    g_ptr_array_sort(sorted, compare_parameters);
    for (guint i = 0; i < sorted->len; i++) {
        const char *part = sorted->pdata[i];

        g_string_append_printf(out, "%s%s%s", i ? "&" : "", part, strchr(part, '=') ? "" : "=");
    }
    return g_string_free(out, FALSE);
}

/* Trimmed, each run of blanks as one space. */
static void append_value(GString *out, const char *value)
{
    const char *separator = "";

    for (value += strspn(value, BLANKS); *value; value += strspn(value, BLANKS)) {
        gsize word = strcspn(value, BLANKS);

        g_string_append(out, separator);
        g_string_append_len(out, value, (gssize)word);
        value += word;
        separator = " ";
    }
}

/* A value may be a session token. */
static void free_value(gpointer value)
{
    acr_wipe(g_string_free(value, FALSE));
}

/* Values of the same name are joined by commas, in their order. `name` is taken. */
static void add_header(GHashTable *headers, char *name, const char *value)
{
    GString *joined = g_hash_table_lookup(headers, name);

    if (joined) {
        g_string_append_c(joined, ',');
        append_value(joined, value);
        g_free(name);
        return;
    }
    joined = g_string_new(NULL);
    append_value(joined, value);
    g_hash_table_insert(headers, name, joined);
}

/* One line as libcurl reads it: "Name: value"; "Name;" is sent empty, and "Name:" not at all. */
static void add_line(GHashTable *headers, const char *line)
{
    gsize len = strcspn(line, ":;");
    g_autofree char *name = g_strstrip(g_ascii_strdown(line, (gssize)len));
    bool is_sent = line[len] == ':' && line[len + 1 + strspn(line + len + 1, BLANKS)];
    bool is_empty = line[len] == ';' && line[len + 1 + strspn(line + len + 1, BLANKS)] == '\0';

    if ((is_sent || is_empty) && *name && !g_strv_contains(unsigned_headers, name) &&
        !g_strv_contains(own_headers, name))
        add_header(headers, g_steal_pointer(&name), is_sent ? line + len + 1 : "");
}

/* Name -> GString, of all that is signed. */
static GHashTable *signed_headers(const AcrAwsKeys *keys, const char *host,
                                  const char *const *lines, const char *date)
{
    GHashTable *headers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_value);

    for (gsize i = 0; lines && lines[i]; i++)
        add_line(headers, lines[i]);
    if (!g_hash_table_contains(headers, "host"))
        add_header(headers, g_strdup("host"), host);
    add_header(headers, g_strdup("x-amz-date"), date);
    if (keys->session_token)
        add_header(headers, g_strdup("x-amz-security-token"), keys->session_token);
    return headers;
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "name:value\n" for each header, sorted; their names, joined by ";", in *out_names. */
static char *canonical_headers(GHashTable *headers, char **out_names)
{
    g_autofree gpointer *keys = g_hash_table_get_keys_as_array(headers, NULL);
    guint count = g_hash_table_size(headers);
    GString *out = g_string_new(NULL);

    qsort(keys, count, sizeof *keys, compare_names);
    for (guint i = 0; i < count; i++) {
        const GString *value = g_hash_table_lookup(headers, keys[i]);

        g_string_append_printf(out, "%s:%s\n", (char *)keys[i], value->str);
    }
    *out_names = g_strjoinv(";", (char **)keys);
    return g_string_free(out, FALSE);
}

/* A sum that the caller states in a header counts: the service compares it with the body. */
static char *body_sum(GHashTable *headers, const void *body, gsize len)
{
    const GString *stated = g_hash_table_lookup(headers, "x-amz-content-sha256");

    return stated ? g_strdup(stated->str) : acr_sha256_hex(body, len);
}

/* The SHA-256 of the canonical request, and the names of its headers in *out_names; owned. */
static char *request_sum(GHashTable *headers, const char *method, const char *path,
                         const char *query, const void *body, gsize len, char **out_names)
{
    g_autofree char *path_line = canonical_path(path), *query_line = canonical_query(query);
    g_autofree char *sum = body_sum(headers, body, len);
    char *lines = canonical_headers(headers, out_names);
    char *text = g_strjoin("\n", method, path_line, query_line, lines, *out_names, sum, NULL);
    char *hex = acr_sha256_hex(text, strlen(text));

    acr_wipe(lines); /* a session token is in it */
    acr_wipe(text);
    return hex;
}

/* ---- The signature ------------------------------------------------------------------------------
 */

/* HMAC-SHA256; `out` may be `key`. */
static void sign_bytes(const guint8 *key, gsize key_len, const char *text,
                       guint8 out[static SHA256_BYTES])
{
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, key, key_len);
    gsize len = SHA256_BYTES;

    g_hmac_update(hmac, (const guchar *)text, (gssize)strlen(text));
    g_hmac_get_digest(hmac, out, &len);
    g_hmac_unref(hmac);
}

static char *signature(const AcrAwsKeys *keys, const char *day, const char *text)
{
    g_autofree char *first = g_strconcat("AWS4", keys->secret_key, NULL);
    guint8 key[SHA256_BYTES];
    char *hex = NULL;

    sign_bytes((const guint8 *)first, strlen(first), day, key);
    explicit_bzero(first, strlen(first));
    sign_bytes(key, sizeof key, keys->region, key);
    sign_bytes(key, sizeof key, keys->service, key);
    sign_bytes(key, sizeof key, SCOPE_END, key);
    hex = g_compute_hmac_for_string(G_CHECKSUM_SHA256, key, sizeof key, text, -1);
    explicit_bzero(key, sizeof key);
    return hex;
}

static void format_date(gint64 now_unix, char out[static DATE_BYTES])
{
    time_t now = (time_t)now_unix;
    struct tm tm = {0};

    gmtime_r(&now, &tm);
    strftime(out, DATE_BYTES, "%Y%m%dT%H%M%SZ", &tm);
}

void acr_sigv4_sign(const AcrAwsKeys *keys, const char *method, const char *host, const char *path,
                    const char *query, const char *const *headers, const void *body, gsize len,
                    gint64 now_unix, GPtrArray *out_headers)
{
    char date[DATE_BYTES] = "";
    g_autoptr(GHashTable) table = NULL;
    g_autofree char *names = NULL, *sum = NULL, *day = NULL, *scope = NULL;
    g_autofree char *to_sign = NULL, *signed_hex = NULL;

    format_date(now_unix, date);
    table = signed_headers(keys, host, headers, date);
    sum = request_sum(table, method, path, query, body, len, &names);
    day = g_strndup(date, DAY_LEN);
    scope = g_strjoin("/", day, keys->region, keys->service, SCOPE_END, NULL);
    to_sign = g_strjoin("\n", ALGORITHM, date, scope, sum, NULL);
    signed_hex = signature(keys, day, to_sign);
    g_ptr_array_add(out_headers, g_strdup_printf("X-Amz-Date: %s", date));
    if (keys->session_token)
        g_ptr_array_add(out_headers,
                        g_strdup_printf("X-Amz-Security-Token: %s", keys->session_token));
    g_ptr_array_add(out_headers,
                    g_strdup_printf("Authorization: " ALGORITHM
                                    " Credential=%s/%s, SignedHeaders=%s, Signature=%s",
                                    keys->access_key, scope, names, signed_hex));
}
