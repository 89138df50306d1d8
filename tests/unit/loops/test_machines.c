/* Tests of the pure machines: every state with every event, legal or not, and the counters. */
#include <glib.h>

#include "loops/machines.h"
#include "unit/cases.h"

/* ---- Retrieval ------------------------------------------------------------------------------- */

#define R(name) ACR_RETRIEVAL_##name
#define RON(name) ACR_RETRIEVAL_ON_##name
#define NO (-1) /* the event cannot occur in the state */

/* The next state in round 1 of 15, without invalid answers before. Rows are states, columns
 * events. */
static const int retrieval_table[R(STATES)][R(EVENTS)] = {
    /*             ANSWER      INVALID     CALLS      LOCATIONS  RESULTS     FOUND    NOT_FOUND
       SHORTENED    NOT_SHORTENABLE USED_UP       DEAD_END      FAILED     CEILING */
    [R(SELECT)] = {R(EXTRACT), NO, NO, NO, NO, NO, NO, R(SELECT), R(EXHAUSTED), R(EXHAUSTED), R(EXHAUSTED), R(FAILED),
                   R(STOPPED)},
    [R(EXTRACT)] = {NO, R(EXTRACT), R(SEARCH), R(LOCATE), NO, NO, NO, R(EXTRACT), R(EXHAUSTED), R(EXHAUSTED),
                    R(EXHAUSTED), R(FAILED), R(STOPPED)},
    [R(SEARCH)] = {NO, NO, NO, NO, R(ANALYSE), NO, NO, NO, NO, NO, R(EXHAUSTED), R(FAILED), R(STOPPED)},
    [R(ANALYSE)] = {R(SELECT), NO, NO, NO, NO, NO, NO, R(ANALYSE), R(EXHAUSTED), R(EXHAUSTED), R(EXHAUSTED), R(FAILED),
                    R(STOPPED)},
    [R(LOCATE)] = {NO, NO, NO, NO, NO, R(DONE), R(SELECT), NO, NO, NO, R(EXHAUSTED), R(FAILED), R(STOPPED)},
    [R(DONE)] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO},
    [R(EXHAUSTED)] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO},
    [R(FAILED)] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO},
    [R(STOPPED)] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}};

TEST("/loops/retrieval", every_state_and_event)
{
    for (int state = 0; state < R(STATES); state++) {
        for (int event = 0; event < R(EVENTS); event++) {
            AcrRetrieval machine = acr_retrieval_begin(15), before;
            machine.state = state;
            before = machine;
            int want = retrieval_table[state][event];
            g_assert_cmpint(acr_retrieval_step(&machine, event), ==, want != NO);
            if (want == NO)
                g_assert_cmpmem(&machine, sizeof machine, &before, sizeof before);
            else
                g_assert_cmpint(machine.state, ==, want);
        }
    }
}

static void step(AcrRetrieval *machine, AcrRetrievalEvent event, AcrRetrievalState want)
{
    g_assert_true(acr_retrieval_step(machine, event));
    g_assert_cmpint(machine->state, ==, want);
}

TEST("/loops/retrieval", fifth_invalid_answer_goes_back_to_select)
{
    AcrRetrieval machine = acr_retrieval_begin(15);
    step(&machine, RON(ANSWER), R(EXTRACT));
    for (int i = 1; i < ACR_EXTRACT_TRIES; i++)
        step(&machine, RON(INVALID), R(EXTRACT));
    step(&machine, RON(INVALID), R(SELECT));
    g_assert_cmpint(machine.ask, ==, ACR_ASK_CHECK_CALLS);
    g_assert_cmpuint(machine.round, ==, 2);
    step(&machine, RON(ANSWER), R(EXTRACT));
    for (int i = 1; i < ACR_EXTRACT_TRIES; i++) /* the counter starts again */
        step(&machine, RON(INVALID), R(EXTRACT));
    g_assert_cmpuint(machine.round, ==, 2);
}

TEST("/loops/retrieval", a_round_begins_on_entering_select)
{
    AcrRetrieval machine = acr_retrieval_begin(3);
    g_assert_cmpint(machine.ask, ==, ACR_ASK_START);
    g_assert_cmpuint(machine.round, ==, 1);
    step(&machine, RON(ANSWER), R(EXTRACT));
    step(&machine, RON(CALLS), R(SEARCH));
    step(&machine, RON(RESULTS), R(ANALYSE));
    step(&machine, RON(ANSWER), R(SELECT));
    g_assert_cmpint(machine.ask, ==, ACR_ASK_NEXT);
    g_assert_cmpuint(machine.round, ==, 2);
    step(&machine, RON(ANSWER), R(EXTRACT));
    step(&machine, RON(LOCATIONS), R(LOCATE));
    step(&machine, RON(NOT_FOUND), R(SELECT));
    g_assert_cmpint(machine.ask, ==, ACR_ASK_NO_PLACE);
    g_assert_cmpuint(machine.round, ==, 3);
    step(&machine, RON(ANSWER), R(EXTRACT));
    step(&machine, RON(LOCATIONS), R(LOCATE));
    step(&machine, RON(NOT_FOUND), R(EXHAUSTED)); /* no round is left */
}

TEST("/loops/retrieval", rounds_used_up_from_each_way_into_select)
{
    AcrRetrieval analysed = acr_retrieval_begin(1), invalid = analysed;
    analysed.state = R(ANALYSE);
    step(&analysed, RON(ANSWER), R(EXHAUSTED));
    invalid.state = R(EXTRACT);
    for (int i = 1; i < ACR_EXTRACT_TRIES; i++)
        step(&invalid, RON(INVALID), R(EXTRACT));
    step(&invalid, RON(INVALID), R(EXHAUSTED));
    AcrRetrieval none = acr_retrieval_begin(0);
    g_assert_cmpint(none.state, ==, R(EXHAUSTED));
}

TEST("/loops/retrieval", overflow_asks_again_in_the_same_round)
{
    AcrRetrieval machine = acr_retrieval_begin(1);
    step(&machine, RON(SHORTENED), R(SELECT));
    g_assert_cmpint(machine.ask, ==, ACR_ASK_AGAIN);
    g_assert_cmpuint(machine.round, ==, 1);
    step(&machine, RON(ANSWER), R(EXTRACT));
    step(&machine, RON(INVALID), R(EXTRACT));
    step(&machine, RON(SHORTENED), R(EXTRACT));
    g_assert_cmpuint(machine.invalid, ==, 1);
}

/* ---- Attempt --------------------------------------------------------------------------------- */

#define A(name) ACR_ATTEMPT_##name
#define AON(name) ACR_ATTEMPT_ON_##name

/* The next state in the first of two attempts with three tries each, without a reproducer. */
static const int attempt_table[A(STATES)][A(EVENTS)] = {
    /*                OK            UNAVAILABLE  REFUSED   USED_UP    FAILED     CEILING     AGAIN */
    [A(GUARD)] = {A(REPRODUCE), A(RETRIEVE), NO, NO, A(FAILED), A(STOPPED), NO},
    [A(REPRODUCE)] = {A(RETRIEVE), A(RETRIEVE), NO, NO, A(FAILED), A(STOPPED), NO},
    [A(RETRIEVE)] = {A(PATCH), NO, NO, NO, A(FAILED), A(STOPPED), NO},
    [A(PATCH)] = {A(VALIDATE), NO, A(PATCH), A(SELECT), A(FAILED), A(STOPPED), NO},
    [A(REVIEW)] = {A(SELECT), A(VALIDATE), A(SELECT), NO, A(FAILED), A(STOPPED), NO},
    [A(VALIDATE)] = {A(REGRESS), A(REGRESS), A(PATCH), NO, A(FAILED), A(STOPPED), NO},
    [A(REGRESS)] = {A(SELECT), A(SELECT), A(PATCH), NO, A(FAILED), A(STOPPED), NO},
    [A(SELECT)] = {A(WEIGH), NO, A(GUARD), NO, A(FAILED), A(STOPPED), A(PATCH)},
    [A(WEIGH)] = {A(DONE), A(DONE), NO, NO, A(FAILED), A(STOPPED), NO},
    [A(DONE)] = {NO, NO, NO, NO, NO, NO, NO},
    [A(FAILED)] = {NO, NO, NO, NO, NO, NO, NO},
    [A(STOPPED)] = {NO, NO, NO, NO, NO, NO, NO}};

static void check_attempt_table(bool reproducer)
{
    for (int state = 0; state < A(STATES); state++) {
        for (int event = 0; event < A(EVENTS); event++) {
            AcrAttempt machine = acr_attempt_begin(2, 3), before;
            machine.state = state;
            machine.tries = state == A(PATCH) ? 1 : 0;
            machine.reproducer = reproducer;
            before = machine;
            int want = attempt_table[state][event];
            if (reproducer && state == A(PATCH) && event == AON(OK))
                want = A(REVIEW);
            g_assert_cmpint(acr_attempt_step(&machine, event), ==, want != NO);
            if (want == NO)
                g_assert_cmpmem(&machine, sizeof machine, &before, sizeof before);
            else
                g_assert_cmpint(machine.state, ==, want);
        }
    }
}

TEST("/loops/attempt", every_state_and_event_without_a_reproducer)
{
    check_attempt_table(false);
}

TEST("/loops/attempt", every_state_and_event_with_a_reproducer)
{
    check_attempt_table(true);
}

TEST("/loops/attempt", without_attempts_there_is_selection_alone)
{
    AcrAttempt machine = acr_attempt_begin(0, 3);
    g_assert_cmpint(machine.state, ==, A(WEIGH));
    g_assert_true(acr_attempt_step(&machine, AON(OK)));
    g_assert_true(acr_attempt_is_over(&machine));
}

static void go(AcrAttempt *machine, AcrAttemptEvent event, AcrAttemptState want)
{
    g_assert_true(acr_attempt_step(machine, event));
    g_assert_cmpint(machine->state, ==, want);
}

TEST("/loops/attempt", a_reproducer_leads_to_review)
{
    AcrAttempt machine = acr_attempt_begin(1, 2);
    go(&machine, AON(OK), A(REPRODUCE));
    go(&machine, AON(OK), A(RETRIEVE));
    g_assert_true(machine.reproducer);
    go(&machine, AON(OK), A(PATCH));
    go(&machine, AON(REFUSED), A(PATCH));
    go(&machine, AON(OK), A(REVIEW));
    go(&machine, AON(OK), A(SELECT)); /* the approved patch is validated */
}

TEST("/loops/attempt", a_review_that_cannot_go_on_leaves_the_validation)
{
    AcrAttempt machine = acr_attempt_begin(1, 2);
    go(&machine, AON(OK), A(REPRODUCE));
    go(&machine, AON(OK), A(RETRIEVE));
    go(&machine, AON(OK), A(PATCH));
    go(&machine, AON(OK), A(REVIEW));
    go(&machine, AON(UNAVAILABLE), A(VALIDATE));
    go(&machine, AON(REFUSED), A(PATCH));
    go(&machine, AON(OK), A(VALIDATE));    /* the patch is not reviewed again */
    go(&machine, AON(REFUSED), A(SELECT)); /* no try is left */
}

TEST("/loops/attempt", tries_are_counted_over_refusals)
{
    AcrAttempt machine = acr_attempt_begin(1, 3);
    go(&machine, AON(UNAVAILABLE), A(RETRIEVE));
    go(&machine, AON(OK), A(PATCH));
    go(&machine, AON(REFUSED), A(PATCH));
    g_assert_cmpuint(machine.tries, ==, 2);
    go(&machine, AON(OK), A(VALIDATE));
    go(&machine, AON(REFUSED), A(PATCH));
    g_assert_cmpuint(machine.tries, ==, 3);
    go(&machine, AON(OK), A(VALIDATE));
    go(&machine, AON(OK), A(REGRESS));
    go(&machine, AON(REFUSED), A(SELECT));
}

TEST("/loops/attempt", another_answer_to_a_retrieval_has_all_tries_again)
{
    AcrAttempt machine = acr_attempt_begin(1, 1);
    go(&machine, AON(OK), A(REPRODUCE));
    go(&machine, AON(OK), A(RETRIEVE));
    go(&machine, AON(OK), A(PATCH));
    go(&machine, AON(OK), A(REVIEW));
    go(&machine, AON(REFUSED), A(SELECT));
    go(&machine, AON(AGAIN), A(PATCH));
    g_assert_cmpuint(machine.tries, ==, 1);
    go(&machine, AON(OK), A(REVIEW)); /* with the same reproducer */
}

TEST("/loops/attempt", the_next_attempt_starts_afresh)
{
    AcrAttempt machine = acr_attempt_begin(2, 1);
    go(&machine, AON(OK), A(REPRODUCE));
    go(&machine, AON(OK), A(RETRIEVE));
    go(&machine, AON(OK), A(PATCH));
    go(&machine, AON(USED_UP), A(SELECT));
    go(&machine, AON(REFUSED), A(GUARD));
    g_assert_cmpuint(machine.attempt, ==, 1);
    g_assert_cmpuint(machine.tries, ==, 0);
    g_assert_false(machine.reproducer);
    go(&machine, AON(UNAVAILABLE), A(RETRIEVE));
    go(&machine, AON(OK), A(PATCH));
    go(&machine, AON(REFUSED), A(SELECT));
    go(&machine, AON(REFUSED), A(WEIGH)); /* no attempt is left */
    go(&machine, AON(OK), A(DONE));
    g_assert_true(acr_attempt_is_over(&machine));
}
