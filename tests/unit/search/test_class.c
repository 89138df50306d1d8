/* search_class and search_class_in_file. */
#include <string.h>

#include "fixture.h"

static void assert_has(const AcrAnswer *answer, const char *text)
{
    if (!strstr(answer->output, text))
        g_error("no '%s' in:\n%s", text, answer->output);
}

static void assert_lacks(const AcrAnswer *answer, const char *text)
{
    if (strstr(answer->output, text))
        g_error("'%s' in:\n%s", text, answer->output);
}

static const char shapes[] = "@register\n"
                             "class Shape(Base):\n"
                             "    __doc__ = 'a shape'\n"
                             "    sides = 0\n"
                             "\n"
                             "    @property\n"
                             "    def area(self):\n"
                             "        body = 1\n"
                             "        return body\n"
                             "\n"
                             "    def scale(\n"
                             "        self,\n"
                             "        by,\n"
                             "    ):\n"
                             "        return self\n"
                             "\n"
                             "    class Meta:\n"
                             "        ordered = True\n";

static void shows_signatures_only(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "shapes.py", shapes, NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_class", "Shape", NULL, NULL);
    g_assert_true(answer.ok);
    assert_has(
        &answer,
        "<file>shapes.py</file>\n<class>Shape</class>\n<code>\n"
        "1 @register\n2 class Shape(Base):\n4     sides = 0\n6     @property\n7     def "
        "area(self):\n"
        "11     def scale(\n12         self,\n13         by,\n14     ):\n17     class Meta:\n"
        "18         ordered = True\n</code>");
    assert_lacks(&answer, "<func>");
    assert_lacks(&answer, "__doc__");
    assert_lacks(&answer, "body = 1");
}

static void in_file_shows_the_whole_class(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "shapes.py", shapes, "b/shapes.py", "class Other:\n    pass\n", NULL);
    g_auto(AcrAnswer) answer =
        fixture_call(&fixture, "search_class_in_file", "Shape", "shapes.py", NULL);
    fixture_assert_places(&answer, "shapes.py:1-18 Shape -");
    assert_has(&answer, "8         body = 1\n9         return body\n10 \n11     def scale(");
}

static void repeated_names_are_all_listed(void)
{
    g_auto(Fixture) fixture;
    const char *text = "class Twin:\n    pass\n";
    fixture_init(&fixture, "e.py", text, "b.py", text, "a.py", text, "d.py", text, "c.py", text,
                 NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_class", "Twin", NULL, NULL);
    fixture_assert_places(
        &answer,
        "a.py:1-2 Twin -\nb.py:1-2 Twin -\nc.py:1-2 Twin -\nd.py:1-2 Twin -\ne.py:1-2 Twin -");
    assert_has(&answer, "Found 5 results");
    assert_has(&answer, "<file>d.py</file> 1\n<file>e.py</file> 1\n");
    char *code = answer.output;
    guint shown = 0;
    while ((code = strstr(code, "<code>"))) {
        shown++;
        code++;
    }
    g_assert_cmpuint(shown, ==, ACR_RESULT_SHOW_LIMIT);
}

static void an_alias_leads_to_its_class(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py",
                 "class MutableDense:\n    def go(self):\n        pass\n\nMatrix = MutableDense\n",
                 NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_class", "Matrix", NULL, NULL);
    fixture_assert_places(&answer, "m.py:5-5 - -\nm.py:1-3 MutableDense -");
    assert_has(&answer, "Matrix is another name of class MutableDense.");
    fixture_expect(&fixture, "search_method_in_class", "go", "Matrix", "m.py:2-3 MutableDense go");
}

static void a_reexported_class_is_found_in_the_file_that_imports_it(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/__init__.py", "from .impl import Thing\n", "pkg/impl.py",
                 "class Thing:\n    pass\n", NULL);
    g_auto(AcrAnswer) answer =
        fixture_call(&fixture, "search_class_in_file", "Thing", "pkg/__init__.py", NULL);
    fixture_assert_places(&answer, "pkg/impl.py:1-2 Thing -");
    assert_has(&answer, "gets it from elsewhere");
}

static void a_name_that_is_no_class_is_said_so(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", "def build():\n    pass\n\nLIMIT = 3\n\nclass Tree:\n    pass\n",
                 NULL);
    g_auto(AcrAnswer) function = fixture_call(&fixture, "search_class", "build", NULL, NULL);
    fixture_assert_places(&function, "m.py:1-2 - build");
    assert_has(&function, "There is no class named build; it is a function or method.");
    fixture_expect(&fixture, "search_class", "LIMIT", NULL, "m.py:4-4 - -");
    g_auto(AcrAnswer) folded = fixture_call(&fixture, "search_class", "tree", NULL, NULL);
    fixture_assert_places(&folded, "m.py:6-7 Tree -");
    assert_has(&folded, "upper and lower case");
}

static void a_miss_names_the_nearest_and_where_the_text_occurs(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "t.py",
                 "class SeasonalTariff:\n    pass\n\nclass Unrelated:\n    pass\n",
                 "tests/test_t.py", "# SeasonTariff\nSeasonTariff = 1\n", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_class", "SeasonTariff", NULL, NULL);
    g_assert_false(answer.ok);
    assert_has(&answer, "class SeasonalTariff, line 1 of <file>t.py</file>");
    assert_has(&answer, "occurs 2 times in 1 of the tests and files of other types:\n"
                        "<file>tests/test_t.py</file> 2\n");
    assert_lacks(&answer, "Unrelated");
}

static void a_name_that_is_only_used_is_shown_where_it_is_used(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "doc.rst", "Rule\n", "a.py", "x = Ruler(1)\n", "b.py",
                 "from web import Rule\n\ndef go():\n    return Rule(1)\n", "c.py",
                 "class C:\n    def set(self):\n        self.Rule = None\n", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_class", "Rule", NULL, NULL);
    g_assert_true(answer.ok);
    fixture_assert_places(&answer, "c.py:1-3 C set\nb.py:1-4 - -");
    assert_has(&answer, "There is no class named Rule. It is not defined outside the tests; these "
                        "lines use the name:\nFound 3 results for Rule:");
}

static void a_name_of_other_files_alone_is_shown_there(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", "class Fasten:\n    pass\n", "doc.rst", "see Faster\n",
                 "fast.pyx", "cdef class Faster:\n    pass\n", "tests/data.txt", "Faster\n", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_class", "Faster", NULL, NULL);
    g_assert_true(answer.ok);
    fixture_assert_places(&answer, "fast.pyx:1-2 - -\ndoc.rst:1-1 - -");
    assert_has(&answer, "No Python file outside the tests holds it; these are lines of other "
                        "files:");
    assert_has(&answer, "The nearest names are:\nclass Fasten, line 1");
}

static void a_class_of_another_file_is_shown_with_what_the_named_one_holds(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", "class A:\n    pass\n", "b.py",
                 "class B:\n    pass\n\ndef run():\n    pass\n", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_class_in_file", "A", "b.py", NULL);
    fixture_assert_places(&answer, "a.py:1-2 A -");
    assert_has(&answer, "There is no class A in b.py. It is defined elsewhere:\n");
    assert_has(&answer, "<file>b.py</file> defines: class B, run");
}

static void test_files_are_read_as_text_when_named(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "tests/test_a.py", "class Helper:\n    x = 1\n\n    y = 2\n\nz = 3\n",
                 "a.py", "x = 1\n", NULL);
    fixture_expect(&fixture, "search_class", "Helper", NULL, "");
    fixture_expect(&fixture, "search_class_in_file", "Helper", "tests/test_a.py",
                   "tests/test_a.py:1-4 Helper -");
    fixture_expect(&fixture, "search_method_in_file", "Helper", "test_a.py",
                   "tests/test_a.py:1-4 Helper -");
}

static void files_that_cannot_be_parsed_are_read_as_text(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "old.py", "!syntax\nclass Old:\n    def go(self):\n        print 1\n",
                 NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_class", "Old", NULL, NULL);
    fixture_assert_places(&answer, "old.py:2-4 Old -");
    assert_has(&answer, "Read from the text alone");
    fixture_expect(&fixture, "search_method", "go", NULL, "old.py:3-4 - go");
    fixture_expect(&fixture, "search_method_in_file", "go", "old.py", "old.py:3-4 - go");
}

void add_class_tests(void)
{
    g_test_add_func("/search/class/shows_signatures_only", shows_signatures_only);
    g_test_add_func("/search/class/in_file_shows_the_whole_class", in_file_shows_the_whole_class);
    g_test_add_func("/search/class/repeated_names_are_all_listed", repeated_names_are_all_listed);
    g_test_add_func("/search/class/an_alias_leads_to_its_class", an_alias_leads_to_its_class);
    g_test_add_func("/search/class/a_reexported_class_is_found_in_the_file_that_imports_it",
                    a_reexported_class_is_found_in_the_file_that_imports_it);
    g_test_add_func("/search/class/a_name_that_is_no_class_is_said_so",
                    a_name_that_is_no_class_is_said_so);
    g_test_add_func("/search/class/a_miss_names_the_nearest_and_where_the_text_occurs",
                    a_miss_names_the_nearest_and_where_the_text_occurs);
    g_test_add_func("/search/class/a_name_that_is_only_used_is_shown_where_it_is_used",
                    a_name_that_is_only_used_is_shown_where_it_is_used);
    g_test_add_func("/search/class/a_name_of_other_files_alone_is_shown_there",
                    a_name_of_other_files_alone_is_shown_there);
    g_test_add_func("/search/class/a_class_of_another_file_is_shown_with_what_the_named_one_holds",
                    a_class_of_another_file_is_shown_with_what_the_named_one_holds);
    g_test_add_func("/search/class/test_files_are_read_as_text_when_named",
                    test_files_are_read_as_text_when_named);
    g_test_add_func("/search/class/files_that_cannot_be_parsed_are_read_as_text",
                    files_that_cannot_be_parsed_are_read_as_text);
}
