/*
 * The ladder: where in a file the quoted code stands.
 *
 * Levels are tried in the order of AcrLevel, the first at which the code occurs wins, and all its
 * places at that level are returned: choosing between them is not done here. Whole lines come
 * first; only when no whole lines match is the quote searched for inside lines (level `exact`,
 * since the bytes are).
 */
#include <string.h>

#include "patch/match_private.h"

/* Whether the quote's lines stand in the file from line `first` on. */
static bool all_same(const AcrLines *file, gsize first, const AcrLines *quote, AcrSameLine same)
{
    for (gsize j = 0; j < quote->n; j++)
        if (!same(&file->line[first + j], &quote->line[j]))
            return false;
    return true;
}

/* The step of the quote's indentation that answers to one tab of the file: the smallest difference
 * between its lines. */
static gsize quote_step(const AcrLines *quote)
{
    gsize step = 0;
    for (gsize j = 1; j < quote->n; j++) {
        gsize a = acr_line_width(&quote->line[j - 1]), b = acr_line_width(&quote->line[j]);
        gsize difference = a > b ? a - b : b - a;
        if (quote->line[j].core > 0 && quote->line[j - 1].core > 0 && difference > 0 &&
            (step == 0 || difference < step))
            step = difference;
    }
    return step > 0 ? step : 4;
}

/* File indentation in the quote's units. */
static gssize file_width(const AcrLine *line, gsize step)
{
    gsize width = 0;
    for (gsize i = 0; i < line->lead; i++)
        width += line->s[i] == '\t' ? step : 1;
    return (gssize)width;
}

/* Every line is shifted by the same number of columns; where the file has tabs and the quote
 * blanks, a tab is one step. */
static bool is_shifted(const AcrLines *file, gsize first, const AcrLines *quote)
{
    gsize step = quote_step(quote);
    for (int tabs = 0; tabs < 2; tabs++) {
        bool known = false, uniform = true;
        gssize shift = 0;
        for (gsize j = 0; j < quote->n && uniform; j++) {
            const AcrLine *theirs = &file->line[first + j], *ours = &quote->line[j];
            if (acr_line_is_blank(ours))
                continue;
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

static AcrLevel level_at(const AcrLines *file, gsize first, const AcrLines *quote)
{
    if (all_same(file, first, quote, acr_line_same_exact))
        return ACR_LEVEL_EXACT;
    if (all_same(file, first, quote, acr_line_same_trimmed))
        return ACR_LEVEL_TRAILING;
    return is_shifted(file, first, quote) ? ACR_LEVEL_INDENT : ACR_LEVEL_STRIP;
}

/* How many of the quote's lines stand in the file from line `first` on, without outer blanks. */
static gsize count_same(const AcrLines *file, gsize first, const AcrLines *quote)
{
    gsize n = 0;
    while (n < quote->n && acr_line_same_core(&file->line[first + n], &quote->line[n]))
        n++;
    return n;
}

/* All places of the quote's whole lines; those of the best level are kept. */
static bool find_whole(const AcrLines *file, AcrMatch *match)
{
    const AcrLines *quote = &match->original;
    gsize work = 0;
    match->level = ACR_LEVEL_NONE;
    for (gsize i = 0; quote->n > 0 && i + quote->n <= file->n; i++) {
        if (work > ACR_PATCH_MAX_SCAN) { /* whether the rest holds it too is not known */
            match->many = match->places->len > 0;
            break;
        }
        gsize same = count_same(file, i, quote);
        work += same;
        if (same < quote->n)
            continue;
        AcrLevel level = level_at(file, i, quote);
        if (match->level != ACR_LEVEL_NONE && level > match->level)
            continue;
        if (level < match->level) {
            g_array_set_size(match->places, 0);
            match->many = false;
        }
        match->level = level;
        acr_match_add_place(match, &(AcrPlace){.first = i, .last = i + quote->n});
    }
    return match->places->len > 0;
}

/* `part` of `line` at `col` is not cut out of a word. */
static bool at_border(const AcrLine *line, gsize col, gsize len)
{
    if (len == 0)
        return true;
    bool left = col == 0 || !acr_is_word(line->s[col - 1]) || !acr_is_word(line->s[col]);
    gsize end = col + len;
    return left &&
           (end == line->len || !acr_is_word(line->s[end]) || !acr_is_word(line->s[end - 1]));
}

/* Gives up after ACR_PATCH_MAX_CUTS places inside words: what was found until then is not known to
 * stand once. */
static void find_in_line(const AcrLines *file, const AcrLine *quote, AcrMatch *match)
{
    guint cuts = 0;
    for (gsize i = 0; i < file->n && !match->many && cuts < ACR_PATCH_MAX_CUTS; i++) {
        const AcrLine *line = &file->line[i];
        const char *at = line->s, *end = line->s + line->len;
        while (!match->many && cuts < ACR_PATCH_MAX_CUTS &&
               (at = memmem(at, (gsize)(end - at), quote->s, quote->len))) {
            gsize col = (gsize)(at++ - line->s);
            AcrPlace place = {.first = i, .last = i + 1, .inside = true, .col_first = col};
            place.col_last = col + quote->len;
            if (at_border(line, col, quote->len))
                acr_match_add_place(match, &place);
            else
                cuts++;
        }
    }
    match->many = match->many || (cuts == ACR_PATCH_MAX_CUTS && match->places->len > 0);
}

static bool spans_from(const AcrLines *file, gsize i, const AcrLine *quote, gsize n)
{
    const AcrLine *head = &file->line[i], *tail = &file->line[i + n - 1];
    if (head->len < quote[0].len ||
        memcmp(head->s + head->len - quote[0].len, quote[0].s, quote[0].len) != 0)
        return false;
    if (tail->len < quote[n - 1].len || memcmp(tail->s, quote[n - 1].s, quote[n - 1].len) != 0)
        return false;
    if (!at_border(head, head->len - quote[0].len, quote[0].len) ||
        !at_border(tail, 0, quote[n - 1].len))
        return false;
    for (gsize j = 1; j + 1 < n; j++)
        if (!acr_line_same_exact(&file->line[i + j], &quote[j]))
            return false;
    return true;
}

static bool find_inside(const AcrLines *file, const AcrLines *quote, AcrMatch *match)
{
    gsize n = quote->n;
    if (n == 0 || n > file->n || file->n > ACR_PATCH_MAX_SCAN / n)
        return false;
    if (n == 1 && quote->line[0].core > 0)
        find_in_line(file, &quote->line[0], match);
    for (gsize i = 0; n > 1 && i + n <= file->n && !match->many; i++)
        if (spans_from(file, i, quote->line, n))
            acr_match_add_place(match,
                                &(AcrPlace){.first = i,
                                            .last = i + n,
                                            .inside = true,
                                            .col_first = file->line[i].len - quote->line[0].len,
                                            .col_last = quote->line[n - 1].len});
    if (match->places->len > 0)
        match->level = ACR_LEVEL_EXACT;
    return match->places->len > 0;
}

static bool find_with_elisions(const AcrLines *file, AcrMatch *match)
{
    bool open = acr_quote_trim_elisions(match);
    bool found =
        (open && find_whole(file, match)) || acr_elision_find(file, &match->original, match);
    if (found)
        match->level = ACR_LEVEL_ELISION;
    return found;
}

static bool find_numbered(const AcrLines *file, AcrMatch *match)
{
    gsize first = acr_quote_take_numbers(match);
    if (first == 0)
        return false;
    if (!find_whole(file, match) && !(acr_quote_trim_blank(match) && find_whole(file, match)) &&
        !acr_elision_find(file, &match->original, match))
        return false;
    for (guint i = 0; match->places->len > 1 && i < match->places->len; i++) {
        AcrPlace here = g_array_index(match->places, AcrPlace, i);
        if (here.first + 1 == first && !here.map) {
            g_array_set_size(match->places, 0);
            g_array_append_val(match->places, here);
        }
    }
    match->level = ACR_LEVEL_NUMBERED;
    return true;
}

static bool find_unescaped(const AcrLines *file, const char *original, const char *patched,
                           AcrMatch *match)
{
    if (!acr_quote_unescape(match, original, patched))
        return false;
    return find_whole(file, match) || find_inside(file, &match->original, match);
}

/* The rules of level `similar` on the quote as it is read now. */
static bool find_loosely(const AcrLines *file, AcrMatch *match)
{
    acr_quote_trim_blank(match);
    acr_quote_trim_elisions(match);
    return acr_elision_count(&match->original) == 0 &&
           (acr_loose_find(file, &match->original, match) ||
            acr_skip_find(file, &match->original, match));
}

/* The quote as written, without line numbers, without escapes: by each rule, then by likeness. */
static bool find_similar(const AcrLines *file, const char *original, const char *patched,
                         AcrMatch *match)
{
    acr_quote_read(match, original, patched);
    if (find_loosely(file, match))
        return true;
    if (acr_quote_take_numbers(match) && find_loosely(file, match))
        return true;
    if (acr_quote_unescape(match, original, patched) && find_loosely(file, match))
        return true;
    acr_quote_read(match, original, patched);
    acr_quote_take_numbers(match);
    acr_quote_trim_blank(match);
    acr_quote_trim_elisions(match);
    return acr_elision_count(&match->original) == 0 &&
           acr_alike_find(file, &match->original, match);
}

void acr_ladder_find(const AcrSource *source, const char *original, const char *patched,
                     AcrMatch *out)
{
    acr_match_init(out);
    const AcrLines *file = &source->lines;
    acr_quote_read(out, original, patched);
    bool found = find_whole(file, out);
    if (!found && acr_quote_trim_blank(out))
        found = find_whole(file, out);
    found = found || find_inside(file, &out->original, out) || find_with_elisions(file, out) ||
            find_numbered(file, out) || find_unescaped(file, original, patched, out);
    found = found || find_similar(file, original, patched, out);
    if (found)
        acr_elision_check(out);
    else
        out->level = ACR_LEVEL_NONE;
}
