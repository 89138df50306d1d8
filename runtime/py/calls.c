/*
 * The text of a search call -> a bound AcrCall, by Python's ast and signatures
 * (python/acr/calls.py).
 */
#include "py/py_private.h"

#include <string.h>

static bool bad_call(GError **error, const char *message)
{
    return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_BAD_CALL, "%s", message);
}

static guint n_params(const AcrCallSpec *spec)
{
    guint n = 0;
    while (n < ACR_CALL_MAX_PARAMS && spec->params[n].name)
        n++;
    return n;
}

/* Fields are `ok`, name, values; or `bad`, message. */
static bool take_fields(GPtrArray *fields, AcrCall *out, GError **error)
{
    const char *status = fields && fields->len >= 2 ? fields->pdata[0] : "";
    if (strcmp(status, "bad") == 0)
        return bad_call(error, fields->pdata[1]);
    const AcrCallSpec *spec =
        strcmp(status, "ok") == 0 ? acr_search_call_spec(fields->pdata[1]) : NULL;
    if (!spec || fields->len != 2 + n_params(spec))
        return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED,
                             "calls.bind gave no bound call");
    for (guint i = 2; i < fields->len; i++) {
        if (strlen(fields->pdata[i]) > ACR_SEARCH_MAX_ARGUMENT)
            return bad_call(error, "an argument is longer than 16 KiB");
    }
    *out = (AcrCall){.spec = spec};
    for (guint i = 2; i < fields->len; i++)
        out->values[i - 2] = g_strdup(fields->pdata[i]);
    return true;
}

bool acr_python_bind_call(AcrPython *python, const char *text, AcrCall *out, GError **error)
{
    gsize len = strlen(text);
    if (len > ACR_PY_MAX_CALL_TEXT)
        return bad_call(error, "the call is longer than 256 KiB");
    g_autoptr(GBytes) argument = g_bytes_new(text, len);
    g_autoptr(GBytes) result = NULL;
    if (!acr_python_call(python, "calls", "bind", argument, ACR_PY_BIND_TIMEOUT_MS, &result, error))
        return false;
    g_autoptr(GPtrArray) fields = acr_py_texts_split(result);
    return take_fields(fields, out, error);
}
