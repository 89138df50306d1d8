/* Finds the evaluations of a folder of many runs: their folders, the newest one, and the one that
 * the user names. */
#include <glib/gstdio.h>
#include <string.h>

#include "layout/layout.h"
#include "report/report_private.h"
#include "task/run_folder.h"

static gint compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

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
    g_ptr_array_sort(names, compare_names);
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

char *acr_report_folder_of(const char *path, char **out_run_id)
{
    g_autofree char *whole = g_canonicalize_filename(path, NULL), *id = g_path_get_basename(whole),
                    *inside = g_build_filename("/" ACR_DIR_EVALUATIONS, id, NULL);
    if (!g_str_has_suffix(whole, inside) || !g_file_test(whole, G_FILE_TEST_IS_DIR))
        return NULL;
    *out_run_id = g_steal_pointer(&id);
    return g_strndup(whole, strlen(whole) - strlen(inside));
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
            g_autofree char *path = g_build_filename(top, name, ACR_FILE_SUMMARY, NULL);
            gint64 at_ns = acr_report_modified_ns(path);
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
