/* Tests of calls for programs: schemas, calls from JSON, answers as JSON, and the map of a
 * repository. */
#include <string.h>

#include "fixture.h"

static AcrJson *parsed(const char *text)
{
    g_autoptr(GError) error = NULL;
    AcrJson *json = made(acr_json_parse(text, strlen(text), &error), error);
    return json;
}

/* The call to which the arguments are bound, or the error; owned. */
static char *bound(const char *name, const char *arguments, const char *beside)
{
    g_autoptr(AcrJson) json = arguments ? parsed(arguments) : NULL;
    g_autoptr(GError) error = NULL;
    g_auto(AcrCall) call = {0};
    if (acr_call_from_json(acr_search_call_spec(name), json, beside, &call, &error))
        return acr_call_print(&call);
    g_assert_true(g_error_matches(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_BAD_CALL));
    return g_strdup(error->message);
}

/* A run must be offered the calls that existed when it began, even if there are more today. */
TEST("/search/schema", first_calls)
{
    gsize n;
    const AcrCallSpec *specs = acr_search_call_specs(&n);
    for (gsize i = ACR_CALLS_OF_OLD; i <= n; i++) {
        g_autoptr(AcrCalls) calls = acr_calls_new(i, true);
        g_assert_cmpuint(acr_calls_n(calls), ==, i);
        g_assert_true(acr_calls_at(calls, i - 1) == &specs[i - 1]);
        for (gsize later = i; later < n; later++)
            g_assert_null(acr_calls_find(calls, specs[later].name));
    }
    g_autoptr(AcrCalls) all = acr_calls_new(n + 1, true);
    g_assert_cmpuint(acr_calls_n(all), ==, n);
}

TEST("/search/schema", calls_are_bound_from_json)
{
    static const char usage[] = "get_code_around_line(file_name: str, line_number: int, "
                                "window_size: int)";
    static const struct {
        const char *name, *arguments, *beside, *expected;
    } rows[] = {{"search_class", "{\"class_name\":\"A\"}", NULL, "search_class(\"A\")"},
                {"search_class", "{\"repo\":\"r\",\"class_name\":\"A\"}", "repo", "search_class(\"A\")"},
                {"search_class", "{\"repo\":\"r\",\"class_name\":\"A\"}", NULL,
                 "search_class: there is no argument \"repo\"; usage: search_class(class_name: "
                 "str)"},
                {"search_class", "{}", NULL,
                 "search_class: an argument is missing: \"class_name\"; usage: "
                 "search_class(class_name: str)"},
                {"search_class", NULL, NULL,
                 "search_class: an argument is missing: \"class_name\"; usage: "
                 "search_class(class_name: str)"},
                {"search_class", "{\"class_name\":7}", NULL,
                 "search_class: this argument must be a string: \"class_name\"; usage: "
                 "search_class(class_name: str)"},
                {"search_class", "[\"A\"]", NULL,
                 "search_class: the arguments must be an object, not of type \"array\"; usage: "
                 "search_class(class_name: str)"}};
    static const struct {
        const char *line;
        bool is_number;
    } numbers[] = {{"3", true},           {"-3", true},
                   {"\" 3 \"", true},     {"3.5", false},
                   {"1e99", false},       {"true", false},
                   {"2147483647", true},  {"-2147483647", true},
                   {"2147483648", false}, {"-2147483648", false},
                   {"\"3x\"", false},     {"null", false},
                   {"\"\"", false},       {"\"99999999999999999999\"", false}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = bound(rows[i].name, rows[i].arguments, rows[i].beside);
        g_assert_cmpstr(text, ==, rows[i].expected);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++) {
        g_autofree char *json =
            g_strdup_printf("{\"file_name\":\"a.py\",\"line_number\":%s,\"window_size\":2}", numbers[i].line);
        g_autofree char *text = bound("get_code_around_line", json, NULL);
        g_autofree char *refusal = g_strdup_printf("get_code_around_line: this argument must be a "
                                                   "whole number: \"line_number\"; usage: %s",
                                                   usage);
        if (numbers[i].is_number)
            g_assert_true(g_str_has_prefix(text, "get_code_around_line(\"a.py\", "));
        else
            g_assert_cmpstr(text, ==, refusal);
    }
}

TEST("/search/calls", print_as_python)
{
    g_auto(AcrCall) call = {.spec = acr_search_call_spec("get_code_around_line")};
    call.values[0] = g_strdup("a\"b\\c\n.py");
    call.values[1] = g_strdup("12");
    call.values[2] = g_strdup("3");
    assert_text(acr_call_print(&call), "get_code_around_line(\"a\\\"b\\\\c\\n.py\", 12, 3)");
    g_assert_null(acr_search_call_spec("search_nothing"));
}

TEST("/search/calls", every_row_of_the_table_is_answered)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", "x = 1\n", NULL);
    gsize n = 0;
    const AcrCallSpec *specs = acr_search_call_specs(&n);
    g_assert_cmpuint(n, ==, 10);
    for (gsize i = 0; i < n; i++) {
        g_auto(AcrAnswer) answer = fixture_call(&fixture, specs[i].name, "1", "1", "1");
        g_assert_nonnull(answer.output);
    }
}

TEST("/search/calls", a_missing_argument_is_a_bad_call)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "m.py", "x = 1\n", NULL);
    g_autoptr(GError) error = NULL;
    g_auto(AcrCall) call = {.spec = acr_search_call_spec("search_class")};
    g_auto(AcrAnswer) answer = {0};
    assert_fails_with(acr_search_run(fixture.search, &call, &answer, &error), error, ACR_SEARCH_ERROR,
                      ACR_SEARCH_ERROR_BAD_CALL);
}

/* Every row has a schema whose members are its parameters, each described. */
TEST("/search/schema", every_parameter_is_described)
{
    gsize n;
    const AcrCallSpec *specs = acr_search_call_specs(&n);
    for (gsize i = 0; i < n; i++) {
        g_autoptr(AcrJson) schema = acr_call_schema(&specs[i]);
        const AcrJson *properties = acr_json_get(schema, "properties");
        gsize count = 0;
        for (; count < ACR_CALL_MAX_PARAMS && specs[i].params[count].name; count++) {
            const AcrJson *member = acr_json_get(properties, specs[i].params[count].name);
            bool is_integer = specs[i].params[count].type == ACR_PARAM_INTEGER;
            g_assert_cmpstr(acr_json_get_string(member, "type"), ==, is_integer ? "integer" : "string");
            g_assert_nonnull(acr_json_get_string(member, "description"));
        }
        g_assert_cmpuint(acr_json_size(properties), ==, count);
        g_assert_cmpuint(acr_json_size(acr_json_get(schema, "required")), ==, count);
        acr_schema_add(schema, "more", acr_json_new_object(), false);
        g_assert_cmpuint(acr_json_size(properties), ==, count + 1);
        g_assert_cmpuint(acr_json_size(acr_json_get(schema, "required")), ==, count);
    }
}

/* An answer has the members that its schema requires, and no others. */
TEST("/search/schema", answers_are_of_their_schema)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", "class A:\n    def f(self):\n        pass\n", NULL);
    g_auto(AcrAnswer) answer = fixture_call(&fixture, "search_method", "f", NULL, NULL);
    g_autoptr(AcrJson) json = acr_answer_to_json("search_method(\"f\")", &answer), schema = acr_answer_schema();
    const AcrJson *results = acr_json_get(json, "results"), *place = acr_json_first(results);
    assert_text(acr_json_print(place), "{\"file\":\"a.py\",\"start\":2,\"end\":3,\"class\":\"A\",\"func\":\"f\"}");
    g_assert_true(acr_json_get_bool(json, "ok", false));
    g_assert_cmpstr(acr_json_get_string(json, "output"), ==, answer.output);
    const AcrJson *required = acr_json_get(schema, "required");
    g_assert_cmpuint(acr_json_size(required), ==, acr_json_size(json));
    for (const AcrJson *at = acr_json_first(required); at; at = acr_json_next(at))
        g_assert_nonnull(acr_json_get(json, acr_json_string(at)));
}

TEST("/search/map", names_what_files_define)
{
    g_auto(Fixture) fixture;
    fixture_init(&fixture, "a.py", "class A(B):\n    def f(self):\n        pass\ndef g():\n    pass\n", "b/c.py",
                 "x = 1\n", "tests/test_a.py", "def test():\n    pass\n", NULL);
    assert_text(acr_search_map(fixture.index),
                "2 source files, without tests:\na.py\n  class A(B), line 1\n  def g, line 4\n"
                "b/c.py\n");
}

/* The map of a repository of `n` files in folders of ten, with a class in each file. */
static char *large_map(guint n)
{
    g_autofree char *dir = g_dir_make_tmp("acr-map-XXXXXX", NULL);
    for (guint i = 0; i < n; i++) {
        g_autofree char *path = g_strdup_printf("package_%05u/module_%05u.py", i / 10, i);
        fixture_write(dir, path, "class A:\n    pass\n", 18);
    }
    g_auto(Fixture) fixture;
    fixture_init_dir(&fixture, g_steal_pointer(&dir));
    return acr_search_map(fixture.index);
}

TEST("/search/map", counts_where_names_do_not_fit)
{
    g_autofree char *files = large_map(1500), *folders = large_map(3000);
    g_assert_nonnull(strstr(files, "package_00149/module_01499.py (1 class)\n"));
    g_assert_nonnull(strstr(folders, "package_00299/ (10 files)\n"));
    g_assert_null(strstr(folders, "module"));
    g_assert_cmpuint(strlen(files), <=, ACR_SEARCH_MAX_OUTPUT);
    g_assert_cmpuint(strlen(folders), <=, ACR_SEARCH_MAX_OUTPUT);
}
