/*
 * The review machine: patch and test are run against each other and judged, and what is wrong is
 * rewritten, the patch before the test, until both are right or the rounds are used up. Either may
 * be wrong: neither is taken as given.
 */
#include "loops/machines.h"

typedef struct {
    AcrReviewState state;
    AcrReviewEvent event;
    AcrReviewState next;
} Row;

#define S(name) ACR_REVIEW_##name
#define ON(name) ACR_REVIEW_ON_##name

static const Row rows[] = {
    {S(EXECUTE), ON(RAN), S(JUDGE)},
    {S(JUDGE), ON(YES_YES), S(VALIDATE)},
    {S(JUDGE), ON(YES_NO), S(TEST)},
    {S(JUDGE), ON(NO_YES), S(PATCH)},
    {S(JUDGE), ON(NO_NO), S(PATCH)}, /* and the test after it */
    {S(JUDGE), ON(INVALID), S(JUDGE)},
    {S(PATCH), ON(WRITTEN), S(EXECUTE)}, /* TEST where both were wrong */
    {S(PATCH), ON(NOT_WRITTEN), S(EXHAUSTED)},
    {S(TEST), ON(WRITTEN), S(EXECUTE)},
    {S(TEST), ON(NOT_WRITTEN), S(EXHAUSTED)},
    {S(VALIDATE), ON(PASSED), S(APPROVED)},
    {S(VALIDATE), ON(REFUSED), S(PATCH)},
};

/* Rows that hold in every state that is not an end. */
static const Row any_rows[] = {
    {0, ON(UNAVAILABLE), S(GAVE_UP)},
    {0, ON(FAILED), S(FAILED)},
    {0, ON(CEILING), S(STOPPED)},
};

AcrReview acr_review_begin(void)
{
    return (AcrReview){.state = S(EXECUTE)};
}

bool acr_review_is_over(const AcrReview *machine)
{
    return machine->state >= S(APPROVED);
}

static const Row *find_row(AcrReviewState state, AcrReviewEvent event)
{
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].state == state && rows[i].event == event)
            return &rows[i];
    for (guint i = 0; i < G_N_ELEMENTS(any_rows); i++)
        if (any_rows[i].event == event)
            return &any_rows[i];
    return NULL;
}

/* Something is rewritten: for nothing, where no round is left to judge it in. */
static AcrReviewState enter_rewrite(AcrReview *machine, AcrReviewState next, bool test_too)
{
    machine->test_too = test_too;
    return machine->round >= ACR_REVIEW_ROUNDS ? S(EXHAUSTED) : next;
}

bool acr_review_step(AcrReview *machine, AcrReviewEvent event)
{
    const Row *row = acr_review_is_over(machine) ? NULL : find_row(machine->state, event);
    if (!row)
        return false;
    AcrReviewState from = machine->state, next = row->next;
    if (event == ON(INVALID) && ++machine->invalid >= ACR_REVIEW_TRIES)
        next = S(GAVE_UP);
    else if (from == S(EXECUTE) && next == S(JUDGE)) {
        machine->round++;
        machine->invalid = 0;
    } else if (from == S(PATCH) && event == ON(WRITTEN) && machine->test_too) {
        next = S(TEST);
        machine->test_too = false;
    } else if (next == S(PATCH) || next == S(TEST))
        next = enter_rewrite(machine, next, event == ON(NO_NO));
    machine->state = next;
    return true;
}

const char *acr_review_state_name(AcrReviewState state)
{
    static const char *const names[ACR_REVIEW_STATES] = {
        "execute",  "review",    "rewrite_test", "rewrite_patch", "validate",
        "approved", "exhausted", "gave_up",      "failed",        "stopped"};
    g_assert(state < ACR_REVIEW_STATES);
    return names[state];
}
