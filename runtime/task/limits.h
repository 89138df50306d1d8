/*
 * limits: what a command may use, decided in one place: the prices that are known, a budget whose
 * ledgers hold the ceilings of money and tokens, and the deadline. Whoever spends asks the budget;
 * nobody else knows when the time is over.
 */
#ifndef ACR_LIMITS_H
#define ACR_LIMITS_H

#include "base/base.h"
#include "money/money.h"
#include "task/run_spec.h"

/* Zero-initialise. */
typedef struct {
    AcrPrices *prices;
    char *prices_digest; /* of the file of prices; NULL: none was given */
    AcrBudget *budget;   /* with the deadline; without ledgers until one is opened */
    AcrAmount ceiling;   /* of the spec */
} AcrLimits;
/* Reads the prices; the time of `spec` begins. Errors: USAGE of llm (the file of prices). */
bool acr_limits_init(AcrLimits *limits, const AcrRunSpec *spec, GError **error) ACR_MUST_USE;
void acr_limits_clear(AcrLimits *limits);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLimits, acr_limits_clear)

/* Opens the ledgers of a run: its own at `path` and that of its batch. One that bounds the run must
 * be there if anything is recorded in `journal`. Nothing is opened where no model can be billed. */
bool acr_limits_open_run(AcrLimits *limits, const AcrRunSpec *spec, const char *path,
                         const char *journal, GError **error) ACR_MUST_USE;
/* Opens the ledger of a batch at `path`, below its folder `out`, where it has a ceiling. It must be
 * there if anything is recorded of a task. Errors: ENVIRONMENT of task, those of money. */
bool acr_limits_open_batch(AcrLimits *limits, const AcrRunSpec *spec, const char *path,
                           GError **error) ACR_MUST_USE;
/* Opens one ledger under the spec's ceiling; `path` NULL: in memory. `scope` names
 * it in errors. */
bool acr_limits_open(AcrLimits *limits, const char *path, const char *scope,
                     GError **error) ACR_MUST_USE;
/* Whether nothing is left: the time is over, or the ledger of `scope` is spent. What others hold
 * may come back, so it does not count. */
bool acr_limits_are_over(const AcrLimits *limits, const char *scope);
/* Whether money is bounded, for a run or its batch. */
bool acr_limits_bound_money(const AcrRunSpec *spec);
/* Which prices are known, for cost.json; owned. */
AcrJson *acr_limits_describe(const AcrLimits *limits) ACR_MUST_USE;

/* The folder below a batch's in which its tasks keep to common limits, and the ledger in it; owned. */
char *acr_batch_shared_dir(const char *out) ACR_MUST_USE;
char *acr_batch_ledger(const char *shared_dir) ACR_MUST_USE;

#endif
