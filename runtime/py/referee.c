/*
 * The referee that native/ is handed: does a file compile (python/acr/syntax.py), which version has
 * fewer new errors (python/acr/lint.py).
 */
#include "py/py_private.h"

#include <string.h>

static void add_bytes(GByteArray *fields, GBytes *bytes)
{
    gsize len;
    const void *data = g_bytes_get_data(bytes, &len);
    acr_py_fields_add(fields, data, len);
}

static bool compiles(void *ctx, const char *path, GBytes *source, bool *out_ok, char **out_message,
                     GError **error)
{
    GByteArray *fields = g_byte_array_new();
    acr_py_fields_add(fields, path, strlen(path));
    add_bytes(fields, source);
    g_autoptr(GBytes) argument = g_byte_array_free_to_bytes(fields);
    g_autoptr(GBytes) result = NULL;
    if (!acr_python_call(ctx, "syntax", "compiles", argument, ACR_PY_COMPILE_TIMEOUT_MS, &result,
                         error))
        return false;
    *out_ok = g_bytes_get_size(result) == 0;
    *out_message = *out_ok ? NULL : acr_utf8_repair_bytes(result);
    return true;
}

/* Fields of one file: path, `+` and the text before (nothing for a new file), number of versions,
 * versions. */
static void add_file(GByteArray *fields, const AcrRefereeFile *file)
{
    g_autoptr(GByteArray) before = g_byte_array_new();
    g_autofree char *n = g_strdup_printf("%" G_GSIZE_FORMAT, file->n_after);
    if (file->before) {
        gsize len;
        const void *data = g_bytes_get_data(file->before, &len);
        g_byte_array_append(before, (const guint8 *)"+", 1);
        if (len > 0)
            g_byte_array_append(before, data, (guint)len);
    }
    acr_py_fields_add(fields, file->path, strlen(file->path));
    acr_py_fields_add(fields, before->data, before->len);
    acr_py_fields_add(fields, n, strlen(n));
    for (gsize i = 0; i < file->n_after; i++)
        add_bytes(fields, file->after[i]);
}

/* Reads the numbers (`?`: unknown) into `out`; whether there were just `n`. */
static bool read_numbers(GBytes *result, guint *out, gsize n)
{
    gsize at = 0;
    g_autofree char *text = acr_bytes_text(result);
    g_auto(GStrv) words = g_strsplit_set(text, " \n", -1);
    for (guint i = 0; words[i]; i++) {
        guint64 number = ACR_LINT_UNKNOWN;
        if (words[i][0] == '\0')
            continue;
        if (at == n || (strcmp(words[i], "?") != 0 &&
                        !g_ascii_string_to_unsigned(words[i], 10, 0, G_MAXINT, &number, NULL)))
            return false;
        out[at++] = (guint)number;
    }
    return at == n;
}

/* Whatever goes wrong in Python, only the linter's word is missing. */
static bool lint(void *ctx, const AcrRefereeFile *files, gsize n, guint *out_worse, char **out_why,
                 GError **error)
{
    GByteArray *fields = g_byte_array_new();
    gsize versions = 0;
    for (gsize i = 0; i < n; i++) {
        add_file(fields, &files[i]);
        versions += files[i].n_after;
    }
    g_autoptr(GBytes) argument = g_byte_array_free_to_bytes(fields);
    g_autoptr(GBytes) result = NULL;
    g_autoptr(GError) failed = NULL;
    if (acr_python_call(ctx, "lint", "lint", argument, ACR_PY_LINT_TIMEOUT_MS, &result, &failed) &&
        read_numbers(result, out_worse, versions))
        return true;
    for (gsize i = 0; i < versions; i++)
        out_worse[i] = ACR_LINT_UNKNOWN;
    *out_why = g_strdup(failed ? failed->message : "the linter's answer cannot be read");
    return true;
}

const AcrReferee *acr_python_referee(AcrPython *python)
{
    AcrReferee *referee = acr_python_referee_slot(python);
    *referee = (AcrReferee){.ctx = python, .compiles = compiles, .lint = lint};
    return referee;
}
