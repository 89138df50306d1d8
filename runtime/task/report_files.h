/* report_files: what reports are made from. */
#ifndef ACR_REPORT_FILES_H
#define ACR_REPORT_FILES_H

#include "py/reports.h"

/* Whether the folder is that of one run. */
bool acr_report_is_run(const char *dir);
/* Adds the files of a run folder; those that cannot be read are named in one of their own. Errors: USAGE of task, and
 * those of base. */
bool acr_report_files_of_run(const char *dir, AcrReportFiles *files, GError **error) ACR_MUST_USE;
/* Adds the results of the run folders below a folder, and the final reports in it. Errors: USAGE of task
 * (there is none). */
bool acr_report_files_of_many(const char *dir, AcrReportFiles *files, GError **error) ACR_MUST_USE;

#endif
