/*
 * When a server wants to be asked again: headers (seconds, milliseconds, a date), Google's
 * RetryInfo, sentences in an error's message, and the headers that tell when a used-up limit is
 * full again. Whatever is unreadable is as if it were not sent; whatever is longer than a day is a
 * day.
 */
#include "llm/failure.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "http/http.h"

typedef struct {
    const char *name; /* "minutes" begins with it, and ends where letters do */
    double ms;
} Unit;

static const Unit units[] = {{"ms", 1},        {"millisecond", 1}, {"m", 60e3},
                             {"min", 60e3},    {"minute", 60e3},   {"s", 1e3},
                             {"sec", 1e3},     {"second", 1e3},    {"h", 3600e3},
                             {"hour", 3600e3}, {"d", 86400e3},     {"day", 86400e3}};

static gint64 bounded_ms(double ms)
{
    return ms >= 0 ? (gint64)MIN(ms, (double)ACR_MAX_RETRY_AFTER_MS) : -1;
}

/* ---- Durations and dates ---- */

/* A decimal number without sign, exponent or names; *out_end behind it. */
static double plain_number(const char *text, const char **out_end)
{
    char buffer[32] = "";
    gsize len = strspn(text, "0123456789.");

    *out_end = text;
    if (len == 0 || len >= sizeof buffer || !g_ascii_isdigit(*text))
        return -1;
    memcpy(buffer, text, len);
    /* "in 5." ends a sentence */
    while (buffer[len - 1] == '.')
        buffer[--len] = '\0';
    if (strchr(buffer, '.') != strrchr(buffer, '.'))
        return -1;
    *out_end = text + len;
    return g_ascii_strtod(buffer, NULL);
}

/* The milliseconds of the unit at the start of a text, in singular or plural, and its end; 0: none.
 */
static double unit_at(const char *text, const char **out_end)
{
    gsize letters = 0;

    while (g_ascii_isalpha(text[letters]))
        letters++;
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        gsize len = strlen(units[i].name);
        bool is_plural = len > 2 && letters == len + 1 && g_ascii_tolower(text[len]) == 's';

        if ((letters == len || is_plural) && g_ascii_strncasecmp(text, units[i].name, len) == 0) {
            *out_end = text + letters;
            return units[i].ms;
        }
    }
    return 0;
}

gint64 acr_duration_ms(const char *text, const char **out_end)
{
    const char *at = text;
    const char *end = NULL;
    double ms = 0;
    double number = -1;
    bool is_read = false;

    while ((number = plain_number(at, &end)) >= 0) {
        double unit = unit_at(end + strspn(end, " "), &end);

        if (unit == 0 && is_read)
            break;
        ms += number * (unit > 0 ? unit : 1e3);
        is_read = true;
        at = end;
        if (unit == 0)
            break;
    }
    if (out_end)
        *out_end = at;
    return is_read ? bounded_ms(ms) : -1;
}

/* Seconds since the epoch of "Sun, 06 Nov 1994 08:49:37 GMT", the one form that may be sent; -1:
 * none. */
static gint64 http_date(const char *text)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm tm = {0};
    char month[4] = "";
    int seen = sscanf(text, "%*3[A-Za-z], %2d %3s %4d %2d:%2d:%2d GMT", &tm.tm_mday, month,
                      &tm.tm_year, &tm.tm_hour, &tm.tm_min, &tm.tm_sec);
    const char *at = strlen(month) == 3 ? strstr(months, month) : NULL;

    if (seen != 6 || !at || (at - months) % 3 != 0 || tm.tm_year < 1970 || tm.tm_mday < 1 ||
        tm.tm_mday > 31 || tm.tm_hour < 0 || tm.tm_hour > 23 || tm.tm_min < 0 || tm.tm_min > 59 ||
        tm.tm_sec < 0 || tm.tm_sec > 60)
        return -1;
    tm.tm_mon = (int)(at - months) / 3;
    tm.tm_year -= 1900;
    return (gint64)timegm(&tm);
}

static gint64 until_ms(gint64 then_unix, gint64 now_unix)
{
    return then_unix < 0 ? -1
                         : CLAMP(then_unix - now_unix, 0, ACR_MAX_RETRY_AFTER_MS / 1000) * 1000;
}

/* ---- Waits ---- */

/* A header's number of `unit` milliseconds; -1: not sent, not one, or negative. */
static gint64 number_ms(const char *text, double unit)
{
    char *end = NULL;
    double value = text ? g_ascii_strtod(text, &end) : -1;

    while (end && g_ascii_isspace(*end))
        end++;
    return end == text || *end || !(value >= 0) ? -1 : bounded_ms(value * unit);
}

gint64 acr_retry_after_ms(GHashTable *headers, gint64 now_unix)
{
    const char *after = acr_http_header(headers, "retry-after");
    gint64 wait = number_ms(acr_http_header(headers, "retry-after-ms"), 1);

    if (wait < 0)
        wait = number_ms(after, 1000);
    if (wait < 0 && after)
        wait = until_ms(http_date(after), now_unix);
    return wait >= 0 ? wait : number_ms(acr_http_header(headers, "x-amz-retry-after"), 1);
}

/* {"@type": "…/google.rpc.RetryInfo", "retryDelay": "34s"} among the details. */
static gint64 retry_info_ms(const AcrJson *error)
{
    const AcrJson *details = acr_json_get(error, "details");

    if (acr_json_type(details) != ACR_JSON_ARRAY)
        return -1;
    for (const AcrJson *detail = acr_json_first(details); detail; detail = acr_json_next(detail)) {
        const char *delay = acr_json_get_string(detail, "retryDelay");

        if (delay)
            return acr_duration_ms(delay, NULL);
    }
    return -1;
}

gint64 acr_retry_hint_ms(const AcrJson *error, const char *prose)
{
    static const char *const beginnings[] = {"try again in ", "try again after ", "retry after ",
                                             "retry in ", "wait "};
    gint64 wait = retry_info_ms(error);

    for (gsize i = 0; wait < 0 && i < G_N_ELEMENTS(beginnings); i++) {
        const char *at = strstr(prose, beginnings[i]);

        if (at)
            wait = acr_duration_ms(at + strlen(beginnings[i]), NULL);
    }
    return wait;
}

/* ---- Limits that are used up ---- */

/* A time ("2026-01-27T17:34:02Z", fractions and offsets too), or a duration that is all of the text;
 * -1: neither. */
static gint64 reset_ms(const char *text, gint64 now_unix)
{
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autoptr(GDateTime) time =
        strlen(text) < 64 && strchr(text, 'T') ? g_date_time_new_from_iso8601(text, utc) : NULL;
    const char *end = text;
    gint64 ms = acr_duration_ms(text, &end);

    return time ? until_ms(g_date_time_to_unix(time), now_unix) : *end ? -1 : ms;
}

gint64 acr_limit_reset_ms(GHashTable *headers, gint64 now_unix)
{
    static const struct {
        const char *remaining, *reset;
    } limits[] = {
        {"x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"},
        {"x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"},
        {"anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"},
        {"anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"},
        {"anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"},
        {"anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"},
    };
    gint64 longest = 0;

    for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
        const char *reset = acr_http_header(headers, limits[i].reset);

        if (reset && number_ms(acr_http_header(headers, limits[i].remaining), 1) == 0)
            longest = MAX(longest, reset_ms(reset, now_unix));
    }
    return longest;
}
