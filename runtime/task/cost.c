/*
 * What a run's model calls used, by role and by stage. Answers from the journal count like live
 * ones: the sums are those of the run, not of the process.
 */
#include "task/cost.h"

struct AcrCost {
    GHashTable *by_agent; /* name -> AcrCostSum */
    GHashTable *by_stage; /* "attempt_0/search" -> AcrCostSum */
    AcrCostSum total;
};

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
    const AcrUsage *usage = &sum->usage;
    acr_json_set_int(json, "calls", (gint64)sum->calls);
    acr_json_set_int(json, "input_tokens", usage->input);
    acr_json_set_int(json, "cached_tokens", usage->cached);
    acr_json_set_int(json, "written_tokens", usage->written);
    acr_json_set_int(json, "output_tokens", usage->output);
    acr_json_set_int(json, "reasoning_tokens", usage->reasoning);
    acr_json_set_int(json, "cost_microusd", acr_microusd(usage->cost_pico));
    acr_json_set_int(json, "charged_microusd", acr_microusd(sum->charged_pico));
    acr_json_set_int(json, "unknown_cost_calls", (gint64)sum->unknown_cost_calls);
    acr_json_set_int(json, "retries", (gint64)sum->retries);
    acr_json_set_int(json, "wait_ms", sum->wait_ms);
    return json;
}

#define MOST_AMOUNT (1ll << 42) /* of an amount that is read: pico-USD of it fit into 64 bits */

static gint64 amount_of(const AcrJson *json, const char *key)
{
    gint64 amount = acr_json_get_int(json, key, 0);
    return CLAMP(amount, -1, MOST_AMOUNT);
}

void acr_cost_sum_from_json(const AcrJson *json, AcrCostSum *out)
{
    *out = (AcrCostSum){
        .usage = {.input = amount_of(json, "input_tokens"),
                  .cached = amount_of(json, "cached_tokens"),
                  .written = amount_of(json, "written_tokens"),
                  .output = amount_of(json, "output_tokens"),
                  .reasoning = amount_of(json, "reasoning_tokens"),
                  .cost_pico = amount_of(json, "cost_microusd") * ACR_PICO},
        .charged_pico = amount_of(json, "charged_microusd") * ACR_PICO,
        .wait_ms = amount_of(json, "wait_ms"),
        .calls = (guint64)amount_of(json, "calls"),
        .unknown_cost_calls = (guint64)amount_of(json, "unknown_cost_calls"),
        .retries = (guint64)amount_of(json, "retries"),
    };
    out->replayed_calls = out->calls; /* none of them was made by this process */
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
    AcrJson *json = acr_json_new_object();
    gint64 per_mille = (gint64)(acr_cost_cached_share(&cost->total) * 1000 + 0.5);
    acr_json_set(json, "total", acr_cost_sum_to_json(&cost->total));
    acr_json_set(json, "cached_share", acr_json_new_double((double)per_mille / 1000));
    acr_json_set(json, "by_agent", sums_to_json(cost->by_agent));
    acr_json_set(json, "by_stage", sums_to_json(cost->by_stage));
    acr_json_set(json, "prices", prices ? prices : acr_json_new_null());
    return json;
}
