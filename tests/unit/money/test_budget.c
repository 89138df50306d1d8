/* Tests of budgets in one process: ceilings of money, tokens and time, in one ledger and in
 * several. */
#include "test_money.h"

#include "test_budget.h"

/* ---- One process ---- */

static void the_ceiling_holds(const char *path)
{
    g_autoptr(AcrBudget) budget = budget_at(path, 100, 1000);
    AcrAmount left;
    guint64 first, second;
    g_assert_true(acr_budget_is_bounded(budget));
    first = reserve(budget, 60, 10);
    assert_refused(budget, 41, 1, "--max-cost of the run reached");
    assert_refused(budget, 1, 991, "0 tokens of 1000 tokens spent, 10 tokens reserved");
    second = reserve(budget, 40, 990);
    g_assert_cmpuint(first, !=, second);
    assert_refused(budget, 1, 0, "up to 0.000001 USD; raise the limit");
    assert_sums(budget, 0, 100);
    settle(budget, first, 20, 5);
    assert_sums(budget, 20, 40);
    g_assert_true(acr_budget_left(budget, &left, NULL));
    g_assert_cmpint(left.pico, ==, 40);
    g_assert_cmpint(left.tokens, ==, 5);
    settle(budget, second, 500, 0); /* the call cost more than reserved */
    assert_sums(budget, 520, 0);
    g_assert_true(acr_budget_left(budget, &left, NULL));
    g_assert_cmpint(left.pico, ==, 0);
    assert_refused(budget, 1, 0, "spent, and the next call");
}

TEST("/money/budget", a_ceiling_holds_in_memory)
{
    the_ceiling_holds(NULL);
}

FILE_TEST("/money/budget", a_ceiling_holds_in_a_file)
{
    the_ceiling_holds(fixture->path);
}

FILE_TEST("/money/budget", what_is_spent_is_known_to_the_next_process)
{
    g_autoptr(AcrBudget) first = budget_at(fixture->path, 100, -1);
    g_autoptr(AcrBudget) second = NULL;
    guint64 id = reserve(first, 70, 1);
    g_autofree char *text = read_text(fixture->path);
    g_assert_nonnull(strstr(text, "\"note\":\"a \\\"note\\\"\\n\""));
    second = budget_at(fixture->path, 100, -1);
    assert_sums(second, 0, 70);
    assert_refused(second, 31, 0, "run");
    settle(first, id, 10, 1);
    assert_sums(second, 10, 0);
    (void)reserve(second, 90, 0);
    assert_refused(first, 1, 0, "run");
}

FILE_TEST("/money/budget", a_higher_ceiling_lets_go_on)
{
    g_autoptr(AcrBudget) low = budget_at(fixture->path, 10, -1);
    g_autoptr(AcrBudget) high = NULL;
    settle(low, reserve(low, 10, 0), 10, 0);
    assert_refused(low, 1, 0, "run");
    high = budget_at(fixture->path, 20, -1);
    (void)reserve(high, 10, 0);
}

FILE_TEST("/money/budget", absurd_amounts_saturate)
{
    g_autoptr(AcrBudget) budget = budget_at(fixture->path, -1, -1);
    g_autoptr(AcrBudget) bounded = NULL;
    g_assert_false(acr_budget_is_bounded(budget));
    for (int i = 0; i < 3; i++)
        settle(budget, reserve(budget, G_MAXINT64, G_MAXINT64), G_MAXINT64, G_MAXINT64);
    (void)reserve(budget, G_MAXINT64, 0);
    assert_sums(budget, G_MAXINT64, G_MAXINT64);
    bounded = budget_at(fixture->path, G_MAXINT64, -1);
    assert_refused(bounded, 1, 0, "run");
}

/* JSON numbers above 2^53 are not exact; such amounts must never be read as smaller. */
FILE_TEST("/money/budget", large_amounts_are_not_read_as_less)
{
    for (int shift = 53; shift < 63; shift++) {
        g_autofree char *path = g_strdup_printf("%s.%d", fixture->path, shift);
        g_autoptr(AcrBudget) budget = budget_at(path, -1, -1);
        AcrAmount spent, reserved;
        gint64 amount = ((gint64)1 << shift) + 1;
        (void)reserve(budget, amount, 0);
        g_assert_true(acr_budget_sums(budget, "run", &spent, &reserved, NULL));
        g_assert_cmpint(reserved.pico, >=, amount);
        g_assert_cmpint(reserved.pico - amount, <=, amount / 1000000000);
    }
}

FILE_TEST("/money/budget", several_ledgers_reserve_all_or_nothing)
{
    g_autoptr(AcrBudget) budget = budget_at(fixture->path, 100, -1);
    g_autofree char *other = g_strconcat(fixture->path, ".batch", NULL);
    AcrAmount batch = {50, -1}, left, spent, reserved;
    guint64 id = 0;
    g_assert_true(acr_budget_add(budget, other, "batch", &batch, NULL));
    assert_refused(budget, 51, 0, "--max-cost of the batch reached");
    assert_sums(budget, 0, 0);
    id = reserve(budget, 30, 0);
    g_assert_true(acr_budget_left(budget, &left, NULL));
    g_assert_cmpint(left.pico, ==, 20);
    settle(budget, id, 5, 0);
    assert_sums(budget, 5, 0);
    g_assert_true(acr_budget_sums(budget, "batch", &spent, &reserved, NULL));
    g_assert_cmpint(spent.pico, ==, 5);
    g_assert_cmpint(reserved.pico, ==, 0);
    g_assert_false(acr_budget_sums(budget, "nobody", &spent, &reserved, NULL));
}

FILE_TEST("/money/budget", what_others_hold_may_come_back)
{
    g_autoptr(AcrBudget) first = budget_at(fixture->path, 100, -1);
    g_autoptr(AcrBudget) second = budget_at(fixture->path, 100, -1);
    AcrAmount amount = {60, 0}, too_much = {101, 0};
    guint64 id = reserve(first, 50, 0);
    bool is_held = false;
    g_assert_true(acr_budget_is_held(second, &amount, &is_held, NULL));
    g_assert_true(is_held);
    g_assert_true(acr_budget_is_held(second, &too_much, &is_held, NULL));
    g_assert_false(is_held);
    settle(first, id, 50, 0);
    g_assert_true(acr_budget_is_held(second, &amount, &is_held, NULL));
    g_assert_false(is_held);
}

FILE_TEST("/money/budget", the_same_ledger_twice_is_refused)
{
    g_autoptr(AcrBudget) budget = budget_at(fixture->path, 100, -1);
    g_autoptr(GError) error = NULL;
    assert_fails_with(acr_budget_add(budget, fixture->path, "batch", &NONE, &error), error, ACR_MONEY_ERROR,
                      ACR_MONEY_ERROR_FAILED);
}

TEST("/money/budget", no_call_is_begun_after_the_deadline)
{
    g_autoptr(AcrBudget) budget = budget_at(NULL, -1, -1);
    acr_budget_set_deadline(budget, g_get_monotonic_time() + G_USEC_PER_SEC * 60, "--max-time");
    (void)reserve(budget, 1, 1);
    acr_budget_set_deadline(budget, g_get_monotonic_time() - 1, "--max-time");
    assert_refused(budget, 1, 1, "--max-time reached");
    acr_budget_set_deadline(budget, 0, NULL);
    (void)reserve(budget, 1, 1);
}

TEST("/money/budget", an_unknown_reservation_cannot_be_settled)
{
    g_autoptr(AcrBudget) budget = budget_at(NULL, -1, -1);
    AcrAmount amount = {1, 1};
    g_autoptr(GError) error = NULL;
    guint64 id = reserve(budget, 1, 1);
    settle(budget, id, 1, 1);
    assert_fails_with(acr_budget_settle(budget, id, &amount, &error), error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_FAILED);
    assert_sums(budget, 1, 0);
}
