/* The cache of trees and results of set-ups: a folder of entries. An entry is created once, in a
 * temporary folder that is then renamed. Afterwards the entry is only read. A process that uses an
 * entry holds a shared lock on the entry's folder. To remove an entry, a process first takes an
 * exclusive lock, so that entries in use stay. A folder that only one process uses ("tmp-…", and
 * the folder of a set-up without isolation) has an exclusive lock. When a cache is opened, the
 * temporary folders and lock files of processes that have ended are removed. */
#include "sandbox/tree_cache.h"
#include "sandbox/sandbox_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TMP "tmp-"
#define LOCK_SUFFIX ".lock"
#define WAIT_US 20000
/* name of a file in an entry that contains the entry's size on disk in bytes, as text */
#define SIZE_FILE "size"

/* A folder that this process uses. Entries have a shared lock, temporary folders an exclusive
 * lock. */
typedef struct {
    int fd;
    char *path;
} Held;

struct AcrTreeCache {
    char *path;
    bool is_temporary;
    GArray *held; /* array of Held */
    const AcrInterrupt *interrupt;
    gint64 deadline_us; /* monotonic time at which to stop waiting for locks; 0: never */
};

/* Removes a folder. If that fails, a process that opens the cache later tries again. */
static void throw_away(const char *path)
{
    g_autoptr(GError) reason = NULL;
    if (!acr_dir_remove(path, &reason))
        g_debug("%s", reason->message);
}

/* Takes a lock on `fd`. If another process has the lock, waits (with `wait`) until the program is
 * interrupted or its deadline is reached. Returns 0 or an errno. */
static int lock_fd(const AcrTreeCache *store, int fd, int lock, bool wait)
{
    while (flock(fd, lock | LOCK_NB) != 0) {
        if (errno != EINTR && (errno != EWOULDBLOCK || !wait))
            return errno;
        if (acr_interrupted(store->interrupt))
            return EINTR;
        if (store->deadline_us && g_get_monotonic_time() >= store->deadline_us)
            return ETIMEDOUT;
        g_usleep(WAIT_US);
    }
    return 0;
}

/* Opens an entry's folder or lock file. Follows no link, because a command without isolation could
 * have created a link. If a command has removed the rights of a folder, restores them. */
static int open_own(const char *path, int flags)
{
    flags |= O_NOFOLLOW | O_CLOEXEC;
    int fd = open(path, flags, 0644);
    struct stat st;
    if (fd < 0 && errno == EACCES && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
        chmod(path, 0755) == 0)
        fd = open(path, flags, 0644);
    return fd;
}

/* Opens and locks the file or folder at `path`. Tries again if another process has replaced or
 * removed it in the meantime. Returns -1 and sets errno on failure. */
static int open_locked(const AcrTreeCache *store, const char *path, int flags, int lock, bool wait)
{
    for (;;) {
        struct stat opened, there;
        int fd = open_own(path, flags);
        if (fd < 0)
            return -1;
        int err = lock_fd(store, fd, lock, wait);
        if (!err && fstat(fd, &opened) != 0)
            err = errno;
        if (!err && lstat(path, &there) == 0 && there.st_ino == opened.st_ino &&
            there.st_dev == opened.st_dev)
            return fd;
        close(fd);
        errno = err;
        if (err)
            return -1;
    }
}

/* Sets an error from errno: INTERRUPTED if the program was interrupted, otherwise FAILED. */
static void fail_lock(const AcrTreeCache *store, const char *path, GError **error)
{
    if (acr_interrupted(store->interrupt))
        acr_sandbox_fail(error, ACR_SANDBOX_ERROR_INTERRUPTED, "interrupted");
    else
        acr_sandbox_fail_errno(error, errno, "cannot lock", path);
}

static void hold_fd(AcrTreeCache *store, int fd, const char *path)
{
    Held held = {fd, g_strdup(path)};
    g_array_append_val(store->held, held);
}

static void let_go(AcrTreeCache *store, const char *path)
{
    for (guint i = 0; i < store->held->len; i++) {
        Held *held = &g_array_index(store->held, Held, i);
        if (strcmp(held->path, path) == 0) {
            close(held->fd);
            g_free(held->path);
            g_array_remove_index_fast(store->held, i);
            return;
        }
    }
}

static void sweep_cache(const AcrTreeCache *store, const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        bool is_lock = g_str_has_suffix(name, LOCK_SUFFIX);
        if (!is_lock && !g_str_has_prefix(name, TMP))
            continue;
        int flags = is_lock ? O_RDWR : O_RDONLY | O_DIRECTORY;
        int fd = open_locked(store, path, flags, LOCK_EX, false);
        if (fd < 0) /* another process uses the folder or the lock file */
            continue;
        throw_away(path);
        close(fd);
    }
}

/* Creates a new folder inside `folder`, and locks it for this process. Returns its path, owned. */
static char *make_scratch(AcrTreeCache *store, const char *folder, GError **error)
{
    for (;;) {
        g_autofree char *path = g_build_filename(folder, TMP "XXXXXX", NULL);
        if (!g_mkdtemp_full(path, 0755))
            return ACR_NULL(
                acr_sandbox_fail_errno(error, errno, "cannot create a folder in", folder));
        int fd = open_locked(store, path, O_RDONLY | O_DIRECTORY, LOCK_EX, true);
        if (fd >= 0) {
            hold_fd(store, fd, path);
            return g_steal_pointer(&path);
        }
        if (errno != ENOENT) { /* ENOENT: another process has just removed the folder; try again */
            return ACR_NULL(acr_sandbox_fail_errno(error, errno, "cannot lock", path));
        }
    }
}

char *acr_tree_cache_scratch(AcrTreeCache *store, GError **error)
{
    return make_scratch(store, store->path, error);
}

/* Renames a folder that cannot be removed, so that a new folder can be created at `path`. */
static void set_aside(const AcrTreeCache *store, const char *path)
{
    g_autofree char *away = g_build_filename(store->path, TMP "XXXXXX", NULL);
    if (g_mkdtemp(away) && rename(path, away) != 0)
        g_debug("cannot remove '%s': %s", path, g_strerror(errno));
}

bool acr_tree_cache_discard(AcrTreeCache *store, const char *path, GError **error)
{
    bool ok = acr_dir_remove(path, error);
    if (!ok)
        set_aside(store, path);
    let_go(store, path);
    return ok;
}

/* Checks that the folder belongs to the current user, and makes it inaccessible for others, because
 * a command can leave setuid programs in it. Root also accepts another user's folder if an option
 * names the folder. */
static bool claim(const char *folder, bool is_named, GError **error)
{
    struct stat st;
    int err = (is_named ? stat(folder, &st) : lstat(folder, &st)) == 0 ? 0 : errno;
    if (!err && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
        return chmod(folder, 0700) == 0 || errno == EROFS ||
               acr_sandbox_fail_errno(error, errno, "cannot restrict access to the folder", folder);
    if (!err && is_named && geteuid() == 0)
        return true;
    return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED, "'%s' belongs to another user",
                            folder);
}

/* Creates a temporary folder that is removed with the cache. It is inside a folder of the current
 * user. If this process is killed, a later process removes the temporary folder. */
static char *make_temporary(AcrTreeCache *store, GError **error)
{
    g_autofree char *name = g_strdup_printf("acr-host-%u", geteuid());
    g_autofree char *folder = g_build_filename(g_get_tmp_dir(), name, NULL);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return ACR_NULL(acr_sandbox_fail_errno(error, errno, "cannot create the folder", folder));
    if (!claim(folder, false, error))
        return NULL;
    sweep_cache(store, folder);
    return make_scratch(store, folder, error);
}

AcrTreeCache *acr_tree_cache_open(const char *path, const AcrInterrupt *interrupt,
                                  gint64 deadline_us, GError **error)
{
    g_autoptr(AcrTreeCache) store = g_new0(AcrTreeCache, 1);
    store->held = g_array_new(FALSE, FALSE, sizeof(Held));
    store->interrupt = interrupt;
    store->deadline_us = deadline_us;
    store->is_temporary = !path;
    if (!path) {
        store->path = make_temporary(store, error);
        return store->path ? g_steal_pointer(&store) : NULL;
    }
    if (!acr_dir_make(path, error) || !claim(path, true, error))
        return NULL;
    if (access(path, W_OK | X_OK) != 0)
        return ACR_NULL(acr_sandbox_fail_errno(error, errno, "cannot write to", path));
    store->path = g_strdup(path);
    sweep_cache(store, path);
    return g_steal_pointer(&store);
}

void acr_tree_cache_free(AcrTreeCache *store)
{
    if (!store)
        return;
    if (store->path && store->is_temporary)
        throw_away(store->path);
    for (guint i = 0; i < store->held->len; i++) {
        Held *held = &g_array_index(store->held, Held, i);
        g_autofree char *name = g_path_get_basename(held->path);
        if (g_str_has_prefix(name, TMP))
            throw_away(held->path);
        close(held->fd);
        g_free(held->path);
    }
    g_array_unref(store->held);
    ACR_FREE(store->path, store);
}

static char *entry_path(const AcrTreeCache *store, const char *key)
{
    return g_build_filename(store->path, key, NULL);
}

static char *lock_path(const AcrTreeCache *store, const char *key)
{
    return g_strconcat(store->path, "/", key, LOCK_SUFFIX, NULL);
}

/* Takes a shared lock on the entry at `path`. Returns false if the entry does not exist. */
static bool hold(AcrTreeCache *store, const char *path)
{
    int fd = open_locked(store, path, O_RDONLY | O_DIRECTORY, LOCK_SH, true);
    if (fd < 0)
        return false;
    (void)futimens(fd, NULL); /* record the time of the last use */
    hold_fd(store, fd, path);
    return true;
}

/* Returns the recorded size of an entry in bytes; 0 if unknown. */
static gint64 read_size(const char *entry)
{
    g_autofree char *path = g_build_filename(entry, SIZE_FILE, NULL);
    g_autoptr(GBytes) bytes = acr_file_read(path, 32, NULL);
    g_autofree char *text = bytes ? acr_utf8_repair_bytes(bytes) : NULL;
    return text ? g_ascii_strtoll(text, NULL, 10) : 0;
}

static bool write_size(const char *entry, GError **error)
{
    g_autofree char *path = g_build_filename(entry, SIZE_FILE, NULL);
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, acr_tree_bytes(entry));
    return acr_file_write_atomic(path, text, strlen(text), 0, error);
}

/* Removes an unused entry. Returns false if a process uses the entry or has just created it. */
static bool remove_entry(AcrTreeCache *store, const char *key)
{
    g_autofree char *path = entry_path(store, key), *name = g_strconcat(TMP, key, NULL);
    g_autofree char *away = g_build_filename(store->path, name, NULL);
    g_autofree char *lock = lock_path(store, key);
    int made = open_locked(store, lock, O_RDWR | O_CREAT, LOCK_EX, false);
    ACR_AUTO_FD fd =
        made < 0 ? -1 : open_locked(store, path, O_RDONLY | O_DIRECTORY, LOCK_EX, false);
    bool moved = fd >= 0 && rename(path, away) == 0;
    if (moved)
        throw_away(away);
    if (made >= 0)
        acr_tree_cache_unlock(store, key, made);
    return moved;
}

typedef struct {
    char *key;
    gint64 bytes, used; /* size of the entry in bytes, and the time of its last use in seconds */
} Entry;

static gint by_use(gconstpointer a, gconstpointer b)
{
    gint64 x = ((const Entry *)a)->used, y = ((const Entry *)b)->used;
    return (x > y) - (x < y);
}

/* Returns all entries, beginning with the least recently used, and sets *out_bytes to their total
 * size. */
static GArray *list_entries(const AcrTreeCache *store, gint64 *out_bytes)
{
    GArray *entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    g_autoptr(GDir) dir = g_dir_open(store->path, 0, NULL);
    *out_bytes = 0;
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        struct stat st;
        g_autofree char *path = entry_path(store, name);
        if (g_str_has_prefix(name, TMP) || lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
            continue;
        Entry entry = {g_strdup(name), read_size(path), st.st_mtime};
        *out_bytes += entry.bytes;
        g_array_append_val(entries, entry);
    }
    g_array_sort(entries, by_use);
    return entries;
}

static void shrink_to(AcrTreeCache *store, gint64 limit)
{
    gint64 bytes;
    GArray *entries = list_entries(store, &bytes);
    for (guint i = 0; i < entries->len; i++) {
        Entry *entry = &g_array_index(entries, Entry, i);
        if (bytes > limit && remove_entry(store, entry->key))
            bytes -= entry->bytes;
        g_free(entry->key);
    }
    g_array_unref(entries);
}

/* Creates the entry in a temporary folder, and renames that folder to `path`. The caller holds the
 * lock of the entry's key. */
static bool make_entry(AcrTreeCache *store, AcrTreeMake *make, void *ctx, const char *path,
                       GError **error)
{
    g_autofree char *dir = acr_tree_cache_scratch(store, error);
    if (!dir)
        return false;
    g_autoptr(GError) left = NULL;
    bool ok = make(ctx, dir, error) && write_size(dir, error) &&
              (rename(dir, path) == 0 ||
               acr_sandbox_fail_errno(error, errno, "cannot move into place", path));
    if (!ok && !acr_tree_cache_discard(store, dir, &left))
        g_debug("%s", left->message);
    /* nobody can remove the entry in the meantime, because this process holds the key's lock */
    if (ok)
        let_go(store, dir);
    return ok;
}

int acr_tree_cache_lock(const AcrTreeCache *store, const char *key, GError **error)
{
    g_autofree char *path = lock_path(store, key);
    int fd = open_locked(store, path, O_RDWR | O_CREAT, LOCK_EX, true);
    if (fd < 0)
        fail_lock(store, path, error);
    return fd;
}

void acr_tree_cache_unlock(const AcrTreeCache *store, const char *key, int fd)
{
    g_autofree char *path = lock_path(store, key);
    (void)unlink(path);
    close(fd);
}

char *acr_tree_cache_get(AcrTreeCache *store, const char *key, AcrTreeMake *make, void *ctx,
                         GError **error)
{
    g_autofree char *path = entry_path(store, key);
    if (hold(store, path))
        return g_steal_pointer(&path);
    /* one process creates the entry while the others wait */
    int fd = acr_tree_cache_lock(store, key, error);
    if (fd < 0)
        return NULL;
    bool ok = hold(store, path);
    if (!ok) {
        shrink_to(store, ACR_TREE_CACHE_MAX_BYTES);
        ok = make_entry(store, make, ctx, path, error) &&
             (hold(store, path) || acr_sandbox_fail_errno(error, errno, "cannot use", path));
    }
    acr_tree_cache_unlock(store, key, fd);
    return ok ? g_steal_pointer(&path) : NULL;
}

static bool is_other_type(int err)
{
    return err == ENOTDIR || err == ELOOP;
}

char *acr_tree_cache_place(AcrTreeCache *store, const char *key, GError **error)
{
    g_autofree char *name = g_strconcat(TMP, key, NULL);
    g_autofree char *path = entry_path(store, name);
    for (;;) {
        bool is_new = mkdir(path, 0755) == 0;
        if (!is_new && errno != EEXIST)
            return ACR_NULL(acr_sandbox_fail_errno(error, errno, "cannot create the folder", path));
        int fd = open_locked(store, path, O_RDONLY | O_DIRECTORY, LOCK_EX, true);
        if (fd >= 0 && is_new) {
            hold_fd(store, fd, path);
            return g_steal_pointer(&path);
        }
        /* a killed process left the folder behind, and its children may still write to it */
        if (fd >= 0) {
            if (!acr_dir_remove(path, NULL))
                set_aside(store, path);
            close(fd);
            continue;
        }
        /* the folder was removed in the meantime, or a command put a file or link in its place */
        if (errno == ENOENT || (is_other_type(errno) && unlink(path) == 0))
            continue;
        return ACR_NULL(fail_lock(store, path, error));
    }
}

bool acr_sandbox_cache_clear(const char *cache, GError **error)
{
    if (!g_file_test(cache, G_FILE_TEST_IS_DIR))
        return true;
    g_autoptr(AcrTreeCache) store = acr_tree_cache_open(cache, NULL, 0, error);
    if (!store)
        return false;
    shrink_to(store, -1);
    return true;
}
