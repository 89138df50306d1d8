/* Finds the lines of a file that are most similar to the quoted lines.
 *
 * Two lines are compared by their character pairs (Dice coefficient over bigrams, without blanks at
 * both ends). Dynamic programming aligns the quote with the file; each line that is missing on one
 * side has a cost. The weight of a line is its length, up to a limit, so that brackets and blank
 * lines do not decide. */
#include <stdlib.h>

#include "patch/match_private.h"

#define MAX_CHARS 400u /* maximum number of characters of a line that are compared */
#define MAX_WEIGHT 60u
/* number of 64-bit words of a mask; pairs of characters are hashed into 256 classes */
#define MASK_WORDS 4u
#define MIN_LINE 0.55 /* lines with a lower similarity count as different */
/* cost of a file line that the quote lacks, as a fraction of the line's weight */
#define GAP 0.6

typedef struct {
    guint16 *pair; /* the hashed character pairs, sorted; a part of the pool */
    guint n;
    guint64 mask[MASK_WORDS]; /* the classes of pairs that occur in the line */
    guint bits;               /* number of bits that are set in `mask` */
} Profile;

typedef struct {
    Profile *line;
    guint16 *pool;
} Profiles;

static int compare_pairs(const void *a, const void *b)
{
    return (int)*(const guint16 *)a - (int)*(const guint16 *)b;
}

static guint count_common(const guint64 a[MASK_WORDS], const guint64 b[MASK_WORDS])
{
    guint bits = 0;
    for (guint i = 0; i < MASK_WORDS; i++)
        bits += (guint)__builtin_popcountll(a[i] & b[i]);
    return bits;
}

static void profile_line(const AcrLine *line, Profile *out, guint16 *pool)
{
    gsize len = MIN(line->core, MAX_CHARS);
    const guchar *s = (const guchar *)line->s + line->lead;
    *out = (Profile){.pair = pool};
    for (gsize i = 0; i + 1 < len; i++) {
        guint16 pair = (guint16)(s[i] << 8 | s[i + 1]);
        pool[out->n++] = pair;
        guint class = (pair * 40503u >> 4) % (MASK_WORDS * 64);
        out->mask[class / 64] |= G_GUINT64_CONSTANT(1) << class % 64;
    }
    out->bits = count_common(out->mask, out->mask);
    qsort(pool, out->n, sizeof(guint16), compare_pairs);
}

static void profiles_init(const AcrLines *lines, Profiles *out)
{
    gsize total = 1;
    for (gsize i = 0; i < lines->n; i++)
        total += MIN(lines->line[i].core, MAX_CHARS);
    *out = (Profiles){.line = g_new(Profile, lines->n + 1), .pool = g_new(guint16, total)};
    guint16 *pool = out->pool;
    for (gsize i = 0; i < lines->n; i++) {
        profile_line(&lines->line[i], &out->line[i], pool);
        pool += out->line[i].n;
    }
}

static void profiles_clear(Profiles *profiles)
{
    ACR_FREE(profiles->line, profiles->pool);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Profiles, profiles_clear)

static double dice(const Profile *a, const Profile *b)
{
    guint shared = 0;
    for (guint i = 0, j = 0; i < a->n && j < b->n;) {
        if (a->pair[i] == b->pair[j]) {
            shared++;
            i++;
            j++;
        } else if (a->pair[i] < b->pair[j]) {
            i++;
        } else {
            j++;
        }
    }
    return 2.0 * shared / (a->n + b->n);
}

/* Returns the similarity of two lines: 1 if they are equal without outer blanks, 0 if they are too
 * different. */
static float likeness(const AcrLine *a, const Profile *pa, const AcrLine *b, const Profile *pb)
{
    if (acr_line_same_core(a, b))
        return 1;
    guint less = MIN(pa->n, pb->n), more = MAX(pa->n, pb->n);
    if (less == 0 || 2.0 * less < MIN_LINE * (less + more) ||
        2 * count_common(pa->mask, pb->mask) < MIN(pa->bits, pb->bits))
        return 0;
    double score = dice(pa, pb);
    return score < MIN_LINE ? 0 : (float)MIN(score, 0.99);
}

double acr_line_likeness(const AcrLine *a, const AcrLine *b)
{
    guint16 pool[2 * MAX_CHARS];
    Profile pa, pb;
    profile_line(a, &pa, pool);
    profile_line(b, &pb, pool + MAX_CHARS);
    return likeness(a, &pa, b, &pb);
}

static float weight_of(const AcrLine *line)
{
    return (float)MIN(line->core, MAX_WEIGHT);
}

static bool keep_region(GArray *best, AcrRegion region, gsize max)
{
    for (guint k = 0; k < best->len; k++) {
        AcrRegion *other = &g_array_index(best, AcrRegion, k);
        if (region.first >= other->last || other->first >= region.last)
            continue;
        if (region.score <= other->score)
            return false;
        g_array_remove_index(best, k--);
    }
    guint at = 0;
    while (at < best->len && g_array_index(best, AcrRegion, at).score >= region.score)
        at++;
    if (at >= max)
        return false;
    g_array_insert_val(best, at, region);
    g_array_set_size(best, (guint)MIN(best->len, max));
    return true;
}

/* One cell of the alignment table. Cell n describes the best alignment of the first n lines of the
 * quote that ends at the current line of the file: the alignment's score, and the file line where
 * the alignment begins. */
typedef struct {
    float score;
    gsize start;
} Cell;

/* Adds line i of the file to the alignments: computes the row `now` from `old`, the row of the
 * previous line. */
static void step_row(const AcrLine *line, gsize i, const float *like, const AcrLines *quote,
                     const Cell *old, Cell *now)
{
    float gap = (float)GAP * weight_of(line);
    now[0] = (Cell){0, i + 1};
    for (gsize j = 1; j <= quote->n; j++) {
        float matched = old[j - 1].score + like[j - 1] * weight_of(&quote->line[j - 1]);
        now[j] = now[j - 1];
        if (old[j].score - gap > now[j].score)
            now[j] = (Cell){old[j].score - gap, old[j].start};
        if (like[j - 1] > 0 && matched > now[j].score)
            now[j] = (Cell){matched, old[j - 1].start};
    }
}

GArray *acr_similar_find(const AcrLines *text, const AcrLines *quote, gsize max)
{
    GArray *best = g_array_new(FALSE, FALSE, sizeof(AcrRegion));
    gsize n = quote->n;
    float total = 0;
    if (n == 0 || n > ACR_SIMILAR_MAX_QUOTE_LINES || text->n > ACR_SIMILAR_MAX_CELLS / n)
        return best;
    g_auto(Profiles) theirs = {0};
    g_auto(Profiles) ours = {0};
    profiles_init(text, &theirs);
    profiles_init(quote, &ours);
    for (gsize j = 0; j < n; j++)
        total += weight_of(&quote->line[j]);
    g_autofree Cell *cells = g_new0(Cell, 2 * (n + 1));
    g_autofree float *like = g_new(float, n);
    for (gsize i = 0; i < text->n && total > 0; i++) {
        Cell *now = cells + (i + 1) % 2 * (n + 1);
        for (gsize j = 0; j < n; j++)
            like[j] = likeness(&text->line[i], &theirs.line[i], &quote->line[j], &ours.line[j]);
        step_row(&text->line[i], i, like, quote, cells + i % 2 * (n + 1), now);
        double score = now[n].score / total;
        if (score > 0.3 && now[n].start <= i)
            keep_region(best, (AcrRegion){now[n].start, i + 1, score}, max + 2);
    }
    g_array_set_size(best, (guint)MIN(best->len, max));
    return best;
}

gssize *acr_similar_map(const AcrLines *text, const AcrLines *quote, const AcrRegion *region)
{
    AcrLines part = {.line = text->line + region->first, .n = region->last - region->first};
    gsize rows = part.n, n = quote->n, width = n + 1;
    gssize *map = g_new(gssize, 2 * n + 1);
    g_auto(Profiles) theirs = {0};
    g_auto(Profiles) ours = {0};
    profiles_init(&part, &theirs);
    profiles_init(quote, &ours);
    g_autofree float *score = g_new0(float, (rows + 1) * width);
    for (gsize i = rows; i-- > 0;)
        for (gsize j = n; j-- > 0;) {
            float like = likeness(&part.line[i], &theirs.line[i], &quote->line[j], &ours.line[j]);
            float taken = like > 0 ? score[(i + 1) * width + j + 1] +
                                         like * weight_of(&quote->line[j]) + 0.01f
                                   : 0;
            score[i * width + j] =
                MAX(taken, MAX(score[(i + 1) * width + j], score[i * width + j + 1]));
        }
    for (gsize j = 0; j < n; j++)
        map[j] = -1;
    for (gsize i = 0, j = 0; i < rows && j < n;) {
        float here = score[i * width + j];
        if (here <= score[(i + 1) * width + j])
            i++;
        else if (here <= score[i * width + j + 1])
            j++;
        else
            map[j++] = (gssize)(region->first + i++);
    }
    for (gsize j = 0; j < n; j++)
        map[n + j] = map[j] < 0 ? -1 : map[j] + 1;
    return map;
}
