/*
 * An answer's edits -> an overlay and a diff, or a refusal.
 *
 * All edits are located in the snapshot's text, as the model saw it, and applied together; an edit
 * whose code is not there is looked for once more in the text that the answer's other edits of the
 * file have made. Quoted regions may overlap, changed lines may not. An edit that stands twice in
 * an answer counts once. Nothing is written to the overlay unless every edit that is not dropped
 * has its place.
 */
#include <string.h>

#include "patch/apply_private.h"

static void located_free(gpointer data)
{
    Located *located = data;
    g_array_unref(located->readings);
    g_free(located);
}

static void file_free(gpointer data)
{
    File *file = data;
    g_free(file->path);
    acr_source_free(file->source);
    g_ptr_array_unref(file->located);
    g_array_unref(file->waiting);
    g_clear_pointer(&file->after, g_bytes_unref);
    g_free(file->broken);
    g_free(file);
}

static void outcome_free(gpointer data)
{
    AcrEditOutcome *outcome = data;
    g_free(outcome->file);
    g_free(outcome->why);
    g_free(outcome);
}

/* `why`: taken. */
static void refuse(const Work *work, guint number, AcrEditStatus status, char *why)
{
    AcrEditOutcome *outcome = outcome_at(work, number);
    outcome->status = status;
    g_free(outcome->why);
    outcome->why = why;
}

static bool is_blank_text(const char *text)
{
    return text[strspn(text, " \t\r\n\f\v")] == '\0';
}

static File *add_file(Work *work, const char *path, AcrSource *source)
{
    File *file = g_new0(File, 1);
    file->path = g_strdup(path);
    file->source = source;
    file->located = g_ptr_array_new_with_free_func(located_free);
    file->waiting = g_array_new(FALSE, FALSE, sizeof(guint));
    g_ptr_array_add(work->files, file);
    g_hash_table_insert(work->by_path, file->path, file);
    return file;
}

/* The file of that path of the snapshot; NULL with `error` when it cannot be read. */
static File *open_file(Work *work, const char *path, GError **error)
{
    File *file = g_hash_table_lookup(work->by_path, path);
    if (file)
        return file;
    gssize entry = acr_snapshot_find(work->context->snapshot, path);
    g_assert(entry >= 0);
    g_autoptr(GBytes) bytes = acr_snapshot_read(work->context->snapshot, (gsize)entry, error);
    return bytes ? add_file(work, path, acr_source_new(path, bytes)) : NULL;
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

static void create_file(Work *work, guint number, const char *path)
{
    const AcrEdit *edit = edit_at(work, number);
    if (g_hash_table_contains(work->by_path, path)) {
        refuse(work, number, ACR_EDIT_OVERLAP,
               g_strdup("an earlier edit of this answer makes the same file"));
        return;
    }
    bool bare = edit->patched[0] != '\0' && !g_str_has_suffix(edit->patched, "\n");
    char *text = g_strconcat(edit->patched, bare ? "\n" : "", NULL);
    File *file = add_file(work, path, NULL);
    file->after = g_bytes_new_take(text, strlen(text));
    outcome_at(work, number)->level = ACR_LEVEL_EXACT;
}

/* The answer's words in front of an edit, back to the edit before it. */
static const char *words_before(const Work *work, guint number, gsize *out_len)
{
    gsize to = edit_at(work, number)->off, from = number > 0 ? edit_at(work, number - 1)->off : 0;
    for (gsize at = to; at > from + 9; at--) {
        if (g_ascii_strncasecmp(work->answer + at - 9, "</patched", 9) == 0) {
            from = at;
            break;
        }
    }
    *out_len = to - from;
    return work->answer + from;
}

static char *place_list(const AcrMatch *match, const char *path)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (match->many)
        g_string_printf(text, "<original> stands in more than %u places of %s",
                        ACR_PATCH_MAX_PLACES, path);
    else
        g_string_printf(text, "<original> stands in %u places of %s", match->places->len, path);
    for (guint i = 0; i < match->places->len && i < 12; i++) {
        const AcrPlace *place = &g_array_index(match->places, AcrPlace, i);
        g_string_append_printf(text, "%s%" G_GSIZE_FORMAT "-%" G_GSIZE_FORMAT,
                               i == 0 ? ", lines " : ", ", place->first + 1, place->last);
    }
    return g_strdup(text->str);
}

static void keep_places(const Work *work, guint number, const AcrMatch *match)
{
    GArray *places = g_array_new(FALSE, FALSE, sizeof(AcrPlace));
    for (guint i = 0; i < match->places->len; i++) {
        AcrPlace place = g_array_index(match->places, AcrPlace, i);
        place.map = NULL;
        g_array_append_val(places, place);
    }
    g_hash_table_insert(work->places, GUINT_TO_POINTER(number), places);
}

/* Whether the new text exists in the file's encoding. */
static bool can_encode(const AcrSource *source, const GArray *readings, char **out_why)
{
    AcrText plain = source->text;
    plain.bom = false;
    for (guint i = 0; i < readings->len; i++) {
        const char *with = g_array_index(readings, AcrSplice, i).with;
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) bytes = acr_text_encode(&plain, with, strlen(with), &error);
        if (bytes)
            continue;
        *out_why = g_strdup_printf(
            "<patched> has a character that the encoding of the file (%s) lacks", plain.encoding);
        return false;
    }
    return true;
}

static Located *located_new(guint number, GArray *readings)
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

/* Finds one edit in a text; owned Located, or NULL: refused, or not found (then *out_missing). */
static Located *locate(const Work *work, guint number, const AcrSource *source, bool *out_missing)
{
    const AcrEdit *edit = edit_at(work, number);
    AcrEditOutcome *outcome = outcome_at(work, number);
    g_auto(AcrMatch) match = {0};
    gsize len = 0;
    char *why = NULL;
    acr_ladder_find(source, edit->original, edit->patched, &match);
    *out_missing = match.places->len == 0;
    if (*out_missing)
        return NULL;
    outcome->level = match.level;
    const char *words = words_before(work, number, &len);
    gssize chosen = acr_decide_place(work->context, source->path, &match, words, len);
    if (chosen < 0) {
        refuse(work, number, ACR_EDIT_AMBIGUOUS, place_list(&match, source->path));
        keep_places(work, number, &match);
        return NULL;
    }
    const AcrPlace *place = &g_array_index(match.places, AcrPlace, chosen);
    outcome->start = (guint)place->first + 1;
    outcome->end = (guint)place->last;
    if (match.why) {
        refuse(work, number, ACR_EDIT_UNMATCHED, g_steal_pointer(&match.why));
        return NULL;
    }
    g_autoptr(GArray) readings = acr_fit_readings(source, &match, place, &why);
    if (why || !can_encode(source, readings, &why)) {
        refuse(work, number, ACR_EDIT_UNMATCHED, why);
        return NULL;
    }
    return located_new(number, readings);
}

static bool is_editable(const Work *work, guint number, const File *file)
{
    if (!file->source)
        refuse(work, number, ACR_EDIT_OVERLAP,
               g_strdup("an earlier edit of this answer makes this file"));
    else if (file->source->text.binary || !file->source->text.exact)
        refuse(work, number, ACR_EDIT_UNMATCHED, g_strdup("the file is not text"));
    else
        return true;
    return false;
}

static bool place_edit(Work *work, guint number, const char *path, GError **error)
{
    bool missing = false;
    File *file = open_file(work, path, error);
    if (!file)
        return false;
    if (!is_editable(work, number, file))
        return true;
    Located *located = locate(work, number, file->source, &missing);
    if (located)
        g_ptr_array_add(file->located, located);
    else if (missing)
        g_array_append_val(file->waiting, number);
    return true;
}

/* Takes one edit as far as its place; false only when the snapshot cannot be read. */
static bool take_edit(Work *work, guint number, GError **error)
{
    const AcrEdit *edit = edit_at(work, number);
    AcrEditOutcome *outcome = outcome_at(work, number);
    g_autoptr(GPtrArray) near = NULL;
    if (edit->complaint) {
        refuse(work, number, ACR_EDIT_UNMATCHED, g_strdup(edit->complaint));
        return true;
    }
    bool may_be_new = is_blank_text(edit->original);
    g_autofree char *clean = acr_file_name_clean(edit->file);
    bool allowed = acr_overlay_path_ok(work->overlay, clean);
    g_autofree char *path =
        allowed ? acr_file_names_resolve(work->names, clean, may_be_new, &near) : NULL;
    if (acr_index_is_test_path(path ? path : clean)) {
        refuse(work, number, ACR_EDIT_DROPPED_TEST,
               g_strdup("it is a test file; tests are not edited here"));
    } else if (!allowed) {
        refuse(work, number, ACR_EDIT_NO_FILE,
               g_strdup("this path may not be written: name a file of the repository"));
    } else if (!path && may_be_new) {
        create_file(work, number, clean);
    } else if (!path) {
        refuse(work, number, ACR_EDIT_NO_FILE, near_names(near));
    } else if (may_be_new) {
        refuse(work, number, ACR_EDIT_EMPTY_ORIGINAL,
               g_strdup("<original> is empty, but the file exists: quote the lines to replace, or "
                        "those next to which new "
                        "lines go"));
    } else if (!place_edit(work, number, path, error)) {
        return false;
    }
    if (path || allowed) {
        g_free(outcome->file);
        outcome->file = g_strdup(path ? path : clean);
    }
    return true;
}

static gint by_offset(gconstpointer a, gconstpointer b)
{
    const Located *x = *(Located *const *)a, *y = *(Located *const *)b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->last != y->last)
        return x->last < y->last ? -1 : 1;
    return x->number < y->number ? -1 : 1;
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

/* Sorts, takes out repeated edits, refuses those that touch the lines of another. */
static void settle(const Work *work, File *file)
{
    g_ptr_array_sort(file->located, by_offset);
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
            refuse(work, later, ACR_EDIT_OVERLAP,
                   g_strdup_printf("it changes lines that edit %u changes too", earlier + 1));
            g_ptr_array_remove_index(file->located, here->number == later ? i : i - 1);
            i = MAX(i, 2) - 1;
            continue;
        }
        i++;
    }
}

/* Edits not found in the snapshot's text: each is looked for in what the others have made of it. */
static bool second_step(const Work *work, File *file, GError **error)
{
    for (guint i = 0; i < file->waiting->len; i++) {
        guint number = g_array_index(file->waiting, guint, i);
        bool missing = true;
        Located *located = NULL;
        if (file->located->len > 0) {
            g_autoptr(AcrSource) now = acr_source_new(file->path, file->after);
            located = locate(work, number, now, &missing);
            outcome_at(work, number)->start = outcome_at(work, number)->end = 0;
            if (located) {
                Located *one[] = {located};
                AcrChoice choice = {now, one, 1, NULL};
                bool chosen = acr_referee_choose(work->context->referee, &choice, 1, error);
                located_free(located);
                if (!chosen)
                    return false;
                g_clear_pointer(&file->after, g_bytes_unref);
                file->after = choice.after;
            }
        }
        if (missing) {
            outcome_at(work, number)->level = ACR_LEVEL_NONE;
            refuse(work, number, ACR_EDIT_UNMATCHED,
                   g_strdup_printf("the code of <original> is not in %s", file->path));
        }
    }
    return true;
}

/* Applies the edits of all files; the referee is asked about all of them at once. */
static bool finish_files(const Work *work, GError **error)
{
    g_autofree AcrChoice *choices = g_new0(AcrChoice, work->files->len + 1);
    g_autofree File **edited = g_new0(File *, work->files->len + 1);
    gsize n = 0;
    for (guint i = 0; i < work->files->len; i++) {
        File *file = work->files->pdata[i];
        if (!file->source)
            continue;
        settle(work, file);
        choices[n] = (AcrChoice){file->source, (Located *const *)file->located->pdata,
                                 file->located->len, NULL};
        edited[n++] = file;
    }
    if (!acr_referee_choose(work->context->referee, choices, n, error))
        return false;
    for (gsize i = 0; i < n; i++)
        edited[i]->after = choices[i].after;
    for (gsize i = 0; i < n; i++)
        if (!second_step(work, edited[i], error))
            return false;
    return true;
}

/* Edits that could be tried: with all their parts, and not of a test file. */
static guint count_tried(const Work *work)
{
    guint n = 0;
    for (guint i = 0; i < work->outcomes->len; i++)
        n += !edit_at(work, i)->complaint && outcome_at(work, i)->status != ACR_EDIT_DROPPED_TEST;
    return n;
}

static bool is_refused(AcrEditStatus status)
{
    return status == ACR_EDIT_NO_FILE || status == ACR_EDIT_UNMATCHED ||
           status == ACR_EDIT_AMBIGUOUS || status == ACR_EDIT_OVERLAP;
}

static bool any_refused(const Work *work)
{
    for (guint i = 0; i < work->outcomes->len; i++)
        if (is_refused(outcome_at(work, i)->status))
            return true;
    return false;
}

static bool write_overlay(Work *work, bool *out_sound, GError **error)
{
    *out_sound = true;
    for (guint i = 0; i < work->files->len; i++) {
        File *file = work->files->pdata[i];
        GBytes *before = file->source ? file->source->bytes : NULL;
        g_autofree char *message = NULL;
        bool ok = true;
        if (before && g_bytes_equal(before, file->after))
            continue;
        if (!acr_referee_accepts(work->context->referee, file->path, before, file->after, &ok,
                                 &message, error) ||
            !acr_overlay_write(work->overlay, file->path, 0, file->after, error))
            return false;
        if (!ok)
            file->broken = g_steal_pointer(&message);
        *out_sound = *out_sound && ok;
    }
    return true;
}

static bool is_blank_answer(const Work *work)
{
    gsize i = 0;
    while (i < work->len && g_ascii_isspace(work->answer[i]))
        i++;
    return i == work->len;
}

/* How far the answer came, once every edit has its outcome. Makes overlay and diff. */
static bool judge(Work *work, GBytes **out_diff, AcrExtractStatus *out, GError **error)
{
    bool sound = true;
    if (is_blank_answer(work)) {
        *out = ACR_NO_PATCH;
        return true;
    }
    if (count_tried(work) == 0) {
        *out = ACR_RAW_PATCH_BUT_UNPARSED;
        return true;
    }
    if (any_refused(work)) {
        *out = ACR_RAW_PATCH_BUT_UNMATCHED;
        return true;
    }
    if (!write_overlay(work, &sound, error))
        return false;
    g_autoptr(GBytes) diff = acr_overlay_diff(work->overlay, error);
    if (!diff)
        return false;
    if (!sound)
        *out = ACR_MATCHED_BUT_BREAKS_SYNTAX;
    else if (acr_work_count(work, ACR_EDIT_EMPTY_ORIGINAL) > 0)
        *out = ACR_MATCHED_BUT_EMPTY_ORIGIN;
    else
        *out = g_bytes_get_size(diff) == 0 ? ACR_MATCHED_BUT_EMPTY_DIFF : ACR_APPLICABLE_PATCH;
    *out_diff = g_steal_pointer(&diff);
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
    g_clear_pointer(&work->repaired, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Work, work_clear)

static void work_init(Work *work, const AcrPatchContext *context, const char *answer, gsize len)
{
    *work = (Work){.context = context,
                   .answer = answer,
                   .len = MIN(len, ACR_PATCH_MAX_ANSWER),
                   .cut = len > ACR_PATCH_MAX_ANSWER};
    if (work->len > 0 && !acr_utf8_is_text(answer, work->len)) {
        work->repaired = acr_utf8_repair(answer, work->len);
        work->answer = work->repaired;
        work->len = MIN(strlen(work->repaired), ACR_PATCH_MAX_ANSWER);
    }
    work->names = acr_file_names_new(context->snapshot);
    work->edits = acr_patch_parse(work->answer, work->len);
    work->outcomes = g_ptr_array_new_with_free_func(outcome_free);
    work->files = g_ptr_array_new_with_free_func(file_free);
    work->by_path = g_hash_table_new(g_str_hash, g_str_equal);
    work->places = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
    work->overlay = acr_overlay_new(context->snapshot);
    for (guint i = 0; i < work->edits->len; i++) {
        AcrEditOutcome *outcome = g_new0(AcrEditOutcome, 1);
        outcome->file = g_strdup(edit_at(work, i)->file);
        g_ptr_array_add(work->outcomes, outcome);
    }
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
    if (!finish_files(&work, error) || !judge(&work, &diff, &status, error))
        return false;
    *out = (AcrPatchResult){.status = status, .message = acr_work_message(&work, status)};
    out->edits = g_steal_pointer(&work.outcomes);
    if (status == ACR_APPLICABLE_PATCH) {
        out->diff = g_steal_pointer(&diff);
        out->overlay = g_steal_pointer(&work.overlay);
    }
    return true;
}
