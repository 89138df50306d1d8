/* Reads predictions in the formats of SWE-bench's harness and of other programs. */
#include "eval/eval.h"

#include <string.h>

G_DEFINE_QUARK(acr_eval_error_quark, acr_eval_error)

#define UNNAMED "unnamed-model"
#define GOLD "gold"
#define EMPTY "empty"
#define MAX_NAMED 5u /* maximum number of ids that an error message names */

#define refuse(error, ...) acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_INPUT, __VA_ARGS__)

void acr_prediction_free(AcrPrediction *prediction)
{
    if (!prediction)
        return;
    ACR_FREE(prediction->instance_id, prediction->model, prediction->name, prediction->repo);
    ACR_FREE(prediction->patch, prediction);
}

typedef struct {
    const char *source;
    GHashTable *tasks;  /* id of a task -> task, borrowed */
    GPtrArray *out;     /* array of AcrPrediction: the predictions read so far */
    GHashTable *ids;    /* set of the ids of `out`, borrowed */
    GPtrArray *unknown; /* ids of predictions that match no task, owned */
} Reader;

char *acr_prediction_model(const char *model)
{
    g_auto(GStrv) parts = g_strsplit(model, "/", -1);
    g_autofree char *name = g_strjoinv("__", parts);
    return acr_name_is_safe(name, NULL) ? g_steal_pointer(&name) : NULL;
}

static void add_prediction(Reader *reader, const char *id, const char *model, const char *patch,
                           bool is_baseline)
{
    AcrPrediction *prediction = g_new0(AcrPrediction, 1);
    prediction->instance_id = g_strdup(id);
    prediction->model = acr_prediction_model(model);
    prediction->name = g_strdup(model);
    prediction->repo = g_strdup(((AcrInstance *)g_hash_table_lookup(reader->tasks, id))->repo);
    prediction->patch = patch && *patch ? g_strdup(patch) : NULL;
    prediction->is_baseline = is_baseline;
    prediction->number = reader->out->len;
    g_ptr_array_add(reader->out, prediction);
    (void)g_hash_table_add(reader->ids, prediction->instance_id);
}

/* Returns the member `name`, else the member `other`; NULL if there is neither. */
static const AcrJson *get_any(const AcrJson *json, const char *name, const char *other)
{
    const AcrJson *found = acr_json_get(json, name);
    return found ? found : acr_json_get(json, other);
}

/* Reads one prediction: an object (SWE-bench Pro calls the patch "patch" and the model "prefix"),
 * or a member whose name is the task's id and whose value is the patch or an object without an
 * id. */
static bool take_prediction(void *ctx, const AcrJson *json, guint number, GError **error)
{
    Reader *reader = ctx;
    const char *own = acr_json_get_string(json, "instance_id"),
               *id = own ? own : acr_json_key(json),
               *model = acr_json_string(get_any(json, "model_name_or_path", "prefix"));
    bool is_text = acr_json_type(json) == ACR_JSON_STRING;
    const AcrJson *patch = is_text ? json : get_any(json, "model_patch", "patch");
    AcrJsonType type = acr_json_type(patch);
    if (!id)
        return refuse(error, "prediction %u of '%s' lacks the string \"instance_id\"", number,
                      reader->source);
    if (!patch || (type != ACR_JSON_STRING && type != ACR_JSON_NULL))
        return refuse(error, "prediction %u of '%s' (%s) lacks the string \"model_patch\"", number,
                      reader->source, id);
    if (!is_text && !acr_json_get(json, "model_patch") &&
        get_any(json, "base_commit", "FAIL_TO_PASS"))
        return refuse(error,
                      "row %u of '%s' (%s) is a task, not a prediction; to grade the reference "
                      "patches, write --predictions gold",
                      number, reader->source, id);
    g_autofree char *name = acr_prediction_model(model ? model : UNNAMED);
    if (!name)
        return refuse(error,
                      "prediction %u of '%s' (%s): its model cannot be used as a folder name",
                      number, reader->source, id);
    if (!g_hash_table_contains(reader->tasks, id)) {
        g_ptr_array_add(reader->unknown, g_strdup(id));
        return true;
    }
    if (g_hash_table_contains(reader->ids, id))
        return refuse(error, "'%s' has two predictions for '%s'", reader->source, id);
    add_prediction(reader, id, model ? model : UNNAMED, acr_json_string(patch), false);
    return true;
}

/* Reads an array of predictions, an object of predictions, or a single prediction. */
static bool take_document(Reader *reader, const AcrJson *document, GError **error)
{
    guint number = 0;
    if (acr_json_get_string(document, "instance_id") ||
        acr_json_get_string(document, "model_patch"))
        return take_prediction(reader, document, 1, error);
    for (const AcrJson *at = acr_json_first(document); at; at = acr_json_next(at))
        if (!take_prediction(reader, at, ++number, error))
            return false;
    return true;
}

/* Reads one JSON document or, if the file is not a single document, JSON lines. The ending of the
 * file's name does not matter. */
static bool read_prediction_file(Reader *reader, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(reader->source, ACR_PREDICTIONS_MAX_BYTES, &reason);
    if (!bytes)
        return refuse(error, "cannot use the predictions: %s", reason->message);
    gsize len;
    const char *text = g_bytes_get_data(bytes, &len);
    gsize mark = acr_utf8_mark_len(text, len);
    g_autoptr(AcrJson) document = acr_json_parse(text + mark, len - mark, NULL);
    bool ok = document ? take_document(reader, document, &reason)
                       : acr_json_lines(text + mark, len - mark, reader->source, take_prediction,
                                        reader, &reason);
    if (ok)
        return true;
    if (reason->domain == ACR_EVAL_ERROR)
        return acr_pass_error(error, &reason);
    return refuse(error, "cannot use the predictions: %s", reason->message);
}

/* Returns the path of the file of predictions in a folder that another program wrote; owned; NULL
 * if there is none. */
static char *find_prediction_file(const char *folder)
{
    static const char *const names[] = {ACR_FILE_PREDICTIONS, "all_preds.jsonl", "preds.json"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
            return g_steal_pointer(&path);
    }
    return NULL;
}

/* Returns true if `name` is a patch that a harness wrote: ID.diff, ID.patch, or a folder ID/ with
 * patch.diff. Sets *out_path and *out_id to the path of the patch and the task's id, owned. */
static bool find_diff(const char *folder, const char *name, char **out_path, char **out_id)
{
    g_autofree char *path = g_build_filename(folder, name, NULL),
                    *inside = g_build_filename(path, ACR_FILE_PATCH, NULL);
    bool is_diff = g_str_has_suffix(name, ".diff") || g_str_has_suffix(name, ".patch");
    if (!is_diff && !g_file_test(inside, G_FILE_TEST_IS_REGULAR))
        return false;
    *out_id = is_diff ? g_strndup(name, (gsize)(strrchr(name, '.') - name)) : g_strdup(name);
    *out_path = is_diff ? g_steal_pointer(&path) : g_steal_pointer(&inside);
    return true;
}

/* Returns the path of ID.pred or ID/ID.pred, to which SWE-agent writes a prediction; owned; NULL if
 * there is no such file. */
static char *find_pred(const char *folder, const char *name)
{
    g_autofree char *file = g_strconcat(name, ".pred", NULL),
                    *path = g_str_has_suffix(name, ".pred")
                                ? g_build_filename(folder, name, NULL)
                                : g_build_filename(folder, name, file, NULL);
    return g_file_test(path, G_FILE_TEST_IS_REGULAR) ? g_steal_pointer(&path) : NULL;
}

static bool take_diff(Reader *reader, const char *path, const char *id, const char *model,
                      guint number, GError **error)
{
    g_autoptr(GBytes) bytes = acr_file_read(path, ACR_PREDICTIONS_MAX_BYTES, error);
    g_autofree char *patch = bytes ? acr_bytes_text(bytes) : NULL;
    if (!patch)
        return false;
    g_autoptr(AcrJson) json =
        acr_json_of(ACR_STRING("instance_id", id), ACR_STRING("model_name_or_path", model),
                    ACR_STRING("model_patch", patch), NULL);
    return take_prediction(reader, json, number, error);
}

static bool read_prediction_folder(Reader *reader, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(reader->source, 0, error);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *full = g_canonicalize_filename(reader->source, NULL),
                    *model = g_path_get_basename(full);
    for (const char *name; dir && (name = g_dir_read_name(dir));)
        g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, acr_compare_names);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *path = NULL, *id = NULL,
                        *pred = find_pred(reader->source, names->pdata[i]);
        Reader inside = *reader;
        inside.source = pred;
        if (pred ? !read_prediction_file(&inside, error)
                 : find_diff(reader->source, names->pdata[i], &path, &id) &&
                       !take_diff(reader, path, id, model, i + 1, error))
            return false;
    }
    return dir != NULL;
}

static bool read_predictions_of(Reader *reader, GError **error)
{
    if (!g_file_test(reader->source, G_FILE_TEST_IS_DIR))
        return read_prediction_file(reader, error);
    g_autofree char *file = find_prediction_file(reader->source);
    if (!file)
        return read_prediction_folder(reader, error);
    Reader inside = *reader;
    inside.source = file;
    return read_prediction_file(&inside, error);
}

static bool take_prediction_rows(Reader *reader, const GPtrArray *tasks, bool is_gold,
                                 GError **error)
{
    for (guint i = 0; i < tasks->len; i++) {
        const AcrInstance *task = tasks->pdata[i];
        g_autoptr(AcrJson) row = acr_json_parse(task->row, strlen(task->row), error);
        if (!row)
            return false;
        const char *patch = is_gold ? acr_json_get_string(row, "patch") : NULL;
        if (is_gold && !patch)
            return refuse(error, "the row of '%s' has no \"patch\"", task->instance_id);
        add_prediction(reader, task->instance_id, reader->source, patch, !is_gold);
    }
    return true;
}

/* Returns "(N): ID, ID, …" with the unknown ids; owned; NULL if there are none. */
static char *name_unknown(const Reader *reader)
{
    guint n = reader->unknown->len;
    g_autoptr(GString) names = g_string_new(NULL);
    g_string_append_printf(names, "(%u): ", n);
    for (guint i = 0; i < MIN(n, MAX_NAMED); i++)
        g_string_append_printf(names, "%s%s", i ? ", " : "", (char *)reader->unknown->pdata[i]);
    g_string_append(names, n > MAX_NAMED ? ", …" : "");
    return n ? g_strdup(names->str) : NULL;
}

GPtrArray *acr_predictions_read(const char *source, const GPtrArray *tasks, bool ignore_unknown,
                                char **out_unknown, GError **error)
{
    g_autoptr(GPtrArray) out = g_ptr_array_new_with_free_func((GDestroyNotify)acr_prediction_free),
                         unknown = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal),
                          ids = g_hash_table_new(g_str_hash, g_str_equal);
    Reader reader = {source, known, out, ids, unknown};
    bool is_gold = strcmp(source, GOLD) == 0;
    for (guint i = 0; i < tasks->len; i++)
        g_hash_table_insert(known, ((AcrInstance *)tasks->pdata[i])->instance_id, tasks->pdata[i]);
    bool ok = is_gold || strcmp(source, EMPTY) == 0
                  ? take_prediction_rows(&reader, tasks, is_gold, error)
                  : read_predictions_of(&reader, error);
    g_autofree char *names = name_unknown(&reader);
    if (ok && names && !ignore_unknown)
        ok = refuse(error,
                    "'%s' has predictions for tasks that the data set lacks %s; drop them with "
                    "--ignore-unknown",
                    source, names);
    if (!ok)
        return NULL;
    if (out->len == 0)
        return ACR_NULL(refuse(error, "'%s' has no predictions", source));
    *out_unknown = g_steal_pointer(&names);
    return g_steal_pointer(&out);
}

char *acr_predictions_digest(const GPtrArray *predictions)
{
    g_autoptr(AcrJson) json = acr_json_new_array();
    for (guint i = 0; i < predictions->len; i++) {
        const AcrPrediction *prediction = predictions->pdata[i];
        const char *patch = prediction->patch ? prediction->patch : "";
        g_autofree char *digest = acr_sha256_hex(patch, strlen(patch));
        acr_json_append(json, acr_json_new_string(prediction->instance_id));
        acr_json_append(json, acr_json_new_string(prediction->model));
        acr_json_append(json, acr_json_new_string(digest));
    }
    g_autofree char *text = acr_json_print(json);
    return acr_sha256_hex(text, strlen(text));
}
