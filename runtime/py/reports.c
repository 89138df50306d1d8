/*
 * Files of run folders -> reports, by python/acr/report/: packed, and given to one pure function.
 */
#include "py/reports.h"

#include <string.h>

#include "py/py_private.h"

#define TIMEOUT_MS 120000

bool acr_report_files_add(AcrReportFiles *files, const char *name, GBytes *bytes)
{
    if (!files->fields)
        files->fields = g_byte_array_new();
    if (files->fields->len + g_bytes_get_size(bytes) > ACR_REPORT_MAX_BYTES)
        return false;
    acr_py_fields_add(files->fields, name, strlen(name));
    acr_py_fields_add_bytes(files->fields, bytes);
    files->n++;
    return true;
}

void acr_report_files_clear(AcrReportFiles *files)
{
    g_clear_pointer(&files->fields, g_byte_array_unref);
    files->n = 0;
}

static void add_files(GByteArray *fields, const AcrReportFiles *files)
{
    if (files && files->fields)
        g_byte_array_append(fields, files->fields->data, files->fields->len);
}

static GBytes *call(AcrPython *python, const char *function, GByteArray *fields, GError **error)
{
    g_autoptr(GBytes) argument = g_byte_array_free_to_bytes(fields);
    GBytes *result = NULL;
    return acr_python_call(python, "report.service", function, argument, TIMEOUT_MS, &result, error)
               ? result
               : NULL;
}

static GByteArray *begin(const char *form)
{
    GByteArray *fields = g_byte_array_new();
    acr_py_fields_add(fields, form, strlen(form));
    acr_py_fields_add(fields, ACR_VERSION, strlen(ACR_VERSION));
    return fields;
}

GBytes *acr_report_of_run(AcrPython *python, const char *form, const AcrReportFiles *files,
                          GError **error)
{
    GByteArray *fields = begin(form);
    add_files(fields, files);
    return call(python, "run", fields, error);
}

GBytes *acr_report_of_tasks(AcrPython *python, const char *form, const AcrReportFiles *files,
                            const AcrReportFiles *others, GError **error)
{
    GByteArray *fields = begin(form);
    g_autofree char *n = g_strdup_printf("%u", files->n);
    acr_py_fields_add(fields, others ? "1" : "0", 1);
    acr_py_fields_add(fields, n, strlen(n));
    add_files(fields, files);
    add_files(fields, others);
    return call(python, "tasks", fields, error);
}
