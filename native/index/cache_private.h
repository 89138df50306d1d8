/*
 * Shared by the two files of the outline cache and their tests: one open cache database.
 */
#ifndef ACR_INDEX_CACHE_PRIVATE_H
#define ACR_INDEX_CACHE_PRIVATE_H

#include "index/index.h"

#define ACR_CACHE_APPLICATION_ID 0x61637248 /* "acrH": marks a file as this program's */
#define ACR_CACHE_FORMAT 3                  /* user_version: the table, and what is in it */
#define ACR_CACHE_PAGE_BYTES 8192u
#define ACR_CACHE_PATIENCE_MS 2000 /* for each lock that another process holds */

typedef enum {
    ACR_CACHE_OK,
    ACR_CACHE_NONE,     /* no such row */
    ACR_CACHE_OUTDATED, /* this program's file in another format */
    ACR_CACHE_DAMAGED,  /* this program's file, but not as it was written */
    ACR_CACHE_FOREIGN,  /* another program's file */
    ACR_CACHE_UNUSABLE, /* locked, forbidden, disk full … */
} AcrCacheState;

/* Rows with the key that finds them: blob id, then version. */
typedef struct {
    GBytes *key, *rows; /* shared */
} AcrCacheRow;

typedef struct AcrCacheDatabase AcrCacheDatabase;

/*
 * Opens the database, `create`: makes its file and table where missing. `*out` is owned
 * (acr_cache_database_close) and set whatever the state, so one can ask why, and whether the path
 * leads to another file by now.
 */
AcrCacheState acr_cache_database_open(const char *path, bool create,
                                      AcrCacheDatabase **out) ACR_MUST_USE;
void acr_cache_database_close(AcrCacheDatabase *database); /* NULL: nothing */
bool acr_cache_database_writable(const AcrCacheDatabase *database);
/* Whether the path leads to another file by now, or to none. */
bool acr_cache_database_has_moved(AcrCacheDatabase *database);
/* The reason for the last UNUSABLE; borrowed. */
const char *acr_cache_database_why(const AcrCacheDatabase *database);

/* Keeps other processes from using the file until it is closed, as far as that can be had. */
void acr_cache_database_lock_out(AcrCacheDatabase *database);

/* One read transaction for all reads until the end; false where it cannot be had. */
bool acr_cache_database_begin_reads(AcrCacheDatabase *database);
void acr_cache_database_end_reads(AcrCacheDatabase *database);
/* Reads all rows, where they are not many more than `wanted`, into `out` (key -> rows, GBytes); what
 * cannot be read is left to acr_cache_database_read. */
void acr_cache_database_read_all(AcrCacheDatabase *database, gsize wanted, GHashTable *out);
/* Reads the rows of a key: OK, NONE, or a failure. */
AcrCacheState acr_cache_database_read(AcrCacheDatabase *database, GBytes *key,
                                      GBytes **out_rows) ACR_MUST_USE;
/* Drops the oldest rows until no more than `room` bytes are in use, and writes new ones (of
 * AcrCacheRow), all or none. */
AcrCacheState acr_cache_database_write(AcrCacheDatabase *database, const GPtrArray *rows,
                                       guint64 room) ACR_MUST_USE;

#endif
