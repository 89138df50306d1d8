/*
 * The check of a foreign JSON text before the parser sees it. The parser behind json.c takes things
 * that are no JSON (leading zeros, raw control characters, words behind the value), cuts strings at
 * \u0000, refuses lone surrogates and numbers of more than 63 characters. So the text is walked
 * once here by the grammar of RFC 8259; what is valid but would be misread is replaced, in a copy
 * that is only made when there is such a place.
 */
#include "base/base_private.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define NUMBER_MAX_CHARS 60 /* the parser behind reads at most 63 */

typedef struct {
    const char *text;
    gsize len, pos;
    GString *repaired; /* NULL until something is replaced */
    guint values;      /* seen so far */
    gsize copied;      /* bytes of `text` that `repaired` already stands for */
    GError **error;
} Scan;

static bool fail_at(Scan *scan, gsize pos, const char *what)
{
    g_set_error(scan->error, ACR_BASE_ERROR, ACR_BASE_ERROR_MALFORMED,
                "malformed JSON at byte %" G_GSIZE_FORMAT ": %s", pos, what);
    return false;
}

/* The byte at the read position; 0 at the end, which no valid text holds. */
static char peek(const Scan *scan)
{
    return scan->pos < scan->len ? scan->text[scan->pos] : '\0';
}

static void skip_space(Scan *scan)
{
    while (scan->pos < scan->len && strchr(" \t\r\n", scan->text[scan->pos]))
        scan->pos++;
}

/* Lets `with` stand for text[from, pos). */
static void replace(Scan *scan, gsize from, const char *with)
{
    if (!scan->repaired)
        scan->repaired = g_string_sized_new(scan->len + 32);
    g_string_append_len(scan->repaired, scan->text + scan->copied, from - scan->copied);
    g_string_append(scan->repaired, with);
    scan->copied = scan->pos;
}

/* Reads the four digits of \uXXXX; -1 if they are not there. */
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

/* Behind "\u": the digits, of both halves of a pair. */
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
    return fail_at(scan, start, "string without end");
}

/* At least one digit. */
static bool scan_digits(Scan *scan)
{
    gsize start = scan->pos;
    while (g_ascii_isdigit(peek(scan)))
        scan->pos++;
    return scan->pos > start;
}

/* A number the parser behind would not read, or would read as infinite, is written anew. */
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
            return fail_at(scan, start, "number without digits behind its point");
    }
    if (peek(scan) == 'e' || peek(scan) == 'E') {
        exponent = true;
        scan->pos++;
        if (peek(scan) == '+' || peek(scan) == '-')
            scan->pos++;
        if (!scan_digits(scan))
            return fail_at(scan, start, "number without digits in its exponent");
    }
    if (exponent || scan->pos - start > NUMBER_MAX_CHARS)
        repair_number(scan, start);
    return true;
}

static bool scan_word(Scan *scan, const char *word)
{
    gsize len = strlen(word);
    if (scan->len - scan->pos < len || memcmp(scan->text + scan->pos, word, len) != 0)
        return fail_at(scan, scan->pos, "no value");
    scan->pos += len;
    return true;
}

static bool scan_value(Scan *scan, guint depth);

static bool scan_key(Scan *scan)
{
    skip_space(scan);
    if (peek(scan) != '"')
        return fail_at(scan, scan->pos, "expected a member's name");
    if (!scan_string(scan))
        return false;
    skip_space(scan);
    if (peek(scan) != ':')
        return fail_at(scan, scan->pos, "expected ':'");
    scan->pos++;
    return true;
}

/* An array or an object, from its bracket on. */
static bool scan_container(Scan *scan, guint depth)
{
    if (depth > ACR_JSON_MAX_DEPTH) {
        g_set_error(scan->error, ACR_BASE_ERROR, ACR_BASE_ERROR_TOO_BIG,
                    "JSON nested deeper than %d at byte %" G_GSIZE_FORMAT, ACR_JSON_MAX_DEPTH,
                    scan->pos);
        return false;
    }
    bool object = peek(scan) == '{';
    char close = object ? '}' : ']';
    scan->pos++;
    skip_space(scan);
    if (peek(scan) == close) {
        scan->pos++;
        return true;
    }
    for (;;) {
        if (object && !scan_key(scan))
            return false;
        if (!scan_value(scan, depth))
            return false;
        skip_space(scan);
        char c = peek(scan);
        if (c != close && c != ',')
            return fail_at(scan, scan->pos, object ? "expected ',' or '}'" : "expected ',' or ']'");
        scan->pos++;
        if (c == close)
            return true;
    }
}

static bool scan_value(Scan *scan, guint depth)
{
    if (++scan->values > ACR_JSON_MAX_VALUES) {
        g_set_error(scan->error, ACR_BASE_ERROR, ACR_BASE_ERROR_TOO_BIG,
                    "JSON of more than %d values", ACR_JSON_MAX_VALUES);
        return false;
    }
    skip_space(scan);
    switch (peek(scan)) {
    case '{':
    case '[':
        return scan_container(scan, depth + 1);
    case '"':
        return scan_string(scan);
    case 't':
        return scan_word(scan, "true");
    case 'f':
        return scan_word(scan, "false");
    case 'n':
        return scan_word(scan, "null");
    default:
        if (scan->pos >= scan->len)
            return fail_at(scan, scan->pos, "the text ends here");
        return scan_number(scan);
    }
}

static bool scan_document(Scan *scan)
{
    const char *end = NULL;
    if (!g_utf8_validate_len(scan->text, scan->len, &end))
        return fail_at(scan, end - scan->text, *end ? "not UTF-8" : "NUL byte");
    if (scan->len >= 3 && memcmp(scan->text, "\xEF\xBB\xBF", 3) == 0)
        scan->pos = 3;
    if (!scan_value(scan, 0))
        return false;
    skip_space(scan);
    if (scan->pos < scan->len)
        return fail_at(scan, scan->pos, "something follows the value");
    return true;
}

bool acr_json_text_check(const char *text, gsize len, GString **out_repaired, GError **error)
{
    Scan scan = {.text = text, .len = len, .error = error};
    if (!scan_document(&scan)) {
        if (scan.repaired)
            g_string_free(scan.repaired, TRUE);
        return false;
    }
    if (scan.repaired)
        g_string_append_len(scan.repaired, text + scan.copied, len - scan.copied);
    *out_repaired = scan.repaired;
    return true;
}
