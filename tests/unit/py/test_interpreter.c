/* Tests of how the interpreter starts, and what prevents it from starting. */
#include "py/py_private.h"
#include "py_fixture.h"

#include <signal.h>
#include <string.h>

TEST("/py/interpreter", starts_isolated_with_its_own_executable)
{
    g_autofree char *facts = probe(the_python(), "facts", "");
    g_autofree char *expected = g_strdup_printf("1\n1\nTrue\n%s\nutf-8\n0\nFalse\nFalse", ACR_PYTHON_EXECUTABLE);
    g_assert_cmpstr(facts, ==, expected);
}

TEST("/py/interpreter", versions_are_known)
{
    g_autofree char *running = acr_py_running_version();
    g_assert_true(g_str_has_prefix(running, "3."));
    g_assert_null(strchr(running, ' '));
}

TEST("/py/interpreter", version_must_agree_in_two_parts)
{
    g_assert_true(acr_py_version_fits("3.11.2", "3.11.2 (main, Nov 30 2024) [GCC 12.2.0]"));
    g_assert_true(acr_py_version_fits("3.11.2", "3.11.9"));
    g_assert_true(acr_py_version_fits("3.11", "3.11.9"));
    g_assert_false(acr_py_version_fits("3.11.2", "3.1.2"));
    g_assert_false(acr_py_version_fits("3.1.2", "3.11.2"));
    g_assert_false(acr_py_version_fits("3.11.2", "3.12.0"));
    g_assert_false(acr_py_version_fits("3.11.2", ""));
}

TEST("/py/interpreter", starts_again_with_the_same_hashes)
{
    g_autofree char *first = probe(the_python(), "hash_of_text", "text");
    for (int i = 0; i < 3; i++) {
        no_python();
        assert_text(probe(the_python(), "hash_of_text", "text"), first);
    }
}

TEST("/py/interpreter", second_one_is_refused)
{
    g_autoptr(GError) error = NULL;
    g_assert_nonnull(the_python());
    g_assert_null(acr_python_new(package_dir(), &error));
    g_assert_error(error, ACR_PY_ERROR, ACR_PY_ERROR_ENVIRONMENT);
    g_assert_cmpstr(error->message, ==, "this process already has a Python interpreter");
    assert_text(probe(the_python(), "echo", "here"), "here");
}

TEST("/py/interpreter", python_variables_are_ignored)
{
    no_python();
    g_setenv("PYTHONHOME", "/nonexistent", TRUE);
    g_setenv("PYTHONPATH", "/nonexistent", TRUE);
    g_setenv("PYTHONSTARTUP", "/nonexistent", TRUE);
    g_autofree char *path = probe(the_python(), "search_path", "");
    g_unsetenv("PYTHONHOME");
    g_unsetenv("PYTHONPATH");
    g_unsetenv("PYTHONSTARTUP");
    g_assert_true(g_str_has_prefix(path, package_dir()));
    g_assert_null(strstr(path, "/nonexistent"));
}

TEST("/py/interpreter", other_python_in_path_is_ignored)
{
    no_python();
    g_autoptr(GError) error = NULL;
    g_autofree char *dir = made(g_dir_make_tmp("acr-path-XXXXXX", &error), error);
    g_autofree char *fake = g_build_filename(dir, "python3", NULL);
    g_autofree char *before = g_strdup(g_getenv("PATH"));
    assert_ok(acr_file_write_atomic(fake, "#!/bin/sh\nexit 1\n", 17, 0755, &error), error);
    g_setenv("PATH", dir, TRUE);
    g_autofree char *facts = probe(the_python(), "facts", "");
    g_setenv("PATH", before, TRUE);
    g_assert_nonnull(strstr(facts, ACR_PYTHON_EXECUTABLE));
    g_assert_true(acr_dir_remove(dir, NULL));
}

static void refused(const char *dir, const char *said)
{
    g_autoptr(GError) error = NULL;
    no_python();
    g_assert_null(acr_python_new(dir, &error));
    g_assert_error(error, ACR_PY_ERROR, ACR_PY_ERROR_ENVIRONMENT);
    if (!strstr(error->message, said))
        g_error("%s", error->message);
    g_assert_null(strchr(error->message, '\n'));
}

TEST("/py/interpreter", missing_package_is_named)
{
    refused("/nonexistent", "acr-host's Python files are missing: no '/nonexistent/acr/__init__.py'");
}

TEST("/py/interpreter", broken_package_is_told)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *dir = made(g_dir_make_tmp("acr-py-XXXXXX", &error), error);
    g_autofree char *package = g_build_filename(dir, "acr", NULL);
    g_autofree char *init = g_build_filename(package, "__init__.py", NULL);
    g_autofree char *calls = g_build_filename(package, "calls.py", NULL);
    g_assert_true(acr_dir_make(package, NULL));
    g_assert_true(g_file_set_contents(init, "", -1, NULL));
    refused(dir, "No module named 'acr.calls'");
    g_assert_true(g_file_set_contents(calls, "def bind(:\n", -1, NULL));
    refused(dir, "SyntaxError");
    g_assert_true(g_file_set_contents(calls, "raise SystemExit(0)\n", -1, NULL));
    refused(dir, "SystemExit");
    g_assert_true(acr_dir_remove(dir, NULL));
    assert_text(probe(the_python(), "echo", "fine"), "fine");
}

TEST("/py/interpreter", signal_handlers_stay)
{
    struct sigaction before, after;
    no_python();
    g_assert_cmpint(sigaction(SIGINT, NULL, &before), ==, 0);
    g_assert_nonnull(the_python());
    g_assert_cmpint(sigaction(SIGINT, NULL, &after), ==, 0);
    g_assert_true(before.sa_handler == after.sa_handler);
}

TEST("/py/interpreter", free_takes_null)
{
    acr_python_free(NULL);
}
