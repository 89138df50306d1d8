/*
 * Private to loops: one attempt's work, which its steps share. The patch writer and the writer of
 * the reproducer each have a conversation and the latest that they have written; the reviewer
 * judges these two; candidates are what an attempt may result in.
 */
#ifndef ACR_LOOPS_WORK_H
#define ACR_LOOPS_WORK_H

#include "loops/loops_private.h"

#define ACR_TRIAL_SHOWN_BYTES (8u * 1024)  /* of each stream, to a model */
#define ACR_PATCH_SHOWN_BYTES (64u * 1024) /* of a patch, to the reviewer and the test's writer */

/* ---- Candidates (candidates.c) ------------------------------------------------------------------
 */

/* A patch. */
typedef struct {
    AcrExtractStatus status;
    AcrOverlay *overlay; /* owned; NULL: it is not applicable */
    GBytes *diff;        /* owned; likewise */
    guint attempt, number;
    AcrProof proof;
    char *why;         /* owned; of the proof, in a line */
    bool is_validated; /* the validation was asked, where there is one */
} AcrCandidate;
void acr_candidate_clear(AcrCandidate *candidate);
/* Notes how a candidate is proved. `why` is taken. */
void acr_candidate_prove(AcrCandidate *candidate, AcrProof proof, char *why);
/* Makes *best the candidate (taken, and empty then) if that is better by the stated order; else
 * frees it. */
void acr_candidate_offer(AcrCandidate *best, AcrCandidate *candidate);

/* The patches of an attempt, each with what was found of it last. */
GPtrArray *acr_candidates_new(void) ACR_MUST_USE; /* owned; of AcrCandidate */
/* Adds a candidate (taken, and empty then); of the same number it takes the other's place. */
void acr_candidates_put(GPtrArray *candidates, AcrCandidate *candidate);
/* The best by the stated order; borrowed, NULL: there is none. */
AcrCandidate *acr_candidates_best(const GPtrArray *candidates);

/* ---- The patch writer (patching.c) --------------------------------------------------------------
 */

enum { ACR_PART_CODE, ACR_PART_ISSUE, ACR_PART_FEEDBACK, ACR_PARTS };

typedef struct {
    AcrConversation *conversation; /* NULL before the first try */
    char *feedback;                /* what the next try is told; NULL before the first */
    gsize shown[ACR_PARTS];        /* bytes of each part that are shown at most */
    AcrJson *statuses;             /* extract_status.json */
    guint number;                  /* of the latest try, from 1 */
    AcrCandidate latest;           /* what it gave */
    bool is_kept;                  /* that was judged, and is one of the candidates */
    char *reason;                  /* why the latest try gave no answer, or NULL */
} AcrPatching;

/* ---- The reproducer (testing.c) -----------------------------------------------------------------
 */

typedef struct {
    AcrConversation *conversation;
    char *feedback;              /* what the next try is told, or NULL */
    guint tries;                 /* begun, from 1; each has its conv_test_N.json */
    char *script;                /* the latest; NULL: none */
    guint number;                /* of the try that wrote it */
    AcrTestVerdict before;       /* what it shows without a patch */
    const AcrExecuted *executed; /* likewise; borrowed from the executor */
} AcrTesting;

/* ---- Work ---------------------------------------------------------------------------------------
 */

typedef struct {
    const AcrRun *run;
    guint attempt;   /* from 0 */
    AcrModel *model; /* borrowed */
    AcrRetrieved retrieved;
    AcrPatching patching;
    AcrTesting testing;
    GPtrArray *candidates; /* owned; see acr_candidates_new */
    char *unproved;        /* why nothing can be proved by running code, or NULL */
} AcrWork;
void acr_work_begin(AcrWork *work, const AcrRun *run, guint attempt);
void acr_work_clear(AcrWork *work);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrWork, acr_work_clear)
/* Notes why nothing can be proved, for the user and for the result. */
void acr_work_unproved(AcrWork *work, const char *format, ...) G_GNUC_PRINTF(2, 3);

typedef enum {
    ACR_STEP_DONE,
    ACR_STEP_NOT_DONE,    /* all tries were used */
    ACR_STEP_UNAVAILABLE, /* it cannot be done: a used-up script, a sandbox that fails; said */
    ACR_STEP_FAILED,      /* with an error */
} AcrStep;

/*
 * One try of the patch writer: asks, applies, saves; patching.latest is what came of it, and
 * patching.feedback what the next one is told. DONE: it is applicable. UNAVAILABLE: there is no
 * answer to be had (used up, or too long); patching.reason says why.
 */
AcrStep acr_patching_try(AcrWork *work, GError **error);
/* What the next try is told in place of the feedback of the last one. `text` is taken. */
void acr_patching_tell(AcrWork *work, char *text);

/* Whether a model gave no answer because none is left or the conversation is too long: what was
 * asked for is left undone then. Other errors are the run's. */
bool acr_work_is_no_answer(const GError *error);
/* Runs a trial. UNAVAILABLE: the sandbox failed; "WHAT: why" is then what work->unproved says. */
AcrStep acr_work_run(AcrWork *work, const AcrTrial *trial, const char *what,
                     const AcrExecuted **out, GError **error);

/* Asks whether the issue can be reproduced. DONE: it can. */
AcrStep acr_testing_guard(AcrWork *work, GError **error);
/* Writes a reproducer and sees it fail, in at most so many tries. */
AcrStep acr_testing_write(AcrWork *work, guint tries, GError **error);
/* Writes it again as the reviewer says; `message` is taken. DONE: there is one that could be run,
 * red or not. */
AcrStep acr_testing_rewrite(AcrWork *work, char *message, guint tries, GError **error);
/* Runs the latest script with a patch (NULL: without). `patch` is its number, for files. */
AcrStep acr_testing_run(AcrWork *work, const AcrOverlay *overlay, guint patch, guint repeat,
                        const AcrExecuted **out, AcrTestVerdict *out_verdict, GError **error);
/* "Without the patch, the script exited with 1: …", with both streams; owned. */
char *acr_testing_describe(const char *when, const AcrExecuted *executed,
                           const AcrTestVerdict *verdict) ACR_MUST_USE;

/*
 * Reviews the latest patch and test, and rewrites them, until both are right and the validation
 * accepts the patch, or no round is left. Each patch that was judged is put among the candidates.
 * DONE: the last one is approved. NOT_DONE: it is not. UNAVAILABLE: the review could not go on.
 */
AcrStep acr_review_run(AcrWork *work, GError **error);

/* What the patch writer is told of a validation that refused its patch: both streams, and how it
 * ended; owned. */
char *acr_validation_message(const AcrExecuted *executed) ACR_MUST_USE;
/* Runs --validate on a patch. DONE: it passed, or there is no such command; NOT_DONE: it refused,
 * and *out_message (owned) is what it printed. */
AcrStep acr_validate(AcrWork *work, const AcrCandidate *candidate, char **out_message,
                     GError **error);

#endif
