/*
 * What a run has come to, in its folder: the patch or the reproducer, which candidate it is and how
 * it is proved, and the same in meta.json, from which a finished folder is answered.
 */
#include "task/task_private.h"

#include <string.h>

/* selected_patch.json */
static AcrJson *describe_selection(const AcrOutcome *result)
{
    AcrJson *json = acr_json_new_object();
    g_autofree char *path =
        g_strdup_printf("attempt_%u/extracted_patch_%u.diff", result->attempt, result->try_number);
    acr_json_set_string(json, "selected", result->diff ? path : NULL);
    acr_json_set_string(json, "status", acr_extract_status_name(result->status));
    const char *why = result->proof_why ? result->proof_why : "the first applicable patch";
    acr_json_set_string(json, "proof", result->diff ? acr_proof_name(result->proof) : NULL);
    acr_json_set_string(json, "reason", result->diff ? why : "no attempt gave an applicable patch");
    return json;
}

AcrGoal acr_folder_goal(const AcrFolder *folder)
{
    const AcrJson *options = acr_json_get(folder->meta, "options");
    return acr_json_get_string(options, "goal") ? ACR_GOAL_REPRODUCER : ACR_GOAL_PATCH;
}

bool acr_result_save(const AcrFolder *folder, const AcrArtifacts *artifacts,
                     const AcrOutcome *result, GError **error)
{
    if (acr_folder_goal(folder) == ACR_GOAL_REPRODUCER)
        return !result->script || artifacts->write(artifacts->ctx, ACR_TEST_FILE, result->script,
                                                   strlen(result->script), error);
    gsize len = 0;
    const void *diff = result->diff ? g_bytes_get_data(result->diff, &len) : NULL;
    g_autoptr(AcrJson) selection = describe_selection(result);
    g_autofree char *text = acr_json_print_pretty(selection);
    return artifacts->write(artifacts->ctx, "patch.diff", diff ? diff : "", len, error) &&
           artifacts->write(artifacts->ctx, "selected_patch.json", text, strlen(text), error);
}

bool acr_result_finish(AcrFolder *folder, const AcrArtifacts *artifacts, const AcrOutcome *result,
                       GError **error)
{
    AcrJson *described = acr_json_new_object();
    acr_json_set_bool(described, "patch", result->diff != NULL);
    acr_json_set_string(described, "status", acr_extract_status_name(result->status));
    acr_json_set_string(described, "proof", acr_proof_name(result->proof));
    acr_json_set_string(described, "proof_why", result->proof_why);
    acr_json_set_bool(described, "reproducer", result->script != NULL);
    acr_json_set_string(described, "reason", result->reason);
    acr_json_set(folder->meta, "result", described);
    return acr_result_save(folder, artifacts, result, error) &&
           acr_folder_write_meta(folder, folder->meta, ACR_FOLDER_DONE, error);
}

static AcrExtractStatus status_from_name(const char *name)
{
    for (int i = ACR_NO_PATCH; i <= ACR_APPLICABLE_PATCH; i++)
        if (g_strcmp0(name, acr_extract_status_name(i)) == 0)
            return i;
    return ACR_NO_PATCH;
}

static AcrProof proof_from_name(const char *name)
{
    for (int i = ACR_PROOF_REFUSED; i <= ACR_PROOF_VERIFIED; i++)
        if (g_strcmp0(name, acr_proof_name(i)) == 0)
            return i;
    return ACR_PROOF_NONE;
}

static char *read_script(const AcrFolder *folder, GError **error)
{
    g_autofree char *path = acr_folder_path(folder, ACR_TEST_FILE);
    g_autoptr(GBytes) bytes = acr_file_read(path, ACR_TEST_MAX_BYTES, error);
    gsize len;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    return bytes ? g_strndup(data ? data : "", len) : NULL;
}

bool acr_result_read(const AcrFolder *folder, AcrTaskResult *out, GError **error)
{
    const AcrJson *described = acr_json_get(folder->meta, "result");
    out->goal = acr_folder_goal(folder);
    out->status = status_from_name(acr_json_get_string(described, "status"));
    out->proof = proof_from_name(acr_json_get_string(described, "proof"));
    out->proof_why = g_strdup(acr_json_get_string(described, "proof_why"));
    out->reason = g_strdup(acr_json_get_string(described, "reason"));
    if (acr_json_get_bool(described, "reproducer", false)) {
        out->script = read_script(folder, error);
        return out->script != NULL;
    }
    if (!acr_json_get_bool(described, "patch", false))
        return true;
    g_autofree char *path = acr_folder_path(folder, "patch.diff");
    out->diff = acr_file_read(path, G_MAXINT32, error);
    return out->diff != NULL;
}
