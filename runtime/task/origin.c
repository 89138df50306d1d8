/* Reads the commit from which a run began, and applies the run's patch to it. The patch of a run on
 * a working tree may depend on changes that are not committed. */
#include "task/origin.h"

#include <string.h>

#include "task/run_folder.h"

void acr_origin_clear(AcrOrigin *origin)
{
    acr_run_result_clear(&origin->result);
    g_clear_pointer(&origin->repo, g_free);
    g_clear_pointer(&origin->commit, g_free);
}

/* Checks that there is a patch and that it was not rejected. */
static bool check_patch(const char *dir, const AcrRunResult *result, bool has_result,
                        GError **error)
{
    bool is_refused = result->verdict == ACR_VERDICT_REFUSED,
         has_patch = result->found.diff && g_bytes_get_size(result->found.diff);
    const char *why = !has_result         ? "the run has not finished"
                      : result->found.why ? result->found.why
                                          : "no reason is recorded";
    return (has_result && has_patch && !is_refused) ||
           acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_UNFINISHED, "%s '%s': %s",
                         is_refused ? "review or validation refused the patch in"
                                    : "there is no patch in",
                         dir, why);
}

/* Returns the given path if it leads to the recorded repository; otherwise, the recorded git
 * folder, because a relative path may now start in another folder; owned. */
static char *find_repository(const AcrRunSpec *spec, const AcrJson *snapshot)
{
    g_autoptr(GBytes) bytes = acr_json_get_bytes(snapshot, "git_dir");
    g_autofree char *git_dir = acr_bytes_text(bytes), *recorded = acr_path_real(git_dir);
    g_autoptr(AcrRepo) given = acr_repo_open(spec->repo, NULL);
    g_autofree char *own = given ? acr_path_real(acr_repo_path(given)) : NULL;
    return g_strdup(g_strcmp0(own, recorded) == 0 ? spec->repo : git_dir);
}

bool acr_origin_read(const char *dir, AcrOrigin *out, GError **error)
{
    g_auto(AcrOrigin) origin = {0};
    g_auto(AcrRunSpec) spec = {0};
    g_auto(AcrFolder) folder = {0};
    bool has_result = false;
    if (!acr_task_read(dir, &spec, &origin.result, &has_result, error))
        return false;
    if (!check_patch(dir, &origin.result, has_result, error) ||
        !acr_folder_read(dir, &folder, error))
        return false;
    const AcrJson *snapshot = acr_json_get(folder.meta, "snapshot");
    origin.commit = g_strdup(acr_json_get_string(snapshot, "commit"));
    origin.is_changed = acr_json_get(acr_json_get(snapshot, "changes"), "count") != NULL;
    if (acr_json_get_bool(snapshot, "git", false))
        origin.repo = find_repository(&spec, snapshot);
    *out = origin;
    memset(&origin, 0, sizeof origin);
    return true;
}

/* Returns whether `text` is a full commit id, as run folders have it, not another revision. */
static bool is_commit(const char *text)
{
    return text && strlen(text) == 40 && text[strspn(text, "0123456789abcdef")] == '\0';
}

AcrOverlay *acr_origin_apply(const AcrOrigin *origin, const char *repo, AcrRepo **out_repo,
                             GError **error)
{
    const char *place = repo ? repo : origin->repo;
    gsize len = 0;
    const void *diff = g_bytes_get_data(origin->result.found.diff, &len);
    if (!place || !is_commit(origin->commit))
        return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                                      "the run did not start from a commit of a git repository"));
    g_autoptr(AcrRepo) opened = acr_repo_open(place, error);
    g_autoptr(AcrSnapshot) snapshot =
        opened ? acr_snapshot_of_commit(opened, origin->commit, error) : NULL;
    g_autoptr(AcrOverlay) overlay = snapshot ? acr_overlay_new(snapshot) : NULL;
    g_autoptr(GError) reason = NULL;
    if (!overlay)
        return NULL;
    if (g_strcmp0(acr_snapshot_commit(snapshot), origin->commit) !=
        0) /* `commit` is the name of a branch or tag, not a commit id */
        return ACR_NULL(acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                                      "'%s' is not a commit of the repository", origin->commit));
    if (!acr_overlay_apply_diff(overlay, diff, len, &reason))
        return ACR_NULL(
            acr_set_error(error, ACR_TASK_ERROR, ACR_TASK_ERROR_ENVIRONMENT,
                          "the patch does not apply to commit %.12s alone, because the run "
                          "began with uncommitted changes; commit them and run again: %s",
                          origin->commit, reason->message));
    *out_repo = g_steal_pointer(&opened);
    return g_steal_pointer(&overlay);
}
