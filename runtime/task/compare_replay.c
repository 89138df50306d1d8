/* Compares the files that a replay would write with the files of the recorded run. */
#include "task/run_folder.h"

#include <string.h>

static bool keep_artifact(void *ctx, const char *path, const void *data, gsize len, GError **error)
{
    g_hash_table_insert(ctx, g_strdup(path), g_bytes_new(data, len));
    return true;
}

GHashTable *acr_replayed_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
}

AcrArtifacts acr_replayed_artifacts(GHashTable *kept)
{
    return (AcrArtifacts){kept, keep_artifact};
}

/* Returns whether two tables of candidates differ only in their reasons, whose words depend on the
 * version of the program. */
static bool is_reworded(GBytes *recorded, GBytes *replayed)
{
    g_autoptr(AcrJson) one = acr_json_parse_bytes(recorded, NULL),
                       other = acr_json_parse_bytes(replayed, NULL);
    return one && other && acr_json_equal(one, other, "why");
}

/* Returns the name of the first file that differs from the file in the folder; owned; NULL if all
 * files are equal. */
static char *find_difference(const AcrFolder *folder, GHashTable *artifacts)
{
    g_autoptr(GList) paths = g_list_sort(g_hash_table_get_keys(artifacts), (GCompareFunc)g_strcmp0);
    for (GList *at = paths; at; at = at->next) {
        g_autoptr(GBytes) recorded = acr_folder_read_file(folder, at->data, G_MAXINT32, NULL);
        GBytes *replayed = g_hash_table_lookup(artifacts, at->data);
        if (!recorded ||
            (!g_bytes_equal(recorded, replayed) &&
             (strcmp(at->data, ACR_FILE_SELECTED) != 0 || !is_reworded(recorded, replayed))))
            return g_strdup(at->data);
    }
    return NULL;
}

bool acr_replayed_check(const AcrFolder *folder, GHashTable *kept, AcrRunResult *result,
                        AcrCost *cost, GError **error)
{
    const AcrArtifacts artifacts = acr_replayed_artifacts(kept);
    g_autoptr(AcrJson) recorded = acr_folder_read_json(folder, ACR_FILE_COST, NULL),
                       selected = acr_folder_read_json(folder, ACR_FILE_SELECTED, NULL),
                       before = acr_folder_read_json(folder, ACR_FILE_RESULT, NULL);
    if (before) { /* keep the reason in the words of the recorded run */
        g_free(result->found.why);
        result->found.why = g_strdup(acr_json_get_string(before, "why"));
    }
    if (!acr_json_get(selected,
                      "candidates")) /* the recorded run is older than the table of candidates */
        g_clear_pointer(&result->found.candidates, acr_json_free);
    AcrCostSum total;
    acr_cost_sum_from_json(acr_json_get(recorded, "total"), &total);
    if (total.unanswered_pico > 0) { /* the journal does not have these calls */
        acr_cost_set_charged(cost, total.charged_pico, total.unanswered_pico);
        result->cost = *acr_cost_total(cost);
    }
    const AcrJson *prices = acr_json_get(recorded, "prices");
    AcrJson *spent = acr_cost_to_json(cost, prices ? acr_json_copy(prices) : NULL);
    if (!acr_artifacts_write_json(&artifacts, ACR_FILE_COST, spent, error) ||
        !acr_result_save(&artifacts, result, error))
        return false;
    g_autofree char *different = find_difference(folder, kept);
    if (!different)
        return true;
    return acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_DIFFERENT,
                         "replay of '%s' diverged: %s differs from the recorded one", folder->path,
                         different);
}

bool acr_replayed_fail(const AcrFolder *folder, GError *reason, GError **error)
{
    g_autoptr(GError) owned = reason;
    if (g_error_matches(owned, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_ENDED))
        g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_UNFINISHED,
                    "the run in '%s' is not finished: its journal ends here", folder->path);
    else if (g_error_matches(owned, ACR_JOURNAL_ERROR, ACR_JOURNAL_ERROR_DIVERGED)) {
        acr_meta_name_version(folder->meta, owned);
        g_set_error_literal(error, ACR_TASK_ERROR, ACR_TASK_ERROR_DIFFERENT, owned->message);
    } else
        g_propagate_error(error, g_steal_pointer(&owned));
    return false;
}
