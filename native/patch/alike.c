/*
 * Level `similar`, third rule: likeness, for what was mistyped.
 *
 * The region of the file that is most like the quote is taken where it is like enough, clearly more
 * so than any other, and no word in it differs in a way that makes it other code: a name that the
 * file knows quoted for another one is no typing error.
 *
 * The numbers come from recorded answers. 91 different quotes, each standing once in its file, were
 * looked for in that file without their lines: by likeness alone 18 other places reach 0.70, up to
 * 0.97; once words are compared one is left at 0.72, the next at 0.70. So ACR_SIMILAR_MIN is 0.80.
 * The same quotes, mistyped in six ways (1,227 quotes): with a margin of 0.02 the best region was a
 * wrong one twice at 0.70, with ACR_SIMILAR_MARGIN 0.05 never. At these numbers 91 % of quotes with
 * one word mistyped are taken, and 90 % with three.
 */
#include "patch/patch_private.h"

#define MIN_WEIGHT 20u /* characters of a quote that is looked for by likeness */

/* Whether the lines at the place are the quoted ones, mistyped. */
static bool is_same_code(const AcrLines *file, const AcrLines *quote, const gssize *map)
{
    g_autoptr(GHashTable) known = NULL;
    for (gsize j = 0; j < quote->n; j++) {
        const AcrLine *ours = &quote->line[j];
        if (map[j] < 0 || acr_line_same_core(ours, &file->line[map[j]]) ||
            acr_loose_hash(ours) == acr_loose_hash(&file->line[map[j]]))
            continue;
        if (!known)
            known = acr_words_known(file);
        if (acr_words_differ(ours, &file->line[map[j]], known))
            return false;
    }
    return true;
}

static bool is_code(const AcrLine *line)
{
    return line->core > 0 && line->s[line->lead] != '#';
}

/*
 * Whether each quoted line has its line for sure: not where the quote lacks lines of code and has
 * others instead, nor where a line that it lacks equals the one beside it.
 */
static bool is_clear(const AcrLines *file, const AcrLines *quote, const AcrRegion *place,
                     const gssize *map)
{
    gsize n = place->last - place->first;
    bool lacks = false, has_more = false, twin = false;
    g_autofree bool *taken = g_new0(bool, n + 1);
    for (gsize j = 0; j < quote->n; j++) {
        if (map[j] >= 0)
            taken[(gsize)map[j] - place->first] = true;
        else
            has_more = has_more || is_code(&quote->line[j]);
    }
    const AcrLine *lines = file->line + place->first;
    for (gsize i = 0; i < n; i++) {
        if (taken[i] || !is_code(&lines[i]))
            continue;
        lacks = true;
        twin = twin || (i > 0 && acr_line_same_core(&lines[i - 1], &lines[i])) ||
               (i + 1 < n && acr_line_same_core(&lines[i + 1], &lines[i]));
    }
    return !twin && !(lacks && has_more);
}

bool acr_alike_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match)
{
    gsize weight = 0;
    for (gsize j = 0; j < quote->n; j++)
        weight += quote->line[j].core;
    if (weight < MIN_WEIGHT)
        return false;
    g_autoptr(GArray) regions = acr_similar_find(file, quote, 2);
    if (regions->len == 0)
        return false;
    AcrRegion best = g_array_index(regions, AcrRegion, 0);
    double next = regions->len > 1 ? g_array_index(regions, AcrRegion, 1).score : 0;
    if (best.score < ACR_SIMILAR_MIN || best.score < next + ACR_SIMILAR_MARGIN)
        return false;
    g_autofree gssize *map = acr_similar_map(file, quote, &best);
    if (!is_same_code(file, quote, map) || !is_clear(file, quote, &best, map))
        return false;
    acr_match_add_place(
        match, &(AcrPlace){.first = best.first, .last = best.last, .map = g_steal_pointer(&map)});
    match->level = ACR_LEVEL_SIMILAR;
    return true;
}
