/*
 * Unified diffs, as models write them: line numbers and counts are often wrong or absent, context
 * lines may lack their leading blank, headers may be missing. Each hunk becomes an edit: its
 * context and removed lines are what is quoted, its context and added lines what replaces them. So
 * a hunk goes where its text stands; the line number is kept as a hint. The headers say which file
 * it is, and that a file is new, goes or is renamed.
 *
 * A diff ends at the end of its fence; outside of one, at a line that cannot belong to it.
 */
#include <string.h>

#include "patch/diff_private.h"

/* ---- Lines ------------------------------------------------------------------------------------
 */

/* Lines end in LF or CRLF: a lone CR is a character of the code. */
AcrDiffLine acr_diff_line(const AcrDiff *diff, gsize off)
{
    const AcrParse *parse = diff->parse;
    const char *lf = memchr(parse->s + off, '\n', parse->len - off);
    gsize end = lf ? (gsize)(lf - parse->s) : parse->len, next = lf ? end + 1 : end, from = off;
    if (lf && end > off && parse->s[end - 1] == '\r')
        end--;
    while (from < end && from - off < diff->indent && acr_is_blank(parse->s[from]))
        from++;
    return (AcrDiffLine){parse->s + from, end - from, next};
}

bool acr_diff_begins(const AcrDiffLine *line, const char *with)
{
    gsize n = strlen(with);
    return line->len >= n && memcmp(line->s, with, n) == 0;
}

static AcrDiffLine line_after(const AcrDiff *diff, const AcrDiffLine *line)
{
    return acr_diff_line(diff, line->next);
}

static bool is_plus_or_minus(const AcrDiffLine *line)
{
    return line->len > 0 && strchr("+-", line->s[0]);
}

/* A line with which the part about one file begins. `in_hunk`: after lines of a hunk whose counts
 * do not say that it is complete. */
static bool begins_file(const AcrDiff *diff, const AcrDiffLine *line, bool in_hunk)
{
    if (acr_diff_begins(line, "diff --git "))
        return true;
    bool from = acr_diff_begins(line, "--- ");
    if (!from && !acr_diff_begins(line, "+++ "))
        return false;
    AcrDiffLine second = line_after(diff, line), third = line_after(diff, &second);
    if (diff->fenced && acr_diff_begins(&second, "@@"))
        return true;
    if (!from || !acr_diff_begins(&second, "+++ "))
        return false;
    if (acr_diff_begins(&third, "@@"))
        return true;
    if (in_hunk)
        return false;
    return diff->fenced || is_plus_or_minus(&third) || acr_diff_begins(&third, " ");
}

/* ---- Hunks ------------------------------------------------------------------------------------
 */

/* One side of a hunk. */
typedef struct {
    GString *text;
    bool begun;
} Side;

typedef struct {
    gsize off;                 /* of its first line in the answer */
    guint line;                /* 0: none */
    bool counted;              /* the header says how long the sides are */
    gsize want[2], have[2];    /* lines, old and new */
    Side old, new, old2, new2; /* the second two: context lines kept whole */
    gsize blanks;              /* empty lines whose place is not known yet */
    gsize bare_context;        /* context lines without a leading blank */
    gsize context, even;       /* with one; of these, those with an even number of blanks */
    char last;                 /* kind of the last line */
    bool bare[2];              /* "\ No newline" followed a line of that side */
} Hunk;

static void side_add(Side *side, const char *s, gsize len)
{
    if (side->begun)
        g_string_append_c(side->text, '\n');
    g_string_append_len(side->text, s, (gssize)len);
    side->begun = true;
}

static void hunk_init(Hunk *hunk)
{
    *hunk = (Hunk){.last = ' '};
    Side *sides[] = {&hunk->old, &hunk->new, &hunk->old2, &hunk->new2};
    for (gsize i = 0; i < G_N_ELEMENTS(sides); i++)
        sides[i]->text = g_string_new(NULL);
}

static void hunk_clear(Hunk *hunk)
{
    Side *sides[] = {&hunk->old, &hunk->new, &hunk->old2, &hunk->new2};
    for (gsize i = 0; i < G_N_ELEMENTS(sides); i++)
        if (sides[i]->text)
            g_string_free(sides[i]->text, TRUE);
}

/* "12" or "12,3" behind `sign`; false when there is none. */
static bool read_range(const AcrDiffLine *line, char sign, gsize *out_first, gsize *out_count)
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

static void read_hunk_header(Hunk *hunk, const AcrDiffLine *line)
{
    gsize first = 0, new_first = 0;
    hunk->counted = read_range(line, '-', &first, &hunk->want[0]) &&
                    read_range(line, '+', &new_first, &hunk->want[1]);
    if (hunk->counted)
        hunk->line = (guint)first;
}

static bool is_complete(const Hunk *hunk)
{
    return hunk->counted && hunk->have[0] >= hunk->want[0] && hunk->have[1] >= hunk->want[1];
}

static void add_context(Hunk *hunk, const char *s, gsize len, const char *whole, gsize whole_len)
{
    side_add(&hunk->old, s, len);
    side_add(&hunk->new, s, len);
    side_add(&hunk->old2, whole, whole_len);
    side_add(&hunk->new2, whole, whole_len);
    hunk->have[0]++;
    hunk->have[1]++;
    hunk->last = ' ';
}

static void add_blanks(Hunk *hunk)
{
    for (; hunk->blanks > 0; hunk->blanks--)
        add_context(hunk, "", 0, "", 0);
}

static void add_context_line(Hunk *hunk, const AcrDiffLine *line)
{
    gsize lead = acr_skip_blanks(line->s, 0, line->len);
    if (line->s[0] != ' ') {
        hunk->bare_context += lead < line->len;
        add_context(hunk, line->s, line->len, line->s, line->len);
        return;
    }
    hunk->context += lead < line->len;
    hunk->even += lead < line->len && lead % 2 == 0;
    add_context(hunk, line->s + 1, line->len - 1, line->s, line->len);
}

static void add_changed_line(Hunk *hunk, const AcrDiffLine *line)
{
    bool new = line->s[0] == '+';
    side_add(new ? &hunk->new : &hunk->old, line->s + 1, line->len - 1);
    side_add(new ? &hunk->new2 : &hunk->old2, line->s + 1, line->len - 1);
    hunk->have[new]++;
    hunk->last = line->s[0];
}

/* Another form of edit begins, or the fence ends. */
static bool ends_diff(const AcrDiffLine *line)
{
    return acr_diff_begins(line, "```") || acr_is_search_mark(line->s, line->len) ||
           acr_diff_begins(line, "# modification") ||
           (line->len > 5 && g_ascii_strncasecmp(line->s, "<file", 5) == 0);
}

/* Whether a line continues the hunk. */
static bool belongs(const AcrDiff *diff, const Hunk *hunk, const AcrDiffLine *line)
{
    bool complete = is_complete(hunk);
    if (ends_diff(line) || acr_diff_begins(line, "@@") ||
        begins_file(diff, line, hunk->counted && !complete))
        return false;
    if (complete && (acr_diff_begins(line, "-- ") || (line->len == 2 && line->s[1] == '-')) &&
        line->s[0] == '-')
        return false;
    if (diff->fenced || line->len == 0)
        return true;
    if (hunk->blanks > 0 && complete)
        return false;
    if (strchr("+- \\", line->s[0]))
        return true;
    return hunk->blanks == 0 && hunk->counted && !complete;
}

/* Reads the lines of a hunk from `at` on; returns the offset behind them. */
static gsize read_hunk_lines(const AcrDiff *diff, Hunk *hunk, gsize at)
{
    gsize end = at;
    hunk->off = at;
    while (at < diff->parse->len) {
        AcrDiffLine line = acr_diff_line(diff, at);
        if (!belongs(diff, hunk, &line))
            break;
        at = line.next;
        if (line.len == 0) {
            hunk->blanks++;
            continue;
        }
        add_blanks(hunk);
        if (line.s[0] == '\\' && line.len > 1 && line.s[1] == ' ') {
            hunk->bare[0] = hunk->bare[0] || hunk->last != '+';
            hunk->bare[1] = hunk->bare[1] || hunk->last != '-';
        } else if (strchr("+-", line.s[0])) {
            add_changed_line(hunk, &line);
        } else {
            add_context_line(hunk, &line);
        }
        end = at;
    }
    return end;
}

/* The hunk whose lines begin at *at (a header in front of them, or none); moves *at behind it. */
static void read_hunk(const AcrDiff *diff, Hunk *hunk, gsize *at)
{
    AcrDiffLine line = acr_diff_line(diff, *at);
    hunk_init(hunk);
    if (acr_diff_begins(&line, "@@")) {
        read_hunk_header(hunk, &line);
        *at = line.next;
    }
    *at = read_hunk_lines(diff, hunk, *at);
}

static bool at_hunk(const AcrDiff *diff, gsize at)
{
    if (at >= diff->parse->len || acr_parse_is_full(diff->parse))
        return false;
    AcrDiffLine line = acr_diff_line(diff, at);
    return acr_diff_begins(&line, "@@");
}

/* ---- Edits ------------------------------------------------------------------------------------
 */

/* Context lines without their leading blank make another reading: all of them as they stand. */
static bool has_second_reading(const Hunk *hunk)
{
    return hunk->context > 0 && (hunk->bare_context > 0 || hunk->even == hunk->context);
}

static void push_hunk(const AcrDiff *diff, const AcrDiffFile *file, const Hunk *hunk, gsize end)
{
    AcrEdit *edit = acr_parse_edit_new(ACR_EDIT_DIFF, file->name, hunk->off, end);
    if (file->complaint)
        acr_parse_complain(edit, file->complaint);
    edit->original = g_strdup(hunk->old.text->str);
    edit->patched = g_strdup(hunk->new.text->str);
    edit->line = hunk->line;
    edit->bare = hunk->bare[1];
    edit->was_bare = hunk->bare[0];
    edit->one_blank = hunk->new.begun && hunk->new.text->len == 0;
    if (has_second_reading(hunk))
        acr_edit_add_reading(edit, g_strdup(hunk->old2.text->str), g_strdup(hunk->new2.text->str));
    acr_parse_push(diff->parse, edit);
}

/* All hunks of a file that is new, or goes, are one edit. */
static gsize read_whole(const AcrDiff *diff, const AcrDiffFile *file, gsize at)
{
    Side old = {g_string_new(NULL), false}, new = {g_string_new(NULL), false};
    AcrEdit *edit = acr_parse_edit_new(ACR_EDIT_DIFF, file->name, file->off, at);
    do {
        Hunk hunk = {0};
        gsize from = at;
        read_hunk(diff, &hunk, &at);
        if (hunk.old.begun)
            side_add(&old, hunk.old.text->str, hunk.old.text->len);
        if (hunk.new.begun)
            side_add(&new, hunk.new.text->str, hunk.new.text->len);
        edit->bare = hunk.bare[1];
        hunk_clear(&hunk);
        if (at == from)
            break;
    } while (at_hunk(diff, at));
    if (file->complaint)
        acr_parse_complain(edit, file->complaint);
    edit->end = at;
    edit->kind = file->deleted ? ACR_EDIT_DELETE : ACR_EDIT_CHANGE;
    edit->makes = !file->deleted;
    edit->executable = file->executable;
    edit->original = g_string_free(old.text, FALSE);
    edit->patched = g_string_free(new.text, FALSE);
    if (edit->makes)
        *edit->original = '\0';
    acr_parse_push(diff->parse, edit);
    return at;
}

static void push_rename(const AcrDiff *diff, const AcrDiffFile *file, gsize end)
{
    AcrEdit *edit = acr_parse_edit_new(ACR_EDIT_DIFF, file->name, file->off, end);
    edit->kind = ACR_EDIT_RENAME;
    edit->to = g_strdup(file->to);
    edit->original = g_strdup("");
    edit->patched = g_strdup("");
    acr_parse_push(diff->parse, edit);
}

static gsize read_hunks(const AcrDiff *diff, const AcrDiffFile *file, gsize at)
{
    guint n = 0;
    gsize from;
    do {
        Hunk hunk = {0};
        from = at;
        read_hunk(diff, &hunk, &at);
        if (hunk.old.begun || hunk.new.begun) {
            push_hunk(diff, file, &hunk, at);
            n++;
        }
        hunk_clear(&hunk);
    } while (at > from && at_hunk(diff, at));
    if (n == 0 && !file->to) {
        AcrEdit *edit = acr_parse_edit_new(ACR_EDIT_DIFF, file->name, file->off, at);
        acr_parse_complain(edit, file->complaint ? file->complaint : "its diff changes no line");
        acr_parse_push(diff->parse, edit);
    }
    return at;
}

/* The part of a diff about one file. */
static gsize read_file(const AcrDiff *diff, gsize at)
{
    g_auto(AcrDiffFile) file = {0};
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
static bool begins(const AcrDiff *diff, gsize off, const AcrDiffLine *line, bool diff_fence)
{
    const AcrParse *parse = diff->parse;
    gsize first = acr_next_line(parse->s, parse->fence.off, parse->len);
    if (ends_diff(line))
        return false;
    if (begins_file(diff, line, false) || acr_diff_begins(line, "@@ -"))
        return true;
    return diff_fence && off == first && line->len > 0;
}

/* Whether a diff begins at `off`; fills `diff`. */
static bool open_diff(AcrParse *parse, gsize off, AcrDiff *diff)
{
    gsize info = 0;
    const char *fence = parse->s + parse->fence.off;
    *diff = (AcrDiff){.parse = parse, .fenced = parse->fence.len > 0};
    bool named = diff->fenced && acr_is_fence(fence, parse->fence.len, &info) &&
                 acr_is_diff_fence(fence + info, parse->fence.len - info);
    if (diff->fenced)
        diff->indent = acr_skip_blanks(fence, 0, parse->fence.len);
    gsize first = acr_skip_blanks(parse->s, off, parse->len);
    if (first >= parse->len || (!named && !strchr("-+d@", parse->s[first])))
        return false;
    AcrDiffLine line = acr_diff_line(diff, off);
    return begins(diff, off, &line, named);
}

bool acr_diff_begins_at(AcrParse *parse, gsize off)
{
    AcrDiff diff;
    return open_diff(parse, off, &diff);
}

/* Past empty lines to the part about another file, if one follows. */
static bool find_next_file(const AcrDiff *diff, gsize *at)
{
    gsize next = *at;
    while (next < diff->parse->len) {
        AcrDiffLine line = acr_diff_line(diff, next);
        if (line.len > 0) {
            *at = next;
            return begins_file(diff, &line, false);
        }
        next = line.next;
    }
    return false;
}

gsize acr_diff_read(AcrParse *parse, gsize off)
{
    AcrDiff diff;
    if (!open_diff(parse, off, &diff))
        return off;
    gsize at = off, next = off;
    do {
        at = read_file(&diff, next);
        g_assert(at > next);
        next = at;
    } while (!acr_parse_is_full(parse) && find_next_file(&diff, &next));
    return at;
}
