/* The summary of a batch. Keeps the rows as JSON, and computes the totals and the table from the
 * rows. */
#include "batch/batch_summary.h"

#include <math.h>
#include <string.h>

#include "layout/layout.h"
#include "task/cost.h"
#include "task/run_folder.h"

#define SETUP "setup_seconds"
#define WARN_TASKS 3u /* minimum number of tasks without compared tests for the warning */
#define MAX_SUMMARY_BYTES ((gsize)256 * 1024 * 1024)

typedef struct {
    AcrJson *json; /* owned */
    bool is_new;   /* this command added the row; otherwise the row comes from the file */
} Row;

struct AcrBatchSummary {
    char *path;
    AcrJson *about;     /* {"date", "dataset", "models", "options"}; unknown members are missing */
    GHashTable *places; /* id of a task -> its position in the data set, from 1 */
    GArray *rows;       /* array of Row, in the order of the data set */
};

typedef struct {
    guint tasks;
    double seconds, setup_seconds;
    AcrCostSum cost;
} Sum;

const char *acr_batch_status(const AcrRunResult *result)
{
    switch (result->exit_code) {
    case ACR_EXIT_OK:
        return result->is_reproduction ? ACR_STATUS_REPRODUCED : ACR_STATUS_PATCH;
    case ACR_EXIT_NONE:
        return result->verdict == ACR_VERDICT_REFUSED ? ACR_STATUS_REFUSED : ACR_STATUS_NONE;
    case ACR_EXIT_CEILING:
        return ACR_STATUS_STOPPED;
    case ACR_EXIT_INTERRUPTED:
        return ACR_STATUS_INTERRUPTED;
    default:
        return ACR_STATUS_FAILED;
    }
}

static void clear_row(gpointer row)
{
    acr_json_free(((Row *)row)->json);
}

static const char *row_text(const Row *row, const char *key)
{
    return acr_json_get_string(row->json, key);
}

static Row *find_task_row(const AcrBatchSummary *summary, const char *id)
{
    for (guint i = 0; i < summary->rows->len; i++) {
        Row *row = &g_array_index(summary->rows, Row, i);
        if (g_strcmp0(row_text(row, "instance_id"), id) == 0)
            return row;
    }
    return NULL;
}

AcrBatchSummary *acr_batch_summary_new(const char *out)
{
    AcrBatchSummary *summary = g_new0(AcrBatchSummary, 1);
    summary->path = g_build_filename(out, ACR_FILE_SUMMARY, NULL);
    summary->about = acr_json_new_object();
    summary->places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    summary->rows = g_array_new(FALSE, FALSE, sizeof(Row));
    g_array_set_clear_func(summary->rows, clear_row);
    return summary;
}

/* Copies the members that describe a batch from `from`, unless they are already known. */
static void take_about(AcrBatchSummary *summary, const AcrJson *from)
{
    static const char *const keys[] = {"date", "dataset", "models", "options"};
    for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
        const AcrJson *member = acr_json_get(from, keys[i]);
        if (member && !acr_json_get(summary->about, keys[i]))
            acr_json_set(summary->about, keys[i], acr_json_copy(member));
    }
}

void acr_batch_summary_take(AcrBatchSummary *summary, const AcrBatchSummary *from, const char *id)
{
    const Row *row = find_task_row(from, id);
    take_about(summary, from->about);
    if (!row)
        return;
    Row copy = {acr_json_copy(row->json), true};
    g_array_append_val(summary->rows, copy);
}

AcrBatchSummary *acr_batch_summary_open(const char *out, GError **error)
{
    g_autoptr(AcrBatchSummary) summary = acr_batch_summary_new(out);
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(summary->path, MAX_SUMMARY_BYTES, &reason);
    if (!bytes && g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
        return g_steal_pointer(&summary);
    if (!bytes)
        return ACR_NULL(acr_pass_error(error, &reason));
    g_autoptr(AcrJson) json = acr_json_parse_bytes(bytes, NULL);
    const AcrJson *tasks = acr_json_get(json, "tasks");
    if (acr_json_type(tasks) != ACR_JSON_ARRAY)
        return ACR_NULL(acr_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET,
                                      "'%s' is damaged; move it away and rerun", summary->path));
    take_about(summary, json);
    for (const AcrJson *at = acr_json_first(tasks); at; at = acr_json_next(at)) {
        Row row = {.json = acr_json_copy(at)};
        g_array_append_val(summary->rows, row);
    }
    return g_steal_pointer(&summary);
}

void acr_batch_summary_free(AcrBatchSummary *summary)
{
    if (!summary)
        return;
    g_clear_pointer(&summary->rows, g_array_unref);
    g_hash_table_unref(summary->places);
    acr_json_free(summary->about);
    ACR_FREE(summary->path, summary);
}

static guint position_of(const AcrBatchSummary *summary, const Row *row)
{
    gpointer place = g_hash_table_lookup(summary->places, row_text(row, "instance_id"));
    return place ? GPOINTER_TO_UINT(place) : G_MAXUINT;
}

static gint compare_positions(gconstpointer a, gconstpointer b, gpointer summary)
{
    return acr_order(position_of(summary, a), position_of(summary, b));
}

static void sort_rows(AcrBatchSummary *summary)
{
    g_array_sort_with_data(summary->rows, compare_positions, summary);
}

/* Returns the options that the user has given and that affect results; owned. */
static AcrJson *given_options(const AcrRunSpec *spec)
{
    g_autoptr(AcrJson) all = acr_run_spec_to_json(spec, ACR_OPTION_BOUND);
    AcrJson *given = acr_json_new_object();
    for (const AcrJson *at = acr_json_first(all); at; at = acr_json_next(at))
        if (acr_json_type(at) != ACR_JSON_NULL && strcmp(acr_json_key(at), "model") != 0)
            acr_json_set(given, acr_json_key(at), acr_json_copy(at));
    return given;
}

/* Returns the data sets of the rows: `before` (may be NULL), and `dataset`; owned. */
static char *join_datasets(const AcrBatchSummary *summary, const char *before, const char *dataset)
{
    bool is_kept = false; /* whether a row is of another data set */
    for (guint i = 0; i < summary->rows->len; i++)
        is_kept =
            is_kept || position_of(summary, &g_array_index(summary->rows, Row, i)) == G_MAXUINT;
    g_auto(GStrv) known = g_strsplit(before ? before : "", ", ", -1);
    return !before || !is_kept ? g_strdup(dataset)
           : g_strv_contains((const char *const *)known, dataset)
               ? g_strdup(before)
               : g_strconcat(before, ", ", dataset, NULL);
}

void acr_batch_summary_describe(AcrBatchSummary *summary, const AcrRunSpec *spec, char **ids)
{
    g_autoptr(AcrJson) known = g_steal_pointer(&summary->about);
    for (guint i = 0; ids[i]; i++)
        g_hash_table_insert(summary->places, g_strdup(ids[i]), GUINT_TO_POINTER(i + 1));
    g_autofree char *datasets =
        join_datasets(summary, acr_json_get_string(known, "dataset"), spec->dataset);
    summary->about = acr_json_of(
        ACR_STRING("date", acr_json_get_string(known, "date")), ACR_STRING("dataset", datasets),
        ACR_JSON("models", acr_json_new_strings((const char *const *)spec->models)),
        ACR_JSON("options", given_options(spec)), NULL);
    sort_rows(summary);
}

const char *acr_batch_summary_status(const AcrBatchSummary *summary, const char *id)
{
    const Row *row = find_task_row(summary, id);
    return row ? row_text(row, "status") : NULL;
}

/* Returns the error class of a result. If the class is not set, because no model is responsible for
 * the failure, derives it from the exit code. */
static const char *error_class_of(const AcrRunResult *result)
{
    if (!result->error || result->error_class)
        return result->error_class;
    return result->exit_code == ACR_EXIT_USAGE         ? "usage"
           : result->exit_code == ACR_EXIT_CEILING     ? "ceiling"
           : result->exit_code == ACR_EXIT_INTERRUPTED ? "interrupted"
                                                       : "environment";
}

AcrJson *acr_batch_summary_row(const char *id, const AcrRunResult *result, double seconds)
{
    const AcrTestComparison *tests = result->found.tests;
    return acr_json_of(
        ACR_STRING("instance_id", id), ACR_STRING("status", acr_batch_status(result)),
        ACR_STRING("verdict", result->is_reproduction ? NULL : acr_verdict_name(result->verdict)),
        ACR_INT("exit", result->exit_code), ACR_STRING("error", result->error),
        ACR_STRING("error_class", error_class_of(result)),
        ACR_STRING("not_compared", tests ? tests->why : NULL),
        ACR_JSON("seconds", acr_json_new_double(seconds)),
        ACR_JSON("cost", acr_cost_sum_to_json(&result->cost)), NULL);
}

void acr_batch_summary_add(AcrBatchSummary *summary, const AcrBatchTask *task)
{
    static const char *const kept[] = {"seconds", SETUP, "grade"}; /* if the task was over */
    Row *known = find_task_row(summary, task->instance->instance_id);
    AcrJson *json =
        acr_batch_summary_row(task->instance->instance_id, task->result, (double)task->ms / 1000);
    acr_json_set_string(json, "repo", task->instance->repo);
    acr_json_set(json, SETUP, acr_json_new_double((double)task->setup_ms / 1000));
    for (guint i = 0; known && task->was_over && i < G_N_ELEMENTS(kept); i++)
        if (acr_json_get(known->json, kept[i]))
            acr_json_set(json, kept[i], acr_json_copy(acr_json_get(known->json, kept[i])));
    Row row = {json, true};
    if (!task->was_over) {
        g_autoptr(GDateTime) now = g_date_time_new_now_utc();
        g_autofree char *date = g_date_time_format_iso8601(now);
        acr_json_set_string(summary->about, "date", date);
    }
    if (known) {
        clear_row(known);
        *known = row;
        return;
    }
    g_array_append_val(summary->rows, row);
    sort_rows(summary);
}

void acr_batch_summary_grade(AcrBatchSummary *summary, const char *id, const char *grade)
{
    const Row *row = find_task_row(summary, id);
    if (row)
        acr_json_set_string(row->json, "grade", grade);
}

/* Sums up the rows whose member `key` is `value` (with `only_new`, only the rows of this command);
 * all rows if `key` is NULL. */
static Sum sum_of(const AcrBatchSummary *summary, bool only_new, const char *key, const char *value)
{
    Sum sum = {0};
    for (guint i = 0; i < summary->rows->len; i++) {
        const Row *row = &g_array_index(summary->rows, Row, i);
        AcrCostSum cost = {0};
        if ((only_new && !row->is_new) || (key && g_strcmp0(row_text(row, key), value) != 0))
            continue;
        sum.tasks++;
        sum.seconds += acr_json_get_double(row->json, "seconds", 0);
        sum.setup_seconds += acr_json_get_double(row->json, SETUP, 0);
        acr_cost_sum_from_json(acr_json_get(row->json, "cost"), &cost);
        acr_cost_sum_add(&sum.cost, &cost);
    }
    return sum;
}

gint64 acr_batch_summary_microusd(const AcrBatchSummary *summary)
{
    return MAX(acr_microusd(sum_of(summary, false, NULL, NULL).cost.usage.cost_pico), 0);
}

gint64 acr_batch_summary_answered(const AcrBatchSummary *summary)
{
    AcrCostSum cost = sum_of(summary, false, NULL, NULL).cost;
    return MAX(acr_microusd(cost.charged_pico - cost.unanswered_pico), 0);
}

char *acr_batch_summary_warning(const AcrBatchSummary *summary)
{
    guint n = 0;
    const char *first = NULL;
    for (guint i = 0; i < summary->rows->len; i++) {
        const char *why = row_text(&g_array_index(summary->rows, Row, i), "not_compared");
        n += why != NULL;
        first = first ? first : why;
    }
    return n >= WARN_TASKS ? g_strdup_printf("no project tests were compared for %u patches, so "
                                             "regressions may go unnoticed; the first reason: %s",
                                             n, first)
                           : NULL;
}

/* Counts the rows by the value of the member `key`. Returns {value: number} in the order of the
 * rows; owned. */
static AcrJson *count_by(const AcrBatchSummary *summary, bool only_new, const char *key)
{
    AcrJson *json = acr_json_new_object();
    for (guint i = 0; i < summary->rows->len; i++) {
        const Row *row = &g_array_index(summary->rows, Row, i);
        const char *value = row_text(row, key);
        if (value && (row->is_new || !only_new))
            acr_json_set_int(json, value, acr_json_get_int(json, value, 0) + 1);
    }
    return json;
}

gint64 acr_batch_charged(const char *out, const char *part)
{
    const AcrFolder folder = {.path = (char *)out};
    g_autofree char *shared = acr_batch_shared_dir(part),
                    *name = g_build_filename(shared, ACR_FILE_LEDGER, NULL);
    g_autoptr(GBytes) bytes = acr_folder_read_file(&folder, name, ACR_JSON_FILE_MAX_BYTES, NULL);
    return bytes ? CLAMP(acr_microusd(acr_ledger_text_spent(bytes)), 0, ACR_BATCH_MOST) : 0;
}

/* Returns a sum as JSON, rounded, because repeated addition is inexact; owned. */
static AcrJson *new_sum(double seconds)
{
    return acr_json_new_double(floor(seconds * 1000 + 0.5) / 1000);
}

AcrJson *acr_batch_summary_json(const AcrBatchSummary *summary)
{
    AcrJson *json = acr_json_copy(summary->about);
    AcrJson *tasks = acr_json_new_array();
    Sum all = sum_of(summary, false, NULL, NULL);
    for (guint i = 0; i < summary->rows->len; i++)
        acr_json_append(tasks, acr_json_copy(g_array_index(summary->rows, Row, i).json));
    AcrJson *totals = acr_json_of(
        ACR_INT("tasks", all.tasks), ACR_JSON("by_status", count_by(summary, false, "status")),
        ACR_JSON("by_verdict", count_by(summary, false, "verdict")),
        ACR_JSON("by_error_class", count_by(summary, false, "error_class")),
        ACR_JSON("seconds", new_sum(all.seconds)), ACR_JSON(SETUP, new_sum(all.setup_seconds)),
        ACR_JSON("cost", acr_cost_sum_to_json(&all.cost)), NULL);
    g_autofree char *out = g_path_get_dirname(summary->path);
    gint64 charged = acr_batch_charged(out, "");
    acr_json_set_int(totals, "charged_microusd",
                     MAX(charged, MAX(acr_microusd(all.cost.charged_pico), 0)));
    acr_json_set(json, "tasks", tasks);
    acr_json_set(json, "totals", totals);
    return json;
}

bool acr_batch_summary_write(const AcrBatchSummary *summary, GError **error)
{
    g_autoptr(AcrJson) json = acr_batch_summary_json(summary);
    g_autofree char *text = acr_json_print_pretty(json);
    return acr_file_write_atomic(summary->path, text, strlen(text), 0644, error);
}

static void add_sum_line(GString *text, const char *name, const Sum *sum)
{
    g_string_append_printf(text, "%-12s %6u %12.6f %12" G_GINT64_FORMAT " %9.1f s\n", name,
                           sum->tasks, (double)acr_microusd(sum->cost.charged_pico) / 1e6,
                           MAX(acr_usage_tokens(&sum->cost.usage), 0), sum->seconds);
}

/* Appends counts such as "verdicts: 2 verified, 1 none". Appends nothing if no row has the member
 * `key`. */
static void add_value_counts(GString *text, const char *name, const AcrBatchSummary *summary,
                             const char *key)
{
    g_autoptr(AcrJson) counts = count_by(summary, true, key);
    const AcrJson *first = acr_json_first(counts);
    for (const AcrJson *at = first; at; at = acr_json_next(at))
        g_string_append_printf(text, "%s%s %" G_GINT64_FORMAT " %s", at == first ? name : "",
                               at == first ? ":" : ",", acr_json_int(at, 0), acr_json_key(at));
    g_string_append(text, first ? "\n" : "");
}

char *acr_batch_summary_text(const AcrBatchSummary *summary)
{
    g_autoptr(AcrJson) statuses = count_by(summary, true, "status");
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%-12s %6s %12s %12s %11s\n", "status", "tasks", "USD", "tokens",
                           "time");
    for (const AcrJson *at = acr_json_first(statuses); at; at = acr_json_next(at)) {
        Sum sum = sum_of(summary, true, "status", acr_json_key(at));
        add_sum_line(text, acr_json_key(at), &sum);
    }
    Sum all = sum_of(summary, true, NULL, NULL);
    if (acr_json_size(statuses) > 1)
        add_sum_line(text, "all", &all);
    add_value_counts(text, "verdicts", summary, "verdict");
    add_value_counts(text, "errors", summary, "error_class");
    return g_string_free(text, FALSE);
}
