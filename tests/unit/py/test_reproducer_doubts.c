/* Tests that the host gets doubts about reproducers; tests/python tests which doubts there are. */
#include "py_fixture.h"

#include <string.h>
#include <unistd.h>

static GPtrArray *doubts_of(const char *script)
{
    g_autoptr(GPtrArray) doubts = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) error = NULL;
    assert_ok(acr_python_doubts(the_python(), script, doubts, &error), error);
    return g_steal_pointer(&doubts);
}

TEST("/py/reproducer_doubts", an_honest_script_has_none)
{
    g_autoptr(GPtrArray) none = doubts_of("import app\nassert app.half(4) == 2\n");
    g_assert_cmpuint(none->len, ==, 0);
}

TEST("/py/reproducer_doubts", they_come_in_the_order_of_lines)
{
    g_autoptr(GPtrArray) two = doubts_of("import app, os\nos.fork()\nos._exit(app.half(4))\n");
    g_assert_cmpuint(two->len, ==, 2);
    g_assert_cmpstr(two->pdata[0], ==, "the script calls os.fork (line 2)");
    g_assert_cmpstr(two->pdata[1], ==, "the script calls os._exit (line 3)");
}

TEST("/py/reproducer_doubts", one_that_is_no_python_is_doubted)
{
    static const char *const scripts[] = {"def f(:\n", "x = \xff\n"};
    for (guint i = 0; i < G_N_ELEMENTS(scripts); i++) {
        g_autoptr(GPtrArray) one = doubts_of(scripts[i]);
        g_assert_cmpuint(one->len, ==, 1);
        g_assert_nonnull(strstr(one->pdata[0], "cannot parse the script"));
    }
}

TEST("/py/reproducer_doubts", a_deep_one_is_no_crash)
{
    g_autoptr(GString) text = g_string_new("import app\nx = ");
    for (guint i = 0; i < 20000; i++)
        g_string_append(text, "1+");
    g_string_append(text, "1\n");
    g_autoptr(GPtrArray) some = doubts_of(text->str);
    g_assert_cmpuint(some->len, <=, 1);
}

/* Otherwise every script would be doubted, and nothing would be proved, without any message. */
TEST("/py/reproducer_doubts", without_its_reader_it_is_an_error)
{
    g_autoptr(GPtrArray) doubts = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = package_without("reproducer_doubts.py");
    g_autofree char *file = g_build_filename(folder, "acr", "reproducer_doubts.py", NULL);
    g_assert_cmpint(unlink(file), ==, 0);
    no_python(); /* a process can have only one interpreter */
    g_autoptr(AcrPython) python = made(acr_python_new(folder, &error), error);
    assert_fails_with(acr_python_doubts(python, "assert False\n", doubts, &error), error, ACR_PY_ERROR,
                      ACR_PY_ERROR_ENVIRONMENT);
    g_assert_cmpuint(doubts->len, ==, 0);
    g_assert_true(acr_dir_remove(folder, NULL));
}
