/* Helpers for UTF-8 text: check it, repair it, find its lines, shorten it. All are linear and
 * accept any bytes. */
#include "base/base_private.h"

#include <string.h>

/* Returns the number of bytes at the start of `data` that are ASCII and not NUL; checks eight bytes
 * at a time. */
static gsize plain_words(const char *data, gsize len)
{
    const guint64 ones = G_GUINT64_CONSTANT(0x0101010101010101), high = ones << 7;
    gsize at = 0;
    for (guint64 word; at + sizeof word <= len; at += sizeof word) {
        memcpy(&word, data + at, sizeof word);
        if (((word - ones) | word) & high) /* one of the eight bytes is above 0x7F, or 0 */
            break;
    }
    return at;
}

bool acr_utf8_is_text(const void *data, gsize len)
{
    gsize plain = plain_words(data, len);
    return plain == len || g_utf8_validate_len((const char *)data + plain, len - plain, NULL);
}

char *acr_utf8_repair(const void *data, gsize len)
{
    return g_utf8_make_valid(len ? data : "", (gssize)len);
}

char *acr_utf8_repair_bytes(GBytes *bytes)
{
    gsize len;
    const void *data = g_bytes_get_data(bytes, &len);
    return acr_utf8_repair(data ? data : "", len);
}

char *acr_bytes_text(GBytes *bytes)
{
    gsize len = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    return g_strndup(data ? data : "", len);
}

char *acr_bytes_last_line(GBytes *bytes)
{
    g_autofree char *text = g_strchomp(acr_utf8_repair_bytes(bytes));
    const char *newline = strrchr(text, '\n');
    return g_strdup(newline ? newline + 1 : text);
}

GArray *acr_text_lines(const char *text, gsize len)
{
    GArray *starts = g_array_new(FALSE, FALSE, sizeof(gsize));
    gsize start = 0;
    g_array_append_val(starts, start);
    for (gsize i = 0; i < len; i++) {
        if (text[i] != '\n' && text[i] != '\r')
            continue;
        if (text[i] == '\r' && i + 1 < len && text[i + 1] == '\n')
            i++;
        start = i + 1;
        g_array_append_val(starts, start);
    }
    if (start != len)
        g_array_append_val(starts, len);
    return starts;
}

/* Whether the character changes the direction of text: a mark, embedding, override or isolate. */
static bool turns_direction(gunichar c)
{
    return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

char *acr_text_visible(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *out = g_string_sized_new(strlen(valid));
    for (const char *at = valid, *next; *at; at = next) {
        gunichar c = g_utf8_get_char(at);
        bool is_control = (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0);
        next = g_utf8_next_char(at);
        if (is_control || turns_direction(c))
            g_string_append_printf(out, "\\u%04x", c);
        else
            g_string_append_len(out, at, next - at);
    }
    return g_string_free(out, FALSE);
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* Returns the last start of a character at or before `off`. A character has at most three
 * continuation bytes. */
static gsize border_before(const char *text, gsize off)
{
    gsize at = off;
    for (int i = 0; i < 3 && at > 0 && is_continuation(text[at]); i++)
        at--;
    return is_continuation(text[at]) ? off : at;
}

static gsize border_after(const char *text, gsize off)
{
    for (int i = 0; i < 3 && is_continuation(text[off]); i++)
        off++;
    return off;
}

char *acr_text_shorten(const char *text, gsize max)
{
    gsize len = strlen(text);
    if (len <= max)
        return g_strdup(text);
    g_autofree char *widest =
        g_strdup_printf("\n[... %" G_GSIZE_FORMAT " bytes left out ...]\n", len);
    gsize marker = strlen(widest);
    if (max <= marker)
        return g_strndup(text, border_before(text, max));
    gsize keep = max - marker;
    gsize head = border_before(text, keep - keep / 2);
    gsize tail = border_after(text, len - keep / 2);
    GString *out = g_string_sized_new(max);
    g_string_append_len(out, text, head);
    g_string_append_printf(out, "\n[... %" G_GSIZE_FORMAT " bytes left out ...]\n", tail - head);
    g_string_append(out, text + tail);
    return g_string_free(out, FALSE);
}
