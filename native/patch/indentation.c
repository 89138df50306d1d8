/* Adapts the indentation of new lines to the file. The indentation that a model writes has three
 * possible readings: like that of <original>, whose lines are known in the file; relative to the
 * first line of <patched>; or absolute from the second line on. */
#include <string.h>

#include "patch/replacement_private.h"

static gssize first_code(const AcrLines *lines)
{
    for (gsize i = 0; i < lines->n; i++)
        if (!acr_line_is_blank(&lines->line[i]))
            return (gssize)i;
    return -1;
}

/* Whether the first line of the quote lost its indentation while the other lines did not. */
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

char *acr_fit_shift_lead(const Fit *fit, const char *lead, gsize len, gssize columns)
{
    const AcrLines *file = &fit->source->lines;
    bool tabs = memchr(lead, '\t', len) != NULL;
    if (len == 0) { /* the first line is blank, so look at the next line with an indentation */
        gsize next = fit->place->first;
        while (next < file->n && file->line[next].lead == 0)
            next++;
        tabs = next < file->n && file->line[next].s[0] == '\t';
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

/* Whether a quote line begins the file line to which the quote line is mapped; several quote lines
 * may be mapped to one file line. */
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

/* Returns the quote line from which the indentation of a new line near quote line `at` is derived:
 * the nearest line of equal width, otherwise the nearest line before, otherwise the nearest line
 * after. -1 if there is none. */
static gssize find_anchor(const Fit *fit, gssize at, gsize width)
{
    const AcrLines *quote = &fit->match->original;
    gssize nearest = -1, n = (gssize)quote->n;
    for (gssize d = 0; d <= n; d++) {
        for (int side = 0; side < 2; side++) {
            gssize j = side == 0 ? at - d : at + d;
            if (!is_anchor(fit, j))
                continue;
            if (acr_line_width(&quote->line[j]) == width)
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
    gsize width = acr_line_width(line);
    bool lost =
        fit->first_lost && at <= 0 && line == &fit->match->patched.line[0] && line->lead == 0;
    gssize j = lost ? 0 : find_anchor(fit, at, width);
    if (j < 0)
        return g_strndup(line->s, line->lead);
    const AcrLine *theirs = &fit->source->lines.line[file_line(fit, (gsize)j)];
    return acr_fit_shift_lead(fit, theirs->s, theirs->lead,
                              (gssize)width -
                                  (gssize)acr_line_width(&fit->match->original.line[j]));
}

/* Returns the file's line to which the first quoted line of code is mapped; NULL if there is
 * none. */
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
    gssize shift =
        (gssize)acr_line_width(line) - (gssize)acr_line_width(&fit->match->patched.line[first]);
    if (reading == READ_RELATIVE || (gssize)k == first)
        return acr_fit_shift_lead(fit, anchor->s, anchor->lead, shift);
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

/* Whether quote and replacement lost only the indentation of their first lines, so that the
 * indentation of their other lines is right. */
static bool shares_loss(const Fit *fit)
{
    gssize first = first_code(&fit->match->patched);
    return fit->first_lost && first == 0 && fit->match->patched.n > 1 &&
           fit->match->patched.line[0].lead == 0;
}

/* Whether a line of the replacement other than the first is indented less than all lines of the
 * quote. */
static bool is_left(const Fit *fit)
{
    gsize least = G_MAXSIZE;
    for (gsize j = fit->first_lost ? 1 : 0; j < fit->match->original.n; j++)
        if (!acr_line_is_blank(&fit->match->original.line[j]))
            least = MIN(least, acr_line_width(&fit->match->original.line[j]));
    if (fit->first_lost)
        least = MIN(least, acr_line_width(&fit->source->lines.line[file_line(fit, 0)]));
    for (gsize k = 1; k < fit->match->patched.n; k++)
        if (!acr_line_is_blank(&fit->match->patched.line[k]) &&
            acr_line_width(&fit->match->patched.line[k]) < least)
            return true;
    return false;
}

/* Whether the replacement's indentation is counted from the same column as the quote's. No line may
 * be indented less than the quote's lines. In addition, both parts must have an identical line (if
 * the quote is not exact, an unindented first line does not count), or both must have lost the
 * indentation of their first lines. */
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

/* Returns the order in which readings are tried. A quote that was found exactly is indented like
 * the file, and its replacement is too, unless the replacement begins in the first column. If the
 * whole quote was shifted, the replacement may still be indented like the file. If the quote's
 * first line lost its indentation, a replacement that begins in the first column is used as written
 * only if another line of the replacement begins in the first column, too. */
const Reading *acr_indentation_order(const Fit *fit, gsize *out_n)
{
    static const Reading orders[][3] = {{READ_AS_ORIGINAL, READ_RELATIVE, READ_ABSOLUTE},
                                        {READ_RELATIVE, READ_AS_ORIGINAL, READ_ABSOLUTE},
                                        {READ_RELATIVE, READ_ABSOLUTE, READ_AS_ORIGINAL}};
    const AcrMatch *match = fit->match;
    gssize o = first_code(&match->original), p = first_code(&match->patched);
    *out_n = match->level == ACR_LEVEL_ELISION || shares_coordinates(fit) ? 1 : 3;
    if (*out_n == 1)
        return orders[0];
    if (match->level == ACR_LEVEL_INDENT)
        return orders[1];
    bool flush_left =
        o >= 0 && p >= 0 && match->patched.line[p].lead == 0 && match->original.line[o].lead > 0;
    return orders[flush_left || (fit->first_lost && is_left(fit)) ? 2 : 0];
}

void acr_indentation_init(Fit *fit)
{
    fit->step = acr_lines_step(&fit->match->original);
    if (fit->step == 0)
        fit->step = acr_lines_step(&fit->match->patched);
    if (fit->step == 0)
        fit->step = ACR_DEFAULT_STEP;
    fit->first_lost = !fit->place->inside && lost_first_lead(fit);
}
