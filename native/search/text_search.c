/* Finds literal text in file contents: as written or, if the text is not found, with different
 * indentation and line ends.
 *
 * Line numbers are counted during a forward scan. Neighbouring matches in the same class and
 * function become one place. After ACR_SEARCH_MAX_PLACES places, matches are only counted. */
#include <string.h>

#include "search/reply_private.h"

static gsize count_lf(const char *at, gsize n)
{
    const guint64 low = G_GUINT64_CONSTANT(0x7f7f7f7f7f7f7f7f);
    const guint64 ones = G_GUINT64_CONSTANT(0x0101010101010101), ends = ones * '\n';
    gsize count = 0;
    for (guint64 word; n >= sizeof word; at += sizeof word, n -= sizeof word) {
        memcpy(&word, at, sizeof word);
        word ^= ends;
        /* now only the top bit of each LF byte is set */
        word = ~(((word & low) + low) | word) & ~low;
        count += (gsize)(((word >> 7) * ones) >> 56);
    }
    for (; n; at++, n--)
        count += *at == '\n';
    return count;
}

/* Counts all kinds of line ends in `n` bytes from `from` on. May read one byte after them. */
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

gsize acr_text_column(const AcrContent *content, gsize off)
{
    const char *text = content->text.text;
    gsize start = off;
    while (start && text[start - 1] != '\n' && text[start - 1] != '\r')
        start--;
    return off - start + 1;
}

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

/* Returns the last hit of the reply if `hit` can be merged into it; otherwise NULL. */
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

/* Counts a match in a file without adding a place. Used when the answer has ACR_SEARCH_MAX_PLACES
 * places. */
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

/* Adds a hit at line `first`. `hit_end` is the last line of its context. */
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
    if (reply->hits->len >= ACR_SEARCH_MAX_PLACES && !reply->search->mode.lines) {
        add_count(reply, entry);
        return true;
    }
    acr_reply_add_line(reply, entry, first, 1);
    guint32 end = MIN(last + ACR_SEARCH_CONTEXT_LINES, acr_content_n_lines(content));
    return add_hit(reply, entry, first, end);
}

bool acr_text_add_match(AcrReply *reply, gsize entry, const AcrContent *content,
                        AcrLineCursor *cursor, gsize off, gsize len)
{
    if (reply->hits->len >= ACR_SEARCH_MAX_PLACES && !reply->search->mode.lines) {
        add_count(reply, entry);
        return true;
    }
    const char *text = content->text.text, *end = text + content->text.len;
    acr_line_cursor_move(cursor, content, off);
    acr_reply_add_line(reply, entry, cursor->line, acr_text_column(content, off));
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

/* Adds a hit for each line in which a match begins; matches do not overlap. */
void acr_text_find(AcrReply *reply, gsize entry, AcrContent *content, const AcrNeedle *needle)
{
    gsize len = acr_needle_len(needle);
    const char *hay = content->text.text, *end = hay + content->text.len;
    AcrLineCursor cursor = {.line = 1};
    for (const char *at = hay; len && at < end;) {
        at = acr_needle_find(needle, at, end);
        if (!at || !acr_text_add_match(reply, entry, content, &cursor, (gsize)(at - hay), len))
            return;
        at = MAX(at + len, acr_text_next_line(content, at, end));
    }
}

static bool is_blank_text(char c)
{
    return c != '\n' && g_ascii_isspace(c);
}

/* Returns the text with LF line ends and without blanks at both ends of each line; owned. */
static GString *plain_text(const char *text, gsize len)
{
    GString *out = g_string_sized_new(len);
    const char *end = text + len;
    for (const char *at = text; at < end;) {
        while (at < end && is_blank_text(*at) && *at != '\r')
            at++;
        const char *stop = at;
        while (stop < end && *stop != '\n' && *stop != '\r')
            stop++;
        const char *next =
            stop < end && *stop == '\r' && stop + 1 < end && stop[1] == '\n' ? stop + 2 : stop + 1;
        for (const char *last = stop; last > at; last--) {
            if (is_blank_text(last[-1]))
                continue;
            g_string_append_len(out, at, last - at);
            break;
        }
        if (stop < end)
            g_string_append_c(out, '\n');
        at = next;
    }
    return out;
}

static char *longest_line(const char *text)
{
    const char *best = text;
    gsize best_len = 0;
    for (const char *at = text; *at; at += strspn(at, "\n")) {
        gsize len = strcspn(at, "\n");
        if (len > best_len) {
            best = at;
            best_len = len;
        }
        at += len;
    }
    return g_strndup(best, best_len);
}

bool acr_loose_text_init(AcrLooseText *loose, const char *text)
{
    GString *plain = plain_text(text, strlen(text));
    while (plain->len && plain->str[plain->len - 1] == '\n')
        g_string_truncate(plain, plain->len - 1);
    g_string_erase(plain, 0, (gssize)strspn(plain->str, "\n"));
    loose->plain = g_string_free(plain, FALSE);
    loose->anchor = longest_line(loose->plain);
    loose->n_lines = 1 + (guint32)count_lf(loose->plain, strlen(loose->plain));
    return *loose->anchor && strcmp(loose->anchor, text) != 0;
}

void acr_loose_text_clear(AcrLooseText *loose)
{
    g_clear_pointer(&loose->plain, g_free);
    g_clear_pointer(&loose->anchor, g_free);
}

/* Searches in a copy of the file's text without blanks at the ends of lines, so that the scan is
 * linear. */
void acr_text_find_loose(AcrReply *reply, gsize entry, AcrContent *content,
                         const AcrLooseText *loose)
{
    const AcrText *text = &content->text;
    if (!memmem(text->text, text->len, loose->anchor, strlen(loose->anchor)))
        return;
    GString *plain = plain_text(text->text, text->len);
    const char *counted = plain->str, *end = plain->str + plain->len;
    gsize len = strlen(loose->plain);
    guint32 line = 1;
    for (const char *at = plain->str; at < end;) {
        at = memmem(at, (gsize)(end - at), loose->plain, len);
        if (!at)
            break;
        line += (guint32)count_lf(counted, (gsize)(at - counted));
        counted = at;
        guint32 last = MIN(line + loose->n_lines - 1, acr_content_n_lines(content));
        const char *lf = memchr(at + len - 1, '\n', (gsize)(end - at - len) + 1);
        if (!acr_text_add_lines(reply, entry, content, line, last) || !lf)
            break;
        at = lf + 1;
    }
    g_string_free(plain, TRUE);
}
