/* Tests of converting Python's exceptions to errors. */
#include "py_fixture.h"

#include <string.h>

static void fails(const char *function, AcrPyError code, const char *message)
{
    probe_fails(the_python(), function, 0, code, message);
    assert_text(probe(the_python(), "echo", "fine"), "fine");
}

TEST("/py/error", type_and_text_on_one_line)
{
    fails("raise_value", ACR_PY_ERROR_FAILED, "ValueError: the argument in two lines");
    fails("raise_plain", ACR_PY_ERROR_FAILED, "KeyError");
    fails("raise_interrupt", ACR_PY_ERROR_FAILED, "KeyboardInterrupt");
    fails("raise_syntax", ACR_PY_ERROR_FAILED, "SyntaxError: unmatched ')' (odd.py, line 2)");
}

TEST("/py/error", text_that_cannot_be_shown_is_left_out)
{
    fails("raise_silent", ACR_PY_ERROR_FAILED, "Mute");
    fails("raise_surrogate", ACR_PY_ERROR_FAILED, "ValueError");
}

TEST("/py/error", exit_memory_and_import_have_codes)
{
    fails("raise_exit", ACR_PY_ERROR_EXIT, "SystemExit: 3");
    fails("raise_memory", ACR_PY_ERROR_MEMORY, "MemoryError");
    fails("raise_import", ACR_PY_ERROR_ENVIRONMENT, "ModuleNotFoundError: No module named 'no_such_module_anywhere'");
    fails("recurse", ACR_PY_ERROR_FAILED, NULL);
}

TEST("/py/error", wrong_calls_fail)
{
    fails("not_bytes", ACR_PY_ERROR_FAILED, "TypeError: acr.probe.not_bytes returned str, not bytes");
    fails("no_such_function", ACR_PY_ERROR_FAILED,
          "AttributeError: module 'acr.probe' has no attribute 'no_such_function'");
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) out = NULL;
    assert_fails_with(acr_python_call(the_python(), "no_such_module", "f", NULL, 0, &out, &error), error, ACR_PY_ERROR,
                      ACR_PY_ERROR_ENVIRONMENT);
}

TEST("/py/error", long_text_is_cut)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strnfill(100000, 'x');
    g_autoptr(GBytes) in = bytes_of(text), out = NULL;
    g_assert_false(acr_python_call(the_python(), "probe", "raise_value", in, 0, &out, &error));
    g_assert_error(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED);
    g_assert_cmpuint(strlen(error->message), <, 1100);
}
