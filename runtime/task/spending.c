/*
 * What a run may spend, and on what prices: the run's own ledger, which its folder keeps so that a
 * resume knows what was spent, and that of the batch it belongs to. Both are opened only where a
 * model is asked that somebody may bill.
 */
#include "task/task_private.h"

#include <glib/gstdio.h>
#include <string.h>

#define SCOPE "run"
#define BATCH_SCOPE "batch"

static bool digest_file(const char *path, char **out_digest, GError **error)
{
    gsize len = 0;
    g_autoptr(GBytes) bytes = acr_file_read(path, G_MAXINT32, error);
    const void *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    if (bytes)
        *out_digest = acr_sha256_hex(data ? data : "", len);
    return bytes != NULL;
}

/* The earlier one of the run's time and the batch's. */
static void set_deadline(AcrSpending *spending, const AcrTaskCeilings *ceilings)
{
    gint64 own =
        ceilings->time_ms > 0 ? g_get_monotonic_time() + ceilings->time_ms * 1000 : G_MAXINT64;
    gint64 batch = ceilings->batch_deadline_us > 0 ? ceilings->batch_deadline_us : G_MAXINT64;
    if (MIN(own, batch) == G_MAXINT64)
        return;
    spending->deadline_us = MIN(own, batch);
    spending->scope = own <= batch ? SCOPE : BATCH_SCOPE;
    acr_budget_set_deadline(spending->budget, spending->deadline_us, spending->scope);
}

bool acr_spending_init(AcrSpending *spending, const AcrTaskOptions *options, GError **error)
{
    const char *path = options->price_file;
    spending->budget = acr_budget_new();
    spending->prices = acr_prices_new(path, error);
    if (!spending->prices || (path && !digest_file(path, &spending->prices_digest, error)))
        return false;
    if (options->ceilings)
        set_deadline(spending, options->ceilings);
    return true;
}

/* Whether a model is asked that a ledger is kept for: a script's answers cost nothing. */
static bool is_billed(const AcrTaskOptions *options)
{
    for (guint i = 0; options->models[i]; i++)
        if (!g_str_has_prefix(options->models[i], "script:"))
            return true;
    return false;
}

/* Whether a ledger is gone from beside a journal: then what was spent is not known any more. */
static bool is_lost(const char *ledger, const char *journal)
{
    GStatBuf recorded;
    return g_stat(journal, &recorded) == 0 && recorded.st_size > 0 &&
           !g_file_test(ledger, G_FILE_TEST_EXISTS);
}

static bool is_bounded(const AcrAmount *ceiling)
{
    return ceiling->pico >= 0 || ceiling->tokens >= 0;
}

static bool fail_lost(const char *scope, const char *ledger, GError **error)
{
    g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                "no ceiling can be kept: what the %s has spent stood in '%s', which is gone", scope,
                ledger);
    return false;
}

bool acr_spending_open(AcrSpending *spending, const AcrTaskOptions *options, const char *path,
                       const char *journal, GError **error)
{
    static const AcrTaskCeilings none = {.run = {ACR_NO_CEILING, ACR_NO_CEILING},
                                         .batch = {ACR_NO_CEILING, ACR_NO_CEILING}};
    const AcrTaskCeilings *ceilings = options->ceilings ? options->ceilings : &none;
    if (!is_billed(options))
        return true;
    if (is_bounded(&ceilings->run) && is_lost(path, journal))
        return fail_lost(SCOPE, path, error);
    /* The batch has made it before the first task. */
    if (ceilings->batch_ledger && is_bounded(&ceilings->batch) &&
        !g_file_test(ceilings->batch_ledger, G_FILE_TEST_EXISTS))
        return fail_lost(BATCH_SCOPE, ceilings->batch_ledger, error);
    return acr_budget_add(spending->budget, path, SCOPE, &ceilings->run, error) &&
           (!ceilings->batch_ledger || acr_budget_add(spending->budget, ceilings->batch_ledger,
                                                      BATCH_SCOPE, &ceilings->batch, error));
}

AcrJson *acr_spending_describe(const AcrSpending *spending)
{
    AcrJson *json = acr_json_new_object();
    acr_json_set_string(json, "table", acr_prices_date(spending->prices));
    if (spending->prices_digest)
        acr_json_set_string(json, "file", spending->prices_digest);
    return json;
}

void acr_spending_clear(AcrSpending *spending)
{
    acr_budget_free(spending->budget);
    acr_prices_free(spending->prices);
    g_free(spending->prices_digest);
    *spending = (AcrSpending){0};
}
