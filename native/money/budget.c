/* A budget consists of the ledgers whose limits a call must respect, and the time after which no
 * call begins. All processes lock their ledgers in the same order, by device and inode, so that
 * they cannot deadlock. */
#include "base/trace.h"
#include "money/ledger.h"

#include <string.h>
#include <sys/random.h>

#define MICRO_PER_USD 1e6

struct AcrBudget {
    GPtrArray *ledgers; /* array of ledgers, in the order in which they are locked */
    gint64 deadline_us; /* in microseconds; 0: no deadline */
    char *deadline_name;
    guint64 next_id;
};

AcrBudget *acr_budget_new(void)
{
    AcrBudget *budget = g_new0(AcrBudget, 1);
    budget->ledgers = g_ptr_array_new_with_free_func((GDestroyNotify)acr_ledger_free);
    if (getrandom(&budget->next_id, sizeof budget->next_id, 0) != sizeof budget->next_id)
        budget->next_id = (guint64)g_random_int() << 32 | g_random_int();
    return budget;
}

void acr_budget_free(AcrBudget *budget)
{
    if (!budget)
        return;
    g_ptr_array_unref(budget->ledgers);
    ACR_FREE(budget->deadline_name, budget);
}

void acr_budget_set_deadline(AcrBudget *budget, gint64 deadline_us, const char *limit)
{
    budget->deadline_us = deadline_us;
    g_free(budget->deadline_name);
    budget->deadline_name = g_strdup(limit);
}

gint64 acr_budget_deadline(const AcrBudget *budget)
{
    return budget->deadline_us;
}

const char *acr_budget_deadline_name(const AcrBudget *budget)
{
    return budget->deadline_name ? budget->deadline_name : "the deadline";
}

static AcrLedger *ledger_at(const AcrBudget *budget, guint n)
{
    return budget->ledgers->pdata[n];
}

bool acr_budget_is_bounded(const AcrBudget *budget)
{
    for (guint i = 0; i < budget->ledgers->len; i++) {
        const AcrAmount *ceiling = acr_ledger_ceiling(ledger_at(budget, i));
        if (ceiling->pico >= 0 || ceiling->tokens >= 0)
            return true;
    }
    return false;
}

static void unlock_first(AcrBudget *budget, guint n)
{
    while (n > 0)
        acr_ledger_unlock(ledger_at(budget, --n));
}

static bool lock_all(AcrBudget *budget, GError **error)
{
    for (guint i = 0; i < budget->ledgers->len; i++) {
        if (acr_ledger_lock(ledger_at(budget, i), error))
            continue;
        unlock_first(budget, i);
        return false;
    }
    return true;
}

static void unlock_all(AcrBudget *budget)
{
    unlock_first(budget, budget->ledgers->len);
}

bool acr_budget_add(AcrBudget *budget, const char *path, const char *scope,
                    const AcrAmount *ceiling, GError **error)
{
    g_autoptr(AcrLedger) ledger = acr_ledger_open(path, scope, ceiling, error);
    guint at = 0;
    if (!ledger)
        return false;
    while (at < budget->ledgers->len && acr_ledger_compare(ledger_at(budget, at), ledger) < 0)
        at++;
    if (at < budget->ledgers->len && acr_ledger_compare(ledger_at(budget, at), ledger) == 0)
        return acr_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_FAILED,
                             "the %s and the %s cannot share one ledger", scope,
                             acr_ledger_scope(ledger_at(budget, at)));
    if (!acr_ledger_lock(ledger, error))
        return false;
    bool ok = acr_ledger_find_stale(ledger, error);
    acr_ledger_unlock(ledger);
    if (ok)
        g_ptr_array_insert(budget->ledgers, (gint)at, g_steal_pointer(&ledger));
    return ok;
}

/* Formats an amount, rounded up: "0.27 USD", or with more digits for small amounts; owned. */
static char *usd(gint64 pico)
{
    gint64 micro = acr_microusd(pico);
    g_autofree char *text = g_strdup_printf("%.6f", (double)micro / MICRO_PER_USD);
    for (char *end = text + strlen(text) - 1; *end == '0' && end[-2] != '.'; end--)
        *end = '\0';
    return g_strconcat(text, " USD", NULL);
}

static gint64 narrow_sum(__int128 sum)
{
    return sum > G_MAXINT64 ? G_MAXINT64 : (gint64)sum;
}

/* Returns an amount of money, or of tokens, as text; owned. */
static char *amount_text(gint64 amount, bool is_money)
{
    return is_money ? usd(amount) : g_strdup_printf("%" G_GINT64_FORMAT " tokens", amount);
}

static bool refuse_amount(const AcrLedger *ledger, const AcrAmount *amount, GError **error)
{
    const AcrAmount *ceiling = acr_ledger_ceiling(ledger);
    const char *scope = acr_ledger_scope(ledger);
    AcrLedgerSum spent, reserved, whole = acr_ledger_whole(ledger);
    acr_ledger_sums(ledger, &spent, &reserved);
    bool is_money = ceiling->pico >= 0 && amount->pico > acr_ledger_left(ledger).pico,
         is_task = strcmp(scope, ACR_SCOPE_TASK) == 0,
         is_held = (is_money ? reserved.pico : reserved.tokens) > 0;
    g_autofree char *asked = amount_text(is_money ? amount->pico : amount->tokens, is_money),
                    *most = amount_text(is_money ? ceiling->pico : ceiling->tokens, is_money),
                    *used = amount_text(narrow_sum(is_money ? spent.pico : spent.tokens), is_money),
                    *held = amount_text(narrow_sum(is_money ? reserved.pico : reserved.tokens),
                                        is_money),
                    *lost = amount_text(narrow_sum(is_money ? whole.pico : whole.tokens), is_money),
                    *part = (is_money ? whole.pico : whole.tokens) > 0
                                ? g_strdup_printf(
                                      " (%s of it for calls that were cut off or of unknown "
                                      "cost)",
                                      lost)
                                : g_strdup("");
    return acr_set_error(
        error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_CEILING,
        "limit %s of the %s reached: %s of %s spent%s%s%s%s, and the next call could "
        "%s up to %s; raise the limit, or set --max-answer-tokens",
        is_money  ? (is_task ? "--task-max-cost" : "--max-cost")
        : is_task ? "--task-max-tokens"
                  : "--max-tokens-total",
        scope, used, most, part, is_held ? ", " : "", is_held ? held : "",
        is_held ? " reserved for other calls" : "", is_money ? "cost" : "take", asked);
}

gint64 acr_budget_left_ms(const AcrBudget *budget)
{
    gint64 left_us = MAX(budget->deadline_us - g_get_monotonic_time(), 0);
    return budget->deadline_us ? left_us / 1000 : G_MAXINT64;
}

bool acr_budget_is_in_time(const AcrBudget *budget, GError **error)
{
    if (!budget->deadline_us || g_get_monotonic_time() < budget->deadline_us)
        return true;
    return acr_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_CEILING,
                         "limit %s reached; rerun with a higher limit to continue",
                         acr_budget_deadline_name(budget));
}

static guint64 new_id(AcrBudget *budget)
{
    bool is_taken = true;
    while (is_taken) {
        budget->next_id++;
        is_taken = false;
        for (guint i = 0; i < budget->ledgers->len; i++)
            is_taken = is_taken || acr_ledger_has(ledger_at(budget, i), budget->next_id);
    }
    return budget->next_id;
}

/* Reserves an amount in all ledgers, which are locked. If the reservation fails in one ledger,
 * releases the reservations made so far. */
static bool reserve_in_all(AcrBudget *budget, guint64 id, const AcrAmount *amount, const char *note,
                           GError **error)
{
    static const AcrAmount nothing = {0, 0};
    for (guint i = 0; i < budget->ledgers->len; i++) {
        if (acr_ledger_reserve(ledger_at(budget, i), id, amount, note, error))
            continue;
        /* if settling fails, the reservation stays, which counts too much but never too little */
        while (i > 0)
            if (!acr_ledger_settle(ledger_at(budget, --i), id, &nothing, NULL))
                continue;
        return false;
    }
    return true;
}

bool acr_budget_reserve(AcrBudget *budget, const AcrAmount *amount, const char *note,
                        guint64 *out_id, GError **error)
{
    bool ok = amount->pico >= 0 && amount->tokens >= 0;
    g_return_val_if_fail(ok, false);
    if (!acr_budget_is_in_time(budget, error) || !lock_all(budget, error))
        return false;
    for (guint i = 0; ok && i < budget->ledgers->len; i++)
        if (!acr_ledger_fits(ledger_at(budget, i), amount))
            ok = refuse_amount(ledger_at(budget, i), amount, error);
    guint64 id = ok ? new_id(budget) : 0;
    ok = ok && reserve_in_all(budget, id, amount, note, error);
    unlock_all(budget);
    acr_trace("money", "%s %" G_GINT64_FORMAT " tokens, %.6f USD for %s",
              ok ? "reserves" : "refuses", amount->tokens, (double)amount->pico / 1e12,
              note ? note : "a call");
    if (ok)
        *out_id = id;
    return ok;
}

bool acr_budget_is_held(AcrBudget *budget, const AcrAmount *amount, bool *out_held, GError **error)
{
    bool ok = lock_all(budget, error), fits = true, are_held = false;
    if (!ok)
        return false;
    for (guint i = 0; ok && i < budget->ledgers->len; i++) {
        AcrLedger *ledger = ledger_at(budget, i);
        AcrLedgerSum spent, reserved;
        ok = acr_ledger_find_stale(ledger, error);
        acr_ledger_sums(ledger, &spent, &reserved);
        fits = fits && acr_ledger_would_fit(ledger, amount);
        are_held = are_held || reserved.pico > 0 || reserved.tokens > 0;
    }
    unlock_all(budget);
    *out_held = fits && are_held;
    return ok;
}

bool acr_budget_settle(AcrBudget *budget, guint64 id, const AcrAmount *spent, GError **error)
{
    GError *first = NULL;
    g_return_val_if_fail(spent->pico >= 0 && spent->tokens >= 0, false);
    for (guint i = 0; i < budget->ledgers->len; i++) {
        AcrLedger *ledger = ledger_at(budget, i);
        GError **to = first ? NULL : &first;
        if (!acr_ledger_lock(ledger, to))
            continue;
        if (!acr_ledger_has(ledger, id))
            g_set_error(to, ACR_MONEY_ERROR, ACR_MONEY_ERROR_FAILED,
                        "the ledger of the %s has no such reservation", acr_ledger_scope(ledger));
        else if (!acr_ledger_settle(ledger, id, spent, to))
            g_assert(first);
        acr_ledger_unlock(ledger);
    }
    if (first)
        g_propagate_error(error, first);
    return first == NULL;
}

bool acr_budget_left(AcrBudget *budget, AcrAmount *out, GError **error)
{
    AcrAmount least = {G_MAXINT64, G_MAXINT64};
    if (!lock_all(budget, error))
        return false;
    for (guint i = 0; i < budget->ledgers->len; i++) {
        AcrAmount left = acr_ledger_left(ledger_at(budget, i));
        least = (AcrAmount){MIN(least.pico, left.pico), MIN(least.tokens, left.tokens)};
    }
    unlock_all(budget);
    *out = least;
    return true;
}

bool acr_budget_sums(AcrBudget *budget, const char *scope, AcrAmount *out_spent,
                     AcrAmount *out_reserved, GError **error)
{
    for (guint i = 0; i < budget->ledgers->len; i++) {
        AcrLedger *ledger = ledger_at(budget, i);
        AcrLedgerSum spent, reserved;
        bool ok = false;
        if (strcmp(acr_ledger_scope(ledger), scope) != 0)
            continue;
        if (!acr_ledger_lock(ledger, error))
            return false;
        ok = acr_ledger_find_stale(ledger, error);
        acr_ledger_sums(ledger, &spent, &reserved);
        acr_ledger_unlock(ledger);
        if (!ok)
            return false;
        *out_spent = (AcrAmount){narrow_sum(spent.pico), narrow_sum(spent.tokens)};
        *out_reserved = (AcrAmount){narrow_sum(reserved.pico), narrow_sum(reserved.tokens)};
        return true;
    }
    return acr_set_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_FAILED,
                         "there is no ledger of the %s", scope);
}
