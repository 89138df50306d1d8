/* Prepares a quote for the search: splits it into lines, and removes elisions, copied line numbers,
 * and blank lines at its beginning and end. The same lines are removed from <patched>. */
#include <string.h>

#include "patch/match_private.h"

#define MAX_LOOKED_UP 64u /* maximum number of comments of a quote that are looked up in the file */

/* Whether the text contains one of the words, ignoring case. */
static bool has_any(const char *s, gsize len, const char *const *words)
{
    g_autofree char *lower = g_ascii_strdown(s, (gssize)len);
    for (; *words; words++)
        if (strstr(lower, *words))
            return true;
    return false;
}

static bool is_dots(const char *s, gsize len)
{
    return (len == 3 && (memcmp(s, "...", 3) == 0 || memcmp(s, "\xe2\x80\xa6", 3) == 0)) ||
           (len == 5 && (memcmp(s, "[...]", 5) == 0 || memcmp(s, "(...)", 5) == 0));
}

bool acr_line_is_elision(const AcrLine *line)
{
    static const char *const phrases[] = {
        "rest of ",        "existing code",  "unchanged",  "omitted",       "remains the same",
        "remain the same", "same as before", "other code", "previous code", NULL};
    /* Words that show that a comment with dots at its end stands for omitted code; other comments
     * with dots just trail off ("# wait for it ..."). */
    static const char *const left_out[] = {"existing", "rest",     "other",    "remain",    "same",
                                           "previous", "original", "code",     "content",   "body",
                                           "method",   "function", "class",    "import",    "logic",
                                           "more",     "keep",     "continue", "implement", NULL};
    const char *s = line->s + line->lead;
    gsize len = line->core;
    bool comment = len > 0 && *s == '#';
    if (len == 0 || len > 160 || line->literal)
        return false;
    while (len > 0 && (*s == '#' || acr_is_blank(*s))) {
        s++;
        len--;
    }
    if (is_dots(s, len))
        return true;
    if (!comment || len < 3)
        return false;
    bool begins = is_dots(s, 3), ends = is_dots(s + len - 3, 3);
    return begins || has_any(s, len, phrases) || (ends && has_any(s, len, left_out));
}

/* Marks comments that look like elisions but are lines of the file. */
static void mark_comments(const AcrLines *file, AcrLines *quote)
{
    guint looked_up = 0;
    for (gsize j = 0; j < quote->n && looked_up < MAX_LOOKED_UP; j++) {
        AcrLine *line = &quote->line[j];
        if (!acr_line_is_comment(line) || !acr_line_is_elision(line) || line->core <= 6)
            continue;
        looked_up++;
        for (gsize i = 0; i < file->n && !line->literal; i++)
            line->literal = acr_line_same_core(&file->line[i], line);
    }
}

gsize acr_elision_count(const AcrLines *lines)
{
    gsize n = 0;
    for (gsize i = 0; i < lines->n; i++)
        n += acr_line_is_elision(&lines->line[i]);
    return n;
}

static gsize blank_head(const AcrLines *lines)
{
    gsize n = 0;
    while (n < lines->n && acr_line_is_blank(&lines->line[n]))
        n++;
    return n;
}

static gsize blank_tail(const AcrLines *lines)
{
    gsize n = 0;
    while (n < lines->n && acr_line_is_blank(&lines->line[lines->n - 1 - n]))
        n++;
    return n;
}

static void keep_lines(AcrLines *lines, gsize from, gsize to)
{
    memmove(lines->line, lines->line + from, (to - from) * sizeof(AcrLine));
    lines->n = to - from;
}

/* Removes blank lines at the beginning and end of the quote, and as many from the replacement.
 * Returns false if the quote has no such lines. */
bool acr_quote_trim_blank(AcrMatch *match)
{
    AcrLines *o = &match->original, *p = &match->patched;
    gsize head = blank_head(o), tail = head < o->n ? blank_tail(o) : 0;
    if (head + tail == 0 || head == o->n)
        return false;
    keep_lines(o, head, o->n - tail);
    head = MIN(head, blank_head(p));
    tail = MIN(MIN(tail, blank_tail(p)), p->n - head);
    keep_lines(p, head, p->n - tail);
    return true;
}

/* Removes elisions at the same end of both parts, because these elisions only say that more code
 * precedes or follows. */
bool acr_quote_trim_elisions(AcrMatch *match)
{
    AcrLines *o = &match->original, *p = &match->patched;
    gsize before = o->n;
    while (o->n > 1 && p->n > 1 && acr_line_is_elision(&o->line[0]) &&
           acr_line_is_elision(&p->line[0])) {
        keep_lines(o, 1, o->n);
        keep_lines(p, 1, p->n);
    }
    while (o->n > 1 && p->n > 1 && acr_line_is_elision(&o->line[o->n - 1]) &&
           acr_line_is_elision(&p->line[p->n - 1])) {
        o->n--;
        p->n--;
    }
    bool any = o->n < before;
    if (any)
        acr_quote_trim_blank(match);
    return any;
}

void acr_quote_read(AcrMatch *match, const char *original, const char *patched)
{
    acr_lines_clear(&match->original);
    acr_lines_clear(&match->patched);
    acr_lines_of_quote(original, &match->original);
    acr_lines_of_quote(patched, &match->patched);
    if (match->file) {
        mark_comments(match->file, &match->original);
        mark_comments(match->file, &match->patched);
    }
}

static void place_clear(gpointer data)
{
    g_free(((AcrPlace *)data)->map);
}

void acr_match_init(AcrMatch *match)
{
    *match = (AcrMatch){.places = g_array_new(FALSE, FALSE, sizeof(AcrPlace)),
                        .store = g_ptr_array_new_with_free_func(g_free)};
    g_array_set_clear_func(match->places, place_clear);
}

void acr_match_add_place(AcrMatch *match, const AcrPlace *place)
{
    if (match->places->len == ACR_PATCH_MAX_PLACES) {
        match->many = true;
        g_free(place->map);
        return;
    }
    g_array_append_val(match->places, *place);
}

/* Returns the width of a file line's indentation, with a tab counted as `step` columns. */
static gssize file_width(const AcrLine *line, gsize step)
{
    gsize width = 0;
    for (gsize i = 0; i < line->lead; i++)
        width += line->s[i] == '\t' ? step : 1;
    return (gssize)width;
}

bool acr_place_is_shifted(const AcrLines *file, const AcrPlace *place, const AcrLines *quote)
{
    gsize step = acr_lines_step(quote);
    step = step > 0 ? step : ACR_DEFAULT_STEP;
    for (int tabs = 0; tabs < 2; tabs++) {
        bool known = false, uniform = true;
        gssize shift = 0;
        for (gsize j = 0; j < quote->n && uniform; j++) {
            gssize at = place->map ? place->map[j] : (gssize)(place->first + j);
            if (at < 0 || acr_line_is_blank(&quote->line[j]))
                continue;
            const AcrLine *theirs = &file->line[at], *ours = &quote->line[j];
            gssize delta = (tabs ? file_width(theirs, step) : (gssize)acr_line_width(theirs)) -
                           (gssize)acr_line_width(ours);
            uniform = !known || delta == shift;
            shift = delta;
            known = true;
        }
        if (uniform)
            return true;
    }
    return false;
}

void acr_match_clear(AcrMatch *match)
{
    if (!match)
        return;
    g_clear_pointer(&match->places, g_array_unref);
    acr_lines_clear(&match->original);
    acr_lines_clear(&match->patched);
    g_clear_pointer(&match->store, g_ptr_array_unref);
    g_clear_pointer(&match->why, g_free);
}
