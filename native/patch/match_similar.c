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

#define MIN_WEIGHT 20u /* characters of a quote that is looked for by likeness */

#define MAX_TOKENS 600u /* of a line; longer ones are not compared */

typedef struct {
    const char *s;
    gsize len;
} Token;

static gsize split(const char *s, gsize len, Token *out)
{
    gsize n = 0;
    for (gsize i = 0; i < len && n <= MAX_TOKENS;) {
        gsize from = i++;
        if (acr_is_word(s[from]))
            while (i < len && acr_is_word(s[i]))
                i++;
        else if (acr_is_blank(s[from]))
            while (i < len && acr_is_blank(s[i]))
                i++;
        out[n++] = (Token){s + from, i - from};
    }
    return n;
}

static bool same_token(Token a, Token b)
{
    return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

/* A replacement of tokens [from, to) of the base by [with, with_end) of another line. */
typedef struct {
    gsize from, to, with, with_end;
} Change;

static GArray *changes_of(const Token *base, gsize n, const Token *other, gsize m)
{
    GArray *out = g_array_new(FALSE, FALSE, sizeof(Change));
    gsize width = m + 1;
    g_autofree guint16 *best = g_new0(guint16, (n + 1) * width);
    for (gsize i = n; i-- > 0;)
        for (gsize j = m; j-- > 0;)
            best[i * width + j] = same_token(base[i], other[j])
                                      ? (guint16)(best[(i + 1) * width + j + 1] + 1)
                                      : MAX(best[(i + 1) * width + j], best[i * width + j + 1]);
    for (gsize i = 0, j = 0; i < n || j < m;) {
        if (i < n && j < m && same_token(base[i], other[j])) {
            i++;
            j++;
            continue;
        }
        Change change = {i, i, j, j};
        while ((i < n || j < m) && !(i < n && j < m && same_token(base[i], other[j]))) {
            if (j == m || (i < n && best[(i + 1) * width + j] >= best[i * width + j + 1]))
                i++;
            else
                j++;
        }
        change.to = i;
        change.with_end = j;
        g_array_append_val(out, change);
    }
    return out;
}

static bool same_change(const Change *a, const Token *a_line, const Change *b, const Token *b_line)
{
    if (a->from != b->from || a->to != b->to || a->with_end - a->with != b->with_end - b->with)
        return false;
    for (gsize i = 0; i < a->with_end - a->with; i++)
        if (!same_token(a_line[a->with + i], b_line[b->with + i]))
            return false;
    return true;
}

/* Changes that touch the same tokens; one that only inserts may stand at the border of another that
 * replaces. */
static bool collide(const Change *a, const Change *b)
{
    bool a_inserts = a->from == a->to, b_inserts = b->from == b->to;
    if (a_inserts && b_inserts)
        return a->from == b->from;
    if (a_inserts)
        return a->from > b->from && a->from < b->to;
    if (b_inserts)
        return b->from > a->from && b->from < a->to;
    return a->from < b->to && b->from < a->to;
}

typedef struct {
    Token *base, *theirs, *ours;
    GArray *their_changes, *our_changes;
} Merge;

static const Change *change_at(const GArray *changes, guint i)
{
    return i < changes->len ? &g_array_index(changes, Change, i) : NULL;
}

static void put_tokens(GString *out, const Token *line, gsize from, gsize to)
{
    for (gsize i = from; i < to; i++)
        g_string_append_len(out, line[i].s, (gssize)line[i].len);
}

static char *write_merged(const Merge *merge, gsize n)
{
    g_autoptr(GString) out = g_string_new(NULL);
    gsize at = 0;
    for (guint t = 0, o = 0;;) {
        const Change *a = change_at(merge->their_changes, t), *b = change_at(merge->our_changes, o);
        if (!a && !b)
            break;
        if (a && b && same_change(a, merge->theirs, b, merge->ours)) {
            t++; /* both did it */
            continue;
        }
        if (a && b && collide(a, b))
            return NULL;
        bool a_first = a && (!b || a->from < b->from || (a->from == b->from && a->to <= b->to));
        const Change *first = a_first ? a : b;
        put_tokens(out, merge->base, at, first->from);
        put_tokens(out, a_first ? merge->theirs : merge->ours, first->with, first->with_end);
        at = first->to;
        t += a_first;
        o += !a_first;
    }
    put_tokens(out, merge->base, at, n);
    return g_strdup(out->str);
}

char *acr_words_merge(const AcrLine *base, const AcrLine *theirs, const AcrLine *ours)
{
    const AcrLine *lines[] = {base, theirs, ours};
    g_autofree Token *tokens = g_new(Token, 3 * (MAX_TOKENS + 2));
    gsize n[3];
    for (gsize i = 0; i < 3; i++) {
        n[i] = split(lines[i]->s + lines[i]->lead, lines[i]->core, tokens + i * (MAX_TOKENS + 2));
        if (n[i] > MAX_TOKENS)
            return NULL;
    }
    Merge merge = {tokens, tokens + MAX_TOKENS + 2, tokens + 2 * (MAX_TOKENS + 2), NULL, NULL};
    g_autoptr(GArray) theirs_changes = changes_of(merge.base, n[0], merge.theirs, n[1]);
    g_autoptr(GArray) our_changes = changes_of(merge.base, n[0], merge.ours, n[2]);
    merge.their_changes = theirs_changes;
    merge.our_changes = our_changes;
    return write_merged(&merge, n[0]);
}

static bool is_known(GHashTable *known, const Token *line, gsize from, gsize to)
{
    for (gsize i = from; i < to; i++) {
        if (!acr_is_word(*line[i].s))
            continue;
        g_autofree char *word = g_strndup(line[i].s, line[i].len);
        if (g_hash_table_contains(known, word))
            return true;
    }
    return false;
}

/* Words without which a line says the opposite, or something else. */
static bool turns_sense(const Token *line, gsize from, gsize to)
{
    static const char *const words[] = {
        "not", "and",   "or",    "is",    "in",    "else", "if",     "elif", "while", "return",
        "def", "class", "raise", "yield", "await", "del",  "lambda", "with", "for"};
    for (gsize i = from; i < to; i++)
        for (gsize k = 0; k < G_N_ELEMENTS(words); k++)
            if (line[i].len == strlen(words[k]) && memcmp(line[i].s, words[k], line[i].len) == 0)
                return true;
    return false;
}

/* Whether two lines differ otherwise than by typing errors: a word of `known` that is quoted for
 * another, a word that turns the sense. */
static bool words_differ(const AcrLine *quoted, const AcrLine *theirs, GHashTable *known)
{
    g_autofree Token *a = g_new(Token, MAX_TOKENS + 2);
    g_autofree Token *b = g_new(Token, MAX_TOKENS + 2);
    gsize n = split(quoted->s + quoted->lead, quoted->core, a),
          m = split(theirs->s + theirs->lead, theirs->core, b);
    if (n > MAX_TOKENS || m > MAX_TOKENS)
        return true;
    g_autoptr(GArray) changes = changes_of(a, n, b, m);
    for (guint i = 0; i < changes->len; i++) {
        const Change *change = change_at(changes, i);
        if (turns_sense(a, change->from, change->to) ||
            turns_sense(b, change->with, change->with_end))
            return true;
        if (change->with < change->with_end && is_known(known, a, change->from, change->to))
            return true;
    }
    return false;
}

/* The words that occur in the lines; owned set of strings. */
static GHashTable *known_words(const AcrLines *lines)
{
    GHashTable *known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (gsize i = 0; i < lines->n; i++) {
        const AcrLine *line = &lines->line[i];
        for (gsize at = line->lead; at < line->lead + line->core;) {
            gsize from = at++;
            if (!acr_is_word(line->s[from]))
                continue;
            while (at < line->len && acr_is_word(line->s[at]))
                at++;
            g_hash_table_add(known, g_strndup(line->s + from, at - from));
        }
    }
    return known;
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
