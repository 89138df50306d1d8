/* Private to project: probing the sandbox, detecting plans, running tests, and their results. */
#pragma once

#include "project/project.h"

/* The Python and the test runners in the sandbox, as found by inside/supervise.py. All members are
 * owned. */
typedef struct {
    char *digest; /* digest of the Python and its installed packages */
    char *version;
    AcrJson *modules; /* names of the test runners that can be imported */
} AcrProbe;
void acr_probe_clear(AcrProbe *probe);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrProbe, acr_probe_clear)
/* Finds the Python and the test runners. Errors: those of sandbox; FAILED (Python does not run). */
bool acr_project_probe(const AcrProject *project, AcrProbe *out, GError **error) ACR_MUST_USE;

/* Returns the possible plans of a project as an array, beginning with the best guess; owned.
 * Errors: those of py and vcs. */
AcrJson *acr_project_detect(const AcrProject *project, GError **error) ACR_MUST_USE;
/* Returns the test files as an array, files nearest to the changed files first; owned. */
AcrJson *acr_project_order(const AcrProject *project, const char *const *changed,
                           GError **error) ACR_MUST_USE;
/* Calls a function of Python with the project's paths, and with the texts of the files that
 * `wanted` accepts; owned. */
AcrJson *acr_project_ask_about_files(const AcrProject *project, const char *wanted,
                                     const char *function, GError **error) ACR_MUST_USE;
/* Calls a function of acr.project.service in the worker; owned. */
AcrJson *acr_project_ask(const AcrProject *project, const char *function, const AcrJson *question,
                         GError **error) ACR_MUST_USE;

/* Takes a lock, and waits while another process holds it; owned. Errors: BUSY of base (after the
 * deadline, unless it is 0, or if this process was interrupted), FAILED. */
AcrLock *acr_project_lock(const char *path, gint64 deadline_us, const AcrInterrupt *interrupt,
                          GError **error) ACR_MUST_USE;

/* Describes one run of tests. All members are borrowed. */
typedef struct {
    const AcrJson *plan;
    const AcrOverlay *overlay; /* NULL: the unchanged snapshot */
    const GPtrArray *select;   /* array of char *: run only these tests; NULL: all */
    /* array of char *: end the run soon after one of these tests fails; NULL: run all tests */
    const GPtrArray *good;
    bool is_wide;         /* with `select`: collect as for all tests, not only the selected files */
    const AcrJson *order; /* made by acr_project_order; NULL: the runner's own order */
    gint64 time_ms;
    bool is_traced;   /* record the lines that each test executes */
    bool has_imports; /* also record lines that execute during imports */
} AcrTestOrder;
/* Runs tests in the sandbox. Errors: those of sandbox and py. */
bool acr_project_run(const AcrProject *project, const AcrTestOrder *order, AcrTestRun *out,
                     GError **error) ACR_MUST_USE;
/* Returns a digest of acr-host's files that run in the sandbox; owned. Errors: those of base. */
char *acr_project_inside_digest(const AcrProject *project, GError **error) ACR_MUST_USE;

#define PYTEST_NO_TESTS 5 /* exit code of pytest and unittest if they found no test */
/* The id under which an error of pytest itself is reported. */
#define ACR_PYTEST_ITSELF "(pytest)"
/* Adds a result to a run. If the id already has a result, the worse result counts. */
void acr_test_run_add(AcrTestRun *run, const char *id, AcrTestOutcome outcome, double seconds,
                      const char *message);
/* Returns the ids with an outcome (ids of tests, whole files, classes, or all tests); borrowed, in
 * an array that the caller frees. */
GPtrArray *acr_test_run_ids(const AcrTestRun *run, AcrTestOutcome outcome) ACR_MUST_USE;
/* Returns whether an id in `errors` (of errors or skips) explains why the test `id` did not run. */
bool acr_test_ids_are_about(const GPtrArray *errors, const char *id);
/* Returns whether the command failed before it ran or skipped a test. */
bool acr_test_run_failed_to_start(const AcrTestRun *run);
/* Returns whether an error of the run explains why the test `id` is missing. */
bool acr_test_run_lost(const AcrTestRun *run, const char *id);
/* Convert the tests, the tests that did not run, and the times to JSON and back. */
AcrJson *acr_test_run_to_json(const AcrTestRun *run) ACR_MUST_USE;
void acr_test_run_init(AcrTestRun *run);
void acr_test_run_take(AcrTestRun *run, const AcrJson *json);

GPtrArray *acr_texts_from_json(const AcrJson *list) ACR_MUST_USE; /* owned array of char * */
/* Makes all lists of a comparison, empty. */
void acr_test_comparison_init(AcrTestComparison *comparison);
