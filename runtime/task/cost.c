/*
 * What a run's model calls used, by role. Answers from the journal count like live ones: the sums
 * are those of the run, not of the process.
 */
#include "task/task_private.h"

typedef struct {
    guint64 calls;
    AcrUsage usage;
} Sum;

struct AcrCost {
    GHashTable *by_agent; /* name -> Sum */
    Sum total;
};

AcrCost *acr_cost_new(void)
{
    AcrCost *cost = g_new0(AcrCost, 1);
    cost->by_agent = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return cost;
}

void acr_cost_free(AcrCost *cost)
{
    if (!cost)
        return;
    g_hash_table_unref(cost->by_agent);
    g_free(cost);
}

static void add(Sum *sum, const AcrUsage *usage)
{
    sum->calls++;
    sum->usage.input += MAX(usage->input, 0);
    sum->usage.cached += MAX(usage->cached, 0);
    sum->usage.output += MAX(usage->output, 0);
    sum->usage.cost_pico += MAX(usage->cost_pico, 0);
}

void acr_cost_add(AcrCost *cost, const char *agent, const AcrUsage *usage)
{
    Sum *sum = g_hash_table_lookup(cost->by_agent, agent);
    if (!sum) {
        sum = g_new0(Sum, 1);
        g_hash_table_insert(cost->by_agent, g_strdup(agent), sum);
    }
    add(sum, usage);
    add(&cost->total, usage);
}

const AcrUsage *acr_cost_total(const AcrCost *cost)
{
    return &cost->total.usage;
}

static AcrJson *sum_to_json(const Sum *sum)
{
    AcrJson *json = acr_json_new_object();
    acr_json_set_int(json, "calls", (gint64)sum->calls);
    acr_json_set_int(json, "input_tokens", sum->usage.input);
    acr_json_set_int(json, "cached_tokens", sum->usage.cached);
    acr_json_set_int(json, "output_tokens", sum->usage.output);
    acr_json_set_int(json, "cost_microusd", acr_microusd(sum->usage.cost_pico));
    return json;
}

AcrJson *acr_cost_to_json(const AcrCost *cost)
{
    AcrJson *json = acr_json_new_object(), *agents = acr_json_new_object();
    g_autoptr(GList) names =
        g_list_sort(g_hash_table_get_keys(cost->by_agent), (GCompareFunc)g_strcmp0);
    for (GList *at = names; at; at = at->next)
        acr_json_set(agents, at->data, sum_to_json(g_hash_table_lookup(cost->by_agent, at->data)));
    acr_json_set(json, "total", sum_to_json(&cost->total));
    acr_json_set(json, "by_agent", agents);
    return json;
}
