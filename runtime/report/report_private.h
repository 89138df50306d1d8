/* Private to report: what Python is given to make a report of. */
#ifndef ACR_REPORT_PRIVATE_H
#define ACR_REPORT_PRIVATE_H

#include "report/report.h"

/* Names and contents, packed as acr_py_fields_add does it. Zero-initialise. */
typedef struct {
    GByteArray *fields; /* owned */
    guint n;
} AcrReportFiles;
void acr_report_files_clear(AcrReportFiles *files);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrReportFiles, acr_report_files_clear)
/* False, and nothing is added: all together would be more than 1 GB. */
bool acr_report_files_add(AcrReportFiles *files, const char *name, GBytes *bytes);
/* The report of one run in a form of acr_report_make, or "pull request"; `more` (may be NULL): files that are not in
 * its folder. Owned. */
GBytes *acr_report_of_run(AcrPython *python, const char *dir, const char *form,
                          const AcrReportFiles *more, GError **error) ACR_MUST_USE;

#endif
