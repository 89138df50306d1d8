/* Handles patches that the user gives: those of --candidate, and the patch that `verify` proves,
 * which may be the working tree's change. The run folder keeps them for resumes and replays. */
#include "task/run_folder.h"

#include <string.h>
#include <unistd.h>

#define MAX_BYTES ((gsize)64 * 1024 * 1024) /* maximum size of a patch file */

static char *given_name(guint number)
{
    return g_strdup_printf(ACR_DIR_GIVEN "/" ACR_FILE_GIVEN, number);
}

static GBytes *read_given(const AcrRunSpec *spec, const char *name, const AcrHost *host,
                          GError **error)
{
    if (strcmp(name, "-") == 0)
        return acr_fd_read_all(STDIN_FILENO, "standard input", MAX_BYTES, 0, host->interrupt,
                               error);
    if (strcmp(name, ACR_WORKING_TREE) != 0)
        return acr_file_read(name, MAX_BYTES, error);
    g_autoptr(AcrRepo) repo = acr_repo_open(spec->repo, error);
    return repo ? acr_worktree_diff(repo, spec->rev, spec->script_file, error) : NULL;
}

GPtrArray *acr_given_read(const AcrRunSpec *spec, const AcrHost *host, GError **error)
{
    g_autoptr(GPtrArray) diffs = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    for (char **at = spec->candidates; at && *at; at++) {
        g_autoptr(GError) reason = NULL;
        GBytes *diff = read_given(spec, *at, host, &reason);
        bool is_tree = strcmp(*at, ACR_WORKING_TREE) == 0;
        const char *option = is_tree ? "" : spec->script_file ? "--patch: " : "--candidate: ";
        if (!diff)
            return ACR_NULL(acr_task_refuse(error, "%s%s%s", option, reason->message,
                                            is_tree ? "; give the change with --patch FILE" : ""));
        g_ptr_array_add(diffs, diff);
    }
    return g_steal_pointer(&diffs);
}

/* Applies a diff to the snapshot; owned. Error messages quote `name`. */
static AcrOverlay *apply_given(AcrSnapshot *snapshot, GBytes *diff, const char *name,
                               GError **error)
{
    gsize len;
    const void *data = g_bytes_get_data(diff, &len);
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(snapshot);
    g_autoptr(GError) reason = NULL;
    if (acr_overlay_apply_diff(overlay, data ? data : "", len, &reason))
        return g_steal_pointer(&overlay);
    return ACR_NULL(acr_task_refuse(error, "'%s': %s%s", name, reason->message,
                                    acr_snapshot_is_worktree(snapshot)
                                        ? "; if your files have this change already, add --rev HEAD"
                                        : ""));
}

bool acr_given_check(const GPtrArray *diffs, AcrSnapshot *snapshot, const AcrRunSpec *spec,
                     GError **error)
{
    for (guint i = 0; i < diffs->len; i++) {
        g_autoptr(AcrOverlay) overlay =
            apply_given(snapshot, diffs->pdata[i], spec->candidates[i], error);
        g_auto(GStrv) changed = overlay ? acr_overlay_changed(overlay) : NULL;
        if (!overlay)
            return false;
        if (!*changed && strcmp(spec->candidates[i], ACR_WORKING_TREE) == 0)
            return acr_task_refuse(error,
                                   "the working tree has no changes since %s; give a diff "
                                   "with --patch, or an older commit with --rev",
                                   spec->rev);
        if (!*changed)
            return acr_task_refuse(error, "'%s': the patch changes nothing", spec->candidates[i]);
    }
    return true;
}

bool acr_given_save(const GPtrArray *diffs, const AcrRunSpec *spec, const AcrFolder *folder,
                    GError **error)
{
    const char *script = spec->script_text;
    if (script && !acr_folder_write(folder, ACR_FILE_SCRIPT, script, strlen(script), error))
        return false;
    for (guint i = 0; i < diffs->len; i++) {
        gsize len;
        const void *data = g_bytes_get_data(diffs->pdata[i], &len);
        g_autofree char *name = given_name(i + 1);
        if (!acr_folder_write(folder, name, data ? data : "", len, error))
            return false;
    }
    return true;
}

void acr_given_describe(const GPtrArray *diffs, AcrJson *meta)
{
    AcrJson *digests = diffs->len ? acr_json_new_array() : NULL;
    for (guint i = 0; i < diffs->len; i++) {
        g_autofree char *digest = acr_sha256_bytes(diffs->pdata[i]);
        acr_json_append(digests, acr_json_new_string(digest));
    }
    if (digests)
        acr_json_set(meta, ACR_META_CANDIDATES, digests);
}

GPtrArray *acr_given_load(const AcrFolder *folder, AcrSnapshot *snapshot, GError **error)
{
    g_autoptr(GPtrArray) overlays =
        g_ptr_array_new_with_free_func((GDestroyNotify)acr_overlay_free);
    gsize n = acr_json_size(acr_json_get(folder->meta, ACR_META_CANDIDATES));
    for (guint i = 0; i < n; i++) {
        g_autofree char *name = given_name(i + 1);
        g_autoptr(GBytes) diff = acr_folder_read_file(folder, name, MAX_BYTES, error);
        AcrOverlay *overlay = diff ? apply_given(snapshot, diff, name, error) : NULL;
        if (!overlay)
            return NULL;
        g_ptr_array_add(overlays, overlay);
    }
    return g_steal_pointer(&overlays);
}
