/* Saved answers of models, from which `swe-bench --extract-patches` makes predictions. */
#include "batch/batch.h"

#include <string.h>

#define MAX_FILE_BYTES ((gsize)1024 * 1024 * 1024)

static void add_answer(GHashTable *answers, const char *id, char *text)
{
    GPtrArray *known = g_hash_table_lookup(answers, id);
    if (!known) {
        known = g_ptr_array_new_with_free_func(g_free);
        g_hash_table_insert(answers, g_strdup(id), known);
    }
    g_ptr_array_add(known, text);
}

/* Adds the answers in {"instance_id", "answer"}. Returns false if the JSON has another form. */
static bool take_saved(GHashTable *answers, const AcrJson *line)
{
    const AcrJson *answer = acr_json_get(line, "answer");
    const char *id = acr_json_get_string(line, "instance_id");
    bool is_list = acr_json_type(answer) == ACR_JSON_ARRAY;
    if (!id || (!is_list && !acr_json_string(answer)))
        return false;
    for (const AcrJson *at = is_list ? acr_json_first(answer) : answer; at;
         at = is_list ? acr_json_next(at) : NULL) {
        if (!acr_json_string(at))
            return false;
        add_answer(answers, id, g_strdup(acr_json_string(at)));
    }
    return true;
}

typedef struct {
    const char *path;
    GHashTable *answers;
} Saved;

static bool take_line(void *ctx, const AcrJson *line, guint number, GError **error)
{
    const Saved *saved = ctx;
    return take_saved(saved->answers, line) ||
           acr_task_refuse(error,
                           "'%s', line %u: a saved answer must be an object with \"instance_id\" "
                           "and \"answer\" (a string or a list of strings)",
                           saved->path, number);
}

static bool read_lines(const char *path, GHashTable *answers, GError **error)
{
    Saved saved = {path, answers};
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_FILE_BYTES, error);
    gsize len = 0;
    const char *text = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    return bytes && acr_json_lines(text ? text : "", len, path, take_line, &saved, error);
}

static bool read_folder(const char *path, GHashTable *answers, GError **error)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, error);
    if (!folder)
        return false;
    for (const char *name; (name = g_dir_read_name(folder));) {
        const char *dot = strrchr(name, '.');
        if (!dot || (strcmp(dot, ".md") != 0 && strcmp(dot, ".txt") != 0))
            continue;
        g_autofree char *file = g_build_filename(path, name, NULL),
                        *id = g_strndup(name, (gsize)(dot - name));
        g_autoptr(GBytes) bytes = acr_file_read(file, MAX_FILE_BYTES, error);
        if (!bytes)
            return false;
        add_answer(answers, id, acr_utf8_repair_bytes(bytes));
    }
    return true;
}

GHashTable *acr_saved_answers_read(const char *path, GError **error)
{
    g_autoptr(GHashTable) answers =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    bool is_folder = g_file_test(path, G_FILE_TEST_IS_DIR);
    g_autoptr(GError) reason = NULL;
    if (!(is_folder ? read_folder : read_lines)(path, answers, &reason))
        return ACR_NULL(acr_task_refuse(error, "--extract-patches: %s", reason->message));
    if (g_hash_table_size(answers) == 0)
        return ACR_NULL(
            acr_task_refuse(error, "--extract-patches: '%s' contains no saved answer", path));
    return g_steal_pointer(&answers);
}
