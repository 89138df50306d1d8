/* Converts executions to JSON, in the same form for the journal, execution_PATCH_TEST.json and
 * `exec --json`. */
#include "loops/loops.h"

#include <string.h>

static AcrJson *int_or_null(int value, bool is_known)
{
    return is_known ? acr_json_new_int(value) : acr_json_new_null();
}

void acr_executed_to_json(const AcrExecuted *executed, AcrJson *json)
{
    acr_json_set(json, "exit", int_or_null(executed->exit_code, executed->exit_code >= 0));
    acr_json_set(json, "signal", int_or_null(executed->signal, executed->signal != 0));
    acr_json_set_string(json, "limit", acr_sandbox_limit_name(executed->limit));
    acr_json_set(json, "stdout", acr_json_new_gbytes(executed->out));
    acr_json_set(json, "stderr", acr_json_new_gbytes(executed->err));
}

void acr_executed_add_totals(const AcrExecuted *executed, AcrJson *json)
{
    acr_json_set_int(json, "stdout_bytes", (gint64)executed->out_total);
    acr_json_set_int(json, "stderr_bytes", (gint64)executed->err_total);
}

void acr_executed_add_changed(const AcrExecuted *executed, AcrJson *json)
{
    AcrJson *changed = acr_json_new_array();
    for (char **at = executed->changed; at && *at; at++)
        acr_json_append(changed, acr_json_new_bytes(*at, strlen(*at)));
    acr_json_set(json, "changed", changed);
}

static GBytes *take_bytes(const AcrJson *json, const char *key)
{
    GBytes *bytes = acr_json_get_bytes(json, key);
    return bytes ? bytes : g_bytes_new_static("", 0);
}

static char **take_changed(const AcrJson *json)
{
    GPtrArray *paths = g_ptr_array_new();
    for (const AcrJson *at = acr_json_first(acr_json_get(json, "changed")); at;
         at = acr_json_next(at)) {
        g_autoptr(GBytes) bytes = acr_json_bytes(at);
        g_ptr_array_add(paths, acr_bytes_text(bytes));
    }
    g_ptr_array_add(paths, NULL);
    return (char **)g_ptr_array_free(paths, FALSE);
}

void acr_executed_from_json(const AcrJson *json, AcrExecuted *out)
{
    *out = (AcrExecuted){
        .exit_code = (int)acr_json_get_int(json, "exit", -1),
        .signal = (int)acr_json_get_int(json, "signal", 0),
        .out = take_bytes(json, "stdout"),
        .err = take_bytes(json, "stderr"),
        .out_total = (guint64)acr_json_get_int(json, "stdout_bytes", 0),
        .err_total = (guint64)acr_json_get_int(json, "stderr_bytes", 0),
        .changed = take_changed(json),
    };
    (void)acr_sandbox_limit_from_name(acr_json_get_string(json, "limit"), &out->limit);
}
