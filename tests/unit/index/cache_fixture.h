/* Caches with rows that follow from a number, so that every process knows what must be in them. */
#pragma once

#include "index/index.h"
#include "unit/cases.h"

#define VERSION "outline-1 test"
#define CHILD_ARGUMENT "--cache-child"

/* A path for a cache in a folder of that name in a new temporary folder, which goes, with all in
 * it, when the test ends; owned by the test. */
const char *cache_path(const char *folder);

void id_of(guint number, guint8 out[ACR_BLOB_ID_LEN]);
GBytes *rows_of(guint number); /* owned; 0 to some 9,000 bytes */

/* Puts the rows of numbers first … first + n - 1. */
void put_rows(AcrIndexCache *cache, guint first, guint n);
/* How many of them the cache has; each must be exactly what was put. */
guint count_rows(AcrIndexCache *cache, guint first, guint n);
/* A cache file with the rows 0 … n - 1, closed. */
void make_cache(const char *path, guint n);
/* Opens the file, asks for rows 0 … n - 1, puts them, opens it again: they must be there. The
 * remark of the first time; owned, NULL if none. */
char *use_cache(const char *path, guint n);

/* Starts this executable as `--cache-child mode path number`; its process id. */
pid_t start_child(const char *mode, const char *path, guint number);
/* Its exit code, or minus the signal that ended it. */
int end_of_child(pid_t pid);
/* What main does in such a child; NULL-terminated arguments after CHILD_ARGUMENT. */
int run_cache_child(char **arguments);
