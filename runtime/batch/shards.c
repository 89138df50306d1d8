/*
 * Parts of a batch. Each notes its tasks in its folder (shard.json) before it begins, so that merging knows
 * what is missing: task k of part I of N is task k * N + I - 1 of the whole.
 */
#include "batch/shards.h"

#include <stdio.h>
#include <string.h>

#include "batch/batch_summary.h"

#define NOTE "shard.json"
#define LOCK "lock"
#define PREDS "preds.jsonl"
#define FOLDER "shard-%u-of-%u"
#define MAX_NOTE_BYTES ((gsize)64 * 1024 * 1024)
#define MAX_PREDS_BYTES ((gsize)1024 * 1024 * 1024)
#define MAX_NAMED 5u /* tasks that are named in a line */

#define refuse(error, ...)                                                                         \
    acr_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET, __VA_ARGS__)

typedef struct {
    guint number, of; /* from 1 */
} Part;

/* ---- Entering ---- */

static bool read_number(const char *text, guint *out)
{
    gint64 number = 0;
    bool ok = text && acr_count_parse(text, G_MAXINT32, &number);
    *out = (guint)number;
    return ok;
}

/* The number of this part as the engine counts it, from 0. */
static bool read_engine(guint *out)
{
    guint first = 0;
    if (read_number(g_getenv("SLURM_ARRAY_TASK_ID"), out)) {
        (void)read_number(g_getenv("SLURM_ARRAY_TASK_MIN"), &first);
        *out -= MIN(first, *out);
        return true;
    }
    return read_number(g_getenv("JOB_COMPLETION_INDEX"), out);
}

static bool read_part(const char *text, Part *out, GError **error)
{
    g_auto(GStrv) ends = g_strsplit(text, "/", 2);
    bool is_whole = ends[0] && ends[1];
    if (!read_number(ends[is_whole ? 1 : 0], &out->of) ||
        (is_whole && !read_number(ends[0], &out->number)))
        return refuse(error, "--shard must be I/N, such as 1/4, or N, not '%s'", text);
    if (!is_whole && !read_engine(&out->number))
        return refuse(error,
                      "--shard %s: which part this is neither SLURM_ARRAY_TASK_ID nor "
                      "JOB_COMPLETION_INDEX says; give I/N",
                      text);
    out->number += !is_whole;
    return (out->of >= 1 && out->of <= ACR_MAX_SHARDS && out->number >= 1 &&
            out->number <= out->of) ||
           refuse(error, "--shard: there is no part %u of %u", out->number, out->of);
}

static void keep_own(GPtrArray *rows, Part part)
{
    for (guint i = rows->len; i-- > 0;)
        if (i % part.of != part.number - 1)
            g_ptr_array_remove_index(rows, i);
}

/* Equal shares, rounded down: together they stay below the ceiling. */
static void share_ceilings(AcrRunSpec *spec, Part part)
{
    if (spec->max_cost > 0)
        spec->max_cost /= part.of;
    if (spec->max_tokens_total > 0)
        spec->max_tokens_total = MAX(spec->max_tokens_total / part.of, 1);
}

/* What a part has begun with is not begun otherwise: the parts of a batch have the same tasks each time. */
static bool write_note(const char *dir, const GPtrArray *rows, guint total, Part part,
                       GError **error)
{
    g_autofree char *path = g_build_filename(dir, NOTE, NULL);
    g_autoptr(AcrJson) json = acr_json_new_object();
    AcrJson *tasks = acr_json_new_array();
    for (guint i = 0; i < rows->len; i++)
        acr_json_append(tasks,
                        acr_json_new_string(((const AcrInstance *)rows->pdata[i])->instance_id));
    acr_json_set_int(json, "shard", part.number);
    acr_json_set_int(json, "of", part.of);
    acr_json_set_int(json, "total", total);
    acr_json_set(json, "tasks", tasks);
    g_autofree char *text = acr_json_print_pretty(json);
    g_autoptr(GBytes) before = acr_file_read(path, MAX_NOTE_BYTES, NULL);
    g_autofree char *was = before ? acr_bytes_text(before) : NULL;
    if (was && strcmp(was, text) != 0)
        return refuse(error, "'%s' has begun with other tasks; give another --out", dir);
    return was || acr_file_write_atomic(path, text, strlen(text), 0644, error);
}

bool acr_shard_enter(AcrRunSpec *spec, GPtrArray *rows, AcrLock **out_lock, GError **error)
{
    Part part;
    guint total = rows->len;
    *out_lock = NULL;
    if (!spec->shard)
        return true;
    if (!read_part(spec->shard, &part, error))
        return false;
    keep_own(rows, part);
    if (rows->len == 0)
        return refuse(error, "--shard: part %u of %u has no task, there are %u", part.number,
                      part.of, total);
    g_autofree char *name = g_strdup_printf(FOLDER, part.number, part.of);
    char *dir = g_build_filename(spec->out, name, NULL);
    g_free(spec->out);
    spec->out = dir;
    share_ceilings(spec, part);
    g_autofree char *lock = g_build_filename(dir, LOCK, NULL);
    if (!acr_dir_make(dir, error) || !(*out_lock = acr_lock_take(lock, error)))
        return false;
    return write_note(dir, rows, total, part, error);
}

/* ---- Merging ---- */

/* What the parts have come to, by number from 0. All owned. */
typedef struct {
    const char *out;
    guint of;
    gint64 total;      /* tasks */
    GPtrArray *notes;  /* of AcrJson *, NULL: not there */
    GHashTable *lines; /* id -> its line of predictions */
    AcrBatchSummary *summary;
} Merging;

static void merging_clear(Merging *merging)
{
    g_clear_pointer(&merging->notes, g_ptr_array_unref);
    g_clear_pointer(&merging->lines, g_hash_table_unref);
    acr_batch_summary_free(merging->summary);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Merging, merging_clear)

void acr_merged_clear(AcrMerged *merged)
{
    g_clear_pointer(&merged->missing, g_ptr_array_unref);
    g_clear_pointer(&merged->text, g_free);
}

/* How many parts there are, by the folders. */
static bool find_parts(Merging *merging, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(merging->out, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        Part part;
        g_autofree char *again = NULL;
        if (sscanf(name, FOLDER, &part.number, &part.of) != 2)
            continue;
        again = g_strdup_printf(FOLDER, part.number, part.of);
        if (strcmp(again, name) != 0 || part.of > ACR_MAX_SHARDS)
            continue;
        if (merging->of && merging->of != part.of)
            return refuse(error, "'%s' has parts of %u and of %u; move those of one away",
                          merging->out, merging->of, part.of);
        merging->of = part.of;
    }
    return merging->of || refuse(error, "'%s' has no folder shard-I-of-N", merging->out);
}

static bool read_note(Merging *merging, guint number, const char *dir, GError **error)
{
    g_autofree char *path = g_build_filename(dir, NOTE, NULL);
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_NOTE_BYTES, &reason);
    if (!bytes && g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
        return true;
    if (!bytes)
        return acr_pass_error(error, &reason);
    g_autoptr(AcrJson) json = acr_json_parse_bytes(bytes, NULL);
    gint64 total = acr_json_get_int(json, "total", -1), of = acr_json_get_int(json, "of", -1);
    if (total < 0 || of != merging->of || acr_json_get_int(json, "shard", -1) != number + 1)
        return refuse(error, "'%s' is damaged", path);
    if (merging->total >= 0 && merging->total != total)
        return refuse(error,
                      "the parts below '%s' are of batches of %" G_GINT64_FORMAT
                      " and %" G_GINT64_FORMAT " tasks",
                      merging->out, merging->total, total);
    merging->total = total;
    merging->notes->pdata[number] = g_steal_pointer(&json);
    return true;
}

static bool read_predictions(Merging *merging, const char *dir, GError **error)
{
    g_autofree char *path = g_build_filename(dir, PREDS, NULL);
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_PREDS_BYTES, &reason);
    if (!bytes && !g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
        return acr_pass_error(error, &reason);
    g_autofree char *text = bytes ? acr_bytes_text(bytes) : NULL;
    char *rest = text;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        g_autoptr(AcrJson) json = acr_json_parse(line, strlen(line), NULL);
        const char *id = acr_json_get_string(json, "instance_id");
        if (id)
            g_hash_table_replace(merging->lines, g_strdup(id), g_strdup(line));
    }
    return true;
}

static bool read_part_folder(Merging *merging, guint number, GError **error)
{
    g_autofree char *name = g_strdup_printf(FOLDER, number + 1, merging->of),
                    *dir = g_build_filename(merging->out, name, NULL);
    if (!read_note(merging, number, dir, error) || !merging->notes->pdata[number])
        return !*error;
    g_autoptr(AcrBatchSummary) summary = acr_batch_summary_open(dir, error);
    if (!summary)
        return false;
    const AcrJson *tasks = acr_json_get(merging->notes->pdata[number], "tasks");
    for (const AcrJson *at = acr_json_first(tasks); at; at = acr_json_next(at))
        if (acr_json_string(at))
            acr_batch_summary_take(merging->summary, summary, acr_json_string(at));
    return read_predictions(merging, dir, error);
}

/* Whether nothing more is to be done for a task. */
static bool has_ended(const Merging *merging, const char *id)
{
    const char *status = acr_batch_summary_status(merging->summary, id);
    return status && strcmp(status, ACR_STATUS_INTERRUPTED) != 0 &&
           g_hash_table_contains(merging->lines, id);
}

static void find_missing(const Merging *merging, guint number, AcrMerged *merged)
{
    const AcrJson *note = merging->notes->pdata[number], *tasks = acr_json_get(note, "tasks");
    g_autoptr(GString) names = g_string_new(NULL);
    guint missing = 0;
    for (const AcrJson *at = acr_json_first(tasks); at; at = acr_json_next(at)) {
        bool is_there = has_ended(merging, acr_json_string(at));
        merged->tasks += is_there;
        if (!is_there && ++missing <= MAX_NAMED)
            g_string_append_printf(names, "%s%s", missing > 1 ? ", " : "", acr_json_string(at));
    }
    if (!note)
        g_ptr_array_add(merged->missing,
                        g_strdup_printf("shard %u of %u has not begun", number + 1, merging->of));
    else if (missing)
        g_ptr_array_add(merged->missing,
                        g_strdup_printf("shard %u of %u: %u of %zu tasks have no result: %s%s",
                                        number + 1, merging->of, missing, acr_json_size(tasks),
                                        names->str, missing > MAX_NAMED ? ", …" : ""));
}

/* Predictions in the order of the whole: the first task of each part, then the second of each. */
static bool write_predictions(const Merging *merging, GError **error)
{
    g_autofree char *path = g_build_filename(merging->out, PREDS, NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree const AcrJson **next = g_new0(const AcrJson *, merging->of);
    for (guint i = 0; i < merging->of; i++)
        next[i] = acr_json_first(acr_json_get(merging->notes->pdata[i], "tasks"));
    for (gint64 i = 0; i < merging->total; i++) {
        const AcrJson **at = &next[i % merging->of];
        const char *id = *at ? acr_json_string(*at) : NULL;
        const char *line = id ? g_hash_table_lookup(merging->lines, id) : NULL;
        *at = *at ? acr_json_next(*at) : NULL;
        if (line)
            g_string_append_printf(text, "%s\n", line);
    }
    return acr_file_write_atomic(path, text->str, text->len, 0644, error);
}

bool acr_shards_merge(const char *out, AcrMerged *merged, GError **error)
{
    g_auto(Merging) merging = {.out = out, .total = -1};
    g_autoptr(GError) reason = NULL;
    if (!find_parts(&merging, error))
        return false;
    merging.notes = g_ptr_array_new_with_free_func((GDestroyNotify)acr_json_free);
    g_ptr_array_set_size(merging.notes, (gint)merging.of);
    merging.lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    merging.summary = acr_batch_summary_new(out);
    for (guint i = 0; i < merging.of; i++)
        if (!read_part_folder(&merging, i, &reason))
            return acr_pass_error(error, &reason);
    merged->missing = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < merging.of; i++)
        find_missing(&merging, i, merged);
    if (!write_predictions(&merging, error) || !acr_batch_summary_write(merging.summary, error))
        return false;
    merged->text = acr_batch_summary_text(merging.summary);
    return true;
}
