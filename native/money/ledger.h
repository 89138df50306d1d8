/* One ledger of a budget: a file, or a list in memory, in which amounts are reserved and
 * settled. */
#pragma once

#include "money/money.h"

#define ACR_LEDGER_MAX_BYTES (1ll << 30)
#define ACR_LEDGER_MAX_LINE 4096u /* maximum length of a record in bytes */
#define ACR_LEDGER_MAX_NOTE 400u  /* maximum length of a note in bytes, as written */
/* maximum time in milliseconds that another process may hold the lock */
#define ACR_LEDGER_LOCK_MS (60 * 1000)

/* Sums of amounts. A sum is wider than an amount, so that it cannot overflow. */
typedef struct {
    __int128 pico, tokens;
} AcrLedgerSum;

typedef struct AcrLedger AcrLedger;

/* Opens a ledger, which is kept in memory if `path` is NULL. A negative member of `ceiling` means
 * no ceiling. Owned (acr_ledger_free); the file is open but not locked. Errors: FAILED, USAGE (the
 * file is not a ledger). */
AcrLedger *acr_ledger_open(const char *path, const char *scope, const AcrAmount *ceiling,
                           GError **error) ACR_MUST_USE;
void acr_ledger_free(AcrLedger *ledger);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrLedger, acr_ledger_free)

const char *acr_ledger_scope(const AcrLedger *ledger);
const AcrAmount *acr_ledger_ceiling(const AcrLedger *ledger);
/* Compares ledgers by the order in which they must be locked; 0 if both are the same file. */
int acr_ledger_compare(const AcrLedger *a, const AcrLedger *b);

/* Locks the file and reads the lines that other processes have appended. After an error the file
 * is unlocked. All following functions require the lock. Errors: FAILED (the lock, the disk),
 * USAGE (the file is damaged). */
bool acr_ledger_lock(AcrLedger *ledger, GError **error) ACR_MUST_USE;
void acr_ledger_unlock(AcrLedger *ledger);
void acr_ledger_sums(const AcrLedger *ledger, AcrLedgerSum *spent, AcrLedgerSum *reserved);
/* Returns the part of the spent sum that counts whole reservations, because the calls were
 * interrupted or failed, or their usage is unknown. */
AcrLedgerSum acr_ledger_whole(const AcrLedger *ledger);
bool acr_ledger_has(const AcrLedger *ledger, guint64 id);
bool acr_ledger_fits(const AcrLedger *ledger, const AcrAmount *amount);
/* Whether the amount would fit if all reservations were released. */
bool acr_ledger_would_fit(const AcrLedger *ledger, const AcrAmount *amount);
/* Returns the amount left below the ceiling; a member without a ceiling is G_MAXINT64. */
AcrAmount acr_ledger_left(const AcrLedger *ledger);
/* Reserves an amount; returns true after the record is on disk. Errors: FAILED; the file then
 * does not contain the record. */
bool acr_ledger_reserve(AcrLedger *ledger, guint64 id, const AcrAmount *amount, const char *note,
                        GError **error) ACR_MUST_USE;
bool acr_ledger_settle(AcrLedger *ledger, guint64 id, const AcrAmount *spent,
                       GError **error) ACR_MUST_USE;
/* Finds reservations of processes that have ended, and marks them as spent. */
bool acr_ledger_find_stale(AcrLedger *ledger, GError **error) ACR_MUST_USE;
