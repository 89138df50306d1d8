/* Parses unified diffs as models write them: line numbers and counts are often wrong or missing,
 * context lines may lack their leading blank, headers may be missing. Each hunk becomes an edit.
 * Its context and removed lines are the quote, its context and added lines the replacement. A hunk
 * is applied where its text is found; the line number is only a hint. The headers name the file and
 * say whether it is new, deleted or renamed; git's prefixes of paths (a/, b/) are removed if both
 * names have them.
 *
 * Patches between "*** Begin Patch" and "*** End Patch" are read the same way; their hunks begin
 * with "@@" and the header of the enclosing code.
 *
 * A diff ends at the end of its fence; outside a fence, at a line that cannot belong to it. */
#include "patch/parse_diff_private.h"

/* One line of a hunk, with its mark. */
typedef struct {
    char kind; /* '+', '-' or ' '; or '=' for a context line without its leading blank */
    const char *s;
    gsize len;
} HunkLine;

typedef struct {
    GArray *lines; /* owned array of HunkLine */
    gsize off;     /* offset of the hunk's first line in the answer */
    guint line;    /* line of the old file at which the hunk begins; 0: unknown */
    bool counted;  /* the header states the number of lines of both sides */
    /* numbers of lines of the old and the new side: as the header states them, and as read so
     * far */
    gsize want[2], have[2];
    /* number of empty lines read last, which may or may not belong to the hunk */
    gsize blanks;
    char last;    /* kind of the last line that was read */
    bool bare[2]; /* "\ No newline" follows a line of the old or the new side */
} Hunk;

static void hunk_clear(Hunk *hunk)
{
    g_array_unref(hunk->lines);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Hunk, hunk_clear)

/* Returns the text of one side, '-' or '+'; owned. With `whole`, context lines keep their leading
 * blanks. */
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

/* Reads "12" or "12,3" after `sign`. Returns false if the range is missing. */
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

/* Whether another form of edit begins, or the fence ends. */
static bool ends_diff(const Line *line)
{
    gsize rest = 0, lead = acr_skip_blanks(line->s, 0, line->len);
    Line plain = {line->s + lead, line->len - lead, line->next};
    return begins_with(line, "```") || begins_with(&plain, "*** End Patch") ||
           acr_search_mark(line->s, line->len, &rest) > 0 || begins_with(line, "# modification") ||
           (line->len > 5 && g_ascii_strncasecmp(line->s, "<file", 5) == 0);
}

/* Whether "+" or "-" marks a line of code, and not a list item, a horizontal rule or a mail
 * signature. */
static bool is_marked(const Line *line)
{
    if (line->len == 0 || !strchr("+-", line->s[0]))
        return false;
    if (line->len == 1)
        return true;
    bool rule = line->s[0] == '-' && strspn(line->s, "- ") >= line->len;
    return !rule && (line->s[1] != ' ' || (line->len > 2 && line->s[2] == ' '));
}

/* Whether the line is a line that tools write before a file's headers ("diff -u", "Index:"). */
static bool is_preamble(const Diff *diff, const Line *line)
{
    Line next = *line;
    if (!begins_with(line, "diff -") && !begins_with(line, "Index: ") &&
        !begins_with(line, "====") && !begins_with(line, "Only in "))
        return false;
    for (guint i = 0; i < 3 && next.next < diff->parse->len; i++) {
        next = acr_diff_line_at(diff, next.next);
        if (acr_diff_begins_file(diff, &next, false))
            return true;
    }
    return false;
}

/* Whether a line continues the hunk. */
static bool belongs(const Diff *diff, const Hunk *hunk, const Line *line)
{
    bool complete = is_complete(hunk);
    if (ends_diff(line) || begins_with(line, "@@") || is_preamble(diff, line) ||
        acr_diff_begins_file(diff, line, hunk->counted && !complete))
        return false;
    if (complete && (begins_with(line, "-- ") || (line->len == 2 && line->s[1] == '-')) &&
        line->s[0] == '-')
        return false;
    if (diff->fenced || line->len == 0)
        return true;
    if (hunk->blanks > 0 && complete)
        return is_marked(line);
    if (strchr("+- \\", line->s[0]) || begins_with(line, "*** End of File"))
        return true;
    return hunk->blanks == 0 && hunk->counted && !complete;
}

/* Reads the lines of a hunk from `at` on. Returns the offset after the hunk's last line. */
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

/* Reads the hunk whose lines begin at *at, with or without a header. Appends its lines to
 * `hunk`, and moves *at after the hunk. */
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

/* Skips blank lines; returns whether another hunk of the file follows. */
static bool find_hunk(const Diff *diff, gsize *at)
{
    if (acr_parse_is_full(diff->parse))
        return false;
    for (gsize here = *at; here < diff->parse->len;) {
        Line line = acr_diff_line_at(diff, here);
        if (begins_with(&line, "@@")) {
            *at = here;
            return true;
        }
        if (acr_skip_blanks(line.s, 0, line.len) < line.len)
            return false;
        here = line.next;
    }
    return false;
}

static AcrEdit *new_edit(const FileHeader *file, gsize off, gsize end)
{
    AcrEdit *edit = acr_parse_edit_new(ACR_EDIT_DIFF, file->name, off, end);
    acr_parse_complain(edit, file->complaint);
    return edit;
}

/* Whether a second reading is possible, in which the leading blanks of the context lines belong
 * to the code and are not marks of the diff. */
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

/* Whether an unmarked comment at the beginning or end of a hunk may be a remark to the reader
 * and not a context line. */
static bool is_remark(const HunkLine *line)
{
    return line->kind == '=' && line->len > 0 &&
           (*line->s == '#' || strncmp(line->s, "//", 2) == 0);
}

/* Makes `out` a view of the hunk without the remarks at its beginning and end. Returns false if
 * there are no remarks, or only remarks. */
static bool without_remarks(const Hunk *hunk, Hunk *out, GArray *view)
{
    guint from = 0, to = hunk->lines->len;
    while (from < to && is_remark(&g_array_index(hunk->lines, HunkLine, from)))
        from++;
    while (to > from && is_remark(&g_array_index(hunk->lines, HunkLine, to - 1)))
        to--;
    if (to - from == hunk->lines->len || to == from)
        return false;
    g_array_append_vals(view, &g_array_index(hunk->lines, HunkLine, from), to - from);
    *out = *hunk;
    out->lines = view;
    return true;
}

static void push_hunk(const Diff *diff, const FileHeader *file, const Hunk *hunk, gsize end)
{
    g_autoptr(GArray) view = g_array_new(FALSE, FALSE, sizeof(HunkLine));
    Hunk plain;
    AcrEdit *edit = new_edit(file, hunk->off, end);
    *diff->whole = is_complete(hunk);
    acr_edit_add_reading(edit, side_text(hunk, '-', false), side_text(hunk, '+', false));
    edit->line = hunk->line;
    edit->bare = hunk->bare[1];
    edit->was_bare = hunk->bare[0];
    edit->one_blank = hunk->have[1] > 0 && *edit->patched == '\0';
    if (has_second_reading(hunk))
        acr_edit_add_reading(edit, side_text(hunk, '-', true), side_text(hunk, '+', true));
    if (without_remarks(hunk, &plain, view))
        acr_edit_add_reading(edit, side_text(&plain, '-', false), side_text(&plain, '+', false));
    acr_parse_push(diff->parse, edit);
}

/* Reads all hunks of a new or deleted file as one edit. */
static gsize read_whole(const Diff *diff, const FileHeader *file, gsize at)
{
    g_auto(Hunk) all = {0};
    AcrEdit *edit = new_edit(file, file->off, at);
    gsize from;
    do {
        from = at;
        read_hunk(diff, &all, &at);
    } while (at > from && find_hunk(diff, &at));
    *diff->whole = all.lines->len == 0 || is_complete(&all);
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

/* Adds the edit that the headers state: a rename, or a change of mode. */
static void push_header(const Diff *diff, const FileHeader *file, AcrEditKind kind, gsize end)
{
    AcrEdit *edit = new_edit(file, file->off, end);
    edit->kind = kind;
    edit->to = kind == ACR_EDIT_RENAME ? g_strdup(file->to) : NULL;
    edit->executable = file->executable;
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
    } while (at > from && find_hunk(diff, &at));
    if (n == 0 && !file->to && !file->has_mode) {
        AcrEdit *edit = new_edit(file, file->off, at);
        acr_parse_complain(edit, "the diff changes no line");
        acr_parse_push(diff->parse, edit);
    }
    return at;
}

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
        push_header(diff, &file, ACR_EDIT_RENAME, at);
    if (!file.complaint && file.has_mode)
        push_header(diff, &file, ACR_EDIT_MODE, at);
    if (file.created || file.deleted)
        return read_whole(diff, &file, at);
    return read_hunks(diff, &file, at);
}

/* Whether "@@" begins a hunk's header: it has a range, or changed lines follow soon. */
static bool is_hunk_header(const Diff *diff, const Line *line)
{
    if (!begins_with(line, "@@") || (line->len > 2 && !acr_is_blank(line->s[2])))
        return false;
    bool found = begins_with(line, "@@ -");
    Line next = *line;
    for (guint i = 0; i < 8 && !found && next.next < diff->parse->len; i++) {
        next = acr_diff_line_at(diff, next.next);
        found = next.len > 0 && strchr("+-", next.s[0]);
    }
    return found;
}

/* Whether a diff, and not only text about a diff, begins at `line`. */
static bool begins(const Diff *diff, gsize off, const Line *line, bool diff_fence)
{
    const AcrParse *parse = diff->parse;
    gsize first = acr_next_line(parse->s, parse->fence.off, parse->len);
    if (ends_diff(line))
        return false;
    if (acr_diff_begins_file(diff, line, false) || is_hunk_header(diff, line))
        return true;
    while (diff_fence && first < off && acr_skip_blanks(parse->s, first, off) < off &&
           acr_is_eol(parse->s[acr_skip_blanks(parse->s, first, off)]))
        first = acr_next_line(parse->s, first, parse->len);
    return diff_fence && off == first && acr_skip_blanks(line->s, 0, line->len) < line->len;
}

/* Skips lines before the first headers in a fence: "diff -u", a comment, the head of a mail. A file
 * named in the skipped lines is the file of a hunk without headers. */
static gsize skip_preamble(const Diff *diff, gsize off)
{
    for (gsize at = off; diff->fenced && at < diff->parse->len;) {
        Line line = acr_diff_line_at(diff, at);
        if (acr_diff_begins_file(diff, &line, false) || is_hunk_header(diff, &line)) {
            g_autofree char *name = acr_path_in_line(diff->parse->s + off, at - off);
            if (name && at > off && is_hunk_header(diff, &line))
                acr_parse_name(diff->parse, name);
            return at;
        }
        if (ends_diff(&line) || acr_search_has_line(line.s, line.len) || begins_with(&line, "<") ||
            (is_marked(&line) && line.len > 1))
            break;
        at = line.next;
    }
    return off;
}

/* Whether a diff begins at `off`; sets *diff to the state of its parser. */
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
    if (begins_with(&line, "*** Begin Patch")) {
        bool ends = g_strstr_len(parse->s + off, (gssize)(parse->len - off), "*** End Patch");
        diff->fenced = diff->fenced || ends;
        diff->envelope = !ends;
    }
    return begins(diff, off, &line, named);
}

bool acr_diff_begins_at(AcrParse *parse, gsize off)
{
    Diff diff;
    return open_diff(parse, off, &diff);
}

/* Skips empty lines and lines that tools write, up to the part about another file. Returns whether
 * such a part follows. */
static bool find_next_file(const Diff *diff, gsize *at)
{
    while (*at < diff->parse->len) {
        Line line = acr_diff_line_at(diff, *at);
        if (acr_diff_begins_file(diff, &line, false))
            return true;
        if (line.len > 0 && !is_preamble(diff, &line))
            return false;
        *at = line.next;
    }
    return false;
}

/* Whether the answer ends inside the diff: "*** Begin Patch" has no end, or the last hunk in a
 * fence has fewer lines than its header states. */
static bool is_cut(const Diff *diff, gsize end)
{
    const AcrParse *parse = diff->parse;
    while (end < parse->len && (acr_is_blank(parse->s[end]) || acr_is_eol(parse->s[end])))
        end++;
    return end == parse->len &&
           (diff->envelope || (diff->fenced && parse->fence.len > 0 && !*diff->whole));
}

bool acr_diff_has_line(const AcrParse *parse, gsize off, gsize end)
{
    gsize info = 0;
    Diff diff = {.parse = (AcrParse *)parse};
    Line line = {parse->s + off, end - off, acr_after_eol(parse->s, end, parse->len)};
    const char *fence = parse->s + parse->fence.off;
    bool in_diff =
        parse->fence.len == 0 || (acr_is_fence(fence, parse->fence.len, &info) &&
                                  acr_is_diff_fence(fence + info, parse->fence.len - info));
    if (is_hunk_header(&diff, &line) || acr_diff_begins_file(&diff, &line, false))
        return true;
    return in_diff && parse->diff_end > 0 && is_marked(&line);
}

gsize acr_diff_read(AcrParse *parse, gsize off)
{
    Diff diff;
    bool whole = false;
    if (!open_diff(parse, off, &diff))
        return off;
    diff.whole = &whole;
    gsize end = off, at = skip_preamble(&diff, off);
    guint before = parse->edits->len;
    do {
        end = at = read_file(&diff, at);
    } while (!acr_parse_is_full(parse) && find_next_file(&diff, &at));
    if (is_cut(&diff, end) && parse->edits->len > before)
        acr_parse_complain(parse->edits->pdata[parse->edits->len - 1],
                           diff.envelope
                               ? "*** End Patch is missing: the answer was cut"
                               : "the fence around the diff is not closed: the answer was "
                                 "cut");
    parse->diff_end = end;
    return end;
}
