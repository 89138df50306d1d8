/* File contents for searching. The text of an entry is read when it is first needed, and is kept in
 * memory as long as all kept texts are within ACR_SEARCH_KEPT_BYTES. Of the texts above that limit,
 * only the latest is kept. A search in all files reads the files in parallel on all cores. Plain
 * UTF-8 files are not copied. Line starts are computed when a line is first needed. */
#include <string.h>

#include "search/search_private.h"

/* a file is binary if one of its first BINARY_LOOKED_AT bytes is NUL */
#define BINARY_LOOKED_AT 8000u

void acr_content_free(AcrContent *content)
{
    if (!content)
        return;
    if (content->bytes)
        g_bytes_unref(content->bytes);
    else
        acr_text_clear(&content->text);
    if (content->starts)
        g_array_unref(content->starts);
    g_free(content);
}

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

void acr_search_set_mode(AcrSearch *search, AcrSearchMode mode)
{
    search->mode = mode;
}

bool acr_search_is_test(const AcrSearch *search, gsize entry)
{
    const AcrEntry *at = acr_snapshot_entry(search->snapshot, entry);
    return search->file_of_entry[entry] < 0 && at->mode != ACR_MODE_LINK &&
           g_str_has_suffix(at->path, ".py");
}

const AcrIndex *acr_search_index(const AcrSearch *search)
{
    return search->index;
}

void acr_search_free(AcrSearch *search)
{
    if (!search)
        return;
    gsize n = acr_snapshot_size(search->snapshot);
    for (gsize i = 0; i < n; i++)
        acr_content_free(search->contents[i]);
    acr_content_free(search->spare);
    g_clear_pointer(&search->others_with, g_ptr_array_unref);
    g_clear_pointer(&search->others, g_ptr_array_unref);
    ACR_FREE(search->others_text, search->contents, search->file_of_entry);
    acr_index_unref(search->index);
    g_free(search);
}

AcrContent *acr_content_new(GBytes *bytes)
{
    gsize len = 0;
    const void *data = g_bytes_get_data(bytes, &len);
    AcrContent *content = g_new0(AcrContent, 1);
    if (len && acr_text_is_plain(data, len)) {
        content->bytes = g_bytes_ref(bytes);
        content->text.text = (char *)data;
        content->text.len = len;
    } else {
        acr_text_decode(data, len, &content->text);
    }
    /* the decoded text has no NUL, so look at the bytes */
    content->is_binary = len && memchr(data, 0, MIN(len, BINARY_LOOKED_AT));
    content->has_cr = memchr(content->text.text, '\r', content->text.len) != NULL;
    return content;
}

/* Keeps `content` (taken) if there is room; otherwise returns false. Several threads may call it
 * for different entries. */
static bool keep_contents(AcrSearch *search, gsize entry, AcrContent *content)
{
    gsize len = content->text.len;
    if (__atomic_add_fetch(&search->kept_bytes, len, __ATOMIC_RELAXED) > search->kept_limit) {
        __atomic_sub_fetch(&search->kept_bytes, len, __ATOMIC_RELAXED);
        return false;
    }
    search->contents[entry] = content;
    return true;
}

bool acr_search_content(AcrSearch *search, gsize entry, AcrContent **out, GError **error)
{
    *out = search->contents[entry];
    if (*out || acr_snapshot_entry(search->snapshot, entry)->mode == ACR_MODE_LINK)
        return true;
    g_autoptr(GError) local = NULL;
    g_autoptr(GBytes) bytes = acr_snapshot_read(search->snapshot, entry, &local);
    if (!bytes && g_error_matches(local, ACR_VCS_ERROR, ACR_VCS_ERROR_MISSING))
        return acr_set_error(error, ACR_SEARCH_ERROR, ACR_SEARCH_ERROR_FAILED,
                             "cannot read '%s': %s", acr_search_path(search, entry),
                             local->message);
    if (!bytes)
        return true;
    AcrContent *content = acr_content_new(bytes);
    if (!keep_contents(search, entry, content)) {
        acr_content_free(search->spare);
        search->spare = content;
    }
    *out = content;
    return true;
}

/* Keeps the text of a file that was read. Skips a file that cannot be read; acr_search_content
 * reports the error when the file is needed. */
static void keep_read(void *user, gsize entry, GBytes *bytes, const GError *error)
{
    AcrSearch *search = user;
    gsize kept = __atomic_load_n(&search->kept_bytes, __ATOMIC_RELAXED);
    if (!bytes || kept + g_bytes_get_size(bytes) > search->kept_limit)
        return;
    AcrContent *content = acr_content_new(bytes);
    if (!keep_contents(search, entry, content))
        acr_content_free(content);
}

static int compare_numbers(const void *left, const void *right)
{
    return acr_order(*(const gsize *)left, *(const gsize *)right);
}

/* Appends the tests that contain the text and, if mode.others is set, the files of other types. */
static void add_unindexed(AcrSearch *search, const char *text, GArray *entries)
{
    const GPtrArray *others = search->mode.others ? acr_search_others(search, text) : NULL;
    for (guint i = 0; others && i < others->len; i++)
        g_array_append_val(entries, ((const AcrOther *)others->pdata[i])->entry);
    for (gsize i = 0; !others && i < acr_snapshot_size(search->snapshot); i++)
        if (acr_search_is_test(search, i))
            g_array_append_val(entries, i);
    g_array_sort(entries, compare_numbers);
}

GArray *acr_search_load(AcrSearch *search, const char *text, bool whole)
{
    GArray *entries = acr_index_files_with(search->index, text, whole);
    g_autoptr(GArray) unread = g_array_new(FALSE, FALSE, sizeof(gsize));
    for (guint i = 0; i < entries->len; i++) {
        gsize *at = &g_array_index(entries, gsize, i);
        *at = acr_index_file(search->index, *at)->entry;
    }
    if (search->mode.tests)
        add_unindexed(search, text, entries);
    for (guint i = 0; i < entries->len; i++)
        if (!search->contents[g_array_index(entries, gsize, i)])
            g_array_append_val(unread, g_array_index(entries, gsize, i));
    /* if not all texts fit, the texts read first would be dropped before they are used */
    if (unread->len && search->kept_bytes < search->kept_limit / 8 * 7)
        acr_snapshot_read_many(search->snapshot, (const gsize *)(void *)unread->data, unread->len,
                               false, keep_read, search);
    return entries;
}

typedef struct {
    GBytes **texts; /* contents, indexed by snapshot entry; NULL if not kept */
    gsize bytes;    /* number of bytes read, including binary files */
} Others;

static void other_free(void *data)
{
    AcrOther *other = data;
    g_bytes_unref(other->bytes);
    g_free(other);
}

static void keep_other(void *user, gsize entry, GBytes *bytes, const GError *error)
{
    Others *others = user;
    gsize len = bytes ? g_bytes_get_size(bytes) : 0;
    gsize total = __atomic_add_fetch(&others->bytes, len, __ATOMIC_RELAXED);
    if (len && total <= ACR_SEARCH_OTHER_BYTES &&
        !memchr(g_bytes_get_data(bytes, NULL), 0, MIN(len, BINARY_LOOKED_AT)))
        others->texts[entry] = g_bytes_ref(bytes);
}

/* Returns the entries of tests and of files of other types, in order; owned. */
static GArray *other_entries(const AcrSearch *search)
{
    GArray *entries = g_array_new(FALSE, FALSE, sizeof(gsize));
    for (gsize i = 0; i < acr_snapshot_size(search->snapshot); i++)
        if (search->file_of_entry[i] < 0 &&
            acr_snapshot_entry(search->snapshot, i)->mode != ACR_MODE_LINK)
            g_array_append_val(entries, i);
    return entries;
}

static void read_others(AcrSearch *search)
{
    search->others = g_ptr_array_new_with_free_func(other_free);
    g_autoptr(GArray) entries = other_entries(search);
    g_autofree GBytes **texts = g_new0(GBytes *, acr_snapshot_size(search->snapshot) + 1);
    Others others = {.texts = texts};
    const gsize *all = (const gsize *)(void *)entries->data;
    search->others_partial = entries->len > ACR_SEARCH_OTHER_FILES;
    for (guint i = 0; i < entries->len && !search->others_partial; i += ACR_SEARCH_OTHERS_AT_ONCE) {
        guint n = MIN(entries->len - i, ACR_SEARCH_OTHERS_AT_ONCE);
        acr_snapshot_read_many(search->snapshot, all + i, n, false, keep_other, &others);
        search->others_partial = others.bytes > ACR_SEARCH_OTHER_BYTES;
    }
    for (guint i = 0; i < entries->len; i++) {
        AcrOther other = {all[i], texts[all[i]]};
        if (other.bytes)
            g_ptr_array_add(search->others, g_memdup2(&other, sizeof other));
    }
    if (search->others_partial)
        g_ptr_array_set_size(search->others, 0);
}

const GPtrArray *acr_search_others(AcrSearch *search, const char *text)
{
    if (!search->others)
        read_others(search);
    if (!search->others_partial && g_strcmp0(search->others_text, text) != 0) {
        g_clear_pointer(&search->others_with, g_ptr_array_unref);
        g_free(search->others_text);
        search->others_text = g_strdup(text);
        search->others_with = g_ptr_array_new();
        g_autoptr(AcrNeedle) needle = acr_needle_new(text);
        for (guint i = 0; i < search->others->len; i++) {
            AcrOther *other = g_ptr_array_index(search->others, i);
            gsize len;
            const char *data = g_bytes_get_data(other->bytes, &len);
            if (!*text || acr_needle_find(needle, data, data + len))
                g_ptr_array_add(search->others_with, other);
        }
    }
    return search->others_with;
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

const char *acr_search_path(const AcrSearch *search, gsize entry)
{
    return acr_snapshot_entry(search->snapshot, entry)->path;
}

gsize acr_search_entry_of(const AcrSearch *search, guint32 symbol)
{
    guint32 file = acr_index_symbol(search->index, symbol)->file;
    return acr_index_file(search->index, file)->entry;
}
