/*
 * Whole files: a fenced block under the name of a file, which is all of a new file. Named by <file>
 * or in words that say it is new, it is an edit; under a bare name it may be talk, and only the
 * repository can tell (see AcrEdit.makes). A block that holds another form of edit is none.
 */
#include <string.h>

#include "patch/parse_private.h"

#define MAX_HEADING 400u /* bytes of a sentence that announces a new file */

typedef struct {
    gsize body, end_line; /* the text: [body, end_line) */
    gsize end;            /* behind the closing fence */
    bool closed;
} Fenced;

/* Finds the closing fence; false when another form of edit is inside. */
static bool read_fenced(const AcrParse *parse, gsize off, Fenced *out)
{
    const char *s = parse->s;
    guint depth = 0;
    *out = (Fenced){.body = acr_next_line(s, off, parse->len)};
    for (gsize at = out->body; at < parse->len; at = acr_next_line(s, at, parse->len)) {
        gsize end = acr_line_end(s, at, parse->len), info = 0;
        if (at >= parse->tag || acr_is_search_mark(s + at, end - at))
            return false;
        if (!acr_is_fence(s + at, end - at, &info))
            continue;
        bool opens = info < end - at;
        if (!opens && depth == 0) {
            out->closed = true;
            out->end_line = at;
            out->end = acr_after_eol(s, end, parse->len);
            return true;
        }
        depth = opens ? depth + 1 : depth - 1;
    }
    out->end_line = out->end = parse->len;
    return parse->tag >= parse->len;
}

static bool has_word(const char *text, const char *word)
{
    gsize n = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || !g_ascii_isalpha(at[-1])) && !g_ascii_isalpha(at[n]))
            return true;
    return false;
}

/* The file that a sentence says to make: "Create a new file `a/b.py`:". Owned, or NULL. */
static char *announced(const char *s, gsize len)
{
    if (len > MAX_HEADING)
        return NULL;
    g_autofree char *lower = g_ascii_strdown(s, (gssize)len);
    if (!has_word(lower, "new") && !has_word(lower, "create") && !has_word(lower, "add"))
        return NULL;
    const char *from = memchr(s, '`', len);
    const char *to = from ? memchr(from + 1, '`', len - (gsize)(from - s) - 1) : NULL;
    if (!to || memchr(to + 1, '`', len - (gsize)(to - s) - 1))
        return NULL;
    bool file = has_word(lower, "file") || has_word(lower, "module") || has_word(lower, "script") ||
                memchr(from, '/', (gsize)(to - from));
    return file ? acr_path_in_line(from + 1, (gsize)(to - from) - 1) : NULL;
}

/* The name of the file that the fence at `off` is all of; owned, or NULL. */
static char *name_of(const AcrParse *parse, gsize off, const char *info, gsize info_len,
                     bool *out_sure)
{
    const char *above = parse->s + parse->above.off;
    gsize at = parse->named_at;
    while (at < off && (acr_is_blank(parse->s[at]) || acr_is_eol(parse->s[at])))
        at++;
    *out_sure = true;
    if (parse->file && parse->named_at > 0 && at == off)
        return g_strdup(parse->file);
    char *name = announced(above, parse->above.len);
    if (name)
        return name;
    *out_sure = false;
    name = acr_path_in_line(above, parse->above.len);
    return name ? name : acr_path_in_info(info, info_len);
}

gsize acr_whole_file_read(AcrParse *parse, gsize off)
{
    const char *s = parse->s;
    gsize info = 0, first = acr_skip_blanks(s, off, parse->len);
    Fenced fenced;
    bool sure = false;
    if (first >= parse->len || s[first] != '`')
        return off;
    gsize len = acr_line_end(s, off, parse->len) - off;
    if (!acr_is_fence(s + off, len, &info) || (parse->fence.len > 0 && info == len) ||
        acr_is_diff_fence(s + off + info, len - info))
        return off;
    g_autofree char *name = name_of(parse, off, s + off + info, len - info, &sure);
    if (!name || !read_fenced(parse, off, &fenced))
        return off;
    AcrParse inside = *parse;
    inside.fence = (AcrSpan){off, len};
    if (acr_diff_begins_at(&inside, fenced.body))
        return off;
    AcrEdit *edit = acr_parse_edit_new(ACR_EDIT_WHOLE_FILE, name, off, fenced.end);
    edit->original = g_strdup("");
    edit->patched = g_strndup(s + fenced.body, fenced.end_line - fenced.body);
    edit->makes = sure;
    if (!fenced.closed)
        acr_parse_complain(edit, "the fence around the file's text is not closed");
    acr_parse_push(parse, edit);
    return fenced.end;
}
