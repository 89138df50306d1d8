/* limits: the limits of a command, namely the prices, and the budget with the ceilings of money and
 * tokens and the deadline. Reserve an amount in the budget before you spend it. */
#pragma once

#include "base/base.h"
#include "money/money.h"
#include "task/run_spec.h"

/* Zero-initialise the struct. */
typedef struct {
    AcrPrices *prices;
    char *prices_digest; /* SHA-256 of the price file; NULL if the user gave none */
    AcrBudget *budget;   /* the deadline and, once a ledger was opened, the ledgers */
    AcrAmount ceiling;   /* the ceiling that the spec sets */
} AcrLimits;
/* Reads the prices and starts the time limit of `spec`. Errors: USAGE of llm (the price file). */
bool acr_limits_init(AcrLimits *limits, const AcrRunSpec *spec, GError **error) ACR_MUST_USE;
void acr_limits_clear(AcrLimits *limits);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLimits, acr_limits_clear)

/* Opens the ledgers of a run: its own ledger at `path`, and that of its batch. If `journal` has
 * records, the ledger that limits the run must exist. Opens nothing if no model can be billed. */
bool acr_limits_open_run(AcrLimits *limits, const AcrRunSpec *spec, const char *path,
                         const char *journal, GError **error) ACR_MUST_USE;
/* Opens the ledger of a batch at `path`, inside the batch's folder, if the batch has a ceiling. The
 * ledger must exist if a task has records. Errors: ENVIRONMENT of task, those of money. */
bool acr_limits_open_batch(AcrLimits *limits, const AcrRunSpec *spec, const char *path,
                           GError **error) ACR_MUST_USE;
/* Opens one ledger with the spec's ceiling; keeps it in memory if `path` is NULL. Error messages
 * call the ledger `scope`. */
bool acr_limits_open(AcrLimits *limits, const char *path, const char *scope,
                     GError **error) ACR_MUST_USE;
/* Returns whether the time limit is reached or the ledger of `scope` is spent. Reservations of
 * other processes do not count, because they may be released. */
bool acr_limits_are_over(const AcrLimits *limits, const char *scope);
/* Returns whether the spec limits money, for the run or its batch. */
bool acr_limits_bound_money(const AcrRunSpec *spec);
/* Returns the known prices, for cost.json; owned. */
AcrJson *acr_limits_describe(const AcrLimits *limits) ACR_MUST_USE;

/* Returns the folder inside `out` in which the tasks of a batch share limits, and the path of the
 * ledger in that folder; both owned. */
char *acr_batch_shared_dir(const char *out) ACR_MUST_USE;
char *acr_batch_ledger(const char *shared_dir) ACR_MUST_USE;
