/*
 * Shared by the cache's files: a store is one open database. Its functions report what happened as
 * a state; what to do about it (make the file anew, go without) is cache_file.c's and cache.c's.
 */
#ifndef ACR_INDEX_CACHE_PRIVATE_H
#define ACR_INDEX_CACHE_PRIVATE_H

#include "index/index.h"

#include <sqlite3.h>

#define ACR_STORE_APPLICATION_ID 0x61637248 /* "acrH": marks a file as this program's */
#define ACR_STORE_FORMAT 1                  /* user_version: the tables, and what is in them */
#define ACR_STORE_MAX_FORMAT 10000          /* a higher one is damage, not a newer program */
#define ACR_STORE_PAGE_BYTES 4096
#define ACR_STORE_PATIENCE_MS 2000 /* for the locks of other processes, in one call */
#define ACR_STORE_MIN_LIMIT (1024u * 1024)

typedef enum {
    ACR_STORE_OK,
    ACR_STORE_NONE,    /* no such row */
    ACR_STORE_MISSING, /* no file there */
    ACR_STORE_MOVED,   /* the file at the path is another one by now, or gone */
    ACR_STORE_EMPTY,   /* no bytes */
    ACR_STORE_OLDER,   /* of this program, in an older format */
    ACR_STORE_NEWER,   /* of this program, in a newer format */
    ACR_STORE_FOREIGN, /* another program's database */
    ACR_STORE_UNKNOWN, /* no database */
    ACR_STORE_DAMAGED, /* of this program, and not as it was written */
    ACR_STORE_BUSY,    /* locked by another process for longer than is worth waiting */
    ACR_STORE_REFUSED, /* the system does not let it: full disk, no right, fault of the disk */
} AcrStoreState;

enum {
    ACR_STATEMENT_BEGIN_READING,
    ACR_STATEMENT_BEGIN_WRITING,
    ACR_STATEMENT_COMMIT,
    ACR_STATEMENT_ROLLBACK,
    ACR_STATEMENT_GET,
    ACR_STATEMENT_PUT,
    ACR_STATEMENT_TOUCH,
    ACR_STATEMENT_PAGES,
    ACR_STATEMENT_FREE_PAGES,
    ACR_STATEMENT_EVICT,
    ACR_STATEMENT_SHRINK,
    ACR_STATEMENTS,
};

typedef struct {
    sqlite3 *db;
    sqlite3_stmt *statements[ACR_STATEMENTS]; /* prepared when first needed */
    bool writable;
    bool reading;       /* a read transaction is open */
    gint64 waited_ms;   /* for locks, in the present call */
    gint64 patience_ms; /* how long a call may wait; little after one that waited in vain */
    guint ticks;        /* of SQLite's machine, in the present call; bounds what damage can cost */
    char why[200];      /* of the last failure */
} AcrStore;

/* What identifies rows: borrowed. */
typedef struct {
    const guint8 *id;
    const char *version;
} AcrStoreKey;

/* Rows to be kept. */
typedef struct {
    gint64 number; /* acr_store_number of id and version */
    guint8 id[ACR_BLOB_ID_LEN];
    char *version; /* owned */
    GBytes *rows;  /* shared */
} AcrStoreRow;

/*
 * Opens a database and looks whether it is of this program and whole enough to be asked; anything
 * but OK says what is there. `*out`: owned (acr_store_close), set wherever a file could be opened,
 * so that one can ask later whether that file is still the one at the path.
 *   frozen  opens without locks and files beside it, for reading only: for where those cannot be.
 */
AcrStoreState acr_store_open(const char *path, bool frozen, AcrStore **out) ACR_MUST_USE;
/* Makes a new database in a file that is not there yet. `shared`: with the journal that lets others
 * read while one writes. */
AcrStoreState acr_store_create(const char *path, bool shared, char **out_why) ACR_MUST_USE;
void acr_store_close(AcrStore *store);
/* Whether the path leads to another file by now. */
bool acr_store_has_moved(AcrStore *store);

/* Begins a call: waiting and steps are counted from here. */
void acr_store_begin_call(AcrStore *store);
/* What a result code of SQLite means; fills `why`. */
AcrStoreState acr_store_state(AcrStore *store, int rc);
/* A statement without rows, or whose rows do not matter. */
AcrStoreState acr_store_run(AcrStore *store, int statement) ACR_MUST_USE;
/* The statement, reset; NULL where it cannot be prepared, with the state in `*out_state`. */
sqlite3_stmt *acr_store_statement(AcrStore *store, int statement, AcrStoreState *out_state);

/* What rows are found by: of id and version, spread evenly. */
gint64 acr_store_number(const AcrStoreKey *key);
/* Checksum of rows that belong to a key. */
guint64 acr_store_sum(const AcrStoreKey *key, const void *rows, gsize len);

/* Reads rows, in a read transaction that stays open until acr_store_end_reading or a write.
 * `*out_day`: when they were last used. OK, NONE, or a failure. */
AcrStoreState acr_store_read(AcrStore *store, const AcrStoreKey *key, GBytes **out_rows,
                             gint64 *out_day) ACR_MUST_USE;
void acr_store_end_reading(AcrStore *store);
/* Writes rows (AcrStoreRow *) and marks others (their numbers, gint64) as used on `day`, in one
 * transaction. */
AcrStoreState acr_store_write(AcrStore *store, const GPtrArray *rows, const GArray *touched,
                              gint64 day) ACR_MUST_USE;
/* Drops what was unused longest, in a bounded number of transactions, where the file has more than
 * `limit` bytes in use. */
AcrStoreState acr_store_evict(AcrStore *store, guint64 limit) ACR_MUST_USE;

struct AcrIndexCache {
    char *path; /* absolute, links followed; NULL: no cache */
    guint64 limit_bytes;
    AcrStore *store; /* NULL: going without */
    char *remark;
    GHashTable *pending; /* number -> AcrStoreRow: not written yet */
    GPtrArray *rows;     /* the same in their order; owns them */
    gsize pending_bytes;
    GArray *touched; /* numbers of rows that were read and whose day is not today's */
    guint gets;      /* in the present read transaction */
    guint remakes;   /* how often this cache made the file anew; bounded */
    gint64 day;      /* today, in days since 1970 */
};

/* Keeps the first remark: "the outline cache '<path>' <what>". */
void acr_index_cache_say(AcrIndexCache *cache, const char *what, ...) G_GNUC_PRINTF(2, 3);
/* Opens what is at the path, makes it anew where that is right, else goes without. */
void acr_index_cache_attach(AcrIndexCache *cache);
/* The open store turned out to be damaged: makes the file anew, unless another process has done so,
 * and opens that; or goes without. */
void acr_index_cache_replace(AcrIndexCache *cache);

#endif
