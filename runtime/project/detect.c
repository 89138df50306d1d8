/* Finds out how to run a project's tests, and in which order. Calls python/acr/project/ in a
 * confined process, which gets the contents of files and imports none of them. */
#include "project/project_private.h"

#include <string.h>

#define ASK_TIMEOUT_MS 60000
/* maximum size in bytes of a file that is read for hints on how to run tests */
#define MAX_TEXT_BYTES ((gsize)256 * 1024)
/* maximum number of bytes read from a file to find its imports */
#define IMPORT_BYTES ((gsize)12 * 1024)
#define MAX_TOTAL_BYTES ((gsize)40 * 1024 * 1024)

AcrJson *acr_project_ask(const AcrProject *project, const char *function, const AcrJson *question,
                         GError **error)
{
    g_autofree char *text = acr_json_print(question),
                    *name = g_strconcat("project.service.", function, NULL);
    g_autoptr(GBytes) argument = g_bytes_new(text, strlen(text)), answer = NULL;
    if (!acr_py_referee_ask(project->worker, name, argument, ASK_TIMEOUT_MS, &answer, error))
        return NULL;
    return acr_json_parse_bytes(answer, error);
}

/* Adds a file's path and text to `texts`. A file of more than `max` bytes is cut if `is_cut`, and
 * otherwise skipped. Returns false if the file was skipped. */
static bool add_snapshot_text(const AcrProject *project, gsize index, gsize max, bool is_cut,
                              AcrJson *texts, gsize *total)
{
    g_autoptr(GBytes) bytes = acr_snapshot_read(project->snapshot, index, NULL);
    gsize len = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    if (!data || (!is_cut && len > max) || *total + MIN(len, max) > MAX_TOTAL_BYTES)
        return false;
    g_autofree char *text = acr_utf8_repair(data, MIN(len, max));
    AcrJson *pair = acr_json_new_array();
    acr_json_append(pair, acr_json_new_string(acr_snapshot_entry(project->snapshot, index)->path));
    acr_json_append(pair, acr_json_new_string(text));
    acr_json_append(texts, pair);
    *total += MIN(len, max);
    return true;
}

static AcrJson *paths_of(const AcrProject *project)
{
    AcrJson *paths = acr_json_new_array();
    g_auto(GStrv) changed = project->overlay ? acr_overlay_changed(project->overlay) : NULL;
    for (gsize i = 0; i < acr_snapshot_size(project->snapshot); i++)
        acr_json_append(paths, acr_json_new_string(acr_snapshot_entry(project->snapshot, i)->path));
    for (char **at = changed; at && *at; at++)
        acr_json_append(paths, acr_json_new_string(*at));
    return paths;
}

AcrJson *acr_project_ask_about_files(const AcrProject *project, const char *wanted,
                                     const char *function, GError **error)
{
    g_autoptr(AcrJson) question = acr_json_new_object();
    acr_json_set(question, "paths", paths_of(project));
    g_autoptr(AcrJson) names = acr_project_ask(project, wanted, question, error);
    if (!names)
        return NULL;
    AcrJson *texts = acr_json_new_array();
    gsize total = 0;
    for (const AcrJson *at = acr_json_first(names); at; at = acr_json_next(at)) {
        const char *path = acr_json_string(at);
        gssize index = path ? acr_snapshot_find(project->snapshot, path) : -1;
        if (index >= 0)
            (void)add_snapshot_text(project, (gsize)index, MAX_TEXT_BYTES, false, texts, &total);
    }
    acr_json_set(question, "texts", texts);
    acr_json_set_string(question, "given", project->command);
    return acr_project_ask(project, function, question, error);
}

AcrJson *acr_project_detect(const AcrProject *project, GError **error)
{
    return acr_project_ask_about_files(project, "wanted", "detect", error);
}

AcrJson *acr_project_import_folders(AcrRefereeWorker *worker, AcrSnapshot *snapshot, GError **error)
{
    const AcrProject project = {.worker = worker, .snapshot = snapshot};
    return acr_project_ask_about_files(&project, "settings", "folders", error);
}

AcrJson *acr_project_order(const AcrProject *project, const char *const *changed, GError **error)
{
    AcrJson *texts = acr_json_new_array();
    gsize total = 0;
    for (gsize i = 0; i < acr_snapshot_size(project->snapshot); i++)
        if (g_str_has_suffix(acr_snapshot_entry(project->snapshot, i)->path, ".py"))
            (void)add_snapshot_text(project, i, IMPORT_BYTES, true, texts, &total);
    g_autoptr(AcrJson) question = acr_json_of(
        ACR_JSON("texts", texts), ACR_JSON("changed", acr_json_new_strings(changed)), NULL);
    return acr_project_ask(project, "order", question, error);
}
