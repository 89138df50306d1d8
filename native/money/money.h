/*
 * money: what model calls use and cost. Counts tokens, looks up prices in a dated table or a file,
 * and keeps budgets: before a call is sent, its highest possible cost is reserved under a limit, in
 * files that any number of processes share. Amounts are integers in pico-USD (1e-12 USD): 3 USD per
 * million tokens is 3,000,000 per token. Nothing here knows how a model is called.
 */
#ifndef ACR_MONEY_H
#define ACR_MONEY_H

#include "base/base.h"

typedef enum {
    ACR_MONEY_ERROR_FAILED,  /* the file, its lock or the disk */
    ACR_MONEY_ERROR_USAGE,   /* not a price file, or not a ledger */
    ACR_MONEY_ERROR_CEILING, /* a reservation does not fit under a ceiling */
} AcrMoneyError;
#define ACR_MONEY_ERROR acr_money_error_quark()
GQuark acr_money_error_quark(void);

/* ---- Usage ---- */

/*
 * Counts in tokens; -1: the provider gave none, or an impossible one. input, cached and written are
 * disjoint and add up to the tokens that were sent; output is everything that was received,
 * including reasoning.
 */
typedef struct {
    gint64 input;   /* neither read from the provider's cache nor written to it */
    gint64 cached;  /* read from the cache */
    gint64 written; /* written to the cache, at its shortest lifetime: we ask for no longer one */
    gint64 output;
    gint64 reasoning;
    gint64 cost_pico; /* -1: unknown */
    bool cost_stated; /* cost_pico was stated by the provider */
} AcrUsage;
/* All counters unknown. */
#define ACR_USAGE_UNKNOWN                                                                          \
    {                                                                                              \
        .input = -1, .cached = -1, .written = -1, .output = -1, .reasoning = -1, .cost_pico = -1   \
    }
/* Sums of the known counts of one side; -1: none is known. */
gint64 acr_usage_sent(const AcrUsage *usage);   /* input, cached, written */
gint64 acr_usage_tokens(const AcrUsage *usage); /* sent plus output; -1 unless both are known */
/* Pico-USD to micro-USD, rounded up; -1 stays -1. */
gint64 acr_microusd(gint64 pico);

/* The sizes of an exchange in bytes, by which a server's counts are checked; 0: nothing. */
typedef struct {
    gint64 asked;    /* text of the messages */
    gint64 sent;     /* the body of the request, with everything around the messages */
    gint64 answered; /* text of the answer; at least 1 if thoughts or calls came */
    gint64 received; /* the body of the response */
    gint64 limit;    /* tokens that the request allowed for the answer; 0: it set no limit */
} AcrExchange;
/*
 * The range in which counts are plausible. A side that holds text has at least one token, and at
 * least one for each ACR_USAGE_DENSEST_BYTES bytes: no tokeniser packs code or prose more densely.
 * At most, sent tokens are one for each byte of the body plus what servers add to a prompt
 * (templates, search results); received tokens are the limit, or one for each byte plus what models
 * think beyond that.
 */
#define ACR_USAGE_DENSEST_BYTES 32
#define ACR_USAGE_UNSEEN_TOKENS 65536
#define ACR_USAGE_MOST_OUTPUT (1 << 20) /* used if the request sets no limit */
/* The smallest and the largest plausible numbers of tokens of an exchange. */
typedef struct {
    gint64 least_sent, most_sent, least_received, most_received;
} AcrUsageBounds;
AcrUsageBounds acr_usage_bounds(const AcrExchange *exchange);
/* Makes all counts unknown if one is not within the bounds. First corrects servers that do not
 * include reasoning in the output: reasoning above the output is added to it. */
void acr_usage_judge(AcrUsage *usage, const AcrUsageBounds *bounds);

/* ---- Prices ---- */

/* Prices of one model in pico-USD per token; -1: not given, so the plain price of that side
 * applies. */
typedef struct {
    gint64 input, cached, written, output, reasoning;
} AcrPriceTier;
#define ACR_PRICE_TIERS 8
/* The service tier of a request: how soon, and at which price, a provider serves it. */
typedef enum {
    ACR_SERVICE_ANY, /* not asked for, or not named by the answer */
    ACR_SERVICE_STANDARD,
    ACR_SERVICE_FLEX,     /* cheaper and slower; may be refused */
    ACR_SERVICE_PRIORITY, /* dearer and faster */
    ACR_SERVICE_BATCH,    /* by a batch interface, within a day; half of the standard prices */
    ACR_SERVICES,
} AcrService;
#define ACR_SERVICE_WORDS "standard|flex|priority" /* from ACR_SERVICE_STANDARD on */
const char *acr_service_name(AcrService service);  /* "standard", …; ANY: NULL */
typedef struct {
    AcrPriceTier base;
    AcrPriceTier flex, priority; /* of these service tiers; members not above 0: not given */
    /* Prices for a whole request of more than `above` tokens; sorted by `above`; an entry with 0
     * ends the list. */
    struct {
        gint64 above;
        AcrPriceTier tier, flex, priority;
    } tiers[ACR_PRICE_TIERS];
    gint64 max_output; /* most tokens of an answer; -1: unknown */
} AcrPrice;

typedef struct AcrPrices AcrPrices;
/* Loads the built-in table; rows of the file `path` (may be NULL), in LiteLLM's format, take
 * precedence over it. Owned (acr_prices_free). Errors: USAGE (no such file, wrong format). */
AcrPrices *acr_prices_new(const char *path, GError **error) ACR_MUST_USE;
void acr_prices_free(AcrPrices *prices);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrPrices, acr_prices_free)
/* The date of the built-in table, "2026-11-20"; borrowed. */
const char *acr_prices_date(const AcrPrices *prices);
/* The prices of "PROVIDER/NAME". False: unknown. */
bool acr_prices_find(const AcrPrices *prices, const char *model, AcrPrice *out);
/* The highest price of each kind of token in the built-in table: the most that an unknown model is
 * assumed to cost. */
void acr_prices_highest(const AcrPrices *prices, AcrPrice *out);
/* The lowest price above 0 of each side, in `input` and `output`. */
void acr_prices_lowest(const AcrPrices *prices, AcrPrice *out);
/* The cost of a usage; -1: a count that it needs is unknown. Saturates. */
gint64 acr_price_of_usage(const AcrPrice *price, const AcrUsage *usage);
/*
 * The prices of a service tier, as standard ones in *out. A price that the tier's row lacks is the
 * highest that it can be: cached tokens cost the plain price, and long prompts at least the standard
 * one. False: the model has no row for that tier; *out is the standard price.
 */
bool acr_price_for(const AcrPrice *price, AcrService service, AcrPrice *out);
/* The most that these tokens can cost, however the provider caches them. */
gint64 acr_price_at_most(const AcrPrice *price, gint64 sent, gint64 received);
/* The least that these tokens can cost, if all were cached. */
gint64 acr_price_at_least(const AcrPrice *price, gint64 sent, gint64 received);
/* The provider of a model name without one ("gpt-4.1" -> "openai"), from the built-in table and
 * well-known prefixes; NULL: none or several. Static. */
const char *acr_prices_provider_of(const char *bare_name);

/* ---- Budget ---- */

typedef struct {
    gint64 pico, tokens;
} AcrAmount;
#define ACR_NO_CEILING (-1)

/*
 * Limits of calls: each call is reserved before it is sent and settled after it. A ledger is a file
 * to which any number of processes append under a lock; a reservation counts after its fsync. The
 * sum of spent and reserved amounts never exceeds the limit. A reservation whose process is gone
 * counts as spent. One thread at a time.
 */
typedef struct AcrBudget AcrBudget;
AcrBudget *acr_budget_new(void) ACR_MUST_USE; /* owned */
void acr_budget_free(AcrBudget *budget);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrBudget, acr_budget_free)
/*
 * Adds a ledger. `path` NULL: kept in memory. Errors call it `scope` ("run", "batch"). Negative
 * members of `ceiling`: no ceiling. Errors: FAILED (the file, its lock, the disk), USAGE (the file
 * is not a ledger).
 */
bool acr_budget_add(AcrBudget *budget, const char *path, const char *scope,
                    const AcrAmount *ceiling, GError **error) ACR_MUST_USE;
/* No call begins or continues after this time (g_get_monotonic_time); 0: no deadline. Errors call
 * it `limit`: "--max-time". */
void acr_budget_set_deadline(AcrBudget *budget, gint64 deadline_us, const char *limit);
gint64 acr_budget_deadline(const AcrBudget *budget);
/* Milliseconds until the deadline, 0 after it; G_MAXINT64: no deadline. */
gint64 acr_budget_left_ms(const AcrBudget *budget);
/* False with CEILING after the deadline. */
bool acr_budget_is_in_time(const AcrBudget *budget, GError **error) ACR_MUST_USE;
/* Whether there is a ceiling of money or tokens. */
bool acr_budget_is_bounded(const AcrBudget *budget);
/* What is left in the tightest ledger, for each member separately; G_MAXINT64: no ceiling. */
bool acr_budget_left(AcrBudget *budget, AcrAmount *out, GError **error) ACR_MUST_USE;
/* Whether the amount would fit if all live reservations of other processes were given back. */
bool acr_budget_is_held(AcrBudget *budget, const AcrAmount *amount, bool *out_held,
                        GError **error) ACR_MUST_USE;
/* Reserves in all ledgers or in none. `note` (may be NULL) is written beside the reservation; it
 * must not be a secret. Errors: CEILING (names the scope, what was asked and what is left),
 * FAILED. */
bool acr_budget_reserve(AcrBudget *budget, const AcrAmount *amount, const char *note,
                        guint64 *out_id, GError **error) ACR_MUST_USE;
/* Replaces the reservation by what was spent, even if that is more. */
bool acr_budget_settle(AcrBudget *budget, guint64 id, const AcrAmount *spent,
                       GError **error) ACR_MUST_USE;
/* The sums of the ledger of that scope: spent (including stale reservations) and still reserved. */
bool acr_budget_sums(AcrBudget *budget, const char *scope, AcrAmount *out_spent,
                     AcrAmount *out_reserved, GError **error) ACR_MUST_USE;

#endif
