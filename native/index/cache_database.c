/* Handles one open database of the outline cache: a table of rows by key (blob id and outliner
 * version), each with a checksum over key and rows. Rows with a wrong checksum are ignored.
 *
 * Nothing is synced: if a crash of the machine damages the file, the damage is detected and the
 * file is rebuilt. If a process is killed, the next process applies SQLite's rollback journal. Rows
 * are stored in the order of arrival, so that the rows of one repository lie together and the
 * oldest rows are dropped first. */
#include "index/cache_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* a file in a folder called OWN_FOLDER is assumed to be ours even if SQLite cannot read it */
#define OWN_FOLDER "acr-host"
#define TICK_STEPS 100000 /* steps of SQLite's virtual machine between two ticks */
/* maximum number of ticks of one read or write, which a damaged file can make endless */
#define MAX_TICKS 200u
#define MAX_DROPS 100000u /* maximum number of rows dropped in one write */
#define TABLE                                                                                      \
    "CREATE TABLE outline(place INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, "                   \
    "sum INTEGER NOT NULL, rows BLOB NOT NULL)"
/* the expected result of SELECT_SCHEMA: the table and the index of its keys */
#define SCHEMA "2" TABLE
#define SELECT_SCHEMA "SELECT count(*) || group_concat(sql, ';') FROM sqlite_master"
#define SELECT_ROW "SELECT sum, rows FROM outline WHERE key = ?1"
#define SELECT_ALL "SELECT sum, rows, key FROM outline"
#define SELECT_SPAN "SELECT (SELECT max(place) FROM outline) - (SELECT min(place) FROM outline)"
#define INSERT_ROW "INSERT OR REPLACE INTO outline(key, sum, rows) VALUES(?1, ?2, ?3)"
#define DROP_OLDEST                                                                                \
    "DELETE FROM outline WHERE place IN (SELECT place FROM outline ORDER BY place LIMIT 64)"

/* No memory map: if another process truncated the file, access to the map would kill this
 * process. */
#define SETTINGS                                                                                   \
    "PRAGMA cache_size = -8192; PRAGMA mmap_size = 0; PRAGMA synchronous = OFF;"                   \
    "PRAGMA temp_store = MEMORY"

struct AcrCacheDatabase {
    sqlite3 *db;
    sqlite3_stmt *select_row, *insert_row;
    bool writable;
    guint ticks;
    char why[200];
};

/* ---- Statements ---- */

/* Translates a result code of SQLite, and sets `why`. */
static AcrCacheState state_of(AcrCacheDatabase *database, int rc)
{
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
        return ACR_CACHE_OK;
    int err = sqlite3_system_errno(database->db);
    g_snprintf(database->why, sizeof database->why, "%s%s%s", sqlite3_errmsg(database->db),
               err ? ": " : "", err ? g_strerror(err) : "");
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_NOMEM:
    case SQLITE_NOLFS:
        return ACR_CACHE_UNUSABLE;
    /* SQLITE_CORRUPT, SQLITE_NOTADB, and codes that an intact table cannot cause, such as
     * SQLITE_INTERRUPT after too many ticks */
    default:
        return ACR_CACHE_DAMAGED;
    }
}

static int on_tick(void *ctx)
{
    AcrCacheDatabase *database = ctx;
    return ++database->ticks > MAX_TICKS;
}

static AcrCacheState run_sql(AcrCacheDatabase *database, const char *sql)
{
    database->ticks = 0;
    return state_of(database, sqlite3_exec(database->db, sql, NULL, NULL, NULL));
}

/* Sets *out to the first value of a statement's result as a string (owned; NULL: no result). */
static AcrCacheState ask_database(AcrCacheDatabase *database, const char *sql, char **out)
{
    sqlite3_stmt *statement = NULL;
    database->ticks = 0;
    int rc = sqlite3_prepare_v2(database->db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    AcrCacheState state = state_of(database, rc);
    *out = rc == SQLITE_ROW ? g_strdup((const char *)sqlite3_column_text(statement, 0)) : NULL;
    sqlite3_finalize(statement);
    return state;
}

static AcrCacheState ask_number(AcrCacheDatabase *database, const char *sql, guint64 *out)
{
    g_autofree char *text = NULL;
    AcrCacheState state = ask_database(database, sql, &text);
    *out = text ? g_ascii_strtoull(text, NULL, 10) : 0;
    return state;
}

/* ---- Opening ---- */

static bool in_own_folder(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    return g_str_has_suffix(folder, "/" OWN_FOLDER);
}

static AcrCacheState create_table(AcrCacheDatabase *database)
{
    g_autofree char *sql =
        g_strdup_printf("PRAGMA page_size = %u; BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS %s;"
                        "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                        ACR_CACHE_PAGE_BYTES, TABLE + strlen("CREATE TABLE "),
                        ACR_CACHE_APPLICATION_ID, ACR_CACHE_FORMAT);
    return run_sql(database, sql);
}

static AcrCacheState prepare_statement(AcrCacheDatabase *database, const char *sql,
                                       sqlite3_stmt **out)
{
    return state_of(
        database, sqlite3_prepare_v3(database->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL));
}

static void set_up_database(AcrCacheDatabase *database)
{
    sqlite3_extended_result_codes(database->db, 1);
    sqlite3_busy_timeout(database->db, ACR_CACHE_PATIENCE_MS);
    sqlite3_progress_handler(database->db, TICK_STEPS, on_tick, database);
    sqlite3_limit(database->db, SQLITE_LIMIT_LENGTH, ACR_INDEX_CACHE_MAX_ROWS + 4096);
    sqlite3_db_config(database->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
}

/* Checks which program owns the file, and whether the file is intact enough to be queried.
 * Another table, view or trigger means that another program owns the file. */
static AcrCacheState check_database(AcrCacheDatabase *database, const char *path, bool create)
{
    guint64 application, format, pages;
    g_autofree char *schema = NULL;
    AcrCacheState state = ask_number(database, "PRAGMA page_count", &pages);
    if (state == ACR_CACHE_OK) /* read last, because another process may be creating the table */
        state = ask_number(database, "PRAGMA application_id", &application);
    if (state == ACR_CACHE_DAMAGED && !in_own_folder(path))
        return ACR_CACHE_FOREIGN;
    if (state == ACR_CACHE_OK && pages > 0 && application != ACR_CACHE_APPLICATION_ID)
        return ACR_CACHE_FOREIGN;
    if (state == ACR_CACHE_OK)
        state = run_sql(database, SETTINGS);
    if (state == ACR_CACHE_OK && pages == 0)
        return create ? create_table(database) : ACR_CACHE_OK;
    if (state == ACR_CACHE_OK)
        state = ask_number(database, "PRAGMA user_version", &format);
    if (state == ACR_CACHE_OK && format != ACR_CACHE_FORMAT)
        return ACR_CACHE_OUTDATED;
    if (state == ACR_CACHE_OK)
        state = ask_database(database, SELECT_SCHEMA, &schema);
    if (state == ACR_CACHE_OK && g_strcmp0(schema, SCHEMA) != 0)
        return ACR_CACHE_DAMAGED;
    return state;
}

AcrCacheState acr_cache_database_open(const char *path, bool create, AcrCacheDatabase **out)
{
    AcrCacheDatabase *database = *out = g_new0(AcrCacheDatabase, 1);
    struct stat st;
    if (create && stat(path, &st) != 0 && lstat(path, &st) == 0)
        unlink(path); /* the path is a dangling symbolic link */
    int fd = create ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        close(fd);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return ACR_CACHE_FOREIGN;
    int rc =
        sqlite3_open_v2(path, &database->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    AcrCacheState state = state_of(database, rc);
    if (state == ACR_CACHE_OK) {
        set_up_database(database);
        state = check_database(database, path, create);
    }
    database->writable = state == ACR_CACHE_OK && sqlite3_db_readonly(database->db, "main") == 0;
    if (state == ACR_CACHE_OK && create)
        state = prepare_statement(database, SELECT_ROW, &database->select_row);
    if (state == ACR_CACHE_OK && create)
        state = prepare_statement(database, INSERT_ROW, &database->insert_row);
    return state;
}

void acr_cache_database_lock_out(AcrCacheDatabase *database)
{
    if (database->db)
        sqlite3_exec(database->db, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
}

void acr_cache_database_close(AcrCacheDatabase *database)
{
    if (!database)
        return;
    sqlite3_finalize(database->select_row);
    sqlite3_finalize(database->insert_row);
    sqlite3_close(database->db);
    g_free(database);
}

bool acr_cache_database_writable(const AcrCacheDatabase *database)
{
    return database->writable;
}

bool acr_cache_database_has_moved(AcrCacheDatabase *database)
{
    int moved = 0;
    if (database->db)
        sqlite3_file_control(database->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

const char *acr_cache_database_why(const AcrCacheDatabase *database)
{
    return database->why;
}

/* ---- Rows ---- */

static guint64 add_to_sum(guint64 sum, const guint8 *at, gsize n)
{
    guint64 word = 0;
    memcpy(&word, at, n);
    sum = (sum ^ GUINT64_FROM_LE(word)) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    return sum ^ sum >> 32;
}

/* Sums the bytes into a checksum that protects against accidents, not against malice, because
 * whoever can write to the cache can change anything. Two independent sums are faster than one sum,
 * because each step of a sum waits for the previous step. */
static guint64 sum_of(guint64 sum, GBytes *bytes)
{
    gsize len;
    const guint8 *at = g_bytes_get_data(bytes, &len);
    guint64 other = sum ^= len;
    for (; len >= 16; at += 16, len -= 16) {
        sum = add_to_sum(sum, at, 8);
        other = add_to_sum(other, at + 8, 8);
    }
    for (gsize n; len > 0; at += n, len -= n) {
        n = MIN(len, 8);
        sum = add_to_sum(sum, at, n);
    }
    return add_to_sum(sum, (const guint8 *)&other, sizeof other);
}

static guint64 sum_of_row(GBytes *key, GBytes *rows)
{
    return sum_of(sum_of(ACR_CACHE_FORMAT, key), rows);
}

static void bind(sqlite3_stmt *statement, int number, GBytes *bytes)
{
    gsize len;
    const void *data = g_bytes_get_data(bytes, &len);
    sqlite3_bind_blob64(statement, number, len ? data : "", len, SQLITE_STATIC);
}

bool acr_cache_database_begin_reads(AcrCacheDatabase *database)
{
    return run_sql(database, "BEGIN") == ACR_CACHE_OK;
}

void acr_cache_database_end_reads(AcrCacheDatabase *database)
{
    if (!sqlite3_get_autocommit(database->db))
        sqlite3_exec(database->db, "COMMIT", NULL, NULL, NULL);
}

static GBytes *column_of(sqlite3_stmt *select, int column)
{
    const void *data = sqlite3_column_blob(select, column);
    return g_bytes_new(data, (gsize)sqlite3_column_bytes(select, column));
}

/* Returns the outline rows in a row of the database; NULL if the checksum is wrong. */
static GBytes *rows_of_statement(sqlite3_stmt *select, GBytes *key)
{
    g_autoptr(GBytes) rows = column_of(select, 1);
    bool same = (guint64)sqlite3_column_int64(select, 0) == sum_of_row(key, rows);
    return same ? g_steal_pointer(&rows) : NULL;
}

void acr_cache_database_read_all(AcrCacheDatabase *database, gsize wanted, GHashTable *out)
{
    guint64 span;
    sqlite3_stmt *select = NULL;
    if (ask_number(database, SELECT_SPAN, &span) == ACR_CACHE_OK && span / 2 < wanted &&
        prepare_statement(database, SELECT_ALL, &select) == ACR_CACHE_OK)
        for (guint64 i = 0; i <= span && sqlite3_step(select) == SQLITE_ROW; i++) {
            GBytes *key = column_of(select, 2), *rows = rows_of_statement(select, key);
            database->ticks = 0;
            if (rows)
                g_hash_table_insert(out, key, rows);
            else
                g_bytes_unref(key);
        }
    sqlite3_finalize(select);
}

AcrCacheState acr_cache_database_read(AcrCacheDatabase *database, GBytes *key, GBytes **out_rows)
{
    sqlite3_stmt *select = database->select_row;
    database->ticks = 0;
    bind(select, 1, key);
    int rc = sqlite3_step(select);
    AcrCacheState state = rc == SQLITE_DONE ? ACR_CACHE_NONE : state_of(database, rc);
    if (rc == SQLITE_ROW && !(*out_rows = rows_of_statement(select, key)))
        state = ACR_CACHE_DAMAGED;
    sqlite3_reset(select);
    sqlite3_clear_bindings(select);
    return state;
}

static AcrCacheState put_rows(AcrCacheDatabase *database, const AcrCacheRow *row)
{
    database->ticks = 0;
    bind(database->insert_row, 1, row->key);
    sqlite3_bind_int64(database->insert_row, 2, (gint64)sum_of_row(row->key, row->rows));
    bind(database->insert_row, 3, row->rows);
    AcrCacheState state = state_of(database, sqlite3_step(database->insert_row));
    sqlite3_reset(database->insert_row);
    sqlite3_clear_bindings(database->insert_row);
    return state;
}

/* Checks that a row just written can be found. A row that cannot be found means that the table's
 * index is damaged, and each process would write the row again. */
static AcrCacheState check_row(AcrCacheDatabase *database, const AcrCacheRow *row)
{
    g_autoptr(GBytes) rows = NULL;
    AcrCacheState state = acr_cache_database_read(database, row->key, &rows);
    return state == ACR_CACHE_NONE ? ACR_CACHE_DAMAGED : state;
}

static AcrCacheState make_room(AcrCacheDatabase *database, guint64 room)
{
    guint64 pages = 0, free_pages = 0;
    for (guint step = 0; step < MAX_DROPS; step++) {
        AcrCacheState state = ask_number(database, "PRAGMA page_count", &pages);
        if (state == ACR_CACHE_OK)
            state = ask_number(database, "PRAGMA freelist_count", &free_pages);
        bool fits = (pages - MIN(pages, free_pages)) * ACR_CACHE_PAGE_BYTES <= room;
        if (state == ACR_CACHE_OK && !fits)
            state = run_sql(database, DROP_OLDEST);
        if (state != ACR_CACHE_OK || fits)
            return state;
        if (sqlite3_changes(database->db) == 0)
            break; /* only pages without rows are left */
    }
    return ACR_CACHE_DAMAGED;
}

AcrCacheState acr_cache_database_write(AcrCacheDatabase *database, const GPtrArray *rows,
                                       guint64 room)
{
    AcrCacheState state = run_sql(database, "BEGIN IMMEDIATE");
    if (state == ACR_CACHE_OK)
        state = make_room(database, room);
    for (guint i = 0; i < rows->len && state == ACR_CACHE_OK; i++)
        state = put_rows(database, rows->pdata[i]);
    for (guint i = 0; i < rows->len && state == ACR_CACHE_OK; i++)
        state = check_row(database, rows->pdata[i]);
    if (state == ACR_CACHE_OK)
        state = run_sql(database, "COMMIT");
    if (!sqlite3_get_autocommit(database->db))
        sqlite3_exec(database->db, "ROLLBACK", NULL, NULL, NULL);
    return state;
}

const char *acr_index_library(void)
{
    return sqlite3_libversion();
}
