/* Private to project. */
#pragma once

#include "project/project.h"

/* The programs that exist in the sandbox, as found by inside/supervise.py. All members are
 * owned. */
typedef struct {
    char *digest; /* digest of the Python and its installed packages */
    char *version;
    AcrJson *modules; /* names of the test runners that can be imported */
} AcrProbe;
void acr_probe_clear(AcrProbe *probe);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrProbe, acr_probe_clear)
/* Finds these programs. Errors: those of sandbox; FAILED (the sandbox's Python does not run). */
bool acr_project_probe(const AcrProject *project, AcrProbe *out, GError **error) ACR_MUST_USE;

/* The possible plans of a project as an array, beginning with the best guess; owned. Errors:
 * those of py and vcs. */
AcrJson *acr_project_detect(const AcrProject *project, GError **error) ACR_MUST_USE;
/* The test files as an array, beginning with those nearest to the changed files; owned. */
AcrJson *acr_project_order(const AcrProject *project, const char *const *changed,
                           GError **error) ACR_MUST_USE;
/* Calls Python with the project's paths, and with the texts of the files that `wanted` accepts;
 * owned. */
AcrJson *acr_project_ask_about_files(const AcrProject *project, const char *wanted,
                                     const char *function, GError **error) ACR_MUST_USE;
/* Calls acr.project.service in the worker; owned. */
AcrJson *acr_project_ask(const AcrProject *project, const char *function, const AcrJson *question,
                         GError **error) ACR_MUST_USE;

/* Takes a lock; waits while another process holds it; owned. Errors: BUSY of base (the deadline
 * has passed, unless it is 0, or this process was interrupted), FAILED. */
AcrLock *acr_project_lock(const char *path, gint64 deadline_us, const AcrInterrupt *interrupt,
                          GError **error) ACR_MUST_USE;

/* Describes one run. All members are borrowed. */
typedef struct {
    const AcrJson *plan;
    const AcrOverlay *overlay; /* NULL: the unchanged snapshot */
    const GPtrArray *select;   /* array of char *: run only these tests; NULL: all */
    /* array of char *: end the run soon after one of these tests fails; NULL: do not */
    const GPtrArray *good;
    bool is_wide;         /* with `select`: collect as for all tests, not only the files of these */
    const AcrJson *order; /* made by acr_project_order; NULL: the runner's own order */
    gint64 time_ms;
    bool is_traced;   /* record the lines that each test runs */
    bool has_imports; /* also record lines that run during imports */
} AcrTestOrder;
/* Runs tests. Errors: those of sandbox and py. */
bool acr_project_run(const AcrProject *project, const AcrTestOrder *order, AcrTestRun *out,
                     GError **error) ACR_MUST_USE;
/* A digest of our files that run in the sandbox; owned. Errors: those of base. */
char *acr_project_inside_digest(const AcrProject *project, GError **error) ACR_MUST_USE;

#define PYTEST_NO_TESTS 5 /* exit code of pytest and unittest if they found no test */
/* The id under which an error of pytest itself is reported. */
#define ACR_PYTEST_ITSELF "(pytest)"
/* Adds a result to a run. If the id already has a result, the worse result counts. */
void acr_test_run_add(AcrTestRun *run, const char *id, AcrTestOutcome outcome, double seconds,
                      const char *message);
/* The ids that have that outcome: tests, whole files, classes, or all tests; borrowed, in an array
 * that the caller frees. */
GPtrArray *acr_test_run_ids(const AcrTestRun *run, AcrTestOutcome outcome) ACR_MUST_USE;
/* Whether one of these ids, of errors or of what is skipped, explains why that test did not run. */
bool acr_test_ids_are_about(const GPtrArray *errors, const char *id);
/* Whether an error explains why the test is missing. */
bool acr_test_run_lost(const AcrTestRun *run, const char *id);
/* These functions convert the tests, the tests that did not run, and the times to JSON, and
 * back. */
AcrJson *acr_test_run_to_json(const AcrTestRun *run) ACR_MUST_USE;
void acr_test_run_init(AcrTestRun *run);
void acr_test_run_take(AcrTestRun *run, const AcrJson *json);

GPtrArray *acr_texts_from_json(const AcrJson *list) ACR_MUST_USE; /* owned array of char * */
/* Makes all lists of a comparison; they are empty. */
void acr_test_comparison_init(AcrTestComparison *comparison);
