/*
 * Level `elision`: quotes in which `...` or a comment such as "rest unchanged" stands for lines
 * left out. The segments between must each occur exactly once in the block that the quote begins
 * in, anchored on both sides of each elision.
 */
#include <string.h>

#include "patch/patch_private.h"

typedef bool (*SameLine)(const AcrLine *a, const AcrLine *b);

static bool has_phrase(const char *s, gsize len)
{
    static const char *const phrases[] = {"rest of ",       "existing code",    "unchanged",
                                          "omitted",        "remains the same", "remain the same",
                                          "same as before", "other code",       "previous code"};
    g_autofree char *lower = g_ascii_strdown(s, (gssize)len);
    for (gsize i = 0; i < G_N_ELEMENTS(phrases); i++)
        if (strstr(lower, phrases[i]))
            return true;
    return false;
}

bool acr_line_is_elision(const AcrLine *line)
{
    const char *s = line->s + line->lead;
    gsize len = line->core;
    bool comment = len > 0 && *s == '#';
    if (len == 0 || len > 160)
        return false;
    while (len > 0 && (*s == '#' || acr_is_blank(*s))) {
        s++;
        len--;
    }
    if ((len == 3 && memcmp(s, "...", 3) == 0) || (len == 3 && memcmp(s, "\xe2\x80\xa6", 3) == 0) ||
        (len == 5 && (memcmp(s, "[...]", 5) == 0 || memcmp(s, "(...)", 5) == 0)))
        return true;
    if (!comment || len < 3)
        return false;
    bool dots = memcmp(s, "...", 3) == 0 || memcmp(s + len - 3, "...", 3) == 0 ||
                memcmp(s, "\xe2\x80\xa6", 3) == 0 || memcmp(s + len - 3, "\xe2\x80\xa6", 3) == 0;
    return dots || has_phrase(s, len);
}

gsize acr_elision_count(const AcrLines *lines)
{
    gsize n = 0;
    for (gsize i = 0; i < lines->n; i++)
        n += acr_line_is_elision(&lines->line[i]);
    return n;
}

typedef struct {
    const AcrLines *file;
    const AcrLines *quote;
    SameLine same;
    gsize work;
    bool several; /* a segment stood more than once in a block */
} Elided;

/* A line that goes on in deeper ones: the header of a block, an open bracket. */
static bool opens(const AcrLine *line)
{
    return line->core > 0 && strchr(":([{,\\", line->s[line->lead + line->core - 1]);
}

/* Columns that every line between the segments must have at least: what is indented less is another
 * block. */
static gsize block_width(const Elided *e, gsize start)
{
    const AcrLine *head = &e->quote->line[0], *theirs = &e->file->line[start];
    gsize quoted = acr_line_width(head->s, head->lead),
          width = acr_line_width(theirs->s, theirs->lead), least = G_MAXSIZE;
    for (gsize j = 1; j < e->quote->n; j++) {
        const AcrLine *line = &e->quote->line[j];
        if (!acr_line_is_blank(line) && !acr_line_is_elision(line))
            least = MIN(least, acr_line_width(line->s, line->lead));
    }
    if (least > quoted && opens(head))
        return head->lead == theirs->lead ? width + 1 : width;
    if (least > quoted)
        return width;
    return width > quoted - least ? width - (quoted - least) : 0;
}

/* The line at which the block of the quote's first line ends. */
static gsize block_end(const Elided *e, gsize start)
{
    gsize width = block_width(e, start), i = start + 1;
    for (; i < e->file->n; i++) {
        const AcrLine *line = &e->file->line[i];
        if (line->core > 0 && line->s[line->lead] != '#' &&
            acr_line_width(line->s, line->lead) < width)
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

/* Follows the segments from a start; each must occur exactly once in what is left of the block.
 * Returns the end, or 0. */
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

static int sign_of(gssize n)
{
    return (n > 0) - (n < 0);
}

/* Whether the quoted lines are shifted as a whole, but for a first one that lost its indentation.
 * Where one side has tabs, each line must be deeper or less deep than the one before as in the
 * file. */
static bool is_shifted(const Elided *e, const gssize *map)
{
    gssize shift = 0, last_ours = -1, last_theirs = -1;
    for (gsize j = 0; j < e->quote->n; j++) {
        const AcrLine *line = &e->quote->line[j];
        if (map[j] < 0 || acr_line_is_blank(line) || (j == 0 && line->lead == 0))
            continue;
        const AcrLine *file = &e->file->line[map[j]];
        gssize ours = (gssize)acr_line_width(line->s, line->lead),
               theirs = (gssize)acr_line_width(file->s, file->lead);
        bool tabs = memchr(line->s, '\t', line->lead) || memchr(file->s, '\t', file->lead);
        if (last_ours >= 0 && !tabs && theirs - ours != shift)
            return false;
        if (last_ours >= 0 && sign_of(ours - last_ours) != sign_of(theirs - last_theirs))
            return false;
        shift = theirs - ours;
        last_ours = ours;
        last_theirs = theirs;
    }
    return true;
}

bool acr_elision_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match)
{
    static const SameLine compare[] = {acr_line_same_trimmed, acr_line_same_core};
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
            gsize end = follow(&e, i, first_len, map);
            if (end > 0 && is_shifted(&e, map))
                acr_match_add_place(
                    match, &(AcrPlace){.first = i, .last = end, .map = g_steal_pointer(&map)});
        }
        if (e.work >= ACR_PATCH_MAX_SCAN || e.several)
            g_array_set_size(match->places, 0);
        if (e.several)
            break;
    }
    if (match->places->len > 0)
        match->level = ACR_LEVEL_ELISION;
    return match->places->len > 0;
}
