/* Writes code for a model: headings, numbered lines, signatures of a class. If a block exceeds its
 * budget, its middle is omitted. The line numbers stay correct, and a line of the output says how
 * to see the omitted part. */
#include <string.h>

#include "search/reply_private.h"

/* Appends `text` as valid UTF-8 on one line, with control characters as spaces. */
static void append_inline(GString *out, const char *text)
{
    g_autofree char *valid = acr_utf8_repair(text, strlen(text));
    for (char *at = valid; *at; at++)
        if ((guchar)*at < 0x20)
            *at = ' ';
    g_string_append(out, valid);
}

static void append_tag(GString *out, const char *tag, const char *text)
{
    g_string_append_printf(out, "<%s>", tag);
    append_inline(out, text);
    g_string_append_printf(out, "</%s>", tag);
}

void acr_render_heading(GString *out, const char *path, const char *klass, const char *func,
                        const char *separator)
{
    append_tag(out, "file", path);
    if (klass || func)
        g_string_append(out, separator);
    if (klass)
        append_tag(out, "class", klass);
    if (klass && func)
        g_string_append_c(out, ' ');
    if (func)
        append_tag(out, "func", func);
}

/* Appends a line of the content. A line without a number (`bare`) is never shortened, because the
 * model will quote it. */
static void append_line(GString *out, AcrContent *content, guint32 line, bool bare)
{
    gsize len;
    const char *text = acr_content_line(content, line, &len);
    if (!bare)
        g_string_append_printf(out, "%u ", line);
    if (bare || len <= ACR_SEARCH_MAX_LINE) {
        g_string_append_len(out, text, (gssize)len);
    } else {
        g_autofree char *copy = g_strndup(text, len);
        g_autofree char *shortened = acr_text_shorten(copy, ACR_SEARCH_MAX_LINE);
        g_strdelimit(shortened, "\r\n", ' ');
        g_string_append(out, shortened);
    }
    g_string_append_c(out, '\n');
}

/* Returns how many of `lines`, counted from the beginning or the end, fit into `budget` bytes. */
static guint fitting(AcrContent *content, const GArray *lines, gsize budget, bool bare,
                     bool from_end)
{
    gsize used = 0, len;
    for (guint n = 0; n < lines->len; n++) {
        guint at = from_end ? lines->len - 1 - n : n;
        acr_content_line(content, g_array_index(lines, guint32, at), &len);
        used += bare ? len + 1 : MIN(len, ACR_SEARCH_MAX_LINE + 64) + 12;
        if (used > budget)
            return n;
    }
    return lines->len;
}

static void append_gap(GString *out, const char *path, guint32 first, guint32 last)
{
    guint32 middle = first + (last - first) / 2;
    guint32 half = MIN(MAX(middle - first, last - middle), 100u);
    g_string_append_printf(out, "[lines %u-%u are left out; get_code_around_line(\"", first, last);
    append_inline(out, path);
    g_string_append_printf(out, "\", %u, %u) shows %s]\n", middle, half,
                           last - first > 2 * half ? "the middle of them" : "them");
}

bool acr_render_fits(AcrContent *content, const GArray *lines, gsize budget)
{
    return fitting(content, lines, budget, true, false) == lines->len;
}

void acr_render_lines(GString *out, AcrContent *content, const GArray *lines, gsize budget,
                      const char *path)
{
    bool bare = path == NULL;
    guint head = fitting(content, lines, budget, bare, false), tail = 0;
    if (head < lines->len) {
        head = MAX(fitting(content, lines, budget / 3 * 2, bare, false), 1);
        tail = MIN(fitting(content, lines, budget / 3, bare, true), lines->len - head);
    }
    guint left_out = lines->len - head - tail;
    for (guint i = 0; i < head; i++)
        append_line(out, content, g_array_index(lines, guint32, i), bare);
    if (left_out && bare)
        g_string_append_printf(out, "... (%u lines left out)\n", left_out);
    else if (left_out)
        append_gap(out, path, g_array_index(lines, guint32, head),
                   g_array_index(lines, guint32, lines->len - tail - 1));
    for (guint i = lines->len - tail; i < lines->len && tail; i++)
        append_line(out, content, g_array_index(lines, guint32, i), bare);
}

static void add_lines(GArray *lines, guint32 first, guint32 last)
{
    for (guint32 line = first; line <= last; line++) {
        if (lines->len && g_array_index(lines, guint32, lines->len - 1) >= line)
            continue;
        g_array_append_val(lines, line);
    }
}

#define MAX_NESTED_SIGNATURES 5
#define MAX_ASSIGN_LINES 20u /* maximum number of lines of a class-level assignment */

static void add_signatures(GArray *lines, const AcrIndex *index, guint32 class_id, int depth)
{
    const AcrSymbol *klass = acr_index_symbol(index, class_id);
    add_lines(lines, klass->first, klass->sig_last);
    g_autoptr(GArray) members = acr_index_members(index, class_id);
    for (guint i = 0; i < members->len; i++) {
        guint32 id = g_array_index(members, guint32, i);
        const AcrSymbol *member = acr_index_symbol(index, id);
        if (member->kind == ACR_SYMBOL_CLASS && depth < MAX_NESTED_SIGNATURES)
            add_signatures(lines, index, id, depth + 1);
        else if (member->kind == ACR_SYMBOL_METHOD || member->kind == ACR_SYMBOL_FUNCTION)
            add_lines(lines, member->first, member->sig_last);
        else if (member->kind == ACR_SYMBOL_ASSIGN && strcmp(member->name, "__doc__") != 0)
            add_lines(lines, member->first,
                      MIN(member->last, member->first + MAX_ASSIGN_LINES - 1));
    }
}

GArray *acr_render_signature_lines(const AcrIndex *index, guint32 class_id)
{
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(guint32));
    add_signatures(lines, index, class_id, 0);
    return lines;
}

GArray *acr_render_lines_of(const AcrReply *reply, const AcrHit *hit, AcrContent *content)
{
    guint32 n_lines = acr_content_n_lines(content);
    if (hit->view == ACR_VIEW_SIGNATURES && hit->symbol >= 0) {
        GArray *signatures = acr_render_signature_lines(reply->search->index, (guint32)hit->symbol);
        /* the index may have been built from another version of the file */
        while (signatures->len && g_array_index(signatures, guint32, signatures->len - 1) > n_lines)
            g_array_set_size(signatures, signatures->len - 1);
        return signatures;
    }
    guint32 more = hit->view == ACR_VIEW_AROUND ? ACR_SEARCH_CONTEXT_LINES : 0;
    guint32 first = hit->start > more ? hit->start - more : 1;
    guint32 last = MIN(hit->end + more, n_lines);
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(guint32));
    for (guint32 line = first; line <= last; line++)
        g_array_append_val(lines, line);
    return lines;
}
