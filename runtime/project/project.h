/*
 * project: a project's own tests. How they are run is found in the project's files (python/acr/project/, in
 * a confined process); they are run in the sandbox alone, and what they come to without a patch is kept.
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
    ACR_PROJECT_ERROR_NO_FAILURE, /* that could be located */
    ACR_PROJECT_ERROR_NO_TESTS,   /* nothing says how tests are run, or none of it runs one */
} AcrProjectError;
#define ACR_PROJECT_ERROR acr_project_error_quark()
GQuark acr_project_error_quark(void);

/* ---- What is run ---- */

/* The project, and where its tests run. All borrowed. */
typedef struct {
    AcrSandbox *sandbox;
    AcrSnapshot *snapshot;
    const AcrOverlay *
        overlay; /* changes that belong to the project: tests; NULL: none. No baseline is kept then */
    AcrRefereeWorker *worker; /* reads the project's files and logs */
    const char *python_dir;   /* holds the package acr */
    const char *cache;        /* folder of baselines; NULL: none are kept */
    const char *command;      /* how the tests are run, as the user says; NULL: it is detected */
    const char *environment;  /* what else they depend on: set-up, image; may be NULL */
    gint64 time_ms;           /* that one run of all tests may take */
    AcrSandboxLimits limits;  /* but for the time */
    bool network;
} AcrProject;

/* The folders that a project's modules are imported from where it is not installed, [path], relative to the tree,
 * without the root itself; owned. Errors: those of py. */
AcrJson *acr_project_import_folders(AcrRefereeWorker *worker, AcrSnapshot *snapshot,
                                    GError **error) ACR_MUST_USE;

/* ---- Outcomes ---- */

/* Best to worst. */
typedef enum {
    ACR_TESTED_PASSED,
    ACR_TESTED_XFAILED, /* failed as it is expected to */
    ACR_TESTED_SKIPPED,
    ACR_TESTED_FAILED,
    ACR_TESTED_ERROR,  /* outside of its assertions: a set-up, a file that cannot be imported */
    ACR_TESTED_ABSENT, /* there is no such test */
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
    char *message; /* owned; how it failed; NULL: nothing is known */
} AcrTested;

/* What a run of tests came to. All owned. Zero-initialise. */
typedef struct {
    GHashTable *tests;  /* id (char *) -> AcrTested * */
    GPtrArray *ids;     /* the same ids in the order in which they were run; borrowed */
    GPtrArray *not_run; /* char *; tests that were found, and not run before the run was over */
    char *running;      /* the one that was running then; NULL: none */
    AcrJson *lines;     /* of a run that was traced: test -> file -> "1-3,7"; else NULL */
    bool has_all_lines; /* else those of passing tests are left out, being too many */
    char *log;          /* the end of what was printed */
    gint64 wall_ms;
    int exit_code;
    bool timed_out;
    const char *limit; /* of the sandbox that was hit; NULL: none */
} AcrTestRun;
void acr_test_run_clear(AcrTestRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTestRun, acr_test_run_clear)
/* Whether the run came to its end: no limit, and nothing that ended the tests' process, cut it off. */
bool acr_test_run_is_whole(const AcrTestRun *run);
/* ABSENT where the run has it not. What `id` contains counts for it: a file's tests. O(1) but for
 * those. */
AcrTestOutcome acr_test_run_outcome(const AcrTestRun *run, const char *id);
/* How many tests ended so. */
guint acr_test_run_count(const AcrTestRun *run, AcrTestOutcome outcome);

/* ---- The baseline ---- */

/* What the tests come to without a patch. All owned. Zero-initialise. */
typedef struct {
    AcrJson *plan; /* how they are run; see python/acr/project/commands.py */
    char *runner, *command, *why;
    char *version;    /* of the project's Python */
    char *missing;    /* modules that could not be imported, in a line; NULL: none */
    GPtrArray *tried; /* char *; what was tried before, and why it was not taken */
    GPtrArray *flaky; /* char *; tests that failed, and passed when they ran again */
    AcrTestRun run;
    bool is_kept; /* from an earlier run */
} AcrBaseline;
void acr_baseline_clear(AcrBaseline *baseline);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrBaseline, acr_baseline_clear)
/*
 * Finds how the tests are run, and runs them, unless the cache holds what they came to for the same
 * snapshot, environment and command: all once, then what failed once more. `changed` (NULL-terminated,
 * may be NULL): tests near to these files are run first. Errors: NO_TESTS, those of sandbox, py, vcs.
 */
bool acr_project_baseline(const AcrProject *project, const char *const *changed, AcrBaseline *out,
                          GError **error) ACR_MUST_USE;

/* ---- What a patch does ---- */

/* A test that passes without the patch and fails with it, each time. All owned. */
typedef struct {
    char *id;
    char *message; /* how it fails: the end of what was reported; NULL: it was not kept */
    char *excuse;  /* why the issue asks that it fails; NULL: it is a regression */
} AcrBrokenTest;

/* Lists of ids in a comparison: the member, which is also its name in JSON, and its heading in text. A new
 * one is a row here, and what fills it in compare_tests.c. */
#define ACR_COMPARISON_LISTS(ROW)                                                                  \
    ROW(fixed, "fixed")                                                                            \
    ROW(unstable, "flaky with the patch")                                                          \
    ROW(unconfirmed, "failed, but could not run again")                                            \
    ROW(removed, "removed")                                                                        \
    ROW(skipped, "passed before, and are skipped with the patch")

/*
 * What a patch does to the project's tests. The journal, result.json, regression_N.json, `tests --json`
 * and what people read are made from this value by its one codec. All owned. Zero-initialise.
 */
typedef struct {
    char *why;         /* why nothing was compared; all else is empty then. NULL: it was */
    char *command;     /* how the tests were run */
    gint64 compared;   /* tests that pass without the patch, and ran with it */
    GPtrArray *broken; /* of AcrBrokenTest; NULL: no patch was given */
    gint64 not_run;    /* tests for which there was no time */
#define ACR_COMPARISON_MEMBER(name, heading) GPtrArray *name; /* of char *; NULL: not known */
    ACR_COMPARISON_LISTS(ACR_COMPARISON_MEMBER)
} AcrTestComparison;
void acr_test_comparison_clear(AcrTestComparison *comparison);
void acr_test_comparison_free(AcrTestComparison *comparison);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTestComparison, acr_test_comparison_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrTestComparison, acr_test_comparison_free)
AcrTestComparison *acr_test_comparison_copy(const AcrTestComparison *comparison) ACR_MUST_USE;
/* Adds a test that fails; `message` may be NULL. */
void acr_test_comparison_break(AcrTestComparison *comparison, const char *id, const char *message);
/* Sets the members of a comparison in `json`: "command", "compared", "regressions" (ids), "expected"
 * ({"test", "reason"}), the lists, "not_run"; "messages" (by id) only if asked for. */
void acr_test_comparison_to_json(const AcrTestComparison *comparison, bool has_messages,
                                 AcrJson *json);
/* Reads them back; owned. NULL of NULL. */
AcrTestComparison *acr_test_comparison_from_json(const AcrJson *json) ACR_MUST_USE;
/* How many tests fail that the issue does not ask to fail. */
guint acr_test_comparison_regressions(const AcrTestComparison *comparison);
/* Appends ": ID, ID and 3 more" of these; nothing where there is none. */
void acr_test_comparison_name_regressions(const AcrTestComparison *comparison, GString *text);
/* All of it in a line for people; owned. */
char *acr_test_comparison_line(const AcrTestComparison *comparison) ACR_MUST_USE;
/* The list of row `i` with its name and heading (each may be NULL); borrowed. False past the last. */
bool acr_test_comparison_list(const AcrTestComparison *comparison, guint i, const char **out_name,
                              const char **out_heading, const GPtrArray **out_ids);
/*
 * Runs the tests with the changes of `overlay`. What ends otherwise than in the baseline is run again
 * on both trees before it counts: several times with the others of its kind, then alone. *out_run: the first
 * run with the patch. Errors: those of acr_project_baseline.
 */
bool acr_project_compare(const AcrProject *project, AcrBaseline *baseline,
                         const AcrOverlay *overlay, AcrTestRun *out_run, AcrTestComparison *out,
                         GError **error) ACR_MUST_USE;
/* The comparison without a patch: how many tests of the baseline pass. */
void acr_project_compare_none(const AcrBaseline *baseline, AcrTestComparison *out);

/* ---- Where a failure may come from ---- */

/* A place in the code, the more suspicious the higher its score. */
typedef struct {
    guint32 file;        /* of the index */
    guint32 first, last; /* lines; of a symbol: its own */
    gint32 symbol;       /* the outermost function or method around, else the class; -1: of lines */
    AcrRanked rank;
} AcrSuspect;

/* All owned. Zero-initialise. */
typedef struct {
    AcrTestRun run;     /* of all tests, traced */
    GPtrArray *failing; /* char *; the tests that count as failing */
    guint passing;
    bool is_whole;   /* all tests ran, and all lines that they ran are counted */
    GArray *lines;   /* of AcrSuspect, most suspicious first; neighbours of equal scores are one */
    GArray *methods; /* of AcrSuspect, likewise; methods, functions, and classes outside of them */
} AcrLocalized;
void acr_localized_clear(AcrLocalized *localized);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLocalized, acr_localized_clear)
/* What is ranked. All borrowed. */
typedef struct {
    const AcrIndex *index;
    const AcrOverlay *overlay; /* NULL: the snapshot as it is */
    /* Ids that count as failing, NULL-terminated; others that fail are left out. NULL: all that fail. */
    const char *const *failing;
    /* Likewise, but also where some of them do not fail; the end of an id is enough. May be NULL. */
    const char *const *expected;
    AcrSpectrumFormula formula;
    bool has_imports; /* what runs while a module is imported counts for the test that imports it */
} AcrLocalizing;
/* Runs all tests once more, traced, and ranks the code of the index by which tests run it. Errors:
 * NO_FAILURE (such a test does not fail, none does, nothing is known of it), those of sandbox and py. */
bool acr_project_localize(const AcrProject *project, const AcrBaseline *baseline,
                          const AcrLocalizing *localizing, AcrLocalized *out,
                          GError **error) ACR_MUST_USE;
/* The first `most` of methods or lines, as `localize --json` lists them; owned. */
AcrJson *acr_suspects_to_json(const AcrIndex *index, const GArray *suspects, guint most,
                              bool is_methods) ACR_MUST_USE;
/*
 * Adds to `overlay` a test that runs the script at `script` of the tree, beside the first test of the
 * baseline; its id, owned. NULL: what kind of tests these are is not known.
 */
char *acr_project_add_script(const AcrBaseline *baseline, const char *script, AcrOverlay *overlay,
                             GError **error) ACR_MUST_USE;

/* ---- Environments of benchmark tasks ---- */

/* The milliseconds until a deadline (0: none), from 1 to `most`. */
static inline gint64 acr_project_time_left(gint64 deadline_us, gint64 most)
{
    return deadline_us ? CLAMP((deadline_us - g_get_monotonic_time()) / 1000, 1, most) : most;
}

/*
 * The Python of a plan's environment, which is made where it is not there yet: a virtual environment
 * below `cache`, shared by all tasks with the same Python and packages; owned path. What packages do
 * when they are installed happens in bubblewrap, with the network, and nothing of the user's in sight.
 * Errors: FAILED (no such Python here, a package cannot be installed), those of base.
 */
char *acr_project_environment(const AcrGradingPlan *plan, const char *cache, gint64 deadline_us,
                              const AcrInterrupt *interrupt, GError **error) ACR_MUST_USE;

#endif
