/* Fuzzes the content of a ledger: any bytes must be rejected as damaged, or give sums that never
 * fall below 0, of reservations that can be settled. */
#include "money/ledger.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sums(const AcrLedger *ledger)
{
    AcrLedgerSum spent, reserved;
    AcrAmount left = acr_ledger_left(ledger), nothing = {0, 0};

    acr_ledger_sums(ledger, &spent, &reserved);
    g_assert_true(spent.pico >= 0 && spent.tokens >= 0);
    g_assert_true(reserved.pico >= 0 && reserved.tokens >= 0);
    g_assert_cmpint(left.pico, >=, 0);
    g_assert_cmpint(left.pico, <=, 1000);
    g_assert_cmpint(left.tokens, ==, G_MAXINT64);
    if (spent.pico + reserved.pico <= 1000)
        g_assert_true(acr_ledger_fits(ledger, &nothing));
    else
        g_assert_false(acr_ledger_fits(ledger, &nothing));
}

/* Writes a ledger with this content after its first line; returns its path, owned. */
static char *write_file(const uint8_t *data, size_t size)
{
    char *path = g_strdup_printf("%s/acr-fuzz-ledger-%d", g_get_tmp_dir(), getpid());
    FILE *file = fopen(path, "we");

    g_assert_nonnull(file);
    g_assert_cmpint(fputs("{\"ledger\":1}\n", file), >=, 0);
    g_assert_cmpuint(fwrite(data, 1, size, file), ==, size);
    g_assert_cmpint(fclose(file), ==, 0);
    return path;
}

static void check_ledger(AcrLedger *ledger)
{
    static const AcrAmount amount = {7, 7};

    check_sums(ledger);
    if (!acr_ledger_has(ledger, 99)) {
        g_assert_true(acr_ledger_reserve(ledger, 99, &amount, "note", NULL));
        check_sums(ledger);
        g_assert_true(acr_ledger_settle(ledger, 99, &amount, NULL));
    }
    check_sums(ledger);
    g_assert_true(acr_ledger_find_stale(ledger, NULL));
    check_sums(ledger);
    acr_ledger_unlock(ledger);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const AcrAmount ceiling = {1000, ACR_NO_CEILING};
    g_autofree char *path = write_file(data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrLedger) ledger = acr_ledger_open(path, "run", &ceiling, &error);

    g_assert_no_error(error);
    if (acr_ledger_lock(ledger, &error)) {
        check_ledger(ledger);
    } else {
        g_assert_error(error, ACR_MONEY_ERROR, ACR_MONEY_ERROR_USAGE);
        g_assert_null(strchr(error->message, '\n'));
    }
    g_assert_cmpint(unlink(path), ==, 0);
    return 0;
}
