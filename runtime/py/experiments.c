/* Asks Python about patches: which run an experiment of a verdict needs next
 * (python/acr/experiments/), whether a patch is plain code, and which patches make the same change.
 * The host makes the runs that Python requests. */
#include "py/py_private.h"

#include <string.h>

void acr_python_patched_add(GByteArray *files, const char *path, GBytes *before, GBytes *after)
{
    GBytes *const sides[] = {before, after};
    acr_py_fields_add(files, path, strlen(path));
    for (guint i = 0; i < G_N_ELEMENTS(sides); i++) {
        GByteArray *side = g_byte_array_new();
        gsize len = 0;
        const void *data = sides[i] ? g_bytes_get_data(sides[i], &len) : NULL;
        if (sides[i])
            g_byte_array_append(side, (const guint8 *)"+", 1);
        if (len > 0)
            g_byte_array_append(side, data, (guint)len);
        acr_py_fields_add(files, side->data, side->len);
        g_byte_array_unref(side);
    }
}

bool acr_python_not_plain(AcrPython *python, bool reaching_only, const char *packages,
                          GByteArray *files, GPtrArray *told, GError **error)
{
    const char *which = reaching_only ? "reaches" : "all";
    GByteArray *fields = g_byte_array_new();
    acr_py_fields_add(fields, which, strlen(which));
    acr_py_fields_add(fields, packages, strlen(packages));
    acr_py_fields_add(fields, files->data, files->len);
    g_autoptr(GBytes) argument = g_byte_array_free_to_bytes(fields), packed = NULL;
    if (!acr_python_call(python, "experiments.service", "construct", argument,
                         ACR_PY_VERDICT_TIMEOUT_MS, &packed, error))
        return false;
    g_autoptr(GPtrArray) texts = acr_py_texts_split(packed);
    if (texts)
        g_ptr_array_extend_and_steal(told, g_steal_pointer(&texts));
    return true;
}

/* Calls a function of Python that takes bytes and returns a string. Sets *out to the string,
 * owned. */
static bool ask_text(AcrPython *python, const char *module, const char *function, const void *data,
                     gsize len, char **out, GError **error)
{
    g_autoptr(GBytes) argument = g_bytes_new(data, len), answer = NULL;
    if (!acr_python_call(python, module, function, argument, ACR_PY_VERDICT_TIMEOUT_MS, &answer,
                         error))
        return false;
    *out = acr_bytes_text(answer);
    return true;
}

bool acr_python_change_key(AcrPython *python, GByteArray *files, char **out, GError **error)
{
    return ask_text(python, "same_change", "key", files->data, files->len, out, error);
}

bool acr_python_invert(AcrPython *python, const char *script, char **out, GError **error)
{
    return ask_text(python, "experiments.inverted", "invert", script, strlen(script), out, error);
}

bool acr_python_issue_draft(AcrPython *python, const char *issue, guint line, char **out,
                            GError **error)
{
    g_autofree char *only = g_strdup_printf("%u", line);
    g_autoptr(GByteArray) fields = g_byte_array_new();
    acr_py_fields_add(fields, issue, strlen(issue));
    acr_py_fields_add(fields, only, strlen(only));
    return ask_text(python, "issue_draft", "draft", fields->data, fields->len, out, error);
}

bool acr_python_issue_examples(AcrPython *python, const char *issue, char **out, GError **error)
{
    return ask_text(python, "issue_examples", "script", issue, strlen(issue), out, error);
}

GPtrArray *acr_python_experiment(AcrPython *python, const AcrJson *state, const char *script,
                                 GByteArray *files, const GPtrArray *streams, GError **error)
{
    GByteArray *fields = g_byte_array_new();
    g_autofree char *text = acr_json_print(state);
    acr_py_fields_add(fields, text, strlen(text));
    acr_py_fields_add(fields, script, strlen(script));
    acr_py_fields_add(fields, files->data, files->len);
    for (guint i = 0; i < streams->len; i++)
        acr_py_fields_add_bytes(fields, streams->pdata[i]);
    g_autoptr(GBytes) argument = g_byte_array_free_to_bytes(fields), packed = NULL;
    if (!acr_python_call(python, "experiments.service", "step", argument, ACR_PY_VERDICT_TIMEOUT_MS,
                         &packed, error))
        return NULL;
    g_autoptr(GPtrArray) answer = acr_py_fields_split(packed);
    if (answer && answer->len > 0)
        return g_steal_pointer(&answer);
    return ACR_NULL(acr_set_error(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED,
                                  "experiments.service.step returned no fields"));
}
