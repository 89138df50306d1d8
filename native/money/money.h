/*
 * money: what calls of models use and cost. Counters of tokens, prices by a dated table or a file,
 * and budgets: ceilings that what a call may cost is reserved under before it is sent, in files
 * that any number of processes share. Amounts are integers in pico-USD (1e-12 USD): 3 USD per
 * million tokens are 3,000,000 a token. Nothing here knows how a model is asked.
 */
#ifndef ACR_MONEY_H
#define ACR_MONEY_H

#include "base/base.h"

typedef enum {
    ACR_MONEY_ERROR_FAILED,  /* a file, its lock, the disk */
    ACR_MONEY_ERROR_USAGE,   /* not a file of prices, not a ledger */
    ACR_MONEY_ERROR_CEILING, /* a reservation does not fit */
} AcrMoneyError;
#define ACR_MONEY_ERROR acr_money_error_quark()
GQuark acr_money_error_quark(void);

/* ---- Usage ---- */

/*
 * Counters in tokens; -1: the provider did not say, or said nonsense. input, cached and written are
 * disjoint and add up to what was sent; output holds all that came back, reasoning (a part of it)
 * included.
 */
typedef struct {
    gint64 input;   /* neither read from the provider's cache nor written to it */
    gint64 cached;  /* read from it */
    gint64 written; /* written to it, for minutes: nothing is asked to be kept longer */
    gint64 output;
    gint64 reasoning;
    gint64 cost_pico; /* -1: unknown */
    bool cost_stated; /* cost_pico is the provider's own word */
} AcrUsage;
/* All counters unknown. */
#define ACR_USAGE_UNKNOWN                                                                          \
    {                                                                                              \
        .input = -1, .cached = -1, .written = -1, .output = -1, .reasoning = -1, .cost_pico = -1   \
    }
/* Sums of the known counters of one side; -1: none is known. */
gint64 acr_usage_sent(const AcrUsage *usage);   /* input, cached, written */
gint64 acr_usage_tokens(const AcrUsage *usage); /* that and output; -1 unless both are known */
/* Pico-USD in millionths of a USD, rounded up; -1 stays. */
gint64 acr_microusd(gint64 pico);

/* What was said in an exchange, by which a server's counters are judged. In bytes; 0: nothing. */
typedef struct {
    gint64 asked;    /* text of the messages */
    gint64 sent;     /* the request's body, whatever stands around the messages included */
    gint64 answered; /* text of the answer; at least 1 where thoughts or calls came */
    gint64 received; /* the response's body */
    gint64 limit;    /* tokens of the answer that the request allowed; 0: it named no limit */
} AcrExchange;
/*
 * What counters can be. A side that holds text has at least one token, and at least one for each
 * ACR_USAGE_DENSEST_BYTES of text: no tokeniser packs code or prose more densely. What is sent has at
 * most a token for each byte of the body, beside what servers add to a prompt unseen (templates,
 * results of searches); what is received at most the limit, or a token for each byte, beside what
 * models think beyond that.
 */
#define ACR_USAGE_DENSEST_BYTES 32
#define ACR_USAGE_UNSEEN_TOKENS 65536
#define ACR_USAGE_MOST_OUTPUT (1 << 20) /* where the request names no limit */
/* The fewest and the most tokens that an exchange can be on each side. */
typedef struct {
    gint64 least_sent, most_sent, least_received, most_received;
} AcrUsageBounds;
AcrUsageBounds acr_usage_bounds(const AcrExchange *exchange);
/* Makes all counters unknown where one of them is not within the bounds. Reasoning that exceeds the
 * output was not counted in it, as some servers do, and is added to it first. */
void acr_usage_judge(AcrUsage *usage, const AcrUsageBounds *bounds);

/* ---- Prices ---- */

/* Of one model: pico-USD a token; -1: not said, and the plain price of its side holds. */
typedef struct {
    gint64 input, cached, written, output, reasoning;
} AcrPriceTier;
#define ACR_PRICE_TIERS 8
typedef struct {
    AcrPriceTier base;
    /* Whole requests with more tokens sent than `above` cost this; in rising order, above 0 ends.
     */
    struct {
        gint64 above;
        AcrPriceTier tier;
    } tiers[ACR_PRICE_TIERS];
    gint64 max_output; /* tokens of an answer; -1: not said */
} AcrPrice;

typedef struct AcrPrices AcrPrices;
/* The built-in table; rows of `path` (may be NULL), a file of LiteLLM's shape, take precedence over
 * it. Owned (acr_prices_free). Errors: USAGE (no such file, not of that shape). */
AcrPrices *acr_prices_new(const char *path, GError **error) ACR_MUST_USE;
void acr_prices_free(AcrPrices *prices);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrPrices, acr_prices_free)
/* The day of the built-in table, "2026-11-20"; borrowed. */
const char *acr_prices_date(const AcrPrices *prices);
/* The row of "PROVIDER/NAME". False: unknown. */
bool acr_prices_find(const AcrPrices *prices, const char *model, AcrPrice *out);
/* For each kind of token the highest price of the built-in table: what a token of an unknown model
 * is assumed to cost at most. */
void acr_prices_highest(const AcrPrices *prices, AcrPrice *out);
/* Likewise the lowest price above 0 of each side, in `input` and `output`. */
void acr_prices_lowest(const AcrPrices *prices, AcrPrice *out);
/* What a usage costs; -1: a counter that it needs is unknown. Saturates. */
gint64 acr_price_of_usage(const AcrPrice *price, const AcrUsage *usage);
/* The most that these numbers of tokens can cost, whatever is cached or written. */
gint64 acr_price_at_most(const AcrPrice *price, gint64 sent, gint64 received);
/* The least that they can cost, if all of it was cached. */
gint64 acr_price_at_least(const AcrPrice *price, gint64 sent, gint64 received);
/* The provider whose models a bare name belongs to ("gpt-4.1" -> "openai"), by the built-in table
 * and well-known beginnings; NULL: none or several. Borrowed, static. */
const char *acr_prices_provider_of(const char *bare_name);

/* ---- Budget ---- */

typedef struct {
    gint64 pico, tokens;
} AcrAmount;
#define ACR_NO_CEILING (-1)

/*
 * What calls may use, reserved before each one is sent and settled after it. Each ledger is a file
 * that any number of processes append to under a lock, fsynced before a reservation counts; the sum
 * of what is spent and what is reserved never passes its ceiling. A reservation whose process is
 * gone counts as spent. One thread at a time.
 */
typedef struct AcrBudget AcrBudget;
AcrBudget *acr_budget_new(void) ACR_MUST_USE; /* owned */
void acr_budget_free(AcrBudget *budget);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrBudget, acr_budget_free)
/*
 * Adds a ledger. `path` NULL: kept in memory. `scope` names it in errors ("run", "batch").
 * `ceiling` members below 0: none. Errors: FAILED (the file, its lock, the disk), USAGE (the file
 * is not a ledger).
 */
bool acr_budget_add(AcrBudget *budget, const char *path, const char *scope,
                    const AcrAmount *ceiling, GError **error) ACR_MUST_USE;
/* No call begins or continues after this time (g_get_monotonic_time); 0: none. `limit` names it in
 * errors: "--max-time". */
void acr_budget_set_deadline(AcrBudget *budget, gint64 deadline_us, const char *limit);
gint64 acr_budget_deadline(const AcrBudget *budget);
/* Milliseconds until then, 0 after it; G_MAXINT64: no deadline. */
gint64 acr_budget_left_ms(const AcrBudget *budget);
/* Errors: CEILING after it. */
bool acr_budget_is_in_time(const AcrBudget *budget, GError **error) ACR_MUST_USE;
/* Whether any ceiling of money or tokens holds. */
bool acr_budget_is_bounded(const AcrBudget *budget);
/* What is left in the tightest ledger, each member by itself; G_MAXINT64 without ceiling. */
bool acr_budget_left(AcrBudget *budget, AcrAmount *out, GError **error) ACR_MUST_USE;
/* Whether the amount would fit if live reservations of others (the caller has none) came back. */
bool acr_budget_is_held(AcrBudget *budget, const AcrAmount *amount, bool *out_held,
                        GError **error) ACR_MUST_USE;
/* Reserves in all ledgers or in none. `note` (may be NULL) is written beside it: no secret.
 * Errors: CEILING (names scope, what was asked and what is left), FAILED. */
bool acr_budget_reserve(AcrBudget *budget, const AcrAmount *amount, const char *note,
                        guint64 *out_id, GError **error) ACR_MUST_USE;
/* Counts what was spent in place of the reservation, be it more. */
bool acr_budget_settle(AcrBudget *budget, guint64 id, const AcrAmount *spent,
                       GError **error) ACR_MUST_USE;
/* Of the ledger of that scope: spent, stale reservations included, and still reserved. */
bool acr_budget_sums(AcrBudget *budget, const char *scope, AcrAmount *out_spent,
                     AcrAmount *out_reserved, GError **error) ACR_MUST_USE;

#endif
