/* Manages the files that an answer edits. An edit that the answer repeats, even in another form
 * (tags, and a diff of the same change), is applied once. Edits that change each other's lines are
 * refused. This file also creates, deletes and renames whole files. */
#include <string.h>

#include "patch/apply_private.h"

void acr_patch_file_free(gpointer data)
{
    File *file = data;
    g_free(file->path);
    acr_source_free(file->source);
    g_ptr_array_unref(file->located);
    g_array_unref(file->waiting);
    g_clear_pointer(&file->after, g_bytes_unref);
    ACR_FREE(file->broken, file->to, file);
}

void acr_patch_refuse(const Work *work, guint number, AcrEditStatus status, char *why)
{
    AcrEditOutcome *outcome = outcome_at(work, number);
    outcome->status = status;
    g_free(outcome->why);
    outcome->why = why;
}

const char *acr_edit_quote_name(const AcrEdit *edit)
{
    static const char *const names[] = {"<original>", "the SEARCH part", "the old text of the hunk",
                                        "the file's text"};
    return names[edit->form];
}

/* Adds an edited file. `source` is taken; NULL if the file is new. Returns the file, borrowed. */
static File *add_work_file(Work *work, const char *path, AcrSource *source)
{
    File *file = g_new0(File, 1);
    file->path = g_strdup(path);
    file->source = source;
    file->located = g_ptr_array_new_with_free_func(acr_patch_located_free);
    file->waiting = g_array_new(FALSE, FALSE, sizeof(guint));
    g_ptr_array_add(work->files, file);
    g_hash_table_insert(work->by_path, file->path, file);
    return file;
}

File *acr_patch_open_file(Work *work, const char *path, GError **error)
{
    File *file = g_hash_table_lookup(work->by_path, path);
    if (file)
        return file;
    gssize entry = acr_snapshot_find(work->context->snapshot, path);
    g_assert(entry >= 0);
    g_autoptr(GBytes) bytes = acr_snapshot_read(work->context->snapshot, (gsize)entry, error);
    if (!bytes)
        return NULL;
    file = add_work_file(work, path, acr_source_new(path, bytes));
    file->mode = acr_snapshot_entry(work->context->snapshot, (gsize)entry)->mode;
    return file;
}

guint acr_patch_count(const Work *work, AcrEditStatus status)
{
    guint n = 0;
    for (guint i = 0; i < work->outcomes->len; i++)
        n += outcome_at(work, i)->status == status;
    return n;
}

void acr_patch_located_free(gpointer data)
{
    Located *located = data;
    g_array_unref(located->readings);
    acr_match_clear(&located->match);
    g_free(located);
}

Located *acr_patch_located_new(guint number, GArray *readings)
{
    Located *located = g_new0(Located, 1);
    located->number = number;
    located->readings = g_array_ref(readings);
    located->first = G_MAXSIZE;
    for (guint i = 0; i < readings->len; i++) {
        const AcrSplice *splice = &g_array_index(readings, AcrSplice, i);
        located->first = MIN(located->first, splice->off);
        located->last = MAX(located->last, splice->off + splice->len);
    }
    return located;
}

/* Orders pointers to Located by the bytes that the edits touch, then by edit number. */
static gint compare_located(gconstpointer a, gconstpointer b)
{
    const Located *x = *(Located *const *)a, *y = *(Located *const *)b;
    int order = acr_order(x->first, y->first);
    order = order ? order : acr_order(x->last, y->last);
    return order ? order : acr_order(x->number, y->number);
}

static bool same_change(const Located *a, const Located *b)
{
    if (a->readings->len != b->readings->len)
        return false;
    for (guint i = 0; i < a->readings->len; i++) {
        const AcrSplice *x = &g_array_index(a->readings, AcrSplice, i),
                        *y = &g_array_index(b->readings, AcrSplice, i);
        if (x->off != y->off || x->len != y->len || strcmp(x->with, y->with) != 0)
            return false;
    }
    return true;
}

static AcrEditForm form_of(const Work *work, const Located *located)
{
    return edit_at(work, located->number)->form;
}

/* Appends to `text` the result of the edits of other forms that lie inside the span of edit `i`.
 * Returns false if there are no such edits, or if an edit crosses the border of the span. */
static bool make_span(const Work *work, const File *file, guint i, GString *text)
{
    const Located *whole = file->located->pdata[i];
    const AcrSplice *span = &g_array_index(whole->readings, AcrSplice, 0);
    const char *source = file->source->text.text;
    gsize at = span->off, end = span->off + span->len;
    bool any = false;
    for (guint j = 0; j < file->located->len; j++) {
        const Located *other = file->located->pdata[j];
        const AcrSplice *splice = &g_array_index(other->readings, AcrSplice, 0);
        if (form_of(work, other) == form_of(work, whole) || splice->off + splice->len < span->off ||
            splice->off > end)
            continue;
        if (splice->off < at || splice->off + splice->len > end)
            return false;
        g_string_append_len(text, source + at, (gssize)(splice->off - at));
        g_string_append(text, splice->with);
        at = splice->off + splice->len;
        any = true;
    }
    g_string_append_len(text, source + at, (gssize)(end - at));
    return any;
}

/* Drops an edit if it repeats, in another form, the changes of smaller edits. */
static void drop_repeats(const Work *work, File *file)
{
    for (guint i = 0; i < file->located->len;) {
        const Located *located = file->located->pdata[i];
        g_autoptr(GString) text = g_string_new(NULL);
        if (make_span(work, file, i, text) &&
            strcmp(text->str, g_array_index(located->readings, AcrSplice, 0).with) == 0)
            g_ptr_array_remove_index(file->located, i);
        else
            i++;
    }
}

void acr_patch_settle(const Work *work, File *file)
{
    g_ptr_array_sort(file->located, compare_located);
    drop_repeats(work, file);
    for (guint i = 1; i < file->located->len;) {
        const Located *before = file->located->pdata[i - 1], *here = file->located->pdata[i];
        if (same_change(before, here)) {
            g_ptr_array_remove_index(file->located, i);
            continue;
        }
        bool same_point = here->first == before->first && here->last == before->last;
        if (here->first < before->last || same_point) {
            guint later = MAX(here->number, before->number),
                  earlier = MIN(here->number, before->number);
            acr_patch_refuse(
                work, later, ACR_EDIT_OVERLAP,
                g_strdup_printf("it changes lines that edit %u changes too", earlier + 1));
            g_ptr_array_remove_index(file->located, here->number == later ? i : i - 1);
            i = MAX(i, 2) - 1;
            continue;
        }
        i++;
    }
}

/* Returns the text of a new file, owned. The last line gets a line end unless a diff says that it
 * has none; texts from diffs lack the last line end. */
static GBytes *new_text(const AcrEdit *edit)
{
    bool ends = edit->form != ACR_EDIT_DIFF && g_str_has_suffix(edit->patched, "\n");
    bool add = *edit->patched != '\0' && !ends && !edit->bare;
    char *text = g_strconcat(edit->patched, add ? "\n" : "", NULL);
    return g_bytes_new_take(text, strlen(text));
}

/* Whether a new path conflicts with the path of another edit: one edit needs a folder where the
 * other creates a file. */
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

void acr_patch_create_file(Work *work, guint number, const char *path)
{
    const AcrEdit *edit = edit_at(work, number);
    File *file = g_hash_table_lookup(work->by_path, path);
    g_autoptr(GBytes) text = new_text(edit);
    bool again = file && !file->source && g_bytes_equal(file->after, text);
    if (!again && (file || is_in_the_way(work, path))) {
        acr_patch_refuse(work, number, ACR_EDIT_OVERLAP,
                         g_strdup(file ? "an earlier edit in this answer already creates this file"
                                       : "an earlier edit in this answer creates a file where this "
                                         "edit needs a folder, or a folder where it needs a file"));
        return;
    }
    outcome_at(work, number)->level = ACR_LEVEL_EXACT;
    if (again)
        return;
    file = add_work_file(work, path, NULL);
    file->after = g_steal_pointer(&text);
    file->mode = edit->executable ? ACR_MODE_EXEC : 0;
}

/* Returns why an edit with an empty quote cannot be applied to an existing file; owned. */
static char *why_not_filled(const AcrEdit *edit)
{
    if (edit->form == ACR_EDIT_WHOLE_FILE)
        return g_strdup("the file exists and cannot be replaced as a whole: quote the lines to "
                        "replace in <original>, and write their replacement in <patched>");
    if (edit->makes)
        return g_strdup("the diff says that the file is new, but it exists: quote the lines to "
                        "replace, or the lines next to the new ones");
    return g_strdup_printf("%s is empty, but the file exists: quote the lines to replace, or the "
                           "lines next to the new ones",
                           acr_edit_quote_name(edit));
}

/* Fills a file that contains only blanks, because nothing in the file can be quoted. */
bool acr_patch_fill_file(Work *work, guint number, const char *path, GError **error)
{
    const AcrEdit *edit = edit_at(work, number);
    File *file = acr_patch_open_file(work, path, error);
    if (!file)
        return false;
    bool empty = file->source && !file->source->text.binary && file->source->text.exact &&
                 acr_is_blank_text(file->source->text.text) && !file->gone;
    if (!empty) {
        acr_patch_refuse(work, number,
                         edit->form == ACR_EDIT_WHOLE_FILE ? ACR_EDIT_UNMATCHED
                                                           : ACR_EDIT_EMPTY_ORIGINAL,
                         why_not_filled(edit));
        return true;
    }
    g_autoptr(GBytes) text = new_text(edit);
    g_autoptr(GArray) readings = acr_splices_new();
    AcrSplice splice = {.len = file->source->text.len,
                        .with = g_strndup(g_bytes_get_data(text, NULL), g_bytes_get_size(text))};
    g_array_append_val(readings, splice);
    g_ptr_array_add(file->located, acr_patch_located_new(number, readings));
    outcome_at(work, number)->level = ACR_LEVEL_EXACT;
    return true;
}

/* Whether the place covers all lines of the file, except blank lines. */
static bool is_all(const AcrLines *lines, const AcrPlace *place)
{
    for (gsize i = 0; i < lines->n; i++)
        if ((i < place->first || i >= place->last) && !acr_line_is_blank(&lines->line[i]))
            return false;
    return !place->inside;
}

/* Whether the diff removes all lines of the file. */
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

bool acr_patch_delete_file(Work *work, guint number, const char *path, GError **error)
{
    const AcrEdit *edit = edit_at(work, number);
    AcrEditOutcome *outcome = outcome_at(work, number);
    AcrLevel level = ACR_LEVEL_NONE;
    File *file = acr_patch_open_file(work, path, error);
    if (!file)
        return false;
    if (!file->source || file->to || file->located->len > 0 || file->waiting->len > 0) {
        acr_patch_refuse(work, number, ACR_EDIT_OVERLAP,
                         g_strdup("an earlier edit of this answer changes the file that this one "
                                  "deletes"));
    } else if (!is_its_text(edit, file, &level)) {
        acr_patch_refuse(
            work, number, ACR_EDIT_UNMATCHED,
            g_strdup_printf(
                "the diff must remove exactly the lines of %s to delete it: write \"deleted file "
                "mode 100644\" below \"diff --git\" instead, and no hunk",
                path));
    } else {
        file->gone = true;
        outcome->level = level;
        outcome->end = (guint)file->source->lines.n;
        outcome->start = MIN(outcome->end, 1);
    }
    return true;
}

bool acr_patch_set_mode(Work *work, guint number, const char *path, GError **error)
{
    File *file = acr_patch_open_file(work, path, error);
    if (!file)
        return false;
    file->mode = edit_at(work, number)->executable ? ACR_MODE_EXEC : ACR_MODE_FILE;
    file->has_mode = true;
    outcome_at(work, number)->level = ACR_LEVEL_EXACT;
    return true;
}

bool acr_patch_shows(const AcrEdit *block, GBytes *text)
{
    g_autoptr(AcrSource) source = acr_source_new("", text);
    g_auto(AcrLines) shown = {0};
    acr_lines_of_quote(block->patched, &shown);
    gsize at = 0;
    for (gsize k = 0; k < shown.n; k++) {
        if (acr_line_is_blank(&shown.line[k]) || acr_line_is_elision(&shown.line[k]))
            continue;
        while (at < source->lines.n && !acr_line_same_core(&source->lines.line[at], &shown.line[k]))
            at++;
        if (at++ == source->lines.n)
            return false;
    }
    return true;
}

/* Returns why a file cannot be renamed to `to`, owned; NULL if the file can be renamed. */
static char *why_not_called(const Work *work, const File *file, const char *to)
{
    char *why = acr_file_name_refusal(work->names, work->overlay, to);
    if (why)
        return why;
    if (file->gone || !file->source)
        return g_strdup("an earlier edit of this answer creates or deletes this file");
    if (file->to)
        return g_strdup("an earlier edit of this answer renames it");
    if (acr_snapshot_find(work->context->snapshot, to) >= 0 ||
        g_hash_table_contains(work->by_path, to) || is_in_the_way(work, to))
        return g_strdup_printf("its new name, %s, is already used by another file or folder", to);
    return NULL;
}

bool acr_patch_rename_file(Work *work, guint number, const char *path, GError **error)
{
    g_autofree char *to = acr_file_name_clean(edit_at(work, number)->to);
    File *file = acr_patch_open_file(work, path, error);
    if (!file)
        return false;
    bool again = file->to && strcmp(file->to, to) == 0;
    char *why = again ? NULL : why_not_called(work, file, to);
    if (why) {
        acr_patch_refuse(work, number, ACR_EDIT_OVERLAP, why);
        return true;
    }
    outcome_at(work, number)->level = ACR_LEVEL_EXACT;
    if (again)
        return true;
    file->to = g_steal_pointer(&to);
    g_hash_table_insert(work->by_path, file->to, file);
    return true;
}
