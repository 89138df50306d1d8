/* Tests of the review machine: every state with every event, legal or not; the paths through the
 * four decisions; the counters. */
#include <glib.h>

#include "loops/machines.h"
#include "unit/cases.h"

#define V(name) ACR_REVIEW_##name
#define ON(name) ACR_REVIEW_ON_##name
#define NO (-1) /* the event cannot occur in the state */

/* The next state in the first of five rounds, without unreadable answers before. */
static const int table[V(STATES)][V(EVENTS)] = {
    /*   RAN  YES_YES  YES_NO  NO_YES  NO_NO  INVALID  WRITTEN  NOT_WRITTEN  PASSED  REFUSED
       UNAVAILABLE  FAILED  CEILING */
    [V(EXECUTE)] = {V(JUDGE), NO, NO, NO, NO, NO, NO, NO, NO, NO, V(GAVE_UP), V(FAILED), V(STOPPED)},
    [V(JUDGE)] = {NO, V(VALIDATE), V(TEST), V(PATCH), V(PATCH), V(JUDGE), NO, NO, NO, NO, V(GAVE_UP), V(FAILED),
                  V(STOPPED)},
    [V(TEST)] = {NO, NO, NO, NO, NO, NO, V(EXECUTE), V(EXHAUSTED), NO, NO, V(GAVE_UP), V(FAILED), V(STOPPED)},
    [V(PATCH)] = {NO, NO, NO, NO, NO, NO, V(EXECUTE), V(EXHAUSTED), NO, NO, V(GAVE_UP), V(FAILED), V(STOPPED)},
    [V(VALIDATE)] = {NO, NO, NO, NO, NO, NO, NO, NO, V(REGRESS), V(PATCH), V(GAVE_UP), V(FAILED), V(STOPPED)},
    [V(REGRESS)] = {NO, NO, NO, NO, NO, NO, NO, NO, V(APPROVED), V(PATCH), V(GAVE_UP), V(FAILED), V(STOPPED)},
    [V(APPROVED)] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO},
    [V(EXHAUSTED)] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO},
    [V(GAVE_UP)] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO},
    [V(FAILED)] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO},
    [V(STOPPED)] = {NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO, NO}};

/* The expected next state in round `round`; with `test_too`, patch and test were judged wrong. */
static int wanted(int state, int event, guint round, bool test_too)
{
    int want = table[state][event];
    if (test_too && state == V(PATCH) && event == ON(WRITTEN))
        return V(TEST);
    /* A rewrite in the last round could not be judged. A patch that exists already still gets its
     * test. */
    bool is_rewrite = want == V(PATCH) || want == V(TEST);
    return is_rewrite && round == ACR_REVIEW_ROUNDS ? V(EXHAUSTED) : want;
}

static void check_every_state_and_event(guint round, bool test_too)
{
    for (int state = 0; state < V(STATES); state++) {
        for (int event = 0; event < V(EVENTS); event++) {
            AcrReview machine = acr_review_begin(), before;
            machine.state = (AcrReviewState)state;
            machine.round = round;
            machine.test_too = test_too;
            before = machine;
            int want = wanted(state, event, round, test_too);
            g_assert_cmpint(acr_review_step(&machine, (AcrReviewEvent)event), ==, want != NO);
            if (want == NO)
                g_assert_cmpmem(&machine, sizeof machine, &before, sizeof before);
            else
                g_assert_cmpint(machine.state, ==, want);
            g_assert_cmpint(acr_review_is_over(&machine), ==, (want == NO ? state : want) >= V(APPROVED));
        }
    }
}

TEST("/loops/review", every_state_and_event)
{
    check_every_state_and_event(1, false);
}

TEST("/loops/review", every_state_and_event_where_both_were_wrong)
{
    check_every_state_and_event(2, true);
}

TEST("/loops/review", every_state_and_event_in_the_last_round)
{
    check_every_state_and_event(ACR_REVIEW_ROUNDS, false);
    check_every_state_and_event(ACR_REVIEW_ROUNDS, true);
}

TEST("/loops/review", it_begins_before_the_first_round)
{
    AcrReview machine = acr_review_begin();
    g_assert_cmpint(machine.state, ==, V(EXECUTE));
    g_assert_cmpuint(machine.round, ==, 0);
    g_assert_cmpuint(machine.invalid, ==, 0);
    g_assert_false(machine.test_too);
    g_assert_false(acr_review_is_over(&machine));
}

static void go(AcrReview *machine, AcrReviewEvent event, AcrReviewState want)
{
    g_assert_true(acr_review_step(machine, event));
    g_assert_cmpint(machine->state, ==, want);
}

static AcrReview at_judge(void)
{
    AcrReview machine = acr_review_begin();
    go(&machine, ON(RAN), V(JUDGE));
    g_assert_cmpuint(machine.round, ==, 1);
    return machine;
}

TEST("/loops/review", both_right_is_validated_and_approved)
{
    AcrReview machine = at_judge();
    go(&machine, ON(YES_YES), V(VALIDATE));
    go(&machine, ON(PASSED), V(REGRESS));
    go(&machine, ON(PASSED), V(APPROVED));
}

TEST("/loops/review", a_wrong_test_is_rewritten_run_and_reviewed_again)
{
    AcrReview machine = at_judge();
    go(&machine, ON(YES_NO), V(TEST));
    go(&machine, ON(WRITTEN), V(EXECUTE));
    go(&machine, ON(RAN), V(JUDGE));
    g_assert_cmpuint(machine.round, ==, 2);
}

TEST("/loops/review", a_wrong_patch_is_rewritten_run_and_reviewed_again)
{
    AcrReview machine = at_judge();
    go(&machine, ON(NO_YES), V(PATCH));
    g_assert_false(machine.test_too);
    go(&machine, ON(WRITTEN), V(EXECUTE));
    go(&machine, ON(RAN), V(JUDGE));
    g_assert_cmpuint(machine.round, ==, 2);
}

TEST("/loops/review", where_both_are_wrong_the_patch_is_rewritten_before_the_test)
{
    AcrReview machine = at_judge();
    go(&machine, ON(NO_NO), V(PATCH));
    g_assert_true(machine.test_too);
    go(&machine, ON(WRITTEN), V(TEST));
    go(&machine, ON(WRITTEN), V(EXECUTE));
    go(&machine, ON(RAN), V(JUDGE));
    go(&machine, ON(NO_YES), V(PATCH)); /* the test is not written again */
    go(&machine, ON(WRITTEN), V(EXECUTE));
}

TEST("/loops/review", a_refusal_by_the_validation_rewrites_the_patch)
{
    AcrReview machine = at_judge();
    go(&machine, ON(YES_YES), V(VALIDATE));
    go(&machine, ON(REFUSED), V(PATCH));
    g_assert_false(machine.test_too);
    go(&machine, ON(WRITTEN), V(EXECUTE));
    go(&machine, ON(RAN), V(JUDGE));
    g_assert_cmpuint(machine.round, ==, 2);
}

TEST("/loops/review", nothing_is_rewritten_after_the_last_round)
{
    static const AcrReviewEvent wrong[] = {ON(YES_NO), ON(NO_YES), ON(NO_NO)};
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
        AcrReview machine = at_judge();
        while (machine.round < ACR_REVIEW_ROUNDS) {
            go(&machine, ON(NO_YES), V(PATCH));
            go(&machine, ON(WRITTEN), V(EXECUTE));
            go(&machine, ON(RAN), V(JUDGE));
        }
        go(&machine, wrong[i], V(EXHAUSTED));
    }
    AcrReview refused = at_judge();
    refused.round = ACR_REVIEW_ROUNDS;
    go(&refused, ON(YES_YES), V(VALIDATE));
    go(&refused, ON(PASSED), V(REGRESS));
    go(&refused, ON(REFUSED), V(EXHAUSTED));
}

TEST("/loops/review", the_last_round_may_approve)
{
    AcrReview machine = at_judge();
    machine.round = ACR_REVIEW_ROUNDS;
    go(&machine, ON(YES_YES), V(VALIDATE));
    go(&machine, ON(PASSED), V(REGRESS));
    go(&machine, ON(PASSED), V(APPROVED));
}

TEST("/loops/review", unreadable_answers_are_counted_in_a_round)
{
    AcrReview machine = at_judge();
    for (int i = 1; i < ACR_REVIEW_TRIES; i++)
        go(&machine, ON(INVALID), V(JUDGE));
    g_assert_cmpuint(machine.round, ==, 1);
    go(&machine, ON(NO_YES), V(PATCH));
    go(&machine, ON(WRITTEN), V(EXECUTE));
    go(&machine, ON(RAN), V(JUDGE));
    for (int i = 1; i < ACR_REVIEW_TRIES; i++) /* the counter has started again */
        go(&machine, ON(INVALID), V(JUDGE));
    go(&machine, ON(INVALID), V(GAVE_UP));
}
