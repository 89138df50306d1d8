/*
 * Level `similar`, third rule: likeness, for what was mistyped.
 *
 * The region of the file that is most like the quote is taken where it is like enough, clearly more
 * so than any other, and no word in it differs in a way that makes it other code: a name that the
 * file knows, quoted for another one, is not a typing error. A word is a run of letters, digits and
 * underscores, a run of blanks, or any other single byte.
 *
 * The numbers come from recorded answers. 91 different quotes, each standing once in its file, were
 * searched for in that file without their lines: by likeness alone 18 other places reach 0.70, up
 * to 0.97; once words are compared one is left at 0.72, the next at 0.70. So ACR_SIMILAR_MIN is
 * 0.80. The same quotes, mistyped in six ways (1,227 quotes): with a margin of 0.02 the best region
 * was a wrong one twice at 0.70, with ACR_SIMILAR_MARGIN 0.05 never. At these numbers 91 % of
 * quotes with one word mistyped are taken, and 90 % with three.
 */
#include <string.h>

#include "patch/match_private.h"

#define MIN_WEIGHT 20u  /* characters of a quote that is searched for by likeness */
#define MAX_TOKENS 600u /* of a line; longer ones are not compared */

/* The words of a line, as views; owned array of AcrLine. */
static GArray *split(const AcrLine *line)
{
    GArray *tokens = g_array_new(FALSE, FALSE, sizeof(AcrLine));
    const char *s = line->s + line->lead, *end = s + line->core;
    while (s < end) {
        const char *from = s++;
        while (s < end && ((acr_is_word(*from) && acr_is_word(*s)) ||
                           (acr_is_blank(*from) && acr_is_blank(*s))))
            s++;
        gsize len = (gsize)(s - from);
        AcrLine token = {.s = from, .len = len, .full = len, .core = len};
        g_array_append_val(tokens, token);
    }
    return tokens;
}

static const AcrLine *tokens_of(const GArray *tokens)
{
    return (const AcrLine *)(const void *)tokens->data;
}

/* For each word of `b` the number of that of `a`, or -1; owned. NULL: there are too many words. */
static gssize *pair_words(const GArray *a, const GArray *b)
{
    if (a->len > MAX_TOKENS || b->len > MAX_TOKENS)
        return NULL;
    gssize *pair = g_new(gssize, b->len + 1);
    acr_lines_align(tokens_of(a), a->len, tokens_of(b), b->len, pair);
    return pair;
}

/* ---- One line that is changed in two ways ------------------------------------------------------ */

/* Words [from, to) as one view. */
static AcrLine part_of(const GArray *tokens, gsize from, gsize to)
{
    const AcrLine *token = tokens_of(tokens);
    gsize len = from < to ? (gsize)(token[to - 1].s - token[from].s) + token[to - 1].len : 0;
    return (AcrLine){.s = from < to ? token[from].s : "", .len = len};
}

/* Appends `ours` with what `theirs` changes of `base`; what only adds words may stand beside other
 * changes. False where both change the same words. */
static bool merge_part(GString *out, AcrLine base, AcrLine theirs, AcrLine ours)
{
    gsize more = theirs.len - MIN(base.len, theirs.len);
    bool same = acr_line_same_exact(&base, &theirs) || acr_line_same_exact(&theirs, &ours);
    bool before = more > 0 && base.len > 0 && memcmp(theirs.s + more, base.s, base.len) == 0;
    bool behind = more > 0 && base.len > 0 && memcmp(theirs.s, base.s, base.len) == 0;
    if (before && !same && !behind)
        g_string_append_len(out, theirs.s, (gssize)more);
    if (same || before || behind)
        g_string_append_len(out, ours.s, (gssize)ours.len);
    if (behind && !same)
        g_string_append_len(out, theirs.s + base.len, (gssize)more);
    return same || before || behind;
}

char *acr_words_merge(const AcrLine *base_line, const AcrLine *their_line, const AcrLine *our_line)
{
    g_autoptr(GArray) base = split(base_line);
    g_autoptr(GArray) theirs = split(their_line);
    g_autoptr(GArray) ours = split(our_line);
    g_autofree gssize *in_theirs = pair_words(theirs, base);
    g_autofree gssize *in_ours = pair_words(ours, base);
    g_autoptr(GString) out = g_string_new(NULL);
    gsize from = 0, their_from = 0, our_from = 0;
    if (!in_theirs || !in_ours)
        return NULL;
    for (gsize i = 0; i <= base->len; i++) {
        bool end = i == base->len;
        if (!end && (in_theirs[i] < 0 || in_ours[i] < 0))
            continue;
        gsize their_to = end ? theirs->len : (gsize)in_theirs[i],
              our_to = end ? ours->len : (gsize)in_ours[i];
        AcrLine a = part_of(base, from, i), b = part_of(theirs, their_from, their_to),
                c = part_of(ours, our_from, our_to);
        if (!merge_part(out, a, b, c) && !merge_part(out, a, c, b))
            return NULL;
        if (!end)
            g_string_append_len(out, tokens_of(base)[i].s, (gssize)tokens_of(base)[i].len);
        from = i + 1;
        their_from = their_to + 1;
        our_from = our_to + 1;
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* ---- What differs between two lines ------------------------------------------------------------ */

/* The words that occur in the lines; owned set of strings. */
static GHashTable *known_words(const AcrLines *lines)
{
    GHashTable *known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (gsize i = 0; i < lines->n; i++) {
        g_autoptr(GArray) tokens = split(&lines->line[i]);
        for (guint k = 0; k < tokens->len; k++)
            if (acr_is_word(*tokens_of(tokens)[k].s))
                g_hash_table_add(known,
                                 g_strndup(tokens_of(tokens)[k].s, tokens_of(tokens)[k].len));
    }
    return known;
}

static bool is_known(GHashTable *known, const AcrLine *token)
{
    g_autofree char *word = g_strndup(token->s, token->len);
    return g_hash_table_contains(known, word);
}

/* Words without which a line says the opposite, or something else. */
static bool turns_sense(const AcrLine *token)
{
    static const char *const words[] = {
        "not", "and",   "or",    "is",    "in",    "else", "if",     "elif", "while", "return",
        "def", "class", "raise", "yield", "await", "del",  "lambda", "with", "for"};
    for (gsize k = 0; k < G_N_ELEMENTS(words); k++)
        if (token->len == strlen(words[k]) && memcmp(token->s, words[k], token->len) == 0)
            return true;
    return false;
}

/* Whether two lines differ otherwise than by typing errors: a word of `known` that is quoted for
 * another, a word that turns the sense. */
static bool words_differ(const AcrLine *quoted, const AcrLine *theirs, GHashTable *known)
{
    g_autoptr(GArray) a = split(quoted);
    g_autoptr(GArray) b = split(theirs);
    g_autofree gssize *pair = pair_words(a, b);
    if (!pair)
        return true;
    for (gsize i = 0, j = 0; i < a->len || j < b->len;) {
        gsize with = j;
        for (; j < b->len && pair[j] < 0; j++)
            if (turns_sense(&tokens_of(b)[j]))
                return true;
        gsize to = j < b->len ? (gsize)pair[j] : a->len;
        for (; i < to; i++)
            if (turns_sense(&tokens_of(a)[i]) || (with < j && is_known(known, &tokens_of(a)[i])))
                return true;
        i += j < b->len;
        j += j < b->len;
    }
    return false;
}

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
            known = known_words(file);
        if (words_differ(ours, &file->line[map[j]], known))
            return false;
    }
    return true;
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
            has_more = has_more || acr_line_is_code(&quote->line[j]);
    }
    const AcrLine *lines = file->line + place->first;
    for (gsize i = 0; i < n; i++) {
        if (taken[i] || !acr_line_is_code(&lines[i]))
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
