/* Bug locations: each level, context, uniqueness, bounds. */
#include <string.h>

#include "fixture.h"

static const char shapes[] = "class Base:\n"
                             "    def area(self):\n"
                             "        return 0\n"
                             "\n"
                             "    def name(self):\n"
                             "        return ''\n"
                             "\n"
                             "\n"
                             "class Square(Base):\n"
                             "    side = 1\n"
                             "\n"
                             "    def area(self):\n"
                             "        return self.side ** 2\n"
                             "\n"
                             "\n"
                             "def area(shape):\n"
                             "    return shape.area()\n";

/* Role, level and place of everything found, joined by line ends. */
static char *described(const GPtrArray *found)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < found->len; i++) {
        const AcrLocated *at = g_ptr_array_index(found, i);
        g_string_append_printf(
            text, "%s%s %s %s:%u-%u %s %s", i ? "\n" : "", acr_located_role_name(at->role),
            acr_locate_level_name(at->level), at->place->file, at->place->start, at->place->end,
            at->place->klass ? at->place->klass : "-", at->place->func ? at->place->func : "-");
        g_assert_nonnull(at->code);
        g_assert_true(g_utf8_validate(at->code, -1, NULL));
    }
    return g_string_free(text, FALSE);
}

static GPtrArray *locate(Fixture *fixture, const char *file, const char *klass, const char *method)
{
    g_autoptr(GPtrArray) locations =
        g_ptr_array_new_with_free_func((GDestroyNotify)acr_bug_location_free);
    g_ptr_array_add(locations, acr_bug_location_new(file, klass, method, "be right"));
    return acr_search_locate(fixture->search, locations);
}

static void expect(Fixture *fixture, const char *file, const char *klass, const char *method,
                   const char *expected)
{
    g_autoptr(GPtrArray) found = locate(fixture, file, klass, method);
    g_autofree char *text = described(found);
    g_assert_cmpstr(text, ==, expected);
}

static void each_level_hits_in_its_turn(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/shapes.py", shapes, "pkg/other.py", "x = 1\n", NULL);
    expect(&fixture, NULL, "Square", "area",
           "bug method+class pkg/shapes.py:12-13 Square area\nclass method+class "
           "pkg/shapes.py:9-13 Square -\n"
           "overridden method+class pkg/shapes.py:2-3 Base area");
    expect(
        &fixture, "shapes.py", NULL, "name",
        "bug method+file pkg/shapes.py:5-6 Base name\nclass method+file pkg/shapes.py:1-6 Base -");
    expect(&fixture, "shapes.py", "Square", NULL, "bug class+file pkg/shapes.py:9-13 Square -");
    expect(&fixture, "pkg/other.py", "Square", NULL, "bug class pkg/shapes.py:9-13 Square -");
    expect(&fixture, "pkg/none.py", "Nobody", "name",
           "bug method pkg/shapes.py:5-6 Base name\nclass method pkg/shapes.py:1-6 Base -");
    expect(&fixture, "pkg/other.py", "Nobody", "nothing", "bug file pkg/other.py:1-1 - -");
    expect(&fixture, "none.py", "Nobody", "nothing", "");
    expect(&fixture, NULL, NULL, NULL, "");
    expect(&fixture, "", " ", "\n", "");
}

static void a_dotted_method_is_split(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "shapes.py", shapes, NULL);
    expect(&fixture, NULL, NULL, "Base.name",
           "bug method+class shapes.py:5-6 Base name\nclass method+class shapes.py:1-6 Base -");
    expect(&fixture, NULL, NULL, "`Base.name(self)`",
           "bug method+class shapes.py:5-6 Base name\nclass method+class shapes.py:1-6 Base -");
}

static void an_inherited_method_is_located_in_its_class(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "shapes.py", shapes, NULL);
    expect(&fixture, NULL, "Square", "name",
           "bug method+class shapes.py:5-6 Base name\nclass method+class shapes.py:1-6 Base -");
}

static void the_nearest_overridden_method_is_found_breadth_first(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py",
                 "class Far:\n    def go(self):\n        pass\n"
                 "class Left(Far):\n    pass\n"
                 "class Right:\n    def go(self):\n        pass\n"
                 "class Leaf(Left, Right):\n    def go(self):\n        pass\n",
                 NULL);
    expect(&fixture, NULL, "Leaf", "go",
           "bug method+class m.py:10-11 Leaf go\nclass method+class m.py:9-11 Leaf -\n"
           "overridden method+class m.py:7-8 Right go");
}

static void code_is_bare_and_context_is_signatures(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "shapes.py", shapes, NULL);
    g_autoptr(GPtrArray) found = locate(&fixture, NULL, "Square", "area");
    const AcrLocated *bug = g_ptr_array_index(found, 0), *context = g_ptr_array_index(found, 1);
    g_assert_cmpstr(bug->code, ==, "    def area(self):\n        return self.side ** 2\n");
    g_assert_cmpstr(bug->intended_behavior, ==, "be right");
    g_assert_cmpstr(context->code, ==, "class Square(Base):\n    side = 1\n    def area(self):\n");
    g_assert_null(context->intended_behavior);
}

static void a_file_narrows_classes_of_one_name(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", shapes, "b.py", shapes, NULL);
    expect(&fixture, "b.py", "Base", "name",
           "bug method+class b.py:5-6 Base name\nclass method+class b.py:1-6 Base -");
    expect(&fixture, NULL, "Base", "name",
           "bug method+class a.py:5-6 Base name\nbug method+class b.py:5-6 Base name\n"
           "class method+class a.py:1-6 Base -\nclass method+class b.py:1-6 Base -");
}

static void places_are_unique_and_their_intentions_joined(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "shapes.py", shapes, NULL);
    g_autoptr(GPtrArray) locations =
        g_ptr_array_new_with_free_func((GDestroyNotify)acr_bug_location_free);
    g_ptr_array_add(locations, acr_bug_location_new("shapes.py", "Base", "name", "first"));
    g_ptr_array_add(locations, acr_bug_location_new(NULL, NULL, "Base.name", "second"));
    g_ptr_array_add(locations, acr_bug_location_new(NULL, "Base", "name", "first"));
    g_ptr_array_add(locations, acr_bug_location_new(NULL, "Base", NULL, "third"));
    g_autoptr(GPtrArray) found = acr_search_locate(fixture.search, locations);
    g_autofree char *text = described(found);
    g_assert_cmpstr(text, ==,
                    "bug method+class shapes.py:5-6 Base name\nbug class shapes.py:1-6 Base -");
    const AcrLocated *method = g_ptr_array_index(found, 0), *klass = g_ptr_array_index(found, 1);
    g_assert_cmpstr(method->intended_behavior, ==, "first\nsecond");
    g_assert_cmpstr(klass->intended_behavior, ==, "third");
    g_assert_nonnull(strstr(klass->code, "return 0"));
}

static void a_common_method_gives_few_places(void)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 100; i++)
        g_string_append_printf(text, "class C%d:\n    def run(self):\n%s        pass\n", i,
                               i == 70 ? "        x = 1\n" : "");
    fixture_init(&fixture, "a.py", text->str, "z/b.py", "def run():\n    pass\n", "z/c.py",
                 "x = 1\n", NULL);
    g_autoptr(GPtrArray) found = locate(&fixture, "z/c.py", NULL, "run");
    g_autofree char *all = described(found);
    g_assert_nonnull(strstr(all, "bug method a.py:212-214 C70 run"));
    g_assert_nonnull(strstr(all, "bug method z/b.py:1-2 - run"));
    guint bugs = 0;
    for (guint i = 0; i < found->len; i++)
        bugs += ((AcrLocated *)g_ptr_array_index(found, i))->role == ACR_LOCATED_BUG;
    g_assert_cmpuint(bugs, ==, 5);
}

static void all_places_together_are_bounded(void)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GPtrArray) locations =
        g_ptr_array_new_with_free_func((GDestroyNotify)acr_bug_location_free);
    for (int i = 0; i < 200; i++) {
        g_autofree char *name = g_strdup_printf("f%d", i);
        g_string_append_printf(text, "def %s():\n    pass\n", name);
        g_ptr_array_add(locations, acr_bug_location_new("m.py", NULL, name, NULL));
    }
    fixture_init(&fixture, "m.py", text->str, NULL);
    g_autoptr(GPtrArray) found = acr_search_locate(fixture.search, locations);
    g_assert_cmpuint(found->len, ==, ACR_LOCATE_MAX_PLACES);
}

static void long_code_is_shortened(void)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new("class Huge:\n    def one(self):\n");
    for (int i = 0; i < 30000; i++)
        g_string_append_printf(text, "        value = %d\n", i);
    g_string_append(text, "    def two(self):\n        pass\n");
    fixture_init(&fixture, "m.py", text->str, NULL);
    g_autoptr(GPtrArray) klass = locate(&fixture, NULL, "Huge", NULL);
    g_assert_cmpstr(((AcrLocated *)g_ptr_array_index(klass, 0))->code, ==,
                    "class Huge:\n    def one(self):\n    def two(self):\n");
    g_autoptr(GPtrArray) method = locate(&fixture, NULL, "Huge", "one");
    const char *code = ((AcrLocated *)g_ptr_array_index(method, 0))->code;
    g_assert_cmpuint(strlen(code), <, 40 * 1024);
    g_assert_nonnull(strstr(code, "lines left out)\n"));
    g_assert_true(g_str_has_suffix(code, "value = 29999\n"));
    g_autoptr(GPtrArray) file = locate(&fixture, "m.py", NULL, NULL);
    const AcrLocated *whole = g_ptr_array_index(file, 0);
    g_assert_cmpuint(whole->place->end, ==, 30004);
    g_assert_cmpstr(whole->code, ==, "class Huge:\n    def one(self):\n    def two(self):\n");
}

static void fields_that_name_another_kind_are_understood(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "pkg/shapes.py", shapes, "pkg/units.py",
                 "SI = make()\n\ndef area():\n    pass\n\nclass Si:\n    pass\n", NULL);
    expect(&fixture, "units.py", NULL, "SI", "bug method+file pkg/units.py:1-1 - -");
    expect(&fixture, NULL, "pkg.units", "area", "bug method+file pkg/units.py:3-4 - area");
    expect(&fixture, NULL, "pkg.units", NULL, "bug file pkg/units.py:1-7 - -");
    expect(&fixture, NULL, "name", NULL,
           "bug method pkg/shapes.py:5-6 Base name\nclass method pkg/shapes.py:1-6 Base -");
    expect(&fixture, NULL, "SI", "name",
           "bug method pkg/shapes.py:5-6 Base name\nclass method pkg/shapes.py:1-6 Base -");
    expect(&fixture, NULL, "sI", NULL, "bug class pkg/units.py:6-7 Si -");
    expect(&fixture, "shapes.py", NULL, "Square", "bug method+file pkg/shapes.py:9-13 Square -");
}

static void a_special_method_that_many_define_is_no_place(void)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 6; i++)
        g_string_append_printf(text, "class C%d:\n    def __repr__(self):\n        pass\n", i);
    fixture_init(&fixture, "a.py", text->str, NULL);
    expect(&fixture, NULL, "Nobody", "__repr__", "");
    expect(&fixture, NULL, "C1", "__repr__",
           "bug method+class a.py:5-6 C1 __repr__\nclass method+class a.py:4-6 C1 -");
}

static void test_files_are_no_places(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "tests/test_m.py", "def test():\n    pass\n", NULL);
    expect(&fixture, "tests/test_m.py", NULL, "test", "");
}

/* Shows one place of a file of three lines; what it was refused for, or NULL; owned. */
static char *refused(Fixture *fixture, const char *file, guint start, guint end,
                     const char *expected)
{
    g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func((GDestroyNotify)acr_place_free);
    g_autoptr(GError) error = NULL;
    g_auto(AcrAnswer) answer = {0};
    g_ptr_array_add(places, acr_place_new(file, start, end, NULL, NULL));
    if (!acr_search_show(fixture->search, NULL, places, &answer, &error))
        return g_strdup(error->message);
    fixture_assert_places(&answer, expected);
    return NULL;
}

/* Lines count from 1; those behind the file's last are left out. */
static void places_are_shown_where_they_are(void)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", "a = 1\nb = 2\nc = 3\n", NULL);
    g_assert_null(refused(&fixture, "a.py", 1, 1, "a.py:1-1 - -"));
    g_assert_null(refused(&fixture, "a.py", 3, 9, "a.py:3-3 - -"));
    static const struct {
        const char *file;
        guint start, end;
        const char *why;
    } rows[] = {{"a.py", 0, 1, "no such lines"},
                {"a.py", 4, 4, "no such lines"},
                {"a.py", 2, 1, "no such lines"},
                {"b.py", 1, 1, "no such file"}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *why = refused(&fixture, rows[i].file, rows[i].start, rows[i].end, NULL);
        g_assert_nonnull(why);
        g_assert_nonnull(strstr(why, rows[i].why));
    }
}

void add_locate_tests(void)
{
    g_test_add_func("/search/locate/each_level_hits_in_its_turn", each_level_hits_in_its_turn);
    g_test_add_func("/search/locate/a_dotted_method_is_split", a_dotted_method_is_split);
    g_test_add_func("/search/locate/an_inherited_method_is_located_in_its_class",
                    an_inherited_method_is_located_in_its_class);
    g_test_add_func("/search/locate/the_nearest_overridden_method_is_found_breadth_first",
                    the_nearest_overridden_method_is_found_breadth_first);
    g_test_add_func("/search/locate/code_is_bare_and_context_is_signatures",
                    code_is_bare_and_context_is_signatures);
    g_test_add_func("/search/locate/a_file_narrows_classes_of_one_name",
                    a_file_narrows_classes_of_one_name);
    g_test_add_func("/search/locate/places_are_unique_and_their_intentions_joined",
                    places_are_unique_and_their_intentions_joined);
    g_test_add_func("/search/locate/a_common_method_gives_few_places",
                    a_common_method_gives_few_places);
    g_test_add_func("/search/locate/all_places_together_are_bounded",
                    all_places_together_are_bounded);
    g_test_add_func("/search/locate/long_code_is_shortened", long_code_is_shortened);
    g_test_add_func("/search/locate/fields_that_name_another_kind_are_understood",
                    fields_that_name_another_kind_are_understood);
    g_test_add_func("/search/locate/a_special_method_that_many_define_is_no_place",
                    a_special_method_that_many_define_is_no_place);
    g_test_add_func("/search/locate/test_files_are_no_places", test_files_are_no_places);
    g_test_add_func("/search/show/places_are_shown_where_they_are",
                    places_are_shown_where_they_are);
}
