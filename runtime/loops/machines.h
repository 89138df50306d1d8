/* The state machines of the loops: state x event -> next state. They use no I/O, no time, and no
 * memory outside the struct, so that every transition is a table row with a test. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* ---- Retrieval ------------------------------------------------------------------------------- */

typedef enum {
    ACR_RETRIEVAL_SELECT,  /* the model chooses search calls, or names bug locations */
    ACR_RETRIEVAL_EXTRACT, /* the extract agent turns the answer into JSON */
    ACR_RETRIEVAL_SEARCH,  /* the calls are answered */
    ACR_RETRIEVAL_ANALYSE, /* the model reads the results */
    ACR_RETRIEVAL_LOCATE,  /* the named places are resolved to code */
    ACR_RETRIEVAL_DONE,
    ACR_RETRIEVAL_EXHAUSTED, /* the patch writer continues with the retrieval conversation */
    ACR_RETRIEVAL_FAILED,
    ACR_RETRIEVAL_STOPPED,
    ACR_RETRIEVAL_STATES,
} AcrRetrievalState;

typedef enum {
    ACR_RETRIEVAL_ON_ANSWER, /* SELECT, ANALYSE: the model has answered */
    /* EXTRACT: the answer has no JSON, or neither calls nor locations */
    ACR_RETRIEVAL_ON_INVALID,
    ACR_RETRIEVAL_ON_CALLS,           /* EXTRACT: the answer has API calls */
    ACR_RETRIEVAL_ON_LOCATIONS,       /* EXTRACT: the answer has only bug locations */
    ACR_RETRIEVAL_ON_RESULTS,         /* SEARCH: the calls were answered, perhaps without results */
    ACR_RETRIEVAL_ON_FOUND,           /* LOCATE: at least one of the places exists */
    ACR_RETRIEVAL_ON_NOT_FOUND,       /* LOCATE: no place exists */
    ACR_RETRIEVAL_ON_SHORTENED,       /* the context overflowed and something could be shortened */
    ACR_RETRIEVAL_ON_NOT_SHORTENABLE, /* the context overflowed and nothing can be shortened */
    ACR_RETRIEVAL_ON_USED_UP,         /* a scripted model has no answer left */
    ACR_RETRIEVAL_ON_DEAD_END,        /* the model repeats itself or makes no progress */
    ACR_RETRIEVAL_ON_FAILED,          /* the model failed permanently, or the run was interrupted */
    ACR_RETRIEVAL_ON_CEILING,         /* a limit on money, tokens or time was reached */
    ACR_RETRIEVAL_EVENTS,
} AcrRetrievalEvent;

/* The question that the search agent gets in state SELECT. */
typedef enum {
    ACR_ASK_START, /* shows the issue and the calls */
    ACR_ASK_NEXT,  /* asks for more calls, or for the bug's place and the intended behaviour */
    ACR_ASK_CHECK_CALLS, /* says that the calls or their arguments are wrong */
    ACR_ASK_NO_PLACE,    /* says that none of the places exists */
    ACR_ASK_AGAIN,       /* repeats the question after search results were shortened */
} AcrRetrievalAsk;

#define ACR_EXTRACT_TRIES 5

typedef struct {
    AcrRetrievalState state;
    AcrRetrievalAsk ask;
    guint round; /* counted from 1; a round begins when the machine enters SELECT */
    guint max_rounds;
    guint invalid; /* number of invalid extract answers in this round */
} AcrRetrieval;

/* Returns a machine in state SELECT of round 1, or in state EXHAUSTED if `max_rounds` is 0. */
AcrRetrieval acr_retrieval_begin(guint max_rounds);
/* Makes the transition. Returns false and changes nothing if the state has no such event. */
bool acr_retrieval_step(AcrRetrieval *machine, AcrRetrievalEvent event);
#define acr_retrieval_is_over(machine) ((machine)->state >= ACR_RETRIEVAL_DONE)

/* ---- Review ---------------------------------------------------------------------------------- */

typedef enum {
    ACR_REVIEW_EXECUTE, /* the test runs without and with the patch, unless it already did */
    /* the reviewer judges patch and test; a round begins when the machine enters this state */
    ACR_REVIEW_JUDGE,
    ACR_REVIEW_TEST,     /* the test is rewritten */
    ACR_REVIEW_PATCH,    /* the patch is rewritten */
    ACR_REVIEW_VALIDATE, /* the reviewer approved patch and test, so the patch is validated */
    ACR_REVIEW_REGRESS,  /* the validation accepted the patch, so the project's tests run */
    ACR_REVIEW_APPROVED,
    ACR_REVIEW_EXHAUSTED, /* rounds or tries are used up, so the best result so far is kept */
    /* the review cannot continue (no sandbox, or no reviewer); the reason was reported */
    ACR_REVIEW_GAVE_UP,
    ACR_REVIEW_FAILED,
    ACR_REVIEW_STOPPED,
    ACR_REVIEW_STATES,
} AcrReviewState;

typedef enum {
    ACR_REVIEW_ON_RAN,     /* EXECUTE: the test has run */
    ACR_REVIEW_ON_YES_YES, /* JUDGE: patch and test are right */
    ACR_REVIEW_ON_YES_NO,  /* JUDGE: the patch is right, the test is wrong */
    ACR_REVIEW_ON_NO_YES,
    ACR_REVIEW_ON_NO_NO,
    ACR_REVIEW_ON_INVALID,     /* JUDGE: the answer cannot be parsed */
    ACR_REVIEW_ON_WRITTEN,     /* PATCH: the patch applies; TEST: the test could be run */
    ACR_REVIEW_ON_NOT_WRITTEN, /* PATCH, TEST: all tries failed */
    ACR_REVIEW_ON_PASSED,      /* VALIDATE, REGRESS: the patch was accepted, or there is no check */
    /* VALIDATE, REGRESS: the patch was rejected, and the patch writer gets the reason */
    ACR_REVIEW_ON_REFUSED,
    /* any state: the step cannot be done (a script is used up, or the sandbox is lost) */
    ACR_REVIEW_ON_UNAVAILABLE,
    ACR_REVIEW_ON_FAILED,
    ACR_REVIEW_ON_CEILING,
    ACR_REVIEW_EVENTS,
} AcrReviewEvent;

#define ACR_REVIEW_ROUNDS 5
#define ACR_REVIEW_TRIES 5 /* maximum number of answers in one round that cannot be parsed */

typedef struct {
    AcrReviewState state;
    guint round;   /* number of the JUDGE round, from 1; 0 if there was none */
    guint invalid; /* number of answers in this round that cannot be parsed */
    bool test_too; /* in PATCH: the test must be rewritten after the patch */
} AcrReview;

/* Returns a machine in state EXECUTE, before round 1. */
AcrReview acr_review_begin(void);
/* Makes the transition. Returns false and changes nothing if the state has no such event. */
bool acr_review_step(AcrReview *machine, AcrReviewEvent event);
#define acr_review_is_over(machine) ((machine)->state >= ACR_REVIEW_APPROVED)

/* ---- Attempt --------------------------------------------------------------------------------- */

typedef enum {
    ACR_ATTEMPT_GUARD,     /* finds out whether code can be run and the issue can be reproduced */
    ACR_ATTEMPT_REPRODUCE, /* writes a reproducer and runs it until it fails */
    ACR_ATTEMPT_RETRIEVE,
    ACR_ATTEMPT_PATCH,    /* makes one try of the patch writer */
    ACR_ATTEMPT_REVIEW,   /* judges patch and test by their executions, and validates the patch */
    ACR_ATTEMPT_VALIDATE, /* validates without a reproducer, or after a review that stopped */
    ACR_ATTEMPT_REGRESS,  /* runs the project's tests that passed without the patch */
    /* ends the attempt: begins the next attempt, or chooses among all candidates */
    ACR_ATTEMPT_SELECT,
    /* compares the candidates with the given patches, after all attempts or without attempts */
    ACR_ATTEMPT_WEIGH,
    ACR_ATTEMPT_DONE,
    ACR_ATTEMPT_FAILED,
    ACR_ATTEMPT_STOPPED,
    ACR_ATTEMPT_STATES,
} AcrAttemptState;

typedef enum {
    /* GUARD: reproducible; REPRODUCE: reproduced; RETRIEVE: ended; PATCH: applicable; REVIEW:
     * approved; VALIDATE, REGRESS: passed; SELECT: the attempt's patch ends the run */
    ACR_ATTEMPT_ON_OK,
    ACR_ATTEMPT_ON_UNAVAILABLE, /* the step cannot be done, and the reason was reported */
    /* PATCH, VALIDATE, REGRESS: the patch was rejected; REVIEW: no patch is approved; SELECT: no
     * patch of the attempt ends the run */
    ACR_ATTEMPT_ON_REFUSED,
    ACR_ATTEMPT_ON_USED_UP, /* PATCH: a scripted model has no answer left, so the attempt ends */
    ACR_ATTEMPT_ON_FAILED,
    ACR_ATTEMPT_ON_CEILING,
    ACR_ATTEMPT_ON_AGAIN, /* SELECT: another patch will be written from the same retrieval */
    ACR_ATTEMPT_EVENTS,
} AcrAttemptEvent;

typedef struct {
    AcrAttemptState state;
    guint attempt; /* number of the attempt, from 0 */
    guint max_attempts;
    guint tries; /* number of tries of the patch writer in this attempt */
    guint max_tries;
    bool reproducer; /* this attempt has a reproducer */
} AcrAttempt;

/* Returns a machine in GUARD of the first attempt, or in WEIGH if `max_attempts` is 0. */
AcrAttempt acr_attempt_begin(guint max_attempts, guint max_tries);
bool acr_attempt_step(AcrAttempt *machine, AcrAttemptEvent event);
#define acr_attempt_is_over(machine) ((machine)->state >= ACR_ATTEMPT_DONE)
