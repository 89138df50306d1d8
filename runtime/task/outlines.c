/*
 * Which files an outliner failed on (its deadline, memory) depends on the machine and the hour, and
 * decides what a run can find. So the list of them is part of what a run stands on: made when it
 * begins, and obeyed ever after.
 */
#include "task/task_private.h"

#include <string.h>

static bool has(const AcrJson *list, const char *path)
{
    for (const AcrJson *at = acr_json_first(list); at; at = acr_json_next(at)) {
        g_autoptr(GBytes) file = acr_json_get_bytes(at, "file");
        if (file && g_bytes_get_size(file) == strlen(path) &&
            memcmp(g_bytes_get_data(file, NULL), path, strlen(path)) == 0)
            return true;
    }
    return false;
}

static void add(AcrJson *list, const char *path, const char *why)
{
    AcrJson *row = acr_json_new_object();
    acr_json_set(row, "file", acr_json_new_bytes(path, strlen(path)));
    acr_json_set_string(row, "why", why);
    acr_json_append(list, row);
}

static bool outline(void *ctx, const char *path, GBytes *source, GBytes **out_rows, GError **error)
{
    AcrOutlineRecord *record = ctx;
    if (has(record->failures,
            path)) { /* as an outliner says that a file cannot be parsed: one row */
        static const char row[] = "X\t0\tnot outlined when the run began\n";
        *out_rows = g_bytes_new_static(row, sizeof row - 1);
        return true;
    }
    g_autoptr(GError) why = NULL;
    if (record->inner->outline(record->inner->ctx, path, source, out_rows, &why))
        return true;
    if (!record->settled)
        add(record->failures, path, why->message);
    else if (!record->late)
        record->late = g_strdup_printf(
            "'%s' could be outlined when the run began, and cannot now: %s", path, why->message);
    g_propagate_error(error, g_steal_pointer(&why));
    return false;
}

AcrOutliner acr_outline_record_table(AcrOutlineRecord *record, const AcrOutliner *inner)
{
    record->inner = inner;
    return (AcrOutliner){record, outline};
}

void acr_outline_record_clear(AcrOutlineRecord *record)
{
    g_clear_pointer(&record->failures, acr_json_free);
    g_clear_pointer(&record->late, g_free);
}
