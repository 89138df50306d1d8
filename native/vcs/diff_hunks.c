/* Writes the hunks between two texts. libgit2 finds and groups the changed lines as git does. This
 * file finds the text after the second "@@" (the line of the enclosing function) by git's rules,
 * because libgit2 does not apply its Python driver to buffers. */
#include <string.h>

#include "vcs_private.h"

#define MAX_CONTEXT 80 /* maximum number of bytes that git shows of the enclosing function's line */

typedef struct {
    GString *out;
    const char *old, *new; /* borrowed */
    gsize old_len, new_len;
    /* array of gsize: the offset of each line of `old`, followed by the length of `old`; NULL until
     * needed */
    GArray *starts;
    /* the line (0-based) before the previous hunk, at which the backward search for a function
     * ends */
    gssize last;
    bool python;
    char context[MAX_CONTEXT];
    /* length of `context`; a hunk for which no line is found shows the previous context again */
    gsize context_len;
} Hunks;

static bool is_blank_line(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Returns the first byte to show of `line` by git's default rule; NULL if the line does not begin
 * like a definition. */
static const char *match_default(const char *line, const char *end)
{
    return line < end && (g_ascii_isalpha(*line) || *line == '_' || *line == '$') ? line : NULL;
}

static const char *skip_word(const char *p, const char *end, const char *word)
{
    gsize len = strlen(word);
    if ((gsize)(end - p) <= len || memcmp(p, word, len) || (p[len] != ' ' && p[len] != '\t'))
        return NULL;
    return p + len;
}

/* Returns the first byte to show of `line` by the rule of git's Python driver: "class", "def" or
 * "async def", then a blank. NULL if the line does not match. */
static const char *match_python(const char *line, const char *end)
{
    const char *p = line;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    const char *start = p;
    const char *after = skip_word(p, end, "async");
    if (after) {
        while (after < end && (*after == ' ' || *after == '\t'))
            after++;
        return skip_word(after, end, "def") ? start : NULL;
    }
    return skip_word(p, end, "def") || skip_word(p, end, "class") ? start : NULL;
}

static bool set_context(Hunks *hunks, gsize line)
{
    const char *start = hunks->old + g_array_index(hunks->starts, gsize, line);
    const char *end = hunks->old + g_array_index(hunks->starts, gsize, line + 1);
    const char *shown = hunks->python ? match_python(start, end) : match_default(start, end);
    if (!shown)
        return false;
    if (hunks->python && end > start &&
        end[-1] == '\n') /* Python's rule matches neither the line end nor a CR before it */
        end -= end - start > 1 && end[-2] == '\r' ? 2 : 1;
    gsize len = MIN((gsize)(end - shown), MAX_CONTEXT);
    while (len > 0 && is_blank_line(shown[len - 1]))
        len--;
    memcpy(hunks->context, shown, len);
    hunks->context_len = len;
    return true;
}

/* Returns the number of bytes that git shows: those up to the first byte that is not UTF-8. */
static gsize shown_len(const char *text, gsize len)
{
    for (gsize done = 0; done < len;) {
        const char *end;
        if (g_utf8_validate_len(text + done, len - done, &end))
            return len;
        if (*end)
            return (gsize)(end - text);
        done = (gsize)(end - text) + 1; /* git also shows a NUL byte */
    }
    return len;
}

static void find_starts(Hunks *hunks)
{
    hunks->starts = g_array_new(FALSE, FALSE, sizeof(gsize));
    for (gsize off = 0; off < hunks->old_len;) {
        g_array_append_val(hunks->starts, off);
        const char *nl = memchr(hunks->old + off, '\n', hunks->old_len - off);
        off = nl ? (gsize)(nl - hunks->old) + 1 : hunks->old_len;
    }
    g_array_append_val(hunks->starts, hunks->old_len);
}

static int on_hunk(const git_diff_delta *delta, const git_diff_hunk *hunk, void *payload)
{
    Hunks *hunks = payload;
    if (!hunks->starts)
        find_starts(hunks);
    gssize first = hunk->old_lines ? hunk->old_start - 1 : hunk->old_start;
    for (gssize line = first - 1; line > hunks->last && !set_context(hunks, (gsize)line); line--)
        ;
    hunks->last = first - 1;
    g_string_append_printf(hunks->out, "@@ -%d", hunk->old_start);
    if (hunk->old_lines != 1)
        g_string_append_printf(hunks->out, ",%d", hunk->old_lines);
    g_string_append_printf(hunks->out, " +%d", hunk->new_start);
    if (hunk->new_lines != 1)
        g_string_append_printf(hunks->out, ",%d", hunk->new_lines);
    g_string_append(hunks->out, " @@");
    if (hunks->context_len) {
        g_string_append_c(hunks->out, ' ');
        gsize len = shown_len(hunks->context, hunks->context_len);
        g_string_append_len(hunks->out, hunks->context, (gssize)len);
    }
    g_string_append_c(hunks->out, '\n');
    return 0;
}

static int on_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
                   const git_diff_line *line, void *payload)
{
    GString *out = ((Hunks *)payload)->out;
    if (line->origin != GIT_DIFF_LINE_CONTEXT && line->origin != GIT_DIFF_LINE_ADDITION &&
        line->origin != GIT_DIFF_LINE_DELETION)
        return 0; /* skip libgit2's remark on a missing line end */
    g_string_append_c(out, line->origin);
    g_string_append_len(out, line->content, (gssize)line->content_len);
    if (!line->content_len || line->content[line->content_len - 1] != '\n')
        g_string_append(out, "\n\\ No newline at end of file\n");
    return 0;
}

static int compare_lines(Hunks *hunks)
{
    git_diff_options options;
    acr_git.diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
    options.flags = GIT_DIFF_FORCE_TEXT | GIT_DIFF_INDENT_HEURISTIC;
    options.context_lines = 3;
    return acr_git.diff_buffers(hunks->old, hunks->old_len, NULL, hunks->new, hunks->new_len, NULL,
                                &options, NULL, NULL, on_hunk, on_line, hunks);
}

bool acr_vcs_hunks_append(GString *out, GBytes *old, GBytes *new, bool python, GError **error)
{
    Hunks hunks = {.out = out, .last = -1, .python = python};
    const char *old_data = g_bytes_get_data(old, &hunks.old_len);
    const char *new_data = g_bytes_get_data(new, &hunks.new_len);
    hunks.old = old_data ? old_data : "";
    hunks.new = new_data ? new_data : "";
    int rc = compare_lines(&hunks);
    if (rc < 0)
        acr_vcs_fail_git(error, ACR_VCS_ERROR_FAILED, "cannot compare");
    if (hunks.starts)
        g_array_unref(hunks.starts);
    return rc == 0;
}
