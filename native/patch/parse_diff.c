/*
 * Unified diffs, as models write them: line numbers and counts are often wrong or absent, context
 * lines may lack their leading blank, headers may be missing. Each hunk becomes an edit: its
 * context and removed lines are what is quoted, its context and added lines what replaces them. So
 * a hunk goes where its text stands; the line number is kept as a hint. The headers say which file
 * it is, and that a file is new, deleted or renamed; the marks that git puts in front of paths (a/,
 * b/) are taken off where both names have them.
 *
 * A diff ends at the end of its fence; outside of one, at a line that cannot belong to it.
 */
#include <string.h>

#include "patch/parse_private.h"

/* A diff being read. */
typedef struct {
    AcrParse *parse; /* borrowed */
    bool fenced;     /* the diff is in a fence, whose end is its end */
    gsize indent;    /* blanks in front of the fence, and so in front of each line */
} Diff;

typedef struct {
    const char *s; /* a view into the answer, behind the indent */
    gsize len;     /* without the line end */
    gsize next;    /* offset of the next line */
} Line;

/* What the headers say of a file. */
typedef struct {
    gsize off;             /* of the headers */
    char *name;            /* owned; as it is called now; NULL: not said */
    char *to;              /* owned; its new name, when it is renamed; else NULL */
    const char *complaint; /* static; why it cannot be used, or NULL */
    bool created, deleted, executable;
} FileHeader;

/* Lines end in LF or CRLF: a lone CR is a character of the code. */
static Line line_at(const Diff *diff, gsize off)
{
    const AcrParse *parse = diff->parse;
    const char *lf = memchr(parse->s + off, '\n', parse->len - off);
    gsize end = lf ? (gsize)(lf - parse->s) : parse->len, next = lf ? end + 1 : end, from = off;
    if (lf && end > off && parse->s[end - 1] == '\r')
        end--;
    while (from < end && from - off < diff->indent && acr_is_blank(parse->s[from]))
        from++;
    return (Line){parse->s + from, end - from, next};
}

static bool begins_with(const Line *line, const char *with)
{
    gsize n = strlen(with);
    return line->len >= n && memcmp(line->s, with, n) == 0;
}

/* The names as they stand in the headers. */
typedef enum {
    OLD_NAME, /* --- */
    NEW_NAME, /* +++ */
    FROM,     /* rename from */
    TO,       /* rename to */
    BOTH,     /* diff --git a/X b/X */
    N_NAMES,
} NameKind;

typedef struct {
    char *name[N_NAMES]; /* owned */
    bool git;
} Headers;

static void file_header_clear(FileHeader *file)
{
    g_free(file->name);
    g_free(file->to);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FileHeader, file_header_clear)

static void headers_clear(Headers *headers)
{
    for (gsize i = 0; i < N_NAMES; i++)
        g_free(headers->name[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Headers, headers_clear)

/* Text that follows a name: a date, a remark in brackets. */
static gsize without_remark(const char *s, gsize len)
{
    const char *tab = memchr(s, '\t', len);
    if (tab)
        len = (gsize)(tab - s);
    for (gsize i = 1; i + 1 < len; i++)
        if (s[i] == ' ' && (g_ascii_isdigit(s[i + 1]) || s[i + 1] == '(' || s[i + 1] == ' '))
            return i;
    return len;
}

/* The name behind `skip` bytes of a line; owned. git's quotes and escapes are resolved. */
static char *name_in(const Line *line, gsize skip)
{
    skip = acr_skip_blanks(line->s, skip, line->len);
    const char *s = line->s + skip;
    gsize len = MIN(line->len - skip, 2 * ACR_PARSE_MAX_NAME);
    const char *quote = len > 1 && *s == '"' ? memchr(s + 1, '"', len - 1) : NULL;
    g_autofree char *escaped = quote ? g_strndup(s + 1, (gsize)(quote - s) - 1) : NULL;
    g_autofree char *plain = quote ? g_strcompress(escaped) : g_strndup(s, without_remark(s, len));
    return acr_utf8_repair(plain, strlen(plain));
}

/* "a/X b/X" -> X; NULL when the halves differ. Owned. */
static char *name_of_both(const Line *line, gsize skip)
{
    const char *s = line->s + skip;
    gsize len = line->len - skip, half = (len - 1) / 2;
    if (len < 5 || len % 2 == 0 || s[half] != ' ' || s[1] != '/' || s[half + 2] != '/' ||
        memcmp(s + 2, s + half + 3, half - 2) != 0)
        return NULL;
    return g_strndup(s + 2, half - 2);
}

static void keep(char **slot, char *name)
{
    g_free(*slot);
    *slot = name;
}

/* Lines that only git writes, behind "diff --git". */
static bool read_git_line(const Line *line, Headers *headers, FileHeader *file)
{
    static const char *const passed[] = {"index ", "similarity index ", "dissimilarity index ",
                                         "old mode ", "new mode "};
    for (gsize i = 0; i < G_N_ELEMENTS(passed); i++)
        if (begins_with(line, passed[i]))
            return true;
    if (begins_with(line, "rename from "))
        keep(&headers->name[FROM], name_in(line, strlen("rename from ")));
    else if (begins_with(line, "rename to "))
        keep(&headers->name[TO], name_in(line, strlen("rename to ")));
    else if (begins_with(line, "copy from ") || begins_with(line, "copy to "))
        file->complaint = "files are not copied; write the new file whole";
    else if (begins_with(line, "Binary files ") || begins_with(line, "GIT binary patch"))
        file->complaint = "a binary patch cannot be read";
    else if (begins_with(line, "deleted file mode "))
        file->deleted = true;
    else if (!begins_with(line, "new file mode "))
        return false;
    else
        file->created = true;
    if (begins_with(line, "new file mode 12"))
        file->complaint = "symbolic links are not made";
    file->executable = file->executable || begins_with(line, "new file mode 100755");
    return true;
}

/* Length of a mark in front of a path: a/, b/, or another that git or people use. */
static gsize mark_length(const char *name)
{
    static const char *const marks[] = {"a/", "b/", "c/", "i/", "o/", "w/", "old/", "new/"};
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
        if (g_str_has_prefix(name, marks[i]) && name[strlen(marks[i])] != '\0')
            return strlen(marks[i]);
    return 0;
}

/* "--- X" of another file than the one that the lines above rename. */
static bool names_another(const Line *line, const char *renamed)
{
    g_autofree char *name = name_in(line, strlen("--- "));
    return renamed && strcmp(name, renamed) != 0 && strcmp(name + mark_length(name), renamed) != 0;
}

static gsize read_lines(const Diff *diff, gsize at, Headers *headers, FileHeader *file)
{
    bool done = false;
    while (!done && at < diff->parse->len) {
        Line line = line_at(diff, at);
        if (begins_with(&line, "diff --git ") && !headers->git) {
            headers->git = true;
            headers->name[BOTH] = name_of_both(&line, strlen("diff --git "));
        } else if (begins_with(&line, "--- ") && !headers->name[OLD_NAME]) {
            if (names_another(&line, headers->name[FROM]))
                return at;
            headers->name[OLD_NAME] = name_in(&line, strlen("--- "));
        } else if (begins_with(&line, "+++ ") && !headers->name[NEW_NAME]) {
            headers->name[NEW_NAME] = name_in(&line, strlen("+++ "));
            done = true;
        } else if (!headers->git || headers->name[OLD_NAME] ||
                   !read_git_line(&line, headers, file)) {
            return at;
        }
        at = line.next;
    }
    return at;
}

static bool is_null(const char *name)
{
    return name && strcmp(name, "/dev/null") == 0;
}

/* Takes the marks off, where both names have one, or there is but one name. */
static void strip_marks(Headers *headers)
{
    char **old_name = &headers->name[OLD_NAME], **new_name = &headers->name[NEW_NAME];
    gsize old_mark = *old_name ? mark_length(*old_name) : 0,
          new_mark = *new_name ? mark_length(*new_name) : 0;
    bool one = !*old_name || !*new_name || is_null(*old_name) || is_null(*new_name);
    if (!one && (old_mark == 0 || new_mark == 0))
        return;
    if (old_mark > 0)
        keep(old_name, g_strdup(*old_name + old_mark));
    if (new_mark > 0)
        keep(new_name, g_strdup(*new_name + new_mark));
}

/* x.py.orig and x.py, old/x.py and x.py: one file at two times. */
static bool same_file(const char *old_name, const char *new_name)
{
    g_autofree char *old_base = g_path_get_basename(old_name);
    g_autofree char *new_base = g_path_get_basename(new_name);
    if (!g_str_has_prefix(old_base, new_base))
        return false;
    const char *more = old_base + strlen(new_base);
    return *more == '\0' || strcmp(more, ".orig") == 0 || strcmp(more, ".old") == 0 ||
           strcmp(more, ".bak") == 0;
}

static void decide_name(const Headers *headers, FileHeader *file)
{
    const char *old_name = is_null(headers->name[OLD_NAME]) ? NULL : headers->name[OLD_NAME],
               *new_name = is_null(headers->name[NEW_NAME]) ? NULL : headers->name[NEW_NAME];
    file->created = file->created || is_null(headers->name[OLD_NAME]);
    file->deleted = file->deleted || is_null(headers->name[NEW_NAME]);
    if (headers->name[FROM] || headers->name[TO]) {
        file->name = g_strdup(headers->name[FROM]);
        file->to = g_strdup(headers->name[TO]);
        if (!file->complaint && (!file->name || !file->to))
            file->complaint = "rename from and rename to belong together";
        return;
    }
    if (!file->complaint && old_name && new_name && !same_file(old_name, new_name))
        file->complaint =
            "--- and +++ name different files; a new name takes rename from and rename to";
    const char *name = file->deleted && old_name ? old_name : new_name ? new_name : old_name;
    file->name = g_strdup(name ? name : headers->name[BOTH]);
}

/* Reads the header lines at `at`, if there are any; returns the offset of the line behind them. */
static gsize read_headers(const Diff *diff, gsize at, FileHeader *out)
{
    g_auto(Headers) headers = {0};
    out->off = at;
    at = read_lines(diff, at, &headers, out);
    strip_marks(&headers);
    decide_name(&headers, out);
    if (out->created && out->deleted && !out->complaint)
        out->complaint = "the diff says that the file is new and that it goes";
    return at;
}

/* A line with which the part about one file begins. `in_hunk`: after lines of a hunk whose counts
 * do not say that it is complete. */
static bool begins_file(const Diff *diff, const Line *line, bool in_hunk)
{
    if (begins_with(line, "diff --git "))
        return true;
    bool from = begins_with(line, "--- ");
    if (!from && !begins_with(line, "+++ "))
        return false;
    Line second = line_at(diff, line->next), third = line_at(diff, second.next);
    if (diff->fenced && begins_with(&second, "@@"))
        return true;
    if (!from || !begins_with(&second, "+++ "))
        return false;
    if (begins_with(&third, "@@"))
        return true;
    if (in_hunk)
        return false;
    return diff->fenced || (third.len > 0 && strchr("+- ", third.s[0]));
}

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
    return begins_with(line, "```") || acr_search_mark(line->s, line->len, &rest) > 0 ||
           begins_with(line, "# modification") ||
           (line->len > 5 && g_ascii_strncasecmp(line->s, "<file", 5) == 0);
}

/* Whether a line continues the hunk. */
static bool belongs(const Diff *diff, const Hunk *hunk, const Line *line)
{
    bool complete = is_complete(hunk);
    if (ends_diff(line) || begins_with(line, "@@") ||
        begins_file(diff, line, hunk->counted && !complete))
        return false;
    if (complete && (begins_with(line, "-- ") || (line->len == 2 && line->s[1] == '-')) &&
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
static gsize read_hunk_lines(const Diff *diff, Hunk *hunk, gsize at)
{
    gsize end = at;
    hunk->off = at;
    while (at < diff->parse->len) {
        Line line = line_at(diff, at);
        if (!belongs(diff, hunk, &line))
            break;
        at = line.next;
        if (line.len == 0) {
            hunk->blanks++;
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
    Line line = line_at(diff, *at);
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
    Line line = line_at(diff, at);
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
    at = read_headers(diff, at, &file);
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
    if (begins_file(diff, line, false) || begins_with(line, "@@ -"))
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
    gsize first = acr_skip_blanks(parse->s, off, parse->len);
    if (first >= parse->len || (!named && !strchr("-+d@", parse->s[first])))
        return false;
    Line line = line_at(diff, off);
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
        Line line = line_at(diff, *at);
        if (line.len > 0)
            return begins_file(diff, &line, false);
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
