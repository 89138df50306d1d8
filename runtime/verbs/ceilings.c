/*
 * What a run, a task of a batch, and a batch may use: the options, and how a batch hands its own
 * ceilings to its tasks. A batch's deadline is a time of the system's monotonic clock, which is the
 * same one in every process.
 */
#include "verbs/verbs_private.h"

#define MAX_TOKENS (G_MAXINT64 / 2)

void acr_ceiling_options_clear(AcrCeilingOptions *options)
{
    char **const strings[] = {&options->cost,       &options->tokens,       &options->time,
                              &options->task_cost,  &options->task_tokens,  &options->task_time,
                              &options->batch_cost, &options->batch_tokens, &options->batch_ledger};
    for (gsize i = 0; i < G_N_ELEMENTS(strings); i++)
        g_clear_pointer(strings[i], g_free);
}

static bool check_amount(const char *verb, const char *prefix, const char *cost, const char *tokens,
                         AcrAmount *out)
{
    g_autofree char *cost_name = g_strconcat(prefix, "max-cost", NULL);
    g_autofree char *tokens_name =
        g_strconcat(prefix, *prefix ? "max-tokens" : "max-tokens-total", NULL);
    *out = (AcrAmount){ACR_NO_CEILING, ACR_NO_CEILING};
    return acr_usd_check(verb, cost_name, cost, &out->pico) &&
           acr_tokens_check(verb, tokens_name, tokens, MAX_TOKENS, &out->tokens);
}

bool acr_ceiling_options_check(AcrCeilingOptions *options, const char *verb)
{
    AcrTaskCeilings *out = &options->ceilings;
    AcrAmount task;
    gint64 task_ms;
    out->time_ms = 0;
    if (!check_amount(verb, "", options->cost, options->tokens, &out->run) ||
        !check_amount(verb, "task-", options->task_cost, options->task_tokens, &task) ||
        !check_amount(verb, "batch-", options->batch_cost, options->batch_tokens, &out->batch) ||
        !acr_seconds_check(verb, "max-time", options->time, &out->time_ms) ||
        !acr_seconds_check(verb, "task-max-time", options->task_time, &task_ms))
        return false;
    out->batch_ledger = options->batch_ledger;
    out->batch_deadline_us = options->batch_deadline_us;
    if (out->time_ms > 0)
        options->deadline_us = g_get_monotonic_time() + out->time_ms * 1000;
    return true;
}

static void add(GPtrArray *argv, const char *option, const char *value)
{
    if (value)
        g_ptr_array_add(argv, g_strdup_printf("--%s=%s", option, value));
}

void acr_ceiling_options_to_argv(const AcrCeilingOptions *options, const char *ledger,
                                 GPtrArray *argv)
{
    add(argv, "max-cost", options->task_cost);
    add(argv, "max-tokens-total", options->task_tokens);
    add(argv, "max-time", options->task_time);
    add(argv, "batch-ledger", ledger);
    add(argv, "batch-max-cost", options->cost);
    add(argv, "batch-max-tokens", options->tokens);
    if (options->deadline_us > 0)
        g_ptr_array_add(
            argv, g_strdup_printf("--batch-deadline=%" G_GINT64_FORMAT, options->deadline_us));
}

/* ---- What was used ------------------------------------------------------------------------------
 */

/* USD with six digits behind the point. */
static char *usd(gint64 pico)
{
    gint64 micro = acr_microusd(MAX(pico, 0));
    return g_strdup_printf("%" G_GINT64_FORMAT ".%06" G_GINT64_FORMAT, micro / 1000000,
                           micro % 1000000);
}

char *acr_cost_line(const AcrCostSum *cost)
{
    gint64 sent = acr_usage_sent(&cost->usage);
    if (sent <= 0 && cost->usage.output <= 0 && cost->charged_pico <= 0 && cost->retries == 0)
        return NULL;
    g_autofree char *known = usd(cost->usage.cost_pico);
    GString *line = g_string_new(NULL);
    g_string_append_printf(line,
                           "%" G_GUINT64_FORMAT " calls, %" G_GINT64_FORMAT
                           " tokens in (%.0f%% cached), %" G_GINT64_FORMAT " out, ",
                           cost->calls, MAX(sent, 0), acr_cost_cached_share(cost) * 100,
                           cost->usage.output);
    if (cost->unknown_cost_calls == cost->calls)
        g_string_append(line, "cost unknown");
    else if (cost->unknown_cost_calls > 0)
        g_string_append_printf(line, "%s USD and %" G_GUINT64_FORMAT " calls of unknown cost",
                               known, cost->unknown_cost_calls);
    else
        g_string_append_printf(line, "%s USD", known);
    g_string_append_printf(line, ", %.1f s waited, %" G_GUINT64_FORMAT " retries",
                           (double)cost->wait_ms / 1000, cost->retries);
    if (cost->replayed_calls == cost->calls)
        g_string_append(line, "; replayed");
    else if (cost->replayed_calls > 0)
        g_string_append_printf(line, "; %" G_GUINT64_FORMAT " of the calls replayed",
                               cost->replayed_calls);
    return g_string_free(line, FALSE);
}
