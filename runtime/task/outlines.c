/* Handles files on which an outliner failed (deadline, memory). The set of these files depends on
 * the machine, and changes the search results. A run therefore lists the files when it begins, and
 * always uses this list when it is resumed. */
#include "task/run_folder.h"

#include <string.h>

GHashTable *acr_outlines_listed(const AcrJson *list)
{
    GHashTable *files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (const AcrJson *at = acr_json_first(list); at; at = acr_json_next(at)) {
        const char *why = acr_json_get_string(at, "why");
        g_autoptr(GBytes) path = acr_json_get_bytes(at, "file");
        if (path)
            g_hash_table_insert(files, acr_bytes_text(path),
                                g_strdup(why ? why : "it could not be parsed when the run began"));
    }
    return files;
}

AcrJson *acr_outlines_failed(const AcrIndex *index)
{
    AcrJson *list = acr_json_new_array();
    for (gsize i = 0; i < acr_index_n_files(index); i++) {
        const AcrIndexFile *file = acr_index_file(index, i);
        if (!file->failed)
            continue;
        acr_json_add(list, ACR_JSON("file", acr_json_new_bytes(file->path, strlen(file->path))),
                     ACR_STRING("why", file->unparsed));
    }
    return list;
}

bool acr_outlines_check(const AcrJson *failed, GError **error)
{
    const AcrJson *late = acr_json_first(failed);
    if (!late)
        return true;
    g_autoptr(GBytes) path = acr_json_get_bytes(late, "file");
    g_autofree char *name = acr_bytes_text(path);
    g_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                "'%s' could be parsed when the run began, but cannot be now: %s", name,
                acr_json_get_string(late, "why"));
    return false;
}
