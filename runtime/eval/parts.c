/* An evaluation in shards. Each shard writes grades.json to its folder, with a row for each of its
 * tasks; merging the rows gives the same files as a single process. Times and memory in the rows
 * were measured on the shards' machines. */
#include "eval/eval_private.h"

#include <string.h>

#define MAX_PART_BYTES ((gsize)256 * 1024 * 1024)

#define refuse(error, ...) acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_INPUT, __VA_ARGS__)

char *acr_eval_bound(const AcrRunSpec *spec, bool in_environment, const char *recipes)
{
    static const char *const keys[] = {
        "split",          "run_id",   "rules",      "compare",   "regrade",        "official_only",
        "repeat",         "baseline", "timeout",    "memory",    "processes",      "network",
        "image_template", "setup",    "base_image", "extension", "ignore_unknown",
    };
    g_autoptr(AcrJson) all = acr_run_spec_to_json(spec, 0), json = acr_json_new_object();
    for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
        if (acr_json_get(all, keys[i]))
            acr_json_set(json, keys[i], acr_json_copy(acr_json_get(all, keys[i])));
    if (spec->audit > 0)
        acr_json_set_int(json, "audit", spec->audit);
    acr_json_set_bool(json, "in_environment", in_environment);
    acr_json_set_string(json, "recipes", recipes);
    g_autofree char *text = acr_json_print(json);
    return acr_sha256_hex(text, strlen(text));
}

static AcrJson *describe_part(const AcrEvalSums *sums)
{
    const AcrEvalOptions *options = sums->options;
    const AcrRunSpec *spec = options->spec;
    g_autofree char *bound = acr_eval_bound(spec, options->in_environment, options->recipes);
    return acr_json_of(ACR_STRING("options", bound), ACR_STRING("run_id", spec->run_id),
                       ACR_INT("rules", spec->rules), ACR_STRING("dataset", spec->dataset),
                       ACR_STRING("split", spec->split), ACR_STRING("compare", spec->compare),
                       NULL);
}

/* Keeps earlier rows of tasks that are not in this run. These rows are valid, because the options
 * are equal. */
static void keep_rows(const AcrJson *was, const AcrJson *now, GHashTable *own, AcrJson *rows)
{
    if (g_strcmp0(acr_json_get_string(was, "options"), acr_json_get_string(now, "options")) != 0)
        return;
    const AcrJson *first = acr_json_first(acr_json_get(was, "rows"));
    for (const AcrJson *at = first; at; at = acr_json_next(at)) {
        const char *id = acr_json_get_string(at, "task");
        if (id && !g_hash_table_contains(own, id))
            acr_json_append(rows, acr_json_copy(at));
    }
}

/* Reads the grades of a shard. *out is owned; NULL if there is no file. */
static bool read_grades(const char *path, AcrJson **out, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_PART_BYTES, &reason);
    *out = NULL;
    if (!bytes && g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
        return true;
    if (!bytes)
        return acr_pass_error(error, &reason);
    *out = acr_json_parse_bytes(bytes, NULL);
    const AcrJson *json = *out;
    const char *run_id = acr_json_get_string(json, "run_id");
    gint64 rules = acr_json_get_int(json, "rules", 0);
    return (run_id && acr_name_is_safe(run_id, "") && (rules == 4 || rules == 5) &&
            acr_json_get_string(json, "options") && acr_json_get_string(json, "dataset") &&
            acr_json_type(acr_json_get(json, "rows")) == ACR_JSON_ARRAY) ||
           refuse(error, "'%s' is damaged; run its shard again", path);
}

bool acr_eval_part_write(const AcrEvalSums *sums, GError **error)
{
    g_autofree char *path = g_build_filename(sums->options->spec->out, ACR_FILE_GRADES, NULL);
    g_autoptr(GHashTable) own = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(AcrJson) json = describe_part(sums), was = NULL;
    AcrJson *rows = acr_json_new_array();
    acr_json_set(json, "rows", rows);
    for (const AcrJson *row = acr_json_first(sums->rows); row; row = acr_json_next(row))
        g_hash_table_insert(own, (gpointer)acr_json_get_string(row, "task"), (gpointer)row);
    for (const AcrJson *at = acr_json_first(sums->tasks); at; at = acr_json_next(at)) {
        const char *id = acr_json_string(at);
        const AcrJson *row = g_hash_table_lookup(own, id);
        acr_json_append(rows, row ? acr_json_copy(row) : acr_json_of("task", ACR_TEXT(id), NULL));
        g_hash_table_insert(own, (gpointer)id, (gpointer)at);
    }
    if (read_grades(path, &was, NULL))
        keep_rows(was, json, own, rows);
    g_autofree char *text = acr_json_print_pretty(json);
    return acr_file_write_atomic(path, text, strlen(text), 0644, error);
}

/* State of a merge. All members are owned, except for the shards. */
typedef struct {
    const AcrShards *shards;
    /* array of AcrJson *, by shard from 0; NULL if the shard has no grades */
    GPtrArray *parts;
    const AcrJson *first; /* the first element of `parts` that is not NULL */
    /* id of a task -> the task's row in the grades of its shard, borrowed */
    GHashTable *found;
    AcrJson *tasks, *rows, *other; /* members for AcrEvalSums */
} Merging;

static void merging_clear(Merging *merging)
{
    acr_json_free(merging->tasks);
    acr_json_free(merging->rows);
    acr_json_free(merging->other);
    g_clear_pointer(&merging->found, g_hash_table_unref);
    g_clear_pointer(&merging->parts, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Merging, merging_clear)

/* Adds the rows of a shard. Skips a row whose task no longer belongs to the shard. */
static bool take_grade_rows(Merging *merging, guint number, const char *path, GError **error)
{
    const AcrJson *part = merging->parts->pdata[number];
    const AcrJson *first = acr_json_first(acr_json_get(part, "rows"));
    for (const AcrJson *at = first; at; at = acr_json_next(at)) {
        const char *id = acr_json_get_string(at, "task"), *model = acr_json_get_string(at, "model");
        gpointer owner = id ? g_hash_table_lookup(merging->shards->parts, id) : NULL;
        bool is_sound = id && (!model || acr_name_is_safe(model, NULL)) &&
                        (acr_eval_row_grade(at) >= 0 || !acr_json_get_string(at, "grade"));
        if (!is_sound)
            return refuse(error, "'%s' is damaged; run its shard again", path);
        if (GPOINTER_TO_UINT(owner) == number + 1)
            g_hash_table_insert(merging->found, (gpointer)id, (gpointer)at);
    }
    return true;
}

static bool take_part(Merging *merging, guint number, GError **error)
{
    g_autofree char *dir = acr_shards_folder(merging->shards, number),
                    *path = g_build_filename(dir, ACR_FILE_GRADES, NULL);
    AcrJson *part = NULL;
    bool ok = !merging->shards->notes->pdata[number] || read_grades(path, &part, error);
    merging->parts->pdata[number] = part;
    if (!ok || !part)
        return ok;
    merging->first = merging->first ? merging->first : part;
    const char *one = acr_json_get_string(merging->first, "options"),
               *other = acr_json_get_string(part, "options");
    if (strcmp(one, other) != 0)
        return refuse(error, "'%s' was graded with different options from the earlier shards", dir);
    return take_grade_rows(merging, number, path, error);
}

static bool has_row(void *ctx, guint number, const char *id)
{
    const Merging *merging = ctx;
    return (!merging->first && !merging->shards->is_eval) ||
           g_hash_table_contains(merging->found, id);
}

static gint by_number(gconstpointer a, gconstpointer b)
{
    gint64 one = acr_json_get_int(*(const AcrJson *const *)a, "number", 0),
           other = acr_json_get_int(*(const AcrJson *const *)b, "number", 0);
    return (one > other) - (one < other);
}

/* Sorts the rows by the numbers of their predictions. Rows of a batch have no numbers and keep
 * their order. */
static void sort_rows(Merging *merging)
{
    g_autoptr(GPtrArray) ids = acr_shards_tasks(merging->shards), rows = g_ptr_array_new();
    merging->tasks = acr_json_new_texts(ids);
    merging->rows = acr_json_new_array();
    for (guint i = 0; i < ids->len; i++) {
        AcrJson *row = g_hash_table_lookup(merging->found, ids->pdata[i]);
        if (acr_json_get_string(row, "model"))
            g_ptr_array_add(rows, row);
    }
    g_ptr_array_sort(rows, by_number);
    for (guint i = 0; i < rows->len; i++)
        acr_json_append(merging->rows, acr_json_copy(rows->pdata[i]));
}

/* Fails if the folder has the logs of an evaluation without shards, because they would not match
 * the new report. */
static bool check_replaced(const Merging *merging, const AcrRunSpec *spec, GError **error)
{
    for (const AcrJson *at = acr_json_first(merging->rows); at; at = acr_json_next(at)) {
        g_autofree char *path = g_build_filename(spec->out, ACR_DIR_EVALUATIONS, spec->run_id,
                                                 acr_json_get_string(at, "model"), NULL);
        if (g_file_test(path, G_FILE_TEST_IS_DIR))
            return refuse(
                error,
                "'%s' belongs to an evaluation without shards; move this file or the shards away",
                path);
    }
    return true;
}

static bool write_whole(Merging *merging, AcrEvalOptions *options, AcrEvalResult *out,
                        GError **error)
{
    const AcrRunSpec *spec = options->spec;
    g_autoptr(AcrPython) python = acr_python_new(options->host->python_dir, error);
    if (!python || !check_replaced(merging, spec, error))
        return false;
    if (spec->compare && !(merging->other = acr_eval_read_other(python, spec->compare, error)))
        return false;
    ACR_AUTO_FD folder = acr_eval_run_open(spec, error);
    options->python = python;
    const AcrEvalSums sums = {options, merging->tasks, merging->rows, merging->other, NULL, NULL};
    acr_eval_count(&sums, out);
    return folder >= 0 && acr_eval_write_run(spec, error) && acr_eval_final(&sums, out, error);
}

bool acr_eval_merge(AcrHost *host, const AcrShards *shards, const gint64 *spent_microusd,
                    GPtrArray **out_missing, AcrEvalResult *out, GError **error)
{
    g_auto(Merging) merging = {.shards = shards};
    *out = (AcrEvalResult){0};
    merging.parts = g_ptr_array_new_with_free_func((GDestroyNotify)acr_json_free);
    g_ptr_array_set_size(merging.parts, (gint)shards->of);
    merging.found = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < shards->of; i++)
        if (!take_part(&merging, i, error))
            return false;
    const AcrShardsWanted wanted = {"are not graded", has_row, &merging};
    *out_missing = acr_shards_missing(shards, &wanted);
    sort_rows(&merging);
    if ((*out_missing)->len || acr_json_size(merging.rows) == 0)
        return true;
    const AcrJson *first = merging.first;
    g_auto(AcrRunSpec) spec = acr_run_spec_of(ACR_FOR_EVAL);
    spec.out = g_strdup(shards->out);
    spec.run_id = g_strdup(acr_json_get_string(first, "run_id"));
    spec.dataset = g_strdup(acr_json_get_string(first, "dataset"));
    spec.split = g_strdup(acr_json_get_string(first, "split"));
    spec.compare = g_strdup(acr_json_get_string(first, "compare"));
    spec.rules = acr_json_get_int(first, "rules", 0);
    AcrEvalOptions options = {.spec = &spec, .host = host, .spent_microusd = spent_microusd};
    return write_whole(&merging, &options, out, error);
}
