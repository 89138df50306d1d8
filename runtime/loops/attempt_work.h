/*
 * Private to loops: one attempt's data, which its steps share. The patch writer and the writer of
 * the reproducer each have a conversation and their latest work. The reviewer judges both.
 * Candidates are the possible results.
 */
#ifndef ACR_LOOPS_ATTEMPT_WORK_H
#define ACR_LOOPS_ATTEMPT_WORK_H

#include "loops/dead_end.h"
#include "loops/retrieval.h"

/* ---- Candidates (candidates.c) --------------------------------------------------------------- */

/* A patch, and what was last found about it. */
typedef struct {
    AcrExtractStatus status;
    AcrOverlay *overlay; /* owned; NULL: not applicable */
    GBytes *diff;        /* owned; NULL: not applicable */
    guint attempt, number;
    AcrProof proof;
    char *why;                /* owned; the reason for the proof, one line */
    bool is_judged;           /* review or validation has judged it, or neither is possible */
    bool is_validated;        /* the validation has run on it, if there is one */
    bool is_free;             /* the project's tests have run with it, and it breaks none */
    bool is_of_tests;         /* it changes only tests; set when candidates are weighed */
    AcrTestComparison *tests; /* owned; as in AcrOutcome, or NULL */
    AcrJson *experiments;     /* owned; as in AcrOutcome, or NULL */
    /* For the comparison of candidates (selection.c): */
    char *change;     /* owned; equal for equal changes */
    AcrJson *scripts; /* owned; [{"script", "result"}] of all reproducers */
    guint passes;     /* how many of these scripts passed */
    char *examples;   /* owned; what the issue's examples show with it; NULL: they were not run */
    bool changes_examples; /* the examples print something else than without a patch */
    guint agrees;          /* number of candidates, including this one, that behave alike */
    guint count;           /* number of candidates that make the same change */
    AcrJson *votes; /* owned; the model's reason for each vote for this candidate; NULL: none */
    char *doubt;    /* owned; why validation and tests prove nothing, or NULL */
} AcrCandidate;

/* The patches of a run, in the order in which they were written. */
GPtrArray *acr_candidates_new(void) ACR_MUST_USE; /* owned; of AcrCandidate */
/* Adds a candidate (taken); borrowed from the list. */
AcrCandidate *acr_candidates_add(GPtrArray *candidates, AcrCandidate candidate);
/* Records how a candidate is proved. `why` is taken. */
void acr_candidate_prove(AcrCandidate *candidate, AcrProof proof, char *why);
#define ACR_ANY_ATTEMPT G_MAXUINT
/* The best candidate of an attempt in the documented order; borrowed; NULL: none. If the same diff
 * was judged later in another attempt, that candidate. */
AcrCandidate *acr_candidates_best(const GPtrArray *candidates, guint attempt);

/* Whether both make the same change: equal diffs, ignoring whitespace and comments. */
bool acr_candidates_are_same(const AcrCandidate *a, const AcrCandidate *b);
/* How many candidates make the same change, including itself; 0: it is not applicable. */
guint acr_candidates_count_same(const GPtrArray *candidates, const AcrCandidate *candidate);
/* Whether neither candidate is better, apart from votes. */
bool acr_candidates_are_equal(const AcrCandidate *a, const AcrCandidate *b);
/* How well the candidate is proved, as a number. */
guint acr_candidate_worth(const AcrCandidate *candidate);

/* ---- The work (attempt_work.c) --------------------------------------------------------------- */

typedef struct {
    AcrConversation *conversation; /* NULL before the first try */
    char *feedback;                /* feedback for the next try; NULL before the first */
    gsize shown_bytes;             /* limit for code, issue and feedback each */
    AcrJson *statuses;             /* extract_status.json */
    guint number;                  /* number of the latest try, from 1 */
    guint sample;                  /* number of this answer to the retrieval, from 1 */
    AcrCandidate *latest; /* result of the latest try; borrowed from the candidates, or NULL */
    char *reason;         /* why the latest try gave no answer, or NULL */
    bool repeats;         /* the latest answer repeats earlier ones, or is empty again */
} AcrPatchWriter;

typedef struct {
    AcrConversation *conversation;
    char *feedback;        /* feedback for the next try, or NULL */
    guint until_flip;      /* failed tries until a passing script is asked for; 0: none is */
    bool is_flip;          /* the next answer is a passing script, to be turned round */
    guint tries;           /* number of tries begun, from 1; each has its conv_test_N.json */
    char *script;          /* the latest script; NULL: none */
    guint number;          /* number of the try that wrote it */
    AcrTestVerdict before; /* outcome of the script without a patch */
} AcrReproducer;

/* The search call `probe`, if the model may run snippets. */
typedef struct {
    AcrCallSpec spec;
    AcrCalls *calls; /* owned; the run's calls and this one; NULL: no snippet can be run */
    guint used;      /* snippets that were run */
} AcrProbe;

typedef struct {
    const AcrRun *run;
    guint attempt;   /* number of the attempt, from 0 */
    AcrModel *model; /* borrowed */
    AcrRetrieved retrieved;
    AcrPatchWriter writer;
    AcrReproducer reproducer;
    AcrProbe probe;
    guint reviews;         /* rounds of review that have begun */
    GPtrArray *candidates; /* borrowed; the candidates of all attempts */
    GHashTable *said;      /* borrowed; made by acr_said_new, for all attempts */
    char *unproved;        /* why nothing can be proved by running code, or NULL */
    char *failing;         /* owned; the first failing test that localization found, or NULL */
    char *calls; /* the reproducer's calls in the project, as models are shown them, or NULL */
    AcrDeadEnd dead_end; /* whether the model was given up */
} AcrAttemptWork;
void acr_attempt_work_begin(AcrAttemptWork *work, const AcrRun *run, guint attempt,
                            GPtrArray *candidates);
/* Prepares another answer to the same retrieval, with the same reproducer. */
void acr_attempt_work_again(AcrAttemptWork *work);
void acr_attempt_work_clear(AcrAttemptWork *work);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrAttemptWork, acr_attempt_work_clear)

/* The result of a step. */
typedef enum {
    ACR_STEP_DONE,
    ACR_STEP_NOT_DONE, /* all tries were used */
    /* it cannot be done, and the reason was reported, such as a used-up script or a lost sandbox */
    ACR_STEP_UNAVAILABLE,
    ACR_STEP_FAILED, /* an error was set */
} AcrStep;
/* Records why nothing can be proved, for the user and for the result. */
void acr_step_unproved(AcrAttemptWork *work, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Whether a model gave no answer because its script is used up or the conversation is too long;
 * then the step is left undone. Other errors end the run. */
bool acr_step_is_no_answer(const GError *error);
/* Handles a failed call of a model. UNAVAILABLE: it gave no answer, and work->unproved becomes
 * "WHAT: why"; else FAILED. `reason` is taken. */
AcrStep acr_step_no_answer(AcrAttemptWork *work, const char *what, GError *reason,
                           GError **error) ACR_MUST_USE;
/* Replaces the feedback for the patch writer's next try. `text` is taken. */
void acr_step_tell_writer(AcrAttemptWork *work, char *text);
/* Marks a patch as REFUSED for `why` (taken), and gives the patch writer `message`. Returns
 * NOT_DONE. */
AcrStep acr_step_refuse(AcrAttemptWork *work, AcrCandidate *candidate, char *why,
                        const char *message) ACR_MUST_USE;
/* Runs a trial. UNAVAILABLE: the sandbox failed, and work->unproved becomes "WHAT: why". */
AcrStep acr_step_run(AcrAttemptWork *work, const AcrTrial *trial, const char *what,
                     const AcrExecuted **out, GError **error) ACR_MUST_USE;
/* The same for a trial that proves nothing: if the sandbox failed, work->unproved stays. */
AcrStep acr_step_run_aside(AcrAttemptWork *work, const AcrTrial *trial, const AcrExecuted **out,
                           GError **error) ACR_MUST_USE;
/* Asks the extensions' checks and runs --validate on a patch. DONE: it passed, or there are no
 * checks. NOT_DONE: it was rejected: its proof is REFUSED, and the patch writer gets the reason. */
AcrStep acr_step_validate(AcrAttemptWork *work, AcrCandidate *candidate,
                          GError **error) ACR_MUST_USE;

/* ---- The project's own tests (regressions.c) ------------------------------------------------- */

/* The reviewer's answers about broken tests, by test id; owned. */
GHashTable *acr_said_new(void) ACR_MUST_USE;
/* Runs the project's tests with a patch. DONE: it breaks no test except those that the issue asks
 * to change, or the tests are not to be run. NOT_DONE: it breaks tests: its proof is REFUSED, and
 * the patch writer gets them. */
AcrStep acr_step_regress(AcrAttemptWork *work, AcrCandidate *candidate,
                         GError **error) ACR_MUST_USE;
/* Fails if tests are required but cannot be run. */
AcrStep acr_step_know_tests(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- Localization (spectrum_clue.c) ---------------------------------------------------------- */

/* Finds the code that failing tests, or the reproducer, point to, as a clue for the search agent:
 * *out_clue, owned; NULL: nothing. Writes sbfl.json to the run folder. */
AcrStep acr_step_suspect(AcrAttemptWork *work, bool has_reproducer, char **out_clue,
                         GError **error) ACR_MUST_USE;

/* ---- Calls of the reproducer (call_trace.c) -------------------------------------------------- */

/* Runs the reproducer, else the first failing test, under the tracer, if the run wants that, and sets
 * work->calls. A failed
 * sandbox is not an error here. */
AcrStep acr_step_trace(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Compares the reproducer's calls without and with the latest patch, for the reviewer; *out: owned,
 * "" if unknown. */
AcrStep acr_step_compare_traces(AcrAttemptWork *work, char **out, GError **error) ACR_MUST_USE;

/* ---- Snippets of the model (probe.c) --------------------------------------------------------- */

/* Lets the model run snippets in this attempt if the run allows it; code can be run. */
void acr_probe_offer(AcrAttemptWork *work);
/* The calls of the attempt: those of the run, and perhaps probe; borrowed. */
static inline const AcrCalls *acr_attempt_calls(const AcrAttemptWork *work)
{
    return work->probe.calls ? work->probe.calls : work->run->calls;
}
/* How many snippets may still be run. */
guint acr_probe_left(const AcrAttemptWork *work);
/* Runs a snippet with a patch (NULL: without). *out_text (owned): its output for the model, or why
 * it did not run (*out_ran false). */
bool acr_probe_run(AcrAttemptWork *work, const char *code, const AcrOverlay *patch, char **out_text,
                   bool *out_ran, GError **error) ACR_MUST_USE;

/* ---- Observers (observers.c) ----------------------------------------------------------------- */

/* Tells the extensions about a search call before it is made. *out_veto (owned): why the call must
 * not be made, or NULL. Errors of all three functions: those of acr_extensions_tell. */
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
/* Adds an attempt's script, if it has a new one. */
void acr_scripts_keep(GPtrArray *scripts, const AcrAttemptWork *work);
/* Adds the patches from elsewhere. */
bool acr_selection_add_given(GPtrArray *candidates, const AcrRun *run, GError **error) ACR_MUST_USE;
/* Runs all candidates with all scripts and counts equal ones. UNAVAILABLE: the sandbox failed. */
AcrStep acr_selection_compare(AcrAttemptWork *work, const GPtrArray *scripts,
                              GError **error) ACR_MUST_USE;
/* Whether two compared candidates, each with its own retrieval and reproducer, are verified, break no
 * tests (if the run compares tests) and behave alike. */
bool acr_selection_is_settled(const AcrRun *run, const GPtrArray *candidates);
/* Copies the findings about an equal diff of `attempt` (or ACR_ANY_ATTEMPT); false: there is none. */
bool acr_selection_take_known(const GPtrArray *candidates, AcrCandidate *candidate, guint attempt);
/* Checks the patches from elsewhere, compares all candidates, and lets the model choose among equal
 * ones. UNAVAILABLE: the sandbox failed. */
AcrStep acr_selection_weigh(AcrAttemptWork *work, const GPtrArray *scripts,
                            GError **error) ACR_MUST_USE;
/* Lets the model choose if several changes are equally good (vote.c). */
AcrStep acr_selection_vote(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* The member `candidates` of an AcrOutcome; owned. */
AcrJson *acr_selection_table(const GPtrArray *candidates, const AcrCandidate *best) ACR_MUST_USE;
/* Why the best candidate was chosen, one line; owned. */
char *acr_selection_reason(const GPtrArray *candidates, const AcrCandidate *best) ACR_MUST_USE;

/* ---- The retrieval (retrieval.c) ------------------------------------------------------------- */

/* Runs the retrieval of an attempt into work->retrieved; the model is shown `clue` (taken, may be
 * NULL) with the issue. Errors: those that ended it as FAILED or STOPPED (llm, py, vcs,
 * INTERRUPTED, artifacts'). */
bool acr_retrieval_run(AcrAttemptWork *work, char *clue, GError **error) ACR_MUST_USE;

/* ---- The patch writer (patch_writer.c) ------------------------------------------------------- */

/*
 * Makes one try of the patch writer: asks, applies, saves; sets writer.latest to the result and
 * writer.feedback for the next try. DONE: the patch is applicable. UNAVAILABLE: the model gave no
 * answer (used up, or too long); writer.reason says why.
 */
AcrStep acr_patch_writer_try(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- The reproducer (reproducer.c) ----------------------------------------------------------- */

/* Finds out whether code can be run, if --verify asks for it, and whether the issue can be
 * reproduced. DONE: both are true. */
AcrStep acr_reproducer_guard(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Writes a reproducer and runs it until it fails as the issue says, in at most --tries tries. */
AcrStep acr_reproducer_write(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Rewrites the reproducer as the reviewer says; `message` is taken. DONE: there is a script that
 * could be run, even if it does not reproduce the issue. */
AcrStep acr_reproducer_rewrite(AcrAttemptWork *work, char *message, GError **error) ACR_MUST_USE;
/* Runs the latest script with a patch (NULL: without); `repeat` as in AcrTrial. */
AcrStep acr_reproducer_run(AcrAttemptWork *work, const AcrCandidate *patch, guint repeat,
                           AcrTestVerdict *out, GError **error) ACR_MUST_USE;

/* Makes a script of the issue's examples and runs it without a patch. DONE: *out_script (owned) is
 * one. *out_fails: it reproduces the issue; otherwise all examples print what the issue shows. */
AcrStep acr_issue_draft_try(AcrAttemptWork *work, char **out_script, bool *out_fails,
                            GError **error) ACR_MUST_USE;

/* ---- Validation (validation.c) --------------------------------------------------------------- */

/* The number of tests in the last summary of a test runner in an output; -1: none. */
gint64 acr_tests_counted(GBytes *output);

/* ---- Proof (proof.c) ------------------------------------------------------------------------- */

/* The files that a patch changes, in the form that py/experiments.c takes; owned. */
GByteArray *acr_proof_files(const AcrAttemptWork *work, const AcrOverlay *with,
                            GError **error) ACR_MUST_USE;
/* Makes the experiments with an approved patch, and stores them in its candidate; *out_doubt
 * (owned): why the patch is not verified, or NULL. */
AcrStep acr_proof_judge(AcrAttemptWork *work, const AcrTestVerdict *with_patch, char **out_doubt,
                        GError **error) ACR_MUST_USE;
/* "reproducer_2.py fails without the patch and passes with it; 9 experiments agree"; owned. */
char *acr_proof_words(const AcrAttemptWork *work) ACR_MUST_USE;
/* *out (owned): why running code cannot prove this patch, because of what it adds; NULL: it can. */
bool acr_proof_is_barred(const AcrAttemptWork *work, const AcrOverlay *patch, char **out,
                         GError **error) ACR_MUST_USE;
/* Lists for the reviewer what in the latest patch is not plain code; owned; "": nothing. */
char *acr_proof_doubts_text(const AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- Executions as models are shown them (execution_text.c) ---------------------------------- */

/* Puts a text into a code fence that the text cannot close; owned. */
char *acr_fence_text(const char *language, const char *text) ACR_MUST_USE;
/* One stream, shortened; owned. */
char *acr_stream_text(GBytes *stream) ACR_MUST_USE;
/* "Without the patch, the script exited with 1: …", with both streams; owned. */
char *acr_execution_text(const char *when, const AcrTestVerdict *verdict) ACR_MUST_USE;
/* Describes a validation that rejected a patch: both streams and its exit; owned. */
char *acr_validation_text(const AcrExecuted *executed) ACR_MUST_USE;

/* ---- The review (review.c) ------------------------------------------------------------------- */

/*
 * Reviews the latest patch and script and has them rewritten, until both are right and the
 * validation accepts the patch, or the rounds are used up. DONE: the last patch is approved.
 * NOT_DONE: it is not approved. UNAVAILABLE: the review could not continue.
 */
AcrStep acr_review_run(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

#endif
