/*
 * OUT/preds.jsonl: one line for each ended task, in the order of the data set. It is made anew from the run folders each
 * time, so that it is complete after a kill; lines of instances outside the batch are kept as they are.
 */
#include "batch/batch_private.h"

#include <string.h>

#define PREDS "preds.jsonl"
#define MAX_PREDS_BYTES (1024u * 1024 * 1024)
#define MAX_META_BYTES (16u * 1024 * 1024)

static bool in_batch(const GPtrArray *instances, const char *id)
{
    for (guint i = 0; id && i < instances->len; i++)
        if (strcmp(((const AcrInstance *)instances->pdata[i])->instance_id, id) == 0)
            return true;
    return false;
}

/* Lines of other batches, each as it stands; what is no prediction is dropped. A file that cannot be read is not replaced. */
static bool keep_others(const char *path, const GPtrArray *instances, GString *out, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_PREDS_BYTES, &reason);
    if (!bytes && !g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND)) {
        g_propagate_error(error, g_steal_pointer(&reason));
        return false;
    }
    gsize len = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    g_autofree char *text = g_strndup(data ? data : "", len);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        g_autoptr(AcrJson) line = acr_json_parse(lines[i], strlen(lines[i]), NULL);
        const char *id = acr_json_get_string(line, "instance_id");
        if (id && !in_batch(instances, id))
            g_string_append_printf(out, "%s\n", lines[i]);
    }
    return true;
}

/* Whether the run folder says that it is done. */
static bool is_done(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "meta.json", NULL);
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_META_BYTES, NULL);
    gsize len = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    g_autoptr(AcrJson) meta = data ? acr_json_parse(data, len, NULL) : NULL;
    return g_strcmp0(acr_json_get_string(meta, "state"), "done") == 0;
}

static bool add_prediction(const AcrBatchOptions *options, const AcrInstance *instance, GString *out, GError **error)
{
    g_autofree char *folder = g_build_filename(options->out, instance->instance_id, NULL);
    if (!is_done(folder))
        return true;
    g_autofree char *path = g_build_filename(folder, "patch.diff", NULL);
    g_autoptr(GBytes) patch = acr_file_read(path, G_MAXINT32, error);
    if (!patch)
        return false;
    gsize len;
    const void *data = g_bytes_get_data(patch, &len);
    g_autofree char *text = acr_utf8_repair(data, len); /* a prediction is text by its format */
    g_autoptr(AcrJson) line = acr_json_new_object();
    acr_json_set_string(line, "instance_id", instance->instance_id);
    acr_json_set_string(line, "model_patch", text);
    acr_json_set_string(line, "model_name_or_path", options->model_name);
    g_autofree char *printed = acr_json_print(line);
    g_string_append_printf(out, "%s\n", printed);
    return true;
}

bool acr_predictions_write(const AcrBatchOptions *options, const GPtrArray *instances, GError **error)
{
    g_autofree char *path = g_build_filename(options->out, PREDS, NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    if (!keep_others(path, instances, text, error))
        return false;
    g_autoptr(GError) damaged = NULL; /* the first; a folder that is damaged does not cost the others their lines */
    bool complete = true;
    for (guint i = 0; i < instances->len; i++)
        complete = add_prediction(options, instances->pdata[i], text, damaged ? NULL : &damaged) && complete;
    if (!acr_file_write_atomic(path, text->str, text->len, 0644, error))
        return false;
    if (!complete)
        g_propagate_error(error, g_steal_pointer(&damaged));
    return complete;
}
