/*
 * The replacement of a hunk whose old text stands in the file as it is: a diff says line by line
 * what stays and what does not, so its new lines are taken as they are, and get the line ends of
 * the file. There is one reading. Whether the file's last line has a line end changes only if the
 * diff says so.
 */
#include <string.h>

#include "patch/apply_private.h"

/* The lines that differ: of the file [first, last), of the new text [from, to). */
typedef struct {
    gsize first, last, from, to;
    bool open; /* the last of the new lines gets no line end */
} Changed;

/* Whether line `line - 1` has no line end. */
static bool is_open(const AcrSource *source, gsize line)
{
    return line > 0 && source->lines.line[line - 1].full == source->lines.line[line - 1].len;
}

static Changed find_changed(const AcrSource *source, const AcrEdit *edit, const AcrLines *new,
                            const AcrPlace *place)
{
    const AcrLine *old = source->lines.line;
    Changed changed = {place->first, place->last, 0, new->n, false};
    bool was_open = is_open(source, place->last);
    if (place->last == source->lines.n)
        changed.open = edit->bare || (was_open && !edit->was_bare);
    gsize kept = changed.open != was_open; /* the last line is written again */
    while (changed.first + kept < changed.last && changed.from + kept < changed.to &&
           acr_line_same_exact(&old[changed.first], &new->line[changed.from])) {
        bool last_of_one = changed.from + 1 == changed.to && changed.first + 1 < changed.last;
        if (changed.open && last_of_one)
            break; /* it loses the line end that it has */
        changed.first++;
        changed.from++;
    }
    while (kept == 0 && changed.first < changed.last && changed.from < changed.to &&
           acr_line_same_exact(&old[changed.last - 1], &new->line[changed.to - 1])) {
        changed.last--;
        changed.to--;
    }
    bool at_end = changed.last == source->lines.n;
    bool blank = changed.to > changed.from && new->line[changed.to - 1].len == 0;
    changed.open = changed.open && at_end && !blank;
    return changed;
}

static gsize line_offset(const AcrSource *source, gsize line)
{
    const AcrLines *lines = &source->lines;
    if (line < lines->n)
        return (gsize)(lines->line[line].s - source->text.text);
    const AcrLine *last = &lines->line[lines->n - 1];
    return (gsize)(last->s - source->text.text) + last->full;
}

bool acr_patch_verbatim_fits(const AcrEdit *edit, const AcrMatch *match, const AcrPlace *place)
{
    return edit->form == ACR_EDIT_DIFF && match->level == ACR_LEVEL_EXACT && !place->inside &&
           !place->map && place->last > place->first &&
           place->last - place->first == match->original.n;
}

GArray *acr_patch_verbatim(const AcrSource *source, const AcrEdit *edit, const AcrMatch *match,
                           const AcrPlace *place)
{
    GArray *readings = g_array_new(FALSE, FALSE, sizeof(AcrSplice));
    g_autoptr(GString) text = g_string_new(NULL);
    AcrLine blank = acr_line_make("", 0, 0);
    const AcrLines one_blank = {&blank, 1};
    const AcrLines *new = edit->one_blank ? &one_blank : &match->patched;
    Changed changed = find_changed(source, edit, new, place);
    bool appended = changed.first == changed.last && is_open(source, changed.last);
    gsize off = line_offset(source, changed.first), end = line_offset(source, changed.last);
    for (gsize i = changed.from; i < changed.to; i++) {
        const AcrLine *line = &new->line[i];
        gsize at = MIN(changed.first + (i - changed.from), MAX(changed.last, 1) - 1);
        const char *eol = acr_source_eol(source, at);
        if (appended && i == changed.from)
            g_string_append(text, eol);
        g_string_append_len(text, line->s, (gssize)line->len);
        if (i + 1 < changed.to || !changed.open)
            g_string_append(text, eol);
    }
    AcrSplice splice = {off, end - off, g_strdup(text->str)};
    g_array_set_clear_func(readings, (GDestroyNotify)acr_splice_clear);
    g_array_append_val(readings, splice);
    return readings;
}
