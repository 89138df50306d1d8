/* Tests that bug locations are unique and limited in number. */
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

/* Role, level and place of each result, one per line. */
static char *described(const GPtrArray *found)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < found->len; i++) {
        const AcrLocated *at = g_ptr_array_index(found, i);
        g_string_append_printf(text, "%s%s %s %s:%u-%u %s %s", i ? "\n" : "", acr_located_role_name(at->role),
                               acr_locate_level_name(at->level), at->place->file, at->place->start, at->place->end,
                               at->place->klass ? at->place->klass : "-", at->place->func ? at->place->func : "-");
        g_assert_nonnull(at->code);
        g_assert_true(g_utf8_validate(at->code, -1, NULL));
    }
    return g_string_free(text, FALSE);
}

static GPtrArray *locate(Fixture *fixture, const char *file, const char *klass, const char *method)
{
    g_autoptr(GPtrArray) locations = g_ptr_array_new_with_free_func((GDestroyNotify)acr_bug_location_free);
    g_ptr_array_add(locations, acr_bug_location_new(file, klass, method, "be right"));
    return acr_search_locate(fixture->search, locations);
}

TEST("/search/locate", places_are_unique_and_their_intentions_joined)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "shapes.py", shapes, NULL);
    g_autoptr(GPtrArray) locations = g_ptr_array_new_with_free_func((GDestroyNotify)acr_bug_location_free);
    g_ptr_array_add(locations, acr_bug_location_new("shapes.py", "Base", "name", "first"));
    g_ptr_array_add(locations, acr_bug_location_new(NULL, NULL, "Base.name", "second"));
    g_ptr_array_add(locations, acr_bug_location_new(NULL, "Base", "name", "first"));
    g_ptr_array_add(locations, acr_bug_location_new(NULL, "Base", NULL, "third"));
    g_autoptr(GPtrArray) found = acr_search_locate(fixture.search, locations);
    assert_text(described(found), "bug method+class shapes.py:5-6 Base name\nbug class shapes.py:1-6 Base -");
    const AcrLocated *method = g_ptr_array_index(found, 0), *klass = g_ptr_array_index(found, 1);
    g_assert_cmpstr(method->intended_behavior, ==, "first\nsecond");
    g_assert_cmpstr(klass->intended_behavior, ==, "third");
    g_assert_nonnull(strstr(klass->code, "return 0"));
}

TEST("/search/locate", a_common_method_gives_few_places)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 100; i++)
        g_string_append_printf(text, "class C%d:\n    def run(self):\n%s        pass\n", i,
                               i == 70 ? "        x = 1\n" : "");
    fixture_init(&fixture, "a.py", text->str, "z/b.py", "def run():\n    pass\n", "z/c.py", "x = 1\n", NULL);
    g_autoptr(GPtrArray) found = locate(&fixture, "z/c.py", NULL, "run");
    g_autofree char *all = described(found);
    g_assert_nonnull(strstr(all, "bug method a.py:212-214 C70 run"));
    g_assert_nonnull(strstr(all, "bug method z/b.py:1-2 - run"));
    guint bugs = 0;
    for (guint i = 0; i < found->len; i++)
        bugs += ((AcrLocated *)g_ptr_array_index(found, i))->role == ACR_LOCATED_BUG;
    g_assert_cmpuint(bugs, ==, 5);
}

TEST("/search/locate", all_places_together_are_bounded)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GPtrArray) locations = g_ptr_array_new_with_free_func((GDestroyNotify)acr_bug_location_free);
    for (int i = 0; i < 200; i++) {
        g_autofree char *name = g_strdup_printf("f%d", i);
        g_string_append_printf(text, "def %s():\n    pass\n", name);
        g_ptr_array_add(locations, acr_bug_location_new("m.py", NULL, name, NULL));
    }
    fixture_init(&fixture, "m.py", text->str, NULL);
    g_autoptr(GPtrArray) found = acr_search_locate(fixture.search, locations);
    g_assert_cmpuint(found->len, ==, ACR_LOCATE_MAX_PLACES);
}

TEST("/search/locate", long_code_is_shortened)
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

/* Shows a place in a file of three lines; returns the reason for a refusal, owned, or NULL. */
static char *refused(Fixture *fixture, const char *file, guint start, guint end, const char *expected)
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

/* Lines count from 1; lines after the end of the file are omitted. */
TEST("/search/show", places_are_shown_where_they_are)
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
