/*
 * Literal text in file contents: as written; where that is nowhere, with other blanks at line ends;
 * where that is nowhere either, with other indentation. A loose match is a literal one of the text
 * without those blanks in the file's text without them, so all steps are linear.
 *
 * Line numbers are counted while a scan goes forward. Neighbouring matches in the same class and
 * function become one place; past ACR_SEARCH_MAX_PLACES places matches are only counted.
 */
#include <string.h>

#include "search/search_private.h"

#define ANCHORS_TRIED 256u /* in a file, before it is taken for one that may hold the text */

/* ---- Lines --------------------------------------------------------------------------------------
 */

/* How many of `n` bytes are LF. */
static gsize count_lf(const char *at, gsize n)
{
    const guint64 low = G_GUINT64_CONSTANT(0x7f7f7f7f7f7f7f7f);
    const guint64 ones = G_GUINT64_CONSTANT(0x0101010101010101), ends = ones * '\n';
    gsize count = 0;
    for (guint64 word; n >= sizeof word; at += sizeof word, n -= sizeof word) {
        memcpy(&word, at, sizeof word);
        word ^= ends;
        word = ~(((word & low) + low) | word) & ~low; /* the top bit of each byte that was LF */
        count += (gsize)(((word >> 7) * ones) >> 56);
    }
    for (; n; at++, n--)
        count += *at == '\n';
    return count;
}

/* The same for line ends of all kinds; bytes after the `n` may be looked at. */
static gsize count_line_ends(const AcrContent *content, gsize from, gsize n)
{
    const char *text = content->text.text;
    gsize count = count_lf(text + from, n);
    if (!content->has_cr)
        return count;
    for (gsize i = from; i < from + n; i++)
        count += text[i] == '\r' && !(i + 1 < content->text.len && text[i + 1] == '\n');
    return count;
}

void acr_line_cursor_move(AcrLineCursor *cursor, const AcrContent *content, gsize off)
{
    g_assert(off >= cursor->off);
    cursor->line += (guint32)count_line_ends(content, cursor->off, off - cursor->off);
    cursor->off = off;
}

const char *acr_text_next_line(const AcrContent *content, const char *at, const char *end)
{
    if (!content->has_cr) {
        const char *lf = memchr(at, '\n', (gsize)(end - at));
        return lf ? lf + 1 : end;
    }
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    if (at < end && *at == '\r' && at + 1 < end && at[1] == '\n')
        at++;
    return at < end ? at + 1 : end;
}

/* ---- Places -------------------------------------------------------------------------------------
 */

void acr_hit_set_names(const AcrReply *reply, AcrHit *hit, guint32 line)
{
    const AcrIndex *index = reply->search->index;
    gint32 file = reply->search->file_of_entry[hit->entry], klass = -1, func = -1;
    if (file < 0)
        return;
    acr_index_enclosing(index, (gsize)file, line, &klass, &func);
    hit->klass = klass >= 0 ? acr_index_class_of(index, (guint32)klass) : NULL;
    hit->func = func >= 0 ? acr_index_func_of(index, (guint32)func) : NULL;
}

/* The last hit of the reply when a match at first..last belongs to it. */
static AcrHit *mergeable(const AcrReply *reply, const AcrHit *hit)
{
    if (reply->hits->len == 0)
        return NULL;
    AcrHit *last = &g_array_index(reply->hits, AcrHit, reply->hits->len - 1);
    bool near_it = last->entry == hit->entry && hit->start <= last->end + 1 &&
                   hit->start >= last->start && hit->end - last->start < ACR_SEARCH_MAX_BLOCK;
    bool same = last->view == ACR_VIEW_WHOLE && last->symbol < 0 &&
                g_strcmp0(last->klass, hit->klass) == 0 && g_strcmp0(last->func, hit->func) == 0;
    return near_it && same ? last : NULL;
}

/* Counts a match in a file beyond the places that an answer can list. */
static void add_count(AcrReply *reply, gsize entry)
{
    AcrHit *last = &g_array_index(reply->hits, AcrHit, reply->hits->len - 1);
    if (last->entry == entry && last->start == ACR_HIT_COUNT_ONLY) {
        last->count++;
        return;
    }
    AcrHit hit = {.entry = entry, .symbol = -1, .count = 1, .start = ACR_HIT_COUNT_ONLY};
    acr_reply_add(reply, &hit);
}

/* `hit_end` is the last line of the context. */
static bool add_hit(AcrReply *reply, gsize entry, guint32 first, guint32 hit_end)
{
    AcrHit hit = {.entry = entry, .symbol = -1, .count = 1, .view = ACR_VIEW_WHOLE};
    acr_hit_set_names(reply, &hit, first);
    hit.start = first > ACR_SEARCH_CONTEXT_LINES ? first - ACR_SEARCH_CONTEXT_LINES : 1;
    hit.end = hit_end;
    AcrHit *before = mergeable(reply, &hit);
    if (!before)
        return acr_reply_add(reply, &hit);
    before->end = MAX(before->end, hit.end);
    before->count++;
    return true;
}

bool acr_text_add_lines(AcrReply *reply, gsize entry, AcrContent *content, guint32 first,
                        guint32 last)
{
    if (reply->hits->len >= ACR_SEARCH_MAX_PLACES) {
        add_count(reply, entry);
        return true;
    }
    guint32 end = MIN(last + ACR_SEARCH_CONTEXT_LINES, acr_content_n_lines(content));
    return add_hit(reply, entry, first, end);
}

bool acr_text_add_match(AcrReply *reply, gsize entry, const AcrContent *content,
                        AcrLineCursor *cursor, gsize off, gsize len)
{
    if (reply->hits->len >= ACR_SEARCH_MAX_PLACES) {
        add_count(reply, entry);
        return true;
    }
    const char *text = content->text.text, *end = text + content->text.len;
    acr_line_cursor_move(cursor, content, off);
    AcrLineCursor last = *cursor;
    acr_line_cursor_move(&last, content, off + len - 1);
    const char *next = text + last.off;
    for (guint i = 0; i < ACR_SEARCH_CONTEXT_LINES; i++) {
        next = acr_text_next_line(content, next, end);
        if (next == end)
            break;
        last.line++;
    }
    return add_hit(reply, entry, cursor->line, last.line);
}

/* ---- As written ---------------------------------------------------------------------------------
 */

/* One match per line in which one begins, none inside another. */
void acr_text_find(AcrReply *reply, gsize entry, AcrContent *content, const char *text)
{
    gsize len = strlen(text);
    const char *hay = content->text.text, *end = hay + content->text.len;
    AcrLineCursor cursor = {.line = 1};
    for (const char *at = hay; len && at < end;) {
        at = memmem(at, (gsize)(end - at), text, len);
        if (!at || !acr_text_add_match(reply, entry, content, &cursor, (gsize)(at - hay), len))
            return;
        at = MAX(at + len, acr_text_next_line(content, at, end));
    }
}

/* ---- Loosely ------------------------------------------------------------------------------------
 */

static bool is_blank(char c)
{
    return c != '\n' && g_ascii_isspace(c);
}

/* Appends [at, end), a line without its end, without the blanks that do not count. */
static void append_line(GString *out, const char *at, const char *end, bool bare)
{
    while (end > at && is_blank(end[-1]))
        end--;
    while (bare && at < end && is_blank(*at))
        at++;
    gsize len = (gsize)(end - at);
    if (out->len + len + 2 > out->allocated_len) {
        g_string_append_len(out, at, (gssize)len);
    } else {
        memcpy(out->str + out->len, at, len);
        out->len += len;
    }
}

/* Appends `text` to `out` with LF as line ends, without blanks at line ends and, for `bare`,
 * without indentation. `out` has no NUL at its end then. */
static void append_plain(GString *out, const char *text, gsize len, bool has_cr, bool bare)
{
    const char *end = text + len;
    for (const char *at = text; at < end;) {
        const char *stop = memchr(at, '\n', (gsize)(end - at));
        stop = stop ? stop : end;
        const char *cr = has_cr ? memchr(at, '\r', (gsize)(stop - at)) : NULL;
        append_line(out, at, cr ? cr : stop, bare);
        if (cr || stop < end)
            g_string_append_c(out, '\n');
        at = cr && cr + 1 != stop ? cr + 1 : MIN(stop + 1, end);
    }
}

/* The text without those blanks, and without empty lines before and after it; owned. */
static char *plain_text(const char *text, bool bare)
{
    g_autoptr(GString) out = g_string_new(NULL);
    append_plain(out, text, strlen(text), strchr(text, '\r') != NULL, bare);
    gsize len = out->len;
    while (len && out->str[len - 1] == '\n')
        len--;
    g_string_truncate(out, len);
    return g_strdup(out->str + strspn(out->str, "\n"));
}

/* Where the longest line begins. */
static gsize longest_line(const char *text, gsize *out_len)
{
    gsize best = 0;
    *out_len = 0;
    for (gsize at = 0; text[at];) {
        gsize len = strcspn(text + at, "\n");
        if (len > *out_len) {
            best = at;
            *out_len = len;
        }
        at += len + (text[at + len] == '\n');
    }
    return best;
}

bool acr_loose_text_init(AcrLooseText *loose, const char *text)
{
    *loose = (AcrLooseText){.ends = plain_text(text, false), .bare = plain_text(text, true)};
    gsize len, off = longest_line(loose->bare, &len);
    loose->anchor = g_strndup(loose->bare + off, len);
    loose->next = loose->bare[off + len] ? loose->bare + off + len + 1 : NULL;
    loose->next_len = loose->next ? strcspn(loose->next, "\n") : 0;
    loose->n_lines = 1 + (guint32)count_lf(loose->bare, strlen(loose->bare));
    loose->plain_buf = g_string_new(NULL);
    return *loose->anchor && strcmp(loose->anchor, text) != 0;
}

void acr_loose_text_clear(AcrLooseText *loose)
{
    g_clear_pointer(&loose->ends, g_free);
    g_clear_pointer(&loose->bare, g_free);
    g_clear_pointer(&loose->anchor, g_free);
    if (loose->plain_buf)
        g_string_free(loose->plain_buf, TRUE);
    loose->plain_buf = NULL;
}

/* Whether the text goes on at `at`, just behind its anchor, with its next line. */
static bool goes_on(const AcrLooseText *loose, const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    if (at == end || *at != '\n')
        return false;
    for (at++; at < end && is_blank(*at);)
        at++;
    return (gsize)(end - at) >= loose->next_len && memcmp(at, loose->next, loose->next_len) == 0;
}

bool acr_loose_text_may_be_in(const AcrLooseText *loose, const AcrContent *content)
{
    const char *at = content->text.text, *end = at + content->text.len;
    gsize len = strlen(loose->anchor);
    for (guint i = 0; (at = memmem(at, (gsize)(end - at), loose->anchor, len)); i++, at++) {
        if (i == ANCHORS_TRIED || content->has_cr || !loose->next || goes_on(loose, at + len, end))
            return true;
    }
    return false;
}

/* The next match of `want` in the plain text, from `from` on; -1 when there is none. */
static gssize next_plain(const GString *plain, const char *want, gsize from)
{
    const char *at = memmem(plain->str + from, plain->len - from, want, strlen(want));
    return at ? at - plain->str : -1;
}

/* Adds the matches of one step in the file whose plain text it is; `first` is the first of them. */
static void add_plain(AcrReply *reply, gsize entry, AcrContent *content, const AcrLooseText *loose,
                      const char *want, gssize first)
{
    const GString *plain = loose->plain_buf;
    guint32 line = 1;
    gsize counted = 0;
    for (gssize at = first; at >= 0;) {
        line += (guint32)count_lf(plain->str + counted, (gsize)at - counted);
        counted = (gsize)at;
        guint32 last = MIN(line + loose->n_lines - 1, acr_content_n_lines(content));
        const char *lf = memchr(plain->str + at, '\n', plain->len - (gsize)at);
        if (!acr_text_add_lines(reply, entry, content, line, last) || !lf)
            return;
        gsize next = (gsize)(lf + 1 - plain->str);
        at = next_plain(plain, want, MAX(next, (gsize)at + strlen(want)));
    }
}

static gssize make_plain(AcrLooseText *loose, const AcrContent *content, AcrTextStep step)
{
    bool bare = step == ACR_TEXT_INDENT;
    g_string_truncate(loose->plain_buf, 0);
    append_plain(loose->plain_buf, content->text.text, content->text.len, content->has_cr, bare);
    return next_plain(loose->plain_buf, bare ? loose->bare : loose->ends, 0);
}

void acr_text_find_loose(AcrReply *reply, gsize entry, AcrContent *content, AcrLooseText *loose)
{
    gssize bare = make_plain(loose, content, ACR_TEXT_INDENT);
    gssize ends = bare >= 0 ? make_plain(loose, content, ACR_TEXT_LINE_ENDS) : -1;
    if (ends >= 0) {
        if (loose->found != ACR_TEXT_LINE_ENDS)
            g_array_set_size(reply->hits, 0);
        loose->found = ACR_TEXT_LINE_ENDS;
        add_plain(reply, entry, content, loose, loose->ends, ends);
    } else if (bare >= 0 && loose->found != ACR_TEXT_LINE_ENDS) {
        loose->found = ACR_TEXT_INDENT;
        bare = make_plain(loose, content, ACR_TEXT_INDENT);
        add_plain(reply, entry, content, loose, loose->bare, bare);
    }
}
