/* Sets up the limits and prices of a command. Opens the ledger in the command's run folder, from
 * which a resumed run learns how much was spent, and the ledger of its batch. */
#include "task/limits.h"

#include <glib/gstdio.h>

#include "task/run_folder.h"

#define BATCH_SCOPE "batch"

static bool digest_file(const char *path, char **out_digest, GError **error)
{
    g_autoptr(GBytes) bytes = acr_file_read(path, G_MAXINT32, error);
    *out_digest = bytes ? acr_sha256_bytes(bytes) : NULL;
    return bytes != NULL;
}

/* Sets the earlier of two deadlines: the command's own and that of its batch. */
static void set_deadline(AcrLimits *limits, const AcrRunSpec *spec)
{
    gint64 own = spec->max_ms > 0 ? g_get_monotonic_time() + spec->max_ms * 1000 : G_MAXINT64;
    gint64 batch = spec->batch_deadline_us > 0 ? spec->batch_deadline_us : G_MAXINT64;
    const char *name = spec->shared_dir ? "--task-max-time" : "--max-time";
    if (MIN(own, batch) < G_MAXINT64)
        acr_budget_set_deadline(limits->budget, MIN(own, batch),
                                own <= batch ? name : "--max-time of the batch");
}

bool acr_limits_init(AcrLimits *limits, const AcrRunSpec *spec, GError **error)
{
    limits->budget = acr_budget_new();
    limits->prices = acr_prices_new(spec->prices, error);
    limits->ceiling = (AcrAmount){spec->max_cost, spec->max_tokens_total};
    if (!limits->prices ||
        (spec->prices && !digest_file(spec->prices, &limits->prices_digest, error)))
        return false;
    set_deadline(limits, spec);
    return true;
}

void acr_limits_clear(AcrLimits *limits)
{
    acr_budget_free(limits->budget);
    acr_prices_free(limits->prices);
    g_free(limits->prices_digest);
    *limits = (AcrLimits){0};
}

static bool is_bounded(const AcrAmount *ceiling)
{
    return ceiling->pico >= 0 || ceiling->tokens >= 0;
}

bool acr_limits_bound_money(const AcrRunSpec *spec)
{
    return spec->max_cost >= 0 || spec->batch_max_cost >= 0;
}

/* Returns whether any model costs money, so that a ledger is needed. Scripts are free. */
static bool is_billed(const AcrRunSpec *spec)
{
    for (guint i = 0; spec->models[i]; i++)
        if (!g_str_has_prefix(spec->models[i], "script:"))
            return true;
    return false;
}

/* Returns whether the ledger of a run with a journal is missing, so that the spent amount is
 * unknown. */
static bool is_lost(const char *ledger, const char *journal)
{
    GStatBuf recorded;
    return g_stat(journal, &recorded) == 0 && recorded.st_size > 0 &&
           !g_file_test(ledger, G_FILE_TEST_EXISTS);
}

static bool fail_lost(const char *scope, const char *ledger, GError **error)
{
    return acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                         "the ceiling of the %s cannot be enforced: its ledger '%s' was removed",
                         scope, ledger);
}

bool acr_limits_open_run(AcrLimits *limits, const AcrRunSpec *spec, const char *path,
                         const char *journal, GError **error)
{
    const AcrAmount batch = {spec->batch_max_cost, spec->batch_max_tokens};
    g_autofree char *shared = spec->shared_dir ? acr_batch_ledger(spec->shared_dir) : NULL;
    if (!is_billed(spec))
        return true;
    if (is_bounded(&limits->ceiling) && is_lost(path, journal))
        return fail_lost(ACR_SCOPE_RUN, path, error);
    /* The batch created its ledger before its first task. */
    if (shared && is_bounded(&batch) && !g_file_test(shared, G_FILE_TEST_EXISTS))
        return fail_lost(BATCH_SCOPE, shared, error);
    return acr_budget_add(limits->budget, path, spec->shared_dir ? ACR_SCOPE_TASK : ACR_SCOPE_RUN,
                          &limits->ceiling, error) &&
           (!shared || acr_budget_add(limits->budget, shared, BATCH_SCOPE, &batch, error));
}

/* Returns whether the ledger of a batch is missing although a run folder in `out` has a journal. */
static bool is_lost_of_batch(const char *ledger, const char *out)
{
    g_autoptr(GDir) dir = g_dir_open(out, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_autofree char *journal = g_build_filename(out, name, ACR_FILE_JOURNAL, NULL);
        if (is_lost(ledger, journal))
            return true;
    }
    return false;
}

bool acr_limits_open_batch(AcrLimits *limits, const AcrRunSpec *spec, const char *path,
                           GError **error)
{
    if (!is_bounded(&limits->ceiling))
        return true;
    if (is_billed(spec) && is_lost_of_batch(path, spec->out))
        return fail_lost(BATCH_SCOPE, path, error);
    return acr_limits_open(limits, path, BATCH_SCOPE, error);
}

bool acr_limits_open(AcrLimits *limits, const char *path, const char *scope, GError **error)
{
    return acr_budget_add(limits->budget, path, scope, &limits->ceiling, error);
}

/* Returns whether a ceiling is used up. A ceiling of 0 never is, because free models may
 * continue. */
static bool is_spent(gint64 ceiling, gint64 spent)
{
    return ceiling > 0 && spent >= ceiling;
}

bool acr_limits_are_over(const AcrLimits *limits, const char *scope)
{
    AcrAmount spent, reserved;
    if (acr_budget_left_ms(limits->budget) == 0)
        return true;
    return is_bounded(&limits->ceiling) &&
           acr_budget_sums(limits->budget, scope, &spent, &reserved, NULL) &&
           (is_spent(limits->ceiling.pico, spent.pico) ||
            is_spent(limits->ceiling.tokens, spent.tokens));
}

AcrJson *acr_limits_describe(const AcrLimits *limits)
{
    AcrJson *json = acr_json_new_object();
    acr_json_set_string(json, "table", acr_prices_date(limits->prices));
    if (limits->prices_digest)
        acr_json_set_string(json, "file", limits->prices_digest);
    return json;
}

char *acr_batch_shared_dir(const char *out)
{
    return g_build_filename(out, ACR_DIR_SHARED, NULL);
}

char *acr_batch_ledger(const char *shared_dir)
{
    return g_build_filename(shared_dir, ACR_FILE_LEDGER, NULL);
}
