/*
 * Reads SWE-bench data sets: JSON lists and JSON lines. Only what a solver may see is taken from a
 * row.
 */
#include "batch/batch.h"

#include <string.h>

G_DEFINE_QUARK(acr_batch_error_quark, acr_batch_error)

void acr_instance_free(AcrInstance *instance)
{
    if (!instance)
        return;
    g_free(instance->instance_id);
    g_free(instance->repo);
    g_free(instance->base_commit);
    g_free(instance->problem_statement);
    g_free(instance);
}

/* A name that may become a folder's: letters, digits, "_", "-", ".", at the start a letter, digit
 * or "_"; not one that the batch itself uses. */
static bool is_safe_name(const char *name, const char *also)
{
    if ((!g_ascii_isalnum(*name) && *name != '_') || strcmp(name, "preds.jsonl") == 0 ||
        strcmp(name, "shared") == 0)
        return false;
    for (const char *at = name; *at; at++)
        if (!g_ascii_isalnum(*at) && !strchr("_-.", *at) && !strchr(also, *at))
            return false;
    return !strstr(name, "..");
}

static AcrInstance *read_row(const AcrJson *row, const char *path, guint number, GError **error)
{
    static const char *const keys[] = {"instance_id", "repo", "base_commit", "problem_statement"};
    const char *values[G_N_ELEMENTS(keys)];
    for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
        values[i] = acr_json_get_string(row, keys[i]);
        if (!values[i]) {
            g_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET,
                        "row %u of '%s' has no text \"%s\"", number, path, keys[i]);
            return NULL;
        }
    }
    if (!is_safe_name(values[0], "") || !is_safe_name(values[1], "/+")) {
        g_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET,
                    "row %u of '%s': '%s' cannot be the name of a folder", number, path,
                    is_safe_name(values[0], "") ? values[1] : values[0]);
        return NULL;
    }
    AcrInstance *instance = g_new0(AcrInstance, 1);
    instance->instance_id = g_strdup(values[0]);
    instance->repo = g_strdup(values[1]);
    instance->base_commit = g_strdup(values[2]);
    instance->problem_statement = g_strdup(values[3]);
    return instance;
}

static bool add_row(GPtrArray *rows, GHashTable *seen, const AcrJson *row, const char *path,
                    guint number, GError **error)
{
    AcrInstance *instance = read_row(row, path, number, error);
    if (!instance)
        return false;
    g_ptr_array_add(rows, instance);
    if (g_hash_table_add(seen, instance->instance_id))
        return true;
    g_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET,
                "row %u of '%s' repeats the instance '%s'", number, path, instance->instance_id);
    return false;
}

static bool read_list(GPtrArray *rows, GHashTable *seen, const char *data, gsize len,
                      const char *path, GError **error)
{
    g_autoptr(AcrJson) list = acr_json_parse(data, len, error);
    guint number = 0;
    if (!list)
        g_prefix_error(error, "'%s': ", path);
    for (const AcrJson *row = acr_json_first(list); row; row = acr_json_next(row))
        if (!add_row(rows, seen, row, path, ++number, error))
            return false;
    return list != NULL;
}

static bool read_lines(GPtrArray *rows, GHashTable *seen, const char *data, gsize len,
                       const char *path, GError **error)
{
    guint number = 0;
    for (const char *line = data, *end = data + len; line < end;) {
        const char *stop = memchr(line, '\n', (gsize)(end - line));
        gsize size = (gsize)((stop ? stop : end) - line);
        const char *text = line;
        gsize blank = 0;
        while (blank < size && strchr(" \t\r", text[blank]) && text[blank])
            blank++;
        number++;
        line += size + (stop ? 1 : 0);
        if (blank == size)
            continue;
        g_autoptr(AcrJson) row = acr_json_parse(text, size, error);
        if (!row) {
            g_prefix_error(error, "line %u of '%s': ", number, path);
            return false;
        }
        if (!add_row(rows, seen, row, path, number, error))
            return false;
    }
    return true;
}

/* Leaves only the instances that were asked for; each must be there. */
static GPtrArray *select_instances(GPtrArray *rows, const char *const *only, const char *path,
                                   GError **error)
{
    g_autoptr(GPtrArray) owned = rows;
    g_autoptr(GPtrArray) chosen = g_ptr_array_new_with_free_func((GDestroyNotify)acr_instance_free);
    for (guint i = 0; only[i]; i++) {
        bool found = false;
        for (guint r = 0; r < owned->len; r++)
            found = found || strcmp(((AcrInstance *)owned->pdata[r])->instance_id, only[i]) == 0;
        if (!found) {
            g_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET,
                        "'%s' has no instance '%s'", path, only[i]);
            return NULL;
        }
    }
    while (owned->len) {
        AcrInstance *instance = g_ptr_array_steal_index(owned, 0);
        if (g_strv_contains(only, instance->instance_id))
            g_ptr_array_add(chosen, instance);
        else
            acr_instance_free(instance);
    }
    return g_steal_pointer(&chosen);
}

GPtrArray *acr_dataset_read(const char *path, const char *const *only, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, ACR_DATASET_MAX_BYTES, &reason);
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)acr_instance_free);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    gsize len = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    gsize lead = 0;
    while (lead < len && strchr(" \t\r\n", data[lead]))
        lead++;
    bool ok = bytes &&
              (lead < len && data[lead] == '[' ? read_list(rows, seen, data, len, path, &reason)
                                               : read_lines(rows, seen, data, len, path, &reason));
    if (!ok) {
        g_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET, "cannot use the data set: %s",
                    reason->message);
        return NULL;
    }
    if (rows->len == 0) {
        g_set_error(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET, "the data set '%s' is empty",
                    path);
        return NULL;
    }
    return only ? select_instances(g_steal_pointer(&rows), only, path, error)
                : g_steal_pointer(&rows);
}

char *acr_dataset_repo(const char *dir, const char *name)
{
    static const char *const joints[] = {"/", "+", "__"};
    static const char *const endings[] = {"", ".git"};
    const char *slash = strchr(name, '/');
    for (guint j = 0; j < G_N_ELEMENTS(joints); j++) {
        for (guint e = 0; e < G_N_ELEMENTS(endings); e++) {
            g_autofree char *joined = slash
                                          ? g_strdup_printf("%.*s%s%s%s", (int)(slash - name), name,
                                                            joints[j], slash + 1, endings[e])
                                          : g_strconcat(name, endings[e], NULL);
            g_autofree char *path = g_build_filename(dir, joined, NULL);
            if (g_file_test(path, G_FILE_TEST_IS_DIR))
                return g_steal_pointer(&path);
        }
    }
    return NULL;
}
