/* money: the usage and cost of model calls. This library counts tokens, looks up prices in a
 * dated table or a file, and keeps budgets: before a call is sent, its highest possible cost is
 * reserved under a limit. Any number of processes share the files of a budget. Amounts are
 * integers in pico-USD (1e-12 USD): 3 USD per million tokens is 3,000,000 per token. This
 * library calls no model. */
#pragma once

#include "base/base.h"

typedef enum {
    ACR_MONEY_ERROR_FAILED,  /* an error with the file, its lock or the disk */
    ACR_MONEY_ERROR_USAGE,   /* the file is not a price file, or not a ledger */
    ACR_MONEY_ERROR_CEILING, /* a reservation exceeds a ceiling */
} AcrMoneyError;
#define ACR_MONEY_ERROR acr_money_error_quark()
GQuark acr_money_error_quark(void);

/* ---- Usage ---- */

/* Counts of tokens. A count is -1 if the provider did not state it, or stated an impossible count.
 * input, cached and written are disjoint, and their sum is the number of sent tokens; output is the
 * number of received tokens, including reasoning. */
typedef struct {
    gint64 input;  /* tokens that were neither read from the provider's cache nor written to it */
    gint64 cached; /* tokens read from the cache */
    /* tokens written to the cache for the shortest lifetime; we request no other lifetime */
    gint64 written;
    gint64 output;
    gint64 reasoning;
    gint64 cost_pico; /* cost in pico-USD; -1: unknown */
    bool cost_stated; /* the provider stated cost_pico */
} AcrUsage;
/* a usage whose counts and cost are unknown */
#define ACR_USAGE_UNKNOWN                                                                          \
    {                                                                                              \
        .input = -1, .cached = -1, .written = -1, .output = -1, .reasoning = -1, .cost_pico = -1   \
    }
/* Returns the number of sent tokens: the sum of the known counts of input, cached and written; -1
 * if none is known. */
gint64 acr_usage_sent(const AcrUsage *usage);
/* Returns the number of sent tokens plus output; -1 unless both are known. */
gint64 acr_usage_tokens(const AcrUsage *usage);
/* Converts pico-USD to micro-USD, rounding up; -1 stays -1. */
gint64 acr_microusd(gint64 pico);

/* The sizes of an exchange in bytes, which bound the plausible token counts; 0 if nothing was sent
 * or received. */
typedef struct {
    gint64 asked;    /* bytes of the messages' text */
    gint64 sent;     /* bytes of the request's body */
    gint64 answered; /* bytes of the answer's text; at least 1 if thoughts or calls arrived */
    gint64 received; /* bytes of the response's body */
    gint64 limit;    /* answer limit of the request in tokens; 0 if the request has none */
} AcrExchange;
/* Bounds of plausible counts. If a side has text, its minimum is one token, and one for each
 * ACR_USAGE_DENSEST_BYTES bytes, because no tokeniser packs code or prose more densely. The maximum
 * of the sent tokens is one for each byte of the body, plus what servers add to a prompt
 * (templates, search results). The maximum of the received tokens is the request's limit or, if the
 * request has none, one for each byte plus an allowance for hidden reasoning. */
#define ACR_USAGE_DENSEST_BYTES 32
#define ACR_USAGE_UNSEEN_TOKENS 65536
/* allowance for hidden reasoning if the request sets no limit */
#define ACR_USAGE_MOST_OUTPUT (1 << 20)
/* The smallest and the largest plausible numbers of tokens of an exchange. */
typedef struct {
    gint64 least_sent, most_sent, least_received, most_received;
} AcrUsageBounds;
AcrUsageBounds acr_usage_bounds(const AcrExchange *exchange);
/* Makes all counts unknown if one of them is out of bounds. Before that, adds the reasoning to the
 * output if the reasoning exceeds the output, because some servers do not include the reasoning in
 * the output. */
void acr_usage_judge(AcrUsage *usage, const AcrUsageBounds *bounds);

/* ---- Prices ---- */

/* Prices of one model in pico-USD per token. A price is -1 if it is not given; the price of
 * ordinary input or output then applies. */
typedef struct {
    gint64 input, cached, written, output, reasoning;
} AcrPriceTier;
#define ACR_PRICE_TIERS 8
/* The service tier of a request: how soon, and at which price, a provider processes it. */
typedef enum {
    ACR_SERVICE_ANY, /* no tier is requested, or the answer names none */
    ACR_SERVICE_STANDARD,
    ACR_SERVICE_FLEX,     /* cheaper and slower; the provider may refuse the tier */
    ACR_SERVICE_PRIORITY, /* more expensive and faster */
    /* requests in batches: answered within a day, at half of the standard prices */
    ACR_SERVICE_BATCH,
    ACR_SERVICES,
} AcrService;
/* names of the tiers from ACR_SERVICE_STANDARD on */
#define ACR_SERVICE_WORDS "standard|flex|priority"
const char *acr_service_name(AcrService service); /* "standard", …; NULL for ANY */
typedef struct {
    AcrPriceTier base;
    /* prices at the service tiers flex and priority; a price that is not given is <= 0 */
    AcrPriceTier flex, priority;
    /* Prices for requests with more than `above` tokens; they apply to the whole request. Sorted by
     * `above`; an entry with 0 ends the list. */
    struct {
        gint64 above;
        AcrPriceTier tier, flex, priority;
    } tiers[ACR_PRICE_TIERS];
    gint64 max_output; /* maximum number of tokens of an answer; -1: unknown */
} AcrPrice;

typedef struct AcrPrices AcrPrices;
/* Loads the built-in price table. Rows of the price file `path` (may be NULL), in LiteLLM's format,
 * take precedence. Owned (acr_prices_free). Errors: USAGE (no such file, wrong format). */
AcrPrices *acr_prices_new(const char *path, GError **error) ACR_MUST_USE;
void acr_prices_free(AcrPrices *prices);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrPrices, acr_prices_free)
/* Returns the date of the built-in price table, such as "2026-11-20"; borrowed. */
const char *acr_prices_date(const AcrPrices *prices);
/* Finds the prices of the model "PROVIDER/NAME"; returns false if they are unknown. */
bool acr_prices_find(const AcrPrices *prices, const char *model, AcrPrice *out);
/* Returns the built-in name that is nearest to a model's name; borrowed; NULL if there is none. */
const char *acr_prices_nearest(const AcrPrices *prices, const char *model);
/* Finds the highest price of each kind of token in the built-in table, which is assumed for unknown
 * models. */
void acr_prices_highest(const AcrPrices *prices, AcrPrice *out);
/* Finds the lowest price above 0 of sent and of received tokens; sets `input` and `output`. */
void acr_prices_lowest(const AcrPrices *prices, AcrPrice *out);
/* Returns the cost of a usage in pico-USD; -1 if a required count is unknown. The result
 * saturates. */
gint64 acr_price_of_usage(const AcrPrice *price, const AcrUsage *usage);
/* Finds the prices of a service tier, as the base members of *out. If the tier's row lacks a price,
 * assumes the highest possible price: cached tokens cost as much as other input, and long prompts
 * at least their standard price. Returns false if the model has no row for the tier; *out then has
 * the standard prices. */
bool acr_price_for(const AcrPrice *price, AcrService service, AcrPrice *out);
/* Returns the most that the tokens can cost, however the provider caches them. */
gint64 acr_price_at_most(const AcrPrice *price, gint64 sent, gint64 received);
/* Returns the most that a run costs for a typical issue or a large issue: the median and the
 * maximum number of tokens in 210 recorded runs on SWE-bench tasks, with a third more for the
 * proof. */
gint64 acr_price_of_issue(const AcrPrice *price, bool is_large);
/* Returns the least that the tokens can cost: their cost if all were cached. */
gint64 acr_price_at_least(const AcrPrice *price, gint64 sent, gint64 received);
/* Returns the provider of a model name without a provider ("gpt-4.1" -> "openai"), found by the
 * built-in table and well-known prefixes; NULL if no provider or several fit. Static. */
const char *acr_prices_provider_of(const char *bare_name);

/* ---- Budget ---- */

typedef struct {
    gint64 pico, tokens;
} AcrAmount;
#define ACR_NO_CEILING (-1)

/* A budget limits calls: the cost of each call is reserved before it is sent, and settled after the
 * call. A ledger is a file to which any number of processes append under a lock; a reservation is
 * valid after the fsync of its record. The sum of spent and reserved amounts never exceeds the
 * limit. A reservation whose process has ended counts as spent. Only one thread at a time may use a
 * budget. */
typedef struct AcrBudget AcrBudget;
AcrBudget *acr_budget_new(void) ACR_MUST_USE; /* owned */
void acr_budget_free(AcrBudget *budget);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrBudget, acr_budget_free)
#define ACR_SCOPE_RUN "run"   /* the scope of a run that belongs to no batch */
#define ACR_SCOPE_TASK "task" /* the scope of one run of a batch, which --task-max-cost limits */
/* Adds a ledger, which is kept in memory if `path` is NULL. Error messages call the ledger `scope`
 * ("run", "task", "batch"). A negative member of `ceiling` means no ceiling. Errors: FAILED (the
 * file, its lock, the disk), USAGE (the file is not a ledger). */
bool acr_budget_add(AcrBudget *budget, const char *path, const char *scope,
                    const AcrAmount *ceiling, GError **error) ACR_MUST_USE;
/* Sets the time after which no call begins or continues (g_get_monotonic_time; 0: no deadline).
 * Error messages call the deadline `limit` ("--max-time"). */
void acr_budget_set_deadline(AcrBudget *budget, gint64 deadline_us, const char *limit);
gint64 acr_budget_deadline(const AcrBudget *budget);
const char *acr_budget_deadline_name(const AcrBudget *budget); /* for messages; borrowed */
gint64 acr_budget_left_ms(const AcrBudget *budget);
/* Whether the deadline has not passed; otherwise fails with CEILING. */
bool acr_budget_is_in_time(const AcrBudget *budget, GError **error) ACR_MUST_USE;
/* Whether there is a ceiling of money or tokens. */
bool acr_budget_is_bounded(const AcrBudget *budget);
/* Finds the amount left, which is the minimum over all ledgers for each member separately;
 * G_MAXINT64 for a member without a ceiling. */
bool acr_budget_left(AcrBudget *budget, AcrAmount *out, GError **error) ACR_MUST_USE;
/* Finds out whether the amount would fit if all reservations of running processes were released. */
bool acr_budget_is_held(AcrBudget *budget, const AcrAmount *amount, bool *out_held,
                        GError **error) ACR_MUST_USE;
/* Reserves an amount in all ledgers, or in none. `note` (may be NULL) is written beside the
 * reservation; it must not be a secret. Errors: CEILING (names the option, the amount, and how
 * much is spent and reserved), FAILED. */
bool acr_budget_reserve(AcrBudget *budget, const AcrAmount *amount, const char *note,
                        guint64 *out_id, GError **error) ACR_MUST_USE;
/* Replaces a reservation by the amount that was spent, even if more was spent than reserved. */
bool acr_budget_settle(AcrBudget *budget, guint64 id, const AcrAmount *spent,
                       GError **error) ACR_MUST_USE;
/* Returns the money that a ledger's file with this content counts as spent, including stale
 * reservations, without its lock; -1 if it is not a ledger. */
gint64 acr_ledger_text_spent(GBytes *bytes);
/* Finds the sums of the ledger `scope`: the spent amount (including stale reservations) and the
 * reserved amount. */
bool acr_budget_sums(AcrBudget *budget, const char *scope, AcrAmount *out_spent,
                     AcrAmount *out_reserved, GError **error) ACR_MUST_USE;
