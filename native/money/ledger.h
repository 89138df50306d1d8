/* One ledger of a budget: a file, or memory, in which amounts are reserved and settled. */
#ifndef ACR_LEDGER_H
#define ACR_LEDGER_H

#include "money/money.h"

#define ACR_LEDGER_MAX_BYTES (1ll << 30)
#define ACR_LEDGER_MAX_LINE 4096u      /* bytes of a record */
#define ACR_LEDGER_MAX_NOTE 400u       /* bytes of a note, as it is written */
#define ACR_LEDGER_LOCK_MS (60 * 1000) /* how long another process may hold the lock */

/* Sums are wider than amounts: no number of records passes them. */
typedef struct {
    __int128 pico, tokens;
} AcrLedgerSum;

typedef struct AcrLedger AcrLedger;

/*
 * `path` NULL: in memory. `ceiling` members below 0: none. Owned (acr_ledger_free); its file is
 * open but not locked. Errors: FAILED, USAGE (not a ledger).
 */
AcrLedger *acr_ledger_open(const char *path, const char *scope, const AcrAmount *ceiling,
                           GError **error) ACR_MUST_USE;
void acr_ledger_free(AcrLedger *ledger);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrLedger, acr_ledger_free)

const char *acr_ledger_scope(const AcrLedger *ledger);
const AcrAmount *acr_ledger_ceiling(const AcrLedger *ledger);
/* Orders ledgers as their locks must be taken; equal: they are the same file. */
int acr_ledger_compare(const AcrLedger *a, const AcrLedger *b);

/*
 * Locks the file and reads what others have appended; unlocked again after an error. Nothing below
 * may be called without. Errors: FAILED (the lock, the disk), USAGE (damaged).
 */
bool acr_ledger_lock(AcrLedger *ledger, GError **error) ACR_MUST_USE;
void acr_ledger_unlock(AcrLedger *ledger);
void acr_ledger_sums(const AcrLedger *ledger, AcrLedgerSum *spent, AcrLedgerSum *reserved);
bool acr_ledger_has(const AcrLedger *ledger, guint64 id);
/* Whether the amount stays within the ceiling. */
bool acr_ledger_fits(const AcrLedger *ledger, const AcrAmount *amount);
/* The same if all that is reserved came back. */
bool acr_ledger_would_fit(const AcrLedger *ledger, const AcrAmount *amount);
/* What is left below the ceiling; G_MAXINT64 without one. */
AcrAmount acr_ledger_left(const AcrLedger *ledger);
/* On disk when it returns true. Errors: FAILED; then nothing of it is kept. */
bool acr_ledger_reserve(AcrLedger *ledger, guint64 id, const AcrAmount *amount, const char *note,
                        GError **error) ACR_MUST_USE;
bool acr_ledger_settle(AcrLedger *ledger, guint64 id, const AcrAmount *spent,
                       GError **error) ACR_MUST_USE;
/* Counts as spent what processes that are gone have left reserved. */
bool acr_ledger_find_stale(AcrLedger *ledger, GError **error) ACR_MUST_USE;

#endif
