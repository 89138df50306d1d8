/* Searches text line by line for attributes that a class assigns to self, and for definitions in
 * files without symbols. */
#include <string.h>

#include "search/reply_private.h"

/* True if the line assigns or annotates the attribute `wanted` ("self.name"). */
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
        if (assigns(text, len, wanted) && !acr_text_add_lines(reply, entry, content, line, line))
            break;
    }
    if (reply->hits->len > before)
        acr_reply_note(reply, "%s is not a method of %s but an attribute, set here.", name,
                       klass->qualname);
    return true;
}

static gsize indent_of(const char *line, gsize len)
{
    gsize n = 0;
    while (n < len && (line[n] == ' ' || line[n] == '\t'))
        n++;
    return n;
}

/* True if the line is `class NAME` or `[async ]def NAME`. Sets *out_class to true for a class. */
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

/* Returns the last line of the block that begins at `first`, not counting blank lines at the
 * end. */
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

bool acr_text_next_def(AcrContent *content, const char *name, guint32 from, AcrTextDef *out)
{
    guint32 n_lines = acr_content_n_lines(content);
    for (guint32 line = from; line <= n_lines; line++) {
        gsize len;
        const char *text = acr_content_line(content, line, &len);
        if (!defines(text, len, name, &out->is_class))
            continue;
        out->first = line;
        out->last = block_end(content, line);
        return true;
    }
    return false;
}

static bool find_text_defs(AcrReply *reply, gsize entry, guint kinds, const char *name,
                           GError **error)
{
    AcrContent *content;
    if (!acr_search_content(reply->search, entry, &content, error))
        return false;
    if (!content || !memmem(content->text.text, content->text.len, name, strlen(name)))
        return true;
    AcrTextDef def = {0};
    while (acr_text_next_def(content, name, def.first + 1, &def)) {
        if (reply->search->mode.exact &&
            !(kinds & (def.is_class ? ACR_KIND(ACR_SYMBOL_CLASS) : ACR_FUNCTIONS)))
            continue;
        const char *kept = g_string_chunk_insert_const(reply->strings, name);
        AcrHit hit = {.entry = entry,
                      .start = def.first,
                      .end = def.last,
                      .symbol = -1,
                      .count = 1,
                      .klass = def.is_class ? kept : NULL,
                      .func = def.is_class ? NULL : kept};
        if (reply->hits->len == 0 && !reply->search->mode.lines)
            acr_reply_note(reply,
                           "Found by text search, because the file is a test or cannot be parsed.");
        if (!acr_reply_add(reply, &hit))
            break;
    }
    return true;
}

bool acr_find_text_defs_in(AcrReply *reply, const AcrFileMatch *files, guint kinds,
                           const char *name, GError **error)
{
    const AcrSearch *search = reply->search;
    for (guint i = 0; i < files->entries->len; i++) {
        gsize entry = g_array_index(files->entries, gsize, i);
        gint32 number = search->file_of_entry[entry];
        if (number >= 0 && !acr_index_file(search->index, (gsize)number)->unparsed)
            continue;
        if (!find_text_defs(reply, entry, kinds, name, error))
            return false;
    }
    return true;
}

bool acr_find_text_defs_unindexed(AcrReply *reply, guint kinds, const char *name, GError **error)
{
    const AcrSearch *search = reply->search;
    bool is_missing = reply->hits->len == 0;
    for (gsize i = 0; is_missing && i < acr_index_n_files(search->index); i++) {
        const AcrIndexFile *file = acr_index_file(search->index, i);
        if (file->unparsed && !find_text_defs(reply, file->entry, kinds, name, error))
            return false;
    }
    for (gsize i = 0; search->mode.tests && i < acr_snapshot_size(search->snapshot); i++)
        if (acr_search_is_test(search, i) && !find_text_defs(reply, i, kinds, name, error))
            return false;
    return true;
}
