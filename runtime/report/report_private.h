/* Private to report: the input for Python's reports, and helpers for pull requests. */
#pragma once

#include "report/report.h"
#include "task/origin.h"
#include "task/run_folder.h"

/* Names and contents of files, packed by acr_py_fields_add. Zero-initialise. */
typedef struct {
    GByteArray *fields; /* owned */
    guint n;
} AcrReportFiles;
void acr_report_files_clear(AcrReportFiles *files);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrReportFiles, acr_report_files_clear)
/* Adds a file. If the total would exceed 1 GB, returns false and adds nothing. */
bool acr_report_files_add(AcrReportFiles *files, const char *name, GBytes *bytes);
bool acr_report_is_running(const AcrFolder *folder); /* run_facts.c */
/* Returns the JSON {"repo", "models", "ms"} of a run; NULL if a batch's summary has them; owned
 * (run_facts.c). */
char *acr_report_run_facts(const AcrFolder *folder) ACR_MUST_USE;
/* Returns the report of one run in a format of acr_report_make, or "pull request". `more` (may be
 * NULL) has files from outside of the run folder. Owned. */
GBytes *acr_report_of_run(AcrPython *python, const char *dir, const char *form,
                          const AcrReportFiles *more, GError **error) ACR_MUST_USE;

/* ---- Evaluations (find_evaluation.c) ---- */

#define ACR_REPORT_MAX_TASKS 100000u
#define ACR_REPORT_NS_PER_S 1000000000
/* Lists the names in a folder that begin like one of `formats` (NULL: all names), sorted; owned. */
GPtrArray *acr_report_list_names(const char *path, const char *const *formats,
                                 guint max) ACR_MUST_USE;
/* Returns when a file was last changed, in nanoseconds; 0 if the file does not exist. */
gint64 acr_report_modified_ns(const char *path);
/* Returns the folder itself and those of its shards; owned. */
GPtrArray *acr_report_list_places(const char *dir) ACR_MUST_USE;
/* Returns the folder of an evaluation; owned. */
char *acr_report_evaluation_path(const char *dir, const char *run_id) ACR_MUST_USE;
/* Finds the evaluation `wanted` (NULL: the newest) of a folder of many runs. *out_id (owned) is
 * NULL if the folder has none. `notes` (may be NULL) gets a line if there are several. */
bool acr_report_choose_evaluation(const char *dir, const char *wanted, char **out_id,
                                  GPtrArray *notes, GError **error) ACR_MUST_USE;

/* Returns the model, as final reports name it, of the newest final report of an evaluation; owned;
 * NULL if there is none. `notes` (may be NULL) gets a line if there are several. */
char *acr_report_newest_model(const char *dir, const char *run_id, GPtrArray *notes) ACR_MUST_USE;
/* Says why there is no report on a folder, and what to name instead; owned. */
char *acr_report_why_none(const char *dir) ACR_MUST_USE;
/* True if the names, of a final report or of a folder of an evaluation, are of the same model. */
bool acr_report_is_of(const char *model, const char *name);

/* ---- Pull requests ---- */

/* Zero-initialise. All members are owned, except `host` and `spec`. */
typedef struct {
    AcrHost *host;
    const AcrRunSpec *spec;
    AcrOrigin origin;
    AcrJson *text; /* {"title", "body", "message", "trailer", "issue", "verdict", "files"} */
    AcrRepo *repo;
    AcrBranch branch;
    char *url, *push_url; /* addresses of the remote */
    /* array of the requests that a dry run would send: [{"method", "url", "headers", "body"}] */
    AcrJson *requests;
} AcrPull;

/* ---- Push (pull_push.c) ---- */

/* Fails if the remote is a repository on this machine, because git would run its hooks. Errors:
 * USAGE of task. */
bool acr_pull_check_address(const AcrPull *pull, GError **error) ACR_MUST_USE;
/* Pushes the branch to the remote's address. Sets *out_is_new to true if the remote did not have
 * the branch. Errors: ENVIRONMENT of task. */
bool acr_pull_push(const AcrPull *pull, bool *out_is_new, GError **error) ACR_MUST_USE;
/* Returns an address without its user name and password; owned (g_free). */
char *acr_pull_shown_url(const char *url) ACR_MUST_USE;

/* ---- Open (pull_open.c) ---- */

/* The server for a pull request. Zero-initialise. */
typedef struct {
    const struct PullDialect *dialect;
    char *project; /* "owner/name" */
    char *api;     /* address of the project in the API */
    char *host;    /* for messages */
    char *key;     /* the header with the token; NULL in a dry run without a token */
} AcrPullServer;
void acr_pull_server_clear(AcrPullServer *server);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrPullServer, acr_pull_server_clear)
/* Finds the server from the remote's address and the options; sends nothing. Errors: USAGE,
 * ENVIRONMENT (no token) of task. */
bool acr_pull_find_server(const AcrPull *pull, AcrPullServer *out, GError **error) ACR_MUST_USE;
/* Opens a draft, or finds an open request. Returns {"url", "number", "state"}; owned. A dry run
 * sends nothing, and adds the request to `requests`. Errors: ENVIRONMENT of task. */
AcrJson *acr_pull_open(AcrPull *pull, const AcrPullServer *server, GError **error) ACR_MUST_USE;
