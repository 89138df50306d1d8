/* Tests of limits, and that equal calls get equal answers. */
#include <glib/gstdio.h>
#include <string.h>

#include "fixture.h"
#include "search/reply_private.h"

TEST("/search/bounds", a_long_or_empty_argument_is_refused_in_words)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", "x = 1\n", NULL);
    g_autofree char *longest = g_strnfill(ACR_SEARCH_MAX_ARGUMENT, 'x');
    g_autofree char *longer = g_strnfill(ACR_SEARCH_MAX_ARGUMENT + 1, 'x');
    g_auto(AcrAnswer) fits = fixture_call(&fixture, "search_code", longest, NULL, NULL);
    g_assert_nonnull(strstr(fits.output, "Found no code"));
    g_auto(AcrAnswer) refused = fixture_call(&fixture, "search_code", longer, NULL, NULL);
    g_assert_nonnull(strstr(refused.output, "too long"));
    g_auto(AcrAnswer) empty = fixture_call(&fixture, "search_class", " \n", NULL, NULL);
    g_assert_nonnull(strstr(empty.output, "is empty"));
}

TEST("/search/bounds", text_that_is_not_utf8_is_answered)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", "x = 1\n", NULL);
    static const char *const calls[] = {"search_class", "search_method", "search_code"};
    for (gsize i = 0; i < G_N_ELEMENTS(calls); i++) {
        g_auto(AcrAnswer) answer = fixture_call(&fixture, calls[i], "\xff\xfe\xc3", NULL, NULL);
        g_assert_false(answer.ok);
    }
}

TEST("/search/bounds", ten_thousand_results_are_counted_and_a_thousand_listed)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 10000; i++)
        g_string_append(text, "def same():\n    needle\n\n\n\n\n\n\n\n\n");
    fixture_init(&fixture, "m.py", text->str, "n.py", "needle\n", NULL);
    g_auto(AcrAnswer) methods = fixture_call(&fixture, "search_method", "same", NULL, NULL);
    g_assert_cmpuint(methods.places->len, ==, ACR_SEARCH_MAX_PLACES);
    g_assert_nonnull(strstr(methods.output, "Found 10000 results for same:"));
    g_assert_nonnull(strstr(methods.output, "<file>m.py</file> 9977\n"));
    g_auto(AcrAnswer) lines = fixture_call(&fixture, "search_code", "needle", NULL, NULL);
    g_assert_cmpuint(lines.places->len, ==, ACR_SEARCH_MAX_PLACES);
    g_assert_nonnull(strstr(lines.output, "Found 10001 lines with needle:"));
    g_assert_nonnull(strstr(lines.output, "<file>m.py</file> 9997\n<file>n.py</file> 1\n"));
}

TEST("/search/bounds", classes_of_one_name_are_all_counted_and_the_last_is_found)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 1500; i++)
        g_string_append(text, "class Same:\n    x = 1\n");
    fixture_init(&fixture, "m.py", text->str, "n.py", "class Same:\n    def f(self):\n        pass\n", NULL);
    fixture_expect(&fixture, "search_class_in_file", "Same", "n.py", "n.py:1-3 Same -");
    g_auto(AcrAnswer) all = fixture_call(&fixture, "search_class", "Same", NULL, NULL);
    g_assert_nonnull(strstr(all.output, "Found 1501 results for Same:"));
    g_auto(AcrAnswer) method = fixture_call(&fixture, "search_method", "Same.g", NULL, NULL);
    g_assert_nonnull(strstr(method.output, "1501 classes are named Same; only the first 200"));
}

TEST("/search/bounds", a_huge_class_loses_its_middle)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new("class Huge:\n");
    for (int i = 0; i < 20000; i++)
        g_string_append_printf(text, "    def method_%d(self):\n        return %d\n", i, i);
    fixture_init(&fixture, "m.py", text->str, NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_class_in_file", "Huge", "m.py", NULL);
    fixture_assert_places(&answer, "m.py:1-40001 Huge -");
    g_assert_nonnull(strstr(answer.output, "\n1 class Huge:\n2     def method_0(self):\n"));
    g_assert_nonnull(strstr(answer.output, "\n40001         return 19999\n</code>"));
    g_assert_nonnull(strstr(answer.output, "are left out; get_code_around_line(\"m.py\", "));
    g_assert_cmpuint(strlen(answer.output), >, ACR_SEARCH_MAX_OUTPUT / 2);
    g_auto(AcrAnswer) signatures = fixture_call(&fixture, "search_class", "Huge", NULL, NULL);
    g_assert_nonnull(strstr(signatures.output, "40000     def method_19999(self):\n</code>"));
}

TEST("/search/bounds", three_long_results_share_the_budget)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 4; i++) {
        g_string_append(text, "def big():\n");
        for (int line = 0; line < 3000; line++)
            g_string_append_printf(text, "    value_of_line = %d\n", line);
    }
    fixture_init(&fixture, "m.py", text->str, NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_method", "big", NULL, NULL);
    guint ends = 0;
    for (const char *at = answer.output; (at = strstr(at, "2999\n</code>")); at++)
        ends++;
    g_assert_cmpuint(ends, ==, ACR_RESULT_SHOW_LIMIT);
    g_assert_nonnull(strstr(answer.output, "<func>big</func> line 9004\n"));
}

TEST("/search/bounds", a_line_of_a_megabyte_is_cut)
{
    g_auto(Fixture) fixture;
    g_autofree char *tail = g_strnfill(1024 * 1024, 'y');
    g_autofree char *text = g_strconcat("needle = '", tail, "'\nnext = 1\n", NULL);
    fixture_init(&fixture, "m.py", text, NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", "needle", NULL, NULL);
    g_assert_true(answer.ok);
    g_assert_cmpuint(strlen(answer.output), <, 4096);
    g_assert_nonnull(strstr(answer.output, "\n2 next = 1\n"));
}

TEST("/search/bounds", many_files_are_listed_up_to_a_bound)
{
    g_auto(Fixture) fixture;
    char *dir = g_dir_make_tmp("acr-search-XXXXXX", NULL);
    for (int i = 0; i < 300; i++) {
        g_autofree char *path = g_strdup_printf("package_with_a_long_name_%03d/module.py", i);
        fixture_write(dir, path, "needle\n", 7);
    }
    fixture_init_dir(&fixture, dir);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", "needle", NULL, NULL);
    g_assert_cmpuint(answer.places->len, ==, 300);
    g_assert_nonnull(strstr(answer.output, "<file>package_with_a_long_name_202/module.py</file> 1\n"));
    g_assert_nonnull(strstr(answer.output, "… and 97 more in further files.\n"));
}

TEST("/search/bounds", more_matches_than_places_are_counted_per_file)
{
    g_auto(Fixture) fixture;
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 1500; i++)
        g_string_append(text, "hit hit\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n");
    fixture_init(&fixture, "a.py", text->str, "b.py", "hit\nhit", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_code", "hit", NULL, NULL);
    g_assert_cmpuint(answer.places->len, ==, ACR_SEARCH_MAX_PLACES);
    g_assert_nonnull(strstr(answer.output, "Found 1502 lines with hit:"));
    g_assert_nonnull(strstr(answer.output, "<file>a.py</file> 1497\n<file>b.py</file> 2\n"));
}

TEST("/search/bounds", contents_beyond_the_kept_ones_are_read_again)
{
    const char *text = "class A:\n    def f(self):\n        return needle\n";
    g_auto(Fixture) kept, unkept;
    fixture_init(&kept, "a.py", text, "b.py", text, "c.py", text, "d.py", text, NULL);
    fixture_init(&unkept, "a.py", text, "b.py", text, "c.py", text, "d.py", text, NULL);
    unkept.search->kept_limit = 0;
    static const char *const calls[] = {"search_class", "search_method", "search_code"};
    static const char *const arguments[] = {"A", "f", "needle", "nowhere"};
    for (gsize i = 0; i < G_N_ELEMENTS(calls) * G_N_ELEMENTS(arguments); i++) {
        g_auto(AcrAnswer) one = fixture_call(&kept, calls[i / 4], arguments[i % 4], NULL, NULL);
        g_auto(AcrAnswer) two = fixture_call(&unkept, calls[i / 4], arguments[i % 4], NULL, NULL);
        g_assert_cmpstr(one.output, ==, two.output);
    }
    g_assert_cmpuint(unkept.search->kept_bytes, ==, 0);
}

TEST("/search/bounds", long_names_and_paths_stay_within_the_output)
{
    g_auto(Fixture) fixture;
    g_autofree char *part = g_strnfill(200, 'p');
    g_autofree char *folder = g_strjoin("/", part, part, part, part, part, part, part, part, part, part, NULL);
    g_autofree char *name = g_strnfill(9000, 'n');
    g_autofree char *text = g_strdup_printf("class %s:\n    def go(self):\n        pass\n", name);
    char *dir = g_dir_make_tmp("acr-search-XXXXXX", NULL);
    for (int i = 0; i < 40; i++) {
        g_autofree char *path = g_strdup_printf("%s/%d.py", folder, i);
        fixture_write(dir, path, text, strlen(text));
    }
    fixture_init_dir(&fixture, dir);
    g_auto(AcrAnswer) methods = fixture_call(&fixture, "search_method", "go", NULL, NULL);
    g_assert_cmpuint(methods.places->len, ==, 40);
    g_auto(AcrAnswer) classes = fixture_call(&fixture, "search_class", name, NULL, NULL);
    g_assert_cmpuint(classes.places->len, ==, 40);
}

/* Runs git in a folder; returns its output without the line end; owned. */
static char *git(const char *dir, const char *const *arguments)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_ptr_array_add(argv, "git");
    g_ptr_array_add(argv, "-C");
    g_ptr_array_add(argv, (void *)dir);
    for (; *arguments; arguments++)
        g_ptr_array_add(argv, (void *)*arguments);
    g_ptr_array_add(argv, NULL);
    AcrSpawn spawn = {.argv = (const char *const *)argv->pdata};
    g_auto(AcrSpawnResult) result = {0};
    g_assert_true(acr_spawn_run(&spawn, &result, &error));
    g_assert_cmpint(result.exit_code, ==, 0);
    gsize len = 0;
    const char *text = g_bytes_get_data(result.out, &len);
    return g_strchomp(g_strndup(text ? text : "", len));
}

/* Each call that needs to read the file must report the error instead of an empty result. (A name
 * that is not among the file's words would need no reading.) */
static void expect_no_reading(Fixture *fixture)
{
    static const char *const calls[][4] = {{"search_code", "Here"},
                                           {"search_code", "re:He.e"},
                                           {"search_code", "def  g"},
                                           {"search_code_in_file", "Here", "m.py"},
                                           {"search_class", "Here"},
                                           {"search_class_in_file", "Here", "m.py"},
                                           {"search_method", "g"},
                                           {"search_method_in_file", "g", "m.py"},
                                           {"search_method_in_class", "g", "Here"},
                                           {"search_method_in_class", "attribute", "Here"},
                                           {"search_method", "attribute"},
                                           {"search_class", "attribute"},
                                           {"search_callers", "Base"},
                                           {"get_code_around_line", "m.py", "1", "3"}};
    for (gsize i = 0; i < G_N_ELEMENTS(calls); i++) {
        g_autoptr(GError) error = NULL;
        g_auto(AcrCall) call = {.spec = acr_search_call_spec(calls[i][0])};
        g_auto(AcrAnswer) answer = {0};
        for (gsize k = 0; k < 3; k++)
            call.values[k] = g_strdup(calls[i][k + 1]);
        g_test_message("%s %s", calls[i][0], calls[i][1]);
        g_assert_false(acr_search_run(fixture->search, &call, &answer, &error));
        g_assert_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_FAILED);
        g_assert_nonnull(strstr(error->message, "cannot read 'm.py'"));
        g_assert_null(answer.output);
    }
}

TEST("/search/bounds", a_missing_object_is_an_error)
{
    g_auto(Fixture) fixture;
    static const char text[] = "from b import Base\n\n\nclass Here(Base):\n    def g(self):\n"
                               "        self.attribute = 1\n";
    static const char base[] = "class Base:\n    def h(self):\n        self.attribute = 2\n";
    char *dir = g_dir_make_tmp("acr-search-XXXXXX", NULL);
    fixture_write(dir, "m.py", text, strlen(text));
    fixture_write(dir, "b.py", base, strlen(base));
    g_free(git(dir, (const char *const[]){"init", "-q", NULL}));
    g_free(git(dir, (const char *const[]){"add", "b.py", "m.py", NULL}));
    g_free(git(dir, (const char *const[]){"-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false",
                                          "commit", "-qm", "one", NULL}));
    fixture_init_commit(&fixture, dir);
    g_autofree char *id = git(dir, (const char *const[]){"rev-parse", "HEAD:m.py", NULL});
    g_autofree char *object = g_strdup_printf("%s/.git/objects/%.2s/%s", dir, id, id + 2);
    g_assert_cmpint(g_unlink(object), ==, 0);
    expect_no_reading(&fixture);
    g_autoptr(GPtrArray) locations = g_ptr_array_new_with_free_func((GDestroyNotify)acr_bug_location_free);
    g_ptr_array_add(locations, acr_bug_location_new("m.py", "Here", NULL, NULL));
    g_autoptr(GPtrArray) found = acr_search_locate(fixture.search, locations);
    g_assert_cmpuint(found->len, ==, 0);
}

TEST("/search/bounds", the_same_call_gives_the_same_bytes)
{
    const char *text = "class Aa:\n    pass\nclass Ab:\n    pass\nclass Ac:\n    pass\n";
    g_auto(Fixture) one, two;
    fixture_init(&one, "a.py", text, "b.py", text, "c/d.py", text, NULL);
    fixture_init(&two, "c/d.py", text, "b.py", text, "a.py", text, NULL);
    static const char *const calls[] = {"search_class", "search_method", "search_code"};
    static const char *const arguments[] = {"Aa", "Ad", "class"};
    for (gsize i = 0; i < G_N_ELEMENTS(calls) * G_N_ELEMENTS(arguments); i++) {
        const char *call = calls[i / 3], *argument = arguments[i % 3];
        g_auto(AcrAnswer) first = fixture_call(&one, call, argument, NULL, NULL);
        g_auto(AcrAnswer) again = fixture_call(&one, call, argument, NULL, NULL);
        g_auto(AcrAnswer) other = fixture_call(&two, call, argument, NULL, NULL);
        g_assert_cmpstr(first.output, ==, again.output);
        g_assert_cmpstr(first.output, ==, other.output);
    }
}
