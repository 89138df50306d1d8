/* Cleans an issue's text for a model: removes the HTML comments of issue templates and the blank
 * lines around them. Comments inside code (fenced, indented, inline or quoted) belong to the
 * report and are kept. */
#include "agents/agents.h"

#include <string.h>

/* Returns the length of a code fence (``` or ~~~, indented by up to three blanks) at the start of a
 * line, and sets the fence's character; 0 if there is no fence. */
static gsize fence_at(const char *line, char *out_sign)
{
    while (*line == '>' ||
           (*line == ' ' && line[1 + strspn(line + 1, " ")] == '>')) /* inside a quotation */
        line += 1 + (line[1] == ' ');
    gsize indent = strspn(line, " ");
    char sign = line[indent];
    if (indent > 3 || (sign != '`' && sign != '~'))
        return 0;
    gsize len = 0;
    while (line[indent + len] == sign)
        len++;
    *out_sign = sign;
    return len >= 3 ? len : 0;
}

/* Returns the end of the fenced block that begins at `text` (the start of a line); the end of the
 * text if the block is never closed. */
static const char *skip_fence(const char *text, gsize opened, char sign)
{
    const char *line = strchr(text, '\n');
    while (line) {
        char closing_sign = 0;
        gsize closing = fence_at(++line, &closing_sign);
        const char *end = strchr(line, '\n');
        if (closing >= opened && closing_sign == sign)
            return end ? end + 1 : line + strlen(line);
        line = end;
    }
    return text + strlen(text);
}

/* True if the text so far ends in an empty line, or is empty. */
static bool ends_blank(const GString *out)
{
    return out->len == 0 ||
           (out->len >= 2 && out->str[out->len - 1] == '\n' && out->str[out->len - 2] == '\n');
}

/* Skips the comment whose "-->" is at `end`, and the blanks before it. If its lines contain
 * nothing else, skips the whole lines. */
static const char *skip_comment(const char *end, GString *out)
{
    const char *rest = end + strlen("-->");
    while (out->len > 0 && strchr(" \t", out->str[out->len - 1]))
        g_string_truncate(out, out->len - 1);
    bool at_line_start = out->len == 0 || out->str[out->len - 1] == '\n';
    const char *after = rest + strspn(rest, " \t");
    if (!at_line_start || (*after && *after != '\n'))
        return *after == '\n' || !*after ? after : rest;
    rest = *after ? after + 1 : after;
    while (ends_blank(out) && *rest == '\n')
        rest++;
    return rest;
}

#define MAX_INLINE 1000u /* maximum length of code between backticks, in bytes */

/* Returns the end of code that begins at `at`: an indented line, or text between equal numbers of
 * backticks in a paragraph. Returns `at` if no code begins there. */
static const char *skip_code(const char *at, bool line_start)
{
    gsize ticks = *at == '`' ? strspn(at, "`") : 0, blanks = line_start ? strspn(at, " ") : 0;
    bool is_indented = line_start && (*at == '\t' || blanks >= 4);
    if (is_indented && !g_str_has_prefix(at + strspn(at, " \t"), "<!--"))
        return at + strcspn(at, "\n");
    const char *end = at + ticks, *last = end + (ticks ? strnlen(end, MAX_INLINE) : 0);
    while (end < last && !g_str_has_prefix(end, "\n\n")) {
        gsize here = strspn(end, "`");
        if (here == ticks)
            return end + ticks;
        end += MAX(here, 1);
    }
    return at + ticks;
}

char *acr_issue_clean(const char *text)
{
    g_auto(GStrv) crlf_lines = g_strsplit(text, "\r\n", -1);
    g_autofree char *unified = g_strdelimit(g_strjoinv("\n", crlf_lines), "\r", '\n');
    GString *out = g_string_sized_new(strlen(unified));
    bool line_start = true;
    /* becomes false after a search for "-->" has failed, because no later search can succeed */
    bool may_close = true;
    for (const char *at = unified; *at;) {
        char sign;
        gsize fence = line_start ? fence_at(at, &sign) : 0;
        bool opens = !fence && may_close && g_str_has_prefix(at, "<!--");
        const char *end = opens ? strstr(at + strlen("<!--"), "-->") : NULL;
        may_close = may_close && (!opens || end);
        if (fence) {
            end = skip_fence(at, fence, sign);
            g_string_append_len(out, at, end - at);
            at = end;
        } else if (end) {
            at = skip_comment(end, out);
        } else if ((end = skip_code(at, line_start)) > at) {
            g_string_append_len(out, at, end - at);
            at = end;
        } else {
            g_string_append_c(out, *at++);
        }
        line_start = out->len == 0 || out->str[out->len - 1] == '\n';
    }
    char *cleaned = g_string_free(out, FALSE);
    g_strchomp(cleaned);
    gsize lead = strspn(cleaned, "\n");
    memmove(cleaned, cleaned + lead, strlen(cleaned) - lead + 1);
    return cleaned;
}
