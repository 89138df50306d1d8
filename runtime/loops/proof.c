/*
 * Whether an approved patch is proved. The script is run twice more, with the patch and then
 * without it, under another guise and watched: what it was seen to do must show that the patch
 * mends what failed. A script that depends on the clock, on randomness or on how often it ran says
 * something else then.
 */
#include "loops/attempt_work.h"

GByteArray *acr_proof_files(const AcrAttemptWork *work, const AcrOverlay *with, GError **error)
{
    g_autoptr(AcrOverlay) without = acr_overlay_new(work->run->snapshot);
    g_autoptr(GByteArray) files = g_byte_array_new();
    g_auto(GStrv) paths = acr_overlay_changed(with);
    for (char **at = paths; *at; at++) {
        g_autoptr(GBytes) before = NULL, after = NULL;
        if ((acr_overlay_has(without, *at) && !(before = acr_overlay_read(without, *at, error))) ||
            (acr_overlay_has(with, *at) && !(after = acr_overlay_read(with, *at, error))))
            return NULL;
        acr_python_patched_add(files, *at, before, after);
    }
    return g_steal_pointer(&files);
}

char *acr_proof_doubts_text(const AcrAttemptWork *work, GError **error)
{
    g_autoptr(GByteArray) files = acr_proof_files(work, work->writer.latest->overlay, error);
    g_autoptr(GPtrArray) told = g_ptr_array_new_with_free_func(g_free);
    if (!files || !acr_python_patch_doubts(work->run->python, false, files, told, error))
        return NULL;
    GString *text = g_string_new(NULL);
    if (told->len)
        g_string_append(text, "\nWhat the patch adds, read by itself, that may make a test pass "
                              "without mending anything:\n\n");
    for (guint i = 0; i < told->len; i++)
        g_string_append_printf(text, "- %s\n", (const char *)told->pdata[i]);
    return g_string_free(text, FALSE);
}

bool acr_proof_is_barred(const AcrAttemptWork *work, const AcrOverlay *patch, char **out,
                         GError **error)
{
    g_autoptr(GByteArray) files = acr_proof_files(work, patch, error);
    g_autoptr(GPtrArray) barred = g_ptr_array_new_with_free_func(g_free);
    if (!files || !acr_python_patch_doubts(work->run->python, true, files, barred, error))
        return false;
    *out = barred->len ? g_strdup(barred->pdata[0]) : NULL;
    return true;
}

/* Runs the script watched; *out is borrowed, its `err` holds the reports. */
static AcrStep watch(AcrAttemptWork *work, const AcrOverlay *overlay, const AcrExecuted **out,
                     GError **error)
{
    AcrTrial trial = {.overlay = overlay, .test = work->reproducer.script, .is_watched = true};
    return acr_step_run(work, &trial, "the reproducer cannot be watched", out, error);
}

static bool ended_with(const AcrExecuted *executed, bool zero)
{
    return executed->limit == ACR_LIMIT_NONE && !executed->signal &&
           (executed->exit_code == 0) == zero;
}

/* Why the two watched runs prove nothing, owned; NULL in *out: they do. */
static bool judge(const AcrAttemptWork *work, const AcrExecuted *before, const AcrExecuted *after,
                  char **out, GError **error)
{
    g_autoptr(GPtrArray) reasons = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GByteArray) files = acr_proof_files(work, work->writer.latest->overlay, error);
    if (!files || !acr_python_watch_judge(work->run->python, work->reproducer.script, before->err,
                                          after->err, files, reasons, error))
        return false;
    for (guint i = 0; i < reasons->len; i++)
        acr_loops_note(work->run, "doubt: %s", (const char *)reasons->pdata[i]);
    if (reasons->len)
        *out = g_strdup(reasons->pdata[0]);
    else if (!ended_with(before, false) || !ended_with(after, true))
        *out = g_strdup("the test is not deterministic: run again, under another name and in "
                        "another folder, it ends otherwise");
    return true;
}

AcrStep acr_proof_judge(AcrAttemptWork *work, const AcrTestVerdict *with_patch, char **out_doubt,
                        GError **error)
{
    const AcrTestVerdict *without = &work->reproducer.before;
    const GPtrArray *doubts = without->doubts->len ? without->doubts : with_patch->doubts;
    const AcrExecuted *before = NULL, *after = NULL;
    if (without->result != ACR_TEST_REPRODUCED || with_patch->result != ACR_TEST_PASSED) {
        *out_doubt = g_strdup("the test was not red before and green after");
        return ACR_STEP_DONE;
    }
    if (doubts->len) {
        *out_doubt = g_strdup(doubts->pdata[0]);
        return ACR_STEP_DONE;
    }
    AcrStep step = watch(work, work->writer.latest->overlay, &after, error);
    if (step == ACR_STEP_DONE)
        step = watch(work, NULL, &before, error);
    if (step == ACR_STEP_UNAVAILABLE)
        *out_doubt = g_strdup(work->unproved);
    else if (step == ACR_STEP_DONE && !judge(work, before, after, out_doubt, error))
        return ACR_STEP_FAILED;
    return step == ACR_STEP_UNAVAILABLE ? ACR_STEP_DONE : step;
}
