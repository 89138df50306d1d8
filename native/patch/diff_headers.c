/* Reads the headers of a diff: which file the following hunks change, and whether the file is new,
 * deleted or renamed. Handles headers of unified diffs, of git, and of patches that begin with "***
 * Begin Patch" ("*** Update File: a.py", "*** Add File: ", "*** Delete File: ", "*** Move to:
 * "). */
#include "patch/parse_diff_private.h"

Line acr_diff_line_at(const Diff *diff, gsize off)
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

/* The kinds of headers that name a file. */
typedef enum {
    OLD_NAME, /* the line "--- NAME" */
    NEW_NAME, /* the line "+++ NAME" */
    FROM,     /* the line "rename from NAME" */
    TO,       /* the line "rename to NAME" */
    BOTH,     /* the line "diff --git a/X b/X" */
    N_NAMES,
} NameKind;

typedef struct {
    char *name[N_NAMES]; /* owned; NULL if there is no such header */
    bool git;
} Headers;

static const char *const stars[] = {"*** Update File: ", "*** Add File: ", "*** Delete File: "};

/* Returns the header of the "***" form with which a line begins; NULL if there is none. */
static const char *const *find_star(const Line *line)
{
    for (gsize i = 0; i < G_N_ELEMENTS(stars); i++)
        if (begins_with(line, stars[i]) && line->len > strlen(stars[i]))
            return &stars[i];
    return NULL;
}

void acr_file_header_clear(FileHeader *file)
{
    ACR_FREE(file->name, file->to);
}

static void headers_clear(Headers *headers)
{
    for (gsize i = 0; i < N_NAMES; i++)
        g_free(headers->name[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Headers, headers_clear)

/* Returns the length of a name without the date, or the remark in brackets, that follows the
 * name. */
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

/* Returns the name after the first `skip` bytes of a line, decoded from git's quotes and escapes;
 * owned. */
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

/* Returns X for "a/X b/X", owned; NULL if the halves differ. */
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

/* Reads a header line that only git writes, after "diff --git". Returns false if the line has
 * another form. */
static bool read_git_line(const Line *line, Headers *headers, FileHeader *file)
{
    static const char *const passed[] = {"index ", "similarity index ", "dissimilarity index ",
                                         "old mode "};
    for (gsize i = 0; i < G_N_ELEMENTS(passed); i++)
        if (begins_with(line, passed[i]))
            return true;
    if (begins_with(line, "rename from "))
        keep(&headers->name[FROM], name_in(line, strlen("rename from ")));
    else if (begins_with(line, "rename to "))
        keep(&headers->name[TO], name_in(line, strlen("rename to ")));
    else if (begins_with(line, "copy from ") || begins_with(line, "copy to "))
        file->complaint = "copying a file is not supported; write the whole new file";
    else if (begins_with(line, "Binary files ") || begins_with(line, "GIT binary patch"))
        file->complaint = "a binary patch cannot be read";
    else if (begins_with(line, "deleted file mode "))
        file->deleted = true;
    else if (begins_with(line, "new mode "))
        file->has_mode = true;
    else if (!begins_with(line, "new file mode "))
        return false;
    else
        file->created = true;
    if (begins_with(line, "new file mode 12"))
        file->complaint = "creating symbolic links is not supported";
    file->executable = file->executable || begins_with(line, "new file mode 100755") ||
                       begins_with(line, "new mode 100755");
    return true;
}

/* Returns the length of a path's prefix: a/, b/, or another prefix that git or people use; 0 if
 * there is none. */
static gsize mark_length(const char *name)
{
    static const char *const marks[] = {"a/", "b/", "c/", "i/", "o/", "w/", "old/", "new/"};
    for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
        if (g_str_has_prefix(name, marks[i]) && name[strlen(marks[i])] != '\0')
            return strlen(marks[i]);
    return 0;
}

/* Whether a line "--- X" names another file than `renamed`, the file that the lines above rename
 * (may be NULL). */
static bool names_another(const Line *line, const char *renamed)
{
    g_autofree char *name = name_in(line, strlen("--- "));
    return renamed && strcmp(name, renamed) != 0 && strcmp(name + mark_length(name), renamed) != 0;
}

/* Whether the header says, as `diff` does, that the file does not exist: the header's date is
 * the epoch in any time zone, and the lines of the file's hunk begin at 0. */
static bool is_dated_away(const Diff *diff, const Line *line, char sign)
{
    static const char *const dates[] = {"1970-01-01 ", "1969-12-31 ", "Jan  1 ", "Dec 31 "};
    const char *tab = memchr(line->s, '\t', line->len);
    g_autofree char *date = g_strndup(tab ? tab : "", tab ? line->len - (gsize)(tab - line->s) : 0);
    bool epoch = false;
    for (gsize i = 0; i < G_N_ELEMENTS(dates); i++)
        epoch = epoch || (strstr(date, dates[i]) &&
                          (i < 2 || strstr(date, " 1970") || strstr(date, " 1969")));
    const char none[] = {' ', sign, '0', ',', '0', ' ', '\0'};
    for (gsize at = line->next, n = 0; epoch && n < 2 && at < diff->parse->len; n++) {
        Line next = acr_diff_line_at(diff, at);
        if (begins_with(&next, "@@"))
            return g_strstr_len(next.s, (gssize)next.len, none);
        at = next.next;
    }
    return false;
}

static gsize read_header_lines(const Diff *diff, gsize at, Headers *headers, FileHeader *file)
{
    bool done = false;
    while (!done && at < diff->parse->len) {
        Line line = acr_diff_line_at(diff, at);
        if (begins_with(&line, "diff --git ") && !headers->git) {
            headers->git = true;
            headers->name[BOTH] = name_of_both(&line, strlen("diff --git "));
        } else if (begins_with(&line, "--- ") && !headers->name[OLD_NAME]) {
            if (names_another(&line, headers->name[FROM]))
                return at;
            headers->name[OLD_NAME] = is_dated_away(diff, &line, '-')
                                          ? g_strdup("/dev/null")
                                          : name_in(&line, strlen("--- "));
        } else if (begins_with(&line, "+++ ") && !headers->name[NEW_NAME]) {
            headers->name[NEW_NAME] = is_dated_away(diff, &line, '+')
                                          ? g_strdup("/dev/null")
                                          : name_in(&line, strlen("+++ "));
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

/* Removes the prefixes of both names if both names have a prefix, or of the only name. */
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

/* Whether two names are versions of one file: x.py.orig and x.py, old/x.py and x.py. */
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
            file->complaint = "a rename needs both 'rename from' and 'rename to'";
        return;
    }
    if (!file->complaint && old_name && new_name && !same_file(old_name, new_name))
        file->complaint = "--- and +++ name different files; to rename a file, write 'rename from' "
                          "and 'rename to'";
    const char *name = file->deleted && old_name ? old_name : new_name ? new_name : old_name;
    file->name = g_strdup(name ? name : headers->name[BOTH]);
}

/* Reads "*** Update File: a.py" and the header lines that belong to the file. Returns false if
 * there is no such header. */
static bool read_stars(const Diff *diff, gsize *at, FileHeader *out)
{
    Line line = acr_diff_line_at(diff, *at);
    if (begins_with(&line, "*** Begin Patch")) {
        *at = line.next;
        line = acr_diff_line_at(diff, *at);
    }
    const char *const *star = find_star(&line);
    if (!star)
        return false;
    out->name = name_in(&line, strlen(*star));
    out->created = star == &stars[1];
    out->deleted = star == &stars[2];
    *at = line.next;
    Line next = acr_diff_line_at(diff, *at);
    if (begins_with(&next, "*** Move to: ")) {
        out->to = name_in(&next, strlen("*** Move to: "));
        *at = next.next;
    }
    return true;
}

gsize acr_diff_read_headers(const Diff *diff, gsize at, FileHeader *out)
{
    g_auto(Headers) headers = {0};
    out->off = at;
    if (read_stars(diff, &at, out))
        return at;
    at = read_header_lines(diff, at, &headers, out);
    strip_marks(&headers);
    decide_name(&headers, out);
    if (out->created && out->deleted && !out->complaint)
        out->complaint = "the diff says that the file is both created and deleted";
    return at;
}

bool acr_diff_begins_file(const Diff *diff, const Line *line, bool in_hunk)
{
    if (begins_with(line, "diff --git ") || begins_with(line, "*** Begin Patch") || find_star(line))
        return true;
    bool from = begins_with(line, "--- ");
    if (!from && !begins_with(line, "+++ "))
        return false;
    Line second = acr_diff_line_at(diff, line->next), third = acr_diff_line_at(diff, second.next);
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
