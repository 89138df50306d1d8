/* Implements the second rule of level `similar`: the quote omits lines of the file without marking
 * the omission.
 *
 * The quote may omit blank lines, comments and a docstring anywhere, but code only in a few gaps.
 * The lines of the quote must occur in order, all shifted by the same indentation, and the
 * alignment with the fewest gaps must be unique. Lines are compared by their loose hashes
 * (match_spelling.c), not by similarity. */
#include <string.h>

#include "patch/match_private.h"

#define MIN_WEIGHT 30u     /* minimum number of characters of quoted code that must be found */
#define MAX_GAPS 3u        /* maximum number of gaps in which code is omitted */
#define MAX_GAP_LINES 120u /* maximum number of lines in one gap */

typedef struct {
    const AcrLines *file, *quote;
    guint64 *file_hash, *quote_hash;
    gsize *line; /* owned; numbers of the quote's lines that are code or comments */
    gsize n;
    gsize work;
} Skip;

static bool same(const Skip *skip, gsize f, gsize t)
{
    return skip->file_hash[f] == skip->quote_hash[skip->line[t]];
}

gsize acr_string_end(const AcrLines *file, gsize at)
{
    const AcrLine *line = &file->line[at];
    const char *s = line->s + line->lead, *end = s + line->core;
    while (s < end && strchr("rRuU", *s))
        s++;
    if (end - s < 2 || (*s != '"' && *s != '\''))
        return at;
    const char mark[] = {*s, *s, *s};
    bool three = end - s >= 3 && memcmp(s, mark, 3) == 0;
    gsize n = three ? 3 : 1;
    for (gsize i = at; i < file->n && i < at + MAX_GAP_LINES * 4; i++) {
        const char *from = i == at ? s + n : file->line[i].s;
        const char *stop = file->line[i].s + file->line[i].lead + file->line[i].core;
        const char *close = from < stop ? memmem(from, (gsize)(stop - from), mark, n) : NULL;
        if (close)
            return close + n == stop ? i + 1 : at;
        if (!three)
            return at;
    }
    return at;
}

/* Returns the first line from `at` on that is code other than a docstring. `before` is the last
 * line of code before `at`. */
static gsize next_code(Skip *skip, gsize at, gsize before)
{
    bool may_be_doc = acr_line_last(&skip->file->line[before]) == ':';
    while (at < skip->file->n) {
        const AcrLine *line = &skip->file->line[at];
        skip->work++;
        if (acr_line_is_blank(line) || acr_line_is_comment(line)) {
            at++;
            continue;
        }
        gsize end = may_be_doc ? acr_string_end(skip->file, at) : at;
        if (end == at)
            break;
        may_be_doc = false;
        at = end;
    }
    return at;
}

static gssize *new_map(const Skip *skip)
{
    gssize *map = g_new(gssize, 2 * skip->quote->n + 1);
    for (gsize j = 0; j < 2 * skip->quote->n; j++)
        map[j] = -1;
    return map;
}

static void set_map(const Skip *skip, gssize *map, gsize t, gsize f)
{
    map[skip->line[t]] = (gssize)f;
    map[skip->quote->n + skip->line[t]] = (gssize)f + 1;
}

static void add_place(const Skip *skip, gssize *map, AcrMatch *match)
{
    gssize first = -1, last = -1;
    acr_map_blank_lines(skip->file, skip->quote, map);
    for (gsize j = 0; j < skip->quote->n; j++) {
        if (map[j] < 0)
            continue;
        first = first < 0 ? map[j] : first;
        last = map[skip->quote->n + j];
    }
    acr_match_add_place(match, &(AcrPlace){.first = (gsize)first, .last = (gsize)last, .map = map});
    match->level = ACR_LEVEL_SIMILAR;
}

/* An entry of the table, for quote line t and file line f: the best alignments of the quote's lines
 * up to t that map t to f. */
typedef struct {
    guint gaps;
    guint ways; /* number of alignments with the fewest gaps; counted only up to 2 */
    gsize from; /* the file line to which one of these alignments maps quote line t - 1 */
} Way;

#define NO_WAY G_MAXUINT

static void offer(Way *way, guint gaps, guint ways, gsize from)
{
    if (gaps > way->gaps || gaps == NO_WAY)
        return;
    if (gaps < way->gaps)
        *way = (Way){.gaps = gaps, .from = from};
    way->ways = MIN(2, way->ways + ways);
}

static gssize shift_at(const Skip *skip, gsize f, gsize t)
{
    const AcrLine *ours = &skip->quote->line[skip->line[t]], *theirs = &skip->file->line[f];
    return (gssize)acr_line_width(theirs) - (gssize)acr_line_width(ours);
}

/* Whether the lines between two quoted lines may be omitted, because all of them belong to the
 * block. */
static bool is_inner(const Skip *skip, gsize from, gsize to)
{
    const AcrLine *a = &skip->file->line[from], *b = &skip->file->line[to];
    gsize above = acr_line_width(a), below = acr_line_width(b);
    gsize least = MIN(above, below);
    bool deeper = below > above;
    for (gsize i = from + 1; i < to; i++) {
        const AcrLine *line = &skip->file->line[i];
        gsize width = acr_line_width(line);
        if (line->core > 0 && !acr_line_is_comment(line) &&
            (width < least || (deeper && width == above)))
            return false;
    }
    return true;
}

/* Fills one row of the table: for each line of the file, the alignments that match the line to
 * quote line t. */
static void fill_row(Skip *skip, gsize t, const Way *old, Way *now)
{
    for (gsize f = 0; f < skip->file->n; f++) {
        now[f] = (Way){.gaps = NO_WAY};
        skip->work++;
        if (!same(skip, f, t))
            continue;
        if (t == 0) {
            now[f] = (Way){.ways = 1};
            continue;
        }
        for (gsize g = f; g-- > 0 && f - g <= MAX_GAP_LINES;) {
            skip->work++;
            if (old[g].gaps == NO_WAY || shift_at(skip, g, t - 1) != shift_at(skip, f, t))
                continue;
            bool near = next_code(skip, g + 1, g) >= f;
            if (near || is_inner(skip, g, f))
                offer(&now[f], old[g].gaps + !near, old[g].ways, g);
        }
    }
}

static gsize weight_of(const Skip *skip)
{
    gsize weight = 0;
    for (gsize t = 0; t < skip->n; t++)
        weight += skip->quote->line[skip->line[t]].core;
    return weight;
}

static void find_gapped(Skip *skip, AcrMatch *match)
{
    gsize width = skip->file->n, n = skip->n;
    if (n < 2 || weight_of(skip) < MIN_WEIGHT || width > ACR_PATCH_MAX_ALIGN_CELLS / n)
        return;
    g_autofree Way *table = g_new(Way, n * width + 1);
    for (gsize t = 0; t < n && skip->work <= ACR_PATCH_MAX_SCAN; t++)
        fill_row(skip, t, t > 0 ? table + (t - 1) * width : NULL, table + t * width);
    if (skip->work > ACR_PATCH_MAX_SCAN)
        return;
    Way best = {.gaps = NO_WAY};
    for (gsize f = 0; f < width; f++)
        offer(&best, table[(n - 1) * width + f].gaps, table[(n - 1) * width + f].ways, f);
    if (best.gaps > MAX_GAPS || best.ways != 1 || best.gaps > (n + 1) / 3)
        return;
    gssize *map = new_map(skip);
    for (gsize t = n, f = best.from; t-- > 0; f = table[t * width + f].from)
        set_map(skip, map, t, f);
    add_place(skip, map, match);
}

bool acr_skip_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match)
{
    Skip skip = {.file = file, .quote = quote};
    g_autofree guint64 *file_hash = g_new(guint64, file->n + 1);
    g_autofree guint64 *quote_hash = g_new(guint64, quote->n + 1);
    g_autofree gsize *line = g_new(gsize, quote->n + 1);
    for (gsize i = 0; i < file->n; i++)
        file_hash[i] = acr_loose_hash(&file->line[i]);
    for (gsize j = 0; j < quote->n; j++) {
        quote_hash[j] = acr_loose_hash(&quote->line[j]);
        if (!acr_line_is_blank(&quote->line[j]))
            line[skip.n++] = j;
    }
    skip.file_hash = file_hash;
    skip.quote_hash = quote_hash;
    skip.line = line;
    find_gapped(&skip, match);
    return match->places->len > 0;
}
