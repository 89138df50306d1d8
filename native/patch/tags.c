/*
 * The tags of an answer: one pass finds every <file>, <original>, <patched>, opening or closing,
 * in any case, with blanks or attributes in it.
 *
 * Two properties decide whether it is one: an opening tag is *structural* when nothing but blanks,
 * markup or another tag stands before it on its line; a closing tag is *clean* when nothing but
 * blanks, a fence or another tag follows it there. The tags' names inside quoted code have quotes
 * or words around them and fail both.
 */
#include <string.h>

#include "patch/parse_private.h"

#define MAX_TAG 256u /* bytes of one tag, attributes included */

static const struct {
    const char *name;
    AcrTagKind kind;
} tag_names[] = {
    {"file", ACR_TAG_FILE},   {"original", ACR_TAG_ORIGINAL}, {"patched", ACR_TAG_PATCHED},
    {"class", ACR_TAG_OTHER}, {"func", ACR_TAG_OTHER},        {"code", ACR_TAG_OTHER},
};

/* Nothing but blanks, list or heading marks, a fence, a label or another tag before it on its line.
 */
static bool is_structural(const char *s, gsize off)
{
    gsize at = off;
    while (at > 0 && acr_is_blank(s[at - 1]))
        at--;
    if (at == 0 || acr_is_eol(s[at - 1]) || s[at - 1] == '>' || s[at - 1] == ':')
        return true;
    if (at >= 3 && strncmp(s + at - 3, "```", 3) == 0)
        return true;
    while (at > 0 && strchr("*#-_ \t.0123456789", s[at - 1]))
        at--;
    return at == 0 || acr_is_eol(s[at - 1]);
}

static bool is_clean(const char *s, gsize end, gsize len)
{
    gsize at = acr_skip_blanks(s, end, len);
    if (at >= len || acr_is_eol(s[at]))
        return true;
    if (len - at >= 3 && strncmp(s + at, "```", 3) == 0)
        return true;
    if (s[at] != '<')
        return false;
    at++;
    if (at < len && s[at] == '/')
        at++;
    for (gsize i = 0; i < G_N_ELEMENTS(tag_names); i++)
        if (len - at > strlen(tag_names[i].name) &&
            g_ascii_strncasecmp(s + at, tag_names[i].name, strlen(tag_names[i].name)) == 0)
            return true;
    return false;
}

/* The value of path="…", name="…", file="…" or src="…" in [from, to). */
static AcrSpan file_attribute(const char *s, gsize from, gsize to)
{
    static const char *const names[] = {"path=", "name=", "file=", "src=", "filename="};
    for (gsize at = from; at < to; at++) {
        for (gsize i = 0; i < G_N_ELEMENTS(names) && acr_is_blank(s[at - 1]); i++) {
            gsize n = strlen(names[i]);
            if (to - at <= n + 1 || g_ascii_strncasecmp(s + at, names[i], n) != 0)
                continue;
            char quote = s[at + n];
            const char *end =
                strchr("\"'", quote) ? memchr(s + at + n + 1, quote, to - at - n - 1) : NULL;
            if (end)
                return (AcrSpan){at + n + 1, (gsize)(end - s) - at - n - 1};
        }
    }
    return (AcrSpan){0, 0};
}

/* Reads the tag that begins at s[off] == '<'. */
static bool read_tag(const char *s, gsize off, gsize len, AcrTag *out)
{
    gsize at = acr_skip_blanks(s, off + 1, len);
    bool closing = at < len && s[at] == '/';
    if (closing)
        at = acr_skip_blanks(s, at + 1, len);
    for (gsize i = 0; i < G_N_ELEMENTS(tag_names); i++) {
        gsize n = strlen(tag_names[i].name);
        if (len - at <= n || g_ascii_strncasecmp(s + at, tag_names[i].name, n) != 0)
            continue;
        gsize end = at + n;
        bool slash = !closing && s[end] == '/' && end + 1 < len && s[end + 1] == '>';
        if (s[end] != '>' && !acr_is_blank(s[end]) && !slash)
            return false;
        while (end < len && end - off < MAX_TAG && s[end] != '>' && s[end] != '<' &&
               !acr_is_eol(s[end]))
            end++;
        if (end >= len || s[end] != '>')
            return false;
        *out = (AcrTag){.off = off, .end = end + 1, .kind = tag_names[i].kind, .closing = closing};
        out->empty = !closing && s[end - 1] == '/';
        if (out->kind == ACR_TAG_FILE && !closing)
            out->name = file_attribute(s, at + n, end);
        out->good = closing ? is_clean(s, end + 1, len) : is_structural(s, off);
        return true;
    }
    return false;
}

GArray *acr_tags_find(const char *s, gsize len)
{
    GArray *tags = g_array_new(FALSE, FALSE, sizeof(AcrTag));
    const char *at = s;
    while ((at = memchr(at, '<', len - (gsize)(at - s)))) {
        AcrTag tag;
        if (read_tag(s, (gsize)(at - s), len, &tag)) {
            g_array_append_val(tags, tag);
            at = s + tag.end;
        } else {
            at++;
        }
    }
    return tags;
}
