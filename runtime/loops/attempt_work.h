/* Private to loops: the data that the steps of one attempt share. They are the conversations and
 * latest results of the patch writer and of the reproducer's writer, and the candidates (patches
 * that may become the run's result). */
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
    char *why; /* owned; why `proof` has its value, in one line */
    /* review or validation has judged the patch, or neither can judge it */
    bool is_judged;
    bool is_validated;        /* the validation has run on the patch, or there is none */
    bool is_free;             /* the tests that ran with the patch show no regression */
    bool is_of_tests;         /* the patch changes only tests; set before candidates are compared */
    AcrTestComparison *tests; /* owned; as in AcrOutcome, or NULL */
    AcrJson *experiments;     /* owned; as in AcrOutcome, or NULL */
    /* The members below serve the comparison of candidates (selection.c). */
    char *change;     /* owned; a normal form of the change, by which equal changes are found */
    AcrJson *scripts; /* owned; [{"script", "result"}] for each reproducer with the patch */
    guint passes;     /* number of reproducers that passed with the patch */
    /* owned; results of the issue's examples with the patch; NULL if they were not run */
    char *examples;
    bool changes_examples; /* with the patch, the issue's examples print something else */
    guint agrees; /* number of candidates that behave like this candidate, including itself */
    guint count;  /* number of candidates that make the same change, including this candidate */
    /* owned; the model's reason for each vote for this candidate; NULL if there is none */
    AcrJson *votes;
    bool is_vote_unread; /* the model's answer in a vote on this candidate could not be read */
    /* owned; why the results of validation and tests prove nothing; otherwise NULL */
    char *doubt;
} AcrCandidate;

/* Makes the empty list of a run's candidates, which keeps them in the order of writing. */
GPtrArray *acr_candidates_new(void) ACR_MUST_USE; /* owned; array of AcrCandidate */
/* Adds `candidate` (its members are taken). Returns the new element, borrowed from the list. */
AcrCandidate *acr_candidates_add(GPtrArray *candidates, AcrCandidate candidate);
/* Sets the proof of a candidate, and the reason for the proof. `why` is taken. */
void acr_candidate_prove(AcrCandidate *candidate, AcrProof proof, char *why);
#define ACR_ANY_ATTEMPT G_MAXUINT
/* Returns the best candidate of an attempt, in the order of acr_candidate_worth; borrowed; NULL if
 * there is none. If a later attempt judged the same diff again, returns the later candidate. */
AcrCandidate *acr_candidates_best(const GPtrArray *candidates, guint attempt);

/* Returns whether two candidates make the same change (equal diffs but for blanks and comments). */
bool acr_candidates_are_same(const AcrCandidate *a, const AcrCandidate *b);
/* Returns the number of candidates that make the same change as `candidate`, including `candidate`
 * itself; 0 if its patch is not applicable. */
guint acr_candidates_count_same(const GPtrArray *candidates, const AcrCandidate *candidate);
/* Returns whether neither candidate is better than the other, apart from votes. */
bool acr_candidates_are_equal(const AcrCandidate *a, const AcrCandidate *b);
/* Returns whether all tests ran with the candidate and it breaks none. If the tests timed out,
 * returns false, because the tests that did not run may fail. */
bool acr_candidate_is_free(const AcrCandidate *candidate);
/* acr_candidate_expected counts the tests that fail with the candidate as the issue expects;
 * acr_candidate_suspects counts the tests that failed and could not be run again. */
guint acr_candidate_expected(const AcrCandidate *candidate);
guint acr_candidate_suspects(const AcrCandidate *candidate);
/* Returns the rank of the proof of a candidate; a higher number is better. */
guint acr_candidate_worth(const AcrCandidate *candidate);

/* ---- The work (attempt_work.c) --------------------------------------------------------------- */

typedef struct {
    AcrConversation *conversation; /* NULL before the first try */
    char *feedback;                /* feedback for the next try; NULL before the first try */
    /* maximum size in bytes of each shown part: the code, the issue and the feedback */
    gsize shown_bytes;
    AcrJson *statuses;    /* contents of extract_status.json */
    guint number;         /* number of the latest try, from 1 */
    guint sample;         /* number, from 1, of this patch among the patches from one retrieval */
    AcrCandidate *latest; /* the candidate from the latest try; borrowed; NULL if there is none */
    char *reason;         /* why the latest try gave no answer; otherwise NULL */
    bool repeats; /* the latest answer repeats earlier answers, or the last answers were empty */
} AcrPatchWriter;

typedef struct {
    AcrConversation *conversation;
    char *feedback; /* feedback for the next try, or NULL */
    char *python; /* owned; the script's Python, as named in messages; NULL before the first try */
    /* number of failed tries after which a passing script is requested; 0: never */
    guint until_flip;
    bool is_flip; /* the next answer is a passing script, whose assertion will be inverted */
    guint tries;  /* number of tries that have begun; each has its own conv_test_N.json */
    char *script; /* the latest script; NULL if there is none */
    guint number; /* number of the try that wrote the script */
    AcrTestVerdict before; /* verdict on the script's execution without a patch */
} AcrReproducer;

/* The state of the search call `probe`, with which a model runs snippets. */
typedef struct {
    AcrCallSpec spec;
    AcrCalls *calls; /* owned; the run's calls and `probe`; NULL if no snippet can be run */
    guint used;      /* number of snippets that were run */
} AcrProbe;

typedef struct {
    const AcrRun *run;
    guint attempt;   /* number of the attempt, from 0 */
    AcrModel *model; /* borrowed; NULL if the run has no model */
    AcrRetrieved retrieved;
    AcrPatchWriter writer;
    AcrReproducer reproducer;
    AcrProbe probe;
    guint reviews;         /* number of review rounds that have begun */
    GPtrArray *candidates; /* borrowed; the candidates of all attempts */
    GHashTable *said;      /* borrowed; made by acr_said_new, and shared by all attempts */
    char *unproved;        /* owned; why running code cannot prove anything; otherwise NULL */
    char *failing; /* owned; id of the first failing test that the localization found, or NULL */
    char *calls;   /* owned; the reproducer's calls in the project, as text for models, or NULL */
    AcrDeadEnd dead_end; /* decides whether to give up the model */
} AcrAttemptWork;
void acr_attempt_work_begin(AcrAttemptWork *work, const AcrRun *run, guint attempt,
                            GPtrArray *candidates);
/* Prepares `work` for another patch from the same retrieval, with the same reproducer. */
void acr_attempt_work_again(AcrAttemptWork *work);
void acr_attempt_work_clear(AcrAttemptWork *work);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrAttemptWork, acr_attempt_work_clear)

/* The result of a step. */
typedef enum {
    ACR_STEP_DONE,
    ACR_STEP_NOT_DONE, /* all tries were used without success */
    /* the step is impossible (script used up, or sandbox lost); the reason was reported */
    ACR_STEP_UNAVAILABLE,
    ACR_STEP_FAILED, /* an error was set */
} AcrStep;
/* Sets work->unproved to the reason why running code cannot prove anything, and reports it. */
void acr_step_unproved(AcrAttemptWork *work, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Returns whether the model gave no answer because its script is used up or the conversation is too
 * long. In these cases only the step is skipped; other errors end the run. */
bool acr_step_is_no_answer(const GError *error);
/* Handles a failed call of a model. If acr_step_is_no_answer(reason), sets work->unproved to "WHAT:
 * reason" and returns UNAVAILABLE; otherwise sets `error` and returns FAILED. `reason` is taken. */
AcrStep acr_step_no_answer(AcrAttemptWork *work, const char *what, GError *reason,
                           GError **error) ACR_MUST_USE;
/* Replaces the feedback for the patch writer's next try. `text` is taken. */
void acr_step_tell_writer(AcrAttemptWork *work, char *text);
/* Rejects a patch: sets its proof to REFUSED with the reason `why` (taken), and makes `message` the
 * patch writer's feedback. Returns NOT_DONE. */
AcrStep acr_step_refuse(AcrAttemptWork *work, AcrCandidate *candidate, char *why,
                        const char *message) ACR_MUST_USE;
/* Runs a trial. If the sandbox fails, sets work->unproved to "WHAT: reason" and returns
 * UNAVAILABLE. */
AcrStep acr_step_run(AcrAttemptWork *work, const AcrTrial *trial, const char *what,
                     const AcrExecuted **out, GError **error) ACR_MUST_USE;
/* Runs a trial that is not part of a proof. Unlike acr_step_run, never sets work->unproved. */
AcrStep acr_step_run_aside(AcrAttemptWork *work, const AcrTrial *trial, const AcrExecuted **out,
                           GError **error) ACR_MUST_USE;
/* Runs the extensions' checks and the --validate command on a patch. Returns DONE if the patch
 * passed, or if there are no checks. Returns NOT_DONE if a check rejected the patch; the patch's
 * proof is then REFUSED, and the patch writer gets the reason. */
AcrStep acr_step_validate(AcrAttemptWork *work, AcrCandidate *candidate,
                          GError **error) ACR_MUST_USE;

/* ---- The project's own tests (regressions.c) ------------------------------------------------- */

/* Makes the table of the reviewer's answers about broken tests, by test id; owned. */
GHashTable *acr_said_new(void) ACR_MUST_USE;
/* Runs the project's tests with a patch. Returns DONE if no test fails except the tests that the
 * issue asks to change, or if the run does not compare tests. Returns NOT_DONE if the patch breaks
 * tests; its proof is then REFUSED, and the patch writer gets a list of the broken tests. */
AcrStep acr_step_regress(AcrAttemptWork *work, AcrCandidate *candidate,
                         GError **error) ACR_MUST_USE;
/* Runs the tests `only` (ids) with a candidate whose tests ran before, and adds to the known
 * results. Returns UNAVAILABLE if the tests cannot be run; the known results are then kept. */
AcrStep acr_step_regress_only(AcrAttemptWork *work, AcrCandidate *candidate, const GPtrArray *only,
                              GError **error) ACR_MUST_USE;
/* Finds out whether the project's tests can run. Fails if they are required but cannot run. */
AcrStep acr_step_know_tests(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- Localization (spectrum_clue.c) ---------------------------------------------------------- */

/* Ranks the code that the failing tests or the reproducer execute, as a clue for the search agent.
 * *out_clue is owned; NULL if there is no ranking. Writes sbfl.json to the run folder. */
AcrStep acr_step_suspect(AcrAttemptWork *work, bool has_reproducer, char **out_clue,
                         GError **error) ACR_MUST_USE;

/* ---- Calls of the reproducer (call_trace.c) -------------------------------------------------- */

/* Sets work->calls if the run is traced (is_traced): runs the reproducer under the tracer or,
 * without a reproducer, the first failing test. A failure of the sandbox is not an error. */
AcrStep acr_step_trace(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Describes for the reviewer how the latest patch changes the reproducer's calls. *out is owned; ""
 * if the calls are unknown. */
AcrStep acr_step_compare_traces(AcrAttemptWork *work, char **out, GError **error) ACR_MUST_USE;

/* ---- Snippets of the model (probe.c) --------------------------------------------------------- */

/* Offers the model the call `probe`, if the run allows snippets. Call only if code can be run. */
void acr_probe_offer(AcrAttemptWork *work);
/* Returns the attempt's search calls: the run's calls, and `probe` if it was offered; borrowed. */
static inline const AcrCalls *acr_attempt_calls(const AcrAttemptWork *work)
{
    return work->probe.calls ? work->probe.calls : work->run->calls;
}
/* Returns the number of snippets that may still be run. */
guint acr_probe_left(const AcrAttemptWork *work);
/* Runs a snippet with a patch (NULL: without a patch). *out_text (owned) is the output as text for
 * the model or, if *out_ran is false, the reason why the snippet did not run. */
bool acr_probe_run(AcrAttemptWork *work, const char *code, const AcrOverlay *patch, char **out_text,
                   bool *out_ran, GError **error) ACR_MUST_USE;

/* ---- Observers (observers.c) ----------------------------------------------------------------- */

/* Notifies the extensions of a search call before it is made. *out_veto (owned) says why an
 * extension forbids the call, or is NULL. All acr_observe functions return the errors of
 * acr_extensions_tell. */
bool acr_observe_call(const AcrRun *run, const char *call, char **out_veto,
                      GError **error) ACR_MUST_USE;
/* Notifies the extensions of the answer to a call. They may add a note to the answer. */
bool acr_observe_result(const AcrRun *run, const char *call, AcrAnswer *answer,
                        GError **error) ACR_MUST_USE;
/* Notifies the extensions of the result of one try of the patch writer. */
bool acr_observe_patch(const AcrAttemptWork *work, const AcrPatchResult *patch,
                       GError **error) ACR_MUST_USE;

/* ---- Selection (selection.c) ----------------------------------------------------------------- */

/* Makes the list of the scripts that reproduced the issue, from all attempts; owned. */
GPtrArray *acr_scripts_new(void) ACR_MUST_USE;
/* Adds the attempt's script to the list, if the script is new and reproduced the issue. */
void acr_scripts_keep(GPtrArray *scripts, const AcrAttemptWork *work);
/* Adds the patches given with --candidate to the candidates. */
bool acr_selection_add_given(GPtrArray *candidates, const AcrRun *run, GError **error) ACR_MUST_USE;
/* Runs all scripts with all candidates, and counts the candidates that behave in the same way.
 * Returns UNAVAILABLE if the sandbox fails. */
AcrStep acr_selection_compare(AcrAttemptWork *work, const GPtrArray *scripts,
                              GError **error) ACR_MUST_USE;
/* Returns whether two candidates from different attempts, each with its own retrieval and
 * reproducer, are verified, break no tests (if the run compares tests) and behave alike. */
bool acr_selection_is_settled(const AcrRun *run, const GPtrArray *candidates);
/* Copies the results of an equal diff of `attempt` (or ACR_ANY_ATTEMPT) to `candidate`. Returns
 * false if no such diff was judged. */
bool acr_selection_take_known(const GPtrArray *candidates, AcrCandidate *candidate, guint attempt);
/* Checks the patches given with --candidate, compares all candidates, and lets the model choose
 * among equally good candidates. Returns UNAVAILABLE if the sandbox fails. */
AcrStep acr_selection_weigh(AcrAttemptWork *work, const GPtrArray *scripts,
                            GError **error) ACR_MUST_USE;
/* Lets the model choose if several different changes are equally good (vote.c). */
AcrStep acr_selection_vote(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Makes the member `candidates` of an AcrOutcome; owned. */
AcrJson *acr_selection_table(const GPtrArray *candidates, const AcrCandidate *best) ACR_MUST_USE;
/* Says in one line why the best candidate was selected; owned. */
char *acr_selection_reason(const GPtrArray *candidates, const AcrCandidate *best) ACR_MUST_USE;

/* ---- The retrieval (retrieval.c) ------------------------------------------------------------- */

/* Runs the retrieval of an attempt and sets work->retrieved. The model sees `clue` (taken, may be
 * NULL) together with the issue. Errors: those that ended the retrieval as FAILED or STOPPED (of
 * llm, py, vcs and artifacts, and INTERRUPTED). */
bool acr_retrieval_run(AcrAttemptWork *work, char *clue, GError **error) ACR_MUST_USE;

/* ---- The patch writer (patch_writer.c) ------------------------------------------------------- */

/* Makes one try of the patch writer: asks the model, applies and saves the patch, and sets
 * writer.latest, and writer.feedback for the next try. Returns DONE if the patch is applicable.
 * Returns UNAVAILABLE if the model gave no answer (its script is used up, or the conversation is
 * too long); writer.reason then says why. */
AcrStep acr_patch_writer_try(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- The reproducer (reproducer.c) ----------------------------------------------------------- */

/* Finds out whether code can be run (unless --verify is never) and whether the issue can be
 * reproduced. Returns DONE if both are possible. */
AcrStep acr_reproducer_guard(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Writes and runs a reproducer until it fails as the issue says, in at most --tries tries. */
AcrStep acr_reproducer_write(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Lets the model rewrite the reproducer according to the reviewer's advice, `message` (taken).
 * Returns DONE if the new script runs, even if it does not reproduce the issue. */
AcrStep acr_reproducer_rewrite(AcrAttemptWork *work, char *message, GError **error) ACR_MUST_USE;
/* Runs the latest script with a patch (NULL: without a patch). `repeat` is as in AcrTrial. */
AcrStep acr_reproducer_run(AcrAttemptWork *work, const AcrCandidate *patch, guint repeat,
                           AcrTestVerdict *out, GError **error) ACR_MUST_USE;

/* Makes the script of AcrRun the reproducer, and runs it without a patch. Returns UNAVAILABLE if
 * code cannot be run. */
AcrStep acr_reproducer_take(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* Makes a script from the issue's examples, and runs it without a patch. Returns DONE if
 * *out_script was set (owned). *out_fails is true if the script reproduces the issue, and false if
 * all examples print what the issue shows. */
AcrStep acr_issue_draft_try(AcrAttemptWork *work, char **out_script, bool *out_fails,
                            GError **error) ACR_MUST_USE;

/* ---- Validation (validation.c) --------------------------------------------------------------- */

/* Returns the number of tests stated in the last summary of a test runner in `output`; -1 if there
 * is no summary. */
gint64 acr_tests_counted(GBytes *output);

/* ---- Proof (proof.c) ------------------------------------------------------------------------- */

/* Returns the files that a patch changes, in the form that py/experiments.c expects; owned. */
GByteArray *acr_proof_files(const AcrAttemptWork *work, const AcrOverlay *with,
                            GError **error) ACR_MUST_USE;
/* Makes the experiments with an approved patch, and stores their results in the patch's candidate.
 * *out_doubt (owned) says why the patch is not verified, or is NULL. */
AcrStep acr_proof_judge(AcrAttemptWork *work, const AcrTestVerdict *with_patch, char **out_doubt,
                        GError **error) ACR_MUST_USE;
/* Says "reproducer_2.py fails without the patch and passes with it; 9 experiments agree"; owned. */
char *acr_proof_words(const AcrAttemptWork *work) ACR_MUST_USE;
/* Sets *out (owned) to the reason why experiments cannot prove the patch (its code is not plain),
 * or to NULL if they can. */
bool acr_proof_is_barred(const AcrAttemptWork *work, const AcrOverlay *patch, char **out,
                         GError **error) ACR_MUST_USE;
/* Lists, for the reviewer, the code of the latest patch that is not plain; owned; "" if all code is
 * plain. */
char *acr_proof_doubts_text(const AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- Executions as text for models (execution_text.c) ---------------------------------------- */

/* Encloses a text in a code fence that is longer than any fence inside the text; owned. */
char *acr_fence_text(const char *language, const char *text) ACR_MUST_USE;
/* Returns the text of one output stream, shortened; owned. */
char *acr_stream_text(GBytes *stream) ACR_MUST_USE;
/* Says "Without the patch, the script exited with 1: …", with both output streams; owned. */
char *acr_execution_text(const char *when, const AcrTestVerdict *verdict) ACR_MUST_USE;
char *acr_validation_ending(const AcrExecuted *executed) ACR_MUST_USE; /* "exit code 1"; owned */
/* Describes a validation that rejected a patch: its exit status and both output streams; owned. */
char *acr_validation_text(const AcrExecuted *executed) ACR_MUST_USE;

/* ---- The review (review.c) ------------------------------------------------------------------- */

/* Reviews the latest patch and script, and lets their writers rewrite them, until the reviewer
 * approves both and the --validate command accepts the patch, or until the rounds are used up.
 * Returns DONE if the last patch is approved, NOT_DONE if it is not, and UNAVAILABLE if the review
 * could not continue. */
AcrStep acr_review_run(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
