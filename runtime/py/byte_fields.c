/* Packs lists of byte strings into one byte string, in the format of python/acr/byte_fields.py:
 * each field is its length (8 bytes, little-endian) and its bytes. Also calls functions whose
 * argument and result are JSON. */
#include "py/py_private.h"

#include <string.h>

AcrJson *acr_python_json(AcrPython *python, const char *module, const char *function,
                         const AcrJson *argument, gint64 deadline_ms, GError **error)
{
    char *text = acr_json_print(argument);
    g_autoptr(GBytes) given = g_bytes_new_take(text, strlen(text)), result = NULL;
    bool ok = acr_python_call(python, module, function, given, deadline_ms, &result, error);
    return ok ? acr_json_parse_bytes(result, error) : NULL;
}

void acr_py_fields_add(GByteArray *fields, const void *data, gsize len)
{
    guint64 length = GUINT64_TO_LE((guint64)len);
    g_assert(len <= G_MAXUINT - sizeof length);
    g_byte_array_append(fields, (const guint8 *)&length, sizeof length);
    if (len > 0)
        g_byte_array_append(fields, data, (guint)len);
}

void acr_py_fields_add_bytes(GByteArray *fields, GBytes *bytes)
{
    gsize len;
    const void *data = g_bytes_get_data(bytes, &len);
    acr_py_fields_add(fields, data, len);
}

GPtrArray *acr_py_fields_split(GBytes *data)
{
    g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    gsize size, at = 0;
    const guint8 *bytes = g_bytes_get_data(data, &size);
    while (at < size) {
        guint64 length;
        if (size - at < sizeof length)
            return NULL;
        memcpy(&length, bytes + at, sizeof length);
        length = GUINT64_FROM_LE(length);
        at += sizeof length;
        if (length > size - at)
            return NULL;
        g_ptr_array_add(fields, g_bytes_new_from_bytes(data, at, (gsize)length));
        at += (gsize)length;
    }
    return g_steal_pointer(&fields);
}

GPtrArray *acr_py_texts_split(GBytes *data)
{
    g_autoptr(GPtrArray) fields = acr_py_fields_split(data);
    GPtrArray *texts = fields ? g_ptr_array_new_with_free_func(g_free) : NULL;
    for (guint i = 0; fields && i < fields->len; i++)
        g_ptr_array_add(texts, acr_utf8_repair_bytes(fields->pdata[i]));
    return texts;
}
