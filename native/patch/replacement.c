/* Builds the replacement for a place: a splice that covers only the bytes that change.
 *
 * Lines of <patched> that are also lines of <original> are not written, so the file's own bytes
 * stay. New lines get the same line ends as the lines at the place. A hunk of a diff says which
 * lines stay; if its old text was found exactly, its new lines are used as written, and the line
 * end of the file's last line changes only if the diff says so. */
#include <string.h>

#include "patch/replacement_private.h"

static void clear_splice(gpointer data)
{
    g_free(((AcrSplice *)data)->with);
}

GArray *acr_splices_new(void)
{
    GArray *splices = g_array_new(FALSE, FALSE, sizeof(AcrSplice));
    g_array_set_clear_func(splices, clear_splice);
    return splices;
}

static void clear_line(gpointer data)
{
    g_free(((NewLine *)data)->text);
}

/* Keeps the lines of the file that the elision in line j of the quote represents. */
static void keep_elided(Fit *fit, gsize j)
{
    gsize before = j, after = j;
    while (before > 0 && file_line(fit, before) < 0)
        before--;
    while (after + 1 < fit->match->original.n && file_line(fit, after) < 0)
        after++;
    for (gssize f = file_line(fit, before) + 1; f < file_line(fit, after); f++)
        acr_fit_keep(fit, f);
}

/* Returns the number of the quote's line that is elision number n, counted from 0; -1 if there is
 * none. */
static gssize nth_elision(const AcrLines *quote, gsize n)
{
    for (gsize j = 0; j < quote->n; j++)
        if (acr_line_is_elision(&quote->line[j]) && n-- == 0)
            return (gssize)j;
    return -1;
}

static void make_lines(Fit *fit, Reading reading)
{
    const AcrLines *patched = &fit->match->patched;
    bool elided = fit->match->level == ACR_LEVEL_ELISION;
    gssize at = -1;
    gsize elisions = 0;
    g_array_set_size(fit->lines, 0);
    for (gsize k = 0; k < patched->n; k++) {
        gssize j = fit->paired[k];
        if (elided && acr_line_is_elision(&patched->line[k])) {
            at = nth_elision(&fit->match->original, elisions++);
            if (at >= 0)
                keep_elided(fit, (gsize)at);
            continue;
        }
        if (j < 0 || reading != READ_AS_ORIGINAL) {
            acr_fit_write(fit, reading, k, MAX(at, 0), NULL);
            continue;
        }
        if (file_line(fit, (gsize)j) >= 0)
            acr_fit_keep(fit, file_line(fit, (gsize)j));
        at = j;
    }
}

static gsize offset_of(const AcrSource *source, gsize line)
{
    if (line >= source->lines.n)
        return source->text.len;
    return (gsize)(source->lines.line[line].s - source->text.text);
}

/* Replaces new lines that equal a line of the file by the line of the file. With `exact`, the
 * blanks at the ends of lines must be equal too. */
static void restore_lines(Fit *fit, bool exact)
{
    const AcrLine *old = fit->source->lines.line + fit->place->first;
    g_autofree AcrLine *made = g_new(AcrLine, fit->lines->len + 1);
    g_autofree gssize *same = g_new(gssize, fit->lines->len + 1);
    for (guint k = 0; k < fit->lines->len; k++) {
        const NewLine *line = &g_array_index(fit->lines, NewLine, k);
        made[k] = line->keep >= 0
                      ? fit->source->lines.line[line->keep]
                      : acr_line_make(line->text, strlen(line->text), strlen(line->text));
    }
    acr_lines_align(old, fit->place->last - fit->place->first, made, fit->lines->len, same);
    for (guint k = 0; k < fit->lines->len; k++) {
        NewLine *line = &g_array_index(fit->lines, NewLine, k);
        if (line->keep < 0 && same[k] >= 0 &&
            (!exact || acr_line_same_exact(&made[k], &old[same[k]])))
            line->keep = (gssize)fit->place->first + same[k];
    }
}

/* Whether line f of the file has no line end. */
static bool is_bare(const AcrSource *source, gsize f)
{
    return source->lines.line[f].full == source->lines.line[f].len;
}

/* Whether line k of the result equals line f of the file, including its line end. `bare` means
 * that the last line of the result has no line end. */
static bool stays(const Fit *fit, gsize k, gsize f, bool bare)
{
    return g_array_index(fit->lines, NewLine, k).keep == (gssize)f &&
           (bare && k + 1 == fit->lines->len) == is_bare(fit->source, f);
}

/* Makes a splice from the lines of the result, without the unchanged lines at its beginning and
 * end. */
static AcrSplice make_splice(Fit *fit, bool bare)
{
    const AcrSource *source = fit->source;
    const char *eol = acr_source_eol(source, fit->place->first);
    gsize first = fit->place->first, last = fit->place->last, from = 0, to = fit->lines->len;
    g_autoptr(GString) text = g_string_new(NULL);
    for (; first < last && from < to && stays(fit, from, first, bare); first++)
        from++;
    for (; first < last && from < to && stays(fit, to - 1, last - 1, bare); last--)
        to--;
    for (gsize k = from; k < to; k++) {
        const NewLine *line = &g_array_index(fit->lines, NewLine, k);
        const AcrLine *kept = line->keep >= 0 ? &source->lines.line[line->keep] : NULL;
        if (kept)
            g_string_append_len(text, kept->s, (gssize)kept->len);
        else
            g_string_append(text, line->text);
        if (bare && k + 1 == fit->lines->len)
            break;
        if (kept && kept->full > kept->len)
            g_string_append_len(text, kept->s + kept->len, (gssize)(kept->full - kept->len));
        else
            g_string_append(text, eol);
    }
    gsize off = offset_of(source, first);
    return (AcrSplice){off, offset_of(source, last) - off,
                       g_string_free(g_steal_pointer(&text), FALSE)};
}

static void add_reading(GArray *readings, AcrSplice splice)
{
    for (guint i = 0; i < readings->len; i++) {
        const AcrSplice *other = &g_array_index(readings, AcrSplice, i);
        if (other->off == splice.off && other->len == splice.len &&
            strcmp(other->with, splice.with) == 0) {
            g_free(splice.with);
            return;
        }
    }
    g_array_append_val(readings, splice);
}

/* Makes a splice inside a line: the lines of <patched> from the second on are used as written, or
 * shifted by the indentation of the line in which they begin. */
static AcrSplice splice_inside(const Fit *fit, Reading reading)
{
    const AcrLines *lines = &fit->source->lines, *patched = &fit->match->patched;
    const AcrLine *first = &lines->line[fit->place->first];
    const char *eol = acr_source_eol(fit->source, fit->place->first);
    g_autoptr(GString) text = g_string_new(NULL);
    for (gsize k = 0; k < patched->n; k++) {
        const AcrLine *line = &patched->line[k];
        if (k > 0)
            g_string_append(text, eol);
        if (k > 0 && reading == READ_RELATIVE && !acr_line_is_blank(line))
            g_string_append_len(text, first->s, (gssize)first->lead);
        g_string_append_len(text, line->s, (gssize)line->len);
    }
    gsize off = offset_of(fit->source, fit->place->first) + fit->place->column;
    return (AcrSplice){off, fit->match->original.line[0].len,
                       g_string_free(g_steal_pointer(&text), FALSE)};
}

/* Whether the result's last line has no line end. For an exact hunk, the diff decides; otherwise
 * the line end of the file's last line does not change. */
static bool ends_bare(const Fit *fit, const AcrEdit *edit)
{
    bool is_now = is_bare(fit->source, fit->place->last - 1);
    if (!fit->verbatim)
        return is_now;
    return fit->place->last == fit->source->lines.n &&
           (edit->bare || (is_now && !edit->was_bare)) &&
           (fit->lines->len == 0 || *g_array_index(fit->lines, NewLine, fit->lines->len - 1).text);
}

/* Makes the new text of a hunk, line by line. */
static void make_verbatim(Fit *fit, const AcrEdit *edit)
{
    const AcrLines *patched = &fit->match->patched;
    for (gsize k = 0; k < patched->n + edit->one_blank; k++) {
        const AcrLine *line = k < patched->n ? &patched->line[k] : NULL;
        NewLine new = {.keep = -1, .text = line ? g_strndup(line->s, line->len) : g_strdup("")};
        g_array_append_val(fit->lines, new);
    }
}

/* Makes the lines of one reading. Returns false with *out_why (owned) if the replacement does
 * not fit. */
static bool make_reading(Fit *fit, const AcrEdit *edit, Reading reading, char **out_why)
{
    if (fit->verbatim) {
        g_array_set_size(fit->lines, 0);
        make_verbatim(fit, edit);
    } else if (fit->match->level != ACR_LEVEL_SIMILAR) {
        make_lines(fit, reading);
    } else if (!acr_fit_transplant(fit, reading, out_why)) {
        return false;
    }
    return true;
}

void acr_fit_init(Fit *fit, const AcrSource *source, const AcrEdit *edit, const AcrMatch *match,
                  const AcrPlace *place)
{
    *fit = (Fit){.source = source, .match = match, .place = place};
    fit->verbatim = edit->form == ACR_EDIT_DIFF && match->level == ACR_LEVEL_EXACT &&
                    !place->inside && place->last - place->first == match->original.n;
    acr_indentation_init(fit);
    fit->paired = g_new(gssize, match->patched.n + 1);
    acr_lines_align(match->original.line, match->original.n, match->patched.line, match->patched.n,
                    fit->paired);
    fit->lines = g_array_new(FALSE, FALSE, sizeof(NewLine));
    g_array_set_clear_func(fit->lines, clear_line);
}

void acr_fit_clear(Fit *fit)
{
    g_clear_pointer(&fit->lines, g_array_unref);
    g_clear_pointer(&fit->paired, g_free);
}
GArray *acr_replacement_readings(const AcrSource *source, const AcrEdit *edit,
                                 const AcrMatch *match, const AcrPlace *place, char **out_why)
{
    GArray *readings = acr_splices_new();
    g_auto(Fit) fit = {0};
    gsize n = 0;
    *out_why = NULL;
    acr_fit_init(&fit, source, edit, match, place);
    if (place->inside) {
        add_reading(readings, splice_inside(&fit, READ_RELATIVE));
        add_reading(readings, splice_inside(&fit, READ_ABSOLUTE));
        return readings;
    }
    const Reading *order = acr_indentation_order(&fit, &n);
    for (gsize i = 0; i < (fit.verbatim ? 1 : n); i++) {
        if (!make_reading(&fit, edit, order[i], out_why))
            break;
        restore_lines(&fit, fit.verbatim);
        add_reading(readings, make_splice(&fit, ends_bare(&fit, edit)));
    }
    return readings;
}

/* Copies the bytes of the file for text [from, to) to `out`, and moves *pos after them. */
static bool keep_bytes(const AcrSource *source, const AcrText *plain, gsize from, gsize to,
                       gsize *pos, GByteArray *out, GError **error)
{
    if (from == to)
        return true;
    gsize size = 0, len = 0;
    const guint8 *data = g_bytes_get_data(source->bytes, &size);
    g_autoptr(GBytes) bytes = acr_text_encode(plain, plain->text + from, to - from, error);
    if (!bytes)
        return false;
    const void *encoded = g_bytes_get_data(bytes, &len);
    if (len > size - *pos || (len > 0 && memcmp(encoded, data + *pos, len) != 0))
        return acr_set_error(
            error, ACR_PATCH_ERROR, ACR_PATCH_ERROR_FAILED,
            "'%s' cannot be decoded as %s and encoded again without changing bytes", source->path,
            source->text.encoding);
    g_byte_array_append(out, data + *pos, (guint)len);
    *pos += len;
    return true;
}

GBytes *acr_splices_apply(const AcrSource *source, const AcrSplice *const *splices, gsize n,
                          GError **error)
{
    static const guint8 mark[] = {0xef, 0xbb, 0xbf};
    AcrText plain = source->text;
    g_autoptr(GByteArray) out = g_byte_array_new();
    gsize pos = 0, at = 0;
    if (n == 0)
        return g_bytes_ref(source->bytes);
    if (source->text.binary || !source->text.exact)
        return ACR_NULL(acr_set_error(error, ACR_PATCH_ERROR, ACR_PATCH_ERROR_FAILED,
                                      "'%s' cannot be edited as text", source->path));
    plain.bom = false;
    if (source->text.bom) {
        g_byte_array_append(out, mark, sizeof mark);
        pos = sizeof mark;
    }
    for (gsize i = 0; i <= n; i++) {
        gsize to = i < n ? splices[i]->off : source->text.len;
        if (!keep_bytes(source, &plain, at, to, &pos, out, error))
            return NULL;
        if (i == n)
            break;
        g_autoptr(GByteArray) unused = g_byte_array_new();
        if (!keep_bytes(source, &plain, to, to + splices[i]->len, &pos, unused, error))
            return NULL;
        g_autoptr(GBytes) with =
            acr_text_encode(&plain, splices[i]->with, strlen(splices[i]->with), error);
        if (!with)
            return NULL;
        gsize len = 0;
        const guint8 *data = g_bytes_get_data(with, &len);
        g_byte_array_append(out, data, (guint)len);
        at = to + splices[i]->len;
    }
    return g_byte_array_free_to_bytes(g_steal_pointer(&out));
}
