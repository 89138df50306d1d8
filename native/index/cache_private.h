/* Declares an open cache database for the two files of the outline cache and their tests. */
#pragma once

#include "index/index.h"

#define ACR_CACHE_APPLICATION_ID 0x61637248 /* "acrH": marks a file as this program's */
#define ACR_CACHE_FORMAT 3 /* SQLite's user_version: version of the table and its contents */
#define ACR_CACHE_PAGE_BYTES 8192u
#define ACR_CACHE_PATIENCE_MS 2000 /* how long to wait for a lock that another process has */

typedef enum {
    ACR_CACHE_OK,
    ACR_CACHE_NONE,     /* there is no such row */
    ACR_CACHE_OUTDATED, /* this program's file, but in another format */
    ACR_CACHE_DAMAGED,  /* this program's file, but damaged */
    ACR_CACHE_FOREIGN,  /* another program's file */
    ACR_CACHE_UNUSABLE, /* the file is locked, there is no permission, the disk is full, … */
} AcrCacheState;

/* The outline rows of one key, which consists of a blob id and a version. */
typedef struct {
    GBytes *key, *rows; /* shared */
} AcrCacheRow;

typedef struct AcrCacheDatabase AcrCacheDatabase;

/* Opens the database; with `create`, creates a missing file and table. `*out` is owned
 * (acr_cache_database_close) and always set, so that callers can use acr_cache_database_why and
 * acr_cache_database_has_moved. */
AcrCacheState acr_cache_database_open(const char *path, bool create,
                                      AcrCacheDatabase **out) ACR_MUST_USE;
void acr_cache_database_close(AcrCacheDatabase *database); /* accepts NULL */
bool acr_cache_database_writable(const AcrCacheDatabase *database);
/* Whether the path now leads to another file, or to no file. */
bool acr_cache_database_has_moved(AcrCacheDatabase *database);
/* Returns the reason for the last UNUSABLE; borrowed. */
const char *acr_cache_database_why(const AcrCacheDatabase *database);

/* Prevents other processes from using the file until this process closes the file, if possible. */
void acr_cache_database_lock_out(AcrCacheDatabase *database);

/* Begins one transaction for all following reads. Returns false on failure. */
bool acr_cache_database_begin_reads(AcrCacheDatabase *database);
void acr_cache_database_end_reads(AcrCacheDatabase *database);
/* Reads all rows into `out` (key -> rows, GBytes), unless there are many more than `wanted`. Skips
 * rows that cannot be read; acr_cache_database_read handles these rows. */
void acr_cache_database_read_all(AcrCacheDatabase *database, gsize wanted, GHashTable *out);
/* Reads the rows of one key. Returns OK, NONE, or a failure. */
AcrCacheState acr_cache_database_read(AcrCacheDatabase *database, GBytes *key,
                                      GBytes **out_rows) ACR_MUST_USE;
/* Drops the oldest rows until at most `room` bytes are in use, and writes the new `rows`
 * (AcrCacheRow): either all or none. */
AcrCacheState acr_cache_database_write(AcrCacheDatabase *database, const GPtrArray *rows,
                                       guint64 room) ACR_MUST_USE;
