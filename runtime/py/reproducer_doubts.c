/* Finds reasons to check a reproducer by hand, with Python's ast
 * (python/acr/reproducer_doubts.py). The script is parsed, and never run. */
#include "py/py_private.h"

#include <string.h>

/* The doubt about a script that cannot be parsed. */
#define UNREADABLE "acr-host's own Python cannot parse the script"

bool acr_python_doubts(AcrPython *python, const char *script, GPtrArray *doubts, GError **error)
{
    g_autoptr(GBytes) argument = g_bytes_new(script, strlen(script));
    g_autoptr(GBytes) result = NULL;
    g_autoptr(GError) reason = NULL;
    if (!acr_python_call(python, "reproducer_doubts", "find", argument, ACR_PY_DOUBTS_TIMEOUT_MS,
                         &result, &reason)) {
        if (g_error_matches(reason, ACR_PY_ERROR, ACR_PY_ERROR_ENVIRONMENT))
            return acr_pass_error(error, &reason);
        g_ptr_array_add(doubts, g_strdup(UNREADABLE));
        return true;
    }
    g_autoptr(GPtrArray) texts = acr_py_texts_split(result);
    if (texts) {
        g_ptr_array_extend_and_steal(doubts, g_steal_pointer(&texts));
        return true;
    }
    return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED,
                         "reproducer_doubts.find returned no fields");
}
