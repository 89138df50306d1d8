/*
 * The feedback on a whole answer: a headline for how far it came, each edit that was not applied
 * with the real code near it, what does not compile, and the code of the places in question once
 * more.
 */
#include "patch/apply_private.h"

guint acr_work_count(const Work *work, AcrEditStatus status)
{
    guint n = 0;
    for (guint i = 0; i < work->outcomes->len; i++)
        n += outcome_at(work, i)->status == status;
    return n;
}

static const AcrSource *source_of(const Work *work, const char *path)
{
    const File *file = path ? g_hash_table_lookup(work->by_path, path) : NULL;
    return file ? file->source : NULL;
}

/* The code of the places where the bug is believed to be, once more. */
static void show_hints(const Work *work, GString *message)
{
    const AcrPatchContext *context = work->context;
    for (gsize i = 0; i < context->n_hints && message->len < ACR_PATCH_MAX_MESSAGE; i++) {
        const AcrPatchHint *hint = &context->hints[i];
        gssize entry = acr_snapshot_find(context->snapshot, hint->file);
        g_autoptr(GBytes) bytes =
            entry < 0 ? NULL : acr_snapshot_read(context->snapshot, (gsize)entry, NULL);
        if (!bytes || hint->first == 0)
            continue;
        g_autoptr(AcrSource) source = acr_source_new(hint->file, bytes);
        if (i == 0)
            g_string_append(message, "\nThe code of the places in question, as it is:\n");
        acr_feedback_code(message, source, hint->first - 1, hint->last);
    }
}

static void show_broken(const Work *work, GString *message)
{
    g_string_append_printf(message,
                           "\nThe edits were found, but what they make is not valid Python.\n%s",
                           work->broken->str);
    for (guint i = 0; i < work->outcomes->len; i++) {
        const AcrEditOutcome *outcome = outcome_at(work, i);
        const AcrSource *source = source_of(work, outcome->file);
        if (outcome->status != ACR_EDIT_APPLIED || !source || outcome->start == 0)
            continue;
        g_string_append_printf(message, "Edit %u replaced this; keep its indentation. ", i + 1);
        acr_feedback_code(message, source, outcome->start - 1, outcome->end);
    }
}

static const char *headline(const Work *work, AcrExtractStatus status)
{
    switch (status) {
    case ACR_NO_PATCH:
        return "The answer is empty.";
    case ACR_RAW_PATCH_BUT_UNPARSED:
        return acr_work_count(work, ACR_EDIT_DROPPED_TEST) > 0
                   ? "The answer edits only test files, which stay as they are. Edit the code that "
                     "has the bug."
                   : "The answer has no complete edit. Write each as <file>…</file>, "
                     "<original>…</original>, "
                     "<patched>…</patched>, with the code quoted as it is in the file.";
    case ACR_RAW_PATCH_BUT_UNMATCHED:
        return "None of the edits was applied, since these could not be. Write all edits again.";
    case ACR_MATCHED_BUT_BREAKS_SYNTAX:
        return "None of the edits was applied.";
    case ACR_MATCHED_BUT_EMPTY_DIFF:
        return "The edits change nothing: <patched> equals <original>. Write the code as it should "
               "be.";
    case ACR_MATCHED_BUT_EMPTY_ORIGIN:
        return "None of the edits was applied, since these have no <original>.";
    case ACR_APPLICABLE_PATCH:
        return acr_work_count(work, ACR_EDIT_DROPPED_TEST) > 0
                   ? "The edits were applied, but for those of test files."
                   : "";
    }
    return "";
}

char *acr_work_message(const Work *work, AcrExtractStatus status)
{
    g_autoptr(GString) message = g_string_new(headline(work, status));
    if (message->len > 0)
        g_string_append_c(message, '\n');
    if (work->cut)
        g_string_append_printf(
            message, "The answer is too long: what follows its first %u MiB was not read.\n",
            ACR_PATCH_MAX_ANSWER >> 20);
    for (guint i = 0; i < work->outcomes->len && message->len < ACR_PATCH_MAX_MESSAGE; i++) {
        const AcrEditOutcome *outcome = outcome_at(work, i);
        if (outcome->status == ACR_EDIT_APPLIED)
            continue;
        AcrRefusal refusal = {edit_at(work, i), outcome, source_of(work, outcome->file),
                              g_hash_table_lookup(work->places, GUINT_TO_POINTER(i))};
        acr_feedback_edit(message, work->context, i + 1, &refusal);
    }
    if (status == ACR_MATCHED_BUT_BREAKS_SYNTAX)
        show_broken(work, message);
    if (status != ACR_APPLICABLE_PATCH)
        show_hints(work, message);
    return acr_feedback_finish(message);
}
