/*
 * Private to loops: one attempt's work, which its steps share. The patch writer and the writer of
 * the reproducer each have a conversation and the latest that they have written; the reviewer
 * judges these two; candidates are what an attempt may result in.
 */
#ifndef ACR_LOOPS_ATTEMPT_WORK_H
#define ACR_LOOPS_ATTEMPT_WORK_H

#include "loops/dead_end.h"
#include "loops/retrieval.h"

/* ---- Candidates (candidates.c) --------------------------------------------------------------- */

/* A patch, with what was found of it last. */
typedef struct {
    AcrExtractStatus status;
    AcrOverlay *overlay; /* owned; NULL: it is not applicable */
    GBytes *diff;        /* owned; likewise */
    guint attempt, number;
    AcrProof proof;
    char *why;                /* owned; of the proof, in a line */
    bool is_judged;           /* by review or validation, or neither can judge it */
    bool is_validated;        /* the validation was run on it, where there is one */
    bool is_free;             /* the project's tests ran, and it breaks none */
    bool is_of_tests;         /* it changes tests alone; set where candidates are weighed */
    AcrTestComparison *tests; /* owned; that of AcrOutcome, or NULL */
    AcrJson *experiments;     /* owned; likewise */
    /* Where candidates are compared (selection.c): */
    char *change;     /* owned; that of the same change is equal */
    AcrJson *scripts; /* owned; [{"script", "result"}] of all reproducers */
    guint passes;     /* of these */
    guint agrees;     /* candidates, this one too, that behave as it does */
    guint count;      /* that are the same change */
    AcrJson *votes; /* owned; why the model chose this one among equals, a text each; NULL: never */
    char *doubt;    /* owned; why validation and tests prove nothing, or NULL */
} AcrCandidate;

/* The patches of a run, in the order of writing. */
GPtrArray *acr_candidates_new(void) ACR_MUST_USE; /* owned; of AcrCandidate */
/* Adds a candidate (taken); borrowed from the list. */
AcrCandidate *acr_candidates_add(GPtrArray *candidates, AcrCandidate candidate);
/* Notes how a candidate is proved. `why` is taken. */
void acr_candidate_prove(AcrCandidate *candidate, AcrProof proof, char *why);
#define ACR_ANY_ATTEMPT G_MAXUINT
/* The best of an attempt by the stated order; borrowed, NULL: it has none. Where the same diff was
 * judged last in another attempt, that one. */
AcrCandidate *acr_candidates_best(const GPtrArray *candidates, guint attempt);

/* Whether two are the same change: of equal diffs, or but for whitespace and comments. */
bool acr_candidates_are_same(const AcrCandidate *a, const AcrCandidate *b);
/* How many are the same change as that one, itself too; 0: it is not applicable. */
guint acr_candidates_count_same(const GPtrArray *candidates, const AcrCandidate *candidate);
/* Whether neither is better, by all but the votes. */
bool acr_candidates_are_equal(const AcrCandidate *a, const AcrCandidate *b);
/* How well it is proved, as a number. */
guint acr_candidate_worth(const AcrCandidate *candidate);

/* ---- The work (attempt_work.c) --------------------------------------------------------------- */

typedef struct {
    AcrConversation *conversation; /* NULL before the first try */
    char *feedback;                /* what the next try is told; NULL before the first */
    gsize shown_bytes;             /* of code, issue and feedback each, at most */
    AcrJson *statuses;             /* extract_status.json */
    guint number;                  /* of the latest try, from 1 */
    AcrCandidate *latest;          /* what it gave; borrowed from the candidates, or NULL */
    char *reason;                  /* why the latest try gave no answer, or NULL */
    bool repeats;                  /* the latest answer is one of several equal or empty ones */
} AcrPatchWriter;

typedef struct {
    AcrConversation *conversation;
    char *feedback;        /* what the next try is told, or NULL */
    guint tries;           /* begun, from 1; each has its conv_test_N.json */
    char *script;          /* the latest; NULL: none */
    guint number;          /* of the try that wrote it */
    AcrTestVerdict before; /* what it shows without a patch */
} AcrReproducer;

typedef struct {
    const AcrRun *run;
    guint attempt;   /* from 0 */
    AcrModel *model; /* borrowed */
    AcrRetrieved retrieved;
    AcrPatchWriter writer;
    AcrReproducer reproducer;
    GPtrArray *candidates; /* borrowed; of all attempts */
    GHashTable *said;      /* borrowed; of acr_said_new, of all attempts */
    char *unproved;        /* why nothing can be proved by running code, or NULL */
    AcrDeadEnd dead_end;   /* whether the model is given up */
} AcrAttemptWork;
void acr_attempt_work_begin(AcrAttemptWork *work, const AcrRun *run, guint attempt,
                            GPtrArray *candidates);
void acr_attempt_work_clear(AcrAttemptWork *work);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrAttemptWork, acr_attempt_work_clear)

/* What a step of the work comes to. */
typedef enum {
    ACR_STEP_DONE,
    ACR_STEP_NOT_DONE,    /* all tries were used */
    ACR_STEP_UNAVAILABLE, /* it cannot be done and said why: a used-up script, a lost sandbox */
    ACR_STEP_FAILED,      /* with an error */
} AcrStep;
/* Notes why nothing can be proved, for the user and for the result. */
void acr_step_unproved(AcrAttemptWork *work, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Whether a model gave no answer because none is left or the conversation is too long: the step is
 * left undone then. Other errors are the run's. */
bool acr_step_is_no_answer(const GError *error);
/* A model's call failed. UNAVAILABLE: it gave no answer, and "WHAT: why" is what work->unproved
 * says; else FAILED. `reason` is taken. */
AcrStep acr_step_no_answer(AcrAttemptWork *work, const char *what, GError *reason,
                           GError **error) ACR_MUST_USE;
/* What the patch writer's next try is told in place of the last feedback. `text` is taken. */
void acr_step_tell_writer(AcrAttemptWork *work, char *text);
/* Proves a patch REFUSED for `why` (taken), and tells the patch writer `message`. NOT_DONE. */
AcrStep acr_step_refuse(AcrAttemptWork *work, AcrCandidate *candidate, char *why,
                        const char *message) ACR_MUST_USE;
/* Runs a trial. UNAVAILABLE: the sandbox failed; "WHAT: why" is then what work->unproved says. */
AcrStep acr_step_run(AcrAttemptWork *work, const AcrTrial *trial, const char *what,
                     const AcrExecuted **out, GError **error) ACR_MUST_USE;
/* Asks the extensions' checks and runs --validate on a patch. DONE: it passed, or there is neither;
 * NOT_DONE: one rejected the patch, which is proved REFUSED, and the patch writer is told why. */
AcrStep acr_step_validate(AcrAttemptWork *work, AcrCandidate *candidate,
                          GError **error) ACR_MUST_USE;

/* ---- The project's own tests (regressions.c) ------------------------------------------------- */

/* What the reviewer said of broken tests, by their ids; owned. */
GHashTable *acr_said_new(void) ACR_MUST_USE;
/* Runs them with a patch. DONE: it breaks none, but those that the issue asks to change, or they are not
 * to be run; NOT_DONE: it does, is proved REFUSED, and the patch writer is told. */
AcrStep acr_step_regress(AcrAttemptWork *work, AcrCandidate *candidate,
                         GError **error) ACR_MUST_USE;
/* Fails where there must be tests and none can be run. */
AcrStep acr_step_know_tests(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- Localization (spectrum_clue.c) ---------------------------------------------------------- */

/* Where failing tests, or the reproducer, point, as a clue for the search agent: *out_clue, owned; NULL:
 * nothing. Leaves sbfl.json in the run folder. */
AcrStep acr_step_suspect(AcrAttemptWork *work, bool has_reproducer, char **out_clue,
                         GError **error) ACR_MUST_USE;

/* ---- Observers (observers.c) ----------------------------------------------------------------- */

/* Tells the extensions of a search call before it is made. *out_veto (owned): why it is not made, or
 * NULL. Errors of all: those of acr_extensions_tell. */
bool acr_observe_call(const AcrRun *run, const char *call, char **out_veto,
                      GError **error) ACR_MUST_USE;
/* Of its answer, to which they may add a note. */
bool acr_observe_result(const AcrRun *run, const char *call, AcrAnswer *answer,
                        GError **error) ACR_MUST_USE;
/* Of what a try of the patch writer came to. */
bool acr_observe_patch(const AcrAttemptWork *work, const AcrPatchResult *patch,
                       GError **error) ACR_MUST_USE;

/* ---- Selection (selection.c) ----------------------------------------------------------------- */

/* Scripts that showed the issue, of all attempts; owned. */
GPtrArray *acr_scripts_new(void) ACR_MUST_USE;
/* Adds that of an attempt, if it has one. */
void acr_scripts_keep(GPtrArray *scripts, const AcrAttemptWork *work);
/* Adds the patches from elsewhere. */
bool acr_selection_add_given(GPtrArray *candidates, const AcrRun *run, GError **error) ACR_MUST_USE;
/* Checks those, runs all against all scripts, and counts what is alike. UNAVAILABLE: the sandbox failed. */
AcrStep acr_selection_weigh(AcrAttemptWork *work, const GPtrArray *scripts,
                            GError **error) ACR_MUST_USE;
/* Lets the model choose where several changes are equally the best (vote.c). */
AcrStep acr_selection_vote(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* `candidates` of an AcrOutcome; owned. */
AcrJson *acr_selection_table(const GPtrArray *candidates, const AcrCandidate *best) ACR_MUST_USE;
/* Why the best was chosen, in a line; owned. */
char *acr_selection_reason(const GPtrArray *candidates, const AcrCandidate *best) ACR_MUST_USE;

/* ---- The retrieval (retrieval.c) ------------------------------------------------------------- */

/* Runs the retrieval of an attempt into work->retrieved; the model is told `clue` (taken, may be
 * NULL) with the issue. Errors: whatever made it FAILED or STOPPED (llm, py, vcs, INTERRUPTED,
 * artifacts'). */
bool acr_retrieval_run(AcrAttemptWork *work, char *clue, GError **error) ACR_MUST_USE;

/* ---- The patch writer (patch_writer.c) ------------------------------------------------------- */

/*
 * One try of the patch writer: asks, applies, saves; writer.latest is its result, and
 * writer.feedback the message for the next one. DONE: it is applicable. UNAVAILABLE: the model gives
 * no answer (used up, or too long); writer.reason says why.
 */
AcrStep acr_patch_writer_try(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- The reproducer (reproducer.c) ----------------------------------------------------------- */

/* Whether code can be run, as far as --verify asks for it, and whether the issue can be reproduced.
 * DONE: both. */
AcrStep acr_reproducer_guard(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Writes a reproducer and sees it fail, in at most --tries tries. */
AcrStep acr_reproducer_write(AcrAttemptWork *work, GError **error) ACR_MUST_USE;
/* Writes it again as the reviewer says; `message` is taken. DONE: there is one that could be run,
 * whether it reproduces the issue or not. */
AcrStep acr_reproducer_rewrite(AcrAttemptWork *work, char *message, GError **error) ACR_MUST_USE;
/* Runs the latest script with a patch (NULL: without); `repeat` as of AcrTrial. */
AcrStep acr_reproducer_run(AcrAttemptWork *work, const AcrCandidate *patch, guint repeat,
                           AcrTestVerdict *out, GError **error) ACR_MUST_USE;

/* ---- Validation (validation.c) --------------------------------------------------------------- */

/* The tests that the last summary of a test runner in an output counts as run; -1: there is none. */
gint64 acr_tests_counted(GBytes *output);

/* ---- Proof (proof.c) ------------------------------------------------------------------------- */

/* The files that a patch touches, as py/experiments.c takes them; owned. */
GByteArray *acr_proof_files(const AcrAttemptWork *work, const AcrOverlay *with,
                            GError **error) ACR_MUST_USE;
/* Makes the experiments with an approved patch, into its candidate; *out_doubt (owned): why it is not
 * verified, or NULL. */
AcrStep acr_proof_judge(AcrAttemptWork *work, const AcrTestVerdict *with_patch, char **out_doubt,
                        GError **error) ACR_MUST_USE;
/* "reproducer_2.py fails without the patch and passes with it; 9 experiments agree"; owned. */
char *acr_proof_words(const AcrAttemptWork *work) ACR_MUST_USE;
/* *out (owned): why no run of code proves anything of a patch, by what it adds; NULL: it may. */
bool acr_proof_is_barred(const AcrAttemptWork *work, const AcrOverlay *patch, char **out,
                         GError **error) ACR_MUST_USE;
/* What in the latest patch is not plain code, as the reviewer sees it; owned, "" where there is nothing. */
char *acr_proof_doubts_text(const AcrAttemptWork *work, GError **error) ACR_MUST_USE;

/* ---- Executions as models are shown them (execution_text.c) ---------------------------------- */

/* A text between fences that it cannot close; owned. */
char *acr_fence_text(const char *language, const char *text) ACR_MUST_USE;
/* One stream, shortened; owned. */
char *acr_stream_text(GBytes *stream) ACR_MUST_USE;
/* "Without the patch, the script exited with 1: …", with both streams; owned. */
char *acr_execution_text(const char *when, const AcrTestVerdict *verdict) ACR_MUST_USE;
/* Both streams of a validation that rejected a patch, and how it ended; owned. */
char *acr_validation_text(const AcrExecuted *executed) ACR_MUST_USE;

/* ---- The review (review.c) ------------------------------------------------------------------- */

/*
 * Reviews the latest patch and test, and rewrites them, until both are right and the validation
 * accepts the patch, or no round is left. DONE: the last patch is approved. NOT_DONE: it is not.
 * UNAVAILABLE: the review could not go on.
 */
AcrStep acr_review_run(AcrAttemptWork *work, GError **error) ACR_MUST_USE;

#endif
