/*
 * One open database of the outline cache: what kind of file it is, how SQLite is set up for it, its
 * statements, and what SQLite's result codes mean. A row is found by a number made of blob id and
 * version. Rows lie in the order they came, so that those of one repository lie together: putting a
 * hundred thousand takes a fifth of the time that a table in the order of the numbers does, getting
 * them the same. No memory map: it gains little, and a file that is cut short under it would end
 * the process.
 */
#include "index/cache_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES 100
#define MAGIC "SQLite format 3" /* with its NUL: 16 bytes */
#define LITTLE_PATIENCE_MS 20
#define MAX_NAP_MS 25
#define TICK_STEPS 100000 /* of SQLite's machine */
#define MAX_TICKS 200
#define TABLE_SQL                                                                                  \
    "CREATE TABLE outline(place INTEGER PRIMARY KEY, number INTEGER NOT NULL, day INTEGER NOT "    \
    "NULL, "                                                                                       \
    "sum INTEGER NOT NULL, id BLOB NOT NULL, version TEXT NOT NULL, rows BLOB NOT NULL)"
#define NUMBERS_SQL "CREATE UNIQUE INDEX outline_by_number ON outline(number)"
#define DAYS_SQL "CREATE INDEX outline_by_day ON outline(day)"

static const char *const STATEMENTS[ACR_STATEMENTS] = {
    [ACR_STATEMENT_BEGIN_READING] = "BEGIN",
    [ACR_STATEMENT_BEGIN_WRITING] = "BEGIN IMMEDIATE",
    [ACR_STATEMENT_COMMIT] = "COMMIT",
    [ACR_STATEMENT_ROLLBACK] = "ROLLBACK",
    [ACR_STATEMENT_GET] = "SELECT day, sum, id, version, rows FROM outline WHERE number = ?1",
    [ACR_STATEMENT_PUT] = "INSERT OR REPLACE INTO outline(number, day, sum, id, version, rows) "
                          "VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    [ACR_STATEMENT_TOUCH] = "UPDATE outline SET day = ?2 WHERE number = ?1",
    [ACR_STATEMENT_PAGES] = "PRAGMA page_count",
    [ACR_STATEMENT_FREE_PAGES] = "PRAGMA freelist_count",
    [ACR_STATEMENT_EVICT] = "DELETE FROM outline WHERE place IN "
                            "(SELECT place FROM outline ORDER BY day LIMIT 64)",
    [ACR_STATEMENT_SHRINK] = "PRAGMA incremental_vacuum(4096)",
};

/* ---- Result codes ---- */

AcrStoreState acr_store_state(AcrStore *store, int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return ACR_STORE_OK;
    }
    int err = sqlite3_system_errno(store->db);
    g_snprintf(store->why, sizeof store->why, "%s%s%s", sqlite3_errmsg(store->db), err ? ": " : "",
               err ? g_strerror(err) : "");
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        store->patience_ms = LITTLE_PATIENCE_MS;
        return ACR_STORE_BUSY;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_NOMEM:
    case SQLITE_NOLFS:
        return ACR_STORE_REFUSED;
    }
    /* CORRUPT, NOTADB and whatever correct tables do not lead to: no such column, too many steps.
     */
    return ACR_STORE_DAMAGED;
}

sqlite3_stmt *acr_store_statement(AcrStore *store, int statement, AcrStoreState *out_state)
{
    sqlite3_stmt **slot = &store->statements[statement];
    if (*slot)
        return *slot;
    int rc = sqlite3_prepare_v3(store->db, STATEMENTS[statement], -1, SQLITE_PREPARE_PERSISTENT,
                                slot, NULL);
    if (rc != SQLITE_OK)
        *out_state = acr_store_state(store, rc);
    return *slot;
}

AcrStoreState acr_store_run(AcrStore *store, int statement)
{
    AcrStoreState state = ACR_STORE_OK;
    sqlite3_stmt *prepared = acr_store_statement(store, statement, &state);
    if (!prepared)
        return state;
    int rc;
    do
        rc = sqlite3_step(prepared);
    while (rc == SQLITE_ROW);
    state = acr_store_state(store, rc);
    sqlite3_reset(prepared);
    return state;
}

void acr_store_begin_call(AcrStore *store)
{
    store->waited_ms = 0;
    store->ticks = 0;
}

/* ---- What SQLite calls ---- */

static int on_busy(void *ctx, int tries)
{
    AcrStore *store = ctx;
    if (store->waited_ms >= store->patience_ms)
        return 0;
    gint64 nap_ms = MIN(1 << MIN(tries, 10), MAX_NAP_MS);
    g_usleep((gulong)nap_ms * 1000);
    store->waited_ms += nap_ms;
    return 1;
}

/* Damage can make a walk through the tables very long; a walk through whole ones is not. */
static int on_tick(void *ctx)
{
    AcrStore *store = ctx;
    return ++store->ticks > MAX_TICKS;
}

/* ---- Opening ---- */

static guint32 big_endian(const guint8 *bytes)
{
    guint32 value;
    memcpy(&value, bytes, sizeof value);
    return GUINT32_FROM_BE(value);
}

static AcrStoreState kind_of_header(const guint8 header[HEADER_BYTES])
{
    if (memcmp(header, MAGIC, sizeof MAGIC) != 0)
        return ACR_STORE_UNKNOWN;
    if (big_endian(header + 68) != ACR_STORE_APPLICATION_ID)
        return ACR_STORE_FOREIGN;
    guint32 format = big_endian(header + 60);
    /* SQLite would take a file format above 2 for one that it may read only. */
    if (format > ACR_STORE_MAX_FORMAT || header[18] > 2 || header[19] > 2)
        return ACR_STORE_DAMAGED;
    if (format != ACR_STORE_FORMAT)
        return format < ACR_STORE_FORMAT ? ACR_STORE_OLDER : ACR_STORE_NEWER;
    return ACR_STORE_OK;
}

/*
 * Reads the header by SQLite's own descriptor: closing one of our own would drop the locks that
 * this process has on the file.
 */
static AcrStoreState kind_of_file(AcrStore *store, bool empty)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    guint8 header[HEADER_BYTES];
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (!file || !file->pMethods || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
        return ACR_STORE_REFUSED;
    if (empty && size == 0)
        return ACR_STORE_EMPTY;
    if (size < HEADER_BYTES)
        return ACR_STORE_UNKNOWN;
    int rc = file->pMethods->xRead(file, header, sizeof header, 0);
    if (rc != SQLITE_OK) {
        g_strlcpy(store->why, sqlite3_errstr(rc), sizeof store->why);
        return ACR_STORE_REFUSED;
    }
    return kind_of_header(header);
}

/* Nothing but our table and index: a trigger or a view would run what somebody else wrote. */
static AcrStoreState check_tables(AcrStore *store)
{
    static const char *const expected[] = {TABLE_SQL, NUMBERS_SQL, DAYS_SQL};
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(store->db, "SELECT sql FROM sqlite_master ORDER BY rowid", -1,
                                &statement, NULL);
    guint n = 0;
    bool same = true;
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(statement);
        if (rc != SQLITE_ROW)
            break;
        const char *sql = (const char *)sqlite3_column_text(statement, 0);
        same = n < G_N_ELEMENTS(expected) && g_strcmp0(sql, expected[n]) == 0;
        n++;
        if (!same)
            break;
    }
    AcrStoreState state = acr_store_state(store, rc);
    sqlite3_finalize(statement);
    if (state != ACR_STORE_OK)
        return state;
    return same && n == G_N_ELEMENTS(expected) ? ACR_STORE_OK : ACR_STORE_DAMAGED;
}

/* Settings of a connection that touch no file. */
static void set_up(AcrStore *store)
{
    int one = 1;
    sqlite3_extended_result_codes(store->db, 1);
    sqlite3_busy_handler(store->db, on_busy, store);
    sqlite3_progress_handler(store->db, TICK_STEPS, on_tick, store);
    sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, ACR_INDEX_CACHE_MAX_ROWS + 4096);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    /* The files beside the database are removed by name; by then the name may be another's. */
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_PERSIST_WAL, &one);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

static const char *const SETTINGS = "PRAGMA cache_size = -1024;"
                                    "PRAGMA mmap_size = 0;"
                                    "PRAGMA synchronous = NORMAL;"
                                    "PRAGMA temp_store = MEMORY;"
                                    "PRAGMA wal_autocheckpoint = 4000;"
                                    "PRAGMA journal_size_limit = 1048576;";

/*
 * The files beside the database are opened by name when it is read first. If the database is still
 * the one at its path after that, they are its own.
 */
static AcrStoreState begin_using(AcrStore *store, bool empty)
{
    AcrStoreState state = kind_of_file(store, empty);
    if (state == ACR_STORE_OK)
        state = acr_store_state(store, sqlite3_exec(store->db, SETTINGS, NULL, NULL, NULL));
    if (state == ACR_STORE_OK)
        state = check_tables(store);
    if (acr_store_has_moved(store))
        return ACR_STORE_MOVED;
    if (state == ACR_STORE_OK)
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    return state;
}

AcrStoreState acr_store_open(const char *path, bool frozen, AcrStore **out)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    if (!there && errno == ENOENT)
        return ACR_STORE_MISSING;
    AcrStore *store = *out = g_new0(AcrStore, 1);
    store->patience_ms = ACR_STORE_PATIENCE_MS;
    if (there && !S_ISREG(st.st_mode)) {
        g_strlcpy(store->why, "no regular file", sizeof store->why);
        return ACR_STORE_REFUSED;
    }
    g_autofree char *escaped = g_uri_escape_string(path, "/", FALSE);
    g_autofree char *uri = g_strdup_printf("file://%s?immutable=1", escaped);
    int flags = frozen ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE;
    int rc = sqlite3_open_v2(frozen ? uri : path, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK) {
        acr_store_state(store, rc);
        return sqlite3_system_errno(store->db) == ENOENT ? ACR_STORE_MOVED : ACR_STORE_REFUSED;
    }
    store->writable = !frozen && sqlite3_db_readonly(store->db, "main") == 0;
    set_up(store);
    return begin_using(store, there && st.st_size == 0); /* SQLite takes one byte for none */
}

void acr_store_close(AcrStore *store)
{
    if (!store)
        return;
    acr_store_begin_call(store);
    for (int i = 0; i < ACR_STATEMENTS; i++)
        sqlite3_finalize(store->statements[i]);
    if (acr_store_has_moved(store))
        sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(store->db);
    g_free(store);
}

bool acr_store_has_moved(AcrStore *store)
{
    int moved = 0;
    if (store->db)
        sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

/* ---- Making ---- */

AcrStoreState acr_store_create(const char *path, bool shared, char **out_why)
{
    AcrStore store = {.patience_ms = ACR_STORE_PATIENCE_MS};
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || close(fd) != 0) {
        *out_why = g_strdup(g_strerror(errno));
        return ACR_STORE_REFUSED;
    }
    /* Nothing is synced: a file that a crash of the machine leaves half-made is found damaged. The
     * last line opens the files beside the database, if there are to be any. */
    g_autofree char *sql = g_strdup_printf(
        "PRAGMA page_size = %d; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA synchronous = OFF;"
        "PRAGMA journal_mode = MEMORY; BEGIN; %s; %s; %s; PRAGMA application_id = %d;"
        "PRAGMA user_version = %d; COMMIT; PRAGMA journal_mode = %s;"
        "SELECT * FROM outline;",
        ACR_STORE_PAGE_BYTES, TABLE_SQL, NUMBERS_SQL, DAYS_SQL, ACR_STORE_APPLICATION_ID,
        ACR_STORE_FORMAT, shared ? "WAL" : "MEMORY");
    int rc = sqlite3_open_v2(path, &store.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(store.db, sql, NULL, NULL, NULL);
    AcrStoreState state = acr_store_state(&store, rc);
    sqlite3_close(store.db);
    if (state != ACR_STORE_OK)
        *out_why = g_strdup(store.why);
    return state;
}
