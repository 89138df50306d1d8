/*
 * loops: drives the machines of machines.h with real models, searches and edits. Clock, model and
 * the place where artifacts go are passed in, so that a loop runs the same on scripted answers
 * and from a journal.
 */
#ifndef ACR_LOOPS_H
#define ACR_LOOPS_H

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
    ACR_LOOPS_ERROR_UNAVAILABLE, /* --verify=always, and code cannot be run */
    ACR_LOOPS_ERROR_VALIDATION,  /* the command of --validate cannot be run */
} AcrLoopsError;
#define ACR_LOOPS_ERROR acr_loops_error_quark()
GQuark acr_loops_error_quark(void);
/* False with CEILING of llm after the budget's deadline. `budget` may be NULL. */
bool acr_loops_in_time(const AcrBudget *budget, GError **error) ACR_MUST_USE;

#define ACR_ROUND_MAX_OUTPUT (192u * 1024) /* bytes of search results shown in one round */

/* Where files of the run folder go. `path` is relative to it ("attempt_0/extract_status.json"). */
typedef struct {
    void *ctx;
    bool (*write)(void *ctx, const char *path, const void *data, gsize len, GError **error);
} AcrArtifacts;

typedef enum { ACR_VERIFY_AUTO, ACR_VERIFY_ALWAYS, ACR_VERIFY_NEVER } AcrVerify;

/* Something that is run on a private copy of the run's snapshot. Borrowed. */
typedef struct {
    const AcrOverlay *overlay; /* the patch; NULL: none */
    const char *test;    /* a script, run as ACR_FILE_SCRIPT by the project's Python; or NULL */
    const char *command; /* else this, by a shell */
    guint repeat;        /* from 0: the same trial, run once more */
    /*
     * An experiment on `test`: instead of the script, the project's Python is run with these arguments
     * ("-" or a file, …; NULL-terminated). The journal keeps the name of the experiment and the digest of
     * `test`, so arguments, input and environment may hold words that differ each time.
     */
    const char *const *args;
    const char *experiment; /* its name; NULL: none */
    GBytes *input;          /* standard input of a script, command or experiment; NULL: none */
    const char *const *env; /* "NAME=VALUE", over those that each trial has; NULL: none */
} AcrTrial;

/* Runs trials, each once: its outcome is known from then on. The journal stands before it, so that
 * a loop runs the same from recorded executions. */
typedef struct {
    void *ctx;
    /*
     * Whether code can be run here; *out_text (owned) then says by what ("Python 3.9.18"), else why
     * not. Errors: those of the journal, INTERRUPTED of sandbox.
     */
    bool (*open)(void *ctx, bool *out_available, char **out_text, GError **error);
    /* The tree's path, as tracebacks name it; borrowed. */
    const char *(*dir)(void *ctx);
    /* *out is borrowed, and valid as long as the executor. Errors: UNAVAILABLE of sandbox (not the
     * command but the sandbox failed; that is recorded), INTERRUPTED of it, those of the journal.
     */
    bool (*run)(void *ctx, const AcrTrial *trial, const AcrExecuted **out, GError **error);
    /* A random text that nobody can know before, the same for all of a run; recorded, borrowed. Errors:
     * those of the journal. */
    const char *(*draw)(void *ctx, GError **error);
} AcrExecutor;

/* Runs the project's own tests, those with a patch once; recorded, too. */
typedef struct {
    void *ctx;
    /*
     * Which methods the failing tests run, most suspicious first: those that the user names, else
     * `script` (ACR_FILE_SCRIPT; NULL: there is none), else all that fail without a patch. *out:
     * {"failing", "passing", "methods"} as `localize --json` has them; borrowed. Errors: as of
     * `compare`.
     */
    bool (*localize)(void *ctx, const AcrIndex *index, const char *script, const AcrJson **out,
                     GError **error);
    /* Runs them with `patch` and compares; NULL: without one, so that `compared` counts those that
     * pass. *out and errors as of `run` of AcrExecutor; UNAVAILABLE also where no tests are known. */
    bool (*compare)(void *ctx, const AcrOverlay *patch, const AcrTestComparison **out,
                    GError **error);
} AcrTestComparer;

/* What a run works with. All borrowed for the call. */
typedef struct {
    const char *issue; /* cleaned */
    AcrSnapshot *snapshot;
    AcrIndex *index;
    AcrSearch *search;
    const AcrCalls *calls;     /* the registry; NULL: the built-in ones */
    AcrExtensions *extensions; /* NULL: none */
    AcrPython *python;
    const AcrReferee *referee; /* may be NULL: nothing is compiled then */
    const AcrPrompts *prompts;
    bool native_tools;       /* models are given the calls as tools, if they take them */
    AcrModel *const *models; /* attempt k uses models[k % n_models] */
    gsize n_models;
    guint max_rounds, max_tries, max_attempts;
    AcrVerify verify;
    const AcrExecutor *executor;
    const char *validate; /* a shell command run on the patched copy; non-zero rejects; or NULL */
    /* Whether a patch may not break the project's own tests. AUTO: where they can be run; ALWAYS: the
     * run fails at its start where they cannot. */
    AcrVerify regressions;
    /* Whether the search agent learns where failing tests point. AUTO: where that can be known;
     * ALWAYS: the run ends where it cannot. */
    AcrVerify sbfl;
    const AcrTestComparer *tests; /* NULL where both are NEVER */
    AcrOverlay *const *given; /* patches from elsewhere, to be weighed with those of the attempts */
    gsize n_given;
    const AcrArtifacts *artifacts;
    const AcrProgress *progress;
    const AcrInterrupt *interrupt;
} AcrRun;

/* ---- Verdicts -------------------------------------------------------------------------------- */

/* What an execution of a reproducer shows. */
typedef enum {
    ACR_TEST_PASSED,     /* exit 0: the issue is not there */
    ACR_TEST_REPRODUCED, /* non-zero, and an AssertionError that nothing caught ended it */
    ACR_TEST_BROKEN,     /* anything else: another error, a limit, a signal */
} AcrTestResult;

typedef struct {
    const AcrExecuted *executed; /* what was judged; borrowed */
    AcrTestResult result;
    char *why;         /* owned; one sentence for a reader who can act on it */
    guint line;        /* of the script, where the AssertionError passed last; 0: none */
    GPtrArray *doubts; /* owned; of char *: why a person should look at it before trusting it: wrote
                          project files, left by os._exit, … */
} AcrTestVerdict;
void acr_test_verdict_clear(AcrTestVerdict *verdict);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrTestVerdict, acr_test_verdict_clear)

/*
 * Judges the execution of `script` (ACR_FILE_SCRIPT at `dir`). REPRODUCED needs a non-zero exit
 * without a limit or signal, and on stderr a traceback, the last one that passes through the
 * script, that ends in the exception itself ("AssertionError" as Python prints it, dotted or not,
 * with or without a message) and has a frame in the script whose quoted line is that line of the
 * script. The word printed anywhere else is ignored.
 */
void acr_test_judge(const AcrExecuted *executed, const char *script, const char *dir,
                    AcrTestVerdict *out);

/* [{"file", "level", "start", "end", "status"}] of AcrEditOutcome, and "why"; owned. */
AcrJson *acr_edits_to_json(const GPtrArray *edits, bool with_why) ACR_MUST_USE;
/* Sets how a command ended, and both streams: members "exit" and "signal" (null for none), "limit",
 * "stdout", "stderr". */
void acr_executed_to_json(const AcrExecuted *executed, AcrJson *json);
/* Also "stdout_bytes" and "stderr_bytes"; "changed". */
void acr_executed_add_totals(const AcrExecuted *executed, AcrJson *json);
void acr_executed_add_changed(const AcrExecuted *executed, AcrJson *json);
/* Reads all of these back; *out is owned, what is missing is empty. */
void acr_executed_from_json(const AcrJson *json, AcrExecuted *out);

/* ---- Attempts -------------------------------------------------------------------------------- */

/* How well a candidate is proved, worst to best; of equals the first is selected, of rejected ones
 * the latest. */
typedef enum {
    ACR_PROOF_REFUSED,  /* validation rejected it, or it breaks tests */
    ACR_PROOF_DOUBTED,  /* the reviewer found it wrong */
    ACR_PROOF_NONE,     /* nothing was run, or nothing can be said */
    ACR_PROOF_APPROVED, /* by the reviewer, without a test that was red before and is green after */
    ACR_PROOF_VERIFIED, /* approved, red before and green after, and the experiments agree */
} AcrProof;
const char *acr_proof_name(AcrProof proof); /* "refused", … */
/* Whether review or validation found the patch wrong: it is reported, and never applied. */
bool acr_proof_is_against(AcrProof proof);

#define ACR_GIVEN_ATTEMPT (G_MAXUINT - 1)

typedef struct {
    AcrExtractStatus status;   /* of the selected candidate, or the best reached */
    GBytes *diff;              /* owned; NULL when no attempt gave a patch */
    AcrOverlay *overlay;       /* owned; NULL likewise */
    guint attempt, try_number; /* of the selected candidate; attempt from 0, try from 1; of a given
                                  one ACR_GIVEN_ATTEMPT, and which one */
    AcrJson *candidates;       /* owned; all of them, in a table; NULL: none was looked for */
    char *choice;              /* owned; why that one, where patches were given; else NULL */
    AcrProof proof;            /* of the selected candidate */
    char *why;                 /* owned; in a line: "reproducer_2.py fails without the patch and
                                  passes with it", or why nothing was proved; of a script: why it
                                  should be checked, or NULL; without either: why the last attempt
                                  that gave no answer ended, or NULL */
    bool is_validated;         /* likewise: `validate`, or the project's tests, accepted it */
    AcrTestComparison *tests;  /* owned; what the project's tests come to with it; NULL: they were
                                  not to be compared */
    AcrJson *experiments;      /* owned; "runs", "seconds", "table"; NULL: none were made */
    char *script;              /* owned; of acr_reproduce_run: the one that reproduces the issue */
} AcrOutcome;
void acr_outcome_clear(AcrOutcome *outcome);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrOutcome, acr_outcome_clear)

/*
 * Runs the attempts and selects. True also without a patch (diff NULL). Errors: whatever
 * made an attempt FAILED or STOPPED (llm, py, vcs, INTERRUPTED, artifacts'), and UNAVAILABLE. On a
 * ceiling *out holds the best so far and the error is ACR_LLM_ERROR_CEILING.
 */
bool acr_attempts_run(const AcrRun *run, AcrOutcome *out, GError **error) ACR_MUST_USE;
/* Guard and reproducer of one attempt after the other, until the issue is reproduced. True also
 * where it is not (`script` NULL, `why` says why). Errors: as above. */
bool acr_reproduce_run(const AcrRun *run, AcrOutcome *out, GError **error) ACR_MUST_USE;

#endif
