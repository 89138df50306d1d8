/* Private to sandbox: the cache of trees and results of set-ups, which processes share. */
#pragma once

#include "sandbox/sandbox.h"

/* if the cache is larger, the least recently used entries are removed */
#define ACR_TREE_CACHE_MAX_BYTES (16ll * 1024 * 1024 * 1024)
/* Names of folders in an entry and in an execution's folder. */
#define ACR_SANDBOX_TREE "tree"
#define ACR_SANDBOX_HOME "home"
#define ACR_SANDBOX_GIT "git" /* folder of the tree's ".git", beside the tree */

/* A folder of entries, each created once and then only read. Processes share the folder, and no
 * process removes an entry that another process uses. */
typedef struct AcrTreeCache AcrTreeCache;
/* Opens the cache. If `path` is NULL, it is a temporary cache, which is removed when it is
 * freed. The interrupt (may be NULL) and the deadline (monotonic time; 0: none) end the wait for
 * an entry that another process makes. */
AcrTreeCache *acr_tree_cache_open(const char *path, const AcrInterrupt *interrupt,
                                  gint64 deadline_us, GError **error) ACR_MUST_USE;
void acr_tree_cache_free(AcrTreeCache *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrTreeCache, acr_tree_cache_free)
/* Fills the empty folder `dir`. */
typedef bool AcrTreeMake(void *ctx, const char *dir, GError **error);
/* The folder of an entry, which `make` makes if it is missing; owned. The entry stays as long as
 * the cache is open. */
char *acr_tree_cache_get(AcrTreeCache *cache, const char *key, AcrTreeMake *make, void *ctx,
                         GError **error) ACR_MUST_USE;
/* A new empty folder that is removed with the cache (after a crash, by a later process); owned. */
char *acr_tree_cache_scratch(AcrTreeCache *cache, GError **error) ACR_MUST_USE;
/* A new, empty folder of that name, which only one process may use at a time; owned; the caller
 * discards it. Waits until no other process uses it. Errors: FAILED, INTERRUPTED. */
char *acr_tree_cache_place(AcrTreeCache *cache, const char *key, GError **error) ACR_MUST_USE;
/* Takes the lock that protects the making of what `key` names; waits while another process has
 * it. Returns a descriptor, which the caller closes; -1 with an error. Errors: FAILED,
 * INTERRUPTED. */
int acr_tree_cache_lock(const AcrTreeCache *cache, const char *key, GError **error) ACR_MUST_USE;
void acr_tree_cache_unlock(const AcrTreeCache *cache, const char *key, int fd);
/* Removes a folder that only this process uses. */
bool acr_tree_cache_discard(AcrTreeCache *cache, const char *path, GError **error) ACR_MUST_USE;
