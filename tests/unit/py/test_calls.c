/* Tests of binding the texts of calls to the registered signatures. */
#include "py_fixture.h"

#include <string.h>

static void binds(const char *text, const char *expected)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrCall) call = {0};
    assert_ok(acr_python_bind_call(the_python(), NULL, text, &call, &error), error);
    assert_text(acr_call_print(&call), expected);
}

static void refused(const char *text, const char *said)
{
    g_autoptr(GError) error = NULL;
    AcrCall call = {0};
    g_assert_false(acr_python_bind_call(the_python(), NULL, text, &call, &error));
    g_assert_error(error, ACR_PY_ERROR, ACR_PY_ERROR_BAD_CALL);
    if (!strstr(error->message, said))
        g_error("%s", error->message);
    g_assert_null(call.spec);
}

TEST("/py/calls", every_registered_call_binds)
{
    gsize n;
    const AcrCallSpec *specs = acr_search_call_specs(&n);
    g_assert_cmpuint(n, >=, 8);
    for (gsize i = 0; i < n; i++) {
        g_autoptr(GString) text = g_string_new(specs[i].name);
        g_auto(AcrCall) call = {0};
        g_autoptr(GError) error = NULL;
        g_string_append_c(text, '(');
        for (guint p = 0; p < ACR_CALL_MAX_PARAMS && specs[i].params[p].name; p++)
            g_string_append_printf(text, specs[i].params[p].type == ACR_PARAM_INTEGER ? "%s%s=1%u" : "%s%s='v%u'",
                                   p ? ", " : "", specs[i].params[p].name, p);
        g_string_append_c(text, ')');
        bool ok = made(acr_python_bind_call(the_python(), NULL, text->str, &call, &error), error);
        g_assert_true(ok && call.spec == &specs[i]);
        for (guint p = 0; p < ACR_CALL_MAX_PARAMS && specs[i].params[p].name; p++) {
            g_autofree char *value = g_strdup_printf(specs[i].params[p].type == ACR_PARAM_INTEGER ? "1%u" : "v%u", p);
            g_assert_cmpstr(call.values[p], ==, value);
        }
    }
}

TEST("/py/calls", calls_as_models_write_them)
{
    binds(" search_class ( 'Prefix' ) \n", "search_class(\"Prefix\")");
    binds("search_method_in_class(class_name=\"P\", method_name='__mul__')",
          "search_method_in_class(\"__mul__\", \"P\")");
    binds("get_code_around_line('a.py', '10', window_size=0x5)", "get_code_around_line(\"a.py\", 10, 5)");
}

TEST("/py/calls", misfits_are_told)
{
    refused("", "not a Python call");
    refused("search_class(", "not a Python call");
    refused("search_class()", "missing a required argument: 'class_name'; usage: search_class(class_name: str)");
    refused("drop_table('x')", "there are: search_class");
    refused("search_class(x)", "in quotes");
    refused("search_class('\\ud800')", "surrogate");
    refused("search_class('a\\0b')", "NUL");
}

TEST("/py/calls", text_that_is_no_utf8_is_repaired)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrCall) call = {0};
    assert_ok(acr_python_bind_call(the_python(), NULL, "search_class('\xff')", &call, &error), error);
    g_assert_cmpstr(call.values[0], ==, "\xef\xbf\xbd");
}

static char *call_of(gsize n)
{
    g_autofree char *argument = g_strnfill(n, 'x');
    return g_strdup_printf("search_code('%s')", argument);
}

TEST("/py/calls", arguments_have_a_limit)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrCall) call = {0};
    g_autofree char *most = call_of(ACR_SEARCH_MAX_ARGUMENT);
    g_autofree char *more = call_of(ACR_SEARCH_MAX_ARGUMENT + 1);
    g_autofree char *far_more = call_of(1 << 20);
    g_assert_true(acr_python_bind_call(the_python(), NULL, most, &call, &error));
    g_assert_cmpuint(strlen(call.values[0]), ==, ACR_SEARCH_MAX_ARGUMENT);
    refused(more, "longer than 16 KiB");
    refused(far_more, "longer than 256 KiB");
}

TEST("/py/calls", failures_of_python_are_not_the_calls)
{
    g_auto(AcrCall) call = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = package_without("calls.py");
    no_python(); /* a process can have only one interpreter */
    g_autoptr(AcrPython) python = made(acr_python_new(folder, &error), error);
    g_assert_false(acr_python_bind_call(python, NULL, "search_class('A')", &call, &error));
    g_assert_true(error && error->domain == ACR_PY_ERROR);
    g_assert_cmpint(error->code, !=, ACR_PY_ERROR_BAD_CALL);
    g_assert_true(acr_dir_remove(folder, NULL));
}

TEST("/py/watch", what_python_cannot_begin_is_an_error)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) state = acr_json_new_object();
    g_autoptr(GByteArray) files = g_byte_array_new();
    g_autoptr(GPtrArray) streams = g_ptr_array_new();
    g_autofree char *folder = package_without("experiments");
    no_python();
    g_autoptr(AcrPython) python = made(acr_python_new(folder, &error), error);
    g_assert_null(acr_python_experiment(python, state, "assert False\n", files, streams, &error));
    g_assert_true(error && error->domain == ACR_PY_ERROR);
    g_assert_true(acr_dir_remove(folder, NULL));
}

TEST("/py/outline", version_of_a_package_that_is_not_there)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *here = made(acr_python_outline_version(package_dir(), &error), error);
    g_assert_nonnull(strchr(here, '/'));
    assert_fails_with(acr_python_outline_version("/nonexistent", &error), error, ACR_PY_ERROR,
                      ACR_PY_ERROR_ENVIRONMENT);
}
