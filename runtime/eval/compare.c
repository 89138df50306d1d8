/*
 * Another run beside this one: which tasks were gained and lost. Both must have had a prediction for a task
 * to compare it.
 */
#include "eval/eval_private.h"

#include <string.h>

#define MAX_REPORT_BYTES ((gsize)256 * 1024 * 1024)
#define MAX_DEPTH 5u /* logs/run_evaluation/RUN_ID/MODEL/ID */

#define refuse(error, ...) acr_set_error(error, ACR_EVAL_ERROR, ACR_EVAL_ERROR_INPUT, __VA_ARGS__)

void acr_other_run_clear(AcrOtherRun *run)
{
    g_clear_pointer(&run->submitted, g_hash_table_unref);
    g_clear_pointer(&run->resolved, g_hash_table_unref);
}

/* ---- Reading ---- */

static void add_ids(GHashTable *set, const AcrJson *list)
{
    for (const AcrJson *at = acr_json_first(list); at; at = acr_json_next(at))
        if (acr_json_string(at))
            (void)g_hash_table_add(set, g_strdup(acr_json_string(at)));
}

static bool is_final(const AcrJson *json)
{
    return acr_json_type(json) == ACR_JSON_OBJECT &&
           acr_json_type(acr_json_get(json, "resolved_ids")) == ACR_JSON_ARRAY;
}

static void take_final(const AcrJson *json, AcrOtherRun *out)
{
    static const char *const lists[] = {"submitted_ids", "completed_ids", "error_ids",
                                        "empty_patch_ids", "resolved_ids"};
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
        add_ids(out->submitted, acr_json_get(json, lists[i]));
    add_ids(out->resolved, acr_json_get(json, "resolved_ids"));
}

static AcrJson *read_json(const char *path, GError **error)
{
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_REPORT_BYTES, error);
    return bytes ? acr_json_parse_bytes(bytes, error) : NULL;
}

/* The final reports in a folder; owned paths. */
static GPtrArray *find_finals(const char *path)
{
    GPtrArray *found = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_autofree char *file = g_build_filename(path, name, NULL);
        g_autoptr(AcrJson) json = g_str_has_suffix(name, ".json") ? read_json(file, NULL) : NULL;
        if (is_final(json))
            g_ptr_array_add(found, g_steal_pointer(&file));
    }
    return found;
}

/* The folder of a prediction, and what its report says. */
static bool take_folder(const char *path, AcrOtherRun *out, GError **error)
{
    g_autofree char *id = g_path_get_basename(path),
                    *file = g_build_filename(path, ACR_FILE_EVAL_REPORT, NULL);
    g_autoptr(AcrJson) report = read_json(file, NULL);
    if (g_hash_table_contains(out->submitted, id))
        return refuse(error, "--compare: '%s' is in the folder twice; name the folder of one run",
                      id);
    if (acr_json_get_bool(acr_json_get(report, id), "resolved", false))
        (void)g_hash_table_add(out->resolved, g_strdup(id));
    (void)g_hash_table_add(out->submitted, g_steal_pointer(&id));
    return true;
}

static bool walk_logs(const char *path, guint depth, AcrOtherRun *out, GError **error)
{
    g_autofree char *patch = g_build_filename(path, ACR_FILE_PATCH, NULL),
                    *report = g_build_filename(path, ACR_FILE_EVAL_REPORT, NULL);
    if (g_file_test(patch, G_FILE_TEST_EXISTS) || g_file_test(report, G_FILE_TEST_EXISTS))
        return take_folder(path, out, error);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir && depth > 0 && (name = g_dir_read_name(dir));) {
        g_autofree char *inner = g_build_filename(path, name, NULL);
        if (g_file_test(inner, G_FILE_TEST_IS_DIR) && !g_file_test(inner, G_FILE_TEST_IS_SYMLINK) &&
            !walk_logs(inner, depth - 1, out, error))
            return false;
    }
    return true;
}

static bool read_folder(const char *path, AcrOtherRun *out, GError **error)
{
    g_autoptr(GPtrArray) finals = find_finals(path);
    if (finals->len > 1)
        return refuse(error, "--compare: '%s' holds several final reports; name one, as '%s'", path,
                      (char *)finals->pdata[0]);
    if (finals->len == 1) {
        g_autoptr(AcrJson) json = read_json(finals->pdata[0], error);
        take_final(json, out);
        return json != NULL;
    }
    return walk_logs(path, MAX_DEPTH, out, error) &&
           (g_hash_table_size(out->submitted) > 0 ||
            refuse(error, "--compare: '%s' holds neither a final report nor report.json files",
                   path));
}

bool acr_other_run_read(const char *path, AcrOtherRun *out, GError **error)
{
    g_autoptr(GError) reason = NULL;
    out->submitted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    out->resolved = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return read_folder(path, out, error);
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return refuse(error, "--compare: there is no '%s'; name a final report or a run's folder",
                      path);
    g_autoptr(AcrJson) json = read_json(path, &reason);
    if (!json)
        return refuse(error, "--compare: '%s' is not a final report: %s", path, reason->message);
    take_final(json, out);
    return is_final(json) || refuse(error, "--compare: '%s' is not a final report", path);
}

/* ---- Comparing ---- */

enum { GAINED, LOST, BOTH, NEITHER, ONLY_HERE, N_GROUPS };

AcrJson *acr_eval_compare(const AcrEvalSums *sums, GString *lines)
{
    static const char *const names[] = {"gained", "lost", "both", "neither", "only_here"};
    const AcrOtherRun *other = sums->other;
    AcrJson *json = acr_json_new_object(), *groups[N_GROUPS];
    guint n[N_GROUPS] = {0};
    acr_json_set_string(json, "other", sums->options->spec->compare);
    for (guint i = 0; i < N_GROUPS; i++)
        acr_json_set(json, names[i], groups[i] = acr_json_new_array());
    for (guint i = 0; i < sums->predictions->len; i++) {
        const char *id = ((const AcrPrediction *)sums->predictions->pdata[i])->instance_id;
        bool here = sums->graded[i].grade == ACR_GRADE_RESOLVED,
             there = g_hash_table_contains(other->resolved, id);
        guint group = !g_hash_table_contains(other->submitted, id) ? ONLY_HERE
                      : here                                       ? (there ? BOTH : GAINED)
                                                                   : (there ? LOST : NEITHER);
        if (!sums->is_graded[i])
            continue;
        acr_json_append(groups[group], acr_json_new_string(id));
        n[group]++;
    }
    guint compared = n[GAINED] + n[LOST] + n[BOTH] + n[NEITHER],
          only_there = g_hash_table_size(other->submitted) - compared;
    double p = acr_mcnemar(n[GAINED], n[LOST]);
    acr_json_set_int(json, "compared", compared);
    acr_json_set_int(json, "only_there", only_there);
    acr_json_set(json, "mcnemar_p", acr_json_new_double(p));
    g_string_append_printf(lines,
                           "beside '%s': %u gained, %u lost, %u in both, %u in neither (McNemar's "
                           "exact p = %.3g); %u only here, %u only there\n",
                           sums->options->spec->compare, n[GAINED], n[LOST], n[BOTH], n[NEITHER], p,
                           n[ONLY_HERE], only_there);
    return json;
}
