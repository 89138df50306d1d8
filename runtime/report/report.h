/* report: makes pages, texts and files in the formats of other programs. The input is the folder of
 * one run, of many runs or of an evaluation; python/acr/report/ makes the reports. Nothing from the
 * folders is ever executed. */
#pragma once

#include "py/py.h"
#include "task/task.h"

/* What to report on. All members are borrowed. */
typedef struct {
    const char *dir;
    const char *form; /* a value of --format, or "live": the page of `watch --serve` */
    /* a folder to compare the runs with (a single run only as html); NULL: none */
    const char *compare;
    const char *const *only; /* for many runs: the names of the tasks to report on; NULL: all */
    const char *run_id;      /* the evaluation to report on; NULL: the only one, or the newest */
    const char *model; /* the model of `run_id` to report on; NULL: the only one, or the newest */
} AcrReportOptions;
/* Returns the report of a folder; owned. `notes` (may be NULL) gets lines (owned) that say which of
 * several evaluations was taken. Errors: USAGE of task (the folder has no runs or no such evaluation; the
 * form or comparison does not exist for the folder), those of acr_python_call and base. */
GBytes *acr_report_make(AcrPython *python, const AcrReportOptions *options, GPtrArray *notes,
                        GError **error) ACR_MUST_USE;
/* Returns the folder OUT that contains the evaluation `path`, OUT/logs/run_evaluation/RUN_ID, and
 * sets its RUN_ID; NULL if `path` names none. If `path` is OUT/logs/run_evaluation/RUN_ID/MODEL or
 * OUT/MODEL.RUN_ID.json, also sets its model. All owned. */
char *acr_report_folder_of(const char *path, char **out_run_id, char **out_model) ACR_MUST_USE;
/* Writes the page of each run of a batch into its run folder, unless the page is newer than the
 * journal. Errors: those of acr_report_make. */
bool acr_report_write_pages(AcrPython *python, const char *dir, const AcrInterrupt *interrupt,
                            GError **error) ACR_MUST_USE;

/* ---- Pull requests (pull_request.c) ---- */

/* Returns the repository's policy on patches by programs (ai_policy.c), from the commit on which
 * the patch is based: {"path", "lines": [at most 60 lines, safe to print]}; owned; NULL if there is
 * none. */
AcrJson *acr_pull_policy(const AcrRunSpec *spec) ACR_MUST_USE;

/* Makes the text of a pull request from the run folder `spec->arguments[0]` and, if `spec` says
 * so, a branch, a push and the request. *out (owned) is the output of `pr --json`; after a
 * failure, it has the steps done so far (NULL: none). Errors: USAGE, ENVIRONMENT, UNFINISHED of
 * task, those of vcs and base. */
bool acr_pull_request(AcrHost *host, const AcrRunSpec *spec, AcrJson **out,
                      GError **error) ACR_MUST_USE;

/* ---- Servers that hold repositories with issues and pull requests (forge.c) ---- */

typedef struct {
    const char *host;         /* host of the public server */
    const char *api;          /* API address of the public server */
    const char *projects;     /* path of projects in the API; the project's name follows */
    bool is_escaped;          /* the slash in a project's name is percent-encoded */
    const char *header;       /* header that carries the token */
    const char *variables[3]; /* environment variables that may hold the token */
} AcrForge;

/* Indexed by AcrForgeKind. */
extern const AcrForge acr_forges[];
extern const guint acr_n_forges;

/* Returns the header with the token from the environment; owned (g_free); NULL if there is no
 * token. */
char *acr_forge_authorisation(const AcrForge *forge) ACR_MUST_USE;
/* Returns the URL of a project in the API; `api` may end in a slash; owned (g_free). */
char *acr_forge_project(const AcrForge *forge, const char *api, const char *project) ACR_MUST_USE;
