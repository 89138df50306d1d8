/* Writes the feedback on a whole answer: a headline with the answer's status; each edit that was
 * not applied, with the real code near its place; errors of files that do not compile; the expected
 * form of edits, if the answer has no edits; and the code of the bug locations again. Each part has
 * a limit in bytes. */
#include <string.h>

#include "patch/feedback_private.h"

/* maximum number of refused edits that are shown with code; further edits get one line */
#define MAX_DETAILED 12u
#define LOCATED_BYTES (10u * 1024) /* number of bytes reserved for the code of the bug locations */
#define ROOM 1024u                 /* if fewer than ROOM bytes are left, no more code is added */
/* maximum number of bytes of the line about an edit that is shown without code */
#define BRIEF 120u

/* Shows the code of the bug locations again, as far as there is room. */
static void show_hints(AcrFeedback *feedback)
{
    const AcrPatchContext *context = feedback->context;
    bool headed = false;
    for (gsize i = 0; i < context->n_hints; i++) {
        const AcrPatchHint *hint = &context->hints[i];
        gsize used = feedback->text->len, left = MAX(feedback->limit, used) - used;
        gssize entry = acr_snapshot_find(context->snapshot, hint->file);
        g_autoptr(GBytes) bytes =
            entry < 0 ? NULL : acr_snapshot_read(context->snapshot, (gsize)entry, NULL);
        if (!bytes || hint->first == 0 || left == 0)
            continue;
        g_autoptr(AcrSource) source = acr_source_new(hint->file, bytes);
        if (!headed)
            g_string_append(feedback->text, "\nThe current code at the bug locations:\n");
        headed = true;
        AcrFeedback one = {feedback->text, used + left / (context->n_hints - i), context};
        acr_feedback_code(&one, source, hint->first - 1, hint->last);
    }
}

static void show_broken_file(AcrFeedback *feedback, const File *file)
{
    const char *message = file->broken;
    gsize line = g_str_has_prefix(message, "line ") ? g_ascii_strtoull(message + 5, NULL, 10) : 0;
    g_string_append_printf(feedback->text, "%s does not compile after the edits: %s\n", file->path,
                           file->broken);
    if (line == 0)
        return;
    g_autoptr(AcrSource) after = acr_source_new(file->path, file->after);
    g_string_append(feedback->text, "With the edits, the lines around the error would be:\n");
    acr_feedback_around(feedback, after, line);
}

static void show_broken(const Work *work, AcrFeedback *feedback)
{
    bool data = true;
    for (guint i = 0; i < work->files->len; i++) {
        const File *file = work->files->pdata[i];
        data = data && (!file->broken || g_str_has_prefix(file->broken, "not valid "));
    }
    g_string_append_printf(
        feedback->text, "\nThe quoted code was found, but with the edits the result is not %s.\n",
        data ? "readable" : "valid Python");
    for (guint i = 0; i < work->files->len; i++) {
        const File *file = work->files->pdata[i];
        if (file->broken && feedback->text->len < feedback->limit)
            show_broken_file(feedback, file);
    }
    for (guint i = 0; i < work->outcomes->len && feedback->text->len < feedback->limit; i++) {
        const AcrEditOutcome *outcome = outcome_at(work, i);
        const File *file = outcome->file ? g_hash_table_lookup(work->by_path, outcome->file) : NULL;
        if (outcome->status != ACR_EDIT_APPLIED || outcome->start == 0 || !file || !file->broken ||
            !file->source)
            continue;
        g_string_append_printf(feedback->text, "Edit %u replaced this code; keep its indentation. ",
                               i + 1);
        acr_feedback_code(feedback, file->source, outcome->start - 1, outcome->end);
    }
}

static const char *headline(AcrExtractStatus status, bool has_tests)
{
    static const char *const lines[] = {
        [ACR_NO_PATCH] = "The answer is empty.\n",
        [ACR_RAW_PATCH_BUT_UNPARSED] =
            "The answer has no edit that can be applied. A description of the change, or a sketch "
            "of code that is not in the repository, changes nothing.\n",
        [ACR_RAW_PATCH_BUT_UNMATCHED] =
            "No edit was applied, because the edits below failed. Write all edits again.\n",
        [ACR_MATCHED_BUT_BREAKS_SYNTAX] = "No edit was applied.\n",
        [ACR_MATCHED_BUT_EMPTY_DIFF] = "The edits change nothing: <patched> equals <original>. "
                                       "Write the corrected code in <patched>.\n",
        [ACR_MATCHED_BUT_EMPTY_ORIGIN] =
            "No edit was applied, because these edits have no <original>.\n",
        [ACR_APPLICABLE_PATCH] = "",
    };
    if (has_tests && status == ACR_RAW_PATCH_BUT_UNPARSED)
        return "The answer edits only test files, and edits to tests are not applied. Edit the "
               "code that has the bug.\n";
    if (has_tests && status == ACR_APPLICABLE_PATCH)
        return "The edits were applied, except those to test files.\n";
    return lines[status];
}

static const char form[] =
    "\nA program applies the edits to the files of the repository. Write each edit in this form, "
    "and copy the lines of <original> from the code that you were "
    "shown:\n<file>package/module.py</file>\n<original>\n    return left - "
    "right\n</original>\n<patched>\n    return left + right\n</patched>\n";

/* Returns the edits that were not applied; owned array of AcrRefusal. */
static GArray *list_refusals(const Work *work)
{
    GArray *refusals = g_array_new(FALSE, TRUE, sizeof(AcrRefusal));
    g_array_set_clear_func(refusals, (GDestroyNotify)acr_refusal_clear);
    for (guint i = 0; i < work->outcomes->len; i++) {
        const AcrEditOutcome *outcome = outcome_at(work, i);
        const File *file = outcome->file ? g_hash_table_lookup(work->by_path, outcome->file) : NULL;
        AcrRefusal refusal = {.number = i + 1,
                              .edit = edit_at(work, i),
                              .outcome = outcome,
                              .source = file ? file->source : NULL,
                              .places = g_hash_table_lookup(work->places, GUINT_TO_POINTER(i))};
        if (outcome->status != ACR_EDIT_APPLIED)
            g_array_append_val(refusals, refusal);
    }
    return refusals;
}

/* Writes a part for each edit that was not applied. A part may use the bytes that earlier parts
 * did not need. */
static void show_refusals(const Work *work, AcrFeedback *feedback)
{
    g_autoptr(GArray) refusals = list_refusals(work);
    gsize limit = feedback->limit, n = MIN(refusals->len, MAX_DETAILED);
    /* bytes reserved for edits that are shown without code */
    gsize brief = MIN((refusals->len - n) * BRIEF, limit / 3);
    acr_refusals_search(work->context, (AcrRefusal *)(void *)refusals->data, n);
    for (guint i = 0; i < refusals->len && feedback->text->len < limit; i++) {
        gsize used = feedback->text->len, left = MAX(limit - brief, used) - used;
        gsize share = i < n ? left / (n - i) : 0;
        feedback->limit = used + MIN(share, ACR_FEEDBACK_MAX_EDIT);
        acr_feedback_edit(feedback, &g_array_index(refusals, AcrRefusal, i), i < n);
    }
    feedback->limit = limit;
}

static bool is_any_incomplete(const Work *work)
{
    for (guint i = 0; i < work->edits->len; i++)
        if (edit_at(work, i)->complaint)
            return true;
    return false;
}

char *acr_patch_message(const Work *work, AcrExtractStatus status)
{
    bool has_tests = acr_patch_count(work, ACR_EDIT_DROPPED_TEST) > 0;
    g_autoptr(GString) text = g_string_new(headline(status, has_tests));
    AcrFeedback feedback = {text, ACR_PATCH_MAX_MESSAGE - ROOM, work->context};
    bool unread = status == ACR_NO_PATCH || status == ACR_RAW_PATCH_BUT_UNPARSED;
    if (work->cut)
        g_string_append_printf(text, "The answer is too long: only its first %u MiB were read.\n",
                               ACR_PATCH_MAX_ANSWER >> 20);
    gsize all = feedback.limit;
    if (work->context->n_hints > 0 && status != ACR_APPLICABLE_PATCH)
        feedback.limit -= LOCATED_BYTES;
    show_refusals(work, &feedback);
    if (status == ACR_MATCHED_BUT_BREAKS_SYNTAX)
        show_broken(work, &feedback);
    feedback.limit = all;
    if ((unread && !has_tests) || is_any_incomplete(work))
        g_string_append(text, form);
    if (status != ACR_APPLICABLE_PATCH)
        show_hints(&feedback);
    return acr_text_shorten(text->str, ACR_PATCH_MAX_MESSAGE);
}
