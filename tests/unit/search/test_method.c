/* search_method, search_method_in_file, search_method_in_class. */
#include <string.h>

#include "fixture.h"

static void assert_has(const AcrAnswer *answer, const char *text)
{
    if (!strstr(answer->output, text))
        g_error("no '%s' in:\n%s", text, answer->output);
}

static const char family[] = "class Base:\n"
                             "    limit = 1\n"
                             "\n"
                             "    def run(self):\n"
                             "        return 0\n"
                             "\n"
                             "    def __mul__(self, other):\n"
                             "        return 1\n"
                             "\n"
                             "    __rmul__ = __mul__\n"
                             "\n"
                             "\n"
                             "class Middle(Base):\n"
                             "    pass\n"
                             "\n"
                             "\n"
                             "class Leaf(Middle):\n"
                             "    def own(self):\n"
                             "        return 2\n";

static void finds_functions_and_methods_everywhere(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "b.py", "def run():\n    def inner():\n        pass\n", "a.py", family,
                 NULL);
    fixture_expect(&fixture, "search_method", "run", NULL, "a.py:4-5 Base run\nb.py:1-3 - run");
    fixture_expect(&fixture, "search_method", "inner", NULL, "b.py:2-3 - inner");
    fixture_expect(&fixture, "search_method", "run.inner", NULL, "b.py:2-3 - inner");
    fixture_expect(&fixture, "search_method", "b.run", NULL, "b.py:1-3 - run");
    fixture_expect(&fixture, "search_method", "Base.run", NULL, "a.py:4-5 Base run");
}

static void shows_a_method_with_decorators_and_line_numbers(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py",
                 "class A:\r\n    @cached\r\n    def go(self):\r\n        return 1\r\n", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_method", "go", NULL, NULL);
    assert_has(&answer, "<file>a.py</file>\n<class>A</class> <func>go</func>\n<code>\n"
                        "2     @cached\n3     def go(self):\n4         return 1\n</code>\n");
}

static void an_inherited_method_is_shown_where_it_is_defined(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", family, NULL);
    g_auto(AcrAnswer) answer =
        fixture_call(&fixture, "search_method_in_class", "run", "Leaf", NULL);
    fixture_assert_places(&answer, "a.py:4-5 Base run");
    assert_has(&answer,
               "Leaf (a.py) does not define run itself: it inherits that from Base (a.py).");
    fixture_expect(&fixture, "search_method", "Leaf.run", NULL, "a.py:4-5 Base run");
}

static void assigned_members_bring_what_they_stand_for(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", family, NULL);
    fixture_expect(&fixture, "search_method_in_class", "__rmul__", "Base",
                   "a.py:7-8 Base __mul__\na.py:10-10 Base -");
    fixture_expect(&fixture, "search_method_in_class", "limit", "Leaf", "a.py:2-2 Base -");
}

static void a_method_of_elsewhere_is_shown_with_what_the_class_has(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", family, "b.py", "def elsewhere():\n    pass\n", NULL);
    g_auto(AcrAnswer) answer =
        fixture_call(&fixture, "search_method_in_class", "elsewhere", "Leaf", NULL);
    fixture_assert_places(&answer, "b.py:1-2 - elsewhere");
    assert_has(&answer,
               "There is no method elsewhere in class Leaf, nor in the classes it inherits "
               "from here. It is defined elsewhere:\n");
    assert_has(&answer, "Class Leaf in <file>a.py</file> defines: own\n");
    g_auto(AcrAnswer) none =
        fixture_call(&fixture, "search_method_in_class", "nowhere", "Leaf", NULL);
    g_assert_false(none.ok);
    assert_has(&none, "Class Leaf in <file>a.py</file> defines: own\n");
}

static void uses_in_the_named_class_come_first(void)
{
    g_auto(Fixture) fixture;
    fixture_init(
        &fixture, "a.py", "import np\nx = np.fit(1)\n", "p/b.py", "y = np.fit(2)\n", "p/m.py",
        "z = np.fit(3)\n\n\n\n\n\nclass M:\n    def go(self):\n        return np.fit(4)\n", NULL);
    fixture_expect(&fixture, "search_method_in_class", "fit", "M",
                   "p/m.py:6-9 M go\np/m.py:1-4 - -\np/b.py:1-1 - -\na.py:1-2 - -");
}

static void a_method_in_another_case_is_said_so(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", family, NULL);
    g_auto(AcrAnswer) answer =
        fixture_call(&fixture, "search_method_in_class", "OWN", "Leaf", NULL);
    g_assert_true(answer.ok);
    assert_has(&answer, "What differs in upper and lower case alone is shown.");
}

static void a_class_argument_that_is_a_module_is_understood(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/tools.py", "def f():\n    pass\n", "pkg/more.py",
                 "def f():\n    pass\n", NULL);
    fixture_expect(&fixture, "search_method_in_class", "f", "pkg.tools", "pkg/tools.py:1-2 - f");
    fixture_expect(&fixture, "search_method_in_class", "f", "more.py", "pkg/more.py:1-2 - f");
    fixture_expect(&fixture, "search_method_in_class", "f", "tools", "pkg/tools.py:1-2 - f");
}

static void in_file_says_that_it_leaves_the_file(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", "def f():\n    pass\n", "b.py", "x = 1\n", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_method_in_file", "f", "b.py", NULL);
    fixture_assert_places(&answer, "a.py:1-2 - f");
    assert_has(&answer, "There is no function or method f in b.py. It is defined elsewhere:\n");
    g_auto(AcrAnswer) no_file = fixture_call(&fixture, "search_method_in_file", "g", "bb.py", NULL);
    g_assert_false(no_file.ok);
    assert_has(&no_file, "There is no file of that name.");
}

static void an_assigned_name_in_the_file_is_shown(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "v.py", "class V:\n    regex = r'x'\n", NULL);
    g_auto(AcrAnswer) answer =
        fixture_call(&fixture, "search_method_in_file", "regex", "v.py", NULL);
    fixture_assert_places(&answer, "v.py:2-2 V -");
    assert_has(&answer, "it is an assigned name");
    assert_has(&answer, "1 class V:\n2     regex = r'x'\n");
}

static void many_methods_are_listed_one_by_one(void)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 10; i++)
        g_string_append_printf(text, "class C%d:\n    def go(self):\n        pass\n", i);
    fixture_init(&fixture, "m.py", text->str, NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_method", "go", NULL, NULL);
    g_assert_cmpuint(answer.places->len, ==, 10);
    assert_has(&answer, "Found 10 results for go:");
    assert_has(&answer, "<file>m.py</file> <class>C9</class> <func>go</func> line 29\n");
}

static void a_qualifier_that_fits_nothing_is_dropped_and_said(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", "def go():\n    pass\n", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_method", "Nothing.go", NULL, NULL);
    fixture_assert_places(&answer, "m.py:1-2 - go");
    assert_has(&answer, "There is no Nothing.go here; taken as go.");
}

static void an_attribute_set_on_self_is_shown(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py",
                 "class R:\n    def __init__(self):\n        self.encoding = None\n\n\n\n\n\n\n"
                 "    def use(self):\n        return self.encoding == 1\n\nclass S(R):\n    pass\n",
                 NULL);
    g_auto(AcrAnswer) answer =
        fixture_call(&fixture, "search_method_in_class", "encoding", "R", NULL);
    fixture_assert_places(&answer, "m.py:1-6 R __init__");
    fixture_expect(&fixture, "search_method_in_class", "encoding", "S", "m.py:1-6 R __init__");
    assert_has(&answer, "encoding is not a method of R but an attribute, set here.");
}

void add_method_tests(void)
{
    g_test_add_func("/search/method/finds_functions_and_methods_everywhere",
                    finds_functions_and_methods_everywhere);
    g_test_add_func("/search/method/shows_decorators_and_line_numbers",
                    shows_a_method_with_decorators_and_line_numbers);
    g_test_add_func("/search/method/an_inherited_method_is_shown_where_it_is_defined",
                    an_inherited_method_is_shown_where_it_is_defined);
    g_test_add_func("/search/method/assigned_members_bring_what_they_stand_for",
                    assigned_members_bring_what_they_stand_for);
    g_test_add_func("/search/method/a_method_of_elsewhere_is_shown_with_what_the_class_has",
                    a_method_of_elsewhere_is_shown_with_what_the_class_has);
    g_test_add_func("/search/method/uses_in_the_named_class_come_first",
                    uses_in_the_named_class_come_first);
    g_test_add_func("/search/method/a_method_in_another_case_is_said_so",
                    a_method_in_another_case_is_said_so);
    g_test_add_func("/search/method/a_class_argument_that_is_a_module_is_understood",
                    a_class_argument_that_is_a_module_is_understood);
    g_test_add_func("/search/method/in_file_says_that_it_leaves_the_file",
                    in_file_says_that_it_leaves_the_file);
    g_test_add_func("/search/method/an_assigned_name_in_the_file_is_shown",
                    an_assigned_name_in_the_file_is_shown);
    g_test_add_func("/search/method/many_are_listed_one_by_one",
                    many_methods_are_listed_one_by_one);
    g_test_add_func("/search/method/a_qualifier_that_fits_nothing_is_dropped_and_said",
                    a_qualifier_that_fits_nothing_is_dropped_and_said);
    g_test_add_func("/search/method/an_attribute_set_on_self_is_shown",
                    an_attribute_set_on_self_is_shown);
}
