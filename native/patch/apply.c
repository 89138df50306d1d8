/* Applies an answer's edits, and makes an overlay and a diff, or a refusal.
 *
 * All edits are located in the snapshot's text, as the model saw it, and applied together. If the
 * code of an edit is not in the snapshot's text, it is searched for again in the result of the
 * other edits of the file. Quoted regions may overlap, but changed lines may not. An edit that the
 * answer repeats is applied once. The overlay is written only if every edit that was not dropped
 * has a place. */
#include <string.h>

#include "base/trace.h"
#include "patch/apply_private.h"

G_DEFINE_QUARK(acr_patch_error, acr_patch_error)

const char *acr_level_name(AcrLevel level)
{
    static const char *const names[] = {"none",  "exact",   "trailing", "indent",
                                        "strip", "elision", "similar"};
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

const char *acr_extract_status_words(AcrExtractStatus status)
{
    static const char *const words[] = {
        "the model proposed no change",
        "the model's answers contain no edit that can be parsed",
        "the edits quote code that is missing or occurs several times",
        "the edits break the syntax of the files",
        "the edits change nothing",
        "the edits do not quote the code to replace",
        "the edits apply"};
    return words[MIN((gsize)status, G_N_ELEMENTS(words) - 1)];
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

static void outcome_free(gpointer data)
{
    AcrEditOutcome *outcome = data;
    ACR_FREE(outcome->file, outcome->asked, outcome->why, outcome->quote, outcome);
}

static char *near_names(const GPtrArray *near)
{
    g_autoptr(GString) text = g_string_new("there is no such file in the repository");
    for (guint i = 0; near && i < near->len; i++) {
        g_autofree char *path = acr_utf8_repair(near->pdata[i], strlen(near->pdata[i]));
        g_string_append_printf(text, "%s%s", i == 0 ? "; did you mean " : ", ", path);
    }
    return g_strdup(text->str);
}

/* Whether edit `number` can change lines of the file. If the file is deleted or not text, refuses
 * the edit. */
static bool is_editable(const Work *work, guint number, const File *file)
{
    if (file->gone)
        acr_patch_refuse(work, number, ACR_EDIT_OVERLAP,
                         g_strdup("an earlier edit of this answer deletes this file"));
    else if (file->source->text.binary || !file->source->text.exact)
        acr_patch_refuse(work, number, ACR_EDIT_UNMATCHED, g_strdup("the file is not text"));
    else
        return true;
    return false;
}

/* Returns why the quoted code was not found; owned. */
static char *why_missing(const Work *work, guint number, const File *file)
{
    const AcrEdit *edit = edit_at(work, number);
    const char *quote = acr_edit_quote_name(edit);
    if (!acr_patch_may_search(work))
        return g_strdup("the code of too many edits of this answer was not found, so acr-host did "
                        "not search for this one");
    if (edit->form == ACR_EDIT_TAGS)
        return g_strdup_printf("the code of %s is not in %s", quote, file->path);
    return g_strdup_printf("%s is not in %s", quote, file->path);
}

/* Searches for an edit's code in the result of the other edits, and applies the edit to the
 * result. */
static bool place_second(Work *work, guint number, File *file, bool *out_missing, GError **error)
{
    g_autoptr(AcrSource) now = acr_source_new(file->path, file->after);
    Located *located = acr_patch_choose_place(work, number, now, out_missing);
    outcome_at(work, number)->start = outcome_at(work, number)->end = 0;
    if (!located)
        return true;
    g_clear_pointer(&file->after, g_bytes_unref);
    AcrChoice choice = {now, &located, 1, &file->after};
    bool chosen = acr_patch_choose_readings(work->context->referee, &choice, 1, error);
    acr_patch_located_free(located);
    return chosen;
}

/* Applies an edit to a file that an earlier edit of the answer creates. */
static bool edit_made_file(Work *work, guint number, File *file, GError **error)
{
    bool missing = false;
    if (!place_second(work, number, file, &missing, error))
        return false;
    if (missing)
        acr_patch_refuse(work, number, ACR_EDIT_UNMATCHED, why_missing(work, number, file));
    return true;
}

static bool place_edit(Work *work, guint number, const char *path, GError **error)
{
    bool missing = false;
    File *file = acr_patch_open_file(work, path, error);
    if (!file)
        return false;
    if (!file->source)
        return edit_made_file(work, number, file, error);
    if (!is_editable(work, number, file))
        return true;
    Located *located = acr_patch_choose_place(work, number, file->source, &missing);
    if (located)
        g_ptr_array_add(file->located, located);
    else if (missing)
        g_array_append_val(file->waiting, number);
    return true;
}

/* Whether the edit has no quoted code in any reading. */
static bool quotes_nothing(const AcrEdit *edit)
{
    bool nothing = edit->kind == ACR_EDIT_CHANGE && acr_is_blank_text(edit->original);
    for (guint i = 0; nothing && edit->others && i < edit->others->len; i++)
        nothing = acr_is_blank_text(((AcrEditReading *)edit->others->pdata[i])->original);
    return nothing;
}

/* Returns why a file is not created in a folder that does not exist, owned; NULL if the file may be
 * created. Either an existing file has the same base name in a folder of the same name, or a code
 * block below a file name may only be an illustration. */
static char *why_stray(const Work *work, const AcrEdit *edit, const char *name,
                       const GPtrArray *near)
{
    const char *slash = strrchr(name, '/'), *tail = slash;
    const char *best = near && near->len > 0 ? near->pdata[0] : "";
    g_autofree char *folder = g_strndup(name, slash ? (gsize)(slash - name) : 0);
    if (!slash || acr_file_names_has_folder(work->names, folder))
        return NULL;
    while (tail > name && tail[-1] != '/')
        tail--;
    const char *at = strlen(best) < strlen(tail) ? best : best + strlen(best) - strlen(tail);
    if (strcmp(at, tail) == 0 && (at == best || at[-1] == '/'))
        return near_names(near);
    if (edit->form != ACR_EDIT_WHOLE_FILE || edit->makes)
        return NULL;
    return g_strdup(
        "its folder does not exist, and a code block below a file name may only be an "
        "illustration: to create the file, write its name in <file> and an empty <original>");
}

/* Handles an edit whose path may be written: `path`, a file of the snapshot, or, if `path` is NULL,
 * the new file `clean`. */
static bool take_allowed(Work *work, guint number, const char *path, const char *clean,
                         const GPtrArray *near, GError **error)
{
    const AcrEdit *edit = edit_at(work, number);
    const File *made = g_hash_table_lookup(work->by_path, clean);
    bool makes = !path && edit->kind == ACR_EDIT_CHANGE && acr_is_blank_text(edit->original);
    char *stray = makes && !made ? why_stray(work, edit, clean, near) : NULL;
    if (stray)
        acr_patch_refuse(work, number, ACR_EDIT_NO_FILE, stray);
    else if (makes)
        acr_patch_create_file(work, number, clean);
    else if (!path && made && !made->source && edit->kind == ACR_EDIT_CHANGE)
        return place_edit(work, number, clean, error);
    else if (!path)
        acr_patch_refuse(work, number, ACR_EDIT_NO_FILE, near_names(near));
    else if (edit->kind == ACR_EDIT_DELETE)
        return acr_patch_delete_file(work, number, path, error);
    else if (edit->kind == ACR_EDIT_RENAME)
        return acr_patch_rename_file(work, number, path, error);
    else if (edit->kind == ACR_EDIT_MODE)
        return acr_patch_set_mode(work, number, path, error);
    else if (quotes_nothing(edit))
        return acr_patch_fill_file(work, number, path, error);
    else
        return place_edit(work, number, path, error);
    return true;
}

/* Returns the snapshot's file that an edit names, by its path or by the new name from an earlier
 * edit; owned; NULL if there is none. */
static char *resolve(const Work *work, const AcrEdit *edit, const char *clean, GPtrArray **out_near)
{
    const File *file = g_hash_table_lookup(work->by_path, clean);
    if (file && file->to && strcmp(file->to, clean) == 0)
        return g_strdup(file->path);
    bool unconfirmed = edit->complaint || edit->kind != ACR_EDIT_CHANGE || quotes_nothing(edit);
    return acr_file_names_resolve(work->names, clean, unconfirmed, out_near);
}

/* Whether an edit names another path than that of the file that it changes: neither the file's new
 * name nor its path after a diff's prefix. */
static bool names_other(const Work *work, const char *clean, const char *path)
{
    bool is_marked = g_str_has_prefix(clean, "a/") || g_str_has_prefix(clean, "b/");
    return strcmp(clean, path) != 0 && strcmp(clean + (is_marked ? 2 : 0), path) != 0 &&
           !g_hash_table_contains(work->by_path, clean);
}

/* Whether `path` is the path of a test. A file that product code imports, or that is one of the
 * run's bug locations, does not count as a test. */
static bool is_test(Work *work, const char *path)
{
    const AcrPatchContext *context = work->context;
    if (!acr_index_is_test_path(path))
        return false;
    for (gsize i = 0; i < context->n_hints; i++)
        if (strcmp(context->hints[i].file, path) == 0)
            return false;
    work->wants_index = work->wants_index || !context->index;
    return !context->index || acr_index_is_test(context->index, path);
}

/* Locates one edit; returns false only if the snapshot cannot be read. Opens the file even if the
 * edit is unusable, so that the feedback can show the file's code. */
static bool take_edit(Work *work, guint number, GError **error)
{
    const AcrEdit *edit = edit_at(work, number);
    AcrEditOutcome *outcome = outcome_at(work, number);
    g_autoptr(GPtrArray) near = NULL;
    if (edit->complaint)
        acr_patch_refuse(work, number, ACR_EDIT_UNMATCHED, g_strdup(edit->complaint));
    if (!edit->file)
        return true;
    g_autofree char *clean = acr_file_name_clean(edit->file);
    g_autofree char *why = acr_file_name_refusal(work->names, work->overlay, clean);
    g_autofree char *path = why ? NULL : resolve(work, edit, clean, &near);
    g_autofree char *name =
        path || why ? g_strdup(path ? path : clean) : acr_file_names_make(work->names, clean);
    if (path || (!why && !edit->complaint)) {
        g_free(outcome->file);
        outcome->file = g_strdup(name);
        outcome->asked = path && names_other(work, clean, path) ? g_strdup(clean) : NULL;
    }
    if (edit->complaint)
        return !path || acr_patch_open_file(work, path, error);
    if (is_test(work, name) || (edit->to && acr_index_is_test_path(edit->to)))
        acr_patch_refuse(work, number, ACR_EDIT_DROPPED_TEST,
                         g_strdup("it is a test file; edits to tests are not applied"));
    else if (why)
        acr_patch_refuse(work, number, ACR_EDIT_NO_FILE, g_steal_pointer(&why));
    else
        return take_allowed(work, number, path, name, near, error);
    return true;
}

/* Searches again, in the result of the other edits, for edits that were not found in the snapshot's
 * text. */
static bool second_step(Work *work, File *file, GError **error)
{
    for (guint i = 0; i < file->waiting->len; i++) {
        guint number = g_array_index(file->waiting, guint, i);
        bool missing = true;
        if (file->located->len > 0 && acr_patch_may_search(work) &&
            !place_second(work, number, file, &missing, error))
            return false;
        if (!missing)
            continue;
        outcome_at(work, number)->level = ACR_LEVEL_NONE;
        acr_patch_refuse(work, number, ACR_EDIT_UNMATCHED, why_missing(work, number, file));
    }
    return true;
}

/* Counts a block with the whole text of an existing file as applied if its text is the result of
 * the other edits of the file. */
static void take_shown(const Work *work)
{
    for (guint i = 0; i < work->edits->len; i++) {
        AcrEditOutcome *outcome = outcome_at(work, i);
        const File *file = outcome->file ? g_hash_table_lookup(work->by_path, outcome->file) : NULL;
        if (edit_at(work, i)->form != ACR_EDIT_WHOLE_FILE || !file || !file->after ||
            file->located->len == 0 || outcome->status != ACR_EDIT_UNMATCHED ||
            edit_at(work, i)->complaint || !acr_patch_shows(edit_at(work, i), file->after))
            continue;
        outcome->status = ACR_EDIT_APPLIED;
        outcome->level = ACR_LEVEL_EXACT;
        g_clear_pointer(&outcome->why, g_free);
    }
}

/* Applies the edits of all files, and asks the referee about all files together. */
static bool finish_files(Work *work, GError **error)
{
    g_autofree AcrChoice *choices = g_new0(AcrChoice, work->files->len + 1);
    gsize n = 0;
    for (guint i = 0; i < work->files->len; i++) {
        File *file = work->files->pdata[i];
        if (!file->source)
            continue;
        acr_patch_settle(work, file);
        choices[n++] = (AcrChoice){file->source, (Located *const *)file->located->pdata,
                                   file->located->len, &file->after};
    }
    if (!acr_patch_choose_readings(work->context->referee, choices, n, error))
        return false;
    for (guint i = 0; i < work->files->len; i++)
        if (!second_step(work, work->files->pdata[i], error))
            return false;
    take_shown(work);
    return true;
}

/* Returns the number of edits that can be tried: complete edits of files that are not tests. */
static guint count_tried(const Work *work)
{
    guint n = 0;
    for (guint i = 0; i < work->outcomes->len; i++)
        n += !edit_at(work, i)->complaint && outcome_at(work, i)->status != ACR_EDIT_DROPPED_TEST;
    return n;
}

/* Writes one file with its edits. Sets file->broken if the result must not be written. */
static bool write_file(Work *work, File *file, GError **error)
{
    GBytes *before = file->source ? file->source->bytes : NULL;
    const char *path = file->to ? file->to : file->path;
    if ((file->gone || file->to) && !acr_overlay_remove(work->overlay, file->path, error))
        return false;
    if (file->gone ||
        (before && !file->to && !file->has_mode && g_bytes_equal(before, file->after)))
        return true;
    const AcrReferee *referee = work->context->referee;
    return acr_patch_may_stand(referee, path, before, file->after, &file->broken, error) &&
           acr_overlay_write(work->overlay, path, file->mode, file->after, error);
}

/* Makes the overlay and the diff. Call it after every edit has a place. */
static bool write_overlay(Work *work, GBytes **out_diff, AcrExtractStatus *out, GError **error)
{
    bool broken = false;
    for (guint i = 0; i < work->files->len; i++) {
        File *file = work->files->pdata[i];
        if (!write_file(work, file, error))
            return false;
        broken = broken || file->broken;
    }
    *out_diff = acr_overlay_diff(work->overlay, error);
    if (!*out_diff)
        return false;
    if (broken)
        *out = ACR_MATCHED_BUT_BREAKS_SYNTAX;
    else if (acr_patch_count(work, ACR_EDIT_EMPTY_ORIGINAL) > 0)
        *out = ACR_MATCHED_BUT_EMPTY_ORIGIN;
    else if (g_bytes_get_size(*out_diff) == 0)
        *out = ACR_MATCHED_BUT_EMPTY_DIFF;
    else
        *out = ACR_APPLICABLE_PATCH;
    return true;
}

/* Decides the status of the answer. Call it after every edit has its outcome. */
static bool judge_work(Work *work, GBytes **out_diff, AcrExtractStatus *out, GError **error)
{
    guint passed = acr_patch_count(work, ACR_EDIT_APPLIED) +
                   acr_patch_count(work, ACR_EDIT_DROPPED_TEST) +
                   acr_patch_count(work, ACR_EDIT_EMPTY_ORIGINAL);
    if (acr_is_blank_text(work->answer))
        *out = ACR_NO_PATCH;
    else if (count_tried(work) == 0)
        *out = ACR_RAW_PATCH_BUT_UNPARSED;
    else if (passed < work->outcomes->len || work->cut)
        *out = ACR_RAW_PATCH_BUT_UNMATCHED;
    else
        return write_overlay(work, out_diff, out, error);
    return true;
}

static void work_clear(Work *work)
{
    g_clear_pointer(&work->names, acr_file_names_free);
    g_clear_pointer(&work->edits, g_ptr_array_unref);
    g_clear_pointer(&work->outcomes, g_ptr_array_unref);
    g_clear_pointer(&work->by_path, g_hash_table_unref);
    g_clear_pointer(&work->files, g_ptr_array_unref);
    g_clear_pointer(&work->places, g_hash_table_unref);
    g_clear_pointer(&work->overlay, acr_overlay_free);
    g_clear_pointer(&work->answer, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Work, work_clear)

/* Parses the edits. If the whole answer, with its tags, is escaped for HTML, unescapes it first. */
static void parse(Work *work)
{
    work->edits = acr_patch_parse(work->answer, strlen(work->answer));
    if (work->edits->len > 0 ||
        (!strstr(work->answer, "&lt;original") && !strstr(work->answer, "&lt;&lt;&lt;&lt;&lt;")))
        return;
    char *plain = acr_text_unescape(work->answer);
    g_free(work->answer);
    work->answer = plain;
    g_ptr_array_unref(work->edits);
    work->edits = acr_patch_parse(plain, strlen(plain));
}

/* Whether an edit is a block that names an existing file without its folder and only shows lines of
 * the file. */
static bool is_talk(const Work *work, const AcrEdit *edit)
{
    g_autoptr(GPtrArray) near = NULL;
    if (edit->form != ACR_EDIT_WHOLE_FILE || edit->makes || edit->complaint)
        return false;
    g_autofree char *clean = acr_file_name_clean(edit->file);
    g_autofree char *path = acr_file_names_resolve(work->names, clean, false, &near);
    gssize entry = path ? acr_snapshot_find(work->context->snapshot, path) : -1;
    g_autoptr(GBytes) bytes =
        entry < 0 ? NULL : acr_snapshot_read(work->context->snapshot, (gsize)entry, NULL);
    return bytes && acr_patch_shows(edit, bytes);
}

/* Drops fenced blocks that only show code, if the answer has other edits. */
static void drop_talk(Work *work)
{
    bool other_edits = false;
    for (guint i = 0; i < work->edits->len; i++)
        other_edits =
            other_edits || edit_at(work, i)->form != ACR_EDIT_WHOLE_FILE || edit_at(work, i)->makes;
    for (guint i = work->edits->len; i > 0 && other_edits; i--)
        if (is_talk(work, edit_at(work, i - 1)))
            g_ptr_array_remove_index(work->edits, i - 1);
}

/* Returns the first line of a text that is not blank, without its indentation; owned; NULL if there
 * is none. */
static char *first_line(const char *text)
{
    const char *start = text ? text + strspn(text, " \t\r\n") : "";
    return *start ? g_strchomp(g_strndup(start, strcspn(start, "\r\n"))) : NULL;
}

static void work_init(Work *work, const AcrPatchContext *context, const char *answer, gsize len)
{
    *work = (Work){.context = context, .cut = len > ACR_PATCH_MAX_ANSWER};
    len = MIN(len, ACR_PATCH_MAX_ANSWER);
    work->answer = len > 0 && !acr_utf8_is_text(answer, len)
                       ? acr_utf8_repair(answer, len)
                       : g_strndup(len > 0 ? answer : "", len);
    work->names = acr_file_names_new(context->snapshot);
    parse(work);
    work->outcomes = g_ptr_array_new_with_free_func(outcome_free);
    work->files = g_ptr_array_new_with_free_func(acr_patch_file_free);
    work->by_path = g_hash_table_new(g_str_hash, g_str_equal);
    work->places = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
    work->overlay = acr_overlay_new(context->snapshot);
    drop_talk(work);
    acr_patch_unescape(work);
    for (guint i = 0; i < work->edits->len; i++) {
        AcrEditOutcome *outcome = g_new0(AcrEditOutcome, 1);
        outcome->file = g_strdup(edit_at(work, i)->file);
        outcome->quote = first_line(edit_at(work, i)->original);
        g_ptr_array_add(work->outcomes, outcome);
    }
}

static void trace_result(const AcrPatchResult *result)
{
    for (guint i = 0; i < result->edits->len; i++) {
        const AcrEditOutcome *edit = result->edits->pdata[i];
        acr_trace("patch", "edit %u of '%s': %s at level %s, lines %u to %u%s%s", i + 1,
                  edit->file ? edit->file : "?", acr_edit_status_name(edit->status),
                  acr_level_name(edit->level), edit->start, edit->end, edit->why ? ": " : "",
                  edit->why ? edit->why : "");
    }
    acr_trace("patch", "the answer is %s", acr_extract_status_name(result->status));
}

bool acr_patch_apply(const AcrPatchContext *context, const char *answer, gsize len,
                     AcrPatchResult *out, GError **error)
{
    g_auto(Work) work = {0};
    g_autoptr(GBytes) diff = NULL;
    AcrExtractStatus status = ACR_NO_PATCH;
    work_init(&work, context, answer, len);
    for (guint i = 0; i < work.edits->len; i++)
        if (!take_edit(&work, i, error))
            return false;
    if (!finish_files(&work, error) || !judge_work(&work, &diff, &status, error))
        return false;
    *out = (AcrPatchResult){.status = status, .message = acr_patch_message(&work, status)};
    out->edits = g_steal_pointer(&work.outcomes);
    out->wants_index = work.wants_index;
    trace_result(out);
    if (status == ACR_APPLICABLE_PATCH) {
        out->diff = g_steal_pointer(&diff);
        out->overlay = g_steal_pointer(&work.overlay);
    }
    return true;
}
