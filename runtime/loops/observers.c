/* Passes search calls, their results and patches to the extensions that observe them, and handles
 * what the extensions return. */
#include "loops/attempt_work.h"

/* Passes `data` (taken) to the extensions, and shows their note to the user. *out_note and
 * *out_veto are as in acr_extensions_tell. */
static bool tell_extensions(const AcrRun *run, const char *event, AcrJson *data, char **out_note,
                            char **out_veto, GError **error)
{
    g_autoptr(AcrJson) owned = data;
    if (!acr_extensions_tell(run->extensions, run->search, event, owned, out_note, out_veto, error))
        return false;
    if (*out_note)
        acr_loops_note(run, "an extension reports: %s", *out_note);
    return true;
}

bool acr_observe_call(const AcrRun *run, const char *call, char **out_veto, GError **error)
{
    g_autofree char *note = NULL;
    AcrJson *data = acr_json_new_object();
    acr_json_set_string(data, "call", call);
    return tell_extensions(run, "call", data, &note, out_veto, error);
}

bool acr_observe_result(const AcrRun *run, const char *call, AcrAnswer *answer, GError **error)
{
    g_autofree char *note = NULL;
    AcrJson *data = acr_json_of(ACR_STRING("call", call), ACR_BOOL("ok", answer->ok),
                                ACR_STRING("output", answer->output), NULL);
    if (!tell_extensions(run, "result", data, &note, NULL, error))
        return false;
    if (note) {
        char *longer = g_strconcat(answer->output, "\nNote: ", note, "\n", NULL);
        g_free(answer->output);
        answer->output = longer;
    }
    return true;
}

bool acr_observe_patch(const AcrAttemptWork *work, const AcrPatchResult *patch, GError **error)
{
    g_autofree char *note = NULL, *diff = NULL;
    diff = patch->diff ? acr_utf8_repair_bytes(patch->diff) : NULL;
    AcrJson *data =
        acr_json_of(ACR_INT("attempt", work->attempt), ACR_INT("try", work->writer.number),
                    ACR_STRING("status", acr_extract_status_name(patch->status)),
                    ACR_STRING("diff", diff), NULL);
    return tell_extensions(work->run, "patch", data, &note, NULL, error);
}
