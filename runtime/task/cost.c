/* Sums up the usage and cost of a run's model calls, by role and by stage. Calls that the
 * journal answered are included, so that the sums describe the run, not the process. */
#include "task/cost.h"

#include <stddef.h>

struct AcrCost {
    GHashTable *by_agent; /* name -> AcrCostSum */
    GHashTable *by_stage; /* "attempt_0/search" -> AcrCostSum */
    AcrCostSum total;
};

/* The counters of AcrCostSum, and their names in cost.json, result.json and the summary of a
 * batch. */
static const struct {
    const char *name;
    gsize offset;     /* offset in AcrCostSum; each counter has 64 bits */
    bool is_picousd;  /* the counter is an amount of money */
    bool is_of_tiers; /* written only if a tier other than the standard tier served a call */
} members[] = {
#define MEMBER(name, of)                                                                           \
    {                                                                                              \
        name, offsetof(AcrCostSum, of), false, false                                               \
    }
    MEMBER("calls", calls),
    MEMBER("input_tokens", usage.input),
    MEMBER("cached_tokens", usage.cached),
    MEMBER("written_tokens", usage.written),
    MEMBER("output_tokens", usage.output),
    MEMBER("reasoning_tokens", usage.reasoning),
    {"cost_microusd", offsetof(AcrCostSum, usage.cost_pico), true, false},
    {"charged_microusd", offsetof(AcrCostSum, charged_pico), true, false},
    {"unanswered_microusd", offsetof(AcrCostSum, unanswered_pico), true, false},
    MEMBER("unknown_cost_calls", unknown_cost_calls),
    MEMBER("retries", retries),
    MEMBER("wait_ms", wait_ms),
    {"flex_calls", offsetof(AcrCostSum, flex_calls), false, true},
    {"priority_calls", offsetof(AcrCostSum, priority_calls), false, true},
    {"batch_calls", offsetof(AcrCostSum, batch_calls), false, true},
    {"standard_microusd", offsetof(AcrCostSum, standard_pico), true, true},
};

static gint64 *member_of(const AcrCostSum *sum, guint i)
{
    return (gint64 *)(void *)((char *)sum + members[i].offset);
}

void acr_cost_sum_add(AcrCostSum *sum, const AcrCostSum *more)
{
    for (guint i = 0; i < G_N_ELEMENTS(members); i++)
        if (__builtin_add_overflow(*member_of(sum, i), MAX(*member_of(more, i), 0),
                                   member_of(sum, i)))
            *member_of(sum, i) = G_MAXINT64;
    sum->replayed_calls += more->replayed_calls;
    sum->overflows += more->overflows;
    sum->context = MAX(sum->context, more->context);
}

AcrCost *acr_cost_new(void)
{
    AcrCost *cost = g_new0(AcrCost, 1);
    cost->by_agent = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    cost->by_stage = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return cost;
}

void acr_cost_free(AcrCost *cost)
{
    if (!cost)
        return;
    g_hash_table_unref(cost->by_agent);
    g_hash_table_unref(cost->by_stage);
    g_free(cost);
}

static AcrCostSum *sum_in(GHashTable *sums, const char *name)
{
    AcrCostSum *sum = g_hash_table_lookup(sums, name);
    if (!sum) {
        sum = g_new0(AcrCostSum, 1);
        g_hash_table_insert(sums, g_strdup(name), sum);
    }
    return sum;
}

void acr_cost_add(AcrCost *cost, const char *agent, const char *stage, const AcrCostSum *call)
{
    acr_cost_sum_add(sum_in(cost->by_agent, agent), call);
    acr_cost_sum_add(sum_in(cost->by_stage, stage), call);
    acr_cost_sum_add(&cost->total, call);
}

void acr_cost_set_charged(AcrCost *cost, gint64 charged_pico, gint64 unanswered_pico)
{
    cost->total.charged_pico = charged_pico;
    cost->total.unanswered_pico = unanswered_pico;
}

const AcrCostSum *acr_cost_settle(AcrCost *cost, const AcrLimits *limits, const AcrRunSpec *spec)
{
    AcrAmount spent, reserved;
    const char *scope = spec->shared_dir ? ACR_SCOPE_TASK : ACR_SCOPE_RUN;
    if (acr_budget_sums(limits->budget, scope, &spent, &reserved, NULL) &&
        spent.pico > cost->total.charged_pico)
        acr_cost_set_charged(cost, spent.pico, spent.pico - cost->total.charged_pico);
    return &cost->total;
}

const AcrCostSum *acr_cost_total(const AcrCost *cost)
{
    return &cost->total;
}

AcrSpent acr_cost_spent(const AcrCostSum *sum)
{
    return (AcrSpent){.calls = (gint64)sum->calls,
                      .tokens = acr_usage_tokens(&sum->usage),
                      .cost_microusd = acr_microusd(sum->usage.cost_pico),
                      .charged_microusd = acr_microusd(sum->charged_pico)};
}

AcrJson *acr_cost_sum_to_json(const AcrCostSum *sum)
{
    AcrJson *json = acr_json_new_object();
    guint64 n_of_tiers = sum->flex_calls + sum->priority_calls + sum->batch_calls;
    for (guint i = 0; i < G_N_ELEMENTS(members); i++) {
        gint64 value = *member_of(sum, i);
        bool is_lost = members[i].offset == offsetof(AcrCostSum, unanswered_pico);
        if ((is_lost && value == 0) || (members[i].is_of_tiers && n_of_tiers == 0))
            continue;
        acr_json_set_int(json, members[i].name,
                         members[i].is_picousd ? acr_microusd(value) : value);
    }
    return json;
}

#define MOST_AMOUNT (1ll << 42) /* larger amounts would exceed 64 bits in pico-USD */

static gint64 read_amount(const AcrJson *json, const char *key)
{
    gint64 amount = acr_json_get_int(json, key, 0);
    return CLAMP(amount, -1, MOST_AMOUNT);
}

void acr_cost_sum_from_json(const AcrJson *json, AcrCostSum *out)
{
    *out = (AcrCostSum){0};
    for (guint i = 0; i < G_N_ELEMENTS(members); i++)
        *member_of(out, i) =
            read_amount(json, members[i].name) * (members[i].is_picousd ? ACR_PICO : 1);
    out->replayed_calls = out->calls; /* the journal answered all calls of a saved sum */
}

static AcrJson *sums_to_json(GHashTable *sums)
{
    AcrJson *json = acr_json_new_object();
    g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(sums), (GCompareFunc)g_strcmp0);
    for (GList *at = names; at; at = at->next)
        acr_json_set(json, at->data, acr_cost_sum_to_json(g_hash_table_lookup(sums, at->data)));
    return json;
}

double acr_cost_cached_share(const AcrCostSum *sum)
{
    gint64 sent = acr_usage_sent(&sum->usage);
    return sent > 0 ? (double)sum->usage.cached / (double)sent : 0;
}

AcrJson *acr_cost_to_json(const AcrCost *cost, AcrJson *prices)
{
    gint64 per_mille = (gint64)(acr_cost_cached_share(&cost->total) * 1000 + 0.5);
    return acr_json_of(ACR_JSON("total", acr_cost_sum_to_json(&cost->total)),
                       ACR_JSON("cached_share", acr_json_new_double((double)per_mille / 1000)),
                       ACR_JSON("by_agent", sums_to_json(cost->by_agent)),
                       ACR_JSON("by_stage", sums_to_json(cost->by_stage)),
                       ACR_JSON("prices", prices ? prices : acr_json_new_null()), NULL);
}
