/* Finds the quoted code in a file, level by level.
 *
 * Levels are tried in the order of AcrLevel. The search ends at the first level that finds the
 * code, and returns all places of the level; choose_place.c chooses one of them. Whole lines are
 * compared first. If no whole lines match, the quote is searched for inside lines (level `exact`,
 * because the bytes are equal). */
#include <string.h>

#include "patch/match_private.h"

/* Whether all lines of the quote match the file's lines from `first` on. */
static bool all_same(const AcrLines *file, gsize first, const AcrLines *quote, AcrSameLine same)
{
    for (gsize j = 0; j < quote->n; j++)
        if (!same(&file->line[first + j], &quote->line[j]))
            return false;
    return true;
}

static AcrLevel level_at(const AcrLines *file, gsize first, const AcrLines *quote)
{
    if (all_same(file, first, quote, acr_line_same_exact))
        return ACR_LEVEL_EXACT;
    if (all_same(file, first, quote, acr_line_same_trimmed))
        return ACR_LEVEL_TRAILING;
    return acr_place_is_shifted(file, &(AcrPlace){.first = first}, quote) ? ACR_LEVEL_INDENT
                                                                          : ACR_LEVEL_STRIP;
}

/* Returns how many of the quote's lines match the file's lines from `first` on, ignoring leading
 * and trailing blanks. */
static gsize count_same(const AcrLines *file, gsize first, const AcrLines *quote)
{
    gsize n = 0;
    while (n < quote->n && acr_line_same_core(&file->line[first + n], &quote->line[n]))
        n++;
    return n;
}

/* Finds all places of the quote as whole lines; keeps the places of the best level. */
static bool find_whole(const AcrLines *file, AcrMatch *match)
{
    const AcrLines *quote = &match->original;
    gsize work = 0;
    match->level = ACR_LEVEL_NONE;
    for (gsize i = 0; quote->n > 0 && i + quote->n <= file->n; i++) {
        if (work > ACR_PATCH_MAX_SCAN) { /* the rest of the file may contain more places */
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

/* Whether the `len` bytes of `line` at column `col` begin and end at word borders. */
static bool at_border(const AcrLine *line, gsize col, gsize len)
{
    if (len == 0)
        return true;
    bool left = col == 0 || !acr_is_word(line->s[col - 1]) || !acr_is_word(line->s[col]);
    gsize end = col + len;
    return left &&
           (end == line->len || !acr_is_word(line->s[end]) || !acr_is_word(line->s[end - 1]));
}

/* Finds all places of a one-line quote inside lines, at word borders. After ACR_PATCH_MAX_CUTS
 * occurrences inside words the search gives up, and a place found before does not count as
 * unique. */
static bool find_inside(const AcrLines *file, AcrMatch *match)
{
    const AcrLine *quote = match->original.line;
    guint cuts = 0;
    if (match->original.n != 1 || quote->core == 0)
        return false;
    for (gsize i = 0; i < file->n && !match->many && cuts < ACR_PATCH_MAX_CUTS; i++) {
        const AcrLine *line = &file->line[i];
        const char *at = line->s, *end = line->s + line->len;
        while (!match->many && cuts < ACR_PATCH_MAX_CUTS &&
               (at = memmem(at, (gsize)(end - at), quote->s, quote->len))) {
            gsize col = (gsize)(at++ - line->s);
            AcrPlace place = {.first = i, .last = i + 1, .inside = true, .column = col};
            if (at_border(line, col, quote->len))
                acr_match_add_place(match, &place);
            else
                cuts++;
        }
    }
    match->many = match->many || (cuts == ACR_PATCH_MAX_CUTS && match->places->len > 0);
    match->level = match->places->len > 0 ? ACR_LEVEL_EXACT : match->level;
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

/* Searches for the quote, as it is written, by the rules of level `similar`. */
static bool find_similar(const AcrLines *file, const char *original, const char *patched,
                         AcrMatch *match)
{
    acr_quote_read(match, original, patched);
    acr_quote_trim_blank(match);
    acr_quote_trim_elisions(match);
    return acr_elision_count(&match->original) == 0 &&
           (acr_loose_find(file, &match->original, match) ||
            acr_skip_find(file, &match->original, match));
}

void acr_ladder_find(const AcrSource *source, const char *original, const char *patched,
                     AcrMatch *out)
{
    acr_match_init(out);
    const AcrLines *file = &source->lines;
    out->file = file;
    acr_quote_read(out, original, patched);
    bool found = find_whole(file, out);
    if (!found && acr_quote_trim_blank(out))
        found = find_whole(file, out);
    found = found || find_inside(file, out) || find_with_elisions(file, out);
    found = found || find_similar(file, original, patched, out);
    if (found)
        acr_elision_check(out);
    else
        out->level = ACR_LEVEL_NONE;
    out->file = NULL;
}
