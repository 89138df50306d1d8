/* Tests of the cost of a try before and after it: reservations, lowered limits, and the settled
 * cost of each outcome. */
#include "test_llm.h"

#include <glib/gstdio.h>
#include <pthread.h>
#include <string.h>

#define BODY 1000u

/* A question of 100 bytes with an answer of 40 bytes. */
static const AcrExchange said = {.asked = 100, .sent = BODY, .answered = 40, .received = 2000, .limit = 100};

/* 2 USD per million input tokens, 8 USD per million output tokens. */
static const AcrPrice price = {.base = {2000000, -1, -1, 8000000, -1}, .max_output = 5000};

static AcrSpend spend_of(AcrBudget *budget)
{
    return (AcrSpend){.budget = budget, .has_price = true, .price = price, .assumed = price};
}

static AcrBudget *new_budget(gint64 pico, gint64 tokens)
{
    AcrBudget *budget = acr_budget_new();
    AcrAmount ceiling = {pico, tokens};
    g_assert_true(acr_budget_add(budget, NULL, "run", &ceiling, NULL));
    return budget;
}

static AcrUsage usage_of(gint64 input, gint64 output)
{
    AcrUsage usage = ACR_USAGE_UNKNOWN;
    usage.input = input;
    usage.output = output;
    return usage;
}

/* Reserves for a limit of 100 tokens, then settles the try; returns the cost of all tries so
 * far. */
static AcrAmount charge_more(AcrSpend *spend, AcrModelTry *attempt)
{
    g_auto(AcrFailure) failure = {0};
    AcrAmount spent, reserved;
    guint limit = 100;
    bool again = false;
    guint64 id = 0;
    g_assert_true(acr_spend_reserve(spend, BODY, &limit, &again, attempt, &id, &failure));
    g_assert_true(acr_spend_settle(spend, id, &said, attempt, NULL));
    g_assert_true(acr_budget_sums(spend->budget, "run", &spent, &reserved, NULL));
    g_assert_cmpint(reserved.pico, ==, 0);
    return spent;
}

/* The same for the only try. */
static AcrAmount charge(AcrSpend *spend, AcrModelTry *attempt)
{
    AcrAmount spent = charge_more(spend, attempt);
    g_assert_cmpint(spent.pico, ==, attempt->charged_pico);
    g_assert_cmpint(spent.tokens, ==, attempt->charged_tokens);
    return spent;
}

#define RESERVED (BODY * 2000000ll + 100 * 8000000ll)

TEST("/llm/spend", each_outcome_is_settled_by_its_rule)
{
    static const struct {
        const char *name;
        bool ok, sent, own, stated;
        AcrLlmError code;
        int status;
        gint64 input, output, cost; /* as the server reports them */
        gint64 pico, tokens, reported;
    } rows[] = {
        {"not sent", false, false, false, false, ACR_LLM_ERROR_UNREACHABLE, 0, -1, -1, -1, 0, 0, -1},
        {"usage", true, true, false, false, 0, 200, 10, 5, -1, 60000000, 15, 60000000},
        {"stated cost", true, true, false, true, 0, 200, 10, 5, 7, 7, 15, 7},
        {"stated cost, no usage", true, true, false, true, 0, 200, -1, -1, 7, 7, 1100, 7},
        {"nothing sent", true, true, false, false, 0, 200, 0, 5, -1, RESERVED, 1100, -1},
        {"nothing received", true, true, false, false, 0, 200, 10, 0, -1, RESERVED, 1100, -1},
        {"too much sent", true, true, false, false, 0, 200, 10000000, 5, -1, RESERVED, 1100, -1},
        {"too much received", true, true, false, false, 0, 200, 10, G_MAXINT64, -1, RESERVED, 1100, -1},
        {"no usage", true, true, false, false, 0, 200, -1, -1, -1, RESERVED, 1100, -1},
        {"half a usage", true, true, false, false, 0, 200, 10, -1, -1, RESERVED, 1100, -1},
        {"more than reserved", true, true, false, false, 0, 200, 10, 500, -1, 4020000000, 510, 4020000000},
        {"refused by its owner", false, true, true, false, ACR_LLM_ERROR_SERVER, 500, -1, -1, -1, 0, 0, -1},
        {"refused by another", false, true, false, false, ACR_LLM_ERROR_SERVER, 500, -1, -1, -1, RESERVED, 1100, -1},
        {"cut at its owner", false, true, true, false, ACR_LLM_ERROR_TRUNCATED, 200, 10, 1, -1, RESERVED, 1100, -1},
        {"cut after much", false, true, true, false, ACR_LLM_ERROR_TRUNCATED, 200, 10, 500, -1, 4020000000, 1100, -1},
        {"filtered", false, true, false, false, ACR_LLM_ERROR_CONTENT_FILTER, 200, 10, 5, -1, 60000000, 15, 60000000}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(AcrBudget) budget = new_budget(G_MAXINT64 / 2, ACR_NO_CEILING);
        AcrSpend spend = spend_of(budget);
        AcrModelTry attempt = {.ok = rows[i].ok,
                               .sent = rows[i].sent,
                               .code = rows[i].code,
                               .status = rows[i].status,
                               .usage = usage_of(rows[i].input, rows[i].output)};
        AcrAmount spent;
        g_test_message("%s", rows[i].name);
        spend.is_own = rows[i].own;
        attempt.usage.cost_stated = rows[i].stated;
        attempt.usage.cost_pico = rows[i].cost;
        spent = charge(&spend, &attempt);
        g_assert_cmpint(attempt.reserved_pico, ==, RESERVED);
        g_assert_cmpint(spent.pico, ==, rows[i].pico);
        g_assert_cmpint(spent.tokens, ==, rows[i].tokens);
        g_assert_cmpint(attempt.usage.cost_pico, ==, rows[i].reported);
    }
}

/* Only the provider's own server is believed if it reports a cheaper tier than requested. A more
 * expensive tier is charged up to the reservation, and reserved from then on. */
TEST("/llm/spend", no_word_of_a_tier_exceeds_what_was_reserved)
{
    static const struct {
        bool own;
        AcrService asked, served;
        gint64 output, pico, reported, next;
    } rows[] = {{false, ACR_SERVICE_PRIORITY, ACR_SERVICE_STANDARD, 5, 120000000, 60000000, 2 * RESERVED},
                {true, ACR_SERVICE_PRIORITY, ACR_SERVICE_STANDARD, 5, 60000000, 60000000, 2 * RESERVED},
                {true, ACR_SERVICE_FLEX, ACR_SERVICE_FLEX, 5, 30000000, 30000000, RESERVED},
                {true, ACR_SERVICE_FLEX, ACR_SERVICE_ANY, 5, 60000000, 60000000, RESERVED},
                {true, ACR_SERVICE_FLEX, ACR_SERVICE_PRIORITY, 200, RESERVED, 3240000000, 2 * RESERVED},
                {false, ACR_SERVICE_ANY, ACR_SERVICE_PRIORITY, 5, 120000000, 120000000, 2 * RESERVED}};
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(AcrBudget) budget = new_budget(G_MAXINT64 / 2, ACR_NO_CEILING);
        AcrSpend spend = spend_of(budget);
        spend.is_own = rows[i].own;
        for (AcrService n = ACR_SERVICE_STANDARD; n < ACR_SERVICES; n++) {
            spend.rows[n] = price;
            spend.has_row[n] = true;
        }
        spend.rows[ACR_SERVICE_FLEX].base = (AcrPriceTier){1000000, -1, -1, 4000000, -1};
        spend.rows[ACR_SERVICE_PRIORITY].base = (AcrPriceTier){4000000, -1, -1, 16000000, -1};
        g_assert_true(!rows[i].asked || acr_spend_add_service(&spend, rows[i].asked));
        for (guint n = 0; n < 2; n++) {
            AcrModelTry attempt = {.ok = true,
                                   .sent = true,
                                   .status = 200,
                                   .asked = rows[i].asked,
                                   .served = rows[i].served,
                                   .usage = usage_of(10, rows[i].output)};
            AcrAmount before, reserved, after;
            g_assert_true(acr_budget_sums(budget, "run", &before, &reserved, NULL));
            after = charge_more(&spend, &attempt);
            g_assert_cmpint(attempt.usage.cost_pico, ==, rows[i].reported);
            if (n == 0)
                g_assert_cmpint(after.pico - before.pico, ==, rows[i].pico);
            else
                g_assert_cmpint(attempt.reserved_pico, ==, rows[i].next);
        }
    }
}

/* The charge for a stated cost, with a usage of 10 and 5 tokens. */
static gint64 charge_stated(AcrSpend *spend, gint64 cost)
{
    AcrModelTry attempt = {.ok = true, .sent = true, .status = 200, .usage = usage_of(10, 5)};
    attempt.usage.cost_pico = cost;
    attempt.usage.cost_stated = true;
    g_autoptr(AcrBudget) budget = new_budget(G_MAXINT64 / 2, ACR_NO_CEILING);
    spend->budget = budget;
    return charge(spend, &attempt).pico;
}

TEST("/llm/spend", a_stated_cost_is_believed_as_far_as_it_can_be)
{
    static const AcrPrice dear = {.base = {150000000, -1, -1, 600000000, -1}};
    /* 100 bytes are at least 3 tokens, and 40 bytes at least one. */
    static const gint64 least = 3 * 2000000ll + 8000000, by_usage = 60000000;
    AcrSpend known = {.has_price = true, .price = price, .assumed = price, .lowest = price, .highest = dear},
             unknown = {.assumed = dear, .lowest = price, .highest = dear}, zero = {.has_price = true, .highest = dear},
             own = {.is_free = true, .highest = dear};
    const gint64 most =
        (BODY + ACR_USAGE_UNSEEN_TOKENS) * dear.base.input + (2000 + ACR_USAGE_UNSEEN_TOKENS) * dear.base.output;
    g_assert_cmpint(charge_stated(&known, least), ==, least);
    g_assert_cmpint(charge_stated(&known, most), ==, most);
    g_assert_cmpint(charge_stated(&known, 0), ==, by_usage);
    g_assert_cmpint(charge_stated(&known, least - 1), ==, by_usage);
    g_assert_cmpint(charge_stated(&known, most + 1), ==, by_usage);
    g_assert_cmpint(charge_stated(&unknown, least), ==, least);
    g_assert_cmpint(charge_stated(&unknown, 0), ==, 10 * 150000000ll + 5 * 600000000ll);
    g_assert_cmpint(charge_stated(&zero, 0), ==, 0);
    g_assert_cmpint(charge_stated(&own, 0), ==, 0);
}

TEST("/llm/spend", an_unknown_price_is_the_highest_and_its_cost_stays_unknown)
{
    g_autoptr(AcrBudget) budget = new_budget(G_MAXINT64 / 2, ACR_NO_CEILING);
    AcrSpend spend = {.budget = budget, .assumed = price};
    AcrModelTry attempt = {.ok = true, .sent = true, .status = 200, .usage = usage_of(10, 5)};
    AcrAmount spent = charge(&spend, &attempt);
    g_assert_cmpint(attempt.reserved_pico, ==, RESERVED);
    g_assert_cmpint(spent.pico, ==, 60000000);
    g_assert_cmpint(attempt.usage.cost_pico, ==, -1);
}

TEST("/llm/spend", a_server_of_ones_own_costs_nothing_but_tokens)
{
    g_autoptr(AcrBudget) budget = new_budget(0, 2000);
    AcrSpend spend = {.budget = budget, .assumed = price, .is_free = true};
    AcrModelTry attempt = {.ok = true, .sent = true, .status = 200, .usage = usage_of(-1, -1)};
    AcrAmount spent = charge(&spend, &attempt);
    g_assert_cmpint(spent.pico, ==, 0);
    g_assert_cmpint(spent.tokens, ==, 1100);
}

TEST("/llm/spend", a_limit_is_sent_where_a_ceiling_holds)
{
    g_autoptr(AcrBudget) bounded = new_budget(1, ACR_NO_CEILING);
    g_autoptr(AcrBudget) open = new_budget(ACR_NO_CEILING, ACR_NO_CEILING);
    AcrSpend with = spend_of(bounded), without = spend_of(open), none = spend_of(NULL);
    g_assert_cmpuint(acr_spend_limit(&with, 77, 50), ==, 77);
    g_assert_cmpuint(acr_spend_limit(&with, 0, 0), ==, 5000);
    g_assert_cmpuint(acr_spend_limit(&without, 0, 50), ==, 0);
    g_assert_cmpuint(acr_spend_limit(&none, 0, 50), ==, 0);
    g_assert_cmpuint(acr_spend_limit(&with, 0, 4000), ==, 4000);
    g_assert_cmpuint(acr_spend_limit(&with, 0, 6000), ==, 5000);
    g_assert_cmpuint(acr_spend_limit(&with, 0, 1), ==, 256);
    with.has_price = false;
    g_assert_cmpuint(acr_spend_limit(&with, 0, 0), ==, 8192);
}

TEST("/llm/spend", a_limit_is_made_smaller_until_it_fits)
{
    /* The tokens of the body, and 1,000 tokens of answer. */
    g_autoptr(AcrBudget) budget = new_budget(BODY * 2000000ll + 1000 * 8000000ll, ACR_NO_CEILING);
    AcrSpend spend = spend_of(budget);
    AcrModelTry attempt = {.model = "m"};
    g_auto(AcrFailure) failure = {0};
    guint limit = 5000;
    bool again = false;
    guint64 id = 0;
    g_assert_false(acr_spend_reserve(&spend, BODY, &limit, &again, &attempt, &id, &failure));
    g_assert_true(again);
    g_assert_cmpuint(limit, ==, 1000);
    g_assert_true(acr_spend_reserve(&spend, BODY, &limit, &again, &attempt, &id, &failure));
}

TEST("/llm/spend", a_limit_that_makes_no_sense_is_refused)
{
    g_autoptr(AcrBudget) budget = new_budget(BODY * 2000000ll + 255 * 8000000ll, ACR_NO_CEILING);
    AcrSpend spend = spend_of(budget);
    AcrModelTry attempt = {.model = "m"};
    g_auto(AcrFailure) failure = {0};
    guint limit = 5000;
    bool again = true;
    guint64 id = 0;
    g_assert_false(acr_spend_reserve(&spend, BODY, &limit, &again, &attempt, &id, &failure));
    g_assert_false(again);
    g_assert_cmpint((int)failure.code, ==, ACR_LLM_ERROR_CEILING);
    g_assert_false(failure.retryable);
    g_assert_nonnull(strstr(failure.message, "--max-cost of the run reached"));
    g_assert_cmpint(attempt.reserved_pico, ==, 0);
}

TEST("/llm/spend", without_a_limit_the_usual_one_is_counted)
{
    g_autoptr(AcrBudget) budget = new_budget(ACR_NO_CEILING, ACR_NO_CEILING);
    AcrSpend spend = spend_of(budget);
    AcrModelTry attempt = {.model = "m", .sent = true, .usage = ACR_USAGE_UNKNOWN};
    g_auto(AcrFailure) failure = {0};
    guint limit = 0;
    bool again = false;
    guint64 id = 0;
    g_assert_true(acr_spend_reserve(&spend, BODY, &limit, &again, &attempt, &id, &failure));
    g_assert_cmpuint(limit, ==, 0);
    g_assert_cmpint(attempt.reserved_tokens, ==, BODY + 5000);
    g_assert_true(acr_spend_settle(&spend, id, &said, &attempt, NULL));
    g_assert_cmpint(attempt.charged_pico, ==, BODY * 2000000ll + 5000 * 8000000ll);
}

/* The ledger is missing when the answer arrives. */
TEST("/llm/spend", an_answer_that_cannot_be_settled_is_kept_within_its_reservation)
{
    static const gint64 outputs[] = {50, 101};
    g_autofree char *dir = g_dir_make_tmp("acr-spend-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "ledger", NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(outputs); i++) {
        g_autoptr(AcrBudget) budget = acr_budget_new();
        AcrAmount ceiling = {2 * RESERVED, ACR_NO_CEILING};
        AcrSpend spend = spend_of(budget);
        AcrModelTry attempt = {.model = "m", .sent = true, .ok = true};
        g_auto(AcrFailure) failure = {0};
        g_autoptr(GError) error = NULL;
        guint limit = 100;
        bool again = false;
        guint64 id = 0;
        attempt.usage = usage_of(BODY, outputs[i]);
        g_assert_true(acr_budget_add(budget, path, "run", &ceiling, NULL));
        g_assert_true(acr_spend_reserve(&spend, BODY, &limit, &again, &attempt, &id, &failure));
        g_assert_cmpint(g_unlink(path), ==, 0);
        g_assert_true(acr_spend_settle(&spend, id, &said, &attempt, &error) == (outputs[i] <= 100));
        g_assert_true((error == NULL) == (outputs[i] <= 100));
        g_assert_cmpint(attempt.charged_pico, ==, RESERVED + MAX(outputs[i] - 100, 0) * 8000000ll);
    }
    g_assert_cmpint(g_rmdir(dir), ==, 0);
}

/* ---- Waiting for others ---- */

typedef struct {
    AcrBudget *budget;
    guint64 id;
    gint64 spent; /* the final cost of the other call */
} Other;

static void *settle_soon(void *data)
{
    Other *other = data;
    AcrAmount spent = {other->spent, 1};
    g_usleep(120 * 1000);
    g_assert_true(acr_budget_settle(other->budget, other->id, &spent, NULL));
    return NULL;
}

/* Another call holds all but 10 tokens of answer, and then settles for `spent`. Returns the limit,
 * at most `limit`, that fits afterwards; 0: refused. */
static guint limit_after(guint limit, gint64 spent)
{
    g_autofree char *dir = g_dir_make_tmp("acr-spend-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "ledger.jsonl", NULL);
    AcrAmount ceiling = {RESERVED * 2, ACR_NO_CEILING}, held = {RESERVED * 2 - 80000000, 1};
    g_autoptr(AcrBudget) theirs = acr_budget_new();
    g_autoptr(AcrBudget) ours = acr_budget_new();
    Other other = {.budget = theirs, .spent = spent};
    AcrSpend spend = spend_of(ours);
    AcrModelTry attempt = {.model = "m"};
    g_auto(AcrFailure) failure = {0};
    pthread_t thread;
    bool again = false, ok = false;
    guint64 id = 0;
    g_assert_true(acr_budget_add(theirs, path, "batch", &ceiling, NULL));
    g_assert_true(acr_budget_add(ours, path, "batch", &ceiling, NULL));
    g_assert_true(acr_budget_reserve(theirs, &held, NULL, &other.id, NULL));
    g_assert_cmpint(pthread_create(&thread, NULL, settle_soon, &other), ==, 0);
    ok = acr_spend_reserve(&spend, BODY, &limit, &again, &attempt, &id, &failure);
    g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
    g_assert_true(acr_dir_remove(dir, NULL));
    if (ok)
        g_assert_cmpint(attempt.wait_ms, >=, 50);
    return ok || again ? limit : 0;
}

TEST("/llm/spend", a_call_waits_for_what_others_hold)
{
    g_assert_cmpuint(limit_after(100, RESERVED), ==, 100);
    g_assert_cmpuint(limit_after(100, RESERVED + 1), ==, 0);
    g_assert_cmpuint(limit_after(5000, 0), ==, (RESERVED * 2 - BODY * 2000000ll) / 8000000ll);
}

TEST("/llm/spend", a_wait_for_others_ends_when_interrupted)
{
    g_autoptr(AcrBudget) budget = new_budget(RESERVED, ACR_NO_CEILING);
    AcrInterrupt interrupt = {.signal = 2};
    AcrSpend spend = spend_of(budget);
    AcrModelTry attempt = {.model = "m"};
    g_auto(AcrFailure) failure = {0};
    AcrAmount held = {1, 1};
    bool again = false;
    guint limit = 100;
    guint64 id = 0;
    spend.interrupt = &interrupt;
    g_assert_true(acr_budget_reserve(budget, &held, NULL, &id, NULL));
    g_assert_false(acr_spend_reserve(&spend, BODY, &limit, &again, &attempt, &id, &failure));
    g_assert_cmpint((int)failure.code, ==, ACR_LLM_ERROR_INTERRUPTED);
}
