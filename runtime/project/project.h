/*
 * project: a project's own tests. The way to run them is found from the project's files
 * (python/acr/project/, in a confined process); they run only in the sandbox, and their outcomes
 * without a patch are cached.
 */
#ifndef ACR_PROJECT_H
#define ACR_PROJECT_H

#include "base/base.h"
#include "index/index.h"
#include "py/grading.h"
#include "py/py.h"
#include "sandbox/sandbox.h"
#include "spectrum/spectrum.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_PROJECT_ERROR_FAILED,
    ACR_PROJECT_ERROR_NO_FAILURE, /* no failure could be located */
    ACR_PROJECT_ERROR_NO_TESTS,   /* nothing says how tests are run, or no plan works */
    ACR_PROJECT_ERROR_NO_RECIPE,  /* no recipe has that name, or fits the project */
} AcrProjectError;
#define ACR_PROJECT_ERROR acr_project_error_quark()
GQuark acr_project_error_quark(void);

/* ---- What is run ---- */

/* The project, and where its tests run. All borrowed. */
typedef struct {
    AcrSandbox *sandbox;
    AcrSnapshot *snapshot;
    const AcrOverlay *
        overlay; /* changes that belong to the project (tests); NULL: none. Then no baseline is cached */
    AcrRefereeWorker *worker;      /* reads the project's files and logs */
    const char *python_dir;        /* the folder that contains the package acr */
    const char *cache;             /* folder for cached baselines; NULL: not cached */
    const char *place;             /* the repository's path; NULL: the time is not kept */
    const char *command;           /* the user's test command; NULL: detect it */
    const AcrInterrupt *interrupt; /* ends the wait for another process's baseline; may be NULL */
    const char *environment; /* what else the outcomes depend on (set-up, image); may be NULL */
    /* whether the check of a patch ends soon after the first regression that it confirms */
    bool is_first_enough;
    gint64 time_ms;          /* time for the baseline, and the same for the check of a patch */
    AcrSandboxLimits limits; /* all limits except the time */
    bool network;
    /* Called before the tests run, with their command; may be NULL. */
    void (*on_run)(void *ctx, const char *command);
    void *ctx;
} AcrProject;

/* The folders from which a project's modules are imported if it is not installed: [path], relative
 * to the tree, without the root; owned. Errors: those of py. */
AcrJson *acr_project_import_folders(AcrRefereeWorker *worker, AcrSnapshot *snapshot,
                                    GError **error) ACR_MUST_USE;

/* ---- The set-up ---- */

/* value of AcrSandboxOptions.setup: find the set-up in the project's files */
#define ACR_SETUP_AUTO "auto"
/* The set-up that was found. All owned. Zero-initialise. */
typedef struct {
    char *command; /* NULL: no set-up was searched for, or the project needs none */
    char *why;     /* the project file that names it */
} AcrSetUp;
#define ACR_SET_UP_LINE "the project is set up by '%s' (%s)" /* message for the user */
void acr_set_up_clear(AcrSetUp *set_up);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrSetUp, acr_set_up_clear)
/*
 * Opens a sandbox. If its set-up is ACR_SETUP_AUTO, tries in it what the project's files name until
 * a command succeeds and leaves no module missing that test files import (else the one that leaves
 * the fewest), and starts with the one that was taken before for the same list;
 * `options->setup` is then that command, borrowed of `out`, which must outlive the sandbox. Errors:
 * those of acr_sandbox_open and py; SETUP (none succeeds).
 */
AcrSandbox *acr_project_open_sandbox(AcrSandboxOptions *options, AcrRefereeWorker *worker,
                                     AcrSetUp *out, GError **error) ACR_MUST_USE;

/* ---- Outcomes ---- */

/* From best to worst. */
typedef enum {
    ACR_TESTED_PASSED,
    ACR_TESTED_XFAILED, /* failed, as its mark expects */
    ACR_TESTED_SKIPPED,
    ACR_TESTED_FAILED,
    /* failed outside of its assertions: in a set-up, or because a file cannot be imported */
    ACR_TESTED_ERROR,
    ACR_TESTED_ABSENT, /* no such test */
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
    char *message; /* owned; the failure; NULL: unknown */
} AcrTested;

/* The outcomes of a run of tests. All owned. Zero-initialise. */
typedef struct {
    GHashTable *tests;  /* id (char *) -> AcrTested * */
    GPtrArray *ids;     /* the ids in the order in which they ran; borrowed */
    GPtrArray *not_run; /* char *; tests that were found, but did not run before the run ended */
    char *running;      /* the test that ran when the run broke off; NULL: none */
    AcrJson *lines;     /* lines of a traced run: test -> file -> "1-3,7"; else NULL */
    /* false: lines of passing tests were omitted, because there were too many */
    bool has_all_lines;
    char *log; /* the end of the output */
    gint64 wall_ms;
    int exit_code;
    bool timed_out;
    bool is_stopped;   /* it was ended on purpose after a failure; then also `timed_out` */
    const char *limit; /* the sandbox limit that was exceeded; NULL: none */
} AcrTestRun;
void acr_test_run_clear(AcrTestRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTestRun, acr_test_run_clear)
/* Whether the run was complete: it exceeded no limit, and the test process did not end early. */
bool acr_test_run_is_whole(const AcrTestRun *run);
/* The outcome of a test; ABSENT if the run lacks it. For a file, the tests that it contains count.
 * O(1) except for files. */
AcrTestOutcome acr_test_run_outcome(const AcrTestRun *run, const char *id);
/* How many tests have that outcome. */
guint acr_test_run_count(const AcrTestRun *run, AcrTestOutcome outcome);

/* ---- The baseline ---- */

/* The outcomes of the tests without a patch. All owned. Zero-initialise. */
typedef struct {
    AcrJson *plan; /* how the tests are run; see python/acr/project/commands.py */
    char *runner, *command, *why;
    char *version;    /* version of the project's Python */
    char *missing;    /* modules that could not be imported, one line; NULL: none */
    GPtrArray *tried; /* char *; what was tried before, and why it was rejected */
    GPtrArray *flaky; /* char *; tests that failed, and passed in the second run */
    AcrTestRun run;
    bool is_kept; /* cached by an earlier run */
} AcrBaseline;
void acr_baseline_clear(AcrBaseline *baseline);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBaseline, acr_baseline_clear)
/*
 * Finds out how the tests are run, and runs them, unless their outcomes for the same snapshot,
 * environment and command are cached: all tests once, then failing ones once more. `changed`
 * (NULL-terminated, may be NULL): tests near these files run first. Errors: NO_TESTS, those of
 * sandbox, py, vcs.
 */
bool acr_project_baseline(const AcrProject *project, const char *const *changed, AcrBaseline *out,
                          GError **error) ACR_MUST_USE;

/* How long the tests of the repository `place` ran last without a patch, in milliseconds, as `cache`
 * (may be NULL) has it; -1: unknown. */
gint64 acr_project_last_ms(const char *cache, const char *place);

/* ---- What a patch does ---- */

/* A test that passes without the patch and fails with it, every time. All owned. */
typedef struct {
    char *id;
    char *message; /* its failure: the end of its report; NULL: not kept */
    char *excuse;  /* why the issue expects this failure; NULL: it is a regression */
} AcrBrokenTest;

/* The lists of ids in a comparison: the member (also its name in JSON) and its heading in text. A
 * new list is a row here, and code in compare_tests.c that fills it. */
#define ACR_COMPARISON_LISTS(ROW)                                                                  \
    ROW(fixed, "fixed")                                                                            \
    ROW(unstable, "flaky with the patch")                                                          \
    ROW(unconfirmed, "failed, but could not run again")                                            \
    ROW(removed, "removed")                                                                        \
    ROW(skipped, "passed before, and are skipped with the patch")

/*
 * What a patch does to the project's tests. One codec converts this value for the journal,
 * result.json, regression_N.json, `tests --json` and texts for people. All owned. Zero-initialise.
 */
typedef struct {
    char *why;       /* why nothing was compared (then all other members are empty); NULL: it was */
    char *command;   /* how the tests were run */
    gint64 compared; /* tests that pass without the patch, and ran with it */
    GPtrArray *broken; /* array of AcrBrokenTest; NULL: no patch was given */
    gint64 not_run;    /* known tests that did not run before the timeout */
    bool is_stopped;   /* the run ended soon after a regression; not all tests ran */
    bool is_cut;       /* the timeout came before all tests had run, known or not */
#define ACR_COMPARISON_MEMBER(name, heading) GPtrArray *name; /* array of char *; NULL: not known */
    ACR_COMPARISON_LISTS(ACR_COMPARISON_MEMBER)
} AcrTestComparison;
void acr_test_comparison_clear(AcrTestComparison *comparison);
void acr_test_comparison_free(AcrTestComparison *comparison);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTestComparison, acr_test_comparison_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrTestComparison, acr_test_comparison_free)
AcrTestComparison *acr_test_comparison_copy(const AcrTestComparison *comparison) ACR_MUST_USE;
/* Adds a failing test; `message` may be NULL. */
void acr_test_comparison_break(AcrTestComparison *comparison, const char *id, const char *message);
/* Sets the members of a comparison in `json`: "command", "compared", "regressions" (ids), "expected"
 * ({"test", "reason"}), the lists, "not_run", "complete" (only if it is false);
 * "messages" (by id) only if asked for. */
void acr_test_comparison_to_json(const AcrTestComparison *comparison, bool has_messages,
                                 AcrJson *json);
/* Reads a comparison back; owned. NULL for NULL. */
AcrTestComparison *acr_test_comparison_from_json(const AcrJson *json) ACR_MUST_USE;
/* The number of failing tests that the issue does not expect to fail. */
guint acr_test_comparison_regressions(const AcrTestComparison *comparison);
/* Appends ": ID, ID and 3 more"; nothing for an empty list. */
void acr_test_comparison_name_regressions(const AcrTestComparison *comparison, GString *text);
/* The whole comparison in a line for people; owned. */
char *acr_test_comparison_line(const AcrTestComparison *comparison) ACR_MUST_USE;
/* Row `i` of the lists with its name and heading (each may be NULL); borrowed. False after the
 * last. */
bool acr_test_comparison_list(const AcrTestComparison *comparison, guint i, const char **out_name,
                              const char **out_heading, const GPtrArray **out_ids);
/*
 * Runs the tests with the changes of `overlay`. A changed outcome counts only if repeated runs on
 * both trees confirm it: several times together with others of its kind, then the first tests
 * alone. All of this takes at most the project's time. *out_run: the first run with the patch.
 * Errors: those of acr_project_baseline.
 */
bool acr_project_compare(const AcrProject *project, AcrBaseline *baseline,
                         const AcrOverlay *overlay, AcrTestRun *out_run, AcrTestComparison *out,
                         GError **error) ACR_MUST_USE;
/* The comparison without a patch: how many tests of the baseline pass. */
void acr_project_compare_none(const AcrBaseline *baseline, AcrTestComparison *out);

/* ---- Where a failure may come from ---- */

/* A place in the code; the higher its score, the more suspicious it is. */
typedef struct {
    guint32 file;        /* number of the file in the index */
    guint32 first, last; /* first and last line of the place */
    /* the outermost function or method that contains it, else the class; -1: for lines */
    gint32 symbol;
    AcrRanked rank;
} AcrSuspect;

/* All owned. Zero-initialise. */
typedef struct {
    AcrTestRun run;     /* all tests, traced */
    GPtrArray *failing; /* char *; the tests that count as failing */
    guint passing;
    bool is_whole; /* all tests ran, and every line that they ran is counted */
    GArray *lines; /* AcrSuspect, most suspicious first; adjacent lines with equal scores are one */
    /* AcrSuspect, most suspicious first: methods, functions, and classes outside of them */
    GArray *methods;
} AcrLocalized;
void acr_localized_clear(AcrLocalized *localized);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLocalized, acr_localized_clear)
/* What to rank. All borrowed. */
typedef struct {
    const AcrIndex *index;
    const AcrOverlay *overlay; /* NULL: the unchanged snapshot */
    /* Ids of the tests that count as failing, NULL-terminated; other failing tests are ignored.
     * NULL: all failing tests. */
    const char *const *failing;
    /* The same, but some of them may pass; an id may be given by its end. May be NULL. */
    const char *const *expected;
    AcrSpectrumFormula formula;
    bool has_imports; /* count the code that runs during an import for the importing test */
} AcrLocalizing;
/* Runs all tests once more with tracing, and ranks the code of the index by which tests run it.
 * Errors: NO_FAILURE (a given test does not fail, no test fails, or nothing is known about it),
 * those of sandbox and py. */
bool acr_project_localize(const AcrProject *project, const AcrBaseline *baseline,
                          const AcrLocalizing *localizing, AcrLocalized *out,
                          GError **error) ACR_MUST_USE;
/* The first `most` of methods or lines, as `localize --json` lists them; owned. */
AcrJson *acr_suspects_to_json(const AcrIndex *index, const GArray *suspects, guint most,
                              bool is_methods) ACR_MUST_USE;
/*
 * Adds to `overlay` a test that runs the script at `script` of the tree, beside the first test of
 * the baseline; returns its id, owned. NULL: this kind of tests is unknown.
 */
char *acr_project_add_script(const AcrBaseline *baseline, const char *script, AcrOverlay *overlay,
                             GError **error) ACR_MUST_USE;

/* ---- Environments of benchmark tasks, and of checkouts of their projects ---- */

/* The milliseconds until a deadline (0: none), between 1 and `most`. */
static inline gint64 acr_project_time_left(gint64 deadline_us, gint64 most)
{
    return deadline_us ? CLAMP((deadline_us - g_get_monotonic_time()) / 1000, 1, most) : most;
}

/*
 * The Python of a plan's environment, made if it does not exist: a virtual environment below
 * `cache`, shared by all tasks with the same Python and packages; owned path. Packages are
 * installed in bubblewrap, with network, without access to the user's files. Errors: FAILED (no
 * such Python, a package cannot be installed), those of base.
 */
char *acr_project_environment(const AcrGradingPlan *plan, const char *cache, gint64 deadline_us,
                              const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;

/*
 * The plan of a recipe for a checkout: *out gets its environment and test command, *out_name (owned)
 * the recipe's full name with its version. `recipe`: OWNER/NAME, NAME, either with @VERSION, or
 * "auto", which recognises the project by its files. Errors: NO_RECIPE, those of py and vcs.
 */
bool acr_project_find_recipe(AcrRefereeWorker *worker, AcrSnapshot *snapshot, const char *recipe,
                             AcrGradingPlan *out, char **out_name, GError **error) ACR_MUST_USE;

#endif
