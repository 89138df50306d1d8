/* Makes the replacement at level `similar`: applies the changes from <original> to <patched> to
 * file lines that differ from the lines of <original>.
 *
 * The file's lines at the place stay, except that each run of changed lines (a hunk) replaces the
 * lines to which its quoted lines are mapped. Lines that the quote omits, and comments after code,
 * are never deleted. */
#include "patch/replacement_private.h"

/* minimum similarity at which a line of <patched> counts as a changed line of <original> */
#define ALIKE 0.55

/* A hunk: quote lines [a, b) become lines [c, d) of <patched>. */
typedef struct {
    gsize a, b, c, d;
} Hunk;

static gssize file_end(const Fit *fit, gsize j)
{
    return fit->place->map[fit->match->original.n + j];
}

/* Whether quote lines j - 1 and j are mapped to one line of the file. */
static bool is_joined(const Fit *fit, gsize j)
{
    return j > 0 && j < fit->match->original.n && file_line(fit, j) >= 0 &&
           file_line(fit, j - 1) >= 0 && file_end(fit, j - 1) > file_line(fit, j);
}

static GArray *find_hunks(const Fit *fit)
{
    GArray *hunks = g_array_new(FALSE, FALSE, sizeof(Hunk));
    gsize n = fit->match->original.n, m = fit->match->patched.n;
    for (gsize j = 0, k = 0; j < n || k < m;) {
        Hunk hunk = {.a = j, .c = k};
        while (k < m && fit->paired[k] < 0)
            k++;
        hunk.b = j = k < m ? (gsize)fit->paired[k] : n;
        hunk.d = k;
        if (hunk.a < hunk.b || hunk.c < hunk.d)
            g_array_append_val(hunks, hunk);
        j += k < m;
        k += k < m;
    }
    return hunks;
}

static bool refuse(char **out_why, const char *text, const AcrLine *line)
{
    gsize shown = MIN(line->core, 120);
    g_autofree char *part = g_strndup(line->s + line->lead, shown);
    g_autofree char *quoted = g_utf8_make_valid(part, -1);
    *out_why = g_strdup_printf("%s: \"%s\"", text, quoted);
    return false;
}

/* Returns the first line of the file in [from, to) that is not blank; -1 if there is none. */
static gssize first_said(const Fit *fit, gssize from, gssize to)
{
    for (gssize f = from; f < to; f++)
        if (!acr_line_is_blank(&fit->source->lines.line[f]))
            return f;
    return -1;
}

/* Returns the position at which lines are inserted before quote line a: after a docstring,
 * otherwise after the previous quoted line; -1 with *out_why if the quote omits lines of code at
 * this position. */
static gssize insertion_point(const Fit *fit, gsize a, char **out_why)
{
    const AcrLine *lines = fit->source->lines.line;
    gssize before = -1, after = -1;
    for (gsize j = a; j-- > 0 && before < 0;)
        before = file_line(fit, j) >= 0 ? file_end(fit, j) : -1;
    for (gsize j = a; j < fit->match->original.n && after < 0; j++)
        after = file_line(fit, j);
    if (before < 0 || after < 0)
        return before >= 0 ? before : (gssize)fit->place->first;
    gssize code = -1;
    for (gssize f = before; f < after && code < 0; f++)
        code = acr_line_is_code(&lines[f]) ? f : -1;
    if (code < 0)
        return before;
    gssize end = (gssize)acr_string_end(&fit->source->lines, (gsize)code);
    bool more = false;
    for (gssize f = end; f < after; f++)
        more = more || acr_line_is_code(&lines[f]);
    if (end > code && !more && acr_line_last(&lines[before - 1]) == ':')
        return after;
    refuse(out_why, "<patched> adds lines at a place where <original> omits lines of the file",
           &lines[code]);
    return -1;
}

/* Finds the file's lines that a hunk replaces, [*from, *to). Returns false with *out_why if the
 * hunk cannot be applied. */
static bool hunk_lines(const Fit *fit, const Hunk *hunk, gssize *from, gssize *to, char **out_why)
{
    const AcrLine *quote = fit->match->original.line, *lines = fit->source->lines.line;
    *from = *to = -1;
    for (gsize j = hunk->a; j < hunk->b; j++) {
        if (file_line(fit, j) < 0) {
            if (acr_line_is_code(&quote[j]))
                return refuse(out_why, "this line of <original> is not in the file", &quote[j]);
            continue;
        }
        gssize said = *to >= 0 ? first_said(fit, *to, file_line(fit, j)) : -1;
        if (said >= 0)
            return refuse(out_why,
                          "<original> omits lines that the file has between the quoted ones",
                          &lines[said]);
        *from = *from < 0 ? file_line(fit, j) : *from;
        *to = file_end(fit, j);
    }
    if (*from < 0)
        *from = *to = insertion_point(fit, hunk->a, out_why);
    return *from >= 0;
}

/* Whether a line of the quote is mapped to the file's line f. */
static bool is_mapped(const Fit *fit, gssize f)
{
    for (gsize j = 0; j < fit->match->original.n; j++)
        if (file_line(fit, j) >= 0 && file_line(fit, j) <= f && f < file_end(fit, j))
            return true;
    return false;
}

/* Returns the quote line of the hunk, from line j on, that is most similar to line k of <patched>;
 * hunk->b if there is none. */
static gsize source_of(const Fit *fit, const Hunk *hunk, gsize j, gsize k)
{
    const AcrLine *quote = fit->match->original.line, *line = &fit->match->patched.line[k];
    gsize best = hunk->b;
    double most = ALIKE;
    for (gsize i = j; i < hunk->b && i < j + 50 && line->core > 0; i++) {
        double like = acr_line_likeness(&quote[i], line);
        if (like > most) {
            most = like;
            best = i;
        }
    }
    return best;
}

static bool is_misquoted(const Fit *fit, gsize j)
{
    gssize f = file_line(fit, j);
    if (f < 0 || file_end(fit, j) != f + 1 || is_joined(fit, j) || is_joined(fit, j + 1))
        return false;
    return !acr_line_same_core(&fit->match->original.line[j], &fit->source->lines.line[f]);
}

/* Whether the line has characters beyond ASCII, such as typographic quotation marks. */
static bool has_marks(const AcrLine *line)
{
    for (gsize i = line->lead; i < line->lead + line->core; i++)
        if ((guchar)line->s[i] >= 0x80)
            return true;
    return false;
}

/* Checks whether line k of <patched> can replace quote line j. If the quote omits a comment at the
 * end of the file's line, sets *out_core to the new code followed by the comment. Returns false
 * with *out_why if the file's own characters or comment would be lost. */
static bool keep_comment(const Fit *fit, gsize j, gsize k, char **out_core, char **out_why)
{
    const AcrLine *quoted = &fit->match->original.line[j], *line = &fit->match->patched.line[k],
                  *theirs = &fit->source->lines.line[file_line(fit, j)];
    gsize at = acr_line_code_end(theirs), end = theirs->lead + theirs->core;
    if (has_marks(quoted) && !has_marks(theirs))
        return refuse(out_why,
                      "<original> and <patched> have non-ASCII characters in this line, and the "
                      "file does not",
                      theirs);
    if (at == end || acr_line_code_end(quoted) < quoted->lead + quoted->core)
        return true;
    if (acr_line_code_end(line) < line->lead + line->core)
        return refuse(out_why,
                      "the comment at the end of this line differs between <patched> and the file",
                      theirs);
    while (at > theirs->lead && acr_is_blank(theirs->s[at - 1]))
        at--;
    *out_core = g_strdup_printf("%.*s%.*s", (int)line->core, line->s + line->lead, (int)(end - at),
                                theirs->s + at);
    return true;
}

/* Writes lines [c, d) of <patched>, which are changed versions of the hunk's quoted lines, or
 * new. */
static bool write_lines(Fit *fit, Reading reading, const Hunk *hunk, gsize c, gsize d,
                        char **out_why)
{
    gsize j = hunk->a;
    for (gsize k = c; k < d; k++) {
        gsize from = source_of(fit, hunk, j, k);
        char *core = NULL;
        j = from < hunk->b ? from + 1 : j;
        if (from < hunk->b && is_misquoted(fit, from) &&
            !keep_comment(fit, from, k, &core, out_why))
            return false;
        gsize near = from < hunk->b ? from : j > 0 ? j - 1 : 0;
        acr_fit_write(fit, reading, k, (gssize)near, core);
    }
    return true;
}

/* Lines [c, d) of <patched> that are inserted beside lines [f, stop) of the file, which the
 * quote omits. */
typedef struct {
    gsize c, d;
    gssize f, stop;
    gsize near;    /* the quoted line that determines the indentation of the inserted lines */
    bool is_after; /* the lines are inserted after the file's lines, if no other rule decides */
} Gap;

static void write_gap(Fit *fit, Reading reading, const Gap *gap, gsize to_k, gssize to_f)
{
    for (gssize f = gap->f; f < to_f && !gap->is_after; f++)
        acr_fit_keep(fit, f);
    for (gsize k = gap->c; k < to_k; k++)
        acr_fit_write(fit, reading, k, (gssize)gap->near, NULL);
    for (gssize f = gap->f; f < to_f && gap->is_after; f++)
        acr_fit_keep(fit, f);
}

/* Writes a gap. A line that both <patched> and the file have is written only once, because
 * <patched> may contain lines that <original> omits. */
static void merge_gap(Fit *fit, Reading reading, Gap gap)
{
    const AcrLine *lines = fit->source->lines.line, *patched = fit->match->patched.line;
    for (gsize k = gap.c; k < gap.d; k++) {
        gssize same = gap.f;
        while (same < gap.stop && !acr_line_same_core(&patched[k], &lines[same]))
            same++;
        if (same == gap.stop)
            continue;
        write_gap(fit, reading, &gap, k, same);
        acr_fit_keep(fit, same);
        gap.c = k + 1;
        gap.f = same + 1;
    }
    write_gap(fit, reading, &gap, gap.d, gap.stop);
}

/* Whether line k of <patched> is new: no quoted line of the hunk that is in the file corresponds to
 * line k. */
static bool is_new(const Fit *fit, const Hunk *hunk, gsize k)
{
    gsize from = source_of(fit, hunk, hunk->a, k);
    return from == hunk->b || file_line(fit, from) < 0;
}

/* Returns the number of new lines, counted from c (or back from the hunk's end), that belong to the
 * file's lines [f, stop). The last counted line occurs among the file's lines, in the same
 * order. */
static gsize count_shared(const Fit *fit, const Hunk *hunk, gsize c, bool is_end, gssize f,
                          gssize stop)
{
    const AcrLine *lines = fit->source->lines.line, *patched = fit->match->patched.line;
    gsize shared = 0;
    for (gsize n = 0; f < stop && c + n < hunk->d; n++) {
        gsize k = is_end ? hunk->d - 1 - n : c + n;
        if (!is_new(fit, hunk, k))
            break;
        gssize i = 0;
        while (i < stop - f &&
               !acr_line_same_core(&patched[k], &lines[is_end ? stop - 1 - i : f + i]))
            i++;
        if (i == stop - f)
            continue;
        shared = n + 1;
        f += is_end ? 0 : i + 1;
        stop -= is_end ? i + 1 : 0;
    }
    return shared;
}

/* Writes a hunk in place of the file's lines [from, to). The file's lines before *at are already
 * written. */
static bool write_hunk(Fit *fit, Reading reading, const Hunk *hunk, gssize from, gssize to,
                       gssize *at, char **out_why)
{
    gssize before = from, after = to;
    while (before > *at && !is_mapped(fit, before - 1))
        before--;
    while (after < (gssize)fit->place->last && !is_mapped(fit, after))
        after++;
    gsize lead = count_shared(fit, hunk, hunk->c, false, before, from);
    gsize trail = count_shared(fit, hunk, hunk->c + lead, true, to, after);
    gsize near = hunk->a > 0 ? hunk->a - 1 : 0;
    for (; *at < before; (*at)++)
        acr_fit_keep(fit, *at);
    merge_gap(fit, reading, (Gap){hunk->c, hunk->c + lead, before, from, near, false});
    if (!write_lines(fit, reading, hunk, hunk->c + lead, hunk->d - trail, out_why))
        return false;
    near = hunk->b > 0 ? hunk->b - 1 : 0;
    if (trail > 0)
        merge_gap(fit, reading, (Gap){hunk->d - trail, hunk->d, to, after, near, true});
    *at = trail > 0 ? after : to;
    return true;
}

bool acr_fit_transplant(Fit *fit, Reading reading, char **out_why)
{
    g_autoptr(GArray) hunks = find_hunks(fit);
    gssize at = (gssize)fit->place->first;
    g_array_set_size(fit->lines, 0);
    for (guint i = 0; i < hunks->len; i++) {
        const Hunk *hunk = &g_array_index(hunks, Hunk, i);
        gssize from = -1, to = -1;
        if (!hunk_lines(fit, hunk, &from, &to, out_why))
            return false;
        if (from < at || is_joined(fit, hunk->a) || is_joined(fit, hunk->b)) {
            *out_why = g_strdup("<original> breaks lines at other places than the file");
            return false;
        }
        if (!write_hunk(fit, reading, hunk, from, to, &at, out_why))
            return false;
    }
    for (; at < (gssize)fit->place->last; at++)
        acr_fit_keep(fit, at);
    return true;
}
