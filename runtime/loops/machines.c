/* The three machines. Each has a table of (state, event, next state); its step function looks up
 * the row, and then updates the counters.
 *   retrieval  select -> extract -> search -> analyse, round by round, until bug locations are
 *              found
 *   attempt    guard -> reproducer -> retrieval -> patch -> review -> select; without a reproducer
 *              validation -> regressions replace the review; an impossible step is skipped
 *   review     the test runs with the patch; the reviewer judges both; a wrong patch is rewritten
 *              first, then a wrong test, until both are right or the rounds are used up */
#include "loops/machines.h"

#define ANY (-1) /* matches every state except end states */

typedef struct {
    int state, event, next;
    AcrRetrievalAsk ask; /* the question to ask if the next state of a retrieval is SELECT */
} Row;

/* Returns the first row for the event in the state; NULL if the state does not allow the event. */
static const Row *find_row(const Row *rows, gsize n, int state, int event)
{
    for (gsize i = 0; i < n; i++)
        if ((rows[i].state == state || rows[i].state == ANY) && rows[i].event == event)
            return &rows[i];
    return NULL;
}

/* ---- Retrieval ------------------------------------------------------------------------------- */

#define S(name) ACR_RETRIEVAL_##name
#define ON(name) ACR_RETRIEVAL_ON_##name

static const Row retrieval_rows[] = {
    {S(SELECT), ON(ANSWER), S(EXTRACT), 0},
    {S(SELECT), ON(SHORTENED), S(SELECT), ACR_ASK_AGAIN},
    {S(SELECT), ON(NOT_SHORTENABLE), S(EXHAUSTED), 0},
    {S(SELECT), ON(USED_UP), S(EXHAUSTED), 0},
    {S(SELECT), ON(DEAD_END), S(EXHAUSTED), 0},
    /* after the fifth invalid answer in a round, acr_retrieval_step goes to SELECT */
    {S(EXTRACT), ON(INVALID), S(EXTRACT), 0},
    {S(EXTRACT), ON(CALLS), S(SEARCH), 0},
    {S(EXTRACT), ON(LOCATIONS), S(LOCATE), 0},
    {S(EXTRACT), ON(SHORTENED), S(EXTRACT), 0},
    {S(EXTRACT), ON(NOT_SHORTENABLE), S(EXHAUSTED), 0},
    {S(EXTRACT), ON(USED_UP), S(EXHAUSTED), 0},
    {S(EXTRACT), ON(DEAD_END), S(EXHAUSTED), 0},
    {S(SEARCH), ON(RESULTS), S(ANALYSE), 0},
    {S(SEARCH), ON(DEAD_END), S(EXHAUSTED), 0},
    {S(ANALYSE), ON(ANSWER), S(SELECT), ACR_ASK_NEXT},
    {S(ANALYSE), ON(SHORTENED), S(ANALYSE), 0},
    {S(ANALYSE), ON(NOT_SHORTENABLE), S(EXHAUSTED), 0},
    {S(ANALYSE), ON(USED_UP), S(EXHAUSTED), 0},
    {S(ANALYSE), ON(DEAD_END), S(EXHAUSTED), 0},
    {S(LOCATE), ON(FOUND), S(DONE), 0},
    {S(LOCATE), ON(NOT_FOUND), S(SELECT), ACR_ASK_NO_PLACE},
    {S(LOCATE), ON(DEAD_END), S(EXHAUSTED), 0},
    {ANY, ON(FAILED), S(FAILED), 0},
    {ANY, ON(CEILING), S(STOPPED), 0},
};

AcrRetrieval acr_retrieval_begin(guint max_rounds)
{
    return (AcrRetrieval){.state = max_rounds ? S(SELECT) : S(EXHAUSTED),
                          .ask = ACR_ASK_START,
                          .round = 1,
                          .max_rounds = max_rounds};
}

/* Begins a round; goes to EXHAUSTED if the rounds are used up. */
static void enter_select(AcrRetrieval *machine, AcrRetrievalAsk ask)
{
    if (machine->round >= machine->max_rounds) {
        machine->state = S(EXHAUSTED);
        return;
    }
    machine->state = S(SELECT);
    machine->ask = ask;
    machine->round++;
    machine->invalid = 0;
}

bool acr_retrieval_step(AcrRetrieval *machine, AcrRetrievalEvent event)
{
    const Row *row =
        find_row(retrieval_rows, G_N_ELEMENTS(retrieval_rows), (int)machine->state, (int)event);
    if (acr_retrieval_is_over(machine) || !row)
        return false;
    if (event == ON(INVALID) && ++machine->invalid >= ACR_EXTRACT_TRIES)
        enter_select(machine, ACR_ASK_CHECK_CALLS);
    else if (row->ask == ACR_ASK_AGAIN)
        machine->ask = row->ask; /* the same round continues */
    else if (row->next == S(SELECT))
        enter_select(machine, row->ask);
    else
        machine->state = (AcrRetrievalState)row->next;
    return true;
}

#undef S
#undef ON

/* ---- Attempt --------------------------------------------------------------------------------- */

#define S(name) ACR_ATTEMPT_##name
#define ON(name) ACR_ATTEMPT_ON_##name

static const Row attempt_rows[] = {
    {S(GUARD), ON(OK), S(REPRODUCE), 0},
    {S(GUARD), ON(UNAVAILABLE), S(RETRIEVE), 0},
    {S(REPRODUCE), ON(OK), S(RETRIEVE), 0},
    {S(REPRODUCE), ON(UNAVAILABLE), S(RETRIEVE), 0},
    {S(RETRIEVE), ON(OK), S(PATCH), 0},
    {S(PATCH), ON(OK), S(REVIEW), 0}, /* without a reproducer, acr_attempt_step goes to VALIDATE */
    {S(PATCH), ON(REFUSED), S(PATCH), 0},
    {S(PATCH), ON(USED_UP), S(SELECT), 0},
    /* the review has already validated the patch */
    {S(REVIEW), ON(OK), S(SELECT), 0},
    {S(REVIEW), ON(UNAVAILABLE), S(VALIDATE), 0},
    {S(REVIEW), ON(REFUSED), S(SELECT), 0},
    {S(VALIDATE), ON(OK), S(REGRESS), 0},
    {S(VALIDATE), ON(UNAVAILABLE), S(REGRESS), 0},
    {S(VALIDATE), ON(REFUSED), S(PATCH), 0},
    {S(REGRESS), ON(OK), S(SELECT), 0},
    {S(REGRESS), ON(UNAVAILABLE), S(SELECT), 0},
    {S(REGRESS), ON(REFUSED), S(PATCH), 0},
    {S(SELECT), ON(OK), S(WEIGH), 0},
    {S(SELECT), ON(AGAIN), S(PATCH), 0},
    {S(SELECT), ON(REFUSED), S(GUARD), 0}, /* the last attempt goes to WEIGH */
    {S(WEIGH), ON(OK), S(DONE), 0},
    {S(WEIGH), ON(UNAVAILABLE), S(DONE), 0},
    {ANY, ON(FAILED), S(FAILED), 0},
    {ANY, ON(CEILING), S(STOPPED), 0},
};

AcrAttempt acr_attempt_begin(guint max_attempts, guint max_tries)
{
    return (AcrAttempt){.state = max_attempts ? S(GUARD) : S(WEIGH),
                        .max_attempts = max_attempts,
                        .max_tries = max_tries};
}

bool acr_attempt_step(AcrAttempt *machine, AcrAttemptEvent event)
{
    const Row *row =
        find_row(attempt_rows, G_N_ELEMENTS(attempt_rows), (int)machine->state, (int)event);
    if (acr_attempt_is_over(machine) || !row)
        return false;
    AcrAttemptState next = (AcrAttemptState)row->next;
    if (machine->state == S(REPRODUCE))
        machine->reproducer = event == ON(OK);
    else if (machine->state == S(REVIEW) && event == ON(UNAVAILABLE))
        machine->reproducer = false; /* a patch that is rewritten from now on is only validated */
    else if (event == ON(AGAIN))
        machine->tries = 0;
    if (next == S(PATCH)) {
        bool is_left = machine->tries < machine->max_tries;
        machine->tries += is_left;
        next = is_left ? S(PATCH) : S(SELECT);
    } else if (next == S(GUARD) && machine->attempt + 1 >= machine->max_attempts) {
        next = S(WEIGH);
    } else if (next == S(GUARD)) {
        machine->attempt++;
        machine->tries = 0;
        machine->reproducer = false;
    } else if (next == S(REVIEW) && !machine->reproducer) {
        next = S(VALIDATE);
    }
    machine->state = next;
    return true;
}

#undef S
#undef ON

/* ---- Review ---------------------------------------------------------------------------------- */

#define S(name) ACR_REVIEW_##name
#define ON(name) ACR_REVIEW_ON_##name

static const Row review_rows[] = {
    {S(EXECUTE), ON(RAN), S(JUDGE), 0},
    {S(JUDGE), ON(YES_YES), S(VALIDATE), 0},
    {S(JUDGE), ON(YES_NO), S(TEST), 0},
    {S(JUDGE), ON(NO_YES), S(PATCH), 0},
    {S(JUDGE), ON(NO_NO), S(PATCH), 0}, /* the patch first, then the test */
    {S(JUDGE), ON(INVALID), S(JUDGE), 0},
    {S(PATCH), ON(WRITTEN), S(EXECUTE), 0}, /* if both were wrong, acr_review_step goes to TEST */
    {S(PATCH), ON(NOT_WRITTEN), S(EXHAUSTED), 0},
    {S(TEST), ON(WRITTEN), S(EXECUTE), 0},
    {S(TEST), ON(NOT_WRITTEN), S(EXHAUSTED), 0},
    {S(VALIDATE), ON(PASSED), S(REGRESS), 0},
    {S(VALIDATE), ON(REFUSED), S(PATCH), 0},
    {S(REGRESS), ON(PASSED), S(APPROVED), 0},
    {S(REGRESS), ON(REFUSED), S(PATCH), 0},
    {ANY, ON(UNAVAILABLE), S(GAVE_UP), 0},
    {ANY, ON(FAILED), S(FAILED), 0},
    {ANY, ON(CEILING), S(STOPPED), 0},
};

AcrReview acr_review_begin(void)
{
    return (AcrReview){.state = S(EXECUTE)};
}

bool acr_review_step(AcrReview *machine, AcrReviewEvent event)
{
    const Row *row =
        find_row(review_rows, G_N_ELEMENTS(review_rows), (int)machine->state, (int)event);
    if (acr_review_is_over(machine) || !row)
        return false;
    AcrReviewState from = machine->state, next = (AcrReviewState)row->next;
    if (event == ON(INVALID) && ++machine->invalid >= ACR_REVIEW_TRIES) {
        next = S(GAVE_UP);
    } else if (event == ON(RAN)) {
        machine->round++;
        machine->invalid = 0;
    } else if (from == S(PATCH) && event == ON(WRITTEN) && machine->test_too) {
        next = S(TEST);
        machine->test_too = false;
    } else if (next == S(PATCH) || next == S(TEST)) {
        /* rewrite nothing if no round is left to judge the result */
        machine->test_too = event == ON(NO_NO);
        if (machine->round >= ACR_REVIEW_ROUNDS)
            next = S(EXHAUSTED);
    }
    machine->state = next;
    return true;
}
