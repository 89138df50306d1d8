/* Parses any bytes as the text of a search call: the result must be a call whose values fit its
 * parameters, or a one-line message; never an exception, a crash or an unusable interpreter. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "py/py.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bound(const AcrCall *call)
{
    for (gsize i = 0; i < ACR_CALL_MAX_PARAMS && call->spec->params[i].name; i++) {
        g_assert_nonnull(call->values[i]);
        g_assert_true(acr_utf8_is_text(call->values[i], strlen(call->values[i])));
        g_assert_cmpuint(strlen(call->values[i]), <=, ACR_SEARCH_MAX_ARGUMENT);
        if (call->spec->params[i].type == ACR_PARAM_INTEGER)
            g_assert_true(g_ascii_string_to_signed(call->values[i], 10, G_MININT, G_MAXINT, NULL, NULL));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static AcrPython *python;
    g_autoptr(GError) error = NULL;
    g_auto(AcrCall) call = {0}, again = {0};
    g_autofree char *text = g_strndup((const char *)data, size);
    if (!python) {
        python = acr_python_new(ACR_SOURCE_DIR "/python", &error);
        g_assert_no_error(error);
    }
    if (!acr_python_bind_call(python, NULL, text, &call, &error)) {
        g_assert_error(error, ACR_PY_ERROR, ACR_PY_ERROR_BAD_CALL);
        g_assert_true(acr_utf8_is_text(error->message, strlen(error->message)));
        return 0;
    }
    check_bound(&call);
    g_autofree char *printed = acr_call_print(&call);
    bool ok = acr_python_bind_call(python, NULL, printed, &again, &error);
    g_assert_no_error(error);
    g_assert_true(ok && again.spec == call.spec);
    for (gsize i = 0; i < ACR_CALL_MAX_PARAMS && call.spec->params[i].name; i++)
        g_assert_cmpstr(again.values[i], ==, call.values[i]);
    return 0;
}
