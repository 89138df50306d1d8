/*
 * OUT/preds.jsonl: one line for each ended task, in the order of the data set. It is made anew from
 * the run folders each time, so that it is complete after a kill; lines of instances outside the
 * batch are kept as they are, and so are those of folders that other models have filled.
 */
#include "batch/batch_private.h"

#include <string.h>

#define PREDS "preds.jsonl"
#define MAX_PREDS_BYTES (1024u * 1024 * 1024)
#define MAX_META_BYTES (16u * 1024 * 1024)

/* Whose result a run folder holds. */
typedef enum { NO_RESULT, OF_THIS_BATCH, OF_OTHER_MODELS } Result;

/* Whether an in-batch task's line is made anew here; a line of other models stays, as does that of
 * a task of another batch. */
static bool is_replaced(const GPtrArray *instances, const Result *results, const char *id)
{
    for (guint i = 0; i < instances->len; i++)
        if (strcmp(((const AcrInstance *)instances->pdata[i])->instance_id, id) == 0)
            return results[i] != OF_OTHER_MODELS;
    return false;
}

/* Lines that are not this batch's, each as it stands; what is no prediction is dropped. A file that
 * cannot be read is not replaced. */
static bool keep_others(const char *path, const GPtrArray *instances, const Result *results,
                        GString *out, GError **error)
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
        if (id && !is_replaced(instances, results, id))
            g_string_append_printf(out, "%s\n", lines[i]);
    }
    return true;
}

static bool has_models(const AcrJson *meta, const char *const *models)
{
    const AcrJson *at = acr_json_first(acr_json_get(acr_json_get(meta, "options"), "model"));
    for (; at && *models; at = acr_json_next(at), models++) {
        g_autoptr(AcrJson) wanted = acr_json_new_string(*models);
        if (!acr_json_equal(at, wanted, NULL))
            return false;
    }
    return !at && !*models;
}

/* Whether a run that stopped at a ceiling has left the best patch that it had. */
static bool has_patch_so_far(const AcrBatchOptions *options, const AcrInstance *instance)
{
    g_autofree char *path =
        g_build_filename(options->out, instance->instance_id, "patch.diff", NULL);
    g_autoptr(GBytes) patch = acr_file_read(path, G_MAXINT32, NULL);
    return patch && g_bytes_get_size(patch) > 0;
}

/* What the run folder says of itself: a folder of other models is refused by the run, and its patch
 * is not of these. */
static Result read_result(const AcrBatchOptions *options, const AcrInstance *instance)
{
    g_autofree char *path =
        g_build_filename(options->out, instance->instance_id, "meta.json", NULL);
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_META_BYTES, NULL);
    gsize len = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    g_autoptr(AcrJson) meta = data ? acr_json_parse(data, len, NULL) : NULL;
    const char *state = acr_json_get_string(meta, "state");
    if (g_strcmp0(state, "done") != 0 &&
        !(g_strcmp0(state, "ready") == 0 && has_patch_so_far(options, instance)))
        return NO_RESULT;
    return has_models(meta, options->models) ? OF_THIS_BATCH : OF_OTHER_MODELS;
}

static bool add_prediction(const AcrBatchOptions *options, const AcrInstance *instance,
                           GString *out, GError **error)
{
    g_autofree char *path =
        g_build_filename(options->out, instance->instance_id, "patch.diff", NULL);
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

bool acr_predictions_write(const AcrBatchOptions *options, const GPtrArray *instances,
                           GError **error)
{
    g_autofree char *path = g_build_filename(options->out, PREDS, NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree Result *results = g_new0(Result, instances->len);
    for (guint i = 0; i < instances->len; i++)
        results[i] = read_result(options, instances->pdata[i]);
    if (!keep_others(path, instances, results, text, error))
        return false;
    g_autoptr(GError) damaged =
        NULL; /* the first; a folder that is damaged does not cost the others their lines */
    bool complete = true;
    for (guint i = 0; i < instances->len; i++)
        if (results[i] == OF_THIS_BATCH)
            complete =
                add_prediction(options, instances->pdata[i], text, damaged ? NULL : &damaged) &&
                complete;
    if (!acr_file_write_atomic(path, text->str, text->len, 0644, error))
        return false;
    if (!complete)
        g_propagate_error(error, g_steal_pointer(&damaged));
    return complete;
}
