/*
 * report: writes run folders, and folders of many runs or of an evaluation, as pages, texts and
 * other programs' formats, through python/acr/report/. It never executes anything from these files.
 */
#ifndef ACR_REPORT_H
#define ACR_REPORT_H

#include "py/py.h"
#include "task/task.h"

/*
 * The report of a folder; owned.
 *   form     a word of --format, or "live": the page that `watch --serve` gives, also of a folder that holds nothing yet.
 *   compare  of many runs, or of one (html only): the folder that they are compared with; NULL: none.
 *   only     of many runs: the names of the tasks to report on; NULL: all.
 * Errors: USAGE of task (neither a run folder nor one of many; a form or a comparison that there is not for it), those
 * of acr_python_call and base.
 */
GBytes *acr_report_make(AcrPython *python, const char *dir, const char *form, const char *compare,
                        const char *const *only, GError **error) ACR_MUST_USE;
/* Writes the page of each run of a batch into its run folder, unless it is newer than the journal.
 * Errors: those of acr_report_make. */
bool acr_report_write_pages(AcrPython *python, const char *dir, const AcrInterrupt *interrupt,
                            GError **error) ACR_MUST_USE;

/* ---- Pull requests (pull_request.c) ---- */

/* What the run's repository says about patches by programs (ai_policy.c), from the commit on which
 * the patch is based: {"path", "lines": [at most 60 lines, safe to print]}; owned; NULL: nothing. */
AcrJson *acr_pull_policy(const AcrRunSpec *spec) ACR_MUST_USE;

/* Makes the text of a request from the run folder `spec->arguments[0]` and, as `spec` asks, a
 * branch, a push and the request. *out: what `pr --json` prints, owned; after a failure what was
 * done until then (NULL: not even the text). Errors: USAGE, ENVIRONMENT, UNFINISHED of task, those
 * of vcs and base. */
bool acr_pull_request(AcrHost *host, const AcrRunSpec *spec, AcrJson **out,
                      GError **error) ACR_MUST_USE;

/* ---- Servers that hold repositories with issues and pull requests (forge.c) ---- */

typedef struct {
    const char *host;         /* host of the public server */
    const char *api;          /* address of the public server's API */
    const char *projects;     /* path in the API before a project's name */
    bool is_escaped;          /* the slash in a project's name is percent-encoded */
    const char *header;       /* header that carries the token */
    const char *variables[3]; /* environment variables that may hold the token */
} AcrForge;

/* Indexed by AcrForgeKind. */
extern const AcrForge acr_forges[];
extern const guint acr_n_forges;

/* The header with the token from the environment; owned (g_free); NULL: no token. */
char *acr_forge_authorisation(const AcrForge *forge) ACR_MUST_USE;
/* The URL of a project's API; the API's address may end in a slash; owned (g_free). */
char *acr_forge_project(const AcrForge *forge, const char *api, const char *project) ACR_MUST_USE;

#endif
