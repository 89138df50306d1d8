/* Tests of limits: answers and files much larger than models write must take bounded time. */
#include <string.h>
#include <time.h>

#include "support.h"

/* Limits CPU time, which other processes do not affect, but sanitizers and missing optimisation
 * do. */
#define BOUND_S 200.0 /* nonlinear code takes hours */

static double apply_seconds(Fixture *fixture, const char *answer, gsize len, AcrPatchResult *out)
{
    g_autoptr(GError) error = NULL;
    AcrPatchContext context = {.snapshot = fixture->snapshot, .index = fixture->index, .referee = stub_referee()};
    clock_t from = clock();
    assert_ok(acr_patch_apply(&context, answer, len, out, &error), error);
    double seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
    g_test_message("%.3f s", seconds);
    return seconds;
}

static void make_big_file(Fixture *fixture, guint n)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < n; i++)
        g_string_append_printf(text, "value_%u = compute(%u, 'some text') + other_%u\n", i, i * 7, i % 13);
    fixture_init(fixture);
    fixture_write(fixture, "big.py", text->str, text->len);
    fixture_open(fixture);
}

TEST("/patch/limits", ten_thousand_edits_are_bounded)
{
    g_auto(Fixture) fixture = {0};
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) answer = g_string_new(NULL);
    make_big_file(&fixture, 2000);
    for (guint i = 0; i < 10000; i++)
        g_string_append_printf(
            answer, "<file>big.py</file>\n<original>value_%u = compute(</original>\n<patched>a</patched>\n", i);
    g_assert_cmpfloat(apply_seconds(&fixture, answer->str, answer->len, &result), <, BOUND_S);
    g_assert_cmpint(result.status, ==, ACR_RAW_PATCH_BUT_UNMATCHED);
    g_assert_cmpuint(result.edits->len, ==, ACR_PATCH_MAX_EDITS + 1);
    const AcrEditOutcome *last = result.edits->pdata[ACR_PATCH_MAX_EDITS];
    g_assert_nonnull(strstr(last->why, "too many edits"));
}

#define LONG_ANSWER_BYTES (2u << 20) /* nonlinear code takes an hour */

/* Appends a piece until the answer is long, in blocks, because a call for each piece would take
 * seconds. */
static void fill(GString *answer, const char *piece)
{
    g_autoptr(GString) block = g_string_new(NULL);
    while (block->len < 64 * 1024)
        g_string_append(block, piece);
    while (answer->len < LONG_ANSWER_BYTES)
        g_string_append_len(answer, block->str, (gssize)block->len);
}

TEST("/patch/limits", long_answer_is_bounded)
{
    static const char *const pieces[] = {"<", "<original>\n", "a\n", "</original>", "<patched>", "```\n", " "};
    for (gsize k = 0; k < G_N_ELEMENTS(pieces); k++) {
        g_auto(Fixture) fixture = {0};
        g_auto(AcrPatchResult) result = {0};
        g_autoptr(GString) answer = g_string_new("<file>big.py</file>\n<original>\n");
        make_big_file(&fixture, 100);
        fill(answer, pieces[k]);
        g_string_append(answer, "\n</original>\n<patched>\nx\n</patched>\n");
        g_assert_cmpfloat(apply_seconds(&fixture, answer->str, answer->len, &result), <, BOUND_S);
        g_assert_cmpint(result.status, !=, ACR_APPLICABLE_PATCH);
        g_assert_cmpuint(strlen(result.message), <=, ACR_PATCH_MAX_MESSAGE);
    }
}

/* A head, a piece that is repeated until the answer is long, and a tail. */
static const char *const long_answers[][3] = {
    {"big.py\n", "<<<<<<< SEARCH\n=======\n", ""},
    {"big.py\n<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n"},
    {"big.py\n<<<<<<< SEARCH\n", "<<<<<<< HEAD\n", ""},
    {"```diff\n--- a/big.py\n+++ b/big.py\n", "@@ -1 +1 @@\n-a\n+b\n", "```\n"},
    {"--- a/big.py\n+++ b/big.py\n@@ -1 +1 @@\n", " a\n-b\n+c\n", ""},
    {"--- a/big.py\n+++ b/big.py\n@@ -1 +1 @@\n", "--- a\n", ""},
    {"", "diff --git a/x b/x\n", ""},
    {"", "a new file `x/y.py`\n```python\n", ""},
    {"a new file `x/y.py`\n```\n", "```a\n", ""},
    {"", "a/", "\n```python\nx\n```\n"},
    {"", "<file path=\"", ""},
    {"<original>", "<original>\n</patched>\n", ""},
    {"&lt;original", "&lt;&amp;", ""}};

TEST("/patch/limits", answers_of_all_forms_are_bounded)
{
    g_auto(Fixture) fixture = {0};
    make_big_file(&fixture, 100);
    for (gsize k = 0; k < G_N_ELEMENTS(long_answers); k++) {
        g_auto(AcrPatchResult) result = {0};
        g_autoptr(GString) answer = g_string_new(long_answers[k][0]);
        fill(answer, long_answers[k][1]);
        g_string_append(answer, long_answers[k][2]);
        g_assert_cmpfloat(apply_seconds(&fixture, answer->str, answer->len, &result), <, BOUND_S);
        g_assert_cmpint(result.status, !=, ACR_APPLICABLE_PATCH);
        g_assert_cmpuint(result.edits->len, <=, ACR_PATCH_MAX_EDITS + 1);
    }
}

TEST("/patch/limits", edits_not_found_in_a_big_file_are_bounded)
{
    g_auto(Fixture) fixture = {0};
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) answer = g_string_new("<file>big.py</file>\n");
    make_big_file(&fixture, 20000);
    for (guint i = 0; i < 900; i++)
        g_string_append_printf(answer,
                               "<original>\nvalue_%u = compute(%u)\nother(%u)\n</original>\n"
                               "<patched>\na\n</patched>\n",
                               i, i, i);
    g_assert_cmpfloat(apply_seconds(&fixture, answer->str, answer->len, &result), <, BOUND_S);
    g_assert_cmpint(result.status, ==, ACR_RAW_PATCH_BUT_UNMATCHED);
    const AcrEditOutcome *last = result.edits->pdata[899];
    g_assert_nonnull(strstr(last->why, "did not search for this one"));
}

TEST("/patch/limits", answer_that_is_cut_is_refused)
{
    g_auto(Fixture) fixture = {0};
    g_auto(AcrPatchResult) result = {0};
    make_big_file(&fixture, 10);
    g_autoptr(GString) answer =
        g_string_new("<file>big.py</file>\n<original>value_1 = </original>\n<patched>v = </patched>\n");
    while (answer->len <= ACR_PATCH_MAX_ANSWER)
        g_string_append(answer, "and so on, and so on, and so on\n");
    g_assert_cmpfloat(apply_seconds(&fixture, answer->str, answer->len, &result), <, BOUND_S);
    g_assert_cmpint(result.status, ==, ACR_RAW_PATCH_BUT_UNMATCHED);
    g_assert_nonnull(strstr(result.message, "is too long"));
}

FIXTURE_TEST("/patch/limits", line_of_ten_megabytes_is_bounded)
{
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) text = g_string_new("x = '");
    while (text->len < 10u * 1024 * 1024)
        g_string_append(text, "ab");
    g_string_append(text, "'\ny = 1\n");
    fixture_write(fixture, "long.py", text->str, text->len);
    fixture_open(fixture);
    const char *answer = "<file>long.py</file><original>y = 1</original><patched>y = 2</patched>";
    g_assert_cmpfloat(apply_seconds(fixture, answer, strlen(answer), &result), <, BOUND_S);
    g_assert_cmpint(result.status, ==, ACR_APPLICABLE_PATCH);
    g_auto(AcrPatchResult) refused = {0};
    const char *many = "<file>long.py</file><original>ba</original><patched>y = 2</patched>";
    g_assert_cmpfloat(apply_seconds(fixture, many, strlen(many), &refused), <, BOUND_S);
    g_assert_cmpint(refused.status, ==, ACR_RAW_PATCH_BUT_UNMATCHED);
}

FIXTURE_TEST("/patch/limits", quote_far_longer_than_its_file_is_nowhere)
{
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) answer = g_string_new("<file>a.py</file>\n<original>\nx = 1\n");
    fixture_write(fixture, "a.py", "x = 1\ny = 2\n", 12);
    fixture_open(fixture);
    while (answer->len < 100000)
        g_string_append(answer, "z = 3  # copied with it\n");
    g_string_append(answer, "</original>\n<patched>\nx = 4\n</patched>\n");
    apply_seconds(fixture, answer->str, answer->len, &result);
    const AcrEditOutcome *edit = result.edits->pdata[0];
    g_assert_cmpint(edit->status, ==, ACR_EDIT_UNMATCHED);
    g_assert_cmpint(edit->level, ==, ACR_LEVEL_NONE);
}

FIXTURE_TEST("/patch/limits", equal_lines_are_bounded)
{
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) text = g_string_new(NULL), answer = g_string_new("<file>same.py</file><original>");
    for (guint i = 0; i < 100000; i++)
        g_string_append(text, "pass\n");
    g_string_append_len(answer, text->str, (gssize)text->len / 2);
    g_string_append(answer, "</original><patched>x\n");
    g_string_append_len(answer, text->str, (gssize)text->len / 3);
    g_string_append(answer, "</patched>");
    fixture_write(fixture, "same.py", text->str, text->len);
    fixture_open(fixture);
    g_assert_cmpfloat(apply_seconds(fixture, answer->str, answer->len, &result), <, BOUND_S);
    g_assert_cmpint(result.status, ==, ACR_RAW_PATCH_BUT_UNMATCHED);
}

TEST("/patch/limits", similarity_in_twenty_thousand_lines)
{
    g_auto(Fixture) fixture = {0};
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) answer = g_string_new("<file>big.py</file>\n<original>\n");
    make_big_file(&fixture, 20000);
    for (guint i = 9000; i < 9030; i++)
        g_string_append_printf(answer, "value_%u = compute(%u, 'some text') %s other_%u\n", i, i * 7,
                               i == 9010 ? "-" : "+", i % 13);
    g_string_append(answer, "</original>\n<patched>\nvalue = 1\n</patched>\n");
    g_assert_cmpfloat(apply_seconds(&fixture, answer->str, answer->len, &result), <, BOUND_S);
    g_assert_nonnull(strstr(result.message, "big.py, lines 9001-9030"));
}
