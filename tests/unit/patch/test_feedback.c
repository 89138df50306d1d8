/* Tests of the feedback's limits: every part of a message gets its share, and the located code is
 * always included. */
#include <string.h>

#include "patch/patch.h"
#include "support.h"

#define METHODS 40u

static void write_module(Fixture *fixture, const char *path, guint lines)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint m = 0; m < METHODS; m++) {
        g_string_append_printf(text, "def method_%u(first, second):\n", m);
        for (guint i = 0; i < lines; i++)
            g_string_append_printf(text, "    value_%u = first.compute(second, %u, 'text')\n", i, m * 1000 + i);
        g_string_append(text, "    return first\n\n\n");
    }
    fixture_write(fixture, path, text->str, text->len);
}

/* Appends an edit that quotes a method without its second line. */
static void append_edit(GString *answer, const char *path, guint method, guint lines)
{
    g_string_append_printf(answer,
                           "<file>%s</file>\n<original>\ndef method_%u(first, second):\n"
                           "    something_else_entirely()\n",
                           path, method);
    for (guint i = 1; i < lines; i++)
        g_string_append_printf(answer, "    value_%u = first.compute(second, %u, 'text')\n", i, method * 1000 + i);
    g_string_append(answer, "    return first, second, 1\n</original>\n<patched>\n    pass\n</patched>\n");
}

static void apply(Fixture *fixture, const char *answer, const AcrPatchHint *hints, gsize n_hints, AcrPatchResult *out)
{
    g_autoptr(GError) error = NULL;
    AcrPatchContext context = {.snapshot = fixture->snapshot,
                               .index = fixture->index,
                               .referee = stub_referee(),
                               .hints = hints,
                               .n_hints = n_hints};
    assert_ok(acr_patch_apply(&context, answer, strlen(answer), out, &error), error);
    g_assert_cmpuint(strlen(out->message), <=, ACR_PATCH_MAX_MESSAGE);
    g_assert_true(acr_utf8_is_text(out->message, strlen(out->message)));
}

static guint count(const char *text, const char *what)
{
    guint n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

FIXTURE_TEST("/patch/feedback", located_code_is_shown_though_edits_fill_the_message)
{
    static const AcrPatchHint hint = {"other.py", 1, 5};
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) answer = g_string_new(NULL);
    write_module(fixture, "a.py", 60);
    write_module(fixture, "other.py", 3);
    fixture_open(fixture);
    for (guint i = 0; i < 30; i++)
        append_edit(answer, "a.py", i, 60);
    apply(fixture, answer->str, &hint, 1, &result);
    g_assert_cmpint(result.status, ==, ACR_RAW_PATCH_BUT_UNMATCHED);
    g_assert_nonnull(strstr(result.message, "other.py, lines 1-5, in method_0:\n```\ndef method_0("));
    g_assert_nonnull(strstr(result.message, "\nEdit 30 (a.py): "));
    g_assert_cmpuint(count(result.message, "```\n") % 2, ==, 0);
}

FIXTURE_TEST("/patch/feedback", every_edit_has_its_share)
{
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) answer = g_string_new(NULL);
    write_module(fixture, "a.py", 100);
    fixture_open(fixture);
    for (guint i = 0; i < 8; i++)
        append_edit(answer, "a.py", i, 100);
    apply(fixture, answer->str, NULL, 0, &result);
    for (guint i = 0; i < 8; i++) {
        g_autofree char *shown =
            g_strdup_printf("a.py, lines %u-%u, in method_%u:\n```\ndef method_%u(", i * 104 + 1, i * 104 + 102, i, i);
        g_assert_nonnull(strstr(result.message, shown));
    }
}

FIXTURE_TEST("/patch/feedback", locations_share_what_is_left)
{
    AcrPatchHint hints[METHODS];
    g_auto(AcrPatchResult) result = {0};
    write_module(fixture, "a.py", 200);
    fixture_open(fixture);
    for (guint i = 0; i < METHODS; i++)
        hints[i] = (AcrPatchHint){"a.py", i * 204 + 1, i * 204 + 202};
    apply(fixture, "I cannot see the code.", hints, METHODS, &result);
    g_assert_cmpint(result.status, ==, ACR_RAW_PATCH_BUT_UNPARSED);
    for (guint i = 0; i < METHODS; i++) {
        g_autofree char *shown = g_strdup_printf("\ndef method_%u(", i);
        g_assert_nonnull(strstr(result.message, shown));
    }
    g_assert_cmpuint(strlen(result.message), >, ACR_PATCH_MAX_MESSAGE / 2);
}

FIXTURE_TEST("/patch/feedback", hints_that_fit_nothing_are_passed_over)
{
    static const AcrPatchHint hints[] = {
        {"gone.py", 1, 5}, {"a.py", 0, 0}, {"a.py", 900000, 900001}, {"a.py", 1, 900000}};
    g_auto(AcrPatchResult) result = {0};
    write_module(fixture, "a.py", 2);
    fixture_open(fixture);
    apply(fixture, "no edit", hints, G_N_ELEMENTS(hints), &result);
    g_assert_nonnull(strstr(result.message, "a.py, lines 1-240:\n```\ndef method_0("));
    g_assert_null(strstr(result.message, "gone.py"));
}

FIXTURE_TEST("/patch/feedback", the_file_with_most_of_the_quote_is_shown)
{
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) answer = g_string_new(NULL);
    write_module(fixture, "pkg/right.py", 12);
    write_module(fixture, "pkg/short.py", 2);
    fixture_write(fixture, "pkg/none.py", "x = 1\n", 6);
    fixture_open(fixture);
    append_edit(answer, "pkg/none.py", 3, 12);
    apply(fixture, answer->str, NULL, 0, &result);
    g_assert_nonnull(strstr(result.message, "Similar code is in another file, pkg/right.py"));
    g_assert_nonnull(strstr(result.message, "pkg/right.py, lines 49-62, in method_3:"));
    g_assert_nonnull(strstr(result.message, "  you wrote: |    something_else_entirely()"));
}

FIXTURE_TEST("/patch/feedback", the_form_is_told_where_no_edit_could_be_read_alone)
{
    static const struct {
        const char *answer;
        bool is_told;
    } rows[] = {{"", true},
                {"I cannot see the code.", true},
                {"<file>a.py</file>\n<original>\nnowhere()\n</original>\n<patched>\nx\n</patched>\n", false},
                {"<file>a.py</file>\n<original>\ndef method_1(first, second):\n</original>\n<patched>\n"
                 "def method_1(first):\n</patched>\n",
                 false}};
    write_module(fixture, "a.py", 2);
    fixture_open(fixture);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(AcrPatchResult) result = {0};
        apply(fixture, rows[i].answer, NULL, 0, &result);
        g_assert_cmpuint(count(result.message, "A program applies the edits"), ==, rows[i].is_told);
    }
}

FIXTURE_TEST("/patch/feedback", a_definition_that_is_shown_is_not_shown_again)
{
    g_auto(AcrPatchResult) result = {0};
    g_autoptr(GString) answer = g_string_new(NULL);
    write_module(fixture, "a.py", 12);
    fixture_open(fixture);
    append_edit(answer, "a.py", 3, 12);
    for (guint i = 8; i < 12; i++) { /* more than half of the quote resembles the file */
        g_autofree char *line = g_strdup_printf("    value_%u = first.compute(second, %u, 'text')\n", i, 3000 + i);
        g_string_replace(answer, line, "    nothing_of_the_kind[at] += an_other\n", 1);
    }
    apply(fixture, answer->str, NULL, 0, &result);
    g_assert_nonnull(strstr(result.message, "This is the closest code in that file"));
    g_assert_nonnull(strstr(result.message, "method_3 is defined in a.py, lines 49-62."));
    g_assert_cmpuint(count(result.message, "def method_3(first, second):\n"), ==, 1);
}
