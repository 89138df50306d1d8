/* Shapes of name and file arguments, and the printed form of a call. */
#include <string.h>

#include "fixture.h"

static const char code[] = "class Outer(object):\n"
                           "    class Inner:\n"
                           "        def deep(self):\n"
                           "            return 1\n"
                           "\n"
                           "    def plain(self, x):\n"
                           "        return x\n"
                           "\n"
                           "\n"
                           "def helper(a, b):\n"
                           "    return a + b\n";

static void method_arguments_of_any_shape_are_understood(void)
{
    static const char *const shapes[] = {
        "plain",
        " plain ",
        "plain()",
        "plain(self, x)",
        "def plain(self, x):",
        "def plain(",
        "`plain`",
        "'plain'",
        "\"plain\"",
        "(plain)",
        "self.plain",
        "Outer.plain",
        "Outer::plain",
        "pkg.mod.Outer.plain",
        "async def plain(self):",
        "method plain",
        "plain method",
        "`plain` method",
        "Outer.plain(x)",
        "plain.",
        "`Outer.plain()`",
    };
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/mod.py", code, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++) {
        g_test_message("%s", shapes[i]);
        fixture_expect(&fixture, "search_method", shapes[i], NULL, "pkg/mod.py:6-7 Outer plain");
    }
}

static void class_arguments_of_any_shape_are_understood(void)
{
    static const char *const shapes[] = {
        "Outer",   "class Outer", "class Outer(object):", "class Outer:", "Outer()",     "@Outer",
        "`Outer`", "'Outer'",     "pkg.mod.Outer",        "mod.Outer",    "Outer class", "Outer:",
    };
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/mod.py", code, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++) {
        g_test_message("%s", shapes[i]);
        fixture_expect(&fixture, "search_class", shapes[i], NULL, "pkg/mod.py:1-7 Outer -");
    }
    fixture_expect(&fixture, "search_class", "Outer.Inner", NULL, "pkg/mod.py:2-4 Outer.Inner -");
    fixture_expect(&fixture, "search_method_in_class", "deep", "Outer.Inner",
                   "pkg/mod.py:3-4 Outer.Inner deep");
    fixture_expect(&fixture, "search_method", "Outer.Inner.deep", NULL,
                   "pkg/mod.py:3-4 Outer.Inner deep");
}

static void sentences_are_not_taken_for_names(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", "def for_all():\n    pass\n", NULL);
    fixture_expect(&fixture, "search_method", "function for_all \"x\" type", NULL, "");
    fixture_expect(&fixture, "search_method", "the helper that adds", NULL, "");
}

static void file_arguments_match_whole_parts_from_the_right(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a/add.py", "def f():\n    pass\n", "a/badd.py",
                 "def f():\n    return 1\n", "b/x/add.py", "def f():\n    return 2\n", NULL);
    fixture_expect(&fixture, "search_method_in_file", "f", "add.py",
                   "a/add.py:1-2 - f\nb/x/add.py:1-2 - f");
    fixture_expect(&fixture, "search_method_in_file", "f", "x/add.py", "b/x/add.py:1-2 - f");
    g_auto(AcrAnswer) none = fixture_call(&fixture, "search_method_in_file", "f", "dd.py", NULL);
    g_assert_nonnull(strstr(none.output, "There is no file dd.py. This is what has that name:"));
    fixture_expect(&fixture, "search_method_in_file", "f", "BADD.PY", "a/badd.py:1-2 - f");
    fixture_expect(&fixture, "search_method_in_file", "f", "/add.py",
                   "a/add.py:1-2 - f\nb/x/add.py:1-2 - f");
}

static void file_arguments_of_any_shape_are_understood(void)
{
    static const char *const shapes[] = {
        "pkg/core/expr.py",
        "./pkg/core/expr.py",
        "/pkg/core/expr.py",
        "core/expr.py",
        "pkg.core.expr",
        "core.expr",
        "pkg.core.expr.py",
        "pkg/core/expr",
        "pkg\\core\\expr.py",
        "`pkg/core/expr.py`",
        "expr.py:12",
        "PKG/Core/Expr.py",
        "/home/me/checkout/pkg/core/expr.py",
        "pkg.core.expr.Klass",
        "../pkg//core/./expr.py",
    };
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/core/expr.py", "def f():\n    pass\n", "pkg/core/__init__.py",
                 "def f():\n    return 1\n", "pkg/other/expr.txt", "f\n", NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++) {
        g_test_message("%s", shapes[i]);
        fixture_expect(&fixture, "search_method_in_file", "f", shapes[i],
                       "pkg/core/expr.py:1-2 - f");
    }
    fixture_expect(&fixture, "search_method_in_file", "f", "pkg.core",
                   "pkg/core/__init__.py:1-2 - f");
    fixture_expect(&fixture, "search_method_in_file", "f", "pkg/core/",
                   "pkg/core/__init__.py:1-2 - f");
    fixture_expect(&fixture, "search_method_in_file", "f", "pkg",
                   "pkg/core/__init__.py:1-2 - f\npkg/core/expr.py:1-2 - f");
}

static void a_call_prints_as_python(void)
{
    g_auto(AcrCall) call = {.spec = acr_search_call_spec("get_code_around_line")};
    call.values[0] = g_strdup("a\"b\\c\n.py");
    call.values[1] = g_strdup("12");
    call.values[2] = g_strdup("3");
    g_autofree char *text = acr_call_print(&call);
    g_assert_cmpstr(text, ==, "get_code_around_line(\"a\\\"b\\\\c\\n.py\", 12, 3)");
    g_assert_null(acr_search_call_spec("search_nothing"));
}

static void every_call_of_the_table_is_answered(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/mod.py", code, NULL);
    gsize n = 0;
    const AcrCallSpec *specs = acr_search_call_specs(&n);
    g_assert_cmpuint(n, ==, 8);
    for (gsize i = 0; i < n; i++) {
        g_auto(AcrAnswer) answer = fixture_call(&fixture, specs[i].name, "1", "1", "1");
        g_assert_nonnull(answer.output);
    }
}

static void a_missing_argument_is_a_bad_call(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/mod.py", code, NULL);
    g_autoptr(GError) error = NULL;
    g_auto(AcrCall) call = {.spec = acr_search_call_spec("search_class")};
    g_auto(AcrAnswer) answer = {0};
    g_assert_false(acr_search_run(fixture.search, &call, &answer, &error));
    g_assert_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_BAD_CALL);
}

/* An answer that says its argument and its context, more than may be said. */
static bool answer_shout(AcrSearch *search, const AcrCall *call, AcrAnswer *out, GError **error)
{
    (void)search;
    (void)error;
    g_autofree char *long_text = g_strnfill(ACR_SEARCH_MAX_OUTPUT, '!');
    out->ok = true;
    out->output = g_strconcat(call->values[0], call->spec->ctx, "\xff", long_text, NULL);
    return true;
}

static void an_added_call_is_answered_like_the_others(void)
{
    static char end[] = " said";
    static const AcrCallSpec shout = {
        "shout", {{"word", ACR_PARAM_STRING}}, "Says a word.", answer_shout, end};
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/mod.py", code, NULL);
    g_assert_null(acr_search_find_call(fixture.search, "shout"));
    g_assert_true(acr_search_add_call(fixture.search, &shout, NULL));
    g_assert_true(acr_search_find_call(fixture.search, "shout") == &shout);
    g_assert_true(acr_search_find_call(fixture.search, "search_code") ==
                  acr_search_call_spec("search_code"));
    g_autoptr(GPtrArray) rows = acr_search_calls(fixture.search);
    g_assert_cmpuint(rows->len, ==, 9);
    g_assert_true(g_ptr_array_index(rows, 8) == &shout);
    g_auto(AcrCall) call = {.spec = &shout};
    g_auto(AcrAnswer) answer = {0};
    call.values[0] = g_strdup("word");
    g_assert_true(acr_search_run(fixture.search, &call, &answer, NULL));
    g_assert_true(answer.ok && answer.places && answer.places->len == 0);
    g_assert_true(g_str_has_prefix(answer.output, "word said\xef\xbf\xbd!"));
    g_assert_cmpuint(strlen(answer.output), <=, ACR_SEARCH_MAX_OUTPUT);
}

static void rows_that_are_not_whole_or_taken_are_refused(void)
{
    static const AcrCallSpec bad[] = {
        {"search_code", {{"a", ACR_PARAM_STRING}}, "Taken.", answer_shout, NULL},
        {"two words", {{"a", ACR_PARAM_STRING}}, "No name.", answer_shout, NULL},
        {"fine", {{"a b", ACR_PARAM_STRING}}, "No parameter.", answer_shout, NULL},
        {"fine", {{"a", ACR_PARAM_STRING}}, NULL, answer_shout, NULL},
        {"fine", {{"a", ACR_PARAM_STRING}}, "No function.", NULL, NULL},
        {NULL, {{"a", ACR_PARAM_STRING}}, "Nothing.", answer_shout, NULL},
    };
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/mod.py", code, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(acr_search_add_call(fixture.search, &bad[i], &error));
        g_assert_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_BAD_CALL);
    }
}

static void rows_end_at_their_ceiling(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/mod.py", code, NULL);
    g_autofree AcrCallSpec *specs = g_new0(AcrCallSpec, ACR_SEARCH_MAX_CALLS);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    guint added = 0;
    for (guint i = 0; i < ACR_SEARCH_MAX_CALLS; i++) {
        g_ptr_array_add(names, g_strdup_printf("call_%u", i));
        specs[i] = (AcrCallSpec){.name = names->pdata[i], .summary = "", .answer = answer_shout};
        g_autoptr(GError) error = NULL;
        added += acr_search_add_call(fixture.search, &specs[i], &error);
    }
    g_assert_cmpuint(added, ==, ACR_SEARCH_MAX_CALLS - 8);
}

void add_name_tests(void)
{
    g_test_add_func("/search/names/method_arguments_of_any_shape_are_understood",
                    method_arguments_of_any_shape_are_understood);
    g_test_add_func("/search/names/class_arguments_of_any_shape_are_understood",
                    class_arguments_of_any_shape_are_understood);
    g_test_add_func("/search/names/sentences_are_not_taken_for_names",
                    sentences_are_not_taken_for_names);
    g_test_add_func("/search/files/match_whole_parts_from_the_right",
                    file_arguments_match_whole_parts_from_the_right);
    g_test_add_func("/search/files/arguments_of_any_shape_are_understood",
                    file_arguments_of_any_shape_are_understood);
    g_test_add_func("/search/calls/print_as_python", a_call_prints_as_python);
    g_test_add_func("/search/calls/every_row_of_the_table_is_answered",
                    every_call_of_the_table_is_answered);
    g_test_add_func("/search/calls/a_missing_argument_is_a_bad_call",
                    a_missing_argument_is_a_bad_call);
    g_test_add_func("/search/calls/an_added_call_is_answered_like_the_others",
                    an_added_call_is_answered_like_the_others);
    g_test_add_func("/search/calls/rows_that_are_not_whole_or_taken_are_refused",
                    rows_that_are_not_whole_or_taken_are_refused);
    g_test_add_func("/search/calls/rows_end_at_their_ceiling", rows_end_at_their_ceiling);
}
