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

/* Counts of tokens; -1 if the provider did not state the count, or stated an impossible one.
 * input, cached and written are disjoint, and their sum is the number of tokens that were sent;
 * output is the number of received tokens, including reasoning. */
typedef struct {
    gint64 input;  /* tokens that were neither read from the provider's cache nor written to it */
    gint64 cached; /* tokens read from the cache */
    /* tokens written to the cache for the shortest lifetime, which is what we request */
    gint64 written;
    gint64 output;
    gint64 reasoning;
    gint64 cost_pico; /* -1: unknown */
    bool cost_stated; /* the provider stated cost_pico */
} AcrUsage;
/* All counters unknown. */
#define ACR_USAGE_UNKNOWN                                                                          \
    {                                                                                              \
        .input = -1, .cached = -1, .written = -1, .output = -1, .reasoning = -1, .cost_pico = -1   \
    }
/* The number of tokens sent: the sum of the counts that are known; -1 if none is known. */
gint64 acr_usage_sent(const AcrUsage *usage); /* input, cached, written */
/* tokens sent plus output; -1 unless both are known */
gint64 acr_usage_tokens(const AcrUsage *usage);
/* Converts pico-USD to micro-USD, rounding up; -1 stays -1. */
gint64 acr_microusd(gint64 pico);

/* The sizes of an exchange in bytes, by which a server's token counts are checked; 0 if nothing
 * was sent or received. */
typedef struct {
    gint64 asked;    /* the text of the messages */
    gint64 sent;     /* the whole body of the request */
    gint64 answered; /* the text of the answer; at least 1 if thoughts or calls arrived */
    gint64 received; /* the body of the response */
    gint64 limit;    /* answer limit of the request in tokens; 0 if it set none */
} AcrExchange;
/* Bounds of plausible counts. If a side has text, its minimum is one token, and one for each
 * ACR_USAGE_DENSEST_BYTES bytes, because no tokeniser packs code or prose more densely. The
 * maximum of the sent tokens is one for each byte of the body, plus what servers add to a prompt
 * (templates, search results). The maximum of the received tokens is the request's limit or, if
 * it has none, one for each byte plus an allowance for hidden reasoning. */
#define ACR_USAGE_DENSEST_BYTES 32
#define ACR_USAGE_UNSEEN_TOKENS 65536
/* allowance for hidden reasoning if the request sets no limit */
#define ACR_USAGE_MOST_OUTPUT (1 << 20)
/* The smallest and the largest plausible numbers of tokens of an exchange. */
typedef struct {
    gint64 least_sent, most_sent, least_received, most_received;
} AcrUsageBounds;
AcrUsageBounds acr_usage_bounds(const AcrExchange *exchange);
/* Makes all counts unknown if one of them is out of bounds. Before that, adds the reasoning to
 * the output if it exceeds the output, because some servers do not include it there. */
void acr_usage_judge(AcrUsage *usage, const AcrUsageBounds *bounds);

/* ---- Prices ---- */

/* Prices of one model in pico-USD per token; -1 if a price is not given: then the price of
 * ordinary input or output applies. */
typedef struct {
    gint64 input, cached, written, output, reasoning;
} AcrPriceTier;
#define ACR_PRICE_TIERS 8
/* The service tier of a request: how soon, and at which price, a provider processes it. */
typedef enum {
    ACR_SERVICE_ANY, /* no tier is requested, or the answer names none */
    ACR_SERVICE_STANDARD,
    ACR_SERVICE_FLEX,     /* cheaper and slower; the provider may refuse it */
    ACR_SERVICE_PRIORITY, /* dearer and faster */
    ACR_SERVICE_BATCH,    /* by a batch interface: within a day, at half of the standard prices */
    ACR_SERVICES,
} AcrService;
#define ACR_SERVICE_WORDS "standard|flex|priority" /* from ACR_SERVICE_STANDARD on */
const char *acr_service_name(AcrService service);  /* "standard", …; NULL for ANY */
typedef struct {
    AcrPriceTier base;
    /* prices at these service tiers; a price that is not given is <= 0 */
    AcrPriceTier flex, priority;
    /* Prices that apply to the whole request if it has more than `above` tokens. Sorted by
     * `above`; an entry with 0 ends the list. */
    struct {
        gint64 above;
        AcrPriceTier tier, flex, priority;
    } tiers[ACR_PRICE_TIERS];
    gint64 max_output; /* maximum number of tokens of an answer; -1: unknown */
} AcrPrice;

typedef struct AcrPrices AcrPrices;
/* Loads the built-in table. Rows of the file `path` (may be NULL), in LiteLLM's format, take
 * precedence. Owned (acr_prices_free). Errors: USAGE (no such file, wrong format). */
AcrPrices *acr_prices_new(const char *path, GError **error) ACR_MUST_USE;
void acr_prices_free(AcrPrices *prices);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrPrices, acr_prices_free)
/* The date of the built-in table, "2026-11-20"; borrowed. */
const char *acr_prices_date(const AcrPrices *prices);
/* Finds the prices of "PROVIDER/NAME"; returns false if they are unknown. */
bool acr_prices_find(const AcrPrices *prices, const char *model, AcrPrice *out);
/* The highest price of each kind of token in the built-in table: the most that an unknown model is
 * assumed to cost. */
void acr_prices_highest(const AcrPrices *prices, AcrPrice *out);
/* The lowest price above 0 of sent and of received tokens, in `input` and `output`. */
void acr_prices_lowest(const AcrPrices *prices, AcrPrice *out);
/* The cost of a usage; -1 if a required count is unknown. The result saturates. */
gint64 acr_price_of_usage(const AcrPrice *price, const AcrUsage *usage);
/* The prices of a service tier, in the base members of *out. If the tier's row lacks a price,
 * assumes the highest possible one: cached tokens cost as much as other input, and long prompts
 * at least their standard price. Returns false if the model has no row for that tier; *out then
 * has the standard prices. */
bool acr_price_for(const AcrPrice *price, AcrService service, AcrPrice *out);
/* The most that these tokens can cost, however the provider caches them. */
gint64 acr_price_at_most(const AcrPrice *price, gint64 sent, gint64 received);
/* The most that a run costs for a typical issue, or for a large one: the median and the maximum
 * number of tokens in 210 recorded runs on SWE-bench tasks, with a third more for the proof. */
gint64 acr_price_of_issue(const AcrPrice *price, bool is_large);
/* The least that these tokens can cost: their cost if all were cached. */
gint64 acr_price_at_least(const AcrPrice *price, gint64 sent, gint64 received);
/* The provider of a model name that lacks one ("gpt-4.1" -> "openai"), found by the built-in
 * table and well-known prefixes; NULL if no provider or several fit. Static. */
const char *acr_prices_provider_of(const char *bare_name);

/* ---- Budget ---- */

typedef struct {
    gint64 pico, tokens;
} AcrAmount;
#define ACR_NO_CEILING (-1)

/* A budget limits calls: the cost of each call is reserved before it is sent, and settled after
 * the call. A ledger is a file to which any number of processes append under a lock; a
 * reservation is valid after its fsync. The sum of spent and reserved amounts never exceeds the
 * limit. A reservation whose process has ended counts as spent. One thread at a time. */
typedef struct AcrBudget AcrBudget;
AcrBudget *acr_budget_new(void) ACR_MUST_USE; /* owned */
void acr_budget_free(AcrBudget *budget);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrBudget, acr_budget_free)
#define ACR_SCOPE_TASK "task" /* the scope of a run in a batch: --task-max-cost limits it */
/* Adds a ledger; if `path` is NULL, it is kept in memory. Error messages call it `scope` ("run",
 * "task", "batch"). A negative member of `ceiling` means no ceiling. Errors: FAILED (the file, its
 * lock, the disk), USAGE (the file is not a ledger). */
bool acr_budget_add(AcrBudget *budget, const char *path, const char *scope,
                    const AcrAmount *ceiling, GError **error) ACR_MUST_USE;
/* No call begins or continues after this time (g_get_monotonic_time); 0: no deadline. Error
 * messages call the deadline `limit` ("--max-time"). */
void acr_budget_set_deadline(AcrBudget *budget, gint64 deadline_us, const char *limit);
gint64 acr_budget_deadline(const AcrBudget *budget);
gint64 acr_budget_left_ms(const AcrBudget *budget);
/* Returns false with CEILING if the deadline has passed. */
bool acr_budget_is_in_time(const AcrBudget *budget, GError **error) ACR_MUST_USE;
/* Whether there is a ceiling of money or tokens. */
bool acr_budget_is_bounded(const AcrBudget *budget);
/* The amount left, which is the minimum over all ledgers for each member separately; G_MAXINT64
 * where there is no ceiling. */
bool acr_budget_left(AcrBudget *budget, AcrAmount *out, GError **error) ACR_MUST_USE;
/* Whether the amount would fit if all reservations of other running processes were released. */
bool acr_budget_is_held(AcrBudget *budget, const AcrAmount *amount, bool *out_held,
                        GError **error) ACR_MUST_USE;
/* Reserves an amount in all ledgers, or in none. `note` (may be NULL) is written beside the
 * reservation; it must not be a secret. Errors: CEILING (names the option, the amount, and how
 * much is spent and reserved), FAILED. */
bool acr_budget_reserve(AcrBudget *budget, const AcrAmount *amount, const char *note,
                        guint64 *out_id, GError **error) ACR_MUST_USE;
/* Replaces the reservation by the amount that was spent, even if that is higher. */
bool acr_budget_settle(AcrBudget *budget, guint64 id, const AcrAmount *spent,
                       GError **error) ACR_MUST_USE;
/* The sums of the ledger `scope`: the spent amount (including stale reservations) and the
 * reserved amount. */
bool acr_budget_sums(AcrBudget *budget, const char *scope, AcrAmount *out_spent,
                     AcrAmount *out_reserved, GError **error) ACR_MUST_USE;
