/* Parses amounts of money, durations and counts as users write them. Money is read digit by digit,
 * so that rounding to binary fractions cannot change a limit. */
#include "task/run_spec.h"

#include <errno.h>
#include <string.h>

#define USD_DIGITS 12                            /* number of decimal digits in a pico-USD */
#define MAX_PICO (9000000ll * 1000000 * 1000000) /* close to the largest 64-bit integer */
#define MAX_EXPONENT 400
#define MAX_DIGITS 30          /* maximum number of digits, so that an amount fits into 128 bits */
#define MAX_SECONDS 31622400.0 /* a year, in seconds */

/* Reads the exponent after an "e". Returns false if it is not a number, or out of range. */
static bool parse_exponent(const char *text, gint64 *out)
{
    bool is_negative = *text == '-';
    gint64 value;
    if (!acr_count_parse(text + (*text == '-' || *text == '+'), MAX_EXPONENT, &value))
        return false;
    *out = is_negative ? -value : value;
    return true;
}

/* Reads a decimal number with an optional point and power of ten ("2.5", "1e-06"), as programs
 * print it. Ignores digits below one pico-USD. */
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
    if (digits == 0 || sum > MAX_PICO)
        return false;
    *out_pico = (gint64)sum;
    return true;
}

bool acr_seconds_parse(const char *text, gint64 *out_ms)
{
    if (text[strspn(text, "0123456789.eE+-")] || text[0] == '-' || text[0] == '+')
        return false; /* rejects "nan", "inf", "0x10", " 1", "-1" */
    char *end = NULL;
    double seconds = g_ascii_strtod(text, &end);
    if (end == text || *end || !(seconds > 0 && seconds <= MAX_SECONDS))
        return false;
    *out_ms = MAX(1, (gint64)(seconds * 1000 + 0.5));
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
