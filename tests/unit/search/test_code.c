/* search_code, search_code_in_file, get_code_around_line. */
#include <string.h>

#include "fixture.h"

static void assert_has(const AcrAnswer *answer, const char *text)
{
    if (!strstr(answer->output, text))
        g_error("no '%s' in:\n%s", text, answer->output);
}

static const char code[] = "import os\n"
                           "\n"
                           "class A:\n"
                           "    def go(self):\n"
                           "        first = 1\n"
                           "        second = 2\n"
                           "        third = 3\n"
                           "        needle(first)\n"
                           "        fourth = 4\n"
                           "        fifth = 5\n"
                           "        sixth = 6\n"
                           "        seventh = 7\n";

static void shows_three_lines_around_with_class_and_function(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", code, NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", "needle(", NULL, NULL);
    fixture_assert_places(&answer, "m.py:5-11 A go");
    assert_has(&answer, "<class>A</class> <func>go</func>\n<code>\n5         first = 1\n");
    assert_has(&answer, "8         needle(first)\n");
    assert_has(&answer, "11         sixth = 6\n</code>");
}

static void text_is_taken_literally(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", "x = a.b(c)\ny = 'a[0-9]*'\nz = aXb(c)\n", NULL);
    fixture_expect(&fixture, "search_code", "a.b(c)", NULL, "m.py:1-3 - -");
    fixture_expect(&fixture, "search_code", "[0-9]*", NULL, "m.py:1-3 - -");
    fixture_expect(&fixture, "search_code", "aa*", NULL, "");
    fixture_expect(&fixture, "search_code", "%s%n%d", NULL, "");
}

static void neighbouring_lines_are_one_place_but_counted(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", "v = 1\nv = 2\n\n\n\n\n\n\n\n\n\nv = 3\n", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", "v = ", NULL, NULL);
    fixture_assert_places(&answer, "m.py:1-5 - -\nm.py:9-12 - -");
    assert_has(&answer, "Found 3 lines with v = ");
}

static void others_collapse_to_files_with_counts(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", "hit\n", "b.py", "hit\n", "c.py", "hit\n", "d/e.py",
                 "hit\nx\nhit\n", "f.py", "hit\n", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", "hit", NULL, NULL);
    assert_has(&answer, "Found 6 lines with hit:");
    assert_has(&answer, "<file>d/e.py</file> 2\n<file>f.py</file> 1\n");
}

static void unparsable_files_are_searched_and_tests_are_not(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "old.py", "!syntax needle\n", "test_x.py", "needle\n", "notes.txt",
                 "needle\n", NULL);
    fixture_expect(&fixture, "search_code", "needle", NULL, "old.py:1-1 - -");
    fixture_expect(&fixture, "search_code_in_file", "needle", "notes.txt", "notes.txt:1-1 - -");
    fixture_expect(&fixture, "search_code_in_file", "needle", "test_x.py", "test_x.py:1-1 - -");
}

static void blanks_and_indentation_differ_only_as_a_second_step(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", "def f():\r\n    if a:  \r\n        return b\r\n", NULL);
    g_auto(AcrAnswer) ends =
        fixture_call(&fixture, "search_code", "    if a:\n        return b", NULL, NULL);
    fixture_assert_places(&ends, "m.py:1-3 - f");
    assert_has(&ends, "found with other indentation or line ends");
    g_auto(AcrAnswer) indent =
        fixture_call(&fixture, "search_code", "if a:\nreturn b\n", NULL, NULL);
    g_assert_true(indent.ok);
    assert_has(&indent, "found with other indentation");
    fixture_expect(&fixture, "search_code", "if a:\nreturn c", NULL, "");
    fixture_expect(&fixture, "search_code", "\treturn b", NULL, "m.py:1-3 - f");
    fixture_expect(&fixture, "search_code", "`return b`", NULL, "m.py:1-3 - f");
}

static void other_encodings_are_searched_as_text(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", "# -*- coding: latin-1 -*-\nname = '\xe9t\xe9'\n", "n.py",
                 "\xef\xbb\xbfname = 'été'\n", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", "été", NULL, NULL);
    fixture_assert_places(&answer, "m.py:1-2 - -\nn.py:1-1 - -");
    assert_has(&answer, "1 name = 'été'\n");
}

static void text_of_another_file_is_shown_from_there(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", "wanted = 1\nwanted += wanted\n", "b.py", "x = 1\n",
                 "tests/test_c.py", "gone = 1\n", NULL);
    g_auto(AcrAnswer) answer =
        fixture_call(&fixture, "search_code_in_file", "wanted", "b.py", NULL);
    fixture_assert_places(&answer, "a.py:1-2 - -");
    assert_has(&answer, "The text is not in the named file; these are places in others.");
    g_auto(AcrAnswer) none = fixture_call(&fixture, "search_code_in_file", "gone", "b.py", NULL);
    g_assert_false(none.ok);
    assert_has(&none, "occurs 1 time in 1 of the tests and files of other types:\n"
                      "<file>tests/test_c.py</file> 1\n");
}

static void lines_that_share_most_words_come_first(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", "index = 1\n", "b.py",
                 "def make():\n    index = Sorted(symbols)\n", "c.py", "symbols = index\n", NULL);
    g_auto(AcrAnswer) answer =
        fixture_call(&fixture, "search_code", "sorted symbols index", NULL, NULL);
    fixture_assert_places(&answer, "b.py:1-2 - make\nc.py:1-1 - -\na.py:1-1 - -");
    assert_has(&answer, "these are lines with index, those first that share most of its words");
}

static void a_definition_comes_before_other_places_or_after_them(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", "x = build(1)\n", "b.py", "def build(n):\n    return n\n",
                 "c.py", "y = run.build(2)\n", NULL);
    fixture_expect(&fixture, "search_code", "build(", NULL,
                   "b.py:1-2 - build\na.py:1-1 - -\nc.py:1-1 - -");
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", "run.build", NULL, NULL);
    fixture_assert_places(&answer, "c.py:1-1 - -");
    assert_has(&answer, "build is defined here:\n<file>b.py</file>\n<func>build</func>\n<code>\n"
                        "1 def build(n):\n</code>\n");
}

static void a_part_of_words_is_also_shown_as_a_word(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", "@tmpdir\n", "b.py", "run(t)\n", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", "@t", NULL, NULL);
    fixture_assert_places(&answer, "a.py:1-1 - -");
    assert_has(&answer,
               "As a word of its own t is used here:\n<file>b.py</file>\n<code>\n1 run(t)\n");
}

static void other_types_are_shown_where_no_python_has_the_text(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", "x = 1\n", "b.cfg", "\xe2\x86\x90 here\n", "tests/t.cfg",
                 "\xe2\x86\x90\n", NULL);
    fixture_expect(&fixture, "search_code", "\xe2\x86\x90", NULL, "b.cfg:1-1 - -");
    fixture_expect(&fixture, "search_code", "b\xe2\x80\x99x\xe2\x80\x99", NULL, "a.py:1-1 - -");
}

static void code_around_a_line_is_shown(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", code, NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "get_code_around_line", "m.py", "8", "1");
    fixture_assert_places(&answer, "m.py:7-9 A go");
    g_auto(AcrAnswer) edge = fixture_call(&fixture, "get_code_around_line", "m.py", "1", "2");
    fixture_assert_places(&edge, "m.py:1-3 - -");
    g_auto(AcrAnswer) wide = fixture_call(&fixture, "get_code_around_line", "m.py", "12", "100000");
    fixture_assert_places(&wide, "m.py:1-12 A go");
    assert_has(&wide, "window_size is taken as 500");
    g_auto(AcrAnswer) past =
        fixture_call(&fixture, "get_code_around_line", "m.py", "99999999999999999999", "1");
    g_assert_false(past.ok);
    assert_has(&past, "m.py has only 12 lines.");
    g_auto(AcrAnswer) negative = fixture_call(&fixture, "get_code_around_line", "m.py", "-3", "-3");
    fixture_assert_places(&negative, "m.py:1-1 - -");
    g_auto(AcrAnswer) none = fixture_call(&fixture, "get_code_around_line", "n.py", "1", "1");
    g_assert_false(none.ok);
}

static void a_definition_written_otherwise_is_found_by_its_name(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/m.py",
                 "def area(shape, unit=1):\n    return 1\n\nclass Box:\n    pass\n", NULL);
    g_auto(AcrAnswer) answer =
        fixture_call(&fixture, "search_code", "def area(shape):", NULL, NULL);
    fixture_assert_places(&answer, "pkg/m.py:1-2 - area");
    assert_has(&answer, "Not found as written; this is what area is.\nFound 1 result for def area");
    fixture_expect(&fixture, "search_code", "pkg.m.Box", NULL, "pkg/m.py:4-5 Box -");
    fixture_expect(&fixture, "search_code", "numpy.Box", NULL, "pkg/m.py:1-5 Box -");
    fixture_expect(&fixture, "search_code_in_file", "class Box(object):", "m.py",
                   "pkg/m.py:4-5 Box -");
    fixture_expect(&fixture, "search_code", "area(shape):", NULL, "pkg/m.py:1-4 - area");
}

void add_code_tests(void)
{
    g_test_add_func("/search/code/shows_three_lines_around_with_class_and_function",
                    shows_three_lines_around_with_class_and_function);
    g_test_add_func("/search/code/text_is_taken_literally", text_is_taken_literally);
    g_test_add_func("/search/code/neighbouring_lines_are_one_place_but_counted",
                    neighbouring_lines_are_one_place_but_counted);
    g_test_add_func("/search/code/others_collapse_to_files_with_counts",
                    others_collapse_to_files_with_counts);
    g_test_add_func("/search/code/unparsable_files_are_searched_and_tests_are_not",
                    unparsable_files_are_searched_and_tests_are_not);
    g_test_add_func("/search/code/blanks_and_indentation_differ_only_as_a_second_step",
                    blanks_and_indentation_differ_only_as_a_second_step);
    g_test_add_func("/search/code/other_encodings_are_searched_as_text",
                    other_encodings_are_searched_as_text);
    g_test_add_func("/search/code/text_of_another_file_is_shown_from_there",
                    text_of_another_file_is_shown_from_there);
    g_test_add_func("/search/code/lines_that_share_most_words_come_first",
                    lines_that_share_most_words_come_first);
    g_test_add_func("/search/code/a_definition_comes_before_other_places_or_after_them",
                    a_definition_comes_before_other_places_or_after_them);
    g_test_add_func("/search/code/a_part_of_words_is_also_shown_as_a_word",
                    a_part_of_words_is_also_shown_as_a_word);
    g_test_add_func("/search/code/other_types_are_shown_where_no_python_has_the_text",
                    other_types_are_shown_where_no_python_has_the_text);
    g_test_add_func("/search/code/around_a_line_is_shown", code_around_a_line_is_shown);
    g_test_add_func("/search/code/a_definition_written_otherwise_is_found_by_its_name",
                    a_definition_written_otherwise_is_found_by_its_name);
}
