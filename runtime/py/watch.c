/*
 * Runs of a reproducer that are watched: python/acr/observe/ runs in the sandbox, what it reported
 * is judged by python/acr/verdict.py here.
 */
#include "py/py_private.h"

#include <string.h>

void acr_watch_clear(AcrWatch *watch)
{
    g_clear_pointer(&watch->code, g_free);
    g_clear_pointer(&watch->input, g_free);
    g_clear_pointer(&watch->tag, g_free);
    g_clear_pointer(&watch->key, g_free);
}

/* Calls acr.verdict.FUNCTION with packed `fields` (taken). */
static bool call(AcrPython *python, const char *function, GByteArray *fields, GBytes **out,
                 GError **error)
{
    g_autoptr(GBytes) argument = g_byte_array_free_to_bytes(fields);
    return acr_python_call(python, "verdict", function, argument, ACR_PY_VERDICT_TIMEOUT_MS, out,
                           error);
}

/* The texts in `packed`, or NULL with an error where there are not at least `least`. */
static GPtrArray *texts_of(GBytes *packed, guint least, GError **error)
{
    g_autoptr(GPtrArray) texts = acr_py_texts_split(packed);
    if (texts && texts->len >= least)
        return g_steal_pointer(&texts);
    g_set_error_literal(error, ACR_PY_ERROR, ACR_PY_ERROR_FAILED, "acr.verdict gave no fields");
    return NULL;
}

bool acr_python_watch_begin(AcrPython *python, const char *script, bool twice, AcrWatch *out,
                            GError **error)
{
    const char *const times = twice ? "twice" : "";
    GByteArray *fields = g_byte_array_new();
    g_autoptr(GBytes) packed = NULL;
    g_autoptr(GPtrArray) texts = NULL;
    acr_py_fields_add(fields, script, strlen(script));
    acr_py_fields_add(fields, times, strlen(times));
    if (!call(python, "begin", fields, &packed, error) || !(texts = texts_of(packed, 4, error)))
        return false;
    char **const to[] = {&out->code, &out->input, &out->tag, &out->key};
    for (guint i = 0; i < G_N_ELEMENTS(to); i++)
        *to[i] = g_steal_pointer(&texts->pdata[i]);
    return true;
}

bool acr_python_watch_end(AcrPython *python, const AcrWatch *watch, GBytes *err, GBytes **out,
                          GError **error)
{
    GByteArray *fields = g_byte_array_new();
    acr_py_fields_add(fields, watch->tag, strlen(watch->tag));
    acr_py_fields_add(fields, watch->key, strlen(watch->key));
    acr_py_fields_add_bytes(fields, err);
    return call(python, "end", fields, out, error);
}

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

/* Adds the texts that acr.verdict.FUNCTION gives. */
static bool add_texts(AcrPython *python, const char *function, GByteArray *fields, GPtrArray *to,
                      GError **error)
{
    g_autoptr(GBytes) packed = NULL;
    GPtrArray *texts = NULL;
    if (!call(python, function, fields, &packed, error) || !(texts = texts_of(packed, 0, error)))
        return false;
    g_ptr_array_extend_and_steal(to, texts);
    return true;
}

bool acr_python_patch_doubts(AcrPython *python, bool barred_only, GByteArray *files,
                             GPtrArray *told, GError **error)
{
    return add_texts(python, barred_only ? "barred" : "told", g_byte_array_ref(files), told, error);
}

bool acr_python_change_key(AcrPython *python, GByteArray *files, char **out, GError **error)
{
    g_autoptr(GBytes) argument = g_bytes_new(files->data, files->len), key = NULL;
    if (!acr_python_call(python, "same_change", "key", argument, ACR_PY_VERDICT_TIMEOUT_MS, &key,
                         error))
        return false;
    *out = acr_bytes_text(key);
    return true;
}

bool acr_python_watch_judge(AcrPython *python, const char *script, GBytes *before, GBytes *after,
                            GByteArray *files, GPtrArray *reasons, GError **error)
{
    GByteArray *fields = g_byte_array_new();
    acr_py_fields_add(fields, script, strlen(script));
    acr_py_fields_add_bytes(fields, before);
    acr_py_fields_add_bytes(fields, after);
    acr_py_fields_add(fields, files->data, files->len);
    return add_texts(python, "judge", fields, reasons, error);
}
