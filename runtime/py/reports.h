/*
 * reports: files of run folders -> pages and other formats, by python/acr/report/. What the files hold is read as text.
 */
#ifndef ACR_PY_REPORTS_H
#define ACR_PY_REPORTS_H

#include "py/py.h"

/* Files with their names; zero-initialise. */
typedef struct {
    GByteArray *fields;
    guint n;
} AcrReportFiles;
#define ACR_REPORT_MAX_BYTES ((gsize)1024 * 1024 * 1024) /* of all files together */
/* False, and nothing is added: it would be more than ACR_REPORT_MAX_BYTES. */
bool acr_report_files_add(AcrReportFiles *files, const char *name, GBytes *bytes);
void acr_report_files_clear(AcrReportFiles *files);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrReportFiles, acr_report_files_clear)

/* The report of one run; `form` is a word of --format; owned. Errors: those of acr_python_call. */
GBytes *acr_report_of_run(AcrPython *python, const char *form, const AcrReportFiles *files,
                          GError **error) ACR_MUST_USE;
/* Of many runs, not as "sarif"; `others`: what they are compared with, or NULL. */
GBytes *acr_report_of_tasks(AcrPython *python, const char *form, const AcrReportFiles *files,
                            const AcrReportFiles *others, GError **error) ACR_MUST_USE;

#endif
