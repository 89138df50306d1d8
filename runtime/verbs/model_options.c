/*
 * What the options of a model call mean, for every verb that makes such calls: amounts of money,
 * lengths of time, request headers, and the scale of the waits between tries. Amounts are read
 * digit by digit: no binary fraction stands between what is written and what is allowed.
 */
#include "verbs/verbs_private.h"

#include <errno.h>
#include <string.h>

#define USD_DIGITS 12 /* behind the point: pico-USD */
#define MAX_EXPONENT 400
#define MAX_DIGITS 30          /* of an amount: they fit in 128 bits */
#define MAX_SECONDS 31622400.0 /* a year */
#define MAX_RETRY_BASE_MS 3600000
#define RETRY_BASE_VARIABLE "ACR_RETRY_BASE_MS"

/* The power of ten behind an "e"; false: none that makes sense. */
static bool parse_exponent(const char *text, gint64 *out)
{
    bool is_negative = *text == '-';
    gint64 value;
    if (!acr_count_parse(text + (*text == '-' || *text == '+'), MAX_EXPONENT, &value))
        return false;
    *out = is_negative ? -value : value;
    return true;
}

/* Decimal, with a point and a power of ten where there is one ("2.5", "1e-06"), as programs print
 * numbers; what is less than a pico-USD is left off. */
bool acr_usd_parse(const char *text, gint64 *out_pico)
{
    gsize len = strcspn(text, "eE"), digits = 0;
    gint64 exponent = 0, behind = 0;
    __int128 sum = 0;
    bool has_point = false;
    if (text[len] && !parse_exponent(text + len + 1, &exponent))
        return false;
    for (gsize i = 0; i < len; i++) {
        bool is_point = text[i] == '.' && !has_point;
        has_point = has_point || is_point;
        if (is_point)
            continue;
        if (!g_ascii_isdigit(text[i]) || ++digits > MAX_DIGITS)
            return false;
        sum = sum * 10 + (text[i] - '0');
        behind += has_point;
    }
    for (gint64 shift = USD_DIGITS - behind + exponent; shift != 0 && sum > 0;
         shift += shift > 0 ? -1 : 1) {
        sum = shift > 0 ? sum * 10 : sum / 10;
        if (shift > 0 && sum > G_MAXINT64)
            return false;
    }
    if (digits == 0 || sum > G_MAXINT64)
        return false;
    *out_pico = (gint64)sum;
    return true;
}

bool acr_seconds_parse(const char *text, gint64 *out_ms)
{
    if (text[strspn(text, "0123456789.eE+-")] || text[0] == '-' || text[0] == '+')
        return false; /* "nan", "inf", "0x10", " 1", "-1" */
    char *end = NULL;
    double seconds = g_ascii_strtod(text, &end);
    if (end == text || *end || !(seconds > 0 && seconds <= MAX_SECONDS))
        return false;
    *out_ms = MAX(1, (gint64)(seconds * 1000 + 0.5));
    return true;
}

bool acr_retry_base(const char *verb, gint64 *out_ms)
{
    const char *text = g_getenv(RETRY_BASE_VARIABLE);
    gint64 ms;
    *out_ms = 0;
    if (!text || !*text)
        return true;
    if (!acr_count_parse(text, MAX_RETRY_BASE_MS, &ms)) {
        acr_verb_usage(verb, RETRY_BASE_VARIABLE " must be milliseconds from 0 to %d, not '%s'",
                       MAX_RETRY_BASE_MS, text);
        return false;
    }
    *out_ms = MAX(ms, 1); /* a model takes 0 for its own default */
    return true;
}

bool acr_count_parse(const char *text, gint64 max, gint64 *out)
{
    char *end = NULL;
    if (!g_ascii_isdigit(text[0]))
        return false;
    errno = 0;
    gint64 value = g_ascii_strtoll(text, &end, 10);
    if (*end || errno || value > max)
        return false;
    *out = value;
    return true;
}

/* ---- Of an option ------------------------------------------------------------------------------
 */

static bool refuse(const char *verb, const char *option, const char *wanted, const char *given)
{
    acr_verb_usage(verb, "--%s must be %s, not '%s'", option, wanted, given);
    return false;
}

bool acr_usd_check(const char *verb, const char *option, const char *given, gint64 *out_pico)
{
    return !given || acr_usd_parse(given, out_pico) ||
           refuse(verb, option, "an amount of USD such as 0.25, at most nine million", given);
}

bool acr_seconds_check(const char *verb, const char *option, const char *given, gint64 *out_ms)
{
    return !given || acr_seconds_parse(given, out_ms) ||
           refuse(verb, option, "seconds, above 0 and at most a year", given);
}

bool acr_tokens_check(const char *verb, const char *option, const char *given, gint64 max,
                      gint64 *out)
{
    gint64 count;
    if (!given)
        return true;
    if (!acr_count_parse(given, max, &count) || count == 0)
        return refuse(verb, option, "a number of tokens from 1 on", given);
    *out = count;
    return true;
}

bool acr_range_check(const char *verb, const char *option, int value, int min, int max)
{
    if (value >= min && value <= max)
        return true;
    acr_verb_usage(verb, "--%s must be from %d to %d, not %d", option, min, max, value);
    return false;
}

/* Letters, digits and what RFC 9110 lets stand in a name beside them. */
static bool is_header(const char *line)
{
    const char *colon = strchr(line, ':');
    if (!colon || colon == line)
        return false;
    for (const char *at = line; at < colon; at++)
        if (!g_ascii_isalnum(*at) && !strchr("!#$%&'*+-.^_`|~", *at))
            return false;
    for (const char *at = colon; *at; at++)
        if (g_ascii_iscntrl(*at) && *at != '\t')
            return false;
    return true;
}

bool acr_headers_check(char *const *headers, const char *verb)
{
    for (guint i = 0; headers && headers[i]; i++) {
        if (is_header(headers[i]))
            continue;
        acr_verb_usage(verb, "--header number %u is not 'Name: value'", i + 1); /* maybe a secret */
        return false;
    }
    return true;
}
