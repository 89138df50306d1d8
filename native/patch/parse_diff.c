/*
 * Unified diffs, as models write them: line numbers and counts are often wrong or absent, context
 * lines may lack their leading blank, headers may be missing. Each hunk becomes an edit: its
 * context and removed lines are what is quoted, its context and added lines what replaces them. So
 * a hunk goes where its text stands; the line number is kept as a hint. The headers say which file
 * it is, and that a file is new, deleted or renamed; the marks that git puts in front of paths (a/,
 * b/) are taken off where both names have them.
 *
 * Patches between "*** Begin Patch" and "*** End Patch" are read alike: their hunks begin with "@@"
 * and the header of the code around them.
 *
 * A diff ends at the end of its fence; outside of one, at a line that cannot belong to it.
 */
#include "patch/parse_diff_private.h"

/* One line of a hunk, with its mark. */
typedef struct {
    char kind; /* '+', '-', ' ', or '=': a context line without its blank */
    const char *s;
    gsize len;
} HunkLine;

typedef struct {
    GArray *lines;          /* owned; of HunkLine */
    gsize off;              /* of its first line in the answer */
    guint line;             /* 0: none */
    bool counted;           /* the header says how long the sides are */
    gsize want[2], have[2]; /* lines, old and new */
    gsize blanks;           /* empty lines whose place is not known yet */
    char last;              /* kind of the last line */
    bool bare[2];           /* "\ No newline" followed a line of that side */
} Hunk;

static void hunk_clear(Hunk *hunk)
{
    g_array_unref(hunk->lines);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Hunk, hunk_clear)

/* The text of one side, '-' or '+'; `whole`: marked context lines with their blank. Owned. */
static char *side_text(const Hunk *hunk, char side, bool whole)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const char *between = "";
    for (guint i = 0; i < hunk->lines->len; i++) {
        const HunkLine *line = &g_array_index(hunk->lines, HunkLine, i);
        if (strchr("+-", line->kind) && line->kind != side)
            continue;
        gsize mark = line->kind != '=' && !(whole && line->kind == ' ');
        g_string_append(text, between);
        g_string_append_len(text, line->s + mark, (gssize)(line->len - mark));
        between = "\n";
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void add_line(Hunk *hunk, char kind, const char *s, gsize len)
{
    HunkLine line = {kind, s, len};
    g_array_append_val(hunk->lines, line);
    hunk->have[0] += kind != '+';
    hunk->have[1] += kind != '-';
    hunk->last = kind;
}

/* "12" or "12,3" behind `sign`; false when there is none. */
static bool read_range(const Line *line, char sign, gsize *out_first, gsize *out_count)
{
    const char *at = memchr(line->s, sign, line->len), *end = line->s + line->len;
    gsize value[2] = {0, 1};
    for (guint i = 0; at && i < 2; i++) {
        if (++at >= end || !g_ascii_isdigit(*at))
            return i > 0;
        for (value[i] = 0; at < end && g_ascii_isdigit(*at); at++)
            value[i] = MIN(value[i] * 10 + (gsize)(*at - '0'), G_MAXUINT32);
        *out_first = value[0];
        *out_count = value[1];
        if (at == end || *at != ',')
            return true;
    }
    return at != NULL;
}

static bool is_complete(const Hunk *hunk)
{
    return hunk->counted && hunk->have[0] >= hunk->want[0] && hunk->have[1] >= hunk->want[1];
}

/* Another form of edit begins, or the fence ends. */
static bool ends_diff(const Line *line)
{
    gsize rest = 0;
    return begins_with(line, "```") || begins_with(line, "*** End Patch") ||
           acr_search_mark(line->s, line->len, &rest) > 0 || begins_with(line, "# modification") ||
           (line->len > 5 && g_ascii_strncasecmp(line->s, "<file", 5) == 0);
}

/* Whether a line continues the hunk. */
static bool belongs(const Diff *diff, const Hunk *hunk, const Line *line)
{
    bool complete = is_complete(hunk);
    if (ends_diff(line) || begins_with(line, "@@") ||
        acr_diff_begins_file(diff, line, hunk->counted && !complete))
        return false;
    if (complete && (begins_with(line, "-- ") || (line->len == 2 && line->s[1] == '-')) &&
        line->s[0] == '-')
        return false;
    if (diff->fenced || line->len == 0)
        return true;
    if (hunk->blanks > 0 && complete)
        return false;
    if (strchr("+- \\", line->s[0]) || begins_with(line, "*** End of File"))
        return true;
    return hunk->blanks == 0 && hunk->counted && !complete;
}

/* Reads the lines of a hunk from `at` on; returns the offset behind them. */
static gsize read_hunk_lines(const Diff *diff, Hunk *hunk, gsize at)
{
    gsize end = at;
    hunk->off = at;
    while (at < diff->parse->len) {
        Line line = acr_diff_line_at(diff, at);
        if (!belongs(diff, hunk, &line))
            break;
        at = line.next;
        if (line.len == 0) {
            hunk->blanks++;
            continue;
        }
        if (begins_with(&line, "*** End of File")) {
            end = at;
            continue;
        }
        for (; hunk->blanks > 0; hunk->blanks--)
            add_line(hunk, '=', "", 0);
        if (begins_with(&line, "\\ ")) {
            hunk->bare[0] = hunk->bare[0] || hunk->last != '+';
            hunk->bare[1] = hunk->bare[1] || hunk->last != '-';
        } else {
            add_line(hunk, strchr("+- ", line.s[0]) ? line.s[0] : '=', line.s, line.len);
        }
        end = at;
    }
    return end;
}

/* Reads the hunk whose lines begin at *at (a header in front of them, or none) behind those that
 * `hunk` has; moves *at behind it. */
static void read_hunk(const Diff *diff, Hunk *hunk, gsize *at)
{
    Line line = acr_diff_line_at(diff, *at);
    *hunk = (Hunk){.lines = hunk->lines, .last = ' '};
    if (!hunk->lines)
        hunk->lines = g_array_new(FALSE, FALSE, sizeof(HunkLine));
    if (begins_with(&line, "@@")) {
        gsize first = 0, new_first = 0;
        hunk->counted = read_range(&line, '-', &first, &hunk->want[0]) &&
                        read_range(&line, '+', &new_first, &hunk->want[1]);
        hunk->line = hunk->counted ? (guint)first : 0;
        *at = line.next;
    }
    *at = read_hunk_lines(diff, hunk, *at);
}

static bool at_hunk(const Diff *diff, gsize at)
{
    if (at >= diff->parse->len || acr_parse_is_full(diff->parse))
        return false;
    Line line = acr_diff_line_at(diff, at);
    return begins_with(&line, "@@");
}

static AcrEdit *new_edit(const FileHeader *file, gsize off, gsize end)
{
    AcrEdit *edit = acr_parse_edit_new(ACR_EDIT_DIFF, file->name, off, end);
    acr_parse_complain(edit, file->complaint);
    return edit;
}

/* Context lines without their leading blank make another reading: all of them as they stand. */
static bool has_second_reading(const Hunk *hunk)
{
    gsize bare = 0, marked = 0, even = 0;
    for (guint i = 0; i < hunk->lines->len; i++) {
        const HunkLine *line = &g_array_index(hunk->lines, HunkLine, i);
        gsize lead = acr_skip_blanks(line->s, 0, line->len);
        if (lead == line->len)
            continue;
        bare += line->kind == '=';
        marked += line->kind == ' ';
        even += line->kind == ' ' && lead % 2 == 0;
    }
    return marked > 0 && (bare > 0 || even == marked);
}

static void push_hunk(const Diff *diff, const FileHeader *file, const Hunk *hunk, gsize end)
{
    AcrEdit *edit = new_edit(file, hunk->off, end);
    acr_edit_add_reading(edit, side_text(hunk, '-', false), side_text(hunk, '+', false));
    edit->line = hunk->line;
    edit->bare = hunk->bare[1];
    edit->was_bare = hunk->bare[0];
    edit->one_blank = hunk->have[1] > 0 && *edit->patched == '\0';
    if (has_second_reading(hunk))
        acr_edit_add_reading(edit, side_text(hunk, '-', true), side_text(hunk, '+', true));
    acr_parse_push(diff->parse, edit);
}

/* All hunks of a file that is new, or deleted, are one edit. */
static gsize read_whole(const Diff *diff, const FileHeader *file, gsize at)
{
    g_auto(Hunk) all = {0};
    AcrEdit *edit = new_edit(file, file->off, at);
    gsize from;
    do {
        from = at;
        read_hunk(diff, &all, &at);
    } while (at > from && at_hunk(diff, at));
    edit->end = at;
    edit->bare = all.bare[1];
    edit->kind = file->deleted ? ACR_EDIT_DELETE : ACR_EDIT_CHANGE;
    edit->makes = !file->deleted;
    edit->executable = file->executable;
    edit->original = edit->makes ? g_strdup("") : side_text(&all, '-', false);
    edit->patched = side_text(&all, '+', false);
    acr_parse_push(diff->parse, edit);
    return at;
}

static void push_rename(const Diff *diff, const FileHeader *file, gsize end)
{
    AcrEdit *edit = new_edit(file, file->off, end);
    edit->kind = ACR_EDIT_RENAME;
    edit->to = g_strdup(file->to);
    edit->original = g_strdup("");
    edit->patched = g_strdup("");
    acr_parse_push(diff->parse, edit);
}

static gsize read_hunks(const Diff *diff, const FileHeader *file, gsize at)
{
    guint n = 0;
    gsize from;
    do {
        g_auto(Hunk) hunk = {0};
        from = at;
        read_hunk(diff, &hunk, &at);
        if (hunk.lines->len > 0) {
            push_hunk(diff, file, &hunk, at);
            n++;
        }
    } while (at > from && at_hunk(diff, at));
    if (n == 0 && !file->to) {
        AcrEdit *edit = new_edit(file, file->off, at);
        acr_parse_complain(edit, "its diff changes no line");
        acr_parse_push(diff->parse, edit);
    }
    return at;
}

/* The part of a diff about one file. */
static gsize read_file(const Diff *diff, gsize at)
{
    g_auto(FileHeader) file = {0};
    at = acr_diff_read_headers(diff, at, &file);
    if (!file.name)
        file.name = acr_parse_named_near(diff->parse);
    if (!file.name && !file.complaint)
        file.complaint = "the diff names no file";
    acr_parse_name(diff->parse, file.name);
    if (!file.complaint && file.to)
        push_rename(diff, &file, at);
    if (file.created || file.deleted)
        return read_whole(diff, &file, at);
    return read_hunks(diff, &file, at);
}

/* Whether a diff begins at this line, and not only talk of one. */
static bool begins(const Diff *diff, gsize off, const Line *line, bool diff_fence)
{
    const AcrParse *parse = diff->parse;
    gsize first = acr_next_line(parse->s, parse->fence.off, parse->len);
    if (ends_diff(line))
        return false;
    if (acr_diff_begins_file(diff, line, false) || begins_with(line, "@@ -"))
        return true;
    return diff_fence && off == first && line->len > 0;
}

/* Whether a diff begins at `off`; fills `diff`. */
static bool open_diff(AcrParse *parse, gsize off, Diff *diff)
{
    gsize info = 0;
    const char *fence = parse->s + parse->fence.off;
    *diff = (Diff){.parse = parse, .fenced = parse->fence.len > 0};
    bool named = diff->fenced && acr_is_fence(fence, parse->fence.len, &info) &&
                 acr_is_diff_fence(fence + info, parse->fence.len - info);
    if (diff->fenced)
        diff->indent = acr_skip_blanks(fence, 0, parse->fence.len);
    Line line = acr_diff_line_at(diff, off);
    if (begins_with(&line, "*** Begin Patch"))
        diff->fenced = diff->fenced ||
                       g_strstr_len(parse->s + off, (gssize)(parse->len - off), "\n*** End Patch");
    return begins(diff, off, &line, named);
}

bool acr_diff_begins_at(AcrParse *parse, gsize off)
{
    Diff diff;
    return open_diff(parse, off, &diff);
}

/* Past empty lines to the part about another file, if one follows. */
static bool find_next_file(const Diff *diff, gsize *at)
{
    while (*at < diff->parse->len) {
        Line line = acr_diff_line_at(diff, *at);
        if (line.len > 0)
            return acr_diff_begins_file(diff, &line, false);
        *at = line.next;
    }
    return false;
}

gsize acr_diff_read(AcrParse *parse, gsize off)
{
    Diff diff;
    if (!open_diff(parse, off, &diff))
        return off;
    gsize end = off, at = off;
    do {
        end = at = read_file(&diff, at);
    } while (!acr_parse_is_full(parse) && find_next_file(&diff, &at));
    return end;
}
