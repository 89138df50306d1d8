/* Finds the evaluations of a folder of many runs: their folders, the newest one, and the one that
 * the user names. */
#include <glib/gstdio.h>
#include <string.h>

#include "layout/layout.h"
#include "report/report_private.h"
#include "task/live.h"
#include "task/run_folder.h"

#define MAX_NAMED 10u

GPtrArray *acr_report_list_names(const char *path, const char *const *formats, guint max)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir && names->len < max && (name = g_dir_read_name(dir));) {
        bool is_wanted = !formats;
        for (guint i = 0; !is_wanted && formats[i]; i++)
            is_wanted = strncmp(name, formats[i], strcspn(formats[i], "%")) == 0;
        if (is_wanted)
            g_ptr_array_add(names, g_strdup(name));
    }
    g_ptr_array_sort(names, acr_compare_names);
    return names;
}

gint64 acr_report_modified_ns(const char *path)
{
    GStatBuf status;
    if (g_stat(path, &status) != 0)
        return 0;
    return (gint64)status.st_mtim.tv_sec * ACR_REPORT_NS_PER_S + status.st_mtim.tv_nsec;
}

char *acr_report_evaluation_path(const char *dir, const char *run_id)
{
    return g_build_filename(dir, ACR_DIR_EVALUATIONS, run_id, NULL);
}

GPtrArray *acr_report_list_places(const char *dir)
{
    static const char *const formats[] = {ACR_DIR_SHARD, NULL};
    GPtrArray *places = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) names = acr_report_list_names(dir, formats, ACR_REPORT_MAX_TASKS);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *path = g_build_filename(dir, names->pdata[i], NULL);
        if (!acr_folder_exists(path) && !g_file_test(path, G_FILE_TEST_IS_SYMLINK))
            g_ptr_array_add(places, g_steal_pointer(&path));
    }
    g_ptr_array_add(places, g_strdup(dir));
    return places;
}

/* Finds the evaluation of the final report `name` in `dir`: its name ends with the RUN_ID. */
static bool find_of_report(const char *dir, const char *name, char **out_run_id, char **out_model)
{
    g_autofree char *top = acr_report_evaluation_path(dir, NULL);
    g_autoptr(GPtrArray) ids = acr_report_list_names(top, NULL, ACR_REPORT_MAX_TASKS);
    gsize longest = 0;
    for (guint i = 0; i < ids->len; i++) {
        g_autofree char *end = g_strdup_printf(".%s.json", (const char *)ids->pdata[i]);
        if (strlen(end) <= longest || !g_str_has_suffix(name, end))
            continue;
        longest = strlen(end);
        ACR_FREE(*out_run_id, *out_model);
        *out_run_id = g_strdup(ids->pdata[i]);
        *out_model = g_strndup(name, strlen(name) - longest);
    }
    return longest > 0;
}

char *acr_report_folder_of(const char *path, char **out_run_id, char **out_model)
{
    g_autofree char *whole = g_canonicalize_filename(path, NULL),
                    *last = g_path_get_basename(whole), *above = g_path_get_dirname(whole),
                    *id = g_path_get_basename(above),
                    *run = g_build_filename("/" ACR_DIR_EVALUATIONS, last, NULL),
                    *model = g_build_filename("/" ACR_DIR_EVALUATIONS, id, last, NULL);
    if (g_file_test(whole, G_FILE_TEST_IS_REGULAR))
        return find_of_report(above, last, out_run_id, out_model) ? g_steal_pointer(&above) : NULL;
    bool is_model = g_str_has_suffix(whole, model);
    if ((!is_model && !g_str_has_suffix(whole, run)) || !g_file_test(whole, G_FILE_TEST_IS_DIR))
        return NULL;
    *out_run_id = g_strdup(is_model ? id : last);
    *out_model = is_model ? g_strdup(last) : NULL;
    return g_strndup(whole, strlen(whole) - strlen(is_model ? model : run));
}

bool acr_report_is_of(const char *model, const char *name)
{
    g_autofree char *a = g_strdelimit(g_strdup(model), ":", '_'),
                    *b = g_strdelimit(g_strdup(name), ":", '_');
    return strcmp(a, b) == 0; /* names of final reports have no colons */
}

/* Returns the model of an evaluation that did not end, if it is newer than `newest_ns`; owned. */
static char *find_unfinished(const char *dir, const char *run_id, gint64 newest_ns)
{
    g_autofree char *name =
                        g_build_filename(ACR_DIR_EVALUATIONS, run_id, ACR_FILE_UNFINISHED, NULL),
                    *path = g_build_filename(dir, name, NULL);
    g_autoptr(AcrJson) json =
        acr_report_modified_ns(path) > newest_ns ? acr_live_read(dir, name) : NULL;
    return g_strdup(acr_json_string(acr_json_first(acr_json_get(json, "models"))));
}

char *acr_report_newest_model(const char *dir, const char *run_id, GPtrArray *notes)
{
    g_autoptr(GPtrArray) names = acr_report_list_names(dir, NULL, ACR_REPORT_MAX_TASKS);
    g_autoptr(GPtrArray) models = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *end = g_strdup_printf(".%s.json", run_id);
    const char *newest = NULL;
    gint64 newest_ns = 0;
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        g_autofree char *path = g_build_filename(dir, name, NULL);
        if (!g_str_has_suffix(name, end))
            continue;
        g_ptr_array_add(models, g_strndup(name, strlen(name) - strlen(end)));
        if (acr_report_modified_ns(path) <= newest_ns)
            continue;
        newest_ns = acr_report_modified_ns(path);
        newest = models->pdata[models->len - 1];
    }
    g_autofree char *left = find_unfinished(dir, run_id, newest_ns);
    for (guint i = 0; left && i < models->len; i++)
        if (acr_report_is_of(left, models->pdata[i])) /* it was graded before */
            g_ptr_array_remove_index(models, i--);
    if (left)
        g_ptr_array_add(models, (gpointer)(newest = g_strdup(left)));
    char *told = g_strdup(newest);
    guint n = models->len;
    g_ptr_array_add(models, NULL);
    g_autofree char *listed = g_strjoinv(", ", (char **)models->pdata);
    if (n > 1 && notes)
        g_ptr_array_add(
            notes, g_strdup_printf("evaluation '%s' has predictions of %u models: %s; this is the "
                                   "newest, '%s'; name another as '%s/MODEL%s'",
                                   run_id, n, listed, told, dir, end));
    return told;
}

bool acr_report_choose_evaluation(const char *dir, const char *wanted, char **out_id,
                                  GPtrArray *notes, GError **error)
{
    g_autoptr(GPtrArray) places = acr_report_list_places(dir);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GString) ids = g_string_new(NULL);
    gint64 newest_ns = -1;
    for (guint i = 0; i < places->len; i++) {
        g_autofree char *top = acr_report_evaluation_path(places->pdata[i], NULL);
        g_autoptr(GPtrArray) names = acr_report_list_names(top, NULL, ACR_REPORT_MAX_TASKS);
        for (guint j = 0; j < names->len; j++) {
            const char *name = names->pdata[j];
            g_autofree char *path = g_build_filename(top, name, ACR_FILE_SUMMARY, NULL),
                            *left = g_build_filename(top, name, ACR_FILE_UNFINISHED, NULL);
            gint64 at_ns = MAX(acr_report_modified_ns(path), acr_report_modified_ns(left));
            if (g_hash_table_add(seen, g_strdup(name)))
                g_string_append_printf(ids, "%s%s", ids->len ? ", " : "", name);
            if (wanted ? strcmp(name, wanted) != 0 : at_ns <= newest_ns)
                continue;
            newest_ns = at_ns;
            g_free(*out_id);
            *out_id = g_strdup(name);
        }
    }
    if (wanted && !*out_id)
        return acr_task_refuse(error, "'%s' has no evaluation '%s'%s%s", dir, wanted,
                               ids->len ? "; it has " : "", ids->str);
    if (!wanted && notes && g_hash_table_size(seen) > 1)
        g_ptr_array_add(notes,
                        g_strdup_printf("'%s' has %u evaluations: %s; this is the newest, '%s'; "
                                        "name another as '%s/" ACR_DIR_EVALUATIONS "/RUN_ID'",
                                        dir, g_hash_table_size(seen), ids->str, *out_id, dir));
    return true;
}

char *acr_report_why_none(const char *dir)
{
    g_autoptr(GPtrArray) names = acr_report_list_names(dir, NULL, ACR_REPORT_MAX_TASKS);
    g_autoptr(GString) told = g_string_new("is not the folder of a run, a batch or an evaluation");
    g_autofree char *made = g_build_filename(dir, ACR_FILE_PREDICTIONS, NULL);
    gsize len = told->len;
    GStatBuf status;
    guint n = 0;
    if (g_stat(made, &status) == 0 && status.st_size > 0)
        return g_strdup("has only predictions; name the folder in which acr-host eval grades them");
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *inside = g_build_filename(dir, names->pdata[i], NULL),
                        *summary = g_build_filename(inside, ACR_FILE_SUMMARY, NULL),
                        *graded = acr_report_evaluation_path(inside, NULL);
        if (g_file_test(summary, G_FILE_TEST_EXISTS) || g_file_test(graded, G_FILE_TEST_EXISTS))
            g_string_append_printf(told, "%s%s", n++ ? ", " : "; inside it are: ", inside);
    }
    if (n > MAX_NAMED)
        g_string_append(g_string_truncate(told, len),
                        "; name one of the batches or evaluations inside it");
    return g_string_free(g_steal_pointer(&told), FALSE);
}
