/*
 * One line that is changed in two ways: how the model misquoted it, and what the model changes in
 * it. They are merged by words: a word is a run of letters, digits and underscores, a run of
 * blanks, or any other single byte.
 */
#include <string.h>

#include "patch/match_private.h"

#define MAX_TOKENS 600u /* of a line; longer ones are not merged */

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

/* Words [from, to) as one view. */
static AcrLine part_of(const GArray *tokens, gsize from, gsize to)
{
    const AcrLine *token = tokens_of(tokens);
    gsize len = from < to ? (gsize)(token[to - 1].s - token[from].s) + token[to - 1].len : 0;
    return (AcrLine){.s = from < to ? token[from].s : "", .len = len};
}

/* Whether the byte border at `at` of a text cuts no identifier. */
static bool parts_words(const char *s, gsize at, gsize len)
{
    return at == 0 || at == len || !acr_is_word(s[at - 1]) || !acr_is_word(s[at]);
}

/* Appends `ours` with what `theirs` changes of `base`; what only adds words may stand beside other
 * changes: whole words, so that no identifier becomes part of another. False where both change the
 * same words. */
static bool merge_part(GString *out, AcrLine base, AcrLine theirs, AcrLine ours)
{
    gsize more = theirs.len - MIN(base.len, theirs.len);
    bool same = acr_line_same_exact(&base, &theirs) || acr_line_same_exact(&theirs, &ours);
    bool before = more > 0 && base.len > 0 && memcmp(theirs.s + more, base.s, base.len) == 0 &&
                  parts_words(theirs.s, more, theirs.len);
    bool behind = more > 0 && base.len > 0 && memcmp(theirs.s, base.s, base.len) == 0 &&
                  parts_words(theirs.s, base.len, theirs.len);
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
