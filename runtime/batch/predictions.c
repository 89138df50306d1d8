/* OUT/preds.jsonl: one line for each ended task, in the order of the data set. The file is always
 * rewritten from all run folders, so that it is complete even after a process was killed. Lines of
 * other instances, and of run folders of other models, are kept. */
#include "batch/batch.h"
#include "layout/layout.h"

#include <string.h>

#define MAX_PREDS_BYTES ((gsize)1024 * 1024 * 1024)

/* Whose result a run folder contains. */
typedef enum { NO_RESULT, OF_THIS_BATCH, OF_OTHER_MODELS } Result;

/* True if the line of the task `id` must be rewritten. A line of other models, or of a task outside
 * this batch, is kept. */
static bool is_replaced(const GPtrArray *instances, const Result *results, const char *id)
{
    for (guint i = 0; i < instances->len; i++)
        if (strcmp(((const AcrInstance *)instances->pdata[i])->instance_id, id) == 0)
            return results[i] != OF_OTHER_MODELS;
    return false;
}

bool acr_predictions_each(const char *out, AcrOnPrediction on_line, void *ctx, GError **error)
{
    g_autofree char *path = g_build_filename(out, ACR_FILE_PREDICTIONS, NULL);
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_PREDS_BYTES, &reason);
    if (!bytes && !g_error_matches(reason, ACR_BASE_ERROR, ACR_BASE_ERROR_NOT_FOUND))
        return acr_pass_error(error, &reason);
    g_autofree char *text = acr_bytes_text(bytes);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
        g_autoptr(AcrJson) json = acr_json_parse(lines[i], strlen(lines[i]), NULL);
        const char *id = acr_json_get_string(json, "instance_id");
        if (id)
            on_line(ctx, id, lines[i]);
    }
    return true;
}

typedef struct {
    const GPtrArray *instances;
    const Result *results;
    GString *text;
} Others;

static void keep_other(void *ctx, const char *id, const char *line)
{
    const Others *others = ctx;
    if (!is_replaced(others->instances, others->results, id))
        g_string_append_printf(others->text, "%s\n", line);
}

/* Reads the result in the run folder of an instance, and returns whose result it is. A folder with
 * other models, or with damaged options, does not belong to this batch. Sets an error if the result
 * is damaged. */
static Result read_result(const AcrRunSpec *spec, const AcrInstance *instance, AcrRunResult *out,
                          GError **error)
{
    g_autofree char *path = g_build_filename(spec->out, instance->instance_id, NULL);
    g_auto(AcrRunSpec) bound = acr_run_spec_of(ACR_FOR_RUN);
    g_autoptr(GError) reason = NULL;
    bool has_result = false;
    bool ok = acr_task_read(path, &bound, out, &has_result, &reason);
    if (ok ? !has_result : g_error_matches(reason, ACR_TASK_ERROR, ACR_TASK_ERROR_USAGE))
        return NO_RESULT;
    if (!bound.models ||
        !g_strv_equal((const char *const *)bound.models, (const char *const *)spec->models))
        return OF_OTHER_MODELS;
    if (!ok)
        g_propagate_error(error, g_steal_pointer(&reason));
    return ok ? OF_THIS_BATCH : NO_RESULT;
}

/* Returns the patch as UTF-8 text, because the format does not support other bytes; owned. */
static char *patch_text(const AcrRunResult *result)
{
    return result->found.diff ? acr_utf8_repair_bytes(result->found.diff) : g_strdup("");
}

char *acr_batch_model(const AcrRunSpec *spec)
{
    return spec->model_name ? g_strdup(spec->model_name)
           : spec->models   ? g_strjoinv("+", spec->models)
                            : g_strdup("none");
}

char *acr_batch_patch(const AcrRunSpec *spec, const AcrInstance *instance)
{
    g_auto(AcrRunResult) result = {0};
    return read_result(spec, instance, &result, NULL) == OF_THIS_BATCH ? patch_text(&result) : NULL;
}

static void add_line(GString *out, const char *id, const char *patch, const char *model,
                     const char *tag)
{
    g_autoptr(AcrJson) line =
        acr_json_of(ACR_STRING("instance_id", id), ACR_STRING("model_patch", patch),
                    ACR_STRING("model_name_or_path", model), NULL);
    if (tag)
        acr_json_set_string(line, "tag", tag);
    g_autofree char *printed = acr_json_print(line);
    g_string_append_printf(out, "%s\n", printed);
}

static void add_prediction(const AcrRunSpec *spec, const AcrInstance *instance,
                           const AcrRunResult *result, GString *out)
{
    g_autofree char *model = acr_batch_model(spec), *text = patch_text(result);
    add_line(out, instance->instance_id, text, model, result->tag);
}

bool acr_predictions_write_texts(const char *out, const char *model, const AcrJson *patches,
                                 GError **error)
{
    g_autofree char *path = g_build_filename(out, ACR_FILE_PREDICTIONS, NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    for (const AcrJson *at = acr_json_first(patches); at; at = acr_json_next(at))
        add_line(text, acr_json_key(at), acr_json_string(at), model, NULL);
    return acr_file_write_atomic(path, text->str, text->len, 0644, error);
}

bool acr_predictions_write(const AcrRunSpec *spec, const GPtrArray *instances, GError **error)
{
    g_autofree char *path = g_build_filename(spec->out, ACR_FILE_PREDICTIONS, NULL);
    g_autoptr(GString) text = g_string_new(NULL), own = g_string_new(NULL);
    g_autofree Result *results = g_new0(Result, instances->len);
    g_autoptr(GError) damaged =
        NULL; /* reported at the end, after the lines of other folders have been written */
    for (guint i = 0; i < instances->len; i++) {
        g_auto(AcrRunResult) result = {0};
        results[i] = read_result(spec, instances->pdata[i], &result, damaged ? NULL : &damaged);
        if (results[i] == OF_THIS_BATCH)
            add_prediction(spec, instances->pdata[i], &result, own);
    }
    Others others = {instances, results, text};
    if (!acr_predictions_each(spec->out, keep_other, &others, error))
        return false;
    g_string_append_len(text, own->str, (gssize)own->len);
    if (!acr_file_write_atomic(path, text->str, text->len, 0644, error))
        return false;
    if (!damaged)
        return true;
    return acr_pass_error(error, &damaged);
}
