/*
 * The edits of one file beside each other: those that stand twice in the answer count once, also
 * when they are written in two forms (tags, and a diff of the same change), and those that change
 * the lines of another are refused.
 */
#include <string.h>

#include "patch/apply_private.h"

gint acr_patch_located_compare(gconstpointer a, gconstpointer b)
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

/* ---- The same change in two forms --------------------------------------------------------------
 */

static AcrEditForm form_of(const Work *work, const Located *located)
{
    return edit_at(work, located->number)->form;
}

static bool has_two_forms(const Work *work, const File *file)
{
    for (guint i = 1; i < file->located->len; i++)
        if (form_of(work, file->located->pdata[i]) != form_of(work, file->located->pdata[0]))
            return true;
    return false;
}

/* Appends to `text` what the edits of other forms inside the span of edit `i` make of that span;
 * false when there is none, or one that is not wholly inside. */
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

/* Takes out edits that say in another form what finer ones say as well. */
static void drop_repeats(const Work *work, File *file)
{
    for (guint i = 0; i < file->located->len && has_two_forms(work, file);) {
        const Located *located = file->located->pdata[i];
        g_autoptr(GString) text = g_string_new(NULL);
        if (make_span(work, file, i, text) &&
            strcmp(text->str, g_array_index(located->readings, AcrSplice, 0).with) == 0)
            g_ptr_array_remove_index(file->located, i);
        else
            i++;
    }
}

void acr_settle_file(const Work *work, File *file)
{
    g_ptr_array_sort(file->located, acr_patch_located_compare);
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
            acr_work_refuse(
                work, later, ACR_EDIT_OVERLAP,
                g_strdup_printf("it changes lines that edit %u changes too", earlier + 1));
            g_ptr_array_remove_index(file->located, here->number == later ? i : i - 1);
            i = MAX(i, 2) - 1;
            continue;
        }
        i++;
    }
}
