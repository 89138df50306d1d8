/*
 * The outline cache as its users see it: rows by blob id and outliner version, looked for among
 * those that are not written yet and then in the store, written in batches. Whatever a store
 * reports, the worst that a caller sees is that there are no rows.
 */
#include "index/cache_private.h"

#include <string.h>
#include <time.h>

#define BATCH_ROWS 256
#define BATCH_BYTES (2u * 1024 * 1024)
#define MAX_TOUCHED 8192
#define MAX_GETS 4096 /* in one read transaction: while it is open, the journal only grows */
#define SECONDS_A_DAY (24 * 60 * 60)

static void row_free(gpointer data)
{
    AcrStoreRow *row = data;
    g_free(row->version);
    g_bytes_unref(row->rows);
    g_free(row);
}

AcrIndexCache *acr_index_cache_open(const char *path, guint64 limit_bytes)
{
    AcrIndexCache *cache = g_new0(AcrIndexCache, 1);
    cache->limit_bytes = MAX(limit_bytes, ACR_STORE_MIN_LIMIT);
    cache->rows = g_ptr_array_new_with_free_func(row_free);
    cache->pending = g_hash_table_new(g_int64_hash, g_int64_equal);
    cache->touched = g_array_new(FALSE, FALSE, sizeof(gint64));
    cache->day = (gint64)time(NULL) / SECONDS_A_DAY;
    if (!path)
        return cache;
    g_autoptr(GError) error = NULL;
    /* SQLite takes some relative paths for something else, and puts its other files beside a link
     * rather than beside the file. */
    cache->path = acr_path_real(path);
    g_autofree char *folder = g_path_get_dirname(cache->path);
    if (acr_dir_make(folder, &error))
        acr_index_cache_attach(cache);
    else
        acr_index_cache_say(cache, "cannot be made (%s): going without", error->message);
    return cache;
}

void acr_index_cache_free(AcrIndexCache *cache)
{
    if (!cache)
        return;
    acr_index_cache_flush(cache);
    acr_store_close(cache->store);
    g_hash_table_unref(cache->pending);
    g_ptr_array_unref(cache->rows);
    g_array_unref(cache->touched);
    g_free(cache->remark);
    g_free(cache->path);
    g_free(cache);
}

const char *acr_index_cache_remark(const AcrIndexCache *cache)
{
    return cache->remark;
}

/* ---- Reading ---- */

/* What a failure of reading leads to. */
static void cannot_read(AcrIndexCache *cache, AcrStoreState state)
{
    if (state == ACR_STORE_DAMAGED)
        acr_index_cache_replace(cache);
    else if (state == ACR_STORE_BUSY)
        acr_index_cache_say(cache, "is locked by another process: going without");
    else if (state == ACR_STORE_REFUSED)
        acr_index_cache_say(cache, "cannot be read (%s): going without", cache->store->why);
}

static bool is_key(const char *version)
{
    gsize len = strlen(version);
    return len <= ACR_INDEX_CACHE_MAX_VERSION && acr_utf8_is_text(version, len);
}

GBytes *acr_index_cache_get(AcrIndexCache *cache, const guint8 id[ACR_BLOB_ID_LEN],
                            const char *version)
{
    if (!cache->store || !is_key(version))
        return NULL;
    AcrStoreKey key = {id, version};
    gint64 number = acr_store_number(&key);
    const AcrStoreRow *row = g_hash_table_lookup(cache->pending, &number);
    if (row && memcmp(row->id, id, ACR_BLOB_ID_LEN) == 0 && strcmp(row->version, version) == 0)
        return g_bytes_ref(row->rows);
    if (++cache->gets > MAX_GETS || cache->touched->len > MAX_TOUCHED)
        acr_index_cache_flush(cache);
    if (!cache->store)
        return NULL;
    GBytes *rows = NULL;
    gint64 day = 0;
    acr_store_begin_call(cache->store);
    AcrStoreState state = acr_store_read(cache->store, &key, &rows, &day);
    if (state != ACR_STORE_OK) {
        cannot_read(cache, state);
        return NULL;
    }
    if (day != cache->day && cache->store->writable)
        g_array_append_val(cache->touched, number);
    return rows;
}

/* ---- Writing ---- */

/* Writes what is pending and drops what is too much. */
static AcrStoreState write_out(AcrIndexCache *cache)
{
    acr_store_begin_call(cache->store);
    AcrStoreState state = acr_store_write(cache->store, cache->rows, cache->touched, cache->day);
    if (state == ACR_STORE_OK && cache->rows->len > 0)
        state = acr_store_evict(cache->store, cache->limit_bytes);
    return state;
}

static void forget_pending(AcrIndexCache *cache)
{
    g_hash_table_remove_all(cache->pending);
    g_ptr_array_set_size(cache->rows, 0);
    g_array_set_size(cache->touched, 0);
    cache->pending_bytes = 0;
}

static void cannot_write(AcrIndexCache *cache, AcrStoreState state)
{
    if (state == ACR_STORE_DAMAGED)
        acr_index_cache_replace(cache);
    else if (state == ACR_STORE_BUSY && cache->rows->len > 0)
        acr_index_cache_say(cache, "is locked by another process: not all is kept");
    else if (state == ACR_STORE_REFUSED) {
        acr_index_cache_say(cache, "cannot be written (%s): nothing more is kept",
                            cache->store->why);
        cache->store->writable = false;
    }
}

void acr_index_cache_flush(AcrIndexCache *cache)
{
    bool any = cache->rows->len + cache->touched->len > 0;
    cache->gets = 0;
    if (cache->store)
        acr_store_end_reading(cache->store);
    if (any && cache->store && cache->store->writable && acr_store_has_moved(cache->store))
        acr_index_cache_attach(cache); /* removed or made anew by another process */
    for (int attempt = 0; any && attempt < 2; attempt++) {
        if (!cache->store || !cache->store->writable)
            break;
        AcrStoreState state = write_out(cache);
        cannot_write(cache, state);
        if (state != ACR_STORE_DAMAGED)
            break;
    }
    forget_pending(cache);
}

void acr_index_cache_put(AcrIndexCache *cache, const guint8 id[ACR_BLOB_ID_LEN],
                         const char *version, GBytes *rows)
{
    gsize len = g_bytes_get_size(rows);
    if (!cache->store || !cache->store->writable || !is_key(version) ||
        len > MIN(ACR_INDEX_CACHE_MAX_ROWS, cache->limit_bytes / 4))
        return;
    AcrStoreRow *row = g_new0(AcrStoreRow, 1);
    memcpy(row->id, id, ACR_BLOB_ID_LEN);
    row->version = g_strdup(version);
    row->rows = g_bytes_ref(rows);
    AcrStoreKey key = {row->id, row->version};
    row->number = acr_store_number(&key);
    g_ptr_array_add(cache->rows, row);
    g_hash_table_replace(cache->pending, &row->number, row);
    cache->pending_bytes += len;
    if (cache->rows->len >= BATCH_ROWS || cache->pending_bytes >= BATCH_BYTES)
        acr_index_cache_flush(cache);
}
