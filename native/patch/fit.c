/*
 * Fitting: the replacement as it must stand at the place that was found.
 *
 * Lines of <patched> that are also lines of <original> are not written anew: the file's own bytes
 * stay. New lines get their indentation from the file, by one of three readings: in the coordinates
 * of <original> (its lines show what the model's indentation means there), relative to the first
 * line of <patched>, or absolute from the second line on. Line ends are those of the place. The
 * result is a splice that covers only what changes.
 */
#include <string.h>

#include "patch/fit_private.h"

#define DEFAULT_STEP 4u

void acr_splice_clear(AcrSplice *splice)
{
    if (splice)
        g_clear_pointer(&splice->with, g_free);
}

static void clear_splice(gpointer data)
{
    acr_splice_clear(data);
}

static void clear_line(gpointer data)
{
    g_free(((NewLine *)data)->text);
}

static gsize width_of(const AcrLine *line)
{
    return acr_line_width(line->s, line->lead);
}

static gssize first_code(const AcrLines *lines)
{
    for (gsize i = 0; i < lines->n; i++)
        if (!acr_line_is_blank(&lines->line[i]))
            return (gssize)i;
    return -1;
}

static gsize smallest_step(const AcrLines *lines)
{
    gsize step = 0;
    const AcrLine *last = NULL;
    for (gsize i = 0; i < lines->n; i++) {
        const AcrLine *line = &lines->line[i];
        if (acr_line_is_blank(line))
            continue;
        if (memchr(line->s, '\t', line->lead))
            return 8;
        gsize a = last ? width_of(last) : width_of(line), b = width_of(line),
              d = a > b ? a - b : b - a;
        if (d > 0 && (step == 0 || d < step))
            step = d;
        last = line;
    }
    return step;
}

/* The first line of the quote has no indentation although it has in the file, and that of the
 * others is right. */
static bool lost_first_lead(const Fit *fit)
{
    const AcrLines *quote = &fit->match->original;
    if (quote->n < 2 || quote->line[0].lead > 0 || quote->line[0].core == 0 ||
        file_line(fit, 0) < 0 || fit->source->lines.line[file_line(fit, 0)].lead == 0)
        return false;
    bool any = false;
    for (gsize j = 1; j < quote->n; j++) {
        gssize f = file_line(fit, j);
        if (acr_line_is_blank(&quote->line[j]) || f < 0)
            continue;
        if (!acr_line_same_trimmed(&quote->line[j], &fit->source->lines.line[f]))
            return false;
        any = true;
    }
    return any;
}

/* `lead` made wider or narrower by some columns, in the kind of blanks that it has. Owned. */
static char *shift_lead(const Fit *fit, const char *lead, gsize len, gssize columns)
{
    bool tabs = memchr(lead, '\t', len) != NULL;
    if (len == 0) { /* the file's other lines tell */
        for (gsize i = fit->place->first; i < fit->place->last && !tabs; i++)
            tabs = fit->source->lines.line[i].lead > 0 && fit->source->lines.line[i].s[0] == '\t';
    }
    GString *out = g_string_new_len(lead, (gssize)len);
    if (columns < 0) {
        gsize less = (gsize)-columns;
        if (tabs)
            less = (less + fit->step - 1) / fit->step;
        g_string_truncate(out, less < out->len ? out->len - less : 0);
    } else if (tabs) {
        for (gsize i = 0; i < (gsize)columns / fit->step; i++)
            g_string_append_c(out, '\t');
        for (gsize i = 0; i < (gsize)columns % fit->step; i++)
            g_string_append_c(out, ' ');
    } else {
        for (gssize i = 0; i < columns; i++)
            g_string_append_c(out, ' ');
    }
    return g_string_free(out, FALSE);
}

/* Whether a quote line that has a line of the file stands at its begin. */
static bool begins_line(const Fit *fit, gsize j)
{
    const gssize *map = fit->place->map;
    for (gsize i = j; fit->match->level == ACR_LEVEL_SIMILAR && i-- > 0;)
        if (map[i] >= 0)
            return map[fit->match->original.n + i] <= map[j];
    return true;
}

static bool is_anchor(const Fit *fit, gssize j)
{
    return j >= 0 && (gsize)j < fit->match->original.n &&
           !acr_line_is_blank(&fit->match->original.line[j]) && file_line(fit, (gsize)j) >= 0 &&
           begins_line(fit, (gsize)j) && !(fit->first_lost && j == 0);
}

/* The quote line whose indentation explains that of a new line near quote line `at`: the nearest of
 * equal width, else the nearest before, else after. -1: there is none. */
static gssize find_anchor(const Fit *fit, gssize at, gsize width)
{
    const AcrLines *quote = &fit->match->original;
    gssize nearest = -1, n = (gssize)quote->n;
    for (gssize d = 0; d <= n; d++) {
        for (int side = 0; side < 2; side++) {
            gssize j = side == 0 ? at - d : at + d;
            if (!is_anchor(fit, j))
                continue;
            if (width_of(&quote->line[j]) == width)
                return j;
            if (nearest < 0)
                nearest = j;
        }
    }
    return nearest;
}

static char *lead_as_original(const Fit *fit, const AcrLine *line, gssize at)
{
    AcrLevel level = fit->match->level;
    if (level == ACR_LEVEL_EXACT || level == ACR_LEVEL_TRAILING)
        return g_strndup(line->s, line->lead);
    gsize width = width_of(line);
    bool lost =
        fit->first_lost && at <= 0 && line == &fit->match->patched.line[0] && line->lead == 0;
    gssize j = lost ? 0 : find_anchor(fit, at, width);
    if (j < 0)
        return g_strndup(line->s, line->lead);
    const AcrLine *theirs = &fit->source->lines.line[file_line(fit, (gsize)j)];
    return shift_lead(fit, theirs->s, theirs->lead,
                      (gssize)width - (gssize)width_of(&fit->match->original.line[j]));
}

/* The file's line that the first quoted line of code stands for. */
static const AcrLine *first_file_line(const Fit *fit)
{
    gssize j = first_code(&fit->match->original);
    gssize f = j < 0 ? -1 : file_line(fit, (gsize)j);
    return f < 0 ? NULL : &fit->source->lines.line[f];
}

static char *lead_of(const Fit *fit, Reading reading, gsize k, gssize at)
{
    const AcrLine *line = &fit->match->patched.line[k], *anchor = first_file_line(fit);
    gssize first = first_code(&fit->match->patched);
    if (reading == READ_AS_ORIGINAL || !anchor || first < 0)
        return lead_as_original(fit, line, at);
    gssize shift = (gssize)width_of(line) - (gssize)width_of(&fit->match->patched.line[first]);
    if (reading == READ_RELATIVE || (gssize)k == first)
        return shift_lead(fit, anchor->s, anchor->lead, shift);
    return g_strndup(line->s, line->lead);
}

void acr_fit_keep(Fit *fit, gssize f)
{
    NewLine line = {.keep = f};
    g_array_append_val(fit->lines, line);
}

void acr_fit_write(Fit *fit, Reading reading, gsize k, gssize at, char *core)
{
    const AcrLine *line = &fit->match->patched.line[k];
    NewLine out = {.keep = -1};
    if (acr_line_is_blank(line)) {
        bool as_written =
            fit->match->level == ACR_LEVEL_EXACT || fit->match->level == ACR_LEVEL_TRAILING;
        out.text = g_strndup(line->s, as_written ? line->len : 0);
    } else {
        g_autofree char *lead = lead_of(fit, reading, k, at);
        out.text = core ? g_strconcat(lead, core, NULL)
                        : g_strdup_printf("%s%.*s", lead, (int)(line->len - line->lead),
                                          line->s + line->lead);
    }
    g_free(core);
    g_array_append_val(fit->lines, out);
}

/* The lines of the file that an elision of the quote (line j) stands for. */
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

/* Number of the quote's n-th elision. */
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

static gsize back_to_line(const char *s, gsize at)
{
    while (at > 0 && s[at - 1] != '\n' && !(s[at - 1] == '\r' && s[at] != '\n'))
        at--;
    return at;
}

/* Leaves out the lines at both ends that do not change. */
static AcrSplice trim_splice(const AcrSource *source, gsize off, gsize len, const char *with)
{
    const char *old = source->text.text + off;
    gsize new_len = strlen(with), head = 0, tail = 0, most = MIN(len, new_len);
    while (head < most && old[head] == with[head])
        head++;
    if (head < len || head < new_len)
        head = back_to_line(old, head);
    while (tail < most - head && old[len - 1 - tail] == with[new_len - 1 - tail])
        tail++;
    while (tail > 0) { /* forward to the next line that is whole on both sides */
        char last_old = len > tail ? old[len - tail - 1] : '\n',
             last_new = new_len > tail ? with[new_len - tail - 1] : '\n';
        bool whole = (len == tail + head || last_old == '\n') &&
                     (new_len == tail + head || last_new == '\n');
        if (whole && (head == 0 || old[head - 1] == '\n'))
            break;
        tail--;
    }
    return (AcrSplice){off + head, len - head - tail,
                       g_strndup(with + head, new_len - head - tail)};
}

/* Unchanged lines that were written anew become the file's own again. */
static void restore_lines(Fit *fit)
{
    gsize n = fit->place->last - fit->place->first;
    const AcrLine *old = fit->source->lines.line + fit->place->first;
    g_autofree AcrLine *made = g_new(AcrLine, fit->lines->len + 1);
    g_autofree gssize *same = g_new(gssize, fit->lines->len + 1);
    for (guint k = 0; k < fit->lines->len; k++) {
        const NewLine *line = &g_array_index(fit->lines, NewLine, k);
        made[k] = line->keep >= 0
                      ? fit->source->lines.line[line->keep]
                      : acr_line_make(line->text, strlen(line->text), strlen(line->text));
    }
    acr_lines_align(old, n, made, fit->lines->len, same);
    for (guint k = 0; k < fit->lines->len; k++) {
        NewLine *line = &g_array_index(fit->lines, NewLine, k);
        if (line->keep < 0 && same[k] >= 0)
            line->keep = (gssize)fit->place->first + same[k];
    }
}

static void make_splice(Fit *fit, AcrSplice *out)
{
    const AcrSource *source = fit->source;
    const char *eol = acr_source_eol(source, fit->place->first);
    const AcrLine *last =
        fit->place->last > fit->place->first ? &source->lines.line[fit->place->last - 1] : NULL;
    bool bare = last && last->full == last->len; /* the file ends here without a line end */
    g_autoptr(GString) text = g_string_new(NULL);
    restore_lines(fit);
    for (guint k = 0; k < fit->lines->len; k++) {
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
    gsize off = offset_of(source, fit->place->first);
    *out = trim_splice(source, off, offset_of(source, fit->place->last) - off, text->str);
}

static bool add_reading(GArray *readings, AcrSplice splice)
{
    for (guint i = 0; i < readings->len; i++) {
        const AcrSplice *other = &g_array_index(readings, AcrSplice, i);
        if (other->off == splice.off && other->len == splice.len &&
            strcmp(other->with, splice.with) == 0) {
            acr_splice_clear(&splice);
            return false;
        }
    }
    g_array_append_val(readings, splice);
    return true;
}

/* The lines of <patched> from the second on, as written or shifted by the indentation of the line
 * they begin in. */
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
    gsize off = offset_of(fit->source, fit->place->first) + fit->place->col_first;
    gsize end = offset_of(fit->source, fit->place->last - 1) + fit->place->col_last;
    return (AcrSplice){off, end - off, g_string_free(g_steal_pointer(&text), FALSE)};
}

static void readings_inside(const Fit *fit, GArray *readings)
{
    bool one = fit->match->original.n == 1;
    add_reading(readings, splice_inside(fit, one ? READ_RELATIVE : READ_ABSOLUTE));
    add_reading(readings, splice_inside(fit, one ? READ_ABSOLUTE : READ_RELATIVE));
}

/* Both parts lost the indentation of their first line only: the others of the quote are right where
 * they stand, so are those of the replacement. */
static bool shares_loss(const Fit *fit)
{
    gssize first = first_code(&fit->match->patched);
    return fit->first_lost && first == 0 && fit->match->patched.n > 1 &&
           fit->match->patched.line[0].lead == 0;
}

/* A line of the replacement behind its first is left of all lines of the quote. */
static bool is_left(const Fit *fit)
{
    gsize least = G_MAXSIZE;
    for (gsize j = fit->first_lost ? 1 : 0; j < fit->match->original.n; j++)
        if (!acr_line_is_blank(&fit->match->original.line[j]))
            least = MIN(least, width_of(&fit->match->original.line[j]));
    if (fit->first_lost)
        least = MIN(least, width_of(&fit->source->lines.line[file_line(fit, 0)]));
    for (gsize k = 1; k < fit->match->patched.n; k++)
        if (!acr_line_is_blank(&fit->match->patched.line[k]) &&
            width_of(&fit->match->patched.line[k]) < least)
            return true;
    return false;
}

/*
 * A line stands in both parts, blanks included, that is not the first without indentation (any
 * line, where the quote is exact), or both lost the indentation of their first; and no line is left
 * of the quote's: the replacement has the quote's coordinates.
 */
static bool shares_coordinates(const Fit *fit)
{
    if (is_left(fit))
        return false;
    if (shares_loss(fit))
        return true;
    bool exact = fit->match->level == ACR_LEVEL_EXACT || fit->match->level == ACR_LEVEL_TRAILING;
    for (gsize k = 0; k < fit->match->patched.n; k++) {
        const AcrLine *line = &fit->match->patched.line[k];
        bool telling = exact || line->lead > 0 || (k > 0 && fit->paired[k] > 0);
        if (fit->paired[k] >= 0 && line->core > 3 && telling)
            return true;
    }
    return false;
}

/*
 * The order in which readings are tried. A quote at its exact place was written in the file's
 * coordinates, and so was the replacement, unless it begins in the first column; of a quote that
 * was shifted as a whole the replacement may not be, and one that lost the indentation of its first
 * line only has a replacement that begins in the first column if any other line of it does.
 */
static const Reading *reading_order(const Fit *fit)
{
    static const Reading orders[][3] = {{READ_AS_ORIGINAL, READ_RELATIVE, READ_ABSOLUTE},
                                        {READ_RELATIVE, READ_AS_ORIGINAL, READ_ABSOLUTE},
                                        {READ_RELATIVE, READ_ABSOLUTE, READ_AS_ORIGINAL}};
    const AcrMatch *match = fit->match;
    gssize o = first_code(&match->original), p = first_code(&match->patched);
    if (match->level == ACR_LEVEL_INDENT)
        return orders[1];
    bool flush_left =
        o >= 0 && p >= 0 && match->patched.line[p].lead == 0 && match->original.line[o].lead > 0;
    return orders[flush_left || (fit->first_lost && is_left(fit)) ? 2 : 0];
}

static void readings_of_lines(Fit *fit, GArray *readings, char **out_why)
{
    bool one = fit->match->level == ACR_LEVEL_ELISION || shares_coordinates(fit);
    const Reading *order = one ? (const Reading[]){READ_AS_ORIGINAL} : reading_order(fit);
    gsize n = one ? 1 : 3;
    for (gsize i = 0; i < n; i++) {
        AcrSplice splice;
        if (fit->match->level != ACR_LEVEL_SIMILAR)
            make_lines(fit, order[i]);
        else if (!acr_fit_transplant(fit, order[i], out_why))
            return;
        make_splice(fit, &splice);
        add_reading(readings, splice);
    }
}

GArray *acr_fit_readings(const AcrSource *source, const AcrMatch *match, const AcrPlace *place,
                         char **out_why)
{
    GArray *readings = g_array_new(FALSE, FALSE, sizeof(AcrSplice));
    g_array_set_clear_func(readings, clear_splice);
    Fit fit = {.source = source, .match = match, .place = place};
    *out_why = NULL;
    fit.step = smallest_step(&match->original);
    if (fit.step == 0)
        fit.step = smallest_step(&match->patched);
    if (fit.step == 0)
        fit.step = DEFAULT_STEP;
    if (place->inside) {
        readings_inside(&fit, readings);
        return readings;
    }
    fit.first_lost = lost_first_lead(&fit);
    fit.paired = g_new(gssize, match->patched.n + 1);
    acr_lines_align(match->original.line, match->original.n, match->patched.line, match->patched.n,
                    fit.paired);
    fit.lines = g_array_new(FALSE, FALSE, sizeof(NewLine));
    g_array_set_clear_func(fit.lines, clear_line);
    readings_of_lines(&fit, readings, out_why);
    g_array_unref(fit.lines);
    g_free(fit.paired);
    return readings;
}

/* Copies text [from, to) as the bytes that the file has for it; *pos goes on behind them. */
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
    if (len > size - *pos || (len > 0 && memcmp(encoded, data + *pos, len) != 0)) {
        g_set_error(error, ACR_PATCH_ERROR, ACR_PATCH_ERROR_FAILED,
                    "the bytes of '%s' cannot be kept in encoding %s", source->path,
                    source->text.encoding);
        return false;
    }
    g_byte_array_append(out, data + *pos, (guint)len);
    *pos += len;
    return true;
}

GBytes *acr_fit_apply(const AcrSource *source, const AcrSplice *const *splices, gsize n,
                      GError **error)
{
    static const guint8 mark[] = {0xef, 0xbb, 0xbf};
    AcrText plain = source->text;
    g_autoptr(GByteArray) out = g_byte_array_new();
    gsize pos = 0, at = 0;
    if (n == 0)
        return g_bytes_ref(source->bytes);
    if (source->text.binary || !source->text.exact) {
        g_set_error(error, ACR_PATCH_ERROR, ACR_PATCH_ERROR_FAILED, "'%s' cannot be edited as text",
                    source->path);
        return NULL;
    }
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
