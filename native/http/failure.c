/*
 * What went wrong, as an error of ours: one class and one line. What we ended ourselves goes before
 * what libcurl says of it.
 */
#include "http/http_private.h"

#define UNVERIFIED 1

G_DEFINE_QUARK(acr_http_error_quark, acr_http_error)

static bool fail_ended(const AcrHttpTransfer *x, GError **error)
{
    static const struct {
        AcrHttpError code;
        const char *text;
    } ends[] = {
        [ACR_HTTP_END_INTERRUPTED] = {ACR_HTTP_ERROR_INTERRUPTED, "interrupted"},
        [ACR_HTTP_END_FIRST_BYTE] = {ACR_HTTP_ERROR_TIMEOUT,
                                     "no response within the time for its first byte"},
        [ACR_HTTP_END_IDLE] = {ACR_HTTP_ERROR_TIMEOUT, "the response stopped coming"},
        [ACR_HTTP_END_TOTAL] = {ACR_HTTP_ERROR_TIMEOUT,
                                "no whole response within the time for the exchange"},
        [ACR_HTTP_END_HEADER_BYTES] = {ACR_HTTP_ERROR_TOO_BIG,
                                       "the headers of the response are too large"},
        [ACR_HTTP_END_HEADER_COUNT] = {ACR_HTTP_ERROR_TOO_BIG, "the response has too many headers"},
        [ACR_HTTP_END_NO_STATUS] = {ACR_HTTP_ERROR_NETWORK, "the response has no usable status"},
        [ACR_HTTP_END_BODY_BYTES] = {ACR_HTTP_ERROR_TOO_BIG, "the response is larger than"},
        [ACR_HTTP_END_STOPPED] = {ACR_HTTP_ERROR_STOPPED, "stopped"},
        [ACR_HTTP_END_RESENDING] = {ACR_HTTP_ERROR_NETWORK,
                                    "the server closed a kept connection without a response"},
    };

    if (x->end == ACR_HTTP_END_BODY_BYTES)
        g_set_error(error, ACR_HTTP_ERROR, (gint)ends[x->end].code, "%s %zu bytes",
                    ends[x->end].text, x->body_limit);
    else
        g_set_error_literal(error, ACR_HTTP_ERROR, (gint)ends[x->end].code, ends[x->end].text);
    return false;
}

/* A request that went out on a kept connection may be followed by a failure to connect again: that
 * is a transfer that broke off, not an unreachable server. */
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
    case CURLE_PEER_FAILED_VERIFICATION: /* another try would meet the same certificate */
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
        return ACR_HTTP_ERROR_FAILED;
    default:
        return ACR_HTTP_ERROR_NETWORK;
    }
}

/* libcurl calls a header line, or a trailer, beyond its own ceiling a lack of memory; later
 * versions have a word for it. */
static bool is_long_line(CURLcode code, bool sent)
{
#if LIBCURL_VERSION_NUM >= 0x080600
    if (code == CURLE_TOO_LARGE)
        return true;
#endif
    return code == CURLE_OUT_OF_MEMORY && sent;
}

/* The chain of certificates was refused, not the name in the first: with that, the result of the
 * chain is still the one it began with. */
static bool is_untrusted(const AcrHttpTransfer *x, CURLcode code)
{
    long verified = 0;

    curl_easy_getinfo(x->client->easy, CURLINFO_SSL_VERIFYRESULT, &verified);
    return code == CURLE_PEER_FAILED_VERIFICATION && verified > UNVERIFIED;
}

bool acr_http_fail(const AcrHttpTransfer *x, CURLcode code, GError **error)
{
    const char *what = x->detail[0] ? x->detail : curl_easy_strerror(code);

    if (x->end != ACR_HTTP_END_NONE)
        return fail_ended(x, error);
    if (is_long_line(code, x->asked)) {
        g_set_error_literal(error, ACR_HTTP_ERROR, ACR_HTTP_ERROR_TOO_BIG,
                            "the response has a header line that is too long");
        return false;
    }
    g_set_error(error, ACR_HTTP_ERROR, (gint)class_of(code, x->asked), "no response from %s: %s%s",
                x->request->unix_socket ? x->request->unix_socket : x->authority, what,
                is_untrusted(x, code) ? " (SSL_CERT_FILE names the certificates to trust)" : "");
    return false;
}
