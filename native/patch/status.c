/*
 * The names of levels and statuses, as they are written to JSON, and the life of a result.
 */
#include "patch/patch_private.h"

G_DEFINE_QUARK(acr_patch_error, acr_patch_error)

const char *acr_level_name(AcrLevel level)
{
    static const char *const names[] = {"none",  "exact",   "trailing", "indent",
                                        "strip", "elision", "numbered", "similar"};
    return (gsize)level < G_N_ELEMENTS(names) ? names[level] : "none";
}

const char *acr_edit_status_name(AcrEditStatus status)
{
    static const char *const names[] = {"applied",   "dropped_test", "no_file",       "unmatched",
                                        "ambiguous", "overlap",      "empty_original"};
    return (gsize)status < G_N_ELEMENTS(names) ? names[status] : "unmatched";
}

const char *acr_extract_status_name(AcrExtractStatus status)
{
    static const char *const names[] = {"NO_PATCH",
                                        "RAW_PATCH_BUT_UNPARSED",
                                        "RAW_PATCH_BUT_UNMATCHED",
                                        "MATCHED_BUT_BREAKS_SYNTAX",
                                        "MATCHED_BUT_EMPTY_DIFF",
                                        "MATCHED_BUT_EMPTY_ORIGIN",
                                        "APPLICABLE_PATCH"};
    return (gsize)status < G_N_ELEMENTS(names) ? names[status] : "NO_PATCH";
}

void acr_patch_result_clear(AcrPatchResult *result)
{
    if (!result)
        return;
    g_clear_pointer(&result->edits, g_ptr_array_unref);
    g_clear_pointer(&result->message, g_free);
    g_clear_pointer(&result->diff, g_bytes_unref);
    g_clear_pointer(&result->overlay, acr_overlay_free);
    result->status = ACR_NO_PATCH;
}
