/* loops: runs the state machines of machines.h with real models, searches and edits. The caller
 * passes clock, model and the destination of files, so that the same loop runs with scripted
 * answers and with a journal. */
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

#define ACR_ROUND_MAX_OUTPUT (192u * 1024) /* limit of the search results shown in one round */

/* Writes files of the run folder. `path` is relative to it ("attempt_0/extract_status.json"). */
typedef struct {
    void *ctx;
    bool (*write)(void *ctx, const char *path, const void *data, gsize len, GError **error);
} AcrArtifacts;

typedef enum { ACR_VERIFY_AUTO, ACR_VERIFY_ALWAYS, ACR_VERIFY_NEVER } AcrVerify;

/* What to run on a private copy of the run's snapshot. All borrowed. */
typedef struct {
    const AcrOverlay *overlay; /* the patch to apply first; NULL: none */
    const char *test;    /* a script, run as ACR_FILE_SCRIPT by the project's Python; or NULL */
    const char *command; /* a shell command, if `test` is NULL */
    guint repeat;        /* distinguishes repetitions of the same trial; from 0 */
    /* An experiment on `test`: instead of the script, the project's Python gets these arguments
     * ("-" or a file, …; NULL-terminated). The journal records only the experiment's name and the
     * digest of `test`, so that arguments, input and environment may contain random words. */
    const char *const *args;
    const char *experiment; /* name of the experiment; NULL: none */
    GBytes *input;          /* standard input; NULL: none */
    const char *const *env; /* "NAME=VALUE", in addition to the usual variables; NULL: none */
} AcrTrial;

/* The experiment in which the call tracer, sent as input, runs the script that `args` name. */
#define ACR_EXPERIMENT_CALLS "calls"
/* The experiment in which a model's snippet runs; limited to a few seconds. */
#define ACR_EXPERIMENT_PROBE "probe"

/* Runs each trial once; later calls return the recorded outcome. Takes outcomes from the journal
 * first, so that a loop can run from recorded executions. */
typedef struct {
    void *ctx;
    /* Whether code can be run here; *out_text (owned): the Python ("Python 3.9.18"), or why not.
     * Errors: those of the journal, INTERRUPTED of sandbox. */
    bool (*open)(void *ctx, bool *out_available, char **out_text, GError **error);
    /* The path of the tree that tracebacks show; borrowed. */
    const char *(*dir)(void *ctx);
    /* *out is borrowed from the executor. Errors: UNAVAILABLE of sandbox (the sandbox failed,
     * not the command; recorded), INTERRUPTED of sandbox, those of the journal. */
    bool (*run)(void *ctx, const AcrTrial *trial, const AcrExecuted **out, GError **error);
    /* A random text that nobody can predict, the same for the whole run; recorded; borrowed.
     * Errors: those of the journal. */
    const char *(*draw)(void *ctx, GError **error);
    /* Whether executions have no network and cannot write outside; false before `open`. */
    bool (*is_isolated)(void *ctx);
} AcrExecutor;

/* Runs the project's own tests, once for each patch; recorded in the journal. */
typedef struct {
    void *ctx;
    /* Ranks the methods that the failing tests run, the most suspicious first. The failing tests
     * are those that the user names; or `script` (ACR_FILE_SCRIPT; may be NULL); or all tests that
     * fail without a patch. *out: {"failing", "passing", "methods"} as in `localize --json`;
     * borrowed. Errors: as for `compare`. */
    bool (*localize)(void *ctx, const AcrIndex *index, const char *script, const AcrJson **out,
                     GError **error);
    /* Runs the tests with `patch` and compares the results; `patch` NULL: without a patch;
     * `compared` then counts the passing tests. Unless `is_whole` is set, it may stop soon after
     * a confirmed regression. `only`: ids (char *) of the tests to run; NULL: all. *out and errors as for `run` of AcrExecutor; UNAVAILABLE also if
     * no tests are known. */
    bool (*compare)(void *ctx, const AcrOverlay *patch, bool is_whole, const GPtrArray *only,
                    const AcrTestComparison **out, GError **error);
} AcrTestComparer;

/* Features of newer versions; off in runs that an older version began. */
typedef struct {
    bool probe;           /* the search agent may run snippets */
    bool reviewer_probes; /* the reviewer may run snippets */
    bool trace_tests;     /* if a traced run has no reproducer, it traces a failing test */
    bool draft;           /* a script of the issue's examples is tried as the reproducer */
    /* after two failed tries, the model writes a passing script, whose assertion is inverted */
    bool flip;
    /* a script that fails with the patch rejects it, unless the script is found wrong */
    bool refute;
    bool dispute; /* tests in which candidates differ run with all of them */
} AcrMay;

/* The input of a run. All borrowed for the call. */
typedef struct {
    const char *issue; /* already cleaned */
    AcrSnapshot *snapshot;
    AcrIndex *index;
    AcrSearch *search;
    const AcrCalls *calls;     /* the registry of calls; NULL: the built-in calls */
    AcrExtensions *extensions; /* NULL: none */
    AcrPython *python;
    const AcrReferee *referee; /* NULL: nothing is compiled */
    const AcrPrompts *prompts;
    const char *notes;       /* a message about the repository for the patch writer; NULL: none */
    bool native_tools;       /* offer the calls as tools to models that accept tools */
    AcrModel *const *models; /* attempt k uses models[k % n_models] */
    gsize n_models;
    guint max_rounds, max_tries, max_attempts;
    /* number of patches to write before the selection; 0 or 1: the first good one ends the run */
    guint max_samples;
    AcrVerify verify;
    const AcrExecutor *executor;
    /* a shell command that runs in the patched copy, and rejects the patch by a non-zero exit;
     * or NULL */
    const char *validate;
    /* Whether a patch must not break the project's tests. AUTO: if they can be run; ALWAYS: the run
     * fails at its start if they cannot. */
    AcrVerify regressions;
    /* Whether the search agent sees the ranking of code that failing tests run. AUTO: if there
     * is one; ALWAYS: the run fails if there is none. */
    AcrVerify sbfl;
    AcrMay may;
    bool is_traced; /* models see which functions of the project the reproducer calls */
    const AcrTestComparer *tests; /* NULL if both of these are NEVER */
    bool has_examples;            /* the selection among candidates runs the issue's examples */
    /* patches given with --candidate, which compete with those of the attempts */
    AcrOverlay *const *given;
    gsize n_given;
    const AcrArtifacts *artifacts;
    const AcrProgress *progress;
    const AcrInterrupt *interrupt;
} AcrRun;

/* ---- Verdicts -------------------------------------------------------------------------------- */

/* The result of executing a reproducer. */
typedef enum {
    ACR_TEST_PASSED,     /* exit code 0: the script does not show the issue */
    ACR_TEST_REPRODUCED, /* exit code not 0, because of an AssertionError that nothing caught */
    ACR_TEST_BROKEN,     /* anything else: another error, a limit, a signal */
} AcrTestResult;

typedef struct {
    const AcrExecuted *executed; /* the execution that was judged; borrowed */
    AcrTestResult result;
    char *why;  /* line of the script in the traceback's last frame of it; 0: none */
    guint line; /* line of the script in the last frame before the AssertionError; 0: none */
    /* owned char *: reasons to check the script before trusting it: it wrote project files, exited
     * by os._exit, … */
    GPtrArray *doubts;
} AcrTestVerdict;
void acr_test_verdict_clear(AcrTestVerdict *verdict);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTestVerdict, acr_test_verdict_clear)

/* Judges the execution of `script` (ACR_FILE_SCRIPT at `dir`). REPRODUCED requires a non-zero exit
 * without limit or signal, and on stderr a traceback: the last one that passes through the script.
 * It must end in AssertionError as Python prints it (dotted or not, with or without message), and
 * its frame in the script must quote that line correctly. The word anywhere else is ignored. */
void acr_test_judge(const AcrExecuted *executed, const char *script, const char *dir,
                    AcrTestVerdict *out);

/* [{"file", "level", "start", "end", "status"}] of AcrEditOutcome, with "why" if `with_why`;
 * owned. */
AcrJson *acr_edits_to_json(const GPtrArray *edits, bool with_why) ACR_MUST_USE;
/* Sets the members "exit" and "signal" (null: none), "limit", "stdout", "stderr". */
void acr_executed_to_json(const AcrExecuted *executed, AcrJson *json);
/* Adds the members "stdout_bytes", "stderr_bytes" and "changed". */
void acr_executed_add_totals(const AcrExecuted *executed, AcrJson *json);
void acr_executed_add_changed(const AcrExecuted *executed, AcrJson *json);
/* Reads all members of the previous two functions; *out is owned; missing members are empty. */
void acr_executed_from_json(const AcrJson *json, AcrExecuted *out);

/* ---- Attempts -------------------------------------------------------------------------------- */

/* How well a candidate is proved, from worst to best. Of equal candidates the first is selected,
 * of rejected ones the latest. */
typedef enum {
    ACR_PROOF_REFUSED, /* the validation rejected the patch, or it breaks tests */
    ACR_PROOF_DOUBTED, /* the reviewer judged the patch wrong, or the reproducer fails with it */
    ACR_PROOF_NONE,    /* no code was run, or the executions decide nothing */
    /* the reviewer approved the patch, but no test fails without it and passes with it */
    ACR_PROOF_APPROVED,
    /* approved; a test fails without the patch and passes with it; the experiments agree */
    ACR_PROOF_VERIFIED,
} AcrProof;
const char *acr_proof_name(AcrProof proof); /* "refused", … */
/* Whether something rejected the patch: it is reported, but never applied. */
bool acr_proof_is_against(AcrProof proof);

#define ACR_GIVEN_ATTEMPT (G_MAXUINT - 1)

typedef struct {
    AcrExtractStatus status; /* status of the selected candidate, or the best status reached */
    GBytes *diff;            /* owned; NULL if no attempt gave a patch */
    AcrOverlay *overlay;     /* owned; NULL if `diff` is NULL */
    /* of the selected candidate; attempt from 0, try from 1; for a given patch ACR_GIVEN_ATTEMPT
     * and the patch's number */
    guint attempt, try_number;
    AcrJson *candidates; /* owned; a table of all candidates; NULL: none */
    char *choice;        /* owned; why it was selected, if several were compared; else NULL */
    AcrProof proof;      /* proof of the selected candidate */
    /* owned; one line. For a patch: "reproducer_2.py fails without the patch and passes with
     * it", or why nothing was proved. For a script: why it should be checked, or NULL. Without
     * both: why the last attempt that gave no answer ended, or NULL */
    char *why;
    /* `validate` or the project's tests accepted the selected candidate */
    bool is_validated;
    AcrTestComparison *tests; /* owned; the project's tests with the patch; NULL: not compared */
    AcrJson *experiments;     /* owned; "runs", "seconds", "table"; NULL: none were made */
    char *script; /* owned; from acr_reproduce_run: the script that reproduces the issue */
} AcrOutcome;
void acr_outcome_clear(AcrOutcome *outcome);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrOutcome, acr_outcome_clear)

/* Runs the attempts and selects a patch. Also returns true if there is no patch (diff NULL).
 * Errors: UNAVAILABLE, and errors that ended an attempt as FAILED or STOPPED (of llm, py, vcs and
 * artifacts; INTERRUPTED). If a limit stopped the run, *out has the best result so far and the
 * error is ACR_LLM_ERROR_CEILING. */
bool acr_attempts_run(const AcrRun *run, AcrOutcome *out, GError **error) ACR_MUST_USE;
/* Runs guard and reproducer, attempt by attempt, until the issue is reproduced. Also returns
 * true if it is not (`script` NULL, `why` says why). Errors: as for acr_attempts_run. */
bool acr_reproduce_run(const AcrRun *run, AcrOutcome *out, GError **error) ACR_MUST_USE;
