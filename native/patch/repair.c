/*
 * Other readings of a replacement, for a file that compiled and with its edits does not: the whole
 * replacement shifted (of a diff its new lines) to an indentation that a line next to it has, and
 * imports in front of a definition moved above its decorators. One is taken only where it is the
 * only one that compiles.
 */
#include "patch/apply_private.h"

#define MAX_LINES 2000u /* of a replacement that is shifted */
#define MAX_TRIES 64u   /* compilations for one file */

/* Line k of the result, as it would be written. */
static AcrLine line_of(const Fit *fit, gsize k)
{
    const NewLine *line = &g_array_index(fit->lines, NewLine, k);
    gsize len = line->text ? strlen(line->text) : 0;
    return line->keep >= 0 ? fit->source->lines.line[line->keep]
                           : acr_line_make(line->text, len, len);
}

static bool is_new(const Fit *fit, gsize k)
{
    return g_array_index(fit->lines, NewLine, k).keep < 0;
}

/* The nearest line of code in front of line `from` of the result; false: there is none. */
static bool code_before(const Fit *fit, gsize from, AcrLine *out)
{
    while (from-- > 0) {
        *out = line_of(fit, from);
        if (acr_line_is_code(out))
            return true;
    }
    for (gsize f = fit->place->first; f-- > 0;) {
        *out = fit->source->lines.line[f];
        if (acr_line_is_code(out))
            return true;
    }
    return false;
}

/* The same behind line `to`, exclusive. */
static bool code_behind(const Fit *fit, gsize to, AcrLine *out)
{
    for (; to < fit->lines->len; to++) {
        *out = line_of(fit, to);
        if (acr_line_is_code(out))
            return true;
    }
    for (gsize f = fit->place->last; f < fit->source->lines.n; f++) {
        *out = fit->source->lines.line[f];
        if (acr_line_is_code(out))
            return true;
    }
    return false;
}

/* Whether the result has code that the file has not: where lines are only deleted, those that stay are
 * where they belong. */
static bool has_new_code(const Fit *fit)
{
    for (gsize k = 0; k < fit->lines->len; k++) {
        AcrLine line = line_of(fit, k);
        if (is_new(fit, k) && acr_line_is_code(&line))
            return true;
    }
    return false;
}

/* The lines of the result that are shifted: from the first to behind the last, [*from, *to). */
static bool find_shifted(const Fit *fit, bool only_new, gsize *from, gsize *to)
{
    *from = 0;
    *to = fit->lines->len;
    while (only_new && *from < *to && !is_new(fit, *from))
        (*from)++;
    while (only_new && *to > *from && !is_new(fit, *to - 1))
        (*to)--;
    return *from < *to && *to - *from <= MAX_LINES;
}

/* The columns that the lines around [from, to) have. */
static gsize list_widths(const Fit *fit, gsize from, gsize to, gsize widths[4])
{
    gsize n = 0;
    AcrLine line;
    if (code_before(fit, from, &line)) {
        widths[n++] = acr_line_width(&line);
        if (acr_line_last(&line) == ':')
            widths[n++] = acr_line_width(&line) + fit->step;
    }
    if (fit->place->first < fit->place->last)
        widths[n++] = acr_line_width(&fit->source->lines.line[fit->place->first]);
    if (code_behind(fit, to, &line))
        widths[n++] = acr_line_width(&line);
    return n;
}

/* Shifts the lines [from, to) of the result so that the first line of code of them has `width`
 * columns; false: it has them, or a line would begin in front of the first column. */
static bool shift_lines(Fit *fit, bool only_new, gsize from, gsize to, gsize width)
{
    gssize shift = 0;
    bool known = false;
    for (gsize k = from; k < to && !known; k++) {
        AcrLine line = line_of(fit, k);
        known = acr_line_is_code(&line) && (!only_new || is_new(fit, k));
        shift = known ? (gssize)width - (gssize)acr_line_width(&line) : 0;
    }
    for (gsize k = from; k < to && shift != 0; k++) {
        NewLine *new = &g_array_index(fit->lines, NewLine, k);
        AcrLine line = line_of(fit, k);
        if (acr_line_is_blank(&line) || (only_new && new->keep >= 0))
            continue;
        if ((gssize)acr_line_width(&line) + shift < 0)
            return false;
        g_autofree char *lead = acr_fit_shift_lead(fit, line.s, line.lead, shift);
        char *text =
            g_strdup_printf("%s%.*s", lead, (int)(line.len - line.lead), line.s + line.lead);
        g_free(new->text);
        *new = (NewLine){.keep = -1, .text = text};
    }
    return shift != 0;
}

static void add_shifted(Fit *fit, const AcrEdit *edit, GArray *out)
{
    bool only_new = edit->form == ACR_EDIT_DIFF;
    gsize widths[4], from, to;
    acr_fit_lines(fit, edit);
    if (!has_new_code(fit) || !find_shifted(fit, only_new, &from, &to))
        return;
    gsize n = list_widths(fit, from, to, widths);
    for (gsize i = 0; i < n; i++) {
        acr_fit_lines(fit, edit);
        if (shift_lines(fit, only_new, from, to, widths[i]))
            acr_fit_add(fit, edit, out);
    }
}

static bool begins_with(const AcrLine *line, const char *word)
{
    gsize n = strlen(word);
    return line->core >= n && strncmp(line->s + line->lead, word, n) == 0;
}

/* How many lines of imports and blank ones stand in front of a definition; 0: none. */
static gsize count_imports(const Fit *fit)
{
    gsize k = 0;
    bool any = false;
    for (; k < fit->lines->len; k++) {
        AcrLine line = line_of(fit, k);
        bool import = begins_with(&line, "import ") || begins_with(&line, "from ");
        if (!import && !acr_line_is_blank(&line))
            return any && (begins_with(&line, "def ") || begins_with(&line, "async def ") ||
                           begins_with(&line, "class ") || begins_with(&line, "@"))
                       ? k
                       : 0;
        any = any || import;
    }
    return 0;
}

/* The place begins behind decorators, of a line each, and the replacement with imports. */
static void add_import_above(Fit *fit, const AcrEdit *edit, GArray *out)
{
    const AcrLine *lines = fit->source->lines.line;
    gsize first = fit->place->first;
    while (first > 0 && begins_with(&lines[first - 1], "@"))
        first--;
    acr_fit_lines(fit, edit);
    gsize imports = count_imports(fit);
    if (first == fit->place->first || imports == 0)
        return;
    AcrPlace wider = *fit->place;
    for (gsize f = first; f < fit->place->first; f++) {
        NewLine kept = {.keep = (gssize)f};
        g_array_insert_val(fit->lines, imports + f - first, kept);
    }
    wider.first = first;
    wider.map = NULL; /* the result is made: it is not asked for any more */
    const AcrPlace *place = fit->place;
    fit->place = &wider;
    acr_fit_add(fit, edit, out);
    fit->place = place;
}

/* ---- Taking one ------------------------------------------------------------------------------ */

/* The splices of the file's edits with one in place of that of edit `at`; false: it touches the
 * lines of another. */
static bool lay_out(const File *file, guint at, const AcrSplice *repair, const AcrSplice **out)
{
    gsize end = 0;
    for (guint i = 0; i < file->located->len; i++) {
        const Located *located = file->located->pdata[i];
        out[i] = i == at ? repair : &g_array_index(located->readings, AcrSplice, located->chosen);
        if (out[i]->off < end)
            return false;
        end = out[i]->off + out[i]->len;
    }
    return true;
}

/* The other readings of one edit; owned. */
static GArray *list_repairs(const Work *work, const File *file, const Located *located)
{
    const AcrMatch *match = &located->match;
    GArray *repairs = acr_splices_new();
    g_autofree char *unused = NULL;
    g_auto(Fit) fit = {0};
    if (!match->places || located->place.inside || match->level == ACR_LEVEL_SIMILAR ||
        match->patched.n > MAX_LINES)
        return repairs;
    const AcrEdit *edit = edit_at(work, located->number);
    acr_fit_init(&fit, file->source, edit, match, &located->place);
    if (match->level != ACR_LEVEL_ELISION)
        add_shifted(&fit, edit, repairs);
    add_import_above(&fit, edit, repairs);
    if (!acr_patch_can_encode(file->source, repairs, &unused))
        g_array_set_size(repairs, 0);
    return repairs;
}

/* Compiles the file with one splice in place of that of edit `at`; *out (owned): the file, where it
 * compiles. */
static bool try_repair(const Work *work, const File *file, guint at, const AcrSplice *repair,
                       GBytes **out, GError **error)
{
    const AcrReferee *referee = work->context->referee;
    g_autofree const AcrSplice **splices = g_new0(const AcrSplice *, file->located->len + 1);
    g_autofree char *message = NULL;
    bool ok = false;
    if (!lay_out(file, at, repair, splices))
        return true;
    g_autoptr(GBytes) bytes = acr_splices_apply(file->source, splices, file->located->len, error);
    if (!bytes || !referee->compiles(referee->ctx, file->path, bytes, &ok, &message, error))
        return false;
    if (ok)
        *out = g_steal_pointer(&bytes);
    return true;
}

bool acr_patch_repair(const Work *work, File *file, GError **error)
{
    g_autoptr(GBytes) found = NULL;
    guint sound = 0, tries = 0;
    for (guint i = 0; i < file->located->len && file->waiting->len == 0; i++) {
        g_autoptr(GArray) repairs = list_repairs(work, file, file->located->pdata[i]);
        for (guint k = 0; k < repairs->len && tries < MAX_TRIES; k++, tries++) {
            GBytes *bytes = NULL;
            if (!try_repair(work, file, i, &g_array_index(repairs, AcrSplice, k), &bytes, error))
                return false;
            sound += bytes != NULL;
            if (found && bytes)
                g_bytes_unref(bytes);
            else if (bytes)
                found = bytes;
        }
    }
    if (sound != 1 || tries == MAX_TRIES)
        return true;
    g_bytes_unref(file->after);
    file->after = g_steal_pointer(&found);
    g_clear_pointer(&file->broken, g_free);
    return true;
}
