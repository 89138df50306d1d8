/*
 * Edits of whole files: a new one, one that goes, one that gets another name.
 */
#include <string.h>

#include "patch/apply_private.h"

/* The text of a new file: its last line ends, unless a diff says that it does not. A diff's text
 * is that of its lines, so that one line end more is missing than is written. */
static GBytes *new_text(const AcrEdit *edit)
{
    bool ends = edit->form != ACR_EDIT_DIFF && g_str_has_suffix(edit->patched, "\n");
    bool add = *edit->patched != '\0' && !ends && !edit->bare;
    char *text = g_strconcat(edit->patched, add ? "\n" : "", NULL);
    return g_bytes_new_take(text, strlen(text));
}

/* Whether a new path needs a folder where another edit makes a file, or the other way round. */
static bool is_in_the_way(const Work *work, const char *path)
{
    gsize len = strlen(path);
    g_autofree char *folder = g_strdup(path);
    for (char *slash = strchr(folder, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (g_hash_table_contains(work->by_path, folder))
            return true;
        *slash = '/';
    }
    for (guint i = 0; i < work->files->len; i++) {
        const File *file = work->files->pdata[i];
        const char *made = file->to ? file->to : file->source ? NULL : file->path;
        if (made && strncmp(made, path, len) == 0 && made[len] == '/')
            return true;
    }
    return false;
}

void acr_whole_create(Work *work, guint number, const char *path)
{
    const AcrEdit *edit = edit_at(work, number);
    File *file = g_hash_table_lookup(work->by_path, path);
    g_autoptr(GBytes) text = new_text(edit);
    outcome_at(work, number)->level = ACR_LEVEL_EXACT;
    if (file && !file->source && g_bytes_equal(file->after, text))
        return;
    if (file) {
        outcome_at(work, number)->level = ACR_LEVEL_NONE;
        acr_work_refuse(work, number, ACR_EDIT_OVERLAP,
                        g_strdup("an earlier edit of this answer makes the same file"));
        return;
    }
    if (is_in_the_way(work, path)) {
        outcome_at(work, number)->level = ACR_LEVEL_NONE;
        acr_work_refuse(work, number, ACR_EDIT_OVERLAP,
                        g_strdup("an earlier edit of this answer makes a file where this one needs "
                                 "a folder, or the other way round"));
        return;
    }
    file = acr_work_add_file(work, path, NULL);
    file->after = g_steal_pointer(&text);
    file->mode = edit->executable ? ACR_MODE_EXEC : 0;
}

/* Why nothing quoted is not enough. */
static char *why_not_filled(const AcrEdit *edit)
{
    if (edit->form == ACR_EDIT_WHOLE_FILE)
        return g_strdup("the file exists, and is not replaced as a whole: quote the lines to "
                        "replace in <original>, and give what stands there afterwards in "
                        "<patched>");
    if (edit->makes)
        return g_strdup("the diff says that the file is new, but it exists: quote the lines to "
                        "replace, or those next to which new lines go");
    return g_strdup_printf("%s is empty, but the file exists: quote the lines to replace, or "
                           "those next to which new lines go",
                           acr_edit_quote_name(edit));
}

/* Of an empty file nothing can be quoted: it is filled. */
bool acr_whole_fill(Work *work, guint number, const char *path, GError **error)
{
    const AcrEdit *edit = edit_at(work, number);
    File *file = acr_work_open_file(work, path, error);
    if (!file)
        return false;
    bool empty = file->source && g_bytes_get_size(file->source->bytes) == 0 && !file->gone;
    if (!empty) {
        acr_work_refuse(work, number,
                        edit->form == ACR_EDIT_WHOLE_FILE ? ACR_EDIT_UNMATCHED
                                                          : ACR_EDIT_EMPTY_ORIGINAL,
                        why_not_filled(edit));
        return true;
    }
    g_autoptr(GBytes) text = new_text(edit);
    g_autoptr(GArray) readings = g_array_new(FALSE, FALSE, sizeof(AcrSplice));
    g_array_set_clear_func(readings, (GDestroyNotify)acr_splice_clear);
    AcrSplice splice = {.with = g_strndup(g_bytes_get_data(text, NULL), g_bytes_get_size(text))};
    g_array_append_val(readings, splice);
    g_ptr_array_add(file->located, acr_patch_located_new(number, readings));
    outcome_at(work, number)->level = ACR_LEVEL_EXACT;
    return true;
}

/* Whether nothing but blank lines stands outside the place. */
static bool is_all(const AcrLines *lines, const AcrPlace *place)
{
    for (gsize i = 0; i < lines->n; i++)
        if ((i < place->first || i >= place->last) && !acr_line_is_blank(&lines->line[i]))
            return false;
    return !place->inside;
}

/* Whether the lines that a diff removes are all those of the file. */
static bool is_its_text(const AcrEdit *edit, const File *file, AcrLevel *out_level)
{
    g_auto(AcrMatch) match = {0};
    *out_level = ACR_LEVEL_EXACT;
    if (acr_is_blank_text(edit->original))
        return true;
    if (file->source->text.binary || !file->source->text.exact)
        return false;
    acr_ladder_find(file->source, edit->original, "", &match);
    *out_level = match.level;
    return match.places->len == 1 &&
           is_all(&file->source->lines, &g_array_index(match.places, AcrPlace, 0));
}

bool acr_whole_delete(Work *work, guint number, const char *path, GError **error)
{
    const AcrEdit *edit = edit_at(work, number);
    AcrEditOutcome *outcome = outcome_at(work, number);
    AcrLevel level = ACR_LEVEL_NONE;
    File *file = acr_work_open_file(work, path, error);
    if (!file)
        return false;
    if (!file->source || file->to || file->located->len > 0 || file->waiting->len > 0) {
        acr_work_refuse(work, number, ACR_EDIT_OVERLAP,
                        g_strdup("an earlier edit of this answer changes the file that this one "
                                 "deletes"));
    } else if (!is_its_text(edit, file, &level)) {
        acr_work_refuse(
            work, number, ACR_EDIT_UNMATCHED,
            g_strdup_printf("the lines that the diff removes are not those of %s, or not all of "
                            "them: to delete the file write \"deleted file mode 100644\" below "
                            "\"diff --git\", and no lines",
                            path));
    } else {
        file->gone = true;
        outcome->level = level;
        outcome->end = (guint)file->source->lines.n;
        outcome->start = MIN(outcome->end, 1);
    }
    return true;
}

/* Why a file cannot be called `to`; owned, or NULL. */
static char *why_not_called(const Work *work, const File *file, const char *to)
{
    char *why = acr_file_name_refusal(work->names, work->overlay, to);
    if (why)
        return why;
    if (file->gone || !file->source)
        return g_strdup("an earlier edit of this answer makes or deletes this file");
    if (file->to)
        return g_strdup("an earlier edit of this answer gives it another name");
    if (acr_snapshot_find(work->context->snapshot, to) >= 0 ||
        g_hash_table_contains(work->by_path, to) || is_in_the_way(work, to))
        return g_strdup_printf("its new name, %s, is that of another file or folder", to);
    return NULL;
}

bool acr_whole_rename(Work *work, guint number, const char *path, GError **error)
{
    g_autofree char *to = acr_file_name_clean(edit_at(work, number)->to);
    File *file = acr_work_open_file(work, path, error);
    if (!file)
        return false;
    bool again = file->to && strcmp(file->to, to) == 0;
    char *why = again ? NULL : why_not_called(work, file, to);
    if (why) {
        acr_work_refuse(work, number, ACR_EDIT_OVERLAP, why);
        return true;
    }
    outcome_at(work, number)->level = ACR_LEVEL_EXACT;
    if (again)
        return true;
    file->to = g_steal_pointer(&to);
    g_hash_table_insert(work->by_path, file->to, file);
    return true;
}

/* A block under a bare name that shows code and is no edit. */
static bool is_talk(const Work *work, const AcrEdit *edit, bool other_edits)
{
    g_autoptr(GPtrArray) near = NULL;
    if (edit->form != ACR_EDIT_WHOLE_FILE || edit->makes)
        return false;
    g_autofree char *clean = acr_file_name_clean(edit->file);
    g_autofree char *path = acr_file_names_resolve(work->names, clean, false, &near);
    if (path)
        return other_edits;
    g_autofree char *name = acr_file_names_make(work->names, clean);
    char *slash = strrchr(name, '/');
    if (!slash)
        return true;
    *slash = '\0';
    return !acr_file_names_has_folder(work->names, name);
}

void acr_whole_drop_talk(Work *work)
{
    bool other_edits = false;
    for (guint i = 0; i < work->edits->len; i++)
        other_edits =
            other_edits || edit_at(work, i)->form != ACR_EDIT_WHOLE_FILE || edit_at(work, i)->makes;
    for (guint i = work->edits->len; i > 0; i--)
        if (is_talk(work, edit_at(work, i - 1), other_edits))
            g_ptr_array_remove_index(work->edits, i - 1);
}
