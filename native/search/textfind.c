/*
 * Literal text in file contents. Step by step looser, and a looser step is taken only where the
 * stricter ones found nothing anywhere: as written; blanks at line ends ignored; indentation
 * ignored too. The looser steps compare line by line. Neighbouring matches in the same class and
 * function become one place.
 *
 * Also attributes that a class sets on self, and definitions by text, for files that have no
 * symbols.
 */
#include <string.h>

#include "search/search_private.h"

void acr_hit_set_names(const AcrReply *reply, AcrHit *hit, guint32 line)
{
    const AcrIndex *index = reply->search->index;
    gint32 file = reply->search->file_of_entry[hit->entry], klass = -1, func = -1;
    if (file < 0)
        return;
    acr_index_enclosing(index, (gsize)file, line, &klass, &func);
    hit->klass = klass >= 0 ? acr_index_class_of(index, (guint32)klass) : NULL;
    hit->func = func >= 0 ? acr_index_func_of(index, (guint32)func) : NULL;
}

/* The last hit of the reply when a match at first..last belongs to it. */
static AcrHit *mergeable(const AcrReply *reply, const AcrHit *hit)
{
    if (reply->hits->len == 0)
        return NULL;
    AcrHit *last = &g_array_index(reply->hits, AcrHit, reply->hits->len - 1);
    bool near_it = last->entry == hit->entry && hit->start <= last->end + 1 &&
                   hit->start >= last->start && hit->end - last->start < ACR_SEARCH_MAX_BLOCK;
    bool same = last->view == ACR_VIEW_WHOLE && last->symbol < 0 &&
                g_strcmp0(last->klass, hit->klass) == 0 && g_strcmp0(last->func, hit->func) == 0;
    return near_it && same ? last : NULL;
}

/* Counts a match beyond the places that an answer can list: one hit a file. */
static void add_count(AcrReply *reply, gsize entry, guint32 rank)
{
    AcrHit *last = &g_array_index(reply->hits, AcrHit, reply->hits->len - 1);
    if (last->entry == entry && last->start == ACR_HIT_COUNT_ONLY) {
        last->count++;
        return;
    }
    AcrHit hit = {
        .entry = entry, .rank = rank, .symbol = -1, .count = 1, .start = ACR_HIT_COUNT_ONLY};
    acr_reply_add(reply, &hit);
}

static bool add_match(AcrReply *reply, gsize entry, AcrContent *content, guint32 first,
                      guint32 last, guint32 rank)
{
    AcrHit hit = {.entry = entry, .rank = rank, .symbol = -1, .count = 1, .view = ACR_VIEW_WHOLE};
    acr_hit_set_names(reply, &hit, first);
    hit.start = first > ACR_SEARCH_CONTEXT_LINES ? first - ACR_SEARCH_CONTEXT_LINES : 1;
    hit.end = MIN(last + ACR_SEARCH_CONTEXT_LINES, acr_content_n_lines(content));
    AcrHit *before = mergeable(reply, &hit);
    if (!before)
        return acr_reply_add(reply, &hit);
    before->end = MAX(before->end, hit.end);
    before->count++;
    return true;
}

/* Start of the line after the one that holds `at`; the end when there is none. */
static const char *next_line(const char *at, const char *end)
{
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    if (at < end && *at == '\r' && at + 1 < end && at[1] == '\n')
        at++;
    return at < end ? at + 1 : end;
}

/* One match per line in which one begins. */
static void find_literal(AcrReply *reply, gsize entry, AcrContent *content, const char *text,
                         guint32 rank)
{
    gsize len = strlen(text);
    const char *hay = content->text.text, *end = hay + content->text.len;
    for (const char *at = hay; at < end; at = next_line(at, end)) {
        at = memmem(at, (gsize)(end - at), text, len);
        if (!at)
            return;
        if (reply->hits->len >= ACR_SEARCH_MAX_PLACES) {
            add_count(reply, entry, rank);
            continue;
        }
        guint32 first = acr_content_line_at(content, (gsize)(at - hay));
        guint32 last = acr_content_line_at(content, (gsize)(at - hay) + len - 1);
        if (!add_match(reply, entry, content, first, last, rank))
            return;
    }
}

/* A line without the blanks that the step ignores. */
static const char *bare_line(const char *line, gsize *len, AcrTextStep step)
{
    while (*len && g_ascii_isspace(line[*len - 1]))
        (*len)--;
    while (step == ACR_TEXT_INDENT && *len && g_ascii_isspace(*line)) {
        line++;
        (*len)--;
    }
    return line;
}

/* Whether the wanted line fits: the first may begin within the file's line, the last may end within
 * it. */
static bool line_fits(const char *line, gsize len, const char *want, bool is_first, bool is_last)
{
    gsize n = strlen(want);
    if (n > len)
        return false;
    if (is_first && is_last)
        return memmem(line, len, want, n) != NULL;
    if (is_first)
        return memcmp(line + len - n, want, n) == 0;
    return memcmp(line, want, n) == 0 && (is_last || n == len);
}

static bool block_fits(AcrContent *content, guint32 first, char **wanted, guint n, AcrTextStep step)
{
    for (guint i = 0; i < n; i++) {
        gsize len;
        const char *line = acr_content_line(content, first + i, &len);
        line = bare_line(line, &len, step);
        if (!line_fits(line, len, wanted[i], i == 0, i == n - 1))
            return false;
    }
    return true;
}

/* The number of the longest wanted line: the one looked for first. */
static guint anchor_of(char **wanted, guint n)
{
    guint best = 0;
    for (guint i = 1; i < n; i++) {
        if (strlen(wanted[i]) > strlen(wanted[best]))
            best = i;
    }
    return best;
}

static void find_lines(AcrReply *reply, gsize entry, AcrContent *content, const char *text,
                       AcrTextStep step, guint32 rank)
{
    g_auto(GStrv) wanted = g_strsplit(text, "\n", -1);
    guint n = g_strv_length(wanted);
    for (guint i = 0; i < n; i++) {
        gsize len = strlen(wanted[i]);
        const char *bare = bare_line(wanted[i], &len, step);
        memmove(wanted[i], bare, len);
        wanted[i][len] = '\0';
    }
    guint anchor = anchor_of(wanted, n);
    gsize off = 0, anchor_len = strlen(wanted[anchor]);
    const char *hay = content->text.text;
    while (anchor_len && off < content->text.len) {
        const char *at = memmem(hay + off, content->text.len - off, wanted[anchor], anchor_len);
        if (!at)
            return;
        guint32 line = acr_content_line_at(content, (gsize)(at - hay)),
                n_lines = acr_content_n_lines(content);
        if (line > anchor && line - anchor + n - 1 <= n_lines &&
            block_fits(content, line - anchor, wanted, n, step)) {
            if (!add_match(reply, entry, content, line - anchor, line - anchor + n - 1, rank))
                return;
        }
        if (line >= n_lines)
            return;
        gsize len;
        off = (gsize)(acr_content_line(content, line + 1, &len) - hay);
    }
}

void acr_text_find(AcrReply *reply, gsize entry, AcrContent *content, const char *text,
                   AcrTextStep step, guint32 rank)
{
    if (!*text)
        return;
    if (step == ACR_TEXT_LITERAL)
        find_literal(reply, entry, content, text, rank);
    else
        find_lines(reply, entry, content, text, step, rank);
}

/* Whether the line assigns to, or annotates, the attribute `wanted` ("self.name"). */
static bool assigns(const char *line, gsize len, const char *wanted)
{
    gsize n = strlen(wanted);
    const char *at = memmem(line, len, wanted, n), *end = line + len;
    if (!at)
        return false;
    for (at += n; at < end && *at == ' '; at++)
        continue;
    return at < end && ((*at == '=' && (at + 1 == end || at[1] != '=')) || *at == ':');
}

bool acr_text_find_attribute(AcrReply *reply, guint32 class_id, const char *name, GError **error)
{
    const AcrSymbol *klass = acr_index_symbol(reply->search->index, class_id);
    gsize entry = acr_index_file(reply->search->index, klass->file)->entry;
    AcrContent *content;
    if (!acr_search_content(reply->search, entry, &content, error))
        return false;
    g_autofree char *wanted = g_strconcat("self.", name, NULL);
    guint32 last = content ? MIN(klass->last, acr_content_n_lines(content)) : 0;
    guint before = reply->hits->len;
    for (guint32 line = klass->first; line <= last; line++) {
        gsize len;
        const char *text = acr_content_line(content, line, &len);
        if (assigns(text, len, wanted) && !add_match(reply, entry, content, line, line, 0))
            break;
    }
    if (reply->hits->len > before)
        acr_reply_note(reply, "%s is no method of %s but an attribute, set here.", name,
                       klass->qualname);
    return true;
}

/* ---- Definitions by text ------------------------------------------------------------------------
 */

static gsize indent_of(const char *line, gsize len)
{
    gsize n = 0;
    while (n < len && (line[n] == ' ' || line[n] == '\t'))
        n++;
    return n;
}

/* Whether the line is `class name` or `[async ]def name`; *out_class says which. */
static bool defines(const char *line, gsize len, const char *name, bool *out_class)
{
    gsize at = indent_of(line, len), n = strlen(name);
    if (len - at > 6 && memcmp(line + at, "async ", 6) == 0)
        at += 6;
    *out_class = len - at > 6 && memcmp(line + at, "class ", 6) == 0;
    if (!*out_class && !(len - at > 4 && memcmp(line + at, "def ", 4) == 0))
        return false;
    at += *out_class ? 6 : 4;
    at += indent_of(line + at, len - at);
    if (len - at < n || memcmp(line + at, name, n) != 0)
        return false;
    char after = at + n < len ? line[at + n] : ':';
    return !g_ascii_isalnum(after) && after != '_' && (guchar)after < 0x80;
}

/* Last line of the block that begins at `first`: blank lines at its end left out. */
static guint32 block_end(AcrContent *content, guint32 first)
{
    gsize len;
    const char *line = acr_content_line(content, first, &len);
    gsize outer = indent_of(line, len);
    guint32 end = first, n_lines = acr_content_n_lines(content);
    for (guint32 at = first + 1; at <= n_lines; at++) {
        line = acr_content_line(content, at, &len);
        gsize inner = indent_of(line, len);
        if (inner == len)
            continue;
        if (inner <= outer && line[inner] != ')' && line[inner] != '#')
            break;
        if (inner > outer || line[inner] == ')')
            end = at;
    }
    return end;
}

bool acr_find_text_defs(AcrReply *reply, gsize entry, const char *name, GError **error)
{
    AcrContent *content;
    if (!acr_search_content(reply->search, entry, &content, error))
        return false;
    if (!content || !memmem(content->text.text, content->text.len, name, strlen(name)))
        return true;
    guint32 n_lines = acr_content_n_lines(content);
    for (guint32 line = 1; line <= n_lines; line++) {
        gsize len;
        bool is_class = false;
        const char *text = acr_content_line(content, line, &len);
        if (!defines(text, len, name, &is_class))
            continue;
        const char *kept = g_string_chunk_insert_const(reply->strings, name);
        AcrHit hit = {.entry = entry,
                      .start = line,
                      .end = block_end(content, line),
                      .symbol = -1,
                      .count = 1,
                      .klass = is_class ? kept : NULL,
                      .func = is_class ? NULL : kept};
        if (!acr_reply_add(reply, &hit))
            break;
    }
    return true;
}

static void note_text_only(AcrReply *reply)
{
    if (reply->hits->len)
        acr_reply_note(reply, "Read from the text alone: the file is a test or cannot be parsed.");
}

bool acr_find_text_defs_in(AcrReply *reply, const AcrFileMatch *files, const char *name,
                           GError **error)
{
    const AcrSearch *search = reply->search;
    for (guint i = 0; i < files->entries->len; i++) {
        gsize entry = g_array_index(files->entries, gsize, i);
        gint32 number = search->file_of_entry[entry];
        if (number >= 0 && !acr_index_file(search->index, (gsize)number)->unparsed)
            continue;
        if (!acr_find_text_defs(reply, entry, name, error))
            return false;
    }
    note_text_only(reply);
    return true;
}

bool acr_find_text_defs_unparsed(AcrReply *reply, const char *name, GError **error)
{
    const AcrIndex *index = reply->search->index;
    for (gsize i = 0; i < acr_index_n_files(index); i++) {
        const AcrIndexFile *file = acr_index_file(index, i);
        if (file->unparsed && !acr_find_text_defs(reply, file->entry, name, error))
            return false;
    }
    note_text_only(reply);
    return true;
}
