/* Implements level `elision`: finds quotes in which `...` or a comment such as "rest unchanged"
 * stands for omitted lines. Each segment between elisions must occur exactly once in the block in
 * which the quote begins, with code on both sides of each elision, and all segments must be shifted
 * by the same indentation (or by none). Otherwise a common first line (`pass`) could match in
 * another block.
 *
 * A replacement that omits code which the quote does not omit is refused, because it is unknown
 * which code should stay. */
#include <string.h>

#include "patch/match_private.h"

/* maximum number of lines of a replacement that are searched for strings */
#define MAX_STRING_LINES 2000u
#define MAX_STRING_LINE 400u /* maximum number of bytes of a line that are searched for strings */

typedef struct {
    const AcrLines *file;
    const AcrLines *quote;
    AcrSameLine same;
    gsize work;
    bool several; /* a segment occurs more than once in the block */
} Elided;

/* Whether lines with more indentation follow, because `line` is the header of a block or ends in an
 * open bracket. */
static bool opens(const AcrLine *line)
{
    return line->core > 0 && strchr(":([{,\\", acr_line_last(line));
}

/* Returns the minimum indentation of the lines between the segments; a line with less indentation
 * belongs to another block. */
static gsize block_width(const Elided *e, gsize start)
{
    const AcrLine *head = &e->quote->line[0], *theirs = &e->file->line[start];
    gsize quoted = acr_line_width(head), width = acr_line_width(theirs), least = G_MAXSIZE;
    for (gsize j = 1; j < e->quote->n; j++) {
        const AcrLine *line = &e->quote->line[j];
        if (!acr_line_is_blank(line) && !acr_line_is_elision(line))
            least = MIN(least, acr_line_width(line));
    }
    if (least > quoted && opens(head))
        return head->lead == theirs->lead ? width + 1 : width;
    if (least > quoted)
        return width;
    return width > quoted - least ? width - (quoted - least) : 0;
}

/* Returns the line at which the block of the quote's first line ends. */
static gsize block_end(const Elided *e, gsize start)
{
    gsize width = block_width(e, start), i = start + 1;
    for (; i < e->file->n; i++) {
        const AcrLine *line = &e->file->line[i];
        if (line->core > 0 && line->s[line->lead] != '#' && acr_line_width(line) < width)
            break;
    }
    return i;
}

static bool segment_at(Elided *e, gsize line, gsize from, gsize to, gsize limit)
{
    if (line + (to - from) > limit)
        return false;
    for (gsize j = from; j < to; j++) {
        e->work++;
        if (!e->same(&e->file->line[line + j - from], &e->quote->line[j]))
            return false;
    }
    return true;
}

/* Follows the segments from a start line; each segment must occur exactly once in the rest of the
 * block. Returns the line after the last segment, or 0 if a segment does not fit. */
static gsize follow(Elided *e, gsize start, gsize first_len, gssize *map)
{
    gsize limit = block_end(e, start), line = start + first_len, j = first_len;
    for (gsize k = 0; k < first_len; k++)
        map[k] = (gssize)(start + k);
    while (j < e->quote->n) {
        while (j < e->quote->n && acr_line_is_elision(&e->quote->line[j]))
            map[j++] = -1;
        gsize to = j, found = 0, at = 0;
        while (to < e->quote->n && !acr_line_is_elision(&e->quote->line[to]))
            to++;
        for (gsize i = line; i < limit && found < 2 && e->work < ACR_PATCH_MAX_SCAN; i++)
            if (segment_at(e, i, j, to, limit) && found++ == 0)
                at = i;
        e->several = e->several || found > 1;
        if (found != 1)
            return 0;
        for (; j < to; j++)
            map[j] = (gssize)at++;
        line = at;
    }
    return line;
}

bool acr_elision_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match)
{
    static const AcrSameLine compare[] = {acr_line_same_trimmed, acr_line_same_core};
    gsize n = quote->n, first_len = 0;
    if (n < 3 || acr_elision_count(quote) == 0 || acr_line_is_elision(&quote->line[0]) ||
        acr_line_is_elision(&quote->line[n - 1]))
        return false;
    while (!acr_line_is_elision(&quote->line[first_len]))
        first_len++;
    for (gsize c = 0; c < G_N_ELEMENTS(compare) && match->places->len == 0; c++) {
        Elided e = {.file = file, .quote = quote, .same = compare[c]};
        for (gsize i = 0; i < file->n && e.work < ACR_PATCH_MAX_SCAN; i++) {
            g_autofree gssize *map = NULL;
            if (!segment_at(&e, i, 0, first_len, file->n))
                continue;
            map = g_new0(gssize, n);
            AcrPlace place = {.first = i, .last = follow(&e, i, first_len, map), .map = map};
            if (place.last == 0 || !acr_place_is_shifted(file, &place, quote))
                continue;
            acr_match_add_place(match, &place);
            map = NULL;
        }
        if (e.work >= ACR_PATCH_MAX_SCAN || e.several)
            g_array_set_size(match->places, 0);
        if (e.several)
            break;
    }
    return match->places->len > 0;
}

static bool has_core(const AcrLines *lines, const AcrLine *line)
{
    for (gsize k = 0; k < lines->n; k++)
        if (acr_line_same_core(&lines->line[k], line))
            return true;
    return false;
}

static gsize behind_blanks(const AcrLines *lines, gsize k)
{
    while (k < lines->n && acr_line_is_blank(&lines->line[k]))
        k++;
    return k;
}

/* Returns the nearest line above line k that is indented less than line k, if at most a docstring
 * lies between the two lines; otherwise -1. */
static gssize header_of(const AcrLines *lines, gsize k)
{
    gsize width = acr_line_width(&lines->line[k]), at = k;
    while (at > 0) {
        const AcrLine *line = &lines->line[--at];
        if (acr_line_is_blank(line) || acr_line_width(line) >= width)
            continue;
        gsize body = behind_blanks(lines, at + 1);
        if (body < k)
            body = behind_blanks(lines, acr_string_end(lines, body));
        return body == k ? (gssize)at : -1;
    }
    return -1;
}

/* Returns the first line of the triple-quoted string around line k of the replacement; -1 if there
 * is none. */
static gssize string_around(const AcrLines *lines, gsize k)
{
    gssize begin = -1;
    char mark = 0;
    for (gsize i = 0; i < k && k < MAX_STRING_LINES; i++) {
        const AcrLine *line = &lines->line[i];
        for (gsize at = 0; at + 3 <= MIN(line->len, MAX_STRING_LINE); at++) {
            const char *s = line->s + at;
            bool quotes = memcmp(s, "\"\"\"", 3) == 0 || memcmp(s, "'''", 3) == 0;
            if (!quotes || (begin >= 0 && *s != mark))
                continue;
            begin = begin < 0 ? (gssize)i : -1;
            mark = *s;
            at += 2;
        }
    }
    return begin;
}

/* Whether `...` in line k of the replacement is code: the whole body of a block whose header the
 * quote lacks (an overload), a continuation line of an example in a docstring, or a line of a
 * string that the quote lacks. */
static bool is_ellipsis(const AcrMatch *match, gsize k)
{
    const AcrLines *lines = &match->patched;
    const AcrLine *line = &lines->line[k], *above = k > 0 ? &lines->line[k - 1] : NULL;
    if (above && above->lead == line->lead && above->core > 4 &&
        (strncmp(above->s + above->lead, ">>> ", 4) == 0 ||
         strncmp(above->s + above->lead, "... ", 4) == 0))
        return true;
    if (match->original.n > 0 && lines->n > ACR_PATCH_MAX_SCAN / match->original.n)
        return false;
    gssize string = string_around(lines, k), header = header_of(lines, k);
    if (string >= 0)
        return !has_core(&match->original, &lines->line[string]);
    if (header < 0 || acr_line_last(&lines->line[header]) != ':' ||
        has_core(&match->original, &lines->line[header]))
        return false;
    gsize next = behind_blanks(lines, k + 1);
    return next == lines->n || acr_line_width(&lines->line[next]) < acr_line_width(line);
}

/* Refuses a replacement that omits code that the quote does not omit, because it is unknown which
 * code should stay. */
void acr_elision_check(AcrMatch *match)
{
    gsize left_out = acr_elision_count(&match->patched),
          quoted = acr_elision_count(&match->original);
    if (match->level == ACR_LEVEL_ELISION) {
        if (left_out != quoted)
            match->why =
                g_strdup_printf("<original> omits code in %" G_GSIZE_FORMAT
                                " places, <patched> in %" G_GSIZE_FORMAT ": quote the code in full",
                                quoted, left_out);
        return;
    }
    for (gsize k = 0; left_out > quoted && k < match->patched.n && !match->why; k++) {
        const AcrLine *line = &match->patched.line[k];
        if (acr_line_is_elision(line) && !acr_line_is_comment(line) && !is_ellipsis(match, k))
            match->why = g_strdup_printf("<patched> omits code (\"%.*s\") that <original> quotes: "
                                         "write the replacement in full",
                                         (int)line->core, line->s + line->lead);
    }
    if (!match->why)
        acr_placeholder_check(match);
}
