/*
 * Which files an outliner failed on (its deadline, memory) depends on the machine and the hour, and
 * decides what a run can find. So the list of them is part of what a run stands on: made when it
 * begins, and obeyed ever after.
 */
#include "task/run_folder.h"

#include <string.h>

/* Why that file is listed, borrowed; NULL if it is not. */
static const char *reason_of(const AcrJson *list, const char *path)
{
    g_autoptr(AcrJson) wanted = acr_json_new_bytes(path, strlen(path));
    for (const AcrJson *at = acr_json_first(list); at; at = acr_json_next(at)) {
        const char *why = acr_json_get_string(at, "why");
        if (acr_json_equal(acr_json_get(at, "file"), wanted, NULL))
            return why ? why : "not outlined when the run began";
    }
    return NULL;
}

static void add(AcrJson *list, const char *path, const char *why)
{
    AcrJson *row = acr_json_new_object();
    acr_json_set(row, "file", acr_json_new_bytes(path, strlen(path)));
    acr_json_set_string(row, "why", why);
    acr_json_append(list, row);
}

static const char *refuse(void *ctx, const char *path)
{
    const AcrOutlineRecord *record = ctx;
    return record->settled ? reason_of(record->failures, path) : NULL;
}

static void failed(void *ctx, const char *path, const char *why)
{
    AcrOutlineRecord *record = ctx;
    if (!record->settled)
        add(record->failures, path, why);
    else if (!record->late)
        record->late = g_strdup_printf(
            "'%s' could be outlined when the run began, and cannot now: %s", path, why);
}

AcrOutlineFate acr_outline_record_fate(AcrOutlineRecord *record)
{
    return (AcrOutlineFate){record, refuse, failed};
}

void acr_outline_record_clear(AcrOutlineRecord *record)
{
    g_clear_pointer(&record->failures, acr_json_free);
    g_clear_pointer(&record->late, g_free);
}
