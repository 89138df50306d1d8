/* Caches whose rows are computed from a number, so that every process knows what they must
 * contain. */
#pragma once

#include "index/index.h"
#include "unit/cases.h"

#define VERSION "outline-1 test"
#define CHILD_ARGUMENT "--cache-child"

/* The path for a cache in a folder of that name, in a new temporary folder. The test owns the path;
 * the temporary folder is removed when the test ends. */
const char *cache_path(const char *folder);

void id_of(guint number, guint8 out[ACR_BLOB_ID_LEN]);
GBytes *rows_of(guint number); /* owned; 0 to about 9,000 bytes */

/* Puts the rows of the numbers first … first + n - 1. */
void put_rows(AcrIndexCache *cache, guint first, guint n);
/* The number of these rows that the cache has; each must be exactly what was put. */
guint count_rows(AcrIndexCache *cache, guint first, guint n);
/* Creates and closes a cache file with the rows 0 … n - 1. */
void make_cache(const char *path, guint n);
/* Opens the file, requests rows 0 … n - 1, puts them, and opens the file again: the rows must be
 * there. Returns the message of the first opening; owned, NULL if there is none. */
char *use_cache(const char *path, guint n);

/* Starts this executable as `--cache-child mode path number`; returns the process id. */
pid_t start_child(const char *mode, const char *path, guint number);
/* The child's exit code, or minus the signal that ended it. */
int end_of_child(pid_t pid);
/* The main function of such a child; `arguments` are NULL-terminated and follow CHILD_ARGUMENT. */
int run_cache_child(char **arguments);
