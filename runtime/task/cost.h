/* cost: the usage and costs of a run's model calls. */
#pragma once

#include "task/limits.h"
#include "task/task.h"

#define ACR_PICO 1000000 /* number of pico-USD in a micro-USD */

/* Adds the known members of `more` to `sum`; saturates. */
void acr_cost_sum_add(AcrCostSum *sum, const AcrCostSum *more);

/* Sums of calls and tokens by role. Calls from the journal and live calls are added in the same
 * way, so that the same journal gives the same sums. */
typedef struct AcrCost AcrCost;
AcrCost *acr_cost_new(void) ACR_MUST_USE;
void acr_cost_free(AcrCost *cost);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrCost, acr_cost_free)
/* Adds a call of a role (`agent`) in a conversation (`stage`, "attempt_0/search"). */
void acr_cost_add(AcrCost *cost, const char *agent, const char *stage, const AcrCostSum *call);
/* Sets the charged amount of the total to what the ledger says. `unanswered_pico` is the part that
 * no answer explains: calls that were interrupted or failed, which the journal does not have. */
void acr_cost_set_charged(AcrCost *cost, gint64 charged_pico, gint64 unanswered_pico);
/* Does so with the run's ledger, and returns the sum of all roles; borrowed. */
const AcrCostSum *acr_cost_settle(AcrCost *cost, const AcrLimits *limits, const AcrRunSpec *spec);
/* Returns the sum of all roles; borrowed. */
const AcrCostSum *acr_cost_total(const AcrCost *cost);
/* Makes cost.json: {"total": SUM, "cached_share", "by_agent": {"search": SUM, …}, "by_stage":
 * {"attempt_0/search": SUM, …}, "prices"}. In a SUM, input_tokens excludes tokens read from or
 * written to a cache; cost_microusd is the sum of the known costs, charged_microusd the amount that
 * counts for ceilings. `prices` (taken, may be NULL) has the known prices. */
AcrJson *acr_cost_to_json(const AcrCost *cost, AcrJson *prices) ACR_MUST_USE;
/* Converts a sum to the form of progress events. */
AcrSpent acr_cost_spent(const AcrCostSum *sum);
/* Convert a sum to JSON and back; missing members become 0. */
AcrJson *acr_cost_sum_to_json(const AcrCostSum *sum) ACR_MUST_USE;
void acr_cost_sum_from_json(const AcrJson *json, AcrCostSum *out);
