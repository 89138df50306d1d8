/* Private to loops: the data that the steps of one attempt share. These are the conversations
 * and latest results of the patch writer and of the reproducer's writer, and the candidates,
 * which are the possible results. */
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
    /* review or validation has judged the patch, or neither is possible */
    bool is_judged;
    bool is_validated;        /* the validation has run on the patch, or there is none */
    bool is_free;             /* no test that ran with the patch breaks */
    bool is_of_tests;         /* the patch changes only tests; set before candidates are compared */
    AcrTestComparison *tests; /* owned; as in AcrOutcome, or NULL */
    AcrJson *experiments;     /* owned; as in AcrOutcome, or NULL */
    /* These members are for the comparison of candidates (selection.c): */
    char *change;     /* owned; a normal form of the change, to compare changes */
    AcrJson *scripts; /* owned; [{"script", "result"}] for all reproducers */
    guint passes;     /* number of these scripts that passed */
    /* owned; results of the issue's examples with the patch; NULL if they were not run */
    char *examples;
    bool changes_examples; /* the examples print something else with the patch than without it */
    guint agrees;          /* number of candidates that behave like this one, including itself */
    guint count;           /* number of candidates that make the same change */
    /* owned; the model's reason for each vote for this candidate; NULL if there is none */
    AcrJson *votes;
    /* owned; why the results of validation and tests prove nothing; otherwise NULL */
    char *doubt;
} AcrCandidate;

/* The patches of a run, in the order of writing. */
GPtrArray *acr_candidates_new(void) ACR_MUST_USE; /* owned; of AcrCandidate */
/* Adds a candidate (taken). Returns it, borrowed from the list. */
AcrCandidate *acr_candidates_add(GPtrArray *candidates, AcrCandidate candidate);
/* Sets the proof of a candidate. `why` is taken. */
void acr_candidate_prove(AcrCandidate *candidate, AcrProof proof, char *why);
#define ACR_ANY_ATTEMPT G_MAXUINT
/* The best candidate of an attempt, in the order of acr_candidate_worth; borrowed; NULL if there
 * is none. If a later attempt judged the same diff again, returns the later candidate. */
AcrCandidate *acr_candidates_best(const GPtrArray *candidates, guint attempt);

/* Whether both make the same change: equal diffs, ignoring whitespace and comments. */
bool acr_candidates_are_same(const AcrCandidate *a, const AcrCandidate *b);
/* The number of candidates with the same change, including the candidate itself; 0 if it is not
 * applicable. */
guint acr_candidates_count_same(const GPtrArray *candidates, const AcrCandidate *candidate);
/* Whether neither candidate is better than the other, apart from votes. */
bool acr_candidates_are_equal(const AcrCandidate *a, const AcrCandidate *b);
/* Whether all tests ran with the candidate and it breaks none. A check that timed out does not
 * count, because the tests that did not run may fail. */
bool acr_candidate_is_free(const AcrCandidate *candidate);
/* How many tests fail with the candidate as the issue expects, and how many failed and could not
 * be run again. */
guint acr_candidate_expected(const AcrCandidate *candidate);
guint acr_candidate_suspects(const AcrCandidate *candidate);
/* A number that says how well the candidate is proved. */
guint acr_candidate_worth(const AcrCandidate *candidate);

/* ---- The work (attempt_work.c) --------------------------------------------------------------- */

typedef struct {
    AcrConversation *conversation; /* NULL before the first try */
    char *feedback;                /* feedback for the next try; NULL before the first try */
    /* maximum size in bytes of the code that is shown, and of the issue and the feedback */
    gsize shown_bytes;
    AcrJson *statuses;    /* extract_status.json */
    guint number;         /* number of the latest try, from 1 */
    guint sample;         /* number, from 1, of this patch among the patches from one retrieval */
    AcrCandidate *latest; /* the candidate from the latest try; borrowed; NULL if there is none */
    char *reason;         /* why the latest try gave no answer; otherwise NULL */
    bool repeats;         /* the latest answer repeats earlier ones, or answers are empty again */
} AcrPatchWriter;

typedef struct {
    AcrConversation *conversation;
    char *feedback; /* feedback for the next try, or NULL */
    char *python;   /* words for the Python that runs the script; NULL before the first try */
    /* after this number of failed tries, a passing script is requested; 0: never */
    guint until_flip;
    bool is_flip;          /* the next answer is a passing script, which will be inverted */
    guint tries;           /* number of tries that have begun; each has its own conv_test_N.json */
    char *script;          /* the latest script; NULL if there is none */
    guint number;          /* number of the try that wrote the script */
    AcrTestVerdict before; /* verdict on the script's execution without a patch */
} AcrReproducer;

/* State of the search call `probe`, by which a model may run snippets. */
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
    char *unproved;        /* why running code cannot prove anything; otherwise NULL */
    char *failing;         /* owned; the first failing test that the localization found, or NULL */
    char *calls;           /* the reproducer's calls in the project, as text for models, or NULL */
    AcrDeadEnd dead_end;   /* whether to give up the model */
} AcrAttemptWork;
void acr_attempt_work_begin(AcrAttemptWork *work, const AcrRun *run, guint attempt,
                            GPtrArray *candidates);
/* Prepares for writing another patch from the same retrieval, with the same reproducer. */
void acr_attempt_work_again(AcrAttemptWork *work);
void acr_attempt_work_clear(AcrAttemptWork *work);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrAttemptWork, acr_attempt_work_clear)

/* The result of a step. */
typedef enum {
    ACR_STEP_DONE,
    ACR_STEP_NOT_DONE, /* all tries were used */
    /* the step is impossible (a script is used up, the sandbox is lost); the reason was reported */
    ACR_STEP_UNAVAILABLE,
    ACR_STEP_FAILED, /* an error was set */
} AcrStep;
/* Records, for the user and the result, why running code cannot prove anything. */
void acr_step_unproved(AcrAttemptWork *work, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Whether a model gave no answer because its script is used up or the conversation is too long.
 * If so, only the step is skipped. Other errors end the run. */
bool acr_step_is_no_answer(const GError *error);
/* Handles a failed call of a model. If acr_step_is_no_answer, sets work->unproved to "WHAT: why"
 * and returns UNAVAILABLE; otherwise returns FAILED. `reason` is taken. */
AcrStep acr_step_no_answer(AcrAttemptWork *work, const char *what, GError *reason,
                           GError **error) ACR_MUST_USE;
/* Replaces the feedback for the patch writer's next try. `text` is taken. */
void acr_step_tell_writer(AcrAttemptWork *work, char *text);
/* Sets the proof of a patch to REFUSED with the reason `why` (taken), and `message` as the patch
 * writer's feedback. Returns NOT_DONE. */
AcrStep acr_step_refuse(AcrAttemptWork *work, AcrCandidate *candidate, char *why,
                        const char *message) ACR_MUST_USE;
/* Runs a trial. If the sandbox fails, returns UNAVAILABLE, and sets work->unproved to "WHAT:
 * why". */
AcrStep acr_step_run(AcrAttemptWork *work, const AcrTrial *trial, const char *what,
                     const AcrExecuted **out, GError **error) ACR_MUST_USE;
/* Runs a trial that is not part of a proof: like acr_step_run, but never sets work->unproved. */
AcrStep acr_step_run_aside(AcrAttemptWork *work, const AcrTrial *trial, const AcrExecuted **out,
                           GError **error) ACR_MUST_USE;
/* Runs the extensions' checks and --validate on a patch. Returns DONE if the patch passed, or if
 * there are no checks. Returns NOT_DONE if the patch was rejected; its proof is now REFUSED, and
 * the patch writer gets the reason. */
AcrStep acr_step_validate(AcrAttemptWork *work, AcrCandidate *candidate,
                          GError **error) ACR_MUST_USE;

/* ---- The project's own tests (regressions.c) ------------------------------------------------- */

/* The reviewer's answers about broken tests, by test id; owned. */
GHashTable *acr_said_new(void) ACR_MUST_USE;
/* Runs the project's tests with a patch. Returns DONE if no test fails except those that the
 * issue asks to change, or if the run does not compare tests. Returns NOT_DONE if the patch
 * breaks tests; its proof is now REFUSED, and the patch writer gets a list of them. */
AcrStep acr_step_regress(AcrAttemptWork *work, AcrCandidate *candidate,
                         GError **error) ACR_MUST_USE;
/* Like acr_step_regress, for the tests `only` (ids) of a candidate whose tests ran before; adds
 * to the known results. Returns UNAVAILABLE if they cannot be run; the known results stay. */
AcrStep acr_step_regress_only(AcrAttemptWork *work, AcrCandidate *candidate, const GPtrArray *only,
                              GError **error) ACR_MUST_USE;
/* Finds out whether the project's tests can run. Fails if they are required but cannot. */
AcrStep acr_step_know_tests(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- Localization (spectrum_clue.c) ---------------------------------------------------------- */

/* Ranks the code that failing tests, or the reproducer, run, as a clue for the search agent.
 * *out_clue is owned; NULL if there is none. Writes sbfl.json to the run folder. */
AcrStep acr_step_suspect(AcrAttemptWork *work, bool has_reproducer, char **out_clue,
                         GError **error) ACR_MUST_USE;

/* ---- Calls of the reproducer (call_trace.c) -------------------------------------------------- */

/* If is_traced, runs the reproducer, or if there is none the first failing test, under the
 * tracer, and sets work->calls. A failure of the sandbox is not an error. */
AcrStep acr_step_trace(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Compares the reproducer's calls without and with the latest patch, for the reviewer. *out is
 * owned; "" if the calls are unknown. */
AcrStep acr_step_compare_traces(AcrAttemptWork *work, char **out, GError **error) ACR_MUST_USE;

/* ---- Snippets of the model (probe.c) --------------------------------------------------------- */

/* Lets the model run snippets, if the run allows that. Call it only if code can be run. */
void acr_probe_offer(AcrAttemptWork *work);
/* The search calls of the attempt: those of the run, and `probe` if it was offered; borrowed. */
static inline const AcrCalls *acr_attempt_calls(const AcrAttemptWork *work)
{
    return work->probe.calls ? work->probe.calls : work->run->calls;
}
/* How many snippets may still be run. */
guint acr_probe_left(const AcrAttemptWork *work);
/* Runs a snippet with a patch (NULL: without). *out_text (owned) is its output as text for the
 * model; if *out_ran is false, the reason why it did not run. */
bool acr_probe_run(AcrAttemptWork *work, const char *code, const AcrOverlay *patch, char **out_text,
                   bool *out_ran, GError **error) ACR_MUST_USE;

/* ---- Observers (observers.c) ----------------------------------------------------------------- */

/* Tells the extensions about a search call before it is made. *out_veto (owned) says why an
 * extension forbids the call, or is NULL. Errors of all acr_observe functions: those of
 * acr_extensions_tell. */
bool acr_observe_call(const AcrRun *run, const char *call, char **out_veto,
                      GError **error) ACR_MUST_USE;
/* Tells the extensions about the answer to the call. They may add a note to it. */
bool acr_observe_result(const AcrRun *run, const char *call, AcrAnswer *answer,
                        GError **error) ACR_MUST_USE;
/* Tells the extensions about the result of a try of the patch writer. */
bool acr_observe_patch(const AcrAttemptWork *work, const AcrPatchResult *patch,
                       GError **error) ACR_MUST_USE;

/* ---- Selection (selection.c) ----------------------------------------------------------------- */

/* The scripts of all attempts that reproduced the issue; owned. */
GPtrArray *acr_scripts_new(void) ACR_MUST_USE;
/* Adds the script of an attempt, if it is new. */
void acr_scripts_keep(GPtrArray *scripts, const AcrAttemptWork *work);
/* Adds the patches given with --candidate. */
bool acr_selection_add_given(GPtrArray *candidates, const AcrRun *run, GError **error) ACR_MUST_USE;
/* Runs all scripts with all candidates, and counts candidates that behave in the same way.
 * Returns UNAVAILABLE if the sandbox fails. */
AcrStep acr_selection_compare(AcrAttemptWork *work, const GPtrArray *scripts,
                              GError **error) ACR_MUST_USE;
/* Whether two candidates, each with its own retrieval and reproducer, are verified, break no
 * tests (if the run compares tests) and behave in the same way. */
bool acr_selection_is_settled(const AcrRun *run, const GPtrArray *candidates);
/* Copies the results of an equal diff in `attempt` (or ACR_ANY_ATTEMPT). Returns false if there
 * is none. */
bool acr_selection_take_known(const GPtrArray *candidates, AcrCandidate *candidate, guint attempt);
/* Checks the patches given with --candidate, compares all candidates, and lets the model choose
 * among equal ones. Returns UNAVAILABLE if the sandbox fails. */
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
 * be NULL) with the issue. Errors: those that ended the retrieval as FAILED or STOPPED (of llm,
 * py, vcs and artifacts, and INTERRUPTED). */
bool acr_retrieval_run(AcrAttemptWork *work, char *clue, GError **error) ACR_MUST_USE;

/* ---- The patch writer (patch_writer.c) ------------------------------------------------------- */

/* Makes one try of the patch writer: asks the model, applies and saves the patch, and sets
 * writer.latest, and writer.feedback for the next try. Returns DONE if the patch is applicable.
 * Returns UNAVAILABLE if the model gave no answer (its script is used up, or the conversation is
 * too long); writer.reason says why. */
AcrStep acr_patch_writer_try(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- The reproducer (reproducer.c) ----------------------------------------------------------- */

/* Finds out whether code can be run (unless --verify is never) and whether the issue can be
 * reproduced. Returns DONE if both are true. */
AcrStep acr_reproducer_guard(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Writes a reproducer and runs it until it fails as the issue says, in at most --tries tries. */
AcrStep acr_reproducer_write(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Lets the model rewrite the reproducer according to the reviewer's advice; `message` is taken.
 * Returns DONE if there is a script that runs, even if it does not reproduce the issue. */
AcrStep acr_reproducer_rewrite(AcrAttemptWork *work, char *message, GError **error) ACR_MUST_USE;
/* Runs the latest script with a patch (NULL: without). `repeat` is as in AcrTrial. */
AcrStep acr_reproducer_run(AcrAttemptWork *work, const AcrCandidate *patch, guint repeat,
                           AcrTestVerdict *out, GError **error) ACR_MUST_USE;

/* Takes the script of AcrRun, and runs it without a patch. Returns UNAVAILABLE if code cannot be
 * run. */
AcrStep acr_reproducer_take(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* Makes a script from the issue's examples, and runs it without a patch. Returns DONE if
 * *out_script is set (owned). *out_fails says that the script reproduces the issue; otherwise
 * all examples print what the issue shows. */
AcrStep acr_issue_draft_try(AcrAttemptWork *work, char **out_script, bool *out_fails,
                            GError **error) ACR_MUST_USE;

/* ---- Validation (validation.c) --------------------------------------------------------------- */

/* The number of tests that a test runner's last summary in the output states; -1 if there is
 * none. */
gint64 acr_tests_counted(GBytes *output);

/* ---- Proof (proof.c) ------------------------------------------------------------------------- */

/* The files that a patch changes, in the form that py/experiments.c expects; owned. */
GByteArray *acr_proof_files(const AcrAttemptWork *work, const AcrOverlay *with,
                            GError **error) ACR_MUST_USE;
/* Makes the experiments with an approved patch, and stores their results in its candidate.
 * *out_doubt (owned) says why the patch is not verified, or is NULL. */
AcrStep acr_proof_judge(AcrAttemptWork *work, const AcrTestVerdict *with_patch, char **out_doubt,
                        GError **error) ACR_MUST_USE;
/* "reproducer_2.py fails without the patch and passes with it; 9 experiments agree"; owned. */
char *acr_proof_words(const AcrAttemptWork *work) ACR_MUST_USE;
/* *out (owned) says why experiments cannot prove the patch (its code is not plain); NULL if they
 * can. */
bool acr_proof_is_barred(const AcrAttemptWork *work, const AcrOverlay *patch, char **out,
                         GError **error) ACR_MUST_USE;
/* Lists for the reviewer the code of the latest patch that is not plain; owned; "" if there is
 * none. */
char *acr_proof_doubts_text(const AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- Executions as text for models (execution_text.c) ---------------------------------------- */

/* Puts a text into a code fence that the text cannot close; owned. */
char *acr_fence_text(const char *language, const char *text) ACR_MUST_USE;
/* The text of one stream, shortened; owned. */
char *acr_stream_text(GBytes *stream) ACR_MUST_USE;
/* "Without the patch, the script exited with 1: …", with both streams; owned. */
char *acr_execution_text(const char *when, const AcrTestVerdict *verdict) ACR_MUST_USE;
/* Describes a validation that rejected a patch: exit status and both streams; owned. */
char *acr_validation_text(const AcrExecuted *executed) ACR_MUST_USE;

/* ---- The review (review.c) ------------------------------------------------------------------- */

/* Lets the reviewer judge the latest patch and script, and their writers rewrite them, until both
 * are right and the --validate command accepts the patch, or the rounds are used up. Returns DONE
 * if the last patch is approved, NOT_DONE if it is not, and UNAVAILABLE if the review could not
 * continue. */
AcrStep acr_review_run(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
