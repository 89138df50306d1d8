/*
 * The pure machines of the loops: state x event -> next state and what to do there. No I/O, no
 * time, no memory beyond the struct, so that every transition is a table row with a test.
 */
#ifndef ACR_MACHINES_H
#define ACR_MACHINES_H

#include <glib.h>
#include <stdbool.h>

/* ---- Retrieval ------------------------------------------------------------------------------- */

typedef enum {
    ACR_RETRIEVAL_SELECT,  /* the model chooses calls or names places */
    ACR_RETRIEVAL_EXTRACT, /* the proxy turns the answer into JSON */
    ACR_RETRIEVAL_SEARCH,  /* the calls are answered */
    ACR_RETRIEVAL_ANALYSE, /* the model reads the results */
    ACR_RETRIEVAL_LOCATE,  /* the named places are resolved to code */
    ACR_RETRIEVAL_DONE,
    ACR_RETRIEVAL_EXHAUSTED, /* patch writing continues with the conversation as its context */
    ACR_RETRIEVAL_FAILED,
    ACR_RETRIEVAL_STOPPED,
    ACR_RETRIEVAL_STATES,
} AcrRetrievalState;

typedef enum {
    ACR_RETRIEVAL_ON_ANSWER,          /* SELECT, ANALYSE: the model has answered */
    ACR_RETRIEVAL_ON_INVALID,         /* EXTRACT: no JSON, or neither calls nor locations */
    ACR_RETRIEVAL_ON_CALLS,           /* EXTRACT: there are API calls */
    ACR_RETRIEVAL_ON_LOCATIONS,       /* EXTRACT: only bug locations */
    ACR_RETRIEVAL_ON_RESULTS,         /* SEARCH: the calls were answered, even by misses */
    ACR_RETRIEVAL_ON_FOUND,           /* LOCATE: at least one real place */
    ACR_RETRIEVAL_ON_NOT_FOUND,       /* LOCATE: none */
    ACR_RETRIEVAL_ON_SHORTENED,       /* the context overflowed and something could be shortened */
    ACR_RETRIEVAL_ON_NOT_SHORTENABLE, /* the context overflowed and nothing can be shortened */
    ACR_RETRIEVAL_ON_USED_UP,         /* a script has no line left */
    ACR_RETRIEVAL_ON_DEAD_END,        /* the model repeats itself, or leads nowhere */
    ACR_RETRIEVAL_ON_FAILED,          /* the model failed permanently, or the run was interrupted */
    ACR_RETRIEVAL_ON_CEILING,         /* of money, tokens or time */
    ACR_RETRIEVAL_EVENTS,
} AcrRetrievalEvent;

/* The question on entering SELECT. */
typedef enum {
    ACR_ASK_START, /* the issue and the calls */
    ACR_ASK_NEXT,  /* is more context needed, or where is the bug and what should happen instead? */
    ACR_ASK_CHECK_CALLS, /* check the calls and their arguments */
    ACR_ASK_NO_PLACE,    /* none of the places exists */
    ACR_ASK_AGAIN,       /* the same question once more, after results were shortened */
} AcrRetrievalAsk;

#define ACR_EXTRACT_TRIES 5

typedef struct {
    AcrRetrievalState state;
    AcrRetrievalAsk ask;
    guint round; /* 1-based; a round begins on entering SELECT */
    guint max_rounds;
    guint invalid; /* invalid extract answers in this round */
} AcrRetrieval;

/* In SELECT of round 1; `max_rounds` 0: EXHAUSTED at once. */
AcrRetrieval acr_retrieval_begin(guint max_rounds);
/* Makes the transition. False, and nothing changed, when the event cannot occur in the state. */
bool acr_retrieval_step(AcrRetrieval *machine, AcrRetrievalEvent event);
#define acr_retrieval_is_over(machine) ((machine)->state >= ACR_RETRIEVAL_DONE)

/* ---- Review ---------------------------------------------------------------------------------- */

typedef enum {
    ACR_REVIEW_EXECUTE,  /* runs the test without and with the patch, unless it has */
    ACR_REVIEW_JUDGE,    /* the reviewer judges patch and test; a round begins on entering it */
    ACR_REVIEW_TEST,     /* the test is rewritten */
    ACR_REVIEW_PATCH,    /* the patch is rewritten */
    ACR_REVIEW_VALIDATE, /* both are right: validates the patch */
    ACR_REVIEW_REGRESS,  /* the validation accepted it: runs the project's tests */
    ACR_REVIEW_APPROVED,
    ACR_REVIEW_EXHAUSTED, /* rounds or tries are used up: the best so far is kept */
    ACR_REVIEW_GAVE_UP,   /* it cannot continue: no sandbox, no reviewer; the reason was reported */
    ACR_REVIEW_FAILED,
    ACR_REVIEW_STOPPED,
    ACR_REVIEW_STATES,
} AcrReviewState;

typedef enum {
    ACR_REVIEW_ON_RAN,     /* EXECUTE */
    ACR_REVIEW_ON_YES_YES, /* JUDGE: patch and test are right */
    ACR_REVIEW_ON_YES_NO,  /* JUDGE: the patch is right, the test is not */
    ACR_REVIEW_ON_NO_YES,
    ACR_REVIEW_ON_NO_NO,
    ACR_REVIEW_ON_INVALID,     /* JUDGE: an answer that cannot be parsed */
    ACR_REVIEW_ON_WRITTEN,     /* PATCH: an applicable one; TEST: one that could be run */
    ACR_REVIEW_ON_NOT_WRITTEN, /* PATCH, TEST: all tries failed */
    ACR_REVIEW_ON_PASSED,      /* VALIDATE, REGRESS: accepted, or there is no check */
    ACR_REVIEW_ON_REFUSED,     /* VALIDATE, REGRESS: rejected; the patch writer gets the reason */
    ACR_REVIEW_ON_UNAVAILABLE, /* any: the step cannot be done (a used-up script, a lost sandbox) */
    ACR_REVIEW_ON_FAILED,
    ACR_REVIEW_ON_CEILING,
    ACR_REVIEW_EVENTS,
} AcrReviewEvent;

#define ACR_REVIEW_ROUNDS 5
#define ACR_REVIEW_TRIES 5 /* answers that cannot be parsed, in a round */

typedef struct {
    AcrReviewState state;
    guint round;   /* 1-based number of JUDGE; 0: not yet */
    guint invalid; /* unparsable answers in this round */
    bool test_too; /* in PATCH: then rewrite the test */
} AcrReview;

/* In EXECUTE, before round 1. */
AcrReview acr_review_begin(void);
/* Makes the transition. False, and nothing changed, when the event cannot occur in the state. */
bool acr_review_step(AcrReview *machine, AcrReviewEvent event);
#define acr_review_is_over(machine) ((machine)->state >= ACR_REVIEW_APPROVED)

/* ---- Attempt --------------------------------------------------------------------------------- */

typedef enum {
    ACR_ATTEMPT_GUARD,     /* can code be run, and the issue be reproduced? */
    ACR_ATTEMPT_REPRODUCE, /* write a reproducer and see it fail */
    ACR_ATTEMPT_RETRIEVE,
    ACR_ATTEMPT_PATCH,    /* one try of the patch writer */
    ACR_ATTEMPT_REVIEW,   /* patch and test judged by their executions, and validated */
    ACR_ATTEMPT_VALIDATE, /* without a reproducer, or if the review stopped */
    ACR_ATTEMPT_REGRESS,  /* runs the project's tests that passed without the patch */
    ACR_ATTEMPT_SELECT,   /* the attempt is over: takes the next one, or chooses among all */
    ACR_ATTEMPT_WEIGH, /* all attempts are over, or there are none: weighs patches from elsewhere */
    ACR_ATTEMPT_DONE,
    ACR_ATTEMPT_FAILED,
    ACR_ATTEMPT_STOPPED,
    ACR_ATTEMPT_STATES,
} AcrAttemptState;

typedef enum {
    /* GUARD: reproducible; REPRODUCE: reproduced; RETRIEVE: over; PATCH: applicable; REVIEW:
     * approved; VALIDATE, REGRESS: passed; SELECT: the attempt's patch ends the run */
    ACR_ATTEMPT_ON_OK,
    ACR_ATTEMPT_ON_UNAVAILABLE, /* the step cannot be done, and the reason was reported */
    /* PATCH, VALIDATE, REGRESS: the patch is not good; REVIEW: none approved; SELECT: no patch of
     * the attempt ends the run */
    ACR_ATTEMPT_ON_REFUSED,
    ACR_ATTEMPT_ON_USED_UP, /* PATCH: a script has no line left; the attempt ends */
    ACR_ATTEMPT_ON_FAILED,
    ACR_ATTEMPT_ON_CEILING,
    ACR_ATTEMPT_ON_AGAIN, /* SELECT: another patch is to be written from the same retrieval */
    ACR_ATTEMPT_EVENTS,
} AcrAttemptEvent;

typedef struct {
    AcrAttemptState state;
    guint attempt; /* 0-based */
    guint max_attempts;
    guint tries; /* patch tries begun in this attempt, 1-based in PATCH */
    guint max_tries;
    bool reproducer; /* this attempt has one */
} AcrAttempt;

/* In GUARD of the first attempt; `max_attempts` 0: in WEIGH. */
AcrAttempt acr_attempt_begin(guint max_attempts, guint max_tries);
bool acr_attempt_step(AcrAttempt *machine, AcrAttemptEvent event);
#define acr_attempt_is_over(machine) ((machine)->state >= ACR_ATTEMPT_DONE)

#endif
