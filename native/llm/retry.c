/* Finds out how long a server wants us to wait, from headers (seconds, milliseconds, a date),
 * Google's RetryInfo, or sentences in an error's message. Also computes the wait before a retry.
 * Values that cannot be parsed are ignored; a wait of more than a day is shortened to a day. The
 * caller passes the random numbers. */
#include "llm/failure.h"

#include <poll.h>
#include <string.h>
#include <time.h>

#include "http/http.h"

#define SLICE_MS 50 /* interval between checks for an interrupt */

static const struct {
    const char *words;
    double ms;
} units[] = {{"|ms|millisecond|milliseconds|", 1},
             {"|m|min|mins|minute|minutes|", 60e3},
             {"|s|sec|secs|second|seconds|", 1e3},
             {"|h|hour|hours|", 3600e3},
             {"|d|day|days|", 86400e3}};

static gint64 bounded_ms(double ms)
{
    return ms >= 0 ? (gint64)MIN(ms, (double)ACR_MAX_RETRY_AFTER_MS) : -1;
}

/* Reads a nonnegative decimal number (-1: none) without sign, exponent or words such as "inf";
 * *out_end points after the number. */
static double plain_number(const char *text, const char **out_end)
{
    char buffer[32] = "";
    gsize len = strspn(text, "0123456789.");
    *out_end = text;
    if (len == 0 || len >= sizeof buffer || !g_ascii_isdigit(*text))
        return -1;
    memcpy(buffer, text, len);
    /* a period at the end, as in "in 5.", ends the sentence */
    while (buffer[len - 1] == '.')
        buffer[--len] = '\0';
    if (strchr(buffer, '.') != strrchr(buffer, '.'))
        return -1;
    *out_end = text + len;
    return g_ascii_strtod(buffer, NULL);
}

/* Returns the number of milliseconds of the unit of time with which a text begins; 0 if there is
 * none. *out_end points after the unit's name. */
static double unit_at(const char *text, const char **out_end)
{
    gsize letters = strspn(text, G_CSET_a_2_z G_CSET_A_2_Z);
    g_autofree char *given = g_strdup_printf("|%.*s|", (int)letters, text);
    g_autofree char *word = g_ascii_strdown(given, -1);
    for (gsize i = 0; letters > 0 && i < G_N_ELEMENTS(units); i++)
        if (strstr(units[i].words, word)) {
            *out_end = text + letters;
            return units[i].ms;
        }
    return 0;
}

gint64 acr_duration_ms(const char *text)
{
    double ms = 0;
    double number = -1;
    bool is_read = false;
    while ((number = plain_number(text, &text)) >= 0) {
        double unit = unit_at(text + strspn(text, " "), &text);
        if (unit == 0 && is_read)
            break;
        is_read = true;
        ms += number * (unit > 0 ? unit : 1e3);
        if (unit == 0)
            break;
    }
    return is_read ? bounded_ms(ms) : -1;
}

/* Returns the time from now to a date such as "Sun, 06 Nov 1994 08:49:37 GMT" (the only format that
 * servers may send), in milliseconds; -1 if the date is invalid. */
static gint64 until_ms(const char *date, gint64 now_unix)
{
    struct tm tm = {0};
    const char *end = strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    if (!end || tm.tm_year < 70)
        return -1;
    return CLAMP((gint64)timegm(&tm) - now_unix, 0, ACR_MAX_RETRY_AFTER_MS / 1000) * 1000;
}

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
        wait = until_ms(after, now_unix);
    return wait >= 0 ? wait : number_ms(acr_http_header(headers, "x-amz-retry-after"), 1);
}

/* Reads {"@type": "…/google.rpc.RetryInfo", "retryDelay": "34s"} in an error's details. */
static gint64 retry_info_ms(const AcrJson *error)
{
    const AcrJson *details = acr_json_get(error, "details");
    if (acr_json_type(details) != ACR_JSON_ARRAY)
        return -1;
    for (const AcrJson *detail = acr_json_first(details); detail; detail = acr_json_next(detail)) {
        const char *delay = acr_json_get_string(detail, "retryDelay");
        if (delay)
            return acr_duration_ms(delay);
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
            wait = acr_duration_ms(at + strlen(beginnings[i]));
    }
    return wait;
}

gint64 acr_backoff_ms(gint64 base_ms, guint retry, gint64 retry_after_ms, double u)
{
    gint64 bound = MIN(base_ms, ACR_LLM_BACKOFF_CAP_MS);
    if (retry_after_ms > 0)
        return retry_after_ms + (gint64)((double)retry_after_ms * 0.1 * u);
    for (guint i = 0; i < retry && bound < ACR_LLM_BACKOFF_CAP_MS; i++)
        bound = MIN(bound * 2, ACR_LLM_BACKOFF_CAP_MS);
    return (gint64)((double)bound * u);
}

bool acr_llm_wait(gint64 ms, const AcrInterrupt *interrupt)
{
    gint64 end_us = g_get_monotonic_time() + ms * 1000;
    for (gint64 left_us = ms * 1000; left_us > 0; left_us = end_us - g_get_monotonic_time()) {
        if (acr_interrupted(interrupt))
            return false;
        (void)poll(NULL, 0,
                   /* a signal ends `poll` early, as intended */
                   (int)MIN(left_us / 1000 + 1, SLICE_MS));
    }
    return !acr_interrupted(interrupt);
}
