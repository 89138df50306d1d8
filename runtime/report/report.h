/*
 * report: run folders, and folders of many runs or of an evaluation, as pages, texts and formats of other programs,
 * by python/acr/report/. Nothing that a file holds is run.
 */
#ifndef ACR_REPORT_H
#define ACR_REPORT_H

#include "py/py.h"
#include "task/task.h"

/*
 * The report of a folder; owned.
 *   form     a word of --format, or "live": the page that `watch --serve` gives, also of a folder that holds nothing yet.
 *   compare  of many runs: a folder of others that they are compared with; NULL: none.
 * Errors: USAGE of task (neither a run folder nor one of many; a form or a comparison that there is not for it), those
 * of acr_python_call and base.
 */
GBytes *acr_report_make(AcrPython *python, const char *dir, const char *form, const char *compare,
                        GError **error) ACR_MUST_USE;

/* ---- Pull requests (pull_request.c) ---- */

/* Makes a request's text from the run folder `spec->arguments[0]` and, as `spec` asks for it, a branch, a push and the
 * request itself. *out: what `pr --json` prints, owned, also on failure as far as it came (NULL: not even the text).
 * Errors: USAGE, ENVIRONMENT, UNFINISHED of task, those of vcs and base. */
bool acr_pull_request(AcrHost *host, const AcrRunSpec *spec, AcrJson **out,
                      GError **error) ACR_MUST_USE;

#endif
