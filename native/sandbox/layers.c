/*
 * The store: a folder of entries that are made once, in a folder of their own that is then renamed,
 * and afterwards only read. Who uses an entry holds a shared lock on its folder; who removes one
 * takes an exclusive lock first, so that what is in use stays. Beside the entries lie the folders
 * of those that are being made and of executions ("tmp-…", with the process that owns them in the
 * name): those of processes that are gone are swept when a store is opened.
 */
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
#define SIZE_FILE ".size" /* beside the entry: bytes on disk, as text */

struct AcrLayers {
    char *path;
    bool is_temporary;
    guint scratches;
    GArray *held; /* of int: locked folders of the entries in use */
    AcrOwner self;
    const AcrInterrupt *interrupt;
};

static bool fail(GError **error, int err, const char *what, const char *path)
{
    return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED, "%s '%s': %s", what, path,
                            g_strerror(err));
}

/* What cannot be removed now is tried again when a store is opened. */
static void throw_away(const char *path)
{
    g_autoptr(GError) reason = NULL;
    if (!acr_dir_remove(path, &reason))
        g_debug("%s", reason->message);
}

/* ---- Temporary folders --------------------------------------------------------------------------
 */

/* "tmp-PID-START-N-BOOT". */
static char *scratch_name(AcrLayers *store)
{
    return g_strdup_printf(TMP "%" G_GINT64_FORMAT "-%" G_GINT64_FORMAT "-%u-%s", store->self.pid,
                           store->self.start, store->scratches++, store->self.boot);
}

/* Whether the owner that a name tells is gone. */
static bool is_left(const AcrLayers *store, const char *name)
{
    char *at;
    AcrOwner owner = {.pid = g_ascii_strtoll(name + strlen(TMP), &at, 10)};
    owner.start = *at == '-' ? g_ascii_strtoll(at + 1, &at, 10) : 0;
    if (*at == '-')
        (void)g_ascii_strtoll(at + 1, &at, 10);
    if (*at != '-')
        return false; /* none of ours */
    g_strlcpy(owner.boot, at + 1, sizeof owner.boot);
    return !acr_owner_is_alive(&owner, &store->self);
}

static void sweep(const AcrLayers *store)
{
    g_autoptr(GDir) dir = g_dir_open(store->path, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_autofree char *path = g_build_filename(store->path, name, NULL);
        if (g_str_has_prefix(name, TMP) && is_left(store, name))
            throw_away(path);
    }
}

char *acr_layers_scratch(AcrLayers *store, GError **error)
{
    g_autofree char *name = scratch_name(store);
    g_autofree char *path = g_build_filename(store->path, name, NULL);
    if (mkdir(path, 0755) != 0) {
        fail(error, errno, "cannot make the folder", path);
        return NULL;
    }
    return g_steal_pointer(&path);
}

/* ---- Opening ------------------------------------------------------------------------------------
 */

AcrLayers *acr_layers_open(const char *path, const AcrInterrupt *interrupt, GError **error)
{
    g_autoptr(AcrLayers) store = g_new0(AcrLayers, 1);
    store->held = g_array_new(FALSE, FALSE, sizeof(int));
    acr_owner_self(&store->self);
    store->interrupt = interrupt;
    store->is_temporary = !path;
    if (path) {
        store->path = g_strdup(path);
        if (!acr_dir_make(path, error))
            return NULL;
    } else {
        store->path = g_dir_make_tmp("acr-sandbox-XXXXXX", error);
        if (!store->path)
            return NULL;
    }
    sweep(store);
    return g_steal_pointer(&store);
}

void acr_layers_free(AcrLayers *store)
{
    if (!store)
        return;
    for (guint i = 0; i < store->held->len; i++)
        close(g_array_index(store->held, int, i));
    g_array_unref(store->held);
    if (store->path && store->is_temporary)
        throw_away(store->path);
    g_free(store->path);
    g_free(store);
}

/* ---- Entries ------------------------------------------------------------------------------------
 */

static char *entry_path(const AcrLayers *store, const char *key, const char *suffix)
{
    g_autofree char *name = g_strconcat(key, suffix, NULL);
    return g_build_filename(store->path, name, NULL);
}

/* Waits for a lock until the program is interrupted. */
static int lock_fd(const AcrLayers *store, int fd, int lock, bool wait)
{
    while (flock(fd, lock | LOCK_NB) != 0) {
        if (errno != EINTR && (errno != EWOULDBLOCK || !wait))
            return errno;
        if (acr_interrupted(store->interrupt))
            return EINTR;
        g_usleep(WAIT_US);
    }
    return 0;
}

/* Opens and locks the file or folder at `path`, which may be replaced or removed meanwhile; -1 with
 * errno. */
static int open_locked(const AcrLayers *store, const char *path, int flags, int lock, bool wait)
{
    for (;;) {
        struct stat opened, there;
        int fd = open(path, flags | O_CLOEXEC, 0644);
        if (fd < 0)
            return -1;
        int err = lock_fd(store, fd, lock, wait);
        if (!err && fstat(fd, &opened) != 0)
            err = errno;
        if (!err && stat(path, &there) == 0 && there.st_ino == opened.st_ino &&
            there.st_dev == opened.st_dev)
            return fd;
        close(fd);
        errno = err;
        if (err)
            return -1;
    }
}

/* Holds the entry if it is there. */
static bool hold(AcrLayers *store, const char *path)
{
    int fd = open_locked(store, path, O_RDONLY | O_DIRECTORY, LOCK_SH, true);
    if (fd < 0)
        return false;
    (void)futimens(fd, NULL); /* when it was last used */
    g_array_append_val(store->held, fd);
    return true;
}

static gint64 read_size(const AcrLayers *store, const char *key)
{
    g_autofree char *path = entry_path(store, key, SIZE_FILE);
    g_autoptr(GBytes) bytes = acr_file_read(path, 32, NULL);
    gsize len = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    g_autofree char *text = g_strndup(data ? data : "", len);
    return g_ascii_strtoll(text, NULL, 10);
}

static void write_size(const AcrLayers *store, const char *key, const char *dir)
{
    g_autofree char *path = entry_path(store, key, SIZE_FILE);
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, acr_tree_bytes(dir));
    g_autoptr(GError) reason = NULL;
    if (!acr_file_write_atomic(path, text, strlen(text), 0, &reason))
        g_debug("%s", reason->message); /* it counts as empty then */
}

/* Removes an entry that nobody uses; false where somebody does. */
static bool remove_entry(AcrLayers *store, const char *key)
{
    g_autofree char *path = entry_path(store, key, ""), *name = scratch_name(store);
    g_autofree char *away = g_build_filename(store->path, name, NULL);
    int fd = open_locked(store, path, O_RDONLY | O_DIRECTORY, LOCK_EX, false);
    if (fd < 0)
        return false;
    bool moved = rename(path, away) == 0;
    close(fd);
    if (moved) {
        g_autofree char *size = entry_path(store, key, SIZE_FILE);
        (void)unlink(size);
        throw_away(away);
    }
    return moved;
}

typedef struct {
    char *key;
    gint64 bytes, used; /* used: seconds */
} Entry;

static gint by_use(gconstpointer a, gconstpointer b)
{
    gint64 x = ((const Entry *)a)->used, y = ((const Entry *)b)->used;
    return (x > y) - (x < y);
}

/* Entries, the longest unused first. */
static GArray *list_entries(const AcrLayers *store, gint64 *out_bytes)
{
    GArray *entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    g_autoptr(GDir) dir = g_dir_open(store->path, 0, NULL);
    *out_bytes = 0;
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        struct stat st;
        g_autofree char *path = entry_path(store, name, "");
        if (g_str_has_prefix(name, TMP) || lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
            continue;
        Entry entry = {g_strdup(name), read_size(store, name), st.st_mtime};
        *out_bytes += entry.bytes;
        g_array_append_val(entries, entry);
    }
    g_array_sort(entries, by_use);
    return entries;
}

static void shrink_to(AcrLayers *store, gint64 limit)
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

/* Makes the entry in a folder of its own and puts it into its place; the key's lock is held. */
static bool make_entry(AcrLayers *store, const char *key, AcrLayerMake *make, void *ctx,
                       const char *path, GError **error)
{
    g_autofree char *dir = acr_layers_scratch(store, error);
    if (!dir)
        return false;
    if (!make(ctx, dir, error)) {
        throw_away(dir);
        return false;
    }
    write_size(store, key, dir);
    if (rename(dir, path) != 0) {
        fail(error, errno, "cannot put into place", path);
        throw_away(dir);
        return false;
    }
    return true;
}

bool acr_layers_has(const AcrLayers *store, const char *key)
{
    g_autofree char *path = entry_path(store, key, "");
    return g_file_test(path, G_FILE_TEST_IS_DIR);
}

char *acr_layers_get(AcrLayers *store, const char *key, AcrLayerMake *make, void *ctx,
                     GError **error)
{
    g_autofree char *path = entry_path(store, key, ""), *lock = entry_path(store, key, LOCK_SUFFIX);
    if (hold(store, path))
        return g_steal_pointer(&path);
    /* One process makes it, others wait for that one. */
    int fd = open_locked(store, lock, O_RDWR | O_CREAT, LOCK_EX, true);
    if (fd < 0) {
        fail(error, errno, "cannot lock", lock);
        return NULL;
    }
    bool ok = hold(store, path);
    if (!ok) {
        shrink_to(store, ACR_LAYERS_MAX_BYTES);
        ok = make_entry(store, key, make, ctx, path, error) &&
             (hold(store, path) || fail(error, errno, "cannot use", path));
    }
    (void)unlink(lock);
    close(fd);
    return ok ? g_steal_pointer(&path) : NULL;
}

bool acr_sandbox_cache_clear(const char *cache, GError **error)
{
    if (!g_file_test(cache, G_FILE_TEST_IS_DIR))
        return true;
    g_autoptr(AcrLayers) store = acr_layers_open(cache, NULL, error);
    if (!store)
        return false;
    shrink_to(store, -1);
    return true;
}
