/* Private to loops: the data that the steps of one attempt share: conversation and latest result of
 * the patch writer and of the writer of the reproducer, and the candidates, which are the possible
 * results. */
#pragma once

#include "loops/dead_end.h"
#include "loops/retrieval.h"

/* ---- Candidates (candidates.c) --------------------------------------------------------------- */

/* A patch, and the results of all checks on it. */
typedef struct {
    AcrExtractStatus status;
    AcrOverlay *overlay; /* owned; NULL if the patch is not applicable */
    GBytes *diff;        /* owned; NULL if the patch is not applicable */
    guint attempt, number;
    AcrProof proof;
    char *why;                /* owned; why the proof has this value, in one line */
    bool is_judged;           /* review or validation has judged it, or none is possible */
    bool is_validated;        /* the validation has run on it; also set if there is none */
    bool is_free;             /* no test that ran with it breaks */
    bool is_of_tests;         /* it changes only tests; set before candidates are compared */
    AcrTestComparison *tests; /* owned; as in AcrOutcome, or NULL */
    AcrJson *experiments;     /* owned; as in AcrOutcome, or NULL */
    /* For the comparison of candidates (selection.c): */
    char *change;     /* owned; a normal form of the change, to compare changes */
    AcrJson *scripts; /* owned; [{"script", "result"}] of all reproducers */
    guint passes;     /* number of these scripts that passed */
    char *examples;   /* owned; results of the issue's examples with the patch; NULL: not run */
    bool changes_examples; /* the examples print something else with the patch than without */
    guint agrees;          /* number of candidates that behave like this one, including itself */
    guint count;           /* number of candidates that make the same change */
    AcrJson *votes; /* owned; the model's reason for each vote for this candidate; NULL: none */
    char *doubt;    /* owned; why the results of validation and tests prove nothing, or NULL */
} AcrCandidate;

/* The patches of a run, in the order of writing. */
GPtrArray *acr_candidates_new(void) ACR_MUST_USE; /* owned; of AcrCandidate */
/* Adds a candidate (taken); borrowed from the list. */
AcrCandidate *acr_candidates_add(GPtrArray *candidates, AcrCandidate candidate);
/* Sets the proof of a candidate. `why` is taken. */
void acr_candidate_prove(AcrCandidate *candidate, AcrProof proof, char *why);
#define ACR_ANY_ATTEMPT G_MAXUINT
/* The best candidate of an attempt, in the order of acr_candidate_worth; borrowed; NULL: none.
 * If a later attempt judged the same diff again, returns the later candidate. */
AcrCandidate *acr_candidates_best(const GPtrArray *candidates, guint attempt);

/* Whether both make the same change: equal diffs, ignoring whitespace and comments. */
bool acr_candidates_are_same(const AcrCandidate *a, const AcrCandidate *b);
/* The number of candidates with the same change, including itself; 0 if it is not applicable. */
guint acr_candidates_count_same(const GPtrArray *candidates, const AcrCandidate *candidate);
/* Whether neither candidate is better than the other, apart from votes. */
bool acr_candidates_are_equal(const AcrCandidate *a, const AcrCandidate *b);
/* Whether all tests ran with it, and it breaks none. A check that the timeout cut short does not
 * count, because the tests that did not run may fail. */
bool acr_candidate_is_free(const AcrCandidate *candidate);
/* How many tests fail with it as the issue expects, and how many failed and could not run again. */
guint acr_candidate_expected(const AcrCandidate *candidate);
guint acr_candidate_suspects(const AcrCandidate *candidate);
/* How well the candidate is proved, as a number. */
guint acr_candidate_worth(const AcrCandidate *candidate);

/* ---- The work (attempt_work.c) --------------------------------------------------------------- */

typedef struct {
    AcrConversation *conversation; /* NULL before the first try */
    char *feedback;                /* feedback for the next try; NULL before the first */
    gsize shown_bytes;    /* limit of the code that is shown, and of the issue and the feedback */
    AcrJson *statuses;    /* extract_status.json */
    guint number;         /* number of the latest try, from 1 */
    guint sample;         /* number, from 1, of this patch among those from one retrieval */
    AcrCandidate *latest; /* the candidate from the latest try; borrowed, or NULL */
    char *reason;         /* why the latest try gave no answer, or NULL */
    bool repeats;         /* the latest answer repeats earlier ones, or is empty again */
} AcrPatchWriter;

typedef struct {
    AcrConversation *conversation;
    char *feedback;        /* feedback for the next try, or NULL */
    guint until_flip;      /* a passing script is requested after so many failed tries; 0: never */
    bool is_flip;          /* the next answer is a passing script, to be inverted */
    guint tries;           /* number of tries that have begun; each has its conv_test_N.json */
    char *script;          /* the latest script; NULL: none */
    guint number;          /* number of the try that wrote it */
    AcrTestVerdict before; /* result of the script without a patch */
} AcrReproducer;

/* State of the search call `probe`, by which a model may run snippets. */
typedef struct {
    AcrCallSpec spec;
    AcrCalls *calls; /* owned; the run's calls and `probe`; NULL: no snippet can be run */
    guint used;      /* number of snippets that were run */
} AcrProbe;

typedef struct {
    const AcrRun *run;
    guint attempt;   /* number of the attempt, from 0 */
    AcrModel *model; /* borrowed */
    AcrRetrieved retrieved;
    AcrPatchWriter writer;
    AcrReproducer reproducer;
    AcrProbe probe;
    guint reviews;         /* number of review rounds that have begun */
    GPtrArray *candidates; /* borrowed; the candidates of all attempts */
    GHashTable *said;      /* borrowed; made by acr_said_new, for all attempts */
    char *unproved;        /* why running code cannot prove anything, or NULL */
    char *failing;         /* owned; the first failing test that localization found, or NULL */
    char *calls;           /* the reproducer's calls in the project, as text for models, or NULL */
    AcrDeadEnd dead_end;   /* whether to give up the model */
} AcrAttemptWork;
void acr_attempt_work_begin(AcrAttemptWork *work, const AcrRun *run, guint attempt,
                            GPtrArray *candidates);
/* Prepares for another patch from the same retrieval, with the same reproducer. */
void acr_attempt_work_again(AcrAttemptWork *work);
void acr_attempt_work_clear(AcrAttemptWork *work);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrAttemptWork, acr_attempt_work_clear)

/* The result of a step. */
typedef enum {
    ACR_STEP_DONE,
    ACR_STEP_NOT_DONE, /* all tries were used */
    /* the step is impossible (a used-up script, a lost sandbox); the reason was reported */
    ACR_STEP_UNAVAILABLE,
    ACR_STEP_FAILED, /* an error was set */
} AcrStep;
/* Records why running code cannot prove anything, for the user and the result. */
void acr_step_unproved(AcrAttemptWork *work, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Whether a model gave no answer because its script is used up or the conversation is too long:
 * then only the step is skipped. Other errors end the run. */
bool acr_step_is_no_answer(const GError *error);
/* Handles a failed call of a model. Returns UNAVAILABLE if acr_step_is_no_answer, and sets
 * work->unproved to "WHAT: why"; else FAILED. `reason` is taken. */
AcrStep acr_step_no_answer(AcrAttemptWork *work, const char *what, GError *reason,
                           GError **error) ACR_MUST_USE;
/* Replaces the feedback for the patch writer's next try. `text` is taken. */
void acr_step_tell_writer(AcrAttemptWork *work, char *text);
/* Sets the proof of a patch to REFUSED with the reason `why` (taken), and `message` as the patch
 * writer's feedback. Returns NOT_DONE. */
AcrStep acr_step_refuse(AcrAttemptWork *work, AcrCandidate *candidate, char *why,
                        const char *message) ACR_MUST_USE;
/* Runs a trial. UNAVAILABLE: the sandbox failed, and work->unproved becomes "WHAT: why". */
AcrStep acr_step_run(AcrAttemptWork *work, const AcrTrial *trial, const char *what,
                     const AcrExecuted **out, GError **error) ACR_MUST_USE;
/* Runs a trial that is not part of a proof: like acr_step_run, but never sets work->unproved. */
AcrStep acr_step_run_aside(AcrAttemptWork *work, const AcrTrial *trial, const AcrExecuted **out,
                           GError **error) ACR_MUST_USE;
/* Runs the extensions' checks and --validate on a patch. DONE: it passed, or there are no checks.
 * NOT_DONE: it was rejected; its proof is now REFUSED, and the patch writer gets the reason. */
AcrStep acr_step_validate(AcrAttemptWork *work, AcrCandidate *candidate,
                          GError **error) ACR_MUST_USE;

/* ---- The project's own tests (regressions.c) ------------------------------------------------- */

/* The reviewer's answers about broken tests, by test id; owned. */
GHashTable *acr_said_new(void) ACR_MUST_USE;
/* Runs the project's tests with a patch. DONE: no test fails except those that the issue asks to
 * change, or the run does not compare tests. NOT_DONE: it breaks tests; its proof is now
 * REFUSED, and the patch writer gets a list of them. */
AcrStep acr_step_regress(AcrAttemptWork *work, AcrCandidate *candidate,
                         GError **error) ACR_MUST_USE;
/* The same for the tests `only` (ids) of a candidate whose tests ran before; adds to what is known.
 * UNAVAILABLE: they cannot be run, and what was known stays. */
AcrStep acr_step_regress_only(AcrAttemptWork *work, AcrCandidate *candidate, const GPtrArray *only,
                              GError **error) ACR_MUST_USE;
/* Finds out whether the project's tests can run. Fails if they are required and cannot. */
AcrStep acr_step_know_tests(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- Localization (spectrum_clue.c) ---------------------------------------------------------- */

/* Ranks the code that failing tests, or the reproducer, run, as a clue for the search agent:
 * *out_clue, owned; NULL: none. Writes sbfl.json to the run folder. */
AcrStep acr_step_suspect(AcrAttemptWork *work, bool has_reproducer, char **out_clue,
                         GError **error) ACR_MUST_USE;

/* ---- Calls of the reproducer (call_trace.c) -------------------------------------------------- */

/* If is_traced, runs the reproducer, or without one the first failing test, under the tracer,
 * and sets work->calls. A failed sandbox is no error. */
AcrStep acr_step_trace(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Compares the reproducer's calls without and with the latest patch, for the reviewer; *out: owned,
 * "" if unknown. */
AcrStep acr_step_compare_traces(AcrAttemptWork *work, char **out, GError **error) ACR_MUST_USE;

/* ---- Snippets of the model (probe.c) --------------------------------------------------------- */

/* If the run allows it, lets the model run snippets. Call it only if code can be run. */
void acr_probe_offer(AcrAttemptWork *work);
/* The search calls of the attempt: those of the run, and `probe` if it was offered; borrowed. */
static inline const AcrCalls *acr_attempt_calls(const AcrAttemptWork *work)
{
    return work->probe.calls ? work->probe.calls : work->run->calls;
}
/* How many snippets may still be run. */
guint acr_probe_left(const AcrAttemptWork *work);
/* Runs a snippet with a patch (NULL: without). *out_text (owned): its output as text for the
 * model; if *out_ran is false, why it did not run. */
bool acr_probe_run(AcrAttemptWork *work, const char *code, const AcrOverlay *patch, char **out_text,
                   bool *out_ran, GError **error) ACR_MUST_USE;

/* ---- Observers (observers.c) ----------------------------------------------------------------- */

/* Tells the extensions about a search call before it is made. *out_veto (owned): why an extension
 * forbids the call, or NULL. Errors of all acr_observe functions: those of acr_extensions_tell. */
bool acr_observe_call(const AcrRun *run, const char *call, char **out_veto,
                      GError **error) ACR_MUST_USE;
/* Tells the extensions about the call's answer, to which they may add a note. */
bool acr_observe_result(const AcrRun *run, const char *call, AcrAnswer *answer,
                        GError **error) ACR_MUST_USE;
/* Tells the extensions about the result of a try of the patch writer. */
bool acr_observe_patch(const AcrAttemptWork *work, const AcrPatchResult *patch,
                       GError **error) ACR_MUST_USE;

/* ---- Selection (selection.c) ----------------------------------------------------------------- */

/* The scripts of all attempts that showed the issue; owned. */
GPtrArray *acr_scripts_new(void) ACR_MUST_USE;
/* Adds the script of an attempt, if it is new. */
void acr_scripts_keep(GPtrArray *scripts, const AcrAttemptWork *work);
/* Adds the patches given with --candidate. */
bool acr_selection_add_given(GPtrArray *candidates, const AcrRun *run, GError **error) ACR_MUST_USE;
/* Runs all scripts with all candidates, and counts candidates that behave in the same way.
 * UNAVAILABLE: the sandbox failed. */
AcrStep acr_selection_compare(AcrAttemptWork *work, const GPtrArray *scripts,
                              GError **error) ACR_MUST_USE;
/* Whether two candidates, each with its own retrieval and reproducer, are verified, break no
 * tests (if the run compares tests) and behave in the same way. */
bool acr_selection_is_settled(const AcrRun *run, const GPtrArray *candidates);
/* Copies the results of an equal diff in `attempt` (or ACR_ANY_ATTEMPT); false if there is none. */
bool acr_selection_take_known(const GPtrArray *candidates, AcrCandidate *candidate, guint attempt);
/* Checks the patches given with --candidate, compares all candidates, and lets the model choose
 * among equal ones. UNAVAILABLE: the sandbox failed. */
AcrStep acr_selection_weigh(AcrAttemptWork *work, const GPtrArray *scripts,
                            GError **error) ACR_MUST_USE;
/* Lets the model choose if several changes are equally good (vote.c). */
AcrStep acr_selection_vote(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* The member `candidates` of an AcrOutcome; owned. */
AcrJson *acr_selection_table(const GPtrArray *candidates, const AcrCandidate *best) ACR_MUST_USE;
/* Why the best candidate was selected, in one line; owned. */
char *acr_selection_reason(const GPtrArray *candidates, const AcrCandidate *best) ACR_MUST_USE;

/* ---- The retrieval (retrieval.c) ------------------------------------------------------------- */

/* Runs the retrieval of an attempt and sets work->retrieved. The model sees `clue` (taken, may
 * be NULL) with the issue. Errors: those that ended it as FAILED or STOPPED (llm, py, vcs,
 * INTERRUPTED, artifacts'). */
bool acr_retrieval_run(AcrAttemptWork *work, char *clue, GError **error) ACR_MUST_USE;

/* ---- The patch writer (patch_writer.c) ------------------------------------------------------- */

/* Makes one try of the patch writer: asks the model, applies and saves the patch; sets
 * writer.latest, and writer.feedback for the next try. DONE: the patch is applicable. UNAVAILABLE:
 * the model gave no answer (used up, or too long); writer.reason says why. */
AcrStep acr_patch_writer_try(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- The reproducer (reproducer.c) ----------------------------------------------------------- */

/* Finds out whether code can be run (unless --verify is never) and whether the issue can be
 * reproduced. DONE: both are true. */
AcrStep acr_reproducer_guard(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Writes a reproducer and runs it until it fails as the issue says, in at most --tries tries. */
AcrStep acr_reproducer_write(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Lets the model rewrite the reproducer by the reviewer's advice; `message` is taken. DONE:
 * there is a script that runs, even if it does not reproduce the issue. */
AcrStep acr_reproducer_rewrite(AcrAttemptWork *work, char *message, GError **error) ACR_MUST_USE;
/* Runs the latest script with a patch (NULL: without); `repeat` as in AcrTrial. */
AcrStep acr_reproducer_run(AcrAttemptWork *work, const AcrCandidate *patch, guint repeat,
                           AcrTestVerdict *out, GError **error) ACR_MUST_USE;

/* Makes a script of the issue's examples and runs it without a patch. DONE: *out_script is set
 * (owned). *out_fails: it reproduces the issue; otherwise all examples print what the issue shows. */
AcrStep acr_issue_draft_try(AcrAttemptWork *work, char **out_script, bool *out_fails,
                            GError **error) ACR_MUST_USE;

/* ---- Validation (validation.c) --------------------------------------------------------------- */

/* The number of tests that a test runner's last summary in the output states; -1: none. */
gint64 acr_tests_counted(GBytes *output);

/* ---- Proof (proof.c) ------------------------------------------------------------------------- */

/* The files that a patch changes, in the form that py/experiments.c expects; owned. */
GByteArray *acr_proof_files(const AcrAttemptWork *work, const AcrOverlay *with,
                            GError **error) ACR_MUST_USE;
/* Makes the experiments with an approved patch, and stores their results in its candidate;
 * *out_doubt (owned): why the patch is not verified, or NULL. */
AcrStep acr_proof_judge(AcrAttemptWork *work, const AcrTestVerdict *with_patch, char **out_doubt,
                        GError **error) ACR_MUST_USE;
/* "reproducer_2.py fails without the patch and passes with it; 9 experiments agree"; owned. */
char *acr_proof_words(const AcrAttemptWork *work) ACR_MUST_USE;
/* *out (owned): why experiments cannot prove the patch (its code is not plain); NULL: they can. */
bool acr_proof_is_barred(const AcrAttemptWork *work, const AcrOverlay *patch, char **out,
                         GError **error) ACR_MUST_USE;
/* Lists for the reviewer the code of the latest patch that is not plain; owned; "": none. */
char *acr_proof_doubts_text(const AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- Executions as models are shown them (execution_text.c) ---------------------------------- */

/* Puts a text into a code fence that the text cannot close; owned. */
char *acr_fence_text(const char *language, const char *text) ACR_MUST_USE;
/* One stream, shortened; owned. */
char *acr_stream_text(GBytes *stream) ACR_MUST_USE;
/* "Without the patch, the script exited with 1: …", with both streams; owned. */
char *acr_execution_text(const char *when, const AcrTestVerdict *verdict) ACR_MUST_USE;
/* Describes a validation that rejected a patch: exit status and both streams; owned. */
char *acr_validation_text(const AcrExecuted *executed) ACR_MUST_USE;

/* ---- The review (review.c) ------------------------------------------------------------------- */

/* Lets the reviewer judge the latest patch and script, and their writers rewrite them, until both
 * are right and the validation accepts the patch, or the rounds are used up. DONE: the last patch
 * is approved. NOT_DONE: it is not. UNAVAILABLE: the review could not continue. */
AcrStep acr_review_run(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
