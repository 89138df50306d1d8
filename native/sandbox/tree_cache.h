/* Private to sandbox: the cache of trees and results of set-ups, which processes share. */
#pragma once

#include "sandbox/sandbox.h"

/* maximum size; if the cache is larger, the least recently used entries are removed */
#define ACR_TREE_CACHE_MAX_BYTES (16ll * 1024 * 1024 * 1024)
/* Names of folders in an entry and in an execution's folder. */
#define ACR_SANDBOX_TREE "tree"
#define ACR_SANDBOX_HOME "home"
#define ACR_SANDBOX_GIT "git" /* folder of the tree's ".git", beside the tree */

/* A folder of entries, each of which is created once and then only read. Processes share the
 * folder. No process removes an entry that another process uses. */
typedef struct AcrTreeCache AcrTreeCache;
/* Opens the cache in the folder `path`. If `path` is NULL, creates a temporary cache, which
 * acr_tree_cache_free removes. The interrupt (may be NULL) and the deadline (monotonic time in
 * microseconds; 0: none) end the wait for an entry that another process creates. */
AcrTreeCache *acr_tree_cache_open(const char *path, const AcrInterrupt *interrupt,
                                  gint64 deadline_us, GError **error) ACR_MUST_USE;
void acr_tree_cache_free(AcrTreeCache *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrTreeCache, acr_tree_cache_free)
/* Fills the empty folder `dir`, which becomes an entry. */
typedef bool AcrTreeMake(void *ctx, const char *dir, GError **error);
/* Returns the folder of the entry `key`, owned. If the entry is missing, creates it by calling
 * `make`. The entry stays as long as the cache is open. */
char *acr_tree_cache_get(AcrTreeCache *cache, const char *key, AcrTreeMake *make, void *ctx,
                         GError **error) ACR_MUST_USE;
/* Returns a new empty folder that is removed with the cache (after a crash, by a later process);
 * owned. */
char *acr_tree_cache_scratch(AcrTreeCache *cache, GError **error) ACR_MUST_USE;
/* Returns a new, empty folder named after `key`, which only one process can use at a time; owned;
 * the caller discards the folder. Waits until no other process uses it. Errors: FAILED,
 * INTERRUPTED. */
char *acr_tree_cache_place(AcrTreeCache *cache, const char *key, GError **error) ACR_MUST_USE;
/* Takes the lock of `key`, under which an entry (or an image) is created. Waits while another
 * process has the lock. Returns a descriptor for acr_tree_cache_unlock; -1 with an error. Errors:
 * FAILED, INTERRUPTED. */
int acr_tree_cache_lock(const AcrTreeCache *cache, const char *key, GError **error) ACR_MUST_USE;
void acr_tree_cache_unlock(const AcrTreeCache *cache, const char *key, int fd);
/* Removes a folder that only this process uses. */
bool acr_tree_cache_discard(AcrTreeCache *cache, const char *path, GError **error) ACR_MUST_USE;
