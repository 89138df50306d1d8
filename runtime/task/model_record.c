/* The record of a model call in the journal: the answer, the requests that were sent for it, and
 * their usage. The run and its replay compute the cost of a call from the record, so they agree.
 * Waits and durations are under "time", which comparisons ignore. The record of a script's answer
 * has no requests ("tries"). */
#include "task/recorded.h"

#include <stddef.h>

static const struct {
    const char *member;
    gsize offset; /* offset in AcrUsage */
} counters[] = {
    {"input", offsetof(AcrUsage, input)},         {"cached", offsetof(AcrUsage, cached)},
    {"written", offsetof(AcrUsage, written)},     {"output", offsetof(AcrUsage, output)},
    {"reasoning", offsetof(AcrUsage, reasoning)}, {"cost_picousd", offsetof(AcrUsage, cost_pico)},
};

static gint64 *counter(AcrUsage *usage, gsize n)
{
    return (gint64 *)(void *)((char *)usage + counters[n].offset);
}

static AcrJson *usage_to_json(const AcrUsage *usage)
{
    AcrJson *json = acr_json_new_object();
    AcrUsage copy = *usage;
    for (gsize i = 0; i < G_N_ELEMENTS(counters); i++)
        acr_json_set_int(json, counters[i].member, *counter(&copy, i));
    if (usage->cost_stated)
        acr_json_set_bool(json, "cost_stated", true);
    return json;
}

static void usage_from_json(const AcrJson *json, AcrUsage *out)
{
    for (gsize i = 0; i < G_N_ELEMENTS(counters); i++)
        *counter(out, i) = acr_json_get_int(json, counters[i].member, -1);
    out->cost_stated = acr_json_get_bool(json, "cost_stated", false);
}

AcrJson *acr_record_answer(const AcrModelAnswer *answer)
{
    return acr_json_of("content", ACR_TEXT(answer->content), "thoughts",
                       answer->thoughts ? ACR_TEXT(answer->thoughts) : NULL, "finish",
                       ACR_TEXT(answer->finish), "model", ACR_TEXT(answer->model), "request_id",
                       answer->request_id ? ACR_TEXT(answer->request_id) : NULL, "tools",
                       answer->tools ? acr_json_copy(answer->tools) : NULL, "usage",
                       usage_to_json(&answer->usage), NULL);
}

void acr_record_read_answer(const AcrJson *record, AcrModelAnswer *out)
{
    const char *content = acr_json_get_string(record, "content");
    const AcrJson *tools = acr_json_get(record, "tools");
    *out = (AcrModelAnswer){
        .content = g_strdup(content ? content : ""),
        .finish = g_strdup(acr_json_get_string(record, "finish")),
        .thoughts = g_strdup(acr_json_get_string(record, "thoughts")),
        .model = g_strdup(acr_json_get_string(record, "model")),
        .request_id = g_strdup(acr_json_get_string(record, "request_id")),
        .tools = tools ? acr_json_copy(tools) : NULL,
    };
    usage_from_json(acr_json_get(record, "usage"), &out->usage);
}

static AcrJson *amount_to_json(gint64 pico, gint64 tokens)
{
    return acr_json_of("picousd", acr_json_new_int(pico), "tokens", acr_json_new_int(tokens), NULL);
}

static AcrJson *try_to_json(const AcrModelTry *attempt)
{
    AcrJson *time = acr_json_of("wait_ms", acr_json_new_int(attempt->wait_ms), "first_byte_ms",
                                acr_json_new_int(attempt->first_byte_ms), "wall_ms",
                                acr_json_new_int(attempt->wall_ms), NULL);
    AcrJson *tier = acr_json_of("asked", ACR_TEXT(acr_service_name(attempt->asked)), "served",
                                ACR_TEXT(acr_service_name(attempt->served)), "standard_picousd",
                                acr_json_new_int(attempt->standard_pico), NULL);
    bool has_tier = attempt->asked || attempt->served;
    if (!has_tier)
        g_clear_pointer(&tier, acr_json_free);
    return acr_json_of("model", ACR_TEXT(attempt->model), "class",
                       ACR_TEXT(attempt->ok ? NULL : acr_llm_error_name(attempt->code)), "sent",
                       acr_json_new_bool(attempt->sent), "status",
                       acr_json_new_int(attempt->status), "request_id",
                       ACR_TEXT(attempt->request_id), "usage", usage_to_json(&attempt->usage),
                       "reserved", amount_to_json(attempt->reserved_pico, attempt->reserved_tokens),
                       "charged", amount_to_json(attempt->charged_pico, attempt->charged_tokens),
                       "tier", tier, "time", time, NULL);
}

void acr_record_add_tries(AcrJson *record, const AcrModelReport *report)
{
    if (!report->tries || report->tries->len == 0)
        return;
    AcrJson *tries = acr_json_new_array();
    for (guint i = 0; i < report->tries->len; i++)
        acr_json_append(tries, try_to_json(&g_array_index(report->tries, AcrModelTry, i)));
    acr_json_set(record, "tries", tries);
}

static void add_try(const AcrJson *json, AcrCostSum *out, guint *sent)
{
    AcrCostSum attempt = {
        .charged_pico = acr_json_get_int(acr_json_get(json, "charged"), "picousd", 0),
        .wait_ms = acr_json_get_int(acr_json_get(json, "time"), "wait_ms", 0),
    };
    usage_from_json(acr_json_get(json, "usage"), &attempt.usage);
    const AcrJson *tier = acr_json_get(json, "tier");
    const char *served = acr_json_get_string(tier, "served");
    attempt.flex_calls = g_strcmp0(served, acr_service_name(ACR_SERVICE_FLEX)) == 0;
    attempt.priority_calls = g_strcmp0(served, acr_service_name(ACR_SERVICE_PRIORITY)) == 0;
    attempt.batch_calls = g_strcmp0(served, acr_service_name(ACR_SERVICE_BATCH)) == 0;
    attempt.standard_pico =
        acr_json_get_int(tier, "standard_picousd", MAX(attempt.usage.cost_pico, 0));
    acr_cost_sum_add(out, &attempt);
    if (!acr_json_get_bool(json, "sent", false))
        return;
    ++*sent;
    /* A rejected request that the budget does not count cost nothing. */
    if (attempt.usage.cost_pico < 0 &&
        (attempt.charged_pico > 0 || !acr_json_get_string(json, "class")))
        out->unknown_cost_calls = 1;
}

void acr_record_cost(const AcrJson *record, bool replayed, AcrCostSum *out)
{
    const AcrJson *tries = acr_json_get(record, "tries");
    guint sent = 0;
    *out = (AcrCostSum){.calls = 1, .replayed_calls = replayed};
    for (const AcrJson *at = acr_json_first(tries); at; at = acr_json_next(at))
        add_try(at, out, &sent);
    out->retries = sent > 1 ? sent - 1 : 0;
    if (!tries) {
        AcrCostSum call = {0};
        usage_from_json(acr_json_get(record, "usage"), &call.usage);
        acr_cost_sum_add(out, &call);
        out->unknown_cost_calls = call.usage.output >= 0 && call.usage.cost_pico < 0;
    }
}
