/*
 * What a person should look at in a reproducer, by Python's ast (python/acr/reproducer_doubts.py). The script
 * is read, never run here.
 */
#include "py/py_private.h"

#include <string.h>

/* A script that its reader did not come through with. */
#define UNREADABLE "the script cannot be read by the program's own Python"

static bool take_texts(GBytes *result, GPtrArray *doubts)
{
    g_autoptr(GPtrArray) fields = acr_py_fields_split(result);
    for (guint i = 0; fields && i < fields->len; i++) {
        gsize len;
        const char *data = g_bytes_get_data(fields->pdata[i], &len);
        g_ptr_array_add(doubts, acr_utf8_repair(data ? data : "", len));
    }
    return fields != NULL;
}

bool acr_python_doubts(AcrPython *python, const char *script, GPtrArray *doubts, GError **error)
{
    g_autoptr(GBytes) argument = g_bytes_new(script, strlen(script));
    g_autoptr(GBytes) result = NULL;
    g_autoptr(GError) reason = NULL;
    if (!acr_python_call(python, "reproducer_doubts", "find", argument, ACR_PY_DOUBTS_TIMEOUT_MS,
                         &result, &reason)) {
        if (g_error_matches(reason, ACR_PY_ERROR, ACR_PY_ERROR_ENVIRONMENT)) {
            g_propagate_error(error, g_steal_pointer(&reason));
            return false;
        }
        g_ptr_array_add(doubts, g_strdup(UNREADABLE));
        return true;
    }
    if (!take_texts(result, doubts)) {
        g_set_error_literal(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED,
                            "reproducer_doubts.find gave no fields");
        return false;
    }
    return true;
}
