/* loops: runs the state machines of machines.h with real models, searches and edits. The caller
 * passes the clock, the model and the destination of files, so that the same loop also runs with
 * scripted answers or from a journal. */
#pragma once

#include "agents/agents.h"
#include "base/base.h"
#include "extensions/extensions.h"
#include "index/index.h"
#include "layout/layout.h"
#include "llm/llm.h"
#include "loops/machines.h"
#include "loops/progress.h"
#include "patch/patch.h"
#include "project/project.h"
#include "py/py.h"
#include "sandbox/sandbox.h"
#include "search/search.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_LOOPS_ERROR_INTERRUPTED,
    ACR_LOOPS_ERROR_UNAVAILABLE, /* --verify=always, but code cannot be run */
    ACR_LOOPS_ERROR_VALIDATION,  /* the command of --validate cannot be run */
} AcrLoopsError;
#define ACR_LOOPS_ERROR acr_loops_error_quark()
GQuark acr_loops_error_quark(void);
/* Returns false with the error CEILING of llm after the budget's deadline. `budget` may be NULL. */
bool acr_loops_in_time(const AcrBudget *budget, GError **error) ACR_MUST_USE;

/* maximum size in bytes of the search results shown in one round */
#define ACR_ROUND_MAX_OUTPUT (192u * 1024)

/* Writes files to the run folder. `path` is relative to that folder
 * ("attempt_0/extract_status.json"). */
typedef struct {
    void *ctx;
    bool (*write)(void *ctx, const char *path, const void *data, gsize len, GError **error);
} AcrArtifacts;

typedef enum { ACR_VERIFY_AUTO, ACR_VERIFY_ALWAYS, ACR_VERIFY_NEVER } AcrVerify;

/* A script or command to run in a private copy of the run's snapshot. All members are borrowed. */
typedef struct {
    const AcrOverlay *overlay; /* the patch to apply first; NULL: none */
    const char *test;    /* a script that the project's Python runs as ACR_FILE_SCRIPT; or NULL */
    const char *command; /* a shell command, which is run if `test` is NULL */
    guint repeat;        /* distinguishes repetitions of the same trial; counted from 0 */
    /* An experiment on `test`: the project's Python runs with these arguments ("-" or a file, …;
     * NULL-terminated) instead of the script. The journal records only the experiment's name and
     * the digest of `test`, so arguments, input and environment may contain random words. */
    const char *const *args;
    const char *experiment; /* name of the experiment; NULL: none */
    GBytes *input;          /* standard input; NULL: none */
    const char *const *env; /* "NAME=VALUE", in addition to the usual variables; NULL: none */
} AcrTrial;

/* Name of the experiment in which the call tracer runs the script that `args` names. The tracer's
 * source is the standard input. */
#define ACR_EXPERIMENT_CALLS "calls"
/* Name of the experiment that runs a model's snippet; limited to a few seconds. */
#define ACR_EXPERIMENT_PROBE "probe"

/* Runs each trial once; a repeated call returns the recorded outcome. Outcomes in the journal are
 * used first, so that a loop can be replayed from recorded executions. */
typedef struct {
    void *ctx;
    /* Returns false on an error. *out_available says whether code can be run on this machine.
     * *out_text (owned) describes the Python ("Python 3.9.18"), or says why code cannot be run.
     * Errors: those of the journal, INTERRUPTED of sandbox. */
    bool (*open)(void *ctx, bool *out_available, char **out_text, GError **error);
    /* Returns the path of the tree as tracebacks show it; borrowed. */
    const char *(*dir)(void *ctx);
    /* Runs a trial; *out is borrowed from the executor. Errors: UNAVAILABLE of sandbox (the sandbox
     * itself failed; the failure is recorded), INTERRUPTED of sandbox, those of the journal. */
    bool (*run)(void *ctx, const AcrTrial *trial, const AcrExecuted **out, GError **error);
    /* Returns a random string that code under test cannot predict; recorded, and the same for the
     * whole run; borrowed. Errors: those of the journal. */
    const char *(*draw)(void *ctx, GError **error);
    /* Returns whether executions have no network and cannot write outside of their copy; false
     * before `open`. */
    bool (*is_isolated)(void *ctx);
} AcrExecutor;

/* Runs the project's own tests, once for each patch; the results are recorded in the journal. */
typedef struct {
    void *ctx;
    /* Ranks the methods that the failing tests execute, beginning with the most suspicious method.
     * The failing tests are the tests that the user names; otherwise `script` (ACR_FILE_SCRIPT; may
     * be NULL); otherwise all tests that fail without a patch. *out is {"failing", "passing",
     * "methods"} as in `localize --json`; borrowed. Errors: as for `compare`. */
    bool (*localize)(void *ctx, const AcrIndex *index, const char *script, const AcrJson **out,
                     GError **error);
    /* Runs the tests with `patch` and compares the results with those without a patch. If `patch`
     * is NULL, runs the tests without a patch, and `compared` counts the passing tests. Unless
     * `is_whole` is set, the run may stop soon after a confirmed regression. `only` has the ids
     * (char *) of the tests to run; NULL: all. *out and errors are as for `run` of AcrExecutor;
     * UNAVAILABLE also if no tests are known. */
    bool (*compare)(void *ctx, const AcrOverlay *patch, bool is_whole, const GPtrArray *only,
                    const AcrTestComparison **out, GError **error);
} AcrTestComparer;

/* Features that newer versions added; they are off if an older version began the run. */
typedef struct {
    bool probe;           /* the search agent may run snippets */
    bool reviewer_probes; /* the reviewer may run snippets */
    bool trace_tests;     /* a traced run that has no reproducer traces a failing test */
    bool draft;           /* a script made from the issue's examples is tried as the reproducer */
    /* after two failed tries, the model writes a passing script, whose assertion is inverted */
    bool flip;
    /* a script that fails with the patch rejects it, unless the reviewer finds the script wrong */
    bool refute;
    bool dispute; /* a test in which candidates differ runs with all candidates */
} AcrMay;

/* The input of a run. All members are borrowed for the call. */
typedef struct {
    const char *issue; /* the issue's text, already cleaned */
    AcrSnapshot *snapshot;
    AcrIndex *index;
    AcrSearch *search;
    const AcrCalls *calls;     /* the registry of calls; NULL: the built-in calls */
    AcrExtensions *extensions; /* NULL: no extensions */
    AcrPython *python;
    const AcrReferee *referee; /* checks that patched code compiles; NULL: code is not compiled */
    const AcrPrompts *prompts;
    /* a message for the patch writer about the repository; NULL if there is none */
    const char *notes;
    bool native_tools;       /* offer the calls as tools to models that accept tools */
    AcrModel *const *models; /* attempt k uses models[k % n_models]; none only if `script` is set */
    gsize n_models;
    guint max_rounds, max_tries, max_attempts;
    /* number of patches to write before the selection; with 0 or 1, the first good patch ends the
     * run */
    guint max_samples;
    AcrVerify verify;
    const AcrExecutor *executor;
    /* a shell command that runs in the patched copy; a non-zero exit code rejects the patch; or
     * NULL */
    const char *validate;
    /* Whether a patch must not break the project's tests. AUTO: only if the tests can be run.
     * ALWAYS: the run fails at its start if the tests cannot be run. */
    AcrVerify regressions;
    /* Whether the search agent sees the ranking of the code that failing tests execute. AUTO: if
     * there is a ranking. ALWAYS: the run fails if there is no ranking. */
    AcrVerify sbfl;
    AcrMay may;
    bool is_traced; /* models see which functions of the project the reproducer calls */
    const AcrTestComparer *tests; /* NULL if both `regressions` and `sbfl` are NEVER */
    bool has_examples; /* the issue's examples run with each candidate, to compare candidates */
    /* patches given with --candidate, which compete with the patches of the attempts */
    AcrOverlay *const *given;
    gsize n_given;
    /* the user's script, which proves the given patches without a model; or NULL */
    const char *script;
    const AcrArtifacts *artifacts;
    const AcrProgress *progress;
    const AcrInterrupt *interrupt;
} AcrRun;

/* ---- Verdicts -------------------------------------------------------------------------------- */

/* The result of executing a reproducer. */
typedef enum {
    ACR_TEST_PASSED, /* exit code 0: the script does not reproduce the issue */
    /* the exit code is not 0, because nothing caught an AssertionError */
    ACR_TEST_REPRODUCED,
    /* the script ended in another way: by another error, a limit, or a signal */
    ACR_TEST_BROKEN,
} AcrTestResult;

typedef struct {
    const AcrExecuted *executed; /* the execution that was judged; borrowed */
    AcrTestResult result;
    char *why; /* owned; the reason for the verdict */
    /* the script's line in the last frame before the AssertionError; 0 if no frame is in the
     * script */
    guint line;
    /* owned array of char *: reasons to check the script before trusting it, such as "the script
     * writes 'a.py'" */
    GPtrArray *doubts;
} AcrTestVerdict;
void acr_test_verdict_clear(AcrTestVerdict *verdict);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTestVerdict, acr_test_verdict_clear)

/* Judges the execution of `script` (ACR_FILE_SCRIPT at `dir`). REPRODUCED requires a non-zero exit
 * code without a limit or signal, and a traceback on stderr; the last traceback through the script
 * counts. The traceback must end in AssertionError as Python prints it (dotted or not, with or
 * without a message), and its frame in the script must quote the script's line correctly. The word
 * AssertionError anywhere else is ignored. */
void acr_test_judge(const AcrExecuted *executed, const char *script, const char *dir,
                    AcrTestVerdict *out);

/* Converts the outcomes (array of AcrEditOutcome) to [{"file", "level", "start", "end", "status"}],
 * each with "why" if `with_why`; owned. */
AcrJson *acr_edits_to_json(const GPtrArray *edits, bool with_why) ACR_MUST_USE;
/* Sets the members "exit" and "signal" (null: none), "limit", "stdout" and "stderr" of `json`. */
void acr_executed_to_json(const AcrExecuted *executed, AcrJson *json);
/* Set the members "stdout_bytes" and "stderr_bytes" (totals), and "changed", of `json`. */
void acr_executed_add_totals(const AcrExecuted *executed, AcrJson *json);
void acr_executed_add_changed(const AcrExecuted *executed, AcrJson *json);
/* Reads the members that these functions write; *out is owned; missing members are empty. */
void acr_executed_from_json(const AcrJson *json, AcrExecuted *out);

/* ---- Attempts -------------------------------------------------------------------------------- */

/* How well a candidate is proved, from worst to best. Among equal candidates the first is selected;
 * among rejected candidates, the latest. */
typedef enum {
    ACR_PROOF_REFUSED, /* the validation rejected the patch, or it breaks tests */
    ACR_PROOF_DOUBTED, /* the reviewer judged the patch wrong, or the reproducer fails with it */
    ACR_PROOF_NONE,    /* no code was run, or the executions prove nothing */
    /* the reviewer approved the patch, but no test fails without it and passes with it */
    ACR_PROOF_APPROVED,
    /* approved; a test fails without the patch and passes with it; the experiments agree */
    ACR_PROOF_VERIFIED,
} AcrProof;
const char *acr_proof_name(AcrProof proof); /* "refused", … */
/* Returns whether the patch was rejected. A rejected patch is reported, but never applied. */
bool acr_proof_is_against(AcrProof proof);

#define ACR_GIVEN_ATTEMPT (G_MAXUINT - 1)

typedef struct {
    /* status of the selected candidate; without a candidate, the best status that was reached */
    AcrExtractStatus status;
    GBytes *diff;        /* owned; NULL if no attempt gave a patch */
    AcrOverlay *overlay; /* owned; NULL if `diff` is NULL */
    /* attempt (from 0) and try (from 1) of the selected candidate; for a given patch,
     * ACR_GIVEN_ATTEMPT and the patch's number */
    guint attempt, try_number;
    AcrJson *candidates; /* owned; a table of all candidates; NULL if there are none */
    /* owned; why the candidate was selected, if several were compared; otherwise NULL */
    char *choice;
    AcrProof proof; /* proof of the selected candidate */
    /* owned; one line. If there is a patch: "reproducer_2.py fails without the patch and passes
     * with it", or why nothing was proved. If there is a script: why the user should check it, or
     * NULL. If there is neither: why the model of the last attempt gave no answer, or NULL */
    char *why;
    /* `validate` or the project's tests accepted the selected candidate */
    bool is_validated;
    /* owned; results of the project's tests with the patch; NULL if the tests were not compared */
    AcrTestComparison *tests;
    /* owned object with "runs", "seconds" and "table"; NULL if no experiments were made */
    AcrJson *experiments;
    char *script; /* owned; set by acr_reproduce_run: the script that reproduces the issue */
} AcrOutcome;
void acr_outcome_clear(AcrOutcome *outcome);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrOutcome, acr_outcome_clear)

/* Runs the attempts and selects a patch. Returns true even if there is no patch (`diff` is
 * NULL). Errors: UNAVAILABLE, and errors that ended an attempt as FAILED or STOPPED (of llm, py,
 * vcs and artifacts; INTERRUPTED). If a limit stopped the run, *out has the best result so far
 * and the error is ACR_LLM_ERROR_CEILING. */
bool acr_attempts_run(const AcrRun *run, AcrOutcome *out, GError **error) ACR_MUST_USE;
/* Runs the guard and the reproducer, attempt by attempt, until the issue is reproduced. Returns
 * true even if the issue is not reproduced (`script` is then NULL, and `why` gives the reason).
 * Errors: as for acr_attempts_run. */
bool acr_reproduce_run(const AcrRun *run, AcrOutcome *out, GError **error) ACR_MUST_USE;
