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
    g_assert_cmpuint(n, ==, 9);
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
}
