/* Implements the public functions of the outline cache: stores rows by blob id and outliner
 * version, in batches. If the cache file cannot be used, callers only get no rows.
 *
 * If our file is damaged or outdated, it is removed and created again; another program's file is
 * left alone. Before we remove a file, we lock it and check that its path still leads to it. */
#include "index/cache_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_ROWS 256u
#define BATCH_BYTES (2u * 1024 * 1024)
#define MIN_LIMIT (1024u * 1024)
#define LOCK_PATIENCE_MS 1000
#define LOCK_NAP_MS 5
#define MAX_ATTEMPTS 8
#define MAX_REBUILDS 3u

struct AcrIndexCache {
    char *path; /* absolute, with symbolic links resolved; NULL: there is no cache */
    guint64 limit_bytes;
    AcrCacheDatabase *database; /* NULL: the cache works without a file */
    bool writable;
    char *remark;
    GPtrArray *rows;     /* array of AcrCacheRow: the rows that are not written yet */
    gsize pending_bytes; /* approximate size of the unwritten rows in the file, in bytes */
    bool reading;        /* acr_index_cache_begin was called, but not yet acr_index_cache_end */
    GHashTable *read;    /* key -> rows; filled by acr_index_cache_begin */
    guint rebuilds;      /* how often the cache was rebuilt; at most MAX_REBUILDS */
};

/* Sets the remark, unless the cache already has a remark. */
static void say(AcrIndexCache *cache, const char *what, ...) G_GNUC_PRINTF(2, 3);
static void say(AcrIndexCache *cache, const char *what, ...)
{
    va_list arguments;
    va_start(arguments, what);
    g_autofree char *text = g_strdup_vprintf(what, arguments);
    va_end(arguments);
    if (!cache->remark)
        cache->remark = g_strdup_printf("the outline cache '%s' %s", cache->path, text);
}

static void drop_database(AcrIndexCache *cache)
{
    g_clear_pointer(&cache->database, acr_cache_database_close);
}

/* ---- Removing the file ---- */

static AcrLock *lock_patiently(const char *path, GError **error)
{
    g_autofree char *name = g_strconcat(path, "-lock", NULL);
    for (int waited_ms = 0;; waited_ms += LOCK_NAP_MS) {
        g_autoptr(GError) failed = NULL;
        AcrLock *lock = acr_lock_take(name, &failed);
        if (lock)
            return lock;
        if (!g_error_matches(failed, ACR_BASE_ERROR, ACR_BASE_ERROR_BUSY) ||
            waited_ms >= LOCK_PATIENCE_MS)
            return ACR_NULL(acr_pass_error(error, &failed));
        g_usleep(LOCK_NAP_MS * 1000);
    }
}

/* Removes a database and SQLite's files beside it. The database goes last, because another process
 * may create a new database once the path is free, and a journal then belongs to it. */
static bool remove_files(const char *path, AcrCacheDatabase *database, GError **error)
{
    static const char *const endings[] = {"-journal", "-wal", "-shm", ""};
    acr_cache_database_lock_out(database);
    for (gsize i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_autofree char *name = g_strconcat(path, endings[i], NULL);
        if (unlink(name) == 0 || errno == ENOENT)
            continue;
        return acr_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED, "%s",
                             g_strerror(errno));
    }
    return true;
}

/* Removes the open file, unless another process has already removed it. Returns false if the
 * file still exists. */
static bool remove_open(AcrIndexCache *cache, AcrCacheState state)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrLock) lock = NULL;
    if (cache->rebuilds >= MAX_REBUILDS) {
        say(cache, "was damaged repeatedly; it is not used");
        return false;
    }
    lock = lock_patiently(cache->path, &error);
    if (lock && acr_cache_database_has_moved(cache->database))
        return true;
    if (!lock || !remove_files(cache->path, cache->database, &error)) {
        say(cache, "is damaged and cannot be rebuilt (%s); it is not used", error->message);
        return false;
    }
    cache->rebuilds++;
    if (state == ACR_CACHE_DAMAGED)
        say(cache, "was damaged and has been rebuilt");
    return true;
}

/* ---- Opening the file ---- */

/* Whether another process has removed or replaced the file since its state `before`. */
static bool is_replaced(const AcrIndexCache *cache, const struct stat *before)
{
    struct stat now;
    return acr_cache_database_has_moved(cache->database) || stat(cache->path, &now) != 0 ||
           now.st_ino != before->st_ino || now.st_ctim.tv_nsec != before->st_ctim.tv_nsec;
}

/* Opens the file at the path, or creates it if it is missing; on failure, works without a file. */
static void attach(AcrIndexCache *cache)
{
    AcrCacheState state = ACR_CACHE_UNUSABLE;
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        struct stat before = {0};
        (void)!stat(cache->path, &before);
        drop_database(cache);
        state = acr_cache_database_open(cache->path, true, &cache->database);
        if (state == ACR_CACHE_OK) {
            cache->writable = acr_cache_database_writable(cache->database);
            if (!cache->writable)
                say(cache, "is read-only; nothing is added to it");
            return;
        }
        if (is_replaced(cache, &before))
            continue;
        if (state != ACR_CACHE_DAMAGED && state != ACR_CACHE_OUTDATED)
            break;
        if (!remove_open(cache, state))
            break;
    }
    if (state == ACR_CACHE_FOREIGN)
        say(cache, "belongs to another program; it is not used");
    else
        say(cache, "cannot be opened (%s); it is not used",
            acr_cache_database_why(cache->database));
    drop_database(cache);
}

/* Opens the new file if another process replaced the open file. A removed file is never used again,
 * because its journal would have the same name as the journal of the new file. */
static void attach_if_moved(AcrIndexCache *cache)
{
    if (cache->database && acr_cache_database_has_moved(cache->database))
        attach(cache);
}

/* Handles a failed read or write: opens or rebuilds the file, or stops using it. */
static void recover(AcrIndexCache *cache, AcrCacheState state, bool writing)
{
    if (acr_cache_database_has_moved(cache->database)) {
        attach(cache); /* another process has removed the file */
    } else if (state == ACR_CACHE_DAMAGED) {
        if (remove_open(cache, state))
            attach(cache);
        else
            drop_database(cache);
    } else if (writing) {
        say(cache, "cannot be written (%s); nothing more is added to it",
            acr_cache_database_why(cache->database));
        cache->writable = false;
    } else {
        say(cache, "cannot be read (%s); it is not used", acr_cache_database_why(cache->database));
        drop_database(cache);
    }
}

static void row_free(gpointer data)
{
    AcrCacheRow *row = data;
    g_bytes_unref(row->key);
    g_bytes_unref(row->rows);
    g_free(row);
}

/* Hashes a key by its first bytes, which are a part of the blob id. */
static guint hash_key(gconstpointer key)
{
    gsize len;
    const guint8 *id = g_bytes_get_data((GBytes *)key, &len);
    return len < 3 ? 0 : (guint)id[0] << 16 | (guint)id[1] << 8 | id[2];
}

AcrIndexCache *acr_index_cache_open(const char *path, guint64 limit_bytes)
{
    AcrIndexCache *cache = g_new0(AcrIndexCache, 1);
    g_autoptr(GError) error = NULL;
    cache->limit_bytes = MAX(limit_bytes, MIN_LIMIT);
    cache->rows = g_ptr_array_new_with_free_func(row_free);
    cache->read = g_hash_table_new_full(hash_key, g_bytes_equal, (GDestroyNotify)g_bytes_unref,
                                        (GDestroyNotify)g_bytes_unref);
    if (!path)
        return cache;
    /* resolve the path: SQLite interprets some relative paths specially, and puts its journal
     * beside a symbolic link instead of beside the file */
    cache->path = acr_path_real(path);
    g_autofree char *folder = g_path_get_dirname(cache->path);
    if (acr_dir_make(folder, &error))
        attach(cache);
    else
        say(cache, "cannot be created (%s); it is not used", error->message);
    return cache;
}

void acr_index_cache_free(AcrIndexCache *cache)
{
    if (!cache)
        return;
    acr_index_cache_flush(cache);
    drop_database(cache);
    g_ptr_array_unref(cache->rows);
    g_hash_table_unref(cache->read);
    ACR_FREE(cache->remark, cache->path, cache);
}

const char *acr_index_cache_remark(const AcrIndexCache *cache)
{
    return cache->remark;
}

/* ---- Rows ---- */

/* Makes a key; returns NULL if the version is too long. */
static GBytes *key_of(const guint8 id[ACR_BLOB_ID_LEN], const char *version)
{
    gsize len = strlen(version);
    if (len > ACR_INDEX_CACHE_MAX_VERSION)
        return NULL;
    guint8 *key = g_malloc(ACR_BLOB_ID_LEN + len);
    memcpy(key, id, ACR_BLOB_ID_LEN);
    memcpy(key + ACR_BLOB_ID_LEN, version, len);
    return g_bytes_new_take(key, ACR_BLOB_ID_LEN + len);
}

void acr_index_cache_begin(AcrIndexCache *cache, gsize n)
{
    acr_index_cache_flush(cache);
    cache->reading = cache->database && acr_cache_database_begin_reads(cache->database);
    if (cache->reading)
        acr_cache_database_read_all(cache->database, n, cache->read);
}

void acr_index_cache_end(AcrIndexCache *cache)
{
    if (cache->reading && cache->database)
        acr_cache_database_end_reads(cache->database);
    cache->reading = false;
    g_hash_table_remove_all(cache->read);
}

GBytes *acr_index_cache_get(AcrIndexCache *cache, const guint8 id[ACR_BLOB_ID_LEN],
                            const char *version)
{
    g_autoptr(GBytes) key = key_of(id, version);
    GBytes *rows = NULL;
    if (!cache->reading)
        acr_index_cache_flush(cache);
    if (!cache->database || !key)
        return NULL;
    rows = g_hash_table_lookup(cache->read, key);
    if (rows)
        return g_bytes_ref(rows);
    AcrCacheState state = acr_cache_database_read(cache->database, key, &rows);
    if (state != ACR_CACHE_OK && state != ACR_CACHE_NONE)
        recover(cache, state, false);
    return rows;
}

void acr_index_cache_flush(AcrIndexCache *cache)
{
    acr_index_cache_end(cache);
    attach_if_moved(cache);
    for (int attempt = 0; attempt < 2 && cache->rows->len > 0; attempt++) {
        if (!cache->database || !cache->writable)
            break;
        AcrCacheState state = acr_cache_database_write(cache->database, cache->rows,
                                                       cache->limit_bytes - cache->pending_bytes);
        if (state == ACR_CACHE_OK)
            break;
        recover(cache, state, true);
    }
    g_ptr_array_set_size(cache->rows, 0);
    cache->pending_bytes = 0;
}

void acr_index_cache_put(AcrIndexCache *cache, const guint8 id[ACR_BLOB_ID_LEN],
                         const char *version, GBytes *rows)
{
    gsize len = g_bytes_get_size(rows);
    g_autoptr(GBytes) key = key_of(id, version);
    if (!cache->database || !cache->writable || !key ||
        len > MIN(ACR_INDEX_CACHE_MAX_ROWS, cache->limit_bytes / 4))
        return;
    AcrCacheRow row = {.key = g_steal_pointer(&key), .rows = g_bytes_ref(rows)};
    g_ptr_array_add(cache->rows, g_memdup2(&row, sizeof row));
    cache->pending_bytes += len + ACR_CACHE_PAGE_BYTES / 2;
    if (cache->rows->len >= BATCH_ROWS ||
        cache->pending_bytes >= MIN(BATCH_BYTES, cache->limit_bytes / 4))
        acr_index_cache_flush(cache);
}

/* ---- Clearing ---- */

static bool fail_to_clear(GError **error, const char *path, const char *why)
{
    return acr_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED,
                         "cannot remove the outline cache '%s': %s", path, why);
}

bool acr_index_cache_clear(const char *path, GError **error)
{
    g_autofree char *real = realpath(path, NULL);
    if (!real)
        return errno == ENOENT ? true : fail_to_clear(error, path, g_strerror(errno));
    g_autoptr(GError) failed = NULL;
    g_autoptr(AcrLock) lock = lock_patiently(real, &failed);
    if (!lock)
        return fail_to_clear(error, path, failed->message);
    AcrCacheDatabase *database = NULL;
    AcrCacheState state = acr_cache_database_open(real, false, &database);
    bool ok =
        state == ACR_CACHE_FOREIGN
            ? fail_to_clear(error, path, "the file belongs to another program")
            : remove_files(real, database, &failed) || fail_to_clear(error, path, failed->message);
    acr_cache_database_close(database);
    return ok;
}
