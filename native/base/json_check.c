/* Checks a JSON text from outside before cJSON reads it. cJSON checks the structure. This file
 * finds texts that cJSON would misread or accept wrongly: \u0000 (cJSON ends the string at this
 * escape), lone surrogates, bytes that are not UTF-8, control characters, invalid numbers, numbers
 * of more than 63 characters, and texts above our limits. Valid text that cJSON would misread is
 * replaced in a copy. */
#include "base/base_private.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define NUMBER_MAX_CHARS 60 /* maximum length of a number; cJSON reads at most 63 characters */

typedef struct {
    const char *text;
    gsize len, pos;
    GString *repaired; /* NULL until something is replaced */
    /* upper bound of the number of values: the number of commas and brackets plus one */
    guint values;
    guint depth;  /* current nesting of brackets */
    gsize copied; /* number of bytes of `text` that are already copied to `repaired` */
    GError **error;
} Scan;

static bool fail_at(Scan *scan, gsize pos, const char *what)
{
    return acr_set_error(scan->error, ACR_BASE_ERROR, ACR_BASE_ERROR_MALFORMED,
                         "malformed JSON at byte %" G_GSIZE_FORMAT ": %s", pos, what);
}

/* Returns the byte at the read position; 0 at the end (no valid text contains a 0). */
static char peek(const Scan *scan)
{
    return scan->pos < scan->len ? scan->text[scan->pos] : '\0';
}

static void replace(Scan *scan, gsize from, const char *with)
{
    if (!scan->repaired)
        scan->repaired = g_string_sized_new(scan->len + 32);
    g_string_append_len(scan->repaired, scan->text + scan->copied, from - scan->copied);
    g_string_append(scan->repaired, with);
    scan->copied = scan->pos;
}

static int read_hex4(Scan *scan, gsize pos)
{
    if (pos + 4 > scan->len)
        return -1;
    int value = 0;
    for (gsize i = pos; i < pos + 4; i++) {
        int digit = g_ascii_xdigit_value(scan->text[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* Reads the digits after "\u", and the second half of a surrogate pair if there is one. */
static bool scan_unicode_escape(Scan *scan)
{
    gsize start = scan->pos - 2;
    int unit = read_hex4(scan, scan->pos);
    if (unit < 0)
        return fail_at(scan, start, "\\u needs four hexadecimal digits");
    scan->pos += 4;
    if (unit >= 0xD800 && unit < 0xDC00 && scan->pos + 6 <= scan->len &&
        scan->text[scan->pos] == '\\' && scan->text[scan->pos + 1] == 'u') {
        int low = read_hex4(scan, scan->pos + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            scan->pos += 6;
            return true;
        }
    }
    if (unit == 0 || (unit >= 0xD800 && unit < 0xE000))
        replace(scan, start, "\\ufffd");
    return true;
}

static bool scan_string(Scan *scan)
{
    gsize start = scan->pos++;
    while (scan->pos < scan->len) {
        unsigned char c = (unsigned char)scan->text[scan->pos++];
        if (c == '"')
            return true;
        if (c < 0x20)
            return fail_at(scan, scan->pos - 1, "control character in a string");
        if (c != '\\')
            continue;
        char escape = peek(scan);
        if (escape == '\0' || !strchr("\"\\/bfnrtu", escape))
            return fail_at(scan, scan->pos - 1, "unknown escape");
        scan->pos++;
        if (escape == 'u' && !scan_unicode_escape(scan))
            return false;
    }
    return fail_at(scan, start, "unterminated string");
}

static bool scan_digits(Scan *scan)
{
    gsize start = scan->pos;
    while (g_ascii_isdigit(peek(scan)))
        scan->pos++;
    return scan->pos > start;
}

/* Rewrites a number that cJSON could not read, or would read as infinite. */
static void repair_number(Scan *scan, gsize start)
{
    g_autofree char *digits = g_strndup(scan->text + start, scan->pos - start);
    double value = g_ascii_strtod(digits, NULL);
    bool finite = isfinite(value);
    if (finite && scan->pos - start <= NUMBER_MAX_CHARS)
        return;
    if (!finite)
        value = value > 0 ? DBL_MAX : -DBL_MAX;
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];
    replace(scan, start, g_ascii_formatd(buffer, sizeof buffer, "%.17g", value));
}

static bool scan_number(Scan *scan)
{
    gsize start = scan->pos;
    bool exponent = false;
    if (peek(scan) == '-')
        scan->pos++;
    if (peek(scan) == '0')
        scan->pos++;
    else if (!scan_digits(scan))
        return fail_at(scan, start, "no value");
    if (peek(scan) == '.') {
        scan->pos++;
        if (!scan_digits(scan))
            return fail_at(scan, start, "number without digits after its point");
    }
    if (peek(scan) == 'e' || peek(scan) == 'E') {
        exponent = true;
        scan->pos++;
        if (peek(scan) == '+' || peek(scan) == '-')
            scan->pos++;
        if (!scan_digits(scan))
            return fail_at(scan, start, "number without digits in its exponent");
    }
    if (g_ascii_isdigit(peek(scan)))
        return fail_at(scan, scan->pos, "a digit after a number that begins with 0");
    if (exponent || scan->pos - start > NUMBER_MAX_CHARS)
        repair_number(scan, start);
    return true;
}

static bool too_big(Scan *scan, const char *what, int limit)
{
    return acr_set_error(scan->error, ACR_BASE_ERROR, ACR_BASE_ERROR_TOO_BIG,
                         "the JSON text %s %d at byte %" G_GSIZE_FORMAT, what, limit, scan->pos);
}

/* Rejects what is no JSON here, because an unclosed bracket would hide where the text goes wrong. */
static bool scan_word(Scan *scan)
{
    const char *at = scan->text + scan->pos, *end = scan->text + scan->len;
    gsize n = *at == 'f' ? 5 : 4;
    if ((gsize)(end - at) < n ||
        (strncmp(at, "true", 4) && strncmp(at, "false", 5) && strncmp(at, "null", 4)))
        return fail_at(scan, scan->pos, "unexpected character");
    scan->pos += n;
    return true;
}

static bool scan_mark(Scan *scan, char c)
{
    bool opens = c == '{' || c == '[';
    if (opens && ++scan->depth > ACR_JSON_MAX_DEPTH)
        return too_big(scan, "is nested deeper than", ACR_JSON_MAX_DEPTH);
    if ((opens || c == ',') && ++scan->values > ACR_JSON_MAX_VALUES)
        return too_big(scan, "has more values than", ACR_JSON_MAX_VALUES);
    if ((c == '}' || c == ']') && scan->depth > 0)
        scan->depth--;
    if ((guchar)c < 0x20 && !strchr("\t\r\n", c))
        return fail_at(scan, scan->pos, "control character");
    if (!strchr("{}[],: \t\r\n", c))
        return scan_word(scan);
    scan->pos++;
    return true;
}

static bool scan_text(Scan *scan)
{
    const char *end = NULL;
    if (!g_utf8_validate_len(scan->text, scan->len, &end))
        return fail_at(scan, end - scan->text, *end ? "not UTF-8" : "NUL byte");
    scan->pos = acr_utf8_mark_len(scan->text, scan->len); /* which cJSON skips, too */
    while (scan->pos < scan->len) {
        char c = peek(scan);
        bool ok = c == '"'                         ? scan_string(scan)
                  : c == '-' || g_ascii_isdigit(c) ? scan_number(scan)
                                                   : scan_mark(scan, c);
        if (!ok)
            return false;
    }
    return scan->depth == 0 || fail_at(scan, scan->pos, "the text ends in the middle of a value");
}

bool acr_json_check(const char *text, gsize len, GString **out_repaired, GError **error)
{
    Scan scan = {.text = text, .len = len, .values = 1, .error = error};
    if (!scan_text(&scan)) {
        if (scan.repaired)
            g_string_free(scan.repaired, TRUE);
        return false;
    }
    if (scan.repaired)
        g_string_append_len(scan.repaired, text + scan.copied, len - scan.copied);
    *out_repaired = scan.repaired;
    return true;
}
