/*
 * Similarity: which lines of a file are most like the quoted ones.
 *
 * Two lines are as alike as their character pairs (Dice coefficient over bigrams of the text
 * without outer blanks); the quote is fitted into the file by dynamic programming over lines, in
 * which a line may be missing on either side at a cost. A line weighs as much as it is long, up to
 * a bound, so that brackets and blank lines decide nothing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "patch/match_private.h"

#define MAX_CHARS 400u /* of a line that are compared */
#define MAX_WEIGHT 60u
#define MASK_WORDS 4u       /* of 64 classes each */
#define EXACT_CELLS 200000u /* a larger table is first filled by classes of pairs only */
#define CANDIDATES 6u /* regions of that table that are looked at exactly, beside those asked */
#define MIN_LINE 0.55 /* two lines less alike than this are different lines */
#define GAP 0.6       /* cost of a line of the file that the quote lacks, in parts of its weight */

typedef struct {
    guint16 *pair; /* sorted; into the pool */
    guint n;
    guint64 mask[MASK_WORDS]; /* which classes of pairs occur */
    guint bits;               /* how many */
    guint64 hash;
} Profile;

typedef struct {
    Profile *line;
    guint16 *pool;
} Profiles;

static int compare_pairs(const void *a, const void *b)
{
    return (int)*(const guint16 *)a - (int)*(const guint16 *)b;
}

/* Bits set in all words; in parallel, since not every processor counts them by itself. */
static guint count_bits(const guint64 word[MASK_WORDS])
{
    const guint64 odd = G_GUINT64_CONSTANT(0x5555555555555555),
                  pairs = G_GUINT64_CONSTANT(0x3333333333333333),
                  nibbles = G_GUINT64_CONSTANT(0x0f0f0f0f0f0f0f0f),
                  bytes = G_GUINT64_CONSTANT(0x00ff00ff00ff00ff);
    guint64 sum = 0;
    for (guint i = 0; i < MASK_WORDS; i++) {
        guint64 x = word[i] - (word[i] >> 1 & odd);
        x = (x & pairs) + (x >> 2 & pairs);
        sum += (x + (x >> 4)) & nibbles;
    }
    sum = (sum & bytes) + (sum >> 8 & bytes);
    return (guint)(sum * G_GUINT64_CONSTANT(0x0001000100010001) >> 48);
}

static void profile_line(const AcrLine *line, Profile *out, guint16 *pool)
{
    gsize len = MIN(line->core, MAX_CHARS);
    const guchar *s = (const guchar *)line->s + line->lead;
    *out = (Profile){.pair = pool, .hash = 0xcbf29ce484222325u};
    for (gsize i = 0; i < len; i++)
        out->hash = (out->hash ^ s[i]) * 0x100000001b3u;
    for (gsize i = 0; i + 1 < len; i++) {
        guint16 pair = (guint16)(s[i] << 8 | s[i + 1]);
        pool[out->n++] = pair;
        guint class = (pair * 40503u >> 4) % (MASK_WORDS * 64);
        out->mask[class / 64] |= G_GUINT64_CONSTANT(1) << class % 64;
    }
    out->bits = count_bits(out->mask);
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
    g_free(profiles->line);
    g_free(profiles->pool);
}

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

static guint shared_classes(const Profile *a, const Profile *b)
{
    guint64 both[MASK_WORDS];
    for (guint i = 0; i < MASK_WORDS; i++)
        both[i] = a->mask[i] & b->mask[i];
    return count_bits(both);
}

/* 1 for equal cores, 0 for lines that are too different to be the same; `rough`: by the classes of
 * pairs alone. */
static float likeness(const AcrLine *a, const Profile *pa, const AcrLine *b, const Profile *pb,
                      bool rough)
{
    if (pa->hash == pb->hash && acr_line_same_core(a, b))
        return 1;
    guint less = MIN(pa->n, pb->n), more = MAX(pa->n, pb->n);
    if (less == 0 || 2.0 * less < MIN_LINE * (less + more))
        return 0;
    guint shared = shared_classes(pa, pb);
    if (2 * shared < MIN(pa->bits, pb->bits))
        return 0;
    double score = rough ? 2.0 * shared / (pa->bits + pb->bits) : dice(pa, pb);
    return score < MIN_LINE ? 0 : (float)MIN(score, 0.99);
}

double acr_line_likeness(const AcrLine *a, const AcrLine *b)
{
    guint16 pool[2 * MAX_CHARS];
    Profile pa, pb;
    profile_line(a, &pa, pool);
    profile_line(b, &pb, pool + MAX_CHARS);
    return likeness(a, &pa, b, &pb, false);
}

static float weight_of(const AcrLine *line)
{
    return (float)MIN(line->core, MAX_WEIGHT);
}

/* The table of the fitting: for each number of quote lines used, the best score that ends here, and
 * where it began. */
typedef struct {
    float *score;
    gsize *start;
} Row;

typedef struct {
    const AcrLines *text, *quote;
    Profiles text_profiles, quote_profiles;
    float total; /* weight of the quote */
    bool rough;
    gsize first, band; /* lines are compared that are at most `band` off their place from `first`
                          on; 0: all */
} Fitting;

static void fitting_init(Fitting *f, const AcrLines *text, const AcrLines *quote)
{
    *f = (Fitting){.text = text, .quote = quote};
    profiles_init(text, &f->text_profiles);
    profiles_init(quote, &f->quote_profiles);
    for (gsize j = 0; j < quote->n; j++)
        f->total += weight_of(&quote->line[j]);
}

static void fitting_clear(Fitting *f)
{
    profiles_clear(&f->text_profiles);
    profiles_clear(&f->quote_profiles);
}

static float like_at(const Fitting *f, gsize i, gsize j)
{
    if (f->band > 0 && (i + f->band < f->first + j || i > f->first + j + f->band))
        return 0;
    return likeness(&f->text->line[i], &f->text_profiles.line[i], &f->quote->line[j],
                    &f->quote_profiles.line[j], f->rough);
}

/* One file line more: from `old` (before line i) to `now` (after it). */
static void step(const Fitting *f, gsize i, const Row *old, Row *now)
{
    float gap = (float)GAP * weight_of(&f->text->line[i]);
    now->score[0] = 0;
    now->start[0] = i + 1;
    for (gsize j = 1; j <= f->quote->n; j++) {
        float like = like_at(f, i, j - 1);
        now->score[j] = now->score[j - 1];
        now->start[j] = now->start[j - 1];
        if (old->score[j] - gap > now->score[j]) {
            now->score[j] = old->score[j] - gap;
            now->start[j] = old->start[j];
        }
        float matched = old->score[j - 1] + like * weight_of(&f->quote->line[j - 1]);
        if (like > 0 && matched > now->score[j]) {
            now->score[j] = matched;
            now->start[j] = old->start[j - 1];
        }
    }
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

/* Fits the quote into lines [from, to) of the text; keeps the best regions. */
static void fit_lines(const Fitting *f, gsize from, gsize to, GArray *best, gsize max)
{
    gsize n = f->quote->n;
    g_autofree float *scores = g_new0(float, 2 * (n + 1));
    g_autofree gsize *starts = g_new0(gsize, 2 * (n + 1));
    Row rows[2] = {{scores, starts}, {scores + n + 1, starts + n + 1}};
    for (gsize j = 0; j <= n; j++)
        starts[j] = starts[n + 1 + j] = from;
    for (gsize i = from; i < to && f->total > 0; i++) {
        Row *now = &rows[(i - from + 1) % 2];
        step(f, i, &rows[(i - from) % 2], now);
        double score = now->score[n] / f->total;
        if (score > 0.3 && now->start[n] <= i)
            keep_region(best, (AcrRegion){now->start[n], i + 1, score}, max);
    }
}

/* The regions found roughly, each fitted exactly with the lines around it. */
static void fit_candidates(Fitting *f, const GArray *rough, GArray *best, gsize max)
{
    gsize around = f->quote->n / 16 + 16;
    for (guint i = 0; i < rough->len; i++) {
        AcrRegion region = g_array_index(rough, AcrRegion, i);
        f->first = region.first;
        f->band = 2 * around;
        fit_lines(f, region.first > around ? region.first - around : 0,
                  MIN(f->text->n, region.last + around), best, max);
    }
}

GArray *acr_similar_find(const AcrLines *text, const AcrLines *quote, gsize max)
{
    GArray *best = g_array_new(FALSE, FALSE, sizeof(AcrRegion));
    gsize n = quote->n;
    if (n == 0 || n > ACR_SIMILAR_MAX_QUOTE_LINES || text->n > ACR_SIMILAR_MAX_CELLS / n)
        return best;
    Fitting f;
    fitting_init(&f, text, quote);
    f.rough = text->n * n > EXACT_CELLS;
    if (f.rough) {
        g_autoptr(GArray) rough = g_array_new(FALSE, FALSE, sizeof(AcrRegion));
        fit_lines(&f, 0, text->n, rough, max + CANDIDATES);
        f.rough = false;
        fit_candidates(&f, rough, best, max + 2);
    } else {
        fit_lines(&f, 0, text->n, best, max + 2);
    }
    g_array_set_size(best, (guint)MIN(best->len, max));
    fitting_clear(&f);
    return best;
}

gssize *acr_similar_map(const AcrLines *text, const AcrLines *quote, const AcrRegion *region)
{
    AcrLines part = {.line = text->line + region->first, .n = region->last - region->first};
    gsize rows = part.n, n = quote->n, width = n + 1;
    gssize *map = g_new(gssize, 2 * n + 1);
    Fitting f;
    fitting_init(&f, &part, quote);
    g_autofree float *score = g_new0(float, (rows + 1) * width);
    for (gsize i = rows; i-- > 0;)
        for (gsize j = n; j-- > 0;) {
            float like = like_at(&f, i, j);
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
    fitting_clear(&f);
    return map;
}
