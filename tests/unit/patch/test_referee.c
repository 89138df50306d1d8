/* Tests of the referee: the questions to it, the effects of its answers and failures, and the
 * limits of its work. */
#include <string.h>

#include "support.h"

#define BODY "def f(items):\n    for item in items:\n        seen = 1\n        last = 1\n    return 1\n"
#define EDIT(path)                                                                                                     \
    "<file>" path "</file>\n<original>\n        last = 1\n</original>\n<patched>\n    last = 2\n"                      \
    "</patched>\n"
/* The results of the two readings of the edit, the more probable first. */
#define FIRST "        seen = 1\n    last = 2\n"
#define SECOND "        seen = 1\n        last = 2\n"

/* A linter with prepared answers, which records the questions. */
typedef struct {
    const guint *worse; /* for all versions; NULL: the linter fails */
    guint asked, files, versions, compiled;
} Linter;

static bool compiles(void *ctx, const char *path, GBytes *source, bool *out_ok, char **out_message, GError **error)
{
    ((Linter *)ctx)->compiled++;
    return stub_referee()->compiles(NULL, path, source, out_ok, out_message, error);
}

static bool lint(void *ctx, const AcrRefereeFile *files, gsize n, guint *out_worse, char **out_why, GError **error)
{
    Linter *linter = ctx;
    linter->asked++;
    linter->files = (guint)n;
    linter->versions = 0;
    for (gsize i = 0; i < n; i++)
        for (gsize k = 0; k < files[i].n_after; k++, linter->versions++)
            out_worse[linter->versions] = linter->worse ? linter->worse[linter->versions] : 0;
    if (linter->worse)
        return true;
    g_set_error(error, ACR_PATCH_ERROR, ACR_PATCH_ERROR_FAILED, "the record differs");
    return false;
}

static bool apply(Fixture *fixture, Linter *linter, const char *answer, AcrPatchResult *out, GError **error)
{
    AcrReferee referee = *stub_referee();
    referee.ctx = linter;
    referee.compiles = compiles;
    referee.lint = lint;
    AcrPatchContext context = {.snapshot = fixture->snapshot, .index = fixture->index, .referee = &referee};
    return acr_patch_apply(&context, answer, strlen(answer), out, error);
}

static void check_holds(const AcrPatchResult *result, const char *path, const char *text)
{
    g_assert_cmpint(result->status, ==, ACR_APPLICABLE_PATCH);
    g_autoptr(GBytes) bytes = acr_overlay_read(result->overlay, path, NULL);
    gsize len = 0;
    const char *data = g_bytes_get_data(bytes, &len);
    g_assert_nonnull(g_strstr_len(data, (gssize)len, text));
}

static void make_files(Fixture *fixture)
{
    fixture_init(fixture);
    fixture_write(fixture, "a.py", BODY, strlen(BODY));
    fixture_write(fixture, "b.py", BODY, strlen(BODY));
    fixture_open(fixture);
}

TEST("/patch/referee", each_file_is_judged_by_itself_in_one_run)
{
    static const guint worse[] = {3, 0, 0, 1};
    g_auto(Fixture) fixture = {0};
    g_auto(AcrPatchResult) result = {0};
    Linter linter = {.worse = worse};
    make_files(&fixture);
    g_assert_true(apply(&fixture, &linter, EDIT("a.py") EDIT("b.py"), &result, NULL));
    g_assert_cmpuint(linter.asked, ==, 1);
    g_assert_cmpuint(linter.versions, ==, 4);
    check_holds(&result, "a.py", SECOND);
    check_holds(&result, "b.py", FIRST);
}

TEST("/patch/referee", a_file_it_broke_on_keeps_its_first_reading)
{
    static const guint worse[] = {7, ACR_LINT_UNKNOWN, 7, 0};
    g_auto(Fixture) fixture = {0};
    g_auto(AcrPatchResult) result = {0};
    Linter linter = {.worse = worse};
    make_files(&fixture);
    g_assert_true(apply(&fixture, &linter, EDIT("a.py") EDIT("b.py"), &result, NULL));
    check_holds(&result, "a.py", FIRST);
    check_holds(&result, "b.py", SECOND);
}

TEST("/patch/referee", equally_good_readings_are_decided_by_their_order)
{
    static const guint worse[] = {0, 0};
    g_auto(Fixture) fixture = {0};
    g_auto(AcrPatchResult) result = {0};
    Linter linter = {.worse = worse};
    make_files(&fixture);
    g_assert_true(apply(&fixture, &linter, EDIT("a.py"), &result, NULL));
    check_holds(&result, "a.py", FIRST);
}

/* Each compilation is a request to another process. */
TEST("/patch/referee", where_nothing_is_to_be_chosen_the_result_alone_is_compiled)
{
    g_auto(Fixture) fixture = {0};
    g_auto(AcrPatchResult) result = {0};
    Linter linter = {0};
    make_files(&fixture);
    g_assert_true(apply(&fixture, &linter,
                        "<file>a.py</file>\n<original>\n    return 1\n</original>\n<patched>\n"
                        "    return 2\n</patched>\n",
                        &result, NULL));
    check_holds(&result, "a.py", "    return 2\n");
    g_assert_cmpuint(linter.compiled, ==, 1);
    g_assert_cmpuint(linter.asked, ==, 0);
}

TEST("/patch/referee", an_error_of_the_lint_ends_the_whole)
{
    g_auto(Fixture) fixture = {0};
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GError) error = NULL;
    Linter linter = {.worse = NULL};
    make_files(&fixture);
    assert_fails_with(apply(&fixture, &linter, EDIT("a.py"), &result, &error), error, ACR_PATCH_ERROR,
                      ACR_PATCH_ERROR_FAILED);
}

FIXTURE_TEST("/patch/referee", what_is_too_large_is_not_linted)
{
    static const guint worse[] = {9, 0, 9, 0};
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) large = g_string_new(BODY);
    Linter linter = {.worse = worse};
    while (3 * large->len < 2u * 1024 * 1024)
        g_string_append_printf(large, "value_%u = compute('some text')\n", (guint)large->len);
    fixture_write(fixture, "a.py", large->str, large->len);
    fixture_write(fixture, "b.py", BODY, strlen(BODY));
    fixture_open(fixture);
    g_assert_true(apply(fixture, &linter, EDIT("a.py"), &result, NULL));
    g_assert_cmpuint(linter.asked, ==, 0);
    check_holds(&result, "a.py", FIRST);
    acr_patch_result_clear(&result);
    g_assert_true(apply(fixture, &linter, EDIT("a.py") EDIT("b.py"), &result, NULL));
    g_assert_cmpuint(linter.versions, ==, 3);
}

/* Python would need more than a gigabyte of memory. */
FIXTURE_TEST("/patch/referee", what_is_too_large_is_not_compiled)
{
    static const guint worse[] = {5, 0};
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) large = g_string_new(BODY);
    Linter linter = {.worse = worse};
    while (large->len <= 4u * 1024 * 1024)
        g_string_append_printf(large, "value_%u = compute('some text')\n", (guint)large->len);
    fixture_write(fixture, "a.py", large->str, large->len);
    fixture_open(fixture);
    g_assert_true(apply(fixture, &linter, EDIT("a.py"), &result, NULL));
    g_assert_cmpuint(linter.compiled, ==, 0);
    check_holds(&result, "a.py", FIRST);
}

FIXTURE_TEST("/patch/referee", it_is_given_few_versions_of_a_file)
{
    static const guint worse[] = {9, 9, 9, 0};
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) text = g_string_new(NULL), answer = g_string_new(NULL);
    Linter linter = {.worse = worse};
    for (guint i = 0; i < 5; i++) {
        g_string_append_printf(text, "for item in items:\n        seen = %u\n        last = %u\n", i, i);
        g_string_append_printf(answer,
                               "<file>a.py</file>\n<original>\n        last = %u\n</original>\n"
                               "<patched>\n    last = %u\n</patched>\n",
                               i, i + 50);
    }
    fixture_write(fixture, "a.py", text->str, text->len);
    fixture_open(fixture);
    g_assert_true(apply(fixture, &linter, answer->str, &result, NULL));
    g_assert_cmpint(result.status, ==, ACR_APPLICABLE_PATCH);
    g_assert_cmpuint(linter.versions, <=, 4);
}
