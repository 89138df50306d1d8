/*
 * The header lines of a diff: which file it is about, and whether the file is new, goes, or gets
 * another name. The marks that git puts in front of paths (a/, b/) are taken off where both names
 * have them.
 */
#include <string.h>

#include "patch/diff_private.h"

/* The names as they stand in the headers; owned. */
typedef struct {
    char *old_name, *new_name; /* --- and +++ */
    char *from, *to;           /* rename from, rename to */
    char *both;                /* diff --git a/X b/X */
    bool git, copy, binary, link;
} Headers;

void acr_diff_file_clear(AcrDiffFile *file)
{
    g_clear_pointer(&file->name, g_free);
    g_clear_pointer(&file->to, g_free);
}

static void headers_clear(Headers *headers)
{
    g_free(headers->old_name);
    g_free(headers->new_name);
    g_free(headers->from);
    g_free(headers->to);
    g_free(headers->both);
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
    while (len > 0 && acr_is_blank(s[len - 1]))
        len--;
    return len;
}

/* The name behind `skip` bytes of a line; owned. git's quotes and escapes are resolved. */
static char *name_in(const AcrDiffLine *line, gsize skip)
{
    skip = acr_skip_blanks(line->s, skip, line->len);
    const char *s = line->s + skip;
    gsize len = MIN(line->len - skip, 2 * ACR_PARSE_MAX_NAME);
    const char *quote = len > 1 && *s == '"' ? memchr(s + 1, '"', len - 1) : NULL;
    if (!quote) {
        g_autofree char *plain = g_strndup(s, without_remark(s, len));
        return acr_utf8_repair(plain, strlen(plain));
    }
    g_autofree char *escaped = g_strndup(s + 1, (gsize)(quote - s) - 1);
    g_autofree char *plain = g_strcompress(escaped);
    return acr_utf8_repair(plain, strlen(plain));
}

/* "a/X b/X" -> X; NULL when the halves differ. Owned. */
static char *name_of_both(const AcrDiffLine *line, gsize skip)
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
static bool read_git_line(const AcrDiffLine *line, Headers *headers, AcrDiffFile *file)
{
    static const char *const passed[] = {"index ", "similarity index ", "dissimilarity index ",
                                         "old mode ", "new mode "};
    for (gsize i = 0; i < G_N_ELEMENTS(passed); i++)
        if (acr_diff_begins(line, passed[i]))
            return true;
    if (acr_diff_begins(line, "new file mode ")) {
        file->created = true;
        file->executable = acr_diff_begins(line, "new file mode 100755");
        headers->link = acr_diff_begins(line, "new file mode 12");
    } else if (acr_diff_begins(line, "deleted file mode ")) {
        file->deleted = true;
    } else if (acr_diff_begins(line, "rename from ")) {
        keep(&headers->from, name_in(line, strlen("rename from ")));
    } else if (acr_diff_begins(line, "rename to ")) {
        keep(&headers->to, name_in(line, strlen("rename to ")));
    } else if (acr_diff_begins(line, "copy from ") || acr_diff_begins(line, "copy to ")) {
        headers->copy = true;
    } else if (acr_diff_begins(line, "Binary files ") ||
               acr_diff_begins(line, "GIT binary patch")) {
        headers->binary = true;
    } else {
        return false;
    }
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
static bool names_another(const AcrDiffLine *line, const Headers *headers)
{
    if (!headers->from)
        return false;
    g_autofree char *name = name_in(line, strlen("--- "));
    return strcmp(name, headers->from) != 0 && strcmp(name + mark_length(name), headers->from) != 0;
}

static gsize read_lines(const AcrDiff *diff, gsize at, Headers *headers, AcrDiffFile *file)
{
    bool done = false;
    while (!done && at < diff->parse->len) {
        AcrDiffLine line = acr_diff_line(diff, at);
        if (acr_diff_begins(&line, "diff --git ") && !headers->git) {
            headers->git = true;
            headers->both = name_of_both(&line, strlen("diff --git "));
        } else if (acr_diff_begins(&line, "--- ") && !headers->old_name) {
            if (names_another(&line, headers))
                return at;
            headers->old_name = name_in(&line, strlen("--- "));
        } else if (acr_diff_begins(&line, "+++ ") && !headers->new_name) {
            headers->new_name = name_in(&line, strlen("+++ "));
            done = true;
        } else if (!headers->git || headers->old_name || !read_git_line(&line, headers, file)) {
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

static void strip_marks(Headers *headers)
{
    char *old_name = headers->old_name, *new_name = headers->new_name;
    gsize old_mark = old_name && !is_null(old_name) ? mark_length(old_name) : 0,
          new_mark = new_name && !is_null(new_name) ? mark_length(new_name) : 0;
    bool one = !old_name || !new_name || is_null(old_name) || is_null(new_name);
    if (!one && (old_mark == 0 || new_mark == 0))
        return;
    if (old_mark > 0)
        keep(&headers->old_name, g_strdup(old_name + old_mark));
    if (new_mark > 0)
        keep(&headers->new_name, g_strdup(new_name + new_mark));
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* x.py.orig and x.py, old/x.py and x.py: one file at two times. */
static bool same_file(const char *old_name, const char *new_name)
{
    const char *old_base = base_of(old_name), *new_base = base_of(new_name);
    gsize n = strlen(new_base);
    if (strncmp(old_base, new_base, n) != 0)
        return false;
    return old_base[n] == '\0' || strcmp(old_base + n, ".orig") == 0 ||
           strcmp(old_base + n, ".old") == 0 || strcmp(old_base + n, ".bak") == 0;
}

static void decide_name(const Headers *headers, AcrDiffFile *file)
{
    const char *old_name = is_null(headers->old_name) ? NULL : headers->old_name,
               *new_name = is_null(headers->new_name) ? NULL : headers->new_name;
    file->created = file->created || is_null(headers->old_name);
    file->deleted = file->deleted || is_null(headers->new_name);
    if (headers->from || headers->to) {
        file->name = g_strdup(headers->from);
        file->to = g_strdup(headers->to);
        if (!headers->from || !headers->to)
            file->complaint = "rename from and rename to belong together";
        return;
    }
    if (old_name && new_name && !same_file(old_name, new_name))
        file->complaint =
            "--- and +++ name different files; a new name takes rename from and rename to";
    const char *name = file->deleted && old_name ? old_name : new_name ? new_name : old_name;
    file->name = g_strdup(name ? name : headers->both);
}

gsize acr_diff_read_headers(const AcrDiff *diff, gsize at, AcrDiffFile *out)
{
    g_auto(Headers) headers = {0};
    out->off = at;
    at = read_lines(diff, at, &headers, out);
    strip_marks(&headers);
    decide_name(&headers, out);
    if (headers.binary)
        out->complaint = "a binary patch cannot be read";
    else if (headers.copy)
        out->complaint = "files are not copied; write the new file whole";
    else if (headers.link)
        out->complaint = "symbolic links are not made";
    else if (out->created && out->deleted)
        out->complaint = "the diff says that the file is new and that it goes";
    return at;
}
