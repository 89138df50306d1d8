/* Merges the shards of a batch into the files of a single batch: the predictions and the summary,
 * in the order of the data set. */
#include <string.h>

#include "batch/batch_summary.h"
#include "batch/shards.h"
#include "layout/layout.h"

#define refuse(error, ...)                                                                         \
    acr_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET, __VA_ARGS__)

/* State of a merge. All members are owned, except for the shards. */
typedef struct {
    const AcrShards *shards;
    GPtrArray *summaries; /* array of AcrBatchSummary *, by shard; NULL if the shard has none */
    GHashTable *lines;    /* id of a task -> its line of predictions */
    guint ended;          /* number of tasks that have ended */
} Merging;

static void merging_clear(Merging *merging)
{
    g_clear_pointer(&merging->lines, g_hash_table_unref);
    g_clear_pointer(&merging->summaries, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Merging, merging_clear)

void acr_merged_clear(AcrMerged *merged)
{
    g_clear_pointer(&merged->missing, g_ptr_array_unref);
    g_clear_pointer(&merged->text, g_free);
}

static void keep_line(void *lines, const char *id, const char *line)
{
    g_hash_table_replace(lines, g_strdup(id), g_strdup(line));
}

static bool read_part_folder(Merging *merging, guint number, GError **error)
{
    g_autofree char *dir = acr_shards_folder(merging->shards, number);
    if (!merging->shards->notes->pdata[number])
        return true;
    merging->summaries->pdata[number] = acr_batch_summary_open(dir, error);
    return merging->summaries->pdata[number] &&
           acr_predictions_each(dir, keep_line, merging->lines, error);
}

/* Fails if `out` has the result of a batch without shards, which merging would overwrite. */
static bool check_replaced(const Merging *merging, GError **error)
{
    g_autoptr(GHashTable) lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    GHashTableIter each;
    gpointer id;
    const char *other = NULL;
    if (!acr_predictions_each(merging->shards->out, keep_line, lines, error))
        return false;
    g_hash_table_iter_init(&each, lines);
    while (!other && g_hash_table_iter_next(&each, &id, NULL))
        other = g_hash_table_contains(merging->shards->parts, id) ? NULL : id;
    g_hash_table_iter_init(&each, merging->shards->parts);
    while (!other && g_hash_table_iter_next(&each, &id, NULL)) {
        g_autofree char *run = g_build_filename(merging->shards->out, id, NULL);
        other = g_file_test(run, G_FILE_TEST_IS_DIR) ? id : NULL;
    }
    return !other || refuse(error,
                            "'%s' holds shards and also the results of a batch without shards "
                            "('%s'); move one of them away",
                            merging->shards->out, other);
}

static bool has_ended(void *ctx, guint number, const char *id)
{
    Merging *merging = ctx;
    const char *status = acr_batch_summary_status(merging->summaries->pdata[number], id);
    bool is_over = status && strcmp(status, ACR_STATUS_INTERRUPTED) != 0 &&
                   g_hash_table_contains(merging->lines, id);
    merging->ended += is_over;
    return is_over;
}

static bool write_whole(const Merging *merging, AcrMerged *merged, GError **error)
{
    const AcrShards *shards = merging->shards;
    g_autofree char *path = g_build_filename(shards->out, ACR_FILE_PREDICTIONS, NULL);
    g_autoptr(AcrBatchSummary) summary = acr_batch_summary_new(shards->out);
    g_autoptr(GPtrArray) tasks = acr_shards_tasks(shards);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < tasks->len; i++) {
        const char *id = tasks->pdata[i], *line = g_hash_table_lookup(merging->lines, id);
        guint part = GPOINTER_TO_UINT(g_hash_table_lookup(shards->parts, id));
        acr_batch_summary_take(summary, merging->summaries->pdata[part - 1], id);
        if (line)
            g_string_append_printf(text, "%s\n", line);
    }
    if (!acr_file_write_atomic(path, text->str, text->len, 0644, error) ||
        !acr_batch_summary_write(summary, error))
        return false;
    merged->text = acr_batch_summary_text(summary);
    merged->spent_microusd = acr_batch_summary_microusd(summary);
    return true;
}

bool acr_shards_merge(const AcrShards *shards, AcrMerged *merged, GError **error)
{
    g_auto(Merging) merging = {.shards = shards};
    merging.summaries = g_ptr_array_new_with_free_func((GDestroyNotify)acr_batch_summary_free);
    merging.lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_ptr_array_set_size(merging.summaries, (gint)shards->of);
    for (guint i = 0; i < shards->of; i++)
        if (!read_part_folder(&merging, i, error))
            return false;
    const AcrShardsWanted wanted = {"have no result", has_ended, &merging};
    merged->missing = acr_shards_missing(shards, &wanted);
    merged->tasks = merging.ended;
    return !shards->first ||
           (check_replaced(&merging, error) && write_whole(&merging, merged, error));
}
