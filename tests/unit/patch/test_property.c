/* Tests properties of random files in eleven encodings, with four kinds of line endings, tabs and
 * blanks, with or without a final line end. One line of a quoted region changes; the quote is
 * exact, or distorted in one way. In every case, the edit is refused, or every byte outside the
 * changed line stays. An exact quote with one place is always applied, and so is a minimum share of
 * each kind of distortion. The seed is fixed; ACR_PROPERTY_CASES sets the number of cases. */
#include <stdio.h>
#include <string.h>

#include "distort.h"
#include "support.h"

/* The number of places that equal the region, exactly or ignoring outer blanks. */
static guint count_places(const Case *c, bool exact)
{
    guint places = 0;
    for (guint i = 0; i + c->n <= c->file.lines->len; i++) {
        guint same = 0;
        while (same < c->n) {
            const char *a = line_at(&c->file, i + same), *b = line_at(&c->file, c->first + same);
            if (exact ? strcmp(a, b) != 0 : !same_core(a, b))
                break;
            same++;
        }
        places += same == c->n;
    }
    return places;
}

/* Whether the distorted quote matches another place exactly. */
static bool stands_elsewhere(const Case *c)
{
    guint n = c->original->len;
    for (guint i = 0; i + n <= c->file.lines->len; i++) {
        guint same = 0;
        while (same < n && same_core(line_at(&c->file, i + same), c->original->pdata[same]))
            same++;
        if (same == n && (i + n <= c->first || i >= c->first + c->n))
            return true;
    }
    return false;
}

/* ---- Running --------------------------------------------------------------------------------- */

static char *answer_of(const Case *c)
{
    g_autoptr(GString) text = g_string_new("<file>a.py</file>\n<original>\n");
    for (guint i = 0; i < c->original->len; i++)
        g_string_append_printf(text, "%s\n", (char *)c->original->pdata[i]);
    g_string_append(text, "</original>\n<patched>\n");
    for (guint i = 0; i < c->patched->len; i++)
        g_string_append_printf(text, "%s\n", (char *)c->patched->pdata[i]);
    g_string_append(text, "</patched>\n");
    return g_strdup(text->str);
}

static void show(const Case *c, guint k, const char *answer, GBytes *after)
{
    gsize len = 0;
    const char *data = g_bytes_get_data(after, &len);
    g_autofree char *text = random_file_text(&c->file, data, len);
    g_autoptr(GString) before = g_string_new(NULL);
    for (guint i = 0; i < c->file.lines->len; i++)
        g_string_append_printf(before, "%3u %s\n", i + 1, line_at(&c->file, i));
    g_test_message("%s, line %u, change %d\n%s\n%s\n%s", distortions[k].name, c->at + 1, c->kind, before->str, answer,
                   text ? text : "not of the encoding");
}

/* Whether `after` begins with the file's lines [0, to) and ends with its lines [from, n). */
static bool stands_around(const Case *c, GBytes *after, guint to, guint from, char **out_middle)
{
    g_autoptr(GBytes) head = random_file_bytes(&c->file, 0, to);
    g_autoptr(GBytes) tail = random_file_bytes(&c->file, from, c->file.lines->len);
    gsize len = 0, head_len = 0, tail_len = 0;
    const guint8 *data = g_bytes_get_data(after, &len);
    const guint8 *h = g_bytes_get_data(head, &head_len), *t = g_bytes_get_data(tail, &tail_len);
    if (len < head_len + tail_len || (head_len > 0 && memcmp(data, h, head_len)) ||
        (tail_len > 0 && memcmp(data + len - tail_len, t, tail_len)))
        return false;
    *out_middle = random_file_text(&c->file, data + head_len, len - head_len - tail_len);
    return true;
}

/* Whether `after` is the file with the change and its indentation. *out_outside: whether the bytes
 * outside the quoted lines are unchanged. */
static bool is_wanted(const Case *c, GBytes *after, bool *out_outside)
{
    g_autofree char *span = NULL;
    g_autofree char *middle = NULL;
    guint to = c->at + (c->kind == CHANGE_INSERT);
    *out_outside = stands_around(c, after, c->first, c->first + c->n, &span) && span;
    return stands_around(c, after, to, c->at + 1, &middle) && middle &&
           strcmp(g_strchomp(middle), c->kind == CHANGE_DELETE ? "" : c->changed) == 0;
}

typedef struct {
    guint tried[N_DISTORTIONS], landed[N_DISTORTIONS], bent[N_DISTORTIONS];
} Tally;

/* Writes without syncing, because there are many files. */
static void write_fast(const Fixture *fixture, const char *name, const void *data, gsize len)
{
    g_autofree char *path = g_build_filename(fixture->dir, name, NULL);
    FILE *out = fopen(path, "wb");
    g_assert_nonnull(out);
    g_assert_cmpuint(fwrite(data, 1, len, out), ==, len);
    g_assert_cmpint(fclose(out), ==, 0);
}

/* Applies an answer to a folder with the file; returns the status of its edit. */
static AcrEditStatus apply(const Case *c, const char *answer, Fixture *fixture, AcrPatchResult *out)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) before = random_file_bytes(&c->file, 0, c->file.lines->len);
    gsize len = 0;
    const void *data = g_bytes_get_data(before, &len);
    fixture_init(fixture);
    write_fast(fixture, "a.py", data, len);
    fixture->repo = acr_repo_open(fixture->dir, &error);
    fixture->snapshot = acr_snapshot_of_worktree(fixture->repo, &error);
    g_assert_no_error(error);
    AcrPatchContext context = {.snapshot = fixture->snapshot, .referee = stub_referee()};
    assert_ok(acr_patch_apply(&context, answer, strlen(answer), out, &error), error);
    const AcrEditOutcome *outcome = out->edits->pdata[0];
    return outcome->status;
}

static void check_case(Case *c, guint k, Tally *tally)
{
    g_auto(Fixture) fixture = {0};
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *answer = answer_of(c);
    bool once = count_places(c, k == 0) == 1, outside = false;
    AcrEditStatus status = apply(c, answer, &fixture, &result);
    if (!once && k == 0)
        g_assert_cmpint(status, !=, ACR_EDIT_APPLIED);
    if (!once || (k > 0 && stands_elsewhere(c)))
        return;
    if (status == ACR_EDIT_APPLIED && !result.overlay)
        return; /* the requested change does not compile */
    tally->tried[k]++;
    if (status != ACR_EDIT_APPLIED) {
        g_assert_cmpuint(k, >, 0);
        return;
    }
    g_autoptr(GBytes) after = made(acr_overlay_read(result.overlay, "a.py", &error), error);
    bool wanted = is_wanted(c, after, &outside);
    if (!outside || (!wanted && k == 0))
        show(c, k, answer, after);
    g_assert_true(outside);
    g_assert_true(wanted || k > 0);
    tally->landed[k] += wanted;
    tally->bent[k] += !wanted;
}

static guint64 wanted_cases(void)
{
    const char *wanted = g_getenv("ACR_PROPERTY_CASES");
    return wanted ? g_ascii_strtoull(wanted, NULL, 10) : 4000;
}

TEST("/patch/property", distorted_quotes_land_or_are_refused)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(20240229);
    Tally tally = {0};
    for (guint64 done = 0, all = wanted_cases(); done < all;) {
        guint k = (guint)(done % N_DISTORTIONS);
        g_auto(Case) c = {0};
        case_init(&c, rand);
        if (!distortions[k].distort(&c, rand))
            continue;
        check_case(&c, k, &tally);
        done++;
    }
    for (guint k = 0; k < N_DISTORTIONS; k++) {
        guint n = MAX(tally.tried[k], 1);
        g_test_message("%-24s %6u cases, landed %5.1f %%, indented otherwise %4.1f %%", distortions[k].name,
                       tally.tried[k], 100.0 * tally.landed[k] / n, 100.0 * tally.bent[k] / n);
    }
    for (guint k = 0; k < N_DISTORTIONS; k++)
        g_assert_cmpuint(tally.landed[k] * 100, >=, distortions[k].floor * tally.tried[k]);
}

/* ---- Ambiguity ------------------------------------------------------------------------------- */

/* Makes a file in which the region occurs in several functions, `method_0` and following.
 * *out_first is the line of the first region, 1-based; each next one is n + 1 lines below. */
static void repeat_region(const Case *c, guint times, RandomFile *out, guint *out_first)
{
    *out = (RandomFile){
        .lines = g_ptr_array_new_with_free_func(g_free), .ends = g_ptr_array_new(), .encoding = c->file.encoding};
    const char *lead = c->file.tabs ? "\t" : "    ";
    const char *head = c->file.encoding->cookie ? line_at(&c->file, 0) : "# methods";
    g_ptr_array_add(out->lines, g_strdup(head));
    *out_first = out->lines->len + 1;
    for (guint t = 0; t < times; t++) {
        g_ptr_array_add(out->lines, g_strdup_printf("def method_%u(self):", t));
        for (guint i = 0; i < c->n; i++)
            g_ptr_array_add(out->lines, g_strconcat(lead, line_at(&c->file, c->first + i), NULL));
    }
    for (guint i = 0; i < out->lines->len; i++)
        g_ptr_array_add(out->ends, (gpointer)(c->file.line_end == 1 ? "\r\n" : "\n"));
}

typedef enum {
    BY_NOTHING,
    BY_WORDS,
    BY_HINT,
    BY_WIDE_HINT, /* a hint that covers all places */
} Decision;

static void open_many(const RandomFile *many, Fixture *fixture)
{
    g_autoptr(GBytes) before = random_file_bytes(many, 0, many->lines->len);
    gsize len = 0;
    const void *data = g_bytes_get_data(before, &len);
    fixture_init(fixture);
    write_fast(fixture, "a.py", data, len);
    fixture_open(fixture);
}

/* Checks an edit with several equal places: it must be applied if the words before the edit, or the
 * located bug, name one place; otherwise it must be refused. */
static bool check_equal_places(Case *c, GRand *rand, guint k, Decision decision)
{
    g_auto(Fixture) fixture = {0};
    g_auto(AcrPatchResult) result = {0};
    g_auto(RandomFile) many = {0};
    g_autoptr(GError) error = NULL;
    guint times = (guint)g_rand_int_range(rand, 2, 6), first = 0, step = c->n + 1;
    guint meant = (guint)g_rand_int_range(rand, 0, (gint)times);
    repeat_region(c, times, &many, &first);
    if (!distortions[k].distort(c, rand))
        return false;
    g_autofree char *edit = answer_of(c);
    g_autofree char *words =
        decision == BY_WORDS ? g_strdup_printf("In `method_%u`:", meant) : g_strdup("Here is the change.");
    g_autofree char *answer = g_strconcat(words, "\n", edit, NULL);
    AcrPatchHint hint = {"a.py", first, first + times * step};
    if (decision == BY_HINT)
        hint = (AcrPatchHint){"a.py", first + meant * step, first + (meant + 1) * step - 1};
    open_many(&many, &fixture);
    AcrPatchContext context = {
        .snapshot = fixture.snapshot, .index = fixture.index, .hints = &hint, .n_hints = decision >= BY_HINT};
    assert_ok(acr_patch_apply(&context, answer, strlen(answer), &result, &error), error);
    const AcrEditOutcome *outcome = result.edits->pdata[0];
    AcrEditStatus expected = decision == BY_WORDS || decision == BY_HINT ? ACR_EDIT_APPLIED : ACR_EDIT_AMBIGUOUS;
    if (k == 0 && outcome->status != expected)
        g_test_message("decision %d, method_%u\n%s\n%s", (int)decision, meant, answer, result.message);
    if (k == 0)
        g_assert_cmpint(outcome->status, ==, expected);
    if (outcome->status != ACR_EDIT_APPLIED)
        return true;
    g_assert_true(decision == BY_WORDS || decision == BY_HINT);
    g_assert_cmpuint(outcome->start, >, first + meant * step);
    g_assert_cmpuint(outcome->end, <, first + (meant + 1) * step);
    return true;
}

/* Whether the region has block headers, or ends with comments, which may lie outside the
 * function. */
static bool says_too_much(const GPtrArray *lines)
{
    const char *last = lines->pdata[lines->len - 1];
    if (last[lead_of(last)] == '#')
        return true;
    for (guint i = 0; i < lines->len; i++)
        if (opens_block(lines->pdata[i]))
            return true;
    return false;
}

/* Covers all distortions except line numbers, which tell the place. */
TEST("/patch/property", equal_places_are_never_guessed)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(20240301);
    for (guint64 done = 0, all = wanted_cases() / 8; done < all;) {
        g_auto(Case) c = {0};
        guint k = (guint)(done % N_DISTORTIONS);
        case_init(&c, rand);
        if (strcmp(distortions[k].name, "line numbers") == 0)
            done++;
        else if (c.file.line_end <= 1 && !says_too_much(c.original) && c.first > 0 &&
                 lead_of(c.original->pdata[0]) == least_lead(c.original))
            done += check_equal_places(&c, rand, k, (Decision)(done / N_DISTORTIONS % 4));
    }
}
