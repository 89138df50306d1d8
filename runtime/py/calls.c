/*
 * The text of a search call -> a bound AcrCall, by Python's ast and signatures
 * (python/acr/calls.py).
 */
#include "py/py_private.h"

#include <string.h>

static bool bad_call(GError **error, const char *message)
{
    g_set_error_literal(error, ACR_PY_ERROR, ACR_PY_ERROR_BAD_CALL, message);
    return false;
}

/* A field as text; owned (g_free). */
static char *field_text(GPtrArray *fields, guint i)
{
    gsize len;
    const char *data = g_bytes_get_data(g_ptr_array_index(fields, i), &len);
    return acr_utf8_repair(data, len);
}

static guint n_params(const AcrCallSpec *spec)
{
    guint n = 0;
    while (n < ACR_CALL_MAX_PARAMS && spec->params[n].name)
        n++;
    return n;
}

static bool check_lengths(GPtrArray *fields, GError **error)
{
    for (guint i = 2; i < fields->len; i++) {
        if (g_bytes_get_size(g_ptr_array_index(fields, i)) <= ACR_SEARCH_MAX_ARGUMENT)
            continue;
        return bad_call(error, "an argument is longer than 16 KiB");
    }
    return true;
}

/* Fields are `ok`, name, values; or `bad`, message. */
static bool take_fields(GPtrArray *fields, AcrCall *out, GError **error)
{
    g_autofree char *status = fields->len >= 2 ? field_text(fields, 0) : NULL;
    g_autofree char *second = fields->len >= 2 ? field_text(fields, 1) : NULL;
    if (!g_strcmp0(status, "bad"))
        return bad_call(error, second);
    const AcrCallSpec *spec = second ? acr_search_call_spec(second) : NULL;
    if (g_strcmp0(status, "ok") || !spec || fields->len != 2 + n_params(spec)) {
        g_set_error_literal(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED,
                            "calls.bind gave no bound call");
        return false;
    }
    if (!check_lengths(fields, error))
        return false;
    *out = (AcrCall){.spec = spec};
    for (guint i = 2; i < fields->len; i++)
        out->values[i - 2] = field_text(fields, i);
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
    g_autoptr(GPtrArray) fields = acr_py_fields_split(result);
    if (!fields) {
        g_set_error_literal(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED, "calls.bind gave no fields");
        return false;
    }
    return take_fields(fields, out, error);
}
