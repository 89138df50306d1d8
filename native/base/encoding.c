/* Converts the bytes of a source file to text and back, as Python does: by the byte order mark,
 * else by the PEP 263 cookie in the first two lines, else as UTF-8. iconv of the C library converts
 * encodings other than UTF-8 and latin-1. If the bytes do not fit the encoding that the cookie
 * names, UTF-8 is tried and then latin-1, which cannot fail. Therefore every file can be decoded.
 * The pattern of the cookie comes from PEP 263, "Defining the Encoding". */
#include "base/base_private.h"

#include <string.h>

#define BOM "\xEF\xBB\xBF"
#define BOM_LEN 3
#define UTF8 "utf-8"
#define LATIN1 "latin-1"
#define COOKIE_MAX 40 /* maximum length of an encoding's name; all real names are shorter */

/* Python's names of encodings that iconv lacks or interprets differently, with '-' in place of '_'.
 * Shift JIS maps to CP932, because iconv's SHIFT_JIS decodes two bytes to a yen sign and an
 * overline, where Python and CP932 have a backslash and a tilde. */
typedef struct {
    const char *python, *canonical, *iconv;
} Alias;
static const Alias aliases[] = {
    {"utf8", UTF8, UTF8},
    {"utf-8-sig", UTF8, UTF8},
    {"latin1", LATIN1, "ISO-8859-1"},
    {"latin-1", LATIN1, "ISO-8859-1"},
    {"iso-latin-1", LATIN1, "ISO-8859-1"},
    {"iso-8859-1", LATIN1, "ISO-8859-1"},
    {"iso8859-1", LATIN1, "ISO-8859-1"},
    {"windows-1252", "cp1252", "CP1252"},
    {"shift-jis", "shift-jis", "CP932"},
    {"sjis", "shift-jis", "CP932"},
    {"mac-roman", "mac-roman", "MACINTOSH"},
};

static const Alias *alias_of(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(aliases); i++)
        if (strcmp(aliases[i].python, name) == 0)
            return &aliases[i];
    return NULL;
}

/* Returns iconv's name for a canonical name; borrowed. */
static const char *iconv_name(const char *canonical)
{
    for (gsize i = 0; i < G_N_ELEMENTS(aliases); i++)
        if (strcmp(aliases[i].canonical, canonical) == 0)
            return aliases[i].iconv;
    return canonical;
}

static char *canonical_name(const char *name, gsize len)
{
    g_autofree char *lower = g_ascii_strdown(name, len);
    g_strdelimit(lower, "_", '-');
    const Alias *alias = alias_of(lower);
    return alias ? g_strdup(alias->canonical) : g_steal_pointer(&lower);
}

/* ---- The PEP 263 cookie ---- */

static bool is_name_char(char c)
{
    return g_ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
}

static const char *skip_blanks(const char *at, const char *end, const char *blanks)
{
    while (at < end && *at && strchr(blanks, *at))
        at++;
    return at;
}

/* Returns the encoding that the comment line [at, end) names, as an owned canonical name; NULL if
 * there is none. */
static char *cookie_in_line(const char *at, const char *end)
{
    at = skip_blanks(at, end, " \t\f");
    if (at == end || *at != '#')
        return NULL;
    while ((at = memmem(at, end - at, "coding", 6))) {
        at += 6;
        if (at == end || (*at != ':' && *at != '='))
            continue;
        const char *name = skip_blanks(at + 1, end, " \t"), *stop = name;
        while (stop < end && is_name_char(*stop))
            stop++;
        if (stop > name)
            return stop - name <= COOKIE_MAX ? canonical_name(name, stop - name) : NULL;
    }
    return NULL;
}

static const char *line_end(const char *at, const char *end)
{
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    return at;
}

/* Returns the encoding that the first line names or, if the first line is blank or a comment, the
 * second; owned, or NULL. */
static char *find_cookie(const char *text, gsize len)
{
    const char *end = text + len, *stop = line_end(text, end);
    char *name = cookie_in_line(text, stop);
    if (name)
        return name;
    const char *first = skip_blanks(text, stop, " \t\f");
    if (first < stop && *first != '#')
        return NULL;
    if (stop < end && *stop == '\r' && stop + 1 < end && stop[1] == '\n')
        stop++;
    if (stop >= end)
        return NULL;
    return cookie_in_line(stop + 1, line_end(stop + 1, end));
}

/* ---- Conversion ---- */

/* Decodes latin-1 without iconv, because latin-1 is the last resort and must not fail. */
static char *latin1_to_utf8(const char *data, gsize len, gsize *out_len)
{
    GString *out = g_string_sized_new(len + len / 8);
    for (gsize i = 0; i < len; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c < 0x80) {
            g_string_append_c(out, (char)c);
        } else {
            g_string_append_c(out, (char)(0xC0 | c >> 6));
            g_string_append_c(out, (char)(0x80 | (c & 0x3F)));
        }
    }
    *out_len = out->len;
    return g_string_free(out, FALSE);
}

/* Decodes the bytes by `encoding`; returns the text, owned, or NULL if the encoding is unknown,
 * does not fit the bytes, or is not a superset of ASCII (UTF-16, EBCDIC). The cookie itself was
 * read as ASCII. */
static char *decode_as(const char *encoding, const char *data, gsize len, gsize *out_len)
{
    if (strcmp(encoding, UTF8) == 0) {
        *out_len = len;
        return acr_utf8_is_text(data, len) ? g_strndup(data, len) : NULL;
    }
    if (strcmp(encoding, LATIN1) == 0)
        return latin1_to_utf8(data, len, out_len);
    g_autofree char *text = g_convert(data, len, UTF8, iconv_name(encoding), NULL, out_len, NULL);
    if (!text || !acr_utf8_is_text(text, *out_len))
        return NULL;
    g_autofree char *cookie = find_cookie(text, *out_len);
    if (!cookie || strcmp(cookie, encoding) != 0)
        return NULL;
    return g_steal_pointer(&text);
}

static char *encode_as(const char *encoding, const char *text, gsize len, gsize *out_len)
{
    if (strcmp(encoding, UTF8) == 0) {
        *out_len = len;
        return g_memdup2(text, len);
    }
    return g_convert(text, len, iconv_name(encoding), UTF8, NULL, out_len, NULL);
}

static bool encodes_back(const AcrText *text, const char *data, gsize len)
{
    if (strcmp(text->encoding, UTF8) == 0 || strcmp(text->encoding, LATIN1) == 0)
        return true;
    gsize back_len = 0;
    g_autofree char *back = encode_as(text->encoding, text->text, text->len, &back_len);
    return back_len == len && (len == 0 || (back && memcmp(back, data, len) == 0));
}

gsize acr_utf8_mark_len(const void *data, gsize len)
{
    return len >= BOM_LEN && memcmp(data, BOM, BOM_LEN) == 0 ? BOM_LEN : 0;
}

bool acr_text_is_plain(const void *data, gsize len)
{
    const char *bytes = len ? data : "";
    if (acr_utf8_mark_len(bytes, len) || !acr_utf8_is_text(bytes, len))
        return false;
    g_autofree char *cookie = find_cookie(bytes, len);
    return !cookie || strcmp(cookie, UTF8) == 0;
}

void acr_text_decode(const void *data, gsize len, AcrText *out)
{
    const char *bytes = len ? data : "";
    gsize mark = acr_utf8_mark_len(bytes, len);
    AcrText result = {.bom = mark > 0};
    bytes += mark;
    len -= mark;
    if (memchr(bytes, '\0', len)) {
        result.binary = true;
        result.encoding = g_strdup(UTF8);
        result.text = acr_utf8_repair(bytes, len);
        result.len = strlen(result.text);
        *out = result;
        return;
    }
    g_autofree char *cookie = result.bom ? NULL : find_cookie(bytes, len);
    const char *const tries[] = {cookie ? cookie : UTF8, UTF8, LATIN1};
    for (gsize i = 0; i < G_N_ELEMENTS(tries) && !result.text; i++) {
        result.text = decode_as(tries[i], bytes, len, &result.len);
        if (result.text)
            result.encoding = g_strdup(tries[i]);
    }
    result.exact = encodes_back(&result, bytes, len);
    *out = result;
}

void acr_text_clear(AcrText *text)
{
    if (!text)
        return;
    g_clear_pointer(&text->text, g_free);
    g_clear_pointer(&text->encoding, g_free);
    *text = (AcrText){0};
}

GBytes *acr_text_encode(const AcrText *like, const char *text, gsize len, GError **error)
{
    if (like->binary || !acr_utf8_is_text(text, len))
        return ACR_NULL(acr_set_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED,
                                      like->binary ? "a binary file has no text encoding"
                                                   : "the text to encode is not UTF-8"));
    gsize body_len = 0;
    g_autofree char *body = encode_as(like->encoding, text, len, &body_len);
    if (!body && len > 0)
        return ACR_NULL(acr_set_error(
            error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED,
            "the text has a character that encoding '%s' cannot represent", like->encoding));
    if (!like->bom)
        return g_bytes_new_take(g_steal_pointer(&body), body_len);
    GByteArray *bytes = g_byte_array_sized_new(body_len + BOM_LEN);
    g_byte_array_append(bytes, (const guint8 *)BOM, BOM_LEN);
    if (body_len > 0)
        g_byte_array_append(bytes, (const guint8 *)body, body_len);
    return g_byte_array_free_to_bytes(bytes);
}
