/*
 * Properties, on random files in several encodings and kinds of line ending: bytes outside the
 * quoted lines stay, an exact quote that stands once lands, one that stands several times never
 * does. The seed is fixed; ACR_PROPERTY_CASES raises the number of cases.
 */
#include <string.h>

#include "support.h"

static const char *const words[] = {
    "alpha", "beta",  "gamma", "self.x", "value", "items[0]", "call(1)", "\xc3\xa9t\xc3\xa9",
    "not y", "total", "a, b",  "'text'", "None",  "x**2",     "y == 3",  "\xc3\xbc"};
static const char *const eols[] = {"\n", "\r\n", "\r"};

typedef struct {
    GPtrArray *lines; /* without line ends, UTF-8 */
    GPtrArray *ends;  /* borrowed */
    bool bom, latin;
} RandomFile;

static char *random_line(GRand *rand, bool tabs, guint n)
{
    g_autoptr(GString) line = g_string_new(NULL);
    gint depth = g_rand_int_range(rand, 0, 4);
    if (g_rand_int_range(rand, 0, 10) == 0)
        return g_strdup(g_rand_boolean(rand) ? "" : "    ");
    for (gint i = 0; i < depth; i++)
        g_string_append(line, tabs ? "\t" : "    ");
    g_string_append_printf(line, "%s = %s", words[g_rand_int_range(rand, 0, G_N_ELEMENTS(words))],
                           words[g_rand_int_range(rand, 0, G_N_ELEMENTS(words))]);
    if (g_rand_boolean(rand))
        g_string_append_printf(line, " # %u", n);
    if (g_rand_int_range(rand, 0, 12) == 0)
        g_string_append(line, "  ");
    return g_strdup(line->str);
}

static void random_file(GRand *rand, RandomFile *out)
{
    gint n = g_rand_int_range(rand, 3, 40), kind = g_rand_int_range(rand, 0, 5);
    bool tabs = g_rand_boolean(rand);
    *out = (RandomFile){g_ptr_array_new_with_free_func(g_free), g_ptr_array_new(),
                        g_rand_int_range(rand, 0, 4) == 0, false};
    out->latin = !out->bom && g_rand_int_range(rand, 0, 3) == 0;
    if (out->latin) {
        g_ptr_array_add(out->lines, g_strdup("# -*- coding: latin-1 -*-"));
        g_ptr_array_add(out->ends, (gpointer)eols[kind % 3]);
    }
    for (gint i = 0; i < n; i++) {
        g_ptr_array_add(out->lines, random_line(rand, tabs, (guint)i));
        g_ptr_array_add(out->ends,
                        (gpointer)(kind < 3 ? eols[kind] : eols[g_rand_int_range(rand, 0, 3)]));
    }
    for (guint i = 1; i < out->lines->len; i++) /* CR, nothing, LF would be one line end */
        if (strcmp(out->ends->pdata[i - 1], "\r") == 0 && *(char *)out->lines->pdata[i] == '\0')
            out->ends->pdata[i] = (gpointer)eols[2];
    guint last = out->lines->len - 1;
    bool bare = g_rand_int_range(rand, 0, 3) == 0;
    if (bare && *(char *)out->lines->pdata[last])
        out->ends->pdata[last] = "";
}

static void random_file_clear(RandomFile *file)
{
    g_ptr_array_unref(file->lines);
    g_ptr_array_unref(file->ends);
}

static GBytes *encode(const RandomFile *file, guint from, guint to)
{
    g_autoptr(GString) text = g_string_new(file->bom && from == 0 ? "\xef\xbb\xbf" : "");
    for (guint i = from; i < to; i++)
        g_string_append_printf(text, "%s%s", (char *)file->lines->pdata[i],
                               (char *)file->ends->pdata[i]);
    if (!file->latin)
        return g_string_free_to_bytes(g_steal_pointer(&text));
    gsize len = 0;
    char *latin = g_convert(text->str, (gssize)text->len, "ISO-8859-1", "UTF-8", NULL, &len, NULL);
    return g_bytes_new_take(latin, len);
}

static guint count_places(const RandomFile *file, guint first, guint n)
{
    guint places = 0;
    for (guint i = 0; i + n <= file->lines->len; i++) {
        guint same = 0;
        while (same < n &&
               strcmp(file->lines->pdata[i + same], file->lines->pdata[first + same]) == 0)
            same++;
        places += same == n;
    }
    return places;
}

static char *quote(const RandomFile *file, guint first, guint n)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = first; i < first + n; i++)
        g_string_append_printf(text, "%s\n", (char *)file->lines->pdata[i]);
    return g_strdup(text->str);
}

static bool has_code(const RandomFile *file, guint first, guint n)
{
    for (guint i = first; i < first + n; i++)
        if (((char *)file->lines->pdata[i])[strspn(file->lines->pdata[i], " \t")])
            return true;
    return false;
}

static void check_outside(GBytes *after, GBytes *head, GBytes *tail)
{
    gsize len = 0, head_len = 0, tail_len = 0;
    const guint8 *data = g_bytes_get_data(after, &len);
    const guint8 *h = g_bytes_get_data(head, &head_len), *t = g_bytes_get_data(tail, &tail_len);
    g_assert_cmpuint(len, >=, head_len + tail_len);
    g_assert_cmpmem(data, head_len, h ? h : (const guint8 *)"", head_len);
    g_assert_cmpmem(data + len - tail_len, tail_len, t ? t : (const guint8 *)"", tail_len);
}

/* Two of what each case may do to the quote: nothing, or shift it as a whole. */
static char *distort(GRand *rand, const char *text, bool *out_exact)
{
    *out_exact = g_rand_boolean(rand);
    if (*out_exact)
        return g_strdup(text);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) out = g_string_new(NULL);
    for (guint i = 0; lines[i] && lines[i + 1]; i++)
        g_string_append_printf(out, "%s%s%s\n", *lines[i] ? "        " : "", lines[i],
                               i % 2 ? "" : " ");
    return g_strdup(out->str);
}

static void check_case(GRand *rand, const RandomFile *file, guint first, guint n)
{
    g_auto(Fixture) fixture = {0};
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GError) error = NULL;
    bool exact = false;
    g_autofree char *plain = quote(file, first, n), *original = distort(rand, plain, &exact);
    g_autofree char *answer = g_strdup_printf(
        "<file>a.py</file>\n<original>\n%s</original>\n<patched>\n%snew = 1\nmore = 2\n"
        "</patched>\n",
        original, g_rand_boolean(rand) ? original : "");
    g_autoptr(GBytes) before = encode(file, 0, file->lines->len), head = encode(file, 0, first);
    g_autoptr(GBytes) tail = encode(file, first + n, file->lines->len);
    gsize len = 0;
    const void *data = g_bytes_get_data(before, &len);
    fixture_init(&fixture);
    fixture_write(&fixture, "a.py", data, len);
    fixture.repo = acr_repo_open(fixture.dir, &error);
    fixture.snapshot = acr_snapshot_of_worktree(fixture.repo, &error);
    g_assert_no_error(error);
    AcrPatchContext context = {.snapshot = fixture.snapshot};
    g_assert_true(acr_patch_apply(&context, answer, strlen(answer), &result, &error));
    g_assert_no_error(error);
    const AcrEditOutcome *outcome = result.edits->pdata[0];
    if (count_places(file, first, n) > 1) {
        g_assert_cmpint(outcome->status, ==, ACR_EDIT_AMBIGUOUS);
        return;
    }
    if (exact)
        g_assert_cmpint(outcome->status, ==, ACR_EDIT_APPLIED);
    if (outcome->status != ACR_EDIT_APPLIED || !result.overlay || outcome->start != first + 1)
        return;
    g_autoptr(GBytes) after = acr_overlay_read(result.overlay, "a.py", &error);
    g_assert_no_error(error);
    check_outside(after, head, tail);
}

static void test_bytes_outside_the_quote_stay(void)
{
    const char *wanted = g_getenv("ACR_PROPERTY_CASES");
    guint64 cases = wanted ? g_ascii_strtoull(wanted, NULL, 10) : 1500;
    g_autoptr(GRand) rand = g_rand_new_with_seed(20240229);
    guint64 done = 0;
    while (done < cases) {
        RandomFile file;
        random_file(rand, &file);
        guint first = (guint)g_rand_int_range(rand, 0, (gint)file.lines->len);
        guint n = (guint)g_rand_int_range(rand, 1, (gint)MIN(file.lines->len - first, 6) + 1);
        if (has_code(&file, first, n)) {
            check_case(rand, &file, first, n);
            done++;
        }
        random_file_clear(&file);
    }
}

void add_property_tests(void)
{
    g_test_add_func("/patch/property/bytes_outside_the_quote_stay",
                    test_bytes_outside_the_quote_stay);
}
