/*
 * Rows in a store: reading, writing and dropping them. What is read counts only if id, version and
 * checksum fit.
 */
#include "index/cache_private.h"

#include <string.h>

#define MAX_EVICT_STEPS 64 /* transactions, of 64 rows each */

/* ---- Checksum ---- */

/*
 * Sixteen bytes at a time: two words, each mixed with a constant or the sum so far, are multiplied
 * to 128 bits and the halves folded together. Two gigabytes a second and more; against accidents,
 * not against malice: who can write to the cache can do anything there.
 */
static guint64 fold(guint64 a, guint64 b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (guint64)product ^ (guint64)(product >> 64);
}

static guint64 word_at(const guint8 *at)
{
    guint64 word;
    memcpy(&word, at, sizeof word);
    return GUINT64_FROM_LE(word);
}

static guint64 sum_of(guint64 sum, const void *data, gsize len)
{
    const guint8 *at = data;
    sum = fold(sum ^ G_GUINT64_CONSTANT(0x9e3779b97f4a7c15),
               len ^ G_GUINT64_CONSTANT(0xd1b54a32d192ed03));
    for (; len >= 16; at += 16, len -= 16)
        sum = fold(word_at(at) ^ G_GUINT64_CONSTANT(0x8cb92ba72f3d8dd7), word_at(at + 8) ^ sum);
    guint8 rest[16] = {0};
    if (len > 0)
        memcpy(rest, at, len);
    sum = fold(word_at(rest) ^ G_GUINT64_CONSTANT(0xaaf3d6f84d5e2f1b), word_at(rest + 8) ^ sum);
    return fold(sum, G_GUINT64_CONSTANT(0xe7037ed1a0b428db));
}

guint64 acr_store_sum(const AcrStoreKey *key, const void *rows, gsize len)
{
    guint64 sum = sum_of(ACR_STORE_FORMAT, key->id, ACR_BLOB_ID_LEN);
    sum = sum_of(sum, key->version, strlen(key->version));
    return sum_of(sum, rows, len);
}

gint64 acr_store_number(const AcrStoreKey *key)
{
    return (gint64)(word_at(key->id) ^ sum_of(0, key->version, strlen(key->version)));
}

/* ---- Reading ---- */

static bool is_of(sqlite3_stmt *statement, const AcrStoreKey *key)
{
    const void *id = sqlite3_column_blob(statement, 2);
    const char *version = (const char *)sqlite3_column_text(statement, 3);
    return sqlite3_column_bytes(statement, 2) == ACR_BLOB_ID_LEN && id &&
           memcmp(id, key->id, ACR_BLOB_ID_LEN) == 0 && g_strcmp0(version, key->version) == 0;
}

/*
 * One row that is not as it was written is a file that is damaged: pages that are part of two rows
 * are written right and spoilt again for ever.
 */
static AcrStoreState take_row(sqlite3_stmt *statement, const AcrStoreKey *key, GBytes **out_rows,
                              gint64 *out_day)
{
    const void *rows = sqlite3_column_blob(statement, 4);
    int len = sqlite3_column_bytes(statement, 4);
    if (!is_of(statement, key) || (!rows && len > 0) || (guint)len > ACR_INDEX_CACHE_MAX_ROWS)
        return ACR_STORE_DAMAGED;
    if ((guint64)sqlite3_column_int64(statement, 1) != acr_store_sum(key, rows, (gsize)len))
        return ACR_STORE_DAMAGED;
    *out_rows = g_bytes_new(rows, (gsize)len);
    *out_day = sqlite3_column_int64(statement, 0);
    return ACR_STORE_OK;
}

/* In a transaction that is open. */
static AcrStoreState look_up(AcrStore *store, const AcrStoreKey *key, GBytes **out_rows,
                             gint64 *out_day)
{
    AcrStoreState state = ACR_STORE_OK;
    sqlite3_stmt *get = acr_store_statement(store, ACR_STATEMENT_GET, &state);
    if (!get)
        return state;
    sqlite3_bind_int64(get, 1, acr_store_number(key));
    int rc = sqlite3_step(get);
    state = acr_store_state(store, rc);
    if (rc == SQLITE_ROW)
        state = take_row(get, key, out_rows, out_day);
    else if (rc == SQLITE_DONE)
        state = ACR_STORE_NONE;
    sqlite3_reset(get);
    return state;
}

AcrStoreState acr_store_read(AcrStore *store, const AcrStoreKey *key, GBytes **out_rows,
                             gint64 *out_day)
{
    if (!store->reading) {
        AcrStoreState state = acr_store_run(store, ACR_STATEMENT_BEGIN_READING);
        if (state != ACR_STORE_OK)
            return state;
        store->reading = true;
    }
    return look_up(store, key, out_rows, out_day);
}

/* Ends whatever transaction is open without keeping what it wrote. */
static void roll_back(AcrStore *store)
{
    store->reading = false;
    if (!sqlite3_get_autocommit(store->db) &&
        acr_store_run(store, ACR_STATEMENT_ROLLBACK) != ACR_STORE_OK)
        store->writable = false;
}

void acr_store_end_reading(AcrStore *store)
{
    if (store->reading)
        roll_back(store);
}

/* ---- Writing ---- */

static AcrStoreState put_row(AcrStore *store, const AcrStoreRow *row, gint64 day)
{
    AcrStoreState state = ACR_STORE_OK;
    sqlite3_stmt *put = acr_store_statement(store, ACR_STATEMENT_PUT, &state);
    if (!put)
        return state;
    gsize len;
    const void *rows = g_bytes_get_data(row->rows, &len);
    AcrStoreKey key = {row->id, row->version};
    sqlite3_bind_int64(put, 1, row->number);
    sqlite3_bind_int64(put, 2, day);
    sqlite3_bind_int64(put, 3, (gint64)acr_store_sum(&key, rows, len));
    sqlite3_bind_blob(put, 4, row->id, ACR_BLOB_ID_LEN, SQLITE_STATIC);
    sqlite3_bind_text(put, 5, row->version, -1, SQLITE_STATIC);
    sqlite3_bind_blob64(put, 6, len ? rows : "", len, SQLITE_STATIC);
    state = acr_store_run(store, ACR_STATEMENT_PUT);
    sqlite3_clear_bindings(put);
    return state;
}

/*
 * A walk down an index whose order was spoilt ends beside what is there: rows that were put in and
 * are not found again show that, and would else be put in for ever.
 */
static AcrStoreState check_row(AcrStore *store, const AcrStoreRow *row)
{
    AcrStoreKey key = {row->id, row->version};
    g_autoptr(GBytes) rows = NULL;
    gint64 day;
    AcrStoreState state = look_up(store, &key, &rows, &day);
    return state == ACR_STORE_NONE ? ACR_STORE_DAMAGED : state;
}

static AcrStoreState touch_row(AcrStore *store, gint64 number, gint64 day)
{
    AcrStoreState state = ACR_STORE_OK;
    sqlite3_stmt *touch = acr_store_statement(store, ACR_STATEMENT_TOUCH, &state);
    if (!touch)
        return state;
    sqlite3_bind_int64(touch, 1, number);
    sqlite3_bind_int64(touch, 2, day);
    return acr_store_run(store, ACR_STATEMENT_TOUCH);
}

/* Keeps what was written if all went well so far, else none of it. */
static AcrStoreState finish(AcrStore *store, AcrStoreState state)
{
    if (state == ACR_STORE_OK)
        state = acr_store_run(store, ACR_STATEMENT_COMMIT);
    if (state != ACR_STORE_OK) {
        g_autofree char *why = g_strdup(store->why);
        roll_back(store);
        g_strlcpy(store->why, why, sizeof store->why);
        return state;
    }
    store->patience_ms = ACR_STORE_PATIENCE_MS;
    return ACR_STORE_OK;
}

AcrStoreState acr_store_write(AcrStore *store, const GPtrArray *rows, const GArray *touched,
                              gint64 day)
{
    acr_store_end_reading(store);
    AcrStoreState state = acr_store_run(store, ACR_STATEMENT_BEGIN_WRITING);
    if (state != ACR_STORE_OK)
        return state;
    for (guint i = 0; i < touched->len && state == ACR_STORE_OK; i++)
        state = touch_row(store, g_array_index(touched, gint64, i), day);
    for (guint i = 0; i < rows->len && state == ACR_STORE_OK; i++)
        state = put_row(store, rows->pdata[i], day);
    for (guint i = 0; i < rows->len && state == ACR_STORE_OK; i++)
        state = check_row(store, rows->pdata[i]);
    return finish(store, state);
}

/* ---- Dropping ---- */

static AcrStoreState one_number(AcrStore *store, int statement, gint64 *out)
{
    AcrStoreState state = ACR_STORE_OK;
    sqlite3_stmt *prepared = acr_store_statement(store, statement, &state);
    if (!prepared)
        return state;
    int rc = sqlite3_step(prepared);
    state = acr_store_state(store, rc);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(prepared, 0);
    else if (rc == SQLITE_DONE)
        state = ACR_STORE_DAMAGED;
    sqlite3_reset(prepared);
    return state;
}

static AcrStoreState bytes_in_use(AcrStore *store, guint64 *out)
{
    gint64 pages = 0, free_pages = 0;
    AcrStoreState state = one_number(store, ACR_STATEMENT_PAGES, &pages);
    if (state == ACR_STORE_OK)
        state = one_number(store, ACR_STATEMENT_FREE_PAGES, &free_pages);
    *out = (guint64)MAX(pages - free_pages, 0) * ACR_STORE_PAGE_BYTES;
    return state;
}

static AcrStoreState evict_some(AcrStore *store)
{
    AcrStoreState state = acr_store_run(store, ACR_STATEMENT_BEGIN_WRITING);
    if (state != ACR_STORE_OK)
        return state;
    state = acr_store_run(store, ACR_STATEMENT_EVICT);
    /* The index names rows that the table does not have. */
    if (state == ACR_STORE_OK && sqlite3_changes(store->db) == 0)
        state = ACR_STORE_DAMAGED;
    if (state == ACR_STORE_OK)
        state = acr_store_run(store, ACR_STATEMENT_SHRINK);
    return finish(store, state);
}

AcrStoreState acr_store_evict(AcrStore *store, guint64 limit)
{
    guint64 used = 0;
    acr_store_end_reading(store);
    AcrStoreState state = bytes_in_use(store, &used);
    if (state != ACR_STORE_OK || used <= limit)
        return state;
    for (int step = 0; step < MAX_EVICT_STEPS && used > limit / 5 * 4; step++) {
        acr_store_begin_call(store);
        state = evict_some(store);
        if (state == ACR_STORE_OK)
            state = bytes_in_use(store, &used);
        if (state != ACR_STORE_OK)
            return state;
    }
    return state;
}
