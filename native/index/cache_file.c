/*
 * The file of the outline cache: opened, made where there is none, made anew where it is damaged,
 * left alone where it is somebody else's, removed when the user asks for it.
 *
 * A new file is made under another name and renamed into place, under a lock that all makers and
 * removers take; whoever finds a file damaged looks again, with the lock, whether it is still that
 * file. The order in which names go matters: the database first, then SQLite's files beside it,
 * then the new database comes. So one that opened the old database, and then a file beside it that
 * belongs to the new one, sees that its database has moved; and a new database never meets an old
 * journal, whose pages SQLite would put into it.
 */
#include "index/cache_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_PATIENCE_MS 1000
#define LOCK_NAP_MS 5
#define MAX_ATTEMPTS 8
#define MAX_REMAKES 3
#define NEW "-new"            /* behind the name of a database that is being made */
#define OWN_FOLDER "acr-host" /* in it, a file that is no database at all was one of ours */

static const char *const BESIDE[] = {"-wal", "-shm", "-journal"};

void acr_index_cache_say(AcrIndexCache *cache, const char *what, ...)
{
    if (cache->remark)
        return;
    va_list arguments;
    va_start(arguments, what);
    g_autofree char *text = g_strdup_vprintf(what, arguments);
    va_end(arguments);
    cache->remark = g_strdup_printf("the outline cache '%s' %s", cache->path, text);
}

/* ---- Names ---- */

/* 0 or an errno; a missing file is success. */
static int remove_name(const char *path, const char *suffix)
{
    g_autofree char *name = g_strconcat(path, suffix, NULL);
    return unlink(name) == 0 || errno == ENOENT ? 0 : errno;
}

/* Removes a database and what SQLite puts beside it; 0 or the first errno. */
static int remove_database(const char *path)
{
    int err = remove_name(path, "");
    for (gsize i = 0; i < G_N_ELEMENTS(BESIDE); i++) {
        int next = remove_name(path, BESIDE[i]);
        err = err ? err : next;
    }
    return err;
}

static AcrLock *lock_patiently(const char *path, GError **error)
{
    g_autofree char *name = g_strconcat(path, "-lock", NULL);
    for (int waited_ms = 0;; waited_ms += LOCK_NAP_MS) {
        GError *failed = NULL;
        AcrLock *lock = acr_lock_take(name, &failed);
        if (lock)
            return lock;
        if (!g_error_matches(failed, ACR_BASE_ERROR, ACR_BASE_ERROR_BUSY) ||
            waited_ms >= LOCK_PATIENCE_MS) {
            g_propagate_error(error, failed);
            return NULL;
        }
        g_error_free(failed);
        g_usleep(LOCK_NAP_MS * 1000);
    }
}

/* ---- Making ---- */

/* With the lock: a new database at the path. */
static bool make_database(const char *path, GError **error)
{
    g_autofree char *name = g_strconcat(path, NEW, NULL);
    g_autofree char *why = NULL;
    AcrStoreState state = ACR_STORE_REFUSED;
    /* A journal that readers and writers share needs shared memory, which some file systems do not
     * have. */
    for (int shared = 1; shared >= 0 && state != ACR_STORE_OK; shared--) {
        remove_database(name);
        g_clear_pointer(&why, g_free);
        state = acr_store_create(name, shared != 0, &why);
    }
    if (state != ACR_STORE_OK) {
        remove_database(name);
        g_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED, "%s", why);
        return false;
    }
    int err = remove_database(path);
    if (err == 0 && rename(name, path) != 0)
        err = errno;
    if (err == 0)
        return true;
    remove_database(name);
    g_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED, "%s", g_strerror(err));
    return false;
}

/*
 * Puts a new database in place of the file that `old` has open (NULL: of no file), unless there is
 * another one by now. `*out_made`: whether it was this call that did.
 */
static bool replace_file(const char *path, AcrStore *old, bool *out_made, GError **error)
{
    struct stat st;
    g_autoptr(AcrLock) lock = lock_patiently(path, error);
    if (!lock)
        return false;
    if (old ? acr_store_has_moved(old) : stat(path, &st) == 0)
        return true;
    *out_made = make_database(path, error);
    return *out_made;
}

static bool in_own_folder(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(folder);
    return strcmp(name, OWN_FOLDER) == 0;
}

/* ---- Opening ---- */

static void drop_store(AcrIndexCache *cache)
{
    acr_store_close(cache->store);
    cache->store = NULL;
    cache->gets = 0;
}

/* Makes the file that is in the given state anew; false: there is no more to be done. */
static bool remake(AcrIndexCache *cache, AcrStoreState state)
{
    g_autoptr(GError) error = NULL;
    bool damaged = state == ACR_STORE_DAMAGED || state == ACR_STORE_UNKNOWN;
    bool made = false;
    bool ok =
        cache->remakes < MAX_REMAKES && replace_file(cache->path, cache->store, &made, &error);
    drop_store(cache);
    if (made) {
        cache->remakes++;
        if (damaged)
            acr_index_cache_say(cache, "was damaged and has been made anew");
    }
    if (!ok && error)
        acr_index_cache_say(cache,
                            damaged ? "is damaged and cannot be made anew (%s): going without"
                                    : "cannot be made (%s): going without",
                            error->message);
    else if (!ok)
        acr_index_cache_say(cache, "was damaged again and again: going without");
    return ok;
}

/* Where locks or files beside the database are impossible, it can perhaps still be read. */
static void open_frozen(AcrIndexCache *cache)
{
    g_autofree char *why = g_strdup(cache->store ? cache->store->why : "no reason given");
    bool readable_only = access(cache->path, R_OK) == 0;
    g_autofree char *folder = g_path_get_dirname(cache->path);
    bool no_right = access(cache->path, W_OK) != 0 || access(folder, W_OK) != 0;
    drop_store(cache);
    if (readable_only && acr_store_open(cache->path, true, &cache->store) == ACR_STORE_OK) {
        acr_index_cache_say(cache,
                            no_right ? "is read-only: nothing is kept"
                                     : "cannot be written (%s): nothing is kept",
                            why);
        return;
    }
    drop_store(cache);
    acr_index_cache_say(cache, "cannot be used (%s): going without", why);
}

/* Opens the file once. True: try again, as it has been made anew or was another's doing. */
static bool attach_once(AcrIndexCache *cache)
{
    const char *why_left = NULL;
    AcrStoreState state = acr_store_open(cache->path, false, &cache->store);
    if (state == ACR_STORE_UNKNOWN && !in_own_folder(cache->path))
        state = ACR_STORE_FOREIGN;
    switch (state) {
    case ACR_STORE_OK:
        if (!cache->store->writable)
            acr_index_cache_say(cache, "is read-only: nothing is kept");
        return false;
    case ACR_STORE_MOVED:
        drop_store(cache);
        return true;
    case ACR_STORE_MISSING:
    case ACR_STORE_EMPTY:
    case ACR_STORE_OLDER:
    case ACR_STORE_UNKNOWN:
    case ACR_STORE_DAMAGED:
        return remake(cache, state);
    case ACR_STORE_NEWER:
        why_left = "is of a newer version of this program: left alone, going without";
        break;
    case ACR_STORE_FOREIGN:
        why_left = "is another program's file: left alone, going without";
        break;
    case ACR_STORE_BUSY:
        why_left = "is locked by another process: going without";
        break;
    default:
        open_frozen(cache);
        return false;
    }
    drop_store(cache);
    acr_index_cache_say(cache, "%s", why_left);
    return false;
}

void acr_index_cache_attach(AcrIndexCache *cache)
{
    drop_store(cache);
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        if (!attach_once(cache))
            return;
    }
    drop_store(cache);
    acr_index_cache_say(cache, "is replaced again and again: going without");
}

void acr_index_cache_replace(AcrIndexCache *cache)
{
    if (!cache->store->writable) {
        drop_store(cache);
        acr_index_cache_say(cache, "is damaged and read-only: going without");
        return;
    }
    if (remake(cache, ACR_STORE_DAMAGED))
        acr_index_cache_attach(cache);
}

/* ---- Removing ---- */

static bool fail_to_clear(GError **error, const char *path, const char *why)
{
    g_set_error(error, ACR_INDEX_ERROR, ACR_INDEX_ERROR_FAILED,
                "cannot remove the outline cache '%s': %s", path, why);
    return false;
}

bool acr_index_cache_clear(const char *path, GError **error)
{
    g_autofree char *real = realpath(path, NULL);
    if (!real)
        return errno == ENOENT ? true : fail_to_clear(error, path, g_strerror(errno));
    g_autoptr(GError) failed = NULL;
    g_autoptr(AcrLock) lock = lock_patiently(real, &failed);
    if (!lock)
        return fail_to_clear(error, path, failed->message);
    AcrStore *store = NULL;
    AcrStoreState state = acr_store_open(real, true, &store);
    g_autofree char *why = g_strdup(store ? store->why : "");
    acr_store_close(store);
    if (state == ACR_STORE_FOREIGN || (state == ACR_STORE_UNKNOWN && !in_own_folder(real)))
        return fail_to_clear(error, path, "it is another program's file");
    if (state == ACR_STORE_REFUSED)
        return fail_to_clear(error, path, why);
    g_autofree char *unfinished = g_strconcat(real, NEW, NULL);
    int err = remove_database(real);
    remove_database(unfinished);
    return err == 0 || fail_to_clear(error, path, g_strerror(err));
}
