/*
 * File contents for searching: each entry's text is decoded when first needed and kept, up to
 * ACR_SEARCH_KEPT_BYTES; beyond that a content lives until the next one is asked for. Line starts
 * are made when a line is first asked for.
 */
#include "search/search_private.h"

AcrSearch *acr_search_new(AcrIndex *index)
{
    AcrSearch *search = g_new0(AcrSearch, 1);
    search->index = acr_index_ref(index);
    search->snapshot = acr_index_snapshot(index);
    search->kept_limit = ACR_SEARCH_KEPT_BYTES;
    gsize n = acr_snapshot_size(search->snapshot);
    search->contents = g_new0(AcrContent *, n + 1);
    search->file_of_entry = g_new(gint32, n + 1);
    for (gsize i = 0; i < n; i++)
        search->file_of_entry[i] = -1;
    for (gsize i = 0; i < acr_index_n_files(index); i++)
        search->file_of_entry[acr_index_file(index, i)->entry] = (gint32)i;
    return search;
}

void acr_search_free(AcrSearch *search)
{
    if (!search)
        return;
    gsize n = acr_snapshot_size(search->snapshot);
    for (gsize i = 0; i < n; i++)
        acr_content_free(search->contents[i]);
    acr_content_free(search->spare);
    g_clear_pointer(&search->others, g_ptr_array_unref);
    g_free(search->contents);
    g_free(search->file_of_entry);
    acr_index_unref(search->index);
    g_free(search);
}

void acr_content_free(AcrContent *content)
{
    if (!content)
        return;
    acr_text_clear(&content->text);
    if (content->starts)
        g_array_unref(content->starts);
    g_free(content);
}

bool acr_search_content(AcrSearch *search, gsize entry, AcrContent **out, GError **error)
{
    *out = search->contents[entry];
    if (*out || acr_snapshot_entry(search->snapshot, entry)->mode == ACR_MODE_LINK)
        return true;
    g_autoptr(GError) local = NULL;
    g_autoptr(GBytes) bytes = acr_snapshot_read(search->snapshot, entry, &local);
    if (!bytes && g_error_matches(local, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING)) {
        g_set_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_FAILED, "cannot read '%s': %s",
                    acr_search_path(search, entry), local->message);
        return false;
    }
    if (!bytes)
        return true;
    gsize len = 0;
    const void *data = g_bytes_get_data(bytes, &len);
    AcrContent *content = g_new0(AcrContent, 1);
    acr_text_decode(data ? data : "", len, &content->text);
    if (search->kept_bytes + content->text.len <= search->kept_limit) {
        search->kept_bytes += content->text.len;
        search->contents[entry] = content;
    } else {
        acr_content_free(search->spare);
        search->spare = content;
    }
    *out = content;
    return true;
}

static GArray *starts_of(AcrContent *content)
{
    if (!content->starts)
        content->starts = acr_text_lines(content->text.text, content->text.len);
    return content->starts;
}

guint32 acr_content_n_lines(AcrContent *content)
{
    guint n = starts_of(content)->len;
    return content->text.len == 0 || n == 0 ? 0 : n - 1;
}

const char *acr_content_line(AcrContent *content, guint32 line, gsize *out_len)
{
    const GArray *starts = starts_of(content);
    g_assert(line >= 1 && line < starts->len);
    gsize from = g_array_index(starts, gsize, line - 1);
    gsize to = g_array_index(starts, gsize, line);
    const char *text = content->text.text;
    if (to > from && text[to - 1] == '\n')
        to--;
    if (to > from && text[to - 1] == '\r')
        to--;
    *out_len = to - from;
    return text + from;
}

guint32 acr_content_line_at(AcrContent *content, gsize off)
{
    const GArray *starts = starts_of(content);
    guint32 low = 0,
            high = starts->len - 1; /* starts[low] <= off < starts[high], but for off == len */
    while (high - low > 1) {
        guint32 middle = low + (high - low) / 2;
        if (g_array_index(starts, gsize, middle) <= off)
            low = middle;
        else
            high = middle;
    }
    return low + 1;
}

const char *acr_search_path(const AcrSearch *search, gsize entry)
{
    return acr_snapshot_entry(search->snapshot, entry)->path;
}

static void append_line(GString *out, AcrContent *content, guint32 line, bool numbered)
{
    gsize len;
    const char *text = acr_content_line(content, line, &len);
    if (numbered)
        g_string_append_printf(out, "%u ", line);
    g_string_append_len(out, text, (gssize)len);
    g_string_append_c(out, '\n');
}

char *acr_search_code(AcrSearch *search, const char *file, guint first, guint last, bool numbered)
{
    gssize entry = acr_snapshot_find(search->snapshot, file);
    AcrContent *content = NULL;
    if (entry < 0 || !acr_search_content(search, (gsize)entry, &content, NULL) || !content)
        return NULL;
    if (first < 1 || first > last || first > acr_content_n_lines(content))
        return NULL;
    GString *out = g_string_new(NULL);
    last = MIN(last, acr_content_n_lines(content));
    for (guint line = first; line <= last; line++)
        append_line(out, content, line, numbered);
    return g_string_free(out, FALSE);
}
