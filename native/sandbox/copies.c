/*
 * Copies of a tree that executions use one after another: what one has changed is put back, which
 * costs what it changed and a look at each name. A record beside the copy tells how each name was
 * when the copy was whole; the kernel moves a file's ctime with whatever is done to the file, and
 * no program sets it. A file system in memory does not for what is written by a mapping: there the
 * contents are compared, too. The folder's lock is held by who calls.
 */
#include "sandbox/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define MAGIC "acr-copy 2\n"
#define MAX_RECORD_BYTES ((gsize)1024 * 1024 * 1024)
#define SUM_CHUNK ((gsize)64 * 1024)
#define TICK_WAIT_US 1000
#define MAX_TICKS 100u /* of waiting, for a clock that was turned back */

/* How a name was; of a folder and a link only what can differ while its content is the same. */
typedef struct {
    gint64 mode, uid, gid, size, inode, mtime_s, mtime_ns, ctime_s, ctime_ns;
    gint64 sum; /* of a file's content; 0: its ctime tells enough; of a folder's attributes */
} Facts;

struct AcrCopy {
    char *dir, *record;
    GHashTable *names;    /* path below dir -> Facts *; NULL: not known, nothing is whole */
    GPtrArray *different; /* of char *: paths that came, or are not as they were */
    GPtrArray *files;     /* of char *: those of files, and of files that went */
    bool is_lacking;      /* of what belongs there something went, or is not as it was */
};

AcrCopy *acr_copy_new(const char *dir, const char *record)
{
    AcrCopy *copy = g_new0(AcrCopy, 1);
    copy->dir = g_strdup(dir);
    copy->record = g_strdup(record);
    copy->different = g_ptr_array_new_with_free_func(g_free);
    copy->files = g_ptr_array_new_with_free_func(g_free);
    return copy;
}

void acr_copy_free(AcrCopy *copy)
{
    if (!copy)
        return;
    g_ptr_array_unref(copy->files);
    g_ptr_array_unref(copy->different);
    g_clear_pointer(&copy->names, g_hash_table_unref);
    g_free(copy->record);
    g_free(copy->dir);
    g_free(copy);
}

/* ---- Looking ---- */

/* One name, in the folder `dir`, and its path. */
typedef void Take(void *ctx, int dir, const char *name, const char *path, const Facts *facts);

/* A walk that knows the path of each name. */
typedef struct {
    GPtrArray *parents; /* of char *: the folders above the current name, each as a path with '/' */
    Take *take;
    void *ctx;
} Look;

static Facts facts_of(const struct stat *st)
{
    Facts facts = {.mode = st->st_mode, .uid = st->st_uid, .gid = st->st_gid};
    if (S_ISDIR(st->st_mode)) /* whatever came into it or went is seen by name */
        return facts;
    facts.size = st->st_size;
    facts.inode = (gint64)st->st_ino;
    facts.mtime_s = st->st_mtim.tv_sec;
    facts.mtime_ns = st->st_mtim.tv_nsec;
    facts.ctime_s = st->st_ctim.tv_sec;
    facts.ctime_ns = st->st_ctim.tv_nsec;
    return facts;
}

/* Never 0. What cannot be read has a mode that tells it. */
static gint64 sum_of(int dir, const char *name)
{
    ACR_AUTO_FD fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree guint8 *buffer = g_malloc(SUM_CHUNK);
    guint8 digest[32] = {0};
    gsize len = sizeof digest;
    gint64 sum;
    for (ssize_t n; fd >= 0 && (n = read(fd, buffer, SUM_CHUNK)) > 0;)
        g_checksum_update(checksum, buffer, n);
    g_checksum_get_digest(checksum, digest, &len);
    memcpy(&sum, digest, sizeof sum);
    return sum | 1;
}

/* What chattr and setfacl give a folder: it changes what can be made there. */
static gint64 attributes_of(int dir, const char *name)
{
    struct statx st;
    ACR_AUTO_FD fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) != 0)
        return 0;
    gint64 bytes = flistxattr(fd, NULL, 0); /* -1: there is no such thing */
    return (bytes * 4) + ((st.stx_attributes & STATX_ATTR_IMMUTABLE) ? 1 : 0) +
           ((st.stx_attributes & STATX_ATTR_APPEND) ? 2 : 0);
}

static int look_at(void *ctx, int dir, const char *name, const struct stat *st, guint depth)
{
    Look *look = ctx;
    Facts facts = facts_of(st);
    if (S_ISDIR(st->st_mode))
        facts.sum = attributes_of(dir, name);
    g_ptr_array_set_size(look->parents, (gint)depth);
    const char *above = depth ? look->parents->pdata[depth - 1] : "";
    g_autofree char *path = g_strconcat(above, name, NULL);
    look->take(look->ctx, dir, name, path, &facts);
    if (S_ISDIR(st->st_mode))
        g_ptr_array_add(look->parents, g_strconcat(path, "/", NULL));
    return 0;
}

/* Folders that may not be read are passed over: their mode tells that they differ. */
static int look_through(const char *dir, Take *take, void *ctx)
{
    g_autoptr(GPtrArray) parents = g_ptr_array_new_with_free_func(g_free);
    Look look = {parents, take, ctx};
    return acr_tree_walk(dir, true, look_at, &look);
}

typedef struct {
    AcrCopy *copy;
    GHashTable *seen; /* keys of copy->names */
} Comparison;

static bool is_folder(const Facts *facts)
{
    return S_ISDIR((mode_t)facts->mode);
}

static bool is_as_was(int dir, const char *name, const Facts *was, const Facts *facts)
{
    Facts now = *facts;
    if (!is_folder(was) && was->sum && was->size == now.size)
        now.sum = sum_of(dir, name);
    return memcmp(was, &now, sizeof now) == 0;
}

static void compare(void *ctx, int dir, const char *name, const char *path, const Facts *facts)
{
    Comparison *self = ctx;
    AcrCopy *copy = self->copy;
    gpointer key, was;
    bool is_known = g_hash_table_lookup_extended(copy->names, path, &key, &was);
    if (is_known)
        g_hash_table_add(self->seen, key);
    if (is_known && is_as_was(dir, name, was, facts))
        return;
    copy->is_lacking |= is_known;
    g_ptr_array_add(copy->different, g_strdup(path));
    if (!is_folder(facts) || (is_known && !is_folder(was)))
        g_ptr_array_add(copy->files, g_strdup(path));
}

static bool look(AcrCopy *copy, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    Comparison self = {copy, seen};
    g_ptr_array_set_size(copy->different, 0);
    g_ptr_array_set_size(copy->files, 0);
    copy->is_lacking = false;
    int err = copy->names ? look_through(copy->dir, compare, &self) : ENODATA;
    if (err)
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED, "cannot look through '%s': %s",
                                copy->dir, g_strerror(err));
    GHashTableIter at;
    gpointer key, was;
    g_hash_table_iter_init(&at, copy->names);
    while (g_hash_table_iter_next(&at, &key, &was)) {
        if (g_hash_table_contains(seen, key))
            continue;
        copy->is_lacking = true;
        if (!is_folder(was))
            g_ptr_array_add(copy->files, g_strdup(key));
    }
    return true;
}

const GPtrArray *acr_copy_changed(AcrCopy *copy, GError **error)
{
    return look(copy, error) ? copy->files : NULL;
}

/* ---- The record ---- */

typedef struct {
    GHashTable *names;
    bool has_sums;
} Names;

static void remember(void *ctx, int dir, const char *name, const char *path, const Facts *facts)
{
    const Names *self = ctx;
    Facts *kept = g_memdup2(facts, sizeof *facts);
    if (self->has_sums && S_ISREG((mode_t)facts->mode))
        kept->sum = sum_of(dir, name);
    g_hash_table_insert(self->names, g_strdup(path), kept);
}

static GHashTable *new_names(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

/* The names of a record: how many there are, and each with its facts before it. NULL where it is
 * not whole. */
static GHashTable *parse(const char *data, gsize len)
{
    g_autoptr(GHashTable) names = new_names();
    const char *at = data + strlen(MAGIC), *end = data + len;
    guint64 count;
    if (len < strlen(MAGIC) + sizeof count || memcmp(data, MAGIC, strlen(MAGIC)) != 0)
        return NULL;
    memcpy(&count, at, sizeof count);
    for (at += sizeof count; at < end;) {
        Facts facts;
        if ((gsize)(end - at) <= sizeof facts)
            return NULL;
        memcpy(&facts, at, sizeof facts);
        const char *path = at + sizeof facts;
        const char *stop = memchr(path, '\0', (gsize)(end - path));
        if (!stop)
            return NULL;
        g_hash_table_insert(names, g_strdup(path), g_memdup2(&facts, sizeof facts));
        at = stop + 1;
    }
    return g_hash_table_size(names) == count ? g_steal_pointer(&names) : NULL;
}

static void need_names(AcrCopy *copy)
{
    if (copy->names)
        return;
    g_autoptr(GBytes) bytes = acr_file_read(copy->record, MAX_RECORD_BYTES, NULL);
    gsize len = 0;
    const char *data = bytes ? g_bytes_get_data(bytes, &len) : NULL;
    copy->names = data ? parse(data, len) : NULL;
}

static bool write_names(const AcrCopy *copy, GError **error)
{
    g_autoptr(GString) text = g_string_new(MAGIC);
    guint64 count = g_hash_table_size(copy->names);
    GHashTableIter at;
    gpointer path, facts;
    g_string_append_len(text, (const char *)&count, sizeof count);
    g_hash_table_iter_init(&at, copy->names);
    while (g_hash_table_iter_next(&at, &path, &facts)) {
        g_string_append_len(text, facts, sizeof(Facts));
        g_string_append_len(text, path, (gssize)strlen(path) + 1);
    }
    return acr_file_write_atomic(copy->record, text->str, text->len, 0, error);
}

/* Waits until what is changed from now on has a later ctime than this: the clock that gives it
 * moves in ticks of some milliseconds. */
static void pass_tick(gint64 s, gint64 ns)
{
    for (guint i = 0; i < MAX_TICKS; i++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
        if (now.tv_sec > s || (now.tv_sec == s && now.tv_nsec > ns))
            return;
        g_usleep(TICK_WAIT_US);
    }
}

static void pass_all(GHashTable *names)
{
    gint64 newest_s = 0, newest_ns = 0;
    GHashTableIter at;
    gpointer value;
    g_hash_table_iter_init(&at, names);
    while (g_hash_table_iter_next(&at, NULL, &value)) {
        const Facts *facts = value;
        if (facts->ctime_s < newest_s ||
            (facts->ctime_s == newest_s && facts->ctime_ns <= newest_ns))
            continue;
        newest_s = facts->ctime_s;
        newest_ns = facts->ctime_ns;
    }
    pass_tick(newest_s, newest_ns);
}

/* Whether a file's ctime moves when a mapping of it that was read from first is written to. */
static bool is_told_by_ctime(int fd)
{
    struct stat before, after;
    if (acr_fd_write_all(fd, "", 1) != 0)
        return false;
    volatile char *mapped = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return false;
    char was = mapped[0];
    bool is_told = fstat(fd, &before) == 0;
    if (is_told)
        pass_tick(before.st_ctim.tv_sec, before.st_ctim.tv_nsec);
    mapped[0] = (char)(was + 1);
    is_told = is_told && fstat(fd, &after) == 0 &&
              (before.st_ctim.tv_sec != after.st_ctim.tv_sec ||
               before.st_ctim.tv_nsec != after.st_ctim.tv_nsec);
    (void)munmap((void *)mapped, 1);
    return is_told;
}

/* Tried with a file beside the record, which has no name by then. */
static bool need_sums(const AcrCopy *copy)
{
    g_autofree char *folder = g_path_get_dirname(copy->record);
    g_autofree char *path = g_build_filename(folder, ".acr-XXXXXX", NULL);
    ACR_AUTO_FD fd = mkostemp(path, O_CLOEXEC);
    return fd < 0 || unlink(path) != 0 || !is_told_by_ctime(fd);
}

/* ---- Mending ---- */

/* Whether it is a folder still, and no link to another; one that was shut is opened. */
static bool need_folder(const AcrCopy *copy, GError **error)
{
    struct stat st;
    int err = lstat(copy->dir, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    if (!err && (st.st_mode & 0700) != 0700 && chmod(copy->dir, 0755) != 0)
        err = errno;
    return !err || acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED, "cannot use '%s': %s",
                                    copy->dir, g_strerror(err));
}

/* Removes all that is in the folder, which stays: it is locked. */
static bool empty(const AcrCopy *copy, GError **error)
{
    g_autoptr(GDir) list = g_dir_open(copy->dir, 0, error);
    for (const char *name; list && (name = g_dir_read_name(list));) {
        g_autofree char *path = g_build_filename(copy->dir, name, NULL);
        if (!acr_dir_remove(path, error))
            return false;
    }
    return list != NULL;
}

/* Removes what came and what is not as it was. */
static bool remove_different(const AcrCopy *copy, GError **error)
{
    for (guint i = 0; i < copy->different->len; i++) {
        g_autofree char *path = g_build_filename(copy->dir, copy->different->pdata[i], NULL);
        if (!acr_dir_remove(path, error))
            return false;
    }
    return true;
}

/* Whether the names are those of before, made again in part: only inodes and ctimes may differ, and
 * of links, which are made without it, the mtime. */
static bool is_same_tree(GHashTable *before, GHashTable *now)
{
    GHashTableIter at;
    gpointer path, value;
    if (g_hash_table_size(before) != g_hash_table_size(now))
        return false;
    g_hash_table_iter_init(&at, now);
    while (g_hash_table_iter_next(&at, &path, &value)) {
        const Facts *is = value, *was = g_hash_table_lookup(before, path);
        bool is_link = S_ISLNK((mode_t)is->mode);
        if (!was || is->mode != was->mode || is->uid != was->uid || is->gid != was->gid ||
            is->size != was->size || is->sum != was->sum ||
            (!is_link && (is->mtime_s != was->mtime_s || is->mtime_ns != was->mtime_ns)))
            return false;
    }
    return true;
}

/* `before` NULL: what belongs there is not known. */
static bool complete(AcrCopy *copy, GHashTable *before, AcrLayerMake *fill, void *ctx,
                     GError **error)
{
    g_autoptr(GHashTable) names = new_names();
    if (!fill(ctx, copy->dir, error))
        return false;
    Names self = {names, need_sums(copy)};
    int err = look_through(copy->dir, remember, &self);
    if (err)
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED, "cannot look through '%s': %s",
                                copy->dir, g_strerror(err));
    /* What is left of a command that was killed may write while the copy is put back. */
    if (before && !is_same_tree(before, names))
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                                "somebody else is at work in '%s', or what fills it has changed",
                                copy->dir);
    pass_all(names);
    copy->names = g_steal_pointer(&names);
    return write_names(copy, error);
}

bool acr_copy_mend(AcrCopy *copy, AcrLayerMake *fill, void *ctx, GError **error)
{
    g_autoptr(GError) reason = NULL;
    if (!need_folder(copy, error))
        return false;
    need_names(copy);
    bool is_known = look(copy, &reason) && remove_different(copy, &reason);
    if (is_known && !copy->is_lacking)
        return true;
    g_autoptr(GHashTable) before = g_steal_pointer(&copy->names);
    /* Where it is not known what belongs there, all is made anew. */
    return (is_known || empty(copy, error)) &&
           complete(copy, is_known ? before : NULL, fill, ctx, error);
}
