/* Helpers for the parsers of all forms of edits. They handle the lines of an answer, lines that
 * are not code (fences, the name of a block's file), and the list of edits. A line names a file
 * only if it contains nothing else, so that a sentence about a file does not become the heading
 * of an edit. */
#include <string.h>

#include "patch/parse_private.h"

/* maximum number of bytes of a sentence in which a path is searched for */
#define MAX_SENTENCE 400u

gsize acr_skip_blanks(const char *s, gsize at, gsize to)
{
    while (at < to && acr_is_blank(s[at]))
        at++;
    return at;
}

gsize acr_line_end(const char *s, gsize from, gsize to)
{
    while (from < to && !acr_is_eol(s[from]))
        from++;
    return from;
}

gsize acr_after_eol(const char *s, gsize at, gsize to)
{
    if (at < to && s[at] == '\r')
        at++;
    else if (at < to && s[at] == '\n')
        return at + 1;
    return at < to && s[at] == '\n' ? at + 1 : at;
}

gsize acr_next_line(const char *s, gsize from, gsize to)
{
    return acr_after_eol(s, acr_line_end(s, from, to), to);
}

bool acr_is_fence(const char *s, gsize len, gsize *out_info)
{
    gsize at = acr_skip_blanks(s, 0, len);
    if (len - at < 3 || strncmp(s + at, "```", 3) != 0)
        return false;
    while (at < len && s[at] == '`')
        at++;
    gsize info = at = acr_skip_blanks(s, at, len);
    for (; at < len; at++)
        if (!g_ascii_isalnum(s[at]) && !acr_is_blank(s[at]) && !strchr("+-_./:=\"#", s[at]))
            return false;
    if (out_info)
        *out_info = info;
    return true;
}

bool acr_is_diff_fence(const char *info, gsize len)
{
    return (len >= 4 && memcmp(info, "diff", 4) == 0) ||
           (len >= 5 && memcmp(info, "patch", 5) == 0);
}

/* Removes the blanks at the end of [from, *to), and one line end before them. */
static void trim_end(const char *s, gsize from, gsize *to)
{
    while (*to > from && acr_is_blank(s[*to - 1]))
        (*to)--;
    if (*to > from && s[*to - 1] == '\n')
        (*to)--;
    if (*to > from && s[*to - 1] == '\r')
        (*to)--;
}

/* Removes the fence around a part: its first line if that is a fence, and then its last line if
 * that is a fence, too. */
static void trim_fence(const char *s, gsize *from, gsize *to)
{
    gsize end = acr_line_end(s, *from, *to);
    if (end == *from || !acr_is_fence(s + *from, end - *from, NULL))
        return;
    *from = acr_after_eol(s, end, *to);
    gsize last = *to;
    while (last > *from && !acr_is_eol(s[last - 1]))
        last--;
    if (last < *to && acr_is_fence(s + last, *to - last, NULL)) {
        *to = last;
        trim_end(s, *from, to);
    }
}

char *acr_part_text(const char *s, gsize from, gsize to)
{
    gsize at = acr_skip_blanks(s, from, to);
    if (at < to && acr_is_eol(s[at]))
        from = acr_after_eol(s, at, to);
    trim_end(s, from, &to);
    trim_fence(s, &from, &to);
    return g_strndup(s + from, to - from);
}

static bool is_markup(char c)
{
    return strchr("`*_ \t\"'", c) != NULL && c != '\0';
}

/* Whether the name has an extension or a slash, so that it cannot be an ordinary word. */
static bool is_path_like(const char *s, gsize len)
{
    gsize dot = len;
    bool slash = false;
    if (len == 0 || len > ACR_PARSE_MAX_NAME)
        return false;
    for (gsize i = 0; i < len; i++) {
        if (acr_is_blank(s[i]) || strchr("<>|\"'`*?(){};,=", s[i]))
            return false;
        slash = slash || s[i] == '/';
        if (s[i] == '/')
            dot = len;
        else if (s[i] == '.')
            dot = i;
    }
    if (s[len - 1] == '/' || strstr(s, "://") == s + 4 || strstr(s, "://") == s + 5)
        return false;
    bool extension = dot + 1 < len && len - dot <= 9 && g_ascii_isalpha(s[dot + 1]);
    for (gsize i = dot + 2; extension && i < len; i++)
        extension = g_ascii_isupper(s[i]) == g_ascii_isupper(s[dot + 1]) || g_ascii_isdigit(s[i]);
    return extension || slash;
}

/* Returns the offset after "File:", "New file:" and similar labels at the beginning of [from,
 * to). */
static gsize skip_label(const char *s, gsize from, gsize to)
{
    static const char *const labels[] = {"file name", "filename", "file path", "filepath",
                                         "new file",  "file",     "path"};
    for (gsize i = 0; i < G_N_ELEMENTS(labels); i++) {
        gsize n = strlen(labels[i]);
        if (to - from <= n || g_ascii_strncasecmp(s + from, labels[i], n) != 0)
            continue;
        gsize at = from + n;
        while (at < to && is_markup(s[at]))
            at++;
        if (at < to && s[at] == ':')
            return at + 1;
    }
    return from;
}

/* Returns the offset after the marks of headings, quotes, comments and lists in [from, to). */
static gsize skip_list_mark(const char *s, gsize from, gsize to)
{
    gsize at = from;
    while (at < to && (strchr("#>-", s[at]) || is_markup(s[at])))
        at++;
    gsize digits = at;
    while (digits < to && g_ascii_isdigit(s[digits]))
        digits++;
    if (digits > at && digits + 1 < to && strchr(".)", s[digits]) && acr_is_blank(s[digits + 1]))
        at = digits + 1;
    return at;
}

/* Returns the name in a line that contains only a name, marks and labels; owned. */
static char *name_in_line(const char *s, gsize len)
{
    gsize from = 0, to = len;
    from = skip_list_mark(s, from, to);
    while (from < to && is_markup(s[from]))
        from++;
    from = skip_label(s, from, to);
    while (from < to && is_markup(s[from]))
        from++;
    while (to > from && (is_markup(s[to - 1]) || s[to - 1] == ':'))
        to--;
    return g_strndup(s + from, to - from);
}

char *acr_path_in_line(const char *s, gsize len)
{
    g_autofree char *path = name_in_line(s, len <= 2 * ACR_PARSE_MAX_NAME ? len : 0);
    return is_path_like(path, strlen(path)) ? g_steal_pointer(&path) : NULL;
}

char *acr_word_in_line(const char *s, gsize len)
{
    g_autofree char *word = name_in_line(s, len <= MAX_SENTENCE ? len : 0);
    gsize n = strlen(word), at = 0, capitals = 0;
    for (; at < n && (g_ascii_isalnum(word[at]) || strchr("_-.", word[at])); at++)
        capitals += g_ascii_isupper(word[at]);
    bool marked = len > 0 && memchr(s, '`', len), hidden = *word == '.' && n > 2;
    bool named = capitals == n || hidden || (n > 4 && g_str_has_suffix(word, "file"));
    return n > 1 && at == n && (marked || named) ? g_steal_pointer(&word) : NULL;
}

char *acr_path_in_info(const char *s, gsize len)
{
    if (len > ACR_PARSE_MAX_NAME)
        return NULL;
    g_autofree char *info = g_strndup(s, len);
    g_auto(GStrv) words = g_strsplit_set(info, " \t=:\"", -1);
    for (guint i = 0; words[i]; i++) {
        const char *dot = strrchr(words[i], '.');
        if (dot && dot != words[i] && g_ascii_isalpha(dot[1]) &&
            is_path_like(words[i], strlen(words[i])))
            return g_strdup(words[i]);
    }
    return NULL;
}

static void reading_free(gpointer data)
{
    AcrEditReading *reading = data;
    ACR_FREE(reading->original, reading->patched, reading);
}

void acr_edit_free(AcrEdit *edit)
{
    if (!edit)
        return;
    ACR_FREE(edit->file, edit->original, edit->patched, edit->complaint, edit->to);
    g_clear_pointer(&edit->others, g_ptr_array_unref);
    g_free(edit);
}

AcrEdit *acr_parse_edit_new(AcrEditForm form, const char *file, gsize off, gsize end)
{
    AcrEdit *edit = g_new0(AcrEdit, 1);
    edit->form = form;
    edit->file = g_strdup(file);
    edit->off = off;
    edit->end = end;
    return edit;
}

void acr_edit_add_reading(AcrEdit *edit, char *original, char *patched)
{
    if (!edit->original) {
        edit->original = original;
        edit->patched = patched;
        return;
    }
    AcrEditReading *reading = g_new0(AcrEditReading, 1);
    reading->original = original;
    reading->patched = patched;
    if (!edit->others)
        edit->others = g_ptr_array_new_with_free_func(reading_free);
    g_ptr_array_add(edit->others, reading);
}

void acr_parse_complain(AcrEdit *edit, const char *text)
{
    if (!edit->complaint)
        edit->complaint = g_strdup(text);
}

bool acr_parse_is_full(const AcrParse *parse)
{
    return parse->edits->len > ACR_PATCH_MAX_EDITS;
}

void acr_parse_push(AcrParse *parse, AcrEdit *edit)
{
    if (parse->edits->len == ACR_PATCH_MAX_EDITS) {
        g_clear_pointer(&edit->complaint, g_free);
        acr_parse_complain(edit, "the answer has too many edits; this one and those after it were "
                                 "not read");
    }
    if (acr_parse_is_full(parse))
        acr_edit_free(edit);
    else
        g_ptr_array_add(parse->edits, edit);
}

void acr_parse_name(AcrParse *parse, const char *file)
{
    if (g_strcmp0(file, parse->near_file) == 0)
        return;
    g_free(parse->near_file);
    parse->near_file = g_strdup(file);
}

/* Returns the only path in a sentence, a word or text between backquotes; owned; "" if there are
 * several paths, NULL if there is none. Outside backquotes, only a name that ends in ".py" counts,
 * because other words with a dot are usually code. */
static char *path_in_sentence(const char *s, gsize len)
{
    g_autofree char *sentence = g_strndup(s, len <= MAX_SENTENCE ? len : 0), *found = NULL;
    g_auto(GStrv) parts = g_strsplit(sentence, "`", -1);
    for (guint i = 0; parts[i]; i++) {
        bool quoted = i % 2 > 0;
        g_auto(GStrv) words = g_strsplit_set(parts[i], quoted ? "" : " \t()[]\"'*,;", -1);
        for (guint j = 0; words[j]; j++) {
            gsize n = strlen(words[j]);
            while (n > 0 && strchr(".:!?", words[j][n - 1]))
                words[j][--n] = '\0';
            if (!is_path_like(words[j], n) ||
                !(g_str_has_suffix(words[j], ".py") || (quoted && strchr(words[j], '/'))))
                continue;
            if (found && strcmp(found, words[j]) != 0)
                return g_strdup("");
            g_free(found);
            found = g_strdup(words[j]);
        }
    }
    return g_steal_pointer(&found);
}

char *acr_parse_named_near(const AcrParse *parse)
{
    gsize info = 0;
    const char *fence = parse->s + parse->fence.off, *above = parse->s + parse->above.off;
    char *path = acr_path_in_line(above, parse->above.len);
    if (!path && parse->fence.len > 0 && acr_is_fence(fence, parse->fence.len, &info))
        path = acr_path_in_info(fence + info, parse->fence.len - info);
    if (!path)
        path = path_in_sentence(above, parse->above.len);
    if (path && !*path)
        g_clear_pointer(&path, g_free);
    else if (!path)
        path = g_strdup(parse->near_file);
    return path;
}
