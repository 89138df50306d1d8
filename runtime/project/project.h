/* project: runs a project's own tests. python/acr/project/ finds out from the project's files, in a
 * confined process, how to run the tests. The tests run only in the sandbox, and their results
 * without a patch are cached. */
#pragma once

#include "base/base.h"
#include "index/index.h"
#include "py/grading.h"
#include "py/py.h"
#include "sandbox/sandbox.h"
#include "spectrum/spectrum.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_PROJECT_ERROR_FAILED,
    ACR_PROJECT_ERROR_NO_FAILURE, /* there is no failing test to localize */
    ACR_PROJECT_ERROR_NO_TESTS,   /* no project file says how tests are run, or no plan works */
    ACR_PROJECT_ERROR_NO_RUNNER,  /* no test passes, and a runner is missing or fails to start */
    ACR_PROJECT_ERROR_NO_RECIPE,  /* no recipe has that name or fits the project */
} AcrProjectError;
#define ACR_PROJECT_ERROR acr_project_error_quark()
GQuark acr_project_error_quark(void);

/* ---- The project ---- */

/* The project, and how to run its tests. All members are borrowed. */
typedef struct {
    AcrSandbox *sandbox;
    AcrSnapshot *snapshot;
    /* changes that belong to the project (tests); with changes, no baseline is cached; NULL:
     * none */
    const AcrOverlay *overlay;
    AcrRefereeWorker *worker; /* reads the project's files and logs */
    const char *python_dir;   /* the folder that contains the package acr */
    const char *cache;        /* folder for cached baselines; NULL: baselines are not cached */
    /* the repository's path, under which the duration of the tests is cached; NULL: it is not
     * cached */
    const char *place;
    const char *command; /* the user's test command; NULL: the command is detected */
    /* ends the wait for another process's baseline; may be NULL */
    const AcrInterrupt *interrupt;
    /* describes set-up and image, as a part of the cache's key; may be NULL */
    const char *environment;
    /* end the check of a patch soon after its first confirmed regression */
    bool is_first_enough;
    const GPtrArray *only; /* array of ids (char *) of the tests to compare; NULL: all */
    /* Changed files, NULL-terminated. Tests near these files run first; NULL: tests near the
     * files that each patch changes. */
    const char *const *near;
    gint64 time_ms;          /* time limit of the baseline, and of the check of a patch */
    AcrSandboxLimits limits; /* all limits except the time */
    bool network;
    /* Called before the tests run, with the command that runs them; may be NULL. */
    void (*on_run)(void *ctx, const char *command);
    void *ctx;
} AcrProject;

/* Returns the folders from which a project's modules are imported if the project is not installed:
 * [path], relative to the tree, without the root; owned. Errors: those of py. */
AcrJson *acr_project_import_folders(AcrRefereeWorker *worker, AcrSnapshot *snapshot,
                                    GError **error) ACR_MUST_USE;

/* ---- The set-up ---- */

/* value of AcrSandboxOptions.setup: find the set-up command in the project's files */
#define ACR_SETUP_AUTO "auto"
/* The set-up command that was chosen. All members are owned. Zero-initialise the struct. */
typedef struct {
    char *command; /* NULL if no command was searched for, or if the project needs no set-up */
    char *why;     /* the project file that names the command */
} AcrSetUp;
#define ACR_SET_UP_LINE "the project is set up by '%s' (%s)" /* format of a message */
void acr_set_up_clear(AcrSetUp *set_up);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrSetUp, acr_set_up_clear)
/* Opens a sandbox. If its set-up is ACR_SETUP_AUTO, tries the commands that the project's files
 * name, beginning with the command that worked before for the same list. Uses the first command
 * that succeeds and provides all modules that test files import; if there is none, the command that
 * leaves the fewest modules missing. Sets `options->setup` to the command, borrowed from `out`,
 * which must outlive the sandbox. Errors: those of acr_sandbox_open and py; SETUP (no command
 * succeeds). */
AcrSandbox *acr_project_open_sandbox(AcrSandboxOptions *options, AcrRefereeWorker *worker,
                                     AcrSetUp *out, GError **error) ACR_MUST_USE;

/* ---- Outcomes ---- */

/* The outcomes, from best to worst. */
typedef enum {
    ACR_TESTED_PASSED,
    ACR_TESTED_XFAILED, /* the test failed, as its expected-failure mark says */
    ACR_TESTED_SKIPPED,
    ACR_TESTED_FAILED,
    /* the test failed outside of its assertions: in a set-up, or because a file cannot be
     * imported */
    ACR_TESTED_ERROR,
    ACR_TESTED_ABSENT, /* the run has no such test */
} AcrTestOutcome;
#define ACR_TESTED_N_OUTCOMES ACR_TESTED_ABSENT
const char *acr_test_outcome_name(AcrTestOutcome outcome); /* "passed", … */
static inline bool acr_test_is_good(AcrTestOutcome outcome)
{
    return outcome == ACR_TESTED_PASSED || outcome == ACR_TESTED_XFAILED;
}
static inline bool acr_test_is_bad(AcrTestOutcome outcome)
{
    return outcome == ACR_TESTED_FAILED || outcome == ACR_TESTED_ERROR;
}

typedef struct {
    AcrTestOutcome outcome;
    double seconds;
    char *message; /* owned; the message of the failure; NULL if unknown */
} AcrTested;

/* The outcomes of a run of tests. All members are owned. Zero-initialise the struct. */
typedef struct {
    GHashTable *tests; /* id (char *) -> AcrTested * */
    GPtrArray *ids;    /* the ids in the order in which the tests ran; borrowed from `tests` */
    /* array of char *: tests that were collected, but did not run before the run ended */
    GPtrArray *not_run;
    char *running;  /* the test that was running when the run ended early; NULL if there was none */
    AcrJson *lines; /* in a traced run: test -> file -> executed lines, "1-3,7"; otherwise NULL */
    /* false if the lines of some passing tests were omitted, because there were too many lines */
    bool has_all_lines;
    char *log; /* the end of the output */
    gint64 wall_ms;
    int exit_code;
    bool timed_out;
    /* the run was ended on purpose after a failure; `timed_out` is then also true */
    bool is_stopped;
    const char *limit; /* the sandbox limit that was exceeded; NULL if none was */
} AcrTestRun;
void acr_test_run_clear(AcrTestRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTestRun, acr_test_run_clear)
/* Returns whether the run was complete: it exceeded no limit, and the test process did not end
 * early. */
bool acr_test_run_is_whole(const AcrTestRun *run);
/* Returns the outcome of a test; ABSENT if the run has no such test. The outcome of a file is the
 * worst outcome of its tests. O(1) except for files. */
AcrTestOutcome acr_test_run_outcome(const AcrTestRun *run, const char *id);
/* Returns the number of tests with an outcome. */
guint acr_test_run_count(const AcrTestRun *run, AcrTestOutcome outcome);

/* ---- The baseline ---- */

/* The outcomes of the tests without a patch. All members are owned. Zero-initialise the struct. */
typedef struct {
    AcrJson *plan; /* how to run the tests; see python/acr/project/commands.py */
    char *runner, *command, *why;
    char *version;    /* version of the project's Python */
    char *missing;    /* modules that could not be imported, in one line; NULL if there were none */
    GPtrArray *tried; /* array of char *: plans tried before, each with why it was rejected */
    char *unstarted;  /* the first of `tried` whose runner did not start; NULL if there is none */
    GPtrArray *flaky; /* array of char *: tests that failed and then passed in the second run */
    AcrTestRun run;
    bool is_kept; /* the results were taken from the cache */
} AcrBaseline;
void acr_baseline_clear(AcrBaseline *baseline);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBaseline, acr_baseline_clear)
/* Finds out how to run the tests, runs all of them once, and runs failing tests a second time.
 * Takes the results from the cache if it has them for the same snapshot, environment and
 * command. Tests near the files `changed` (NULL-terminated, may be NULL) run first. Errors:
 * NO_TESTS, NO_RUNNER, those of sandbox, py, vcs. */
bool acr_project_baseline(const AcrProject *project, const char *const *changed, AcrBaseline *out,
                          GError **error) ACR_MUST_USE;

/* Returns how long the tests of the repository `place` took in their last run without a patch, in
 * milliseconds, according to `cache` (may be NULL); -1 if unknown. */
gint64 acr_project_last_ms(const char *cache, const char *place);

/* ---- The effect of a patch ---- */

/* A test that always passes without the patch and always fails with it. All members are owned. */
typedef struct {
    char *id;
    char *message; /* the end of the failure report; NULL if it was not kept */
    char *excuse;  /* why the issue expects the failure; NULL if the failure is a regression */
} AcrBrokenTest;

/* The lists of ids in a comparison: the name of the member (also in JSON), and the list's heading
 * in text. To add a list, add a row here, and code in compare_tests.c that fills the list. */
#define ACR_COMPARISON_LISTS(ROW)                                                                  \
    ROW(fixed, "fixed")                                                                            \
    ROW(unstable, "flaky with the patch")                                                          \
    ROW(unconfirmed, "failed, but could not run again")                                            \
    ROW(removed, "removed")                                                                        \
    ROW(skipped, "passed before, and are skipped with the patch")

/* The effect of a patch on the project's tests. One codec converts this value for the journal,
 * result.json, regression_N.json, `tests --json` and texts for people. All members are owned.
 * Zero-initialise the struct. */
typedef struct {
    /* why no tests were compared (all other members are then empty); otherwise NULL */
    char *why;
    char *command; /* the command that ran the tests */
    /* number of tests that pass without the patch, and that ran with the patch */
    gint64 compared;
    GPtrArray *broken; /* array of AcrBrokenTest; NULL if there was no patch */
    gint64 not_run;    /* number of tests of the baseline that did not run before the timeout */
    bool is_stopped;   /* the run was ended soon after a regression, before all tests had run */
    bool is_cut;       /* the timeout came before all tests (known or unknown) had run */
    char *running;     /* the test that was running at the timeout; NULL if there was none */
#define ACR_COMPARISON_MEMBER(name, heading) GPtrArray *name; /* array of char *; NULL if unknown */
    ACR_COMPARISON_LISTS(ACR_COMPARISON_MEMBER)
} AcrTestComparison;
void acr_test_comparison_clear(AcrTestComparison *comparison);
void acr_test_comparison_free(AcrTestComparison *comparison);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTestComparison, acr_test_comparison_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrTestComparison, acr_test_comparison_free)
AcrTestComparison *acr_test_comparison_copy(const AcrTestComparison *comparison) ACR_MUST_USE;
/* Adds a failing test; `message` may be NULL. */
void acr_test_comparison_break(AcrTestComparison *comparison, const char *id, const char *message);
/* Adds the results of a later comparison of the tests `ids`, which replace unconfirmed results. */
void acr_test_comparison_merge(AcrTestComparison *into, const AcrTestComparison *later,
                               const GPtrArray *ids);
/* Sets the members of a comparison in `json`: "command", "compared", "regressions" (ids),
 * "expected" ({"test", "reason"}), the lists, "not_run", "complete" (only if false), and on
 * request "messages" (by id). */
void acr_test_comparison_to_json(const AcrTestComparison *comparison, bool has_messages,
                                 AcrJson *json);
/* Converts JSON back to a comparison; owned. Returns NULL for NULL. */
AcrTestComparison *acr_test_comparison_from_json(const AcrJson *json) ACR_MUST_USE;
/* Returns the number of failing tests that the issue does not expect to fail. */
guint acr_test_comparison_regressions(const AcrTestComparison *comparison);
/* Appends the ids of regressions: ": ID, ID and 3 more". Appends nothing if there are none. */
void acr_test_comparison_name_regressions(const AcrTestComparison *comparison, GString *text);
/* Says why it is unknown whether the patch breaks tests: the tests were not compared, or not all
 * ended with the patch; owned; NULL if all ended. */
char *acr_test_comparison_doubt(const AcrTestComparison *comparison) ACR_MUST_USE;
/* Describes the comparison in one line for people; owned. */
char *acr_test_comparison_line(const AcrTestComparison *comparison) ACR_MUST_USE;
/* Gets list `i` of the comparison, with its name and heading (the ids may be NULL); borrowed.
 * Returns false after the last list. */
bool acr_test_comparison_list(const AcrTestComparison *comparison, guint i, const char **out_name,
                              const char **out_heading, const GPtrArray **out_ids);
/* Runs the tests with the changes of `overlay`. A changed outcome counts only if repeated runs on
 * both trees confirm it: several runs of all suspects together, then runs of the first few suspects
 * alone. All runs together take at most the project's time. *out_run is the first run with the
 * patch. Errors: those of acr_project_baseline. */
bool acr_project_compare(const AcrProject *project, AcrBaseline *baseline,
                         const AcrOverlay *overlay, AcrTestRun *out_run, AcrTestComparison *out,
                         GError **error) ACR_MUST_USE;
/* Makes the comparison of a run without a patch: only counts the passing tests of the baseline. */
void acr_project_compare_none(const AcrBaseline *baseline, AcrTestComparison *out);

/* ---- Ranking suspicious code ---------- */

typedef struct {
    guint32 file;        /* number of the file in the index */
    guint32 first, last; /* first and last line of the place */
    /* id of the outermost function or method that contains the place, otherwise of the class; -1
     * for a place in `lines` */
    gint32 symbol;
    AcrRanked rank;
} AcrSuspect;

/* All members are owned. Zero-initialise the struct. */
typedef struct {
    AcrTestRun run;     /* the traced run of all tests */
    GPtrArray *failing; /* array of char *: the tests that count as failing */
    guint passing;
    bool is_whole; /* all tests ran, and all lines that they executed are counted */
    /* array of AcrSuspect, beginning with the most suspicious; adjacent lines with equal scores are
     * one element */
    GArray *lines;
    /* array of AcrSuspect, beginning with the most suspicious: methods, functions, and the other
     * code of classes */
    GArray *methods;
} AcrLocalized;
void acr_localized_clear(AcrLocalized *localized);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLocalized, acr_localized_clear)
/* The input for a ranking. All members are borrowed. */
typedef struct {
    const AcrIndex *index;
    const AcrOverlay *overlay; /* NULL: the unchanged snapshot */
    /* Ids of tests, NULL-terminated; only these tests count as failing. NULL: all failing tests
     * count. */
    const char *const *failing;
    /* Like `failing`, but some of the tests may pass, and the end of an id is enough. May be
     * NULL. */
    const char *const *expected;
    AcrSpectrumFormula formula;
    bool has_imports; /* code that runs while a test imports it counts as executed by the test */
} AcrLocalizing;
/* Runs all tests once more under the tracer, and ranks the code of the index by the tests that
 * execute it. Errors: NO_FAILURE (a given test does not fail, no test fails, or no line of a
 * failing test is known), those of sandbox and py. */
bool acr_project_localize(const AcrProject *project, const AcrBaseline *baseline,
                          const AcrLocalizing *localizing, AcrLocalized *out,
                          GError **error) ACR_MUST_USE;
/* Converts the first `most` methods or lines to the form of `localize --json`; owned. */
AcrJson *acr_suspects_to_json(const AcrIndex *index, const GArray *suspects, guint most,
                              bool is_methods) ACR_MUST_USE;
/* Adds a test to `overlay`, in the folder of the baseline's first test. The test runs `script`, a
 * file of the tree. Returns the test's id, owned; NULL if this kind of tests is unknown. */
char *acr_project_add_script(const AcrBaseline *baseline, const char *script, AcrOverlay *overlay,
                             GError **error) ACR_MUST_USE;

/* ---- Environments of benchmark tasks, and of checkouts of their projects ---- */

/* Returns the milliseconds until a deadline (0: none), between 1 and `most`. */
static inline gint64 acr_project_time_left(gint64 deadline_us, gint64 most)
{
    return deadline_us ? CLAMP((deadline_us - g_get_monotonic_time()) / 1000, 1, most) : most;
}

/* Returns the path of the Python in a plan's environment, owned. The environment is a virtual
 * environment in `cache`, shared by all tasks with the same Python and packages. Creates it if it
 * does not exist. Packages are installed in bubblewrap, with network access but without access to
 * the user's files. Errors: FAILED (there is no such Python; a package cannot be installed), those
 * of base. */
char *acr_project_environment(const AcrGradingPlan *plan, const char *cache, gint64 deadline_us,
                              const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;
/* Returns pyenv's newest Python of a version such as "3.9" or, if there is none, the Python in PATH;
 * owned. Errors: FAILED (there is none). */
char *acr_project_base_python(const char *version, GError **error) ACR_MUST_USE;
/* Returns whether the environment is complete and its Python still exists, which disappears if the
 * base Python is removed. Otherwise, acr_project_environment creates it. */
bool acr_project_has_environment(const AcrGradingPlan *plan, const char *cache);

/* Makes a checkout's plan from a recipe. *out has the environment and test command, *out_name
 * (owned) the recipe's full name and version. `recipe` is OWNER/NAME or NAME, each optionally with
 * @VERSION, or "auto", which recognises the project by its files. Errors: NO_RECIPE, those of py
 * and vcs. */
bool acr_project_find_recipe(AcrRefereeWorker *worker, AcrSnapshot *snapshot, const char *recipe,
                             AcrGradingPlan *out, char **out_name, GError **error) ACR_MUST_USE;
