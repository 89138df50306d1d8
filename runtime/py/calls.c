/* Parses the text of a search call into an AcrCall, with Python's ast and signatures
 * (python/acr/calls.py). */
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

/* Sets *out from the fields: either `ok`, the call's name, and "=VALUE" for each parameter (empty
 * if omitted); or `bad` and a message, which becomes the error. */
static bool take_fields(GPtrArray *fields, const AcrCalls *calls, AcrCall *out, GError **error)
{
    const char *status = fields && fields->len >= 2 ? fields->pdata[0] : "";
    if (strcmp(status, "bad") == 0)
        return bad_call(error, fields->pdata[1]);
    const AcrCallSpec *spec =
        strcmp(status, "ok") == 0 ? acr_calls_find(calls, fields->pdata[1]) : NULL;
    if (!spec || fields->len != 2 + n_params(spec))
        return acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED,
                             "calls.bind returned no bound call");
    for (guint i = 2; i < fields->len; i++)
        if (strlen(fields->pdata[i]) > 1 + ACR_SEARCH_MAX_ARGUMENT)
            return bad_call(error, "an argument is longer than 16 KiB");
    *out = (AcrCall){.spec = spec};
    for (guint i = 2; i < fields->len; i++)
        if (*(const char *)fields->pdata[i])
            out->values[i - 2] = g_strdup((const char *)fields->pdata[i] + 1);
    return true;
}

/* Packs the text, and for each known call one field with its name and its parameters and their
 * kinds, separated by NUL. */
static GBytes *pack_text(const char *text, const AcrCalls *calls)
{
    GByteArray *fields = g_byte_array_new();
    acr_py_fields_add(fields, text, strlen(text));
    for (gsize i = 0; i < acr_calls_n(calls); i++) {
        const AcrCallSpec *spec = acr_calls_at(calls, i);
        g_autoptr(GString) row = g_string_new(spec->name);
        for (guint k = 0; k < n_params(spec); k++) {
            g_autofree char *kind = acr_param_kind(&spec->params[k]);
            g_string_append_printf(row, "%c%s%c%s", '\0', spec->params[k].name, '\0', kind);
        }
        acr_py_fields_add(fields, row->str, row->len);
    }
    return g_byte_array_free_to_bytes(fields);
}

bool acr_python_bind_call(AcrPython *python, const AcrCalls *calls, const char *text, AcrCall *out,
                          GError **error)
{
    if (strlen(text) > ACR_PY_MAX_CALL_TEXT)
        return bad_call(error, "the call is longer than 256 KiB");
    g_autoptr(GBytes) argument = pack_text(text, calls);
    g_autoptr(GBytes) result = NULL;
    if (!acr_python_call(python, "calls", "bind", argument, ACR_PY_BIND_TIMEOUT_MS, &result, error))
        return false;
    g_autoptr(GPtrArray) fields = acr_py_texts_split(result);
    return take_fields(fields, calls, out, error);
}
