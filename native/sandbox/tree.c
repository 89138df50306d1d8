/* Lists, copies and measures trees on disk, and changes their owner. A tree may contain any links
 * and names, so every step opens a name relative to a folder's descriptor and follows no link. */
#include "sandbox/sandbox_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DEPTH 256u
#define COPY_CHUNK ((gsize)64 * 1024)

/* Called for each `name` in the folder `dir`. Returns 0, or an errno, which ends the walk. */
typedef int Visit(void *ctx, int dir, const char *name, const struct stat *st, guint depth);

static int walk(int dir, guint depth, bool is_lenient, Visit *visit, void *ctx);

/* Walks a subfolder of a folder at `depth`; `dir` is taken. Fails with EXDEV at a mount point,
 * which is not part of the tree. */
static int enter_tree(int dir, guint depth, bool is_lenient, Visit *visit, void *ctx)
{
    int err = depth >= MAX_DEPTH ? ELOOP : acr_fd_is_mount(dir) ? EXDEV : 0;
    if (!err)
        return walk(dir, depth + 1, is_lenient, visit, ctx);
    close(dir);
    return err;
}

/* Walks an open folder: calls `visit` for each name, and enters subfolders. `dir` is taken. */
static int walk(int dir, guint depth, bool is_lenient, Visit *visit, void *ctx)
{
    DIR *list = fdopendir(dir);
    int err = list ? 0 : errno;
    for (struct dirent *entry; !err && (entry = readdir(list));) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            err = errno;
        if (!err)
            err = visit(ctx, dir, entry->d_name, &st, depth);
        if (!err && S_ISDIR(st.st_mode)) {
            int below = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            err = below < 0 ? errno : enter_tree(below, depth, is_lenient, visit, ctx);
            if (below < 0 && err == EACCES && is_lenient)
                err = 0;
        }
    }
    if (list)
        closedir(list);
    else
        close(dir);
    return err;
}

/* Calls `visit` for all names below the folder `path`, and for a folder before its contents
 * (`depth` is 0 at the top). Returns 0 or an errno. With `is_lenient`, skips the contents of
 * unreadable folders. */
static int walk_tree(const char *path, bool is_lenient, Visit *visit, void *ctx)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir < 0 ? errno : walk(dir, 0, is_lenient, visit, ctx);
}

typedef struct {
    /* array of char *: the folders above the current name, each as a path ending in '/' */
    GPtrArray *parents;
    GHashTable *files; /* path -> struct stat *, for everything except folders */
} Listing;

static int list_name(void *ctx, int dir, const char *name, const struct stat *st, guint depth)
{
    Listing *listing = ctx;
    g_ptr_array_set_size(listing->parents, (gint)depth);
    const char *above = depth ? listing->parents->pdata[depth - 1] : "";
    if (S_ISDIR(st->st_mode))
        g_ptr_array_add(listing->parents, g_strconcat(above, name, "/", NULL));
    else
        g_hash_table_insert(listing->files, g_strconcat(above, name, NULL),
                            g_memdup2(st, sizeof *st));
    return 0;
}

GHashTable *acr_tree_list(const char *path)
{
    g_autoptr(GPtrArray) parents = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    Listing listing = {parents, files};
    int err = walk_tree(path, true, list_name, &listing);
    return err ? NULL : g_steal_pointer(&files);
}

/* True if a file has not changed between `a` and `b`. The kernel updates a file's ctime at every
 * change, and no program can set the ctime. */
static bool is_as_was(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_mode == b->st_mode && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

void acr_tree_drop_same(GHashTable *now, GHashTable *before)
{
    GHashTableIter iter;
    gpointer path, was, is;
    g_hash_table_iter_init(&iter, before);
    while (g_hash_table_iter_next(&iter, &path, &was)) {
        is = g_hash_table_lookup(now, path);
        if (!is)
            g_hash_table_insert(now, g_strdup(path), g_memdup2(was, sizeof(struct stat)));
        else if (is_as_was(was, is))
            g_hash_table_remove(now, path);
    }
}

static int add_size(void *ctx, int dir, const char *name, const struct stat *st, guint depth)
{
    *(gint64 *)ctx += (gint64)st->st_blocks * 512;
    return 0;
}

gint64 acr_tree_bytes(const char *path)
{
    gint64 bytes = 0;
    int err = walk_tree(path, true, add_size, &bytes);
    if (err)
        g_debug("cannot measure all of '%s': %s", path, g_strerror(err));
    return bytes;
}

bool acr_tree_folder(const char *path, mode_t mode, GError **error)
{
    bool ok = mkdir(path, mode) == 0 ? chmod(path, mode) == 0 : errno == EEXIST;
    return ok || acr_sandbox_fail_errno(error, errno, "cannot make", path);
}

static int give(void *ctx, int dir, const char *name, const struct stat *st, guint depth)
{
    gint64 uid = *(gint64 *)ctx;
    return fchownat(dir, name, (uid_t)uid, (gid_t)uid, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

bool acr_tree_give(const char *path, gint64 uid, GError **error)
{
    int err = chown(path, (uid_t)uid, (gid_t)uid) == 0 ? walk_tree(path, false, give, &uid) : errno;
    return !err || acr_sandbox_fail_errno(error, err, "cannot change the owner of", path);
}

static int open_up(void *ctx, int dir, const char *name, const struct stat *st, guint depth)
{
    mode_t needed = S_ISDIR(st->st_mode) ? 0700 : S_ISREG(st->st_mode) ? 0400 : 0;
    if ((st->st_mode & needed) == needed)
        return 0;
    return fchmodat(dir, name, (st->st_mode & 07777) | needed, 0) == 0 ? 0 : errno;
}

bool acr_tree_open_up(const char *path, GError **error)
{
    int err = walk_tree(path, false, open_up, NULL);
    return !err || acr_sandbox_fail_errno(error, err, "cannot change the mode of", path);
}

/* The target folders that are open, one for each depth. Folders deeper than the current one are
 * closed. */
typedef struct {
    GArray *folders; /* array of int: descriptors */
} Copy;

/* Copies `left` bytes from the current position of `from` to the current position of `to`. */
static int copy_range(int from, int to, off_t left)
{
    g_autofree char *buffer = g_malloc(COPY_CHUNK);
    while (left > 0) {
        ssize_t n = read(from, buffer, MIN((gsize)left, COPY_CHUNK));
        if (n < 0 && errno == EINTR)
            continue;
        int err = n < 0 ? errno : acr_fd_write_all(to, buffer, (gsize)n);
        if (err || n == 0) /* the file was truncated in the meantime */
            return err;
        left -= n;
    }
    return 0;
}

/* Copies the contents of a file and keeps its holes, because a file of a few kilobytes on disk may
 * have a size that exceeds the disk. */
static int copy_bytes(int from, int to, off_t size)
{
    if (ioctl(to, FICLONE, from) == 0)
        return 0;
    for (off_t at = 0; at < size;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO) /* only a hole is left */
            return ftruncate(to, size) == 0 ? 0 : errno;
        off_t end = data < 0 ? size : lseek(from, data, SEEK_HOLE);
        data = data < 0 ? at : data; /* the file system does not report holes */
        end = end < 0 ? size : MIN(end, size);
        if (lseek(from, data, SEEK_SET) < 0 || lseek(to, data, SEEK_SET) < 0)
            return errno;
        int err = copy_range(from, to, end - data);
        if (err)
            return err;
        at = end;
    }
    return 0;
}

static int copy_file(int dir, int to, const char *name, const struct stat *st)
{
    ACR_AUTO_FD in = acr_file_open(dir, name, false);
    if (in < 0)
        return errno;
    ACR_AUTO_FD out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int err = out < 0 ? errno : copy_bytes(in, out, st->st_size);
    if (!err && fchmod(out, st->st_mode & 0777) != 0)
        err = errno;
    struct timespec times[] = {st->st_atim, st->st_mtim};
    if (!err && futimens(out, times) != 0)
        err = errno;
    return err;
}

static int copy_link(int dir, int to, const char *name)
{
    char target[4097];
    ssize_t n = readlinkat(dir, name, target, sizeof target - 1);
    if (n < 0)
        return errno;
    target[n] = '\0';
    return symlinkat(target, to, name) == 0 ? 0 : errno;
}

static int copy_folder(Copy *copy, int to, const char *name, const struct stat *st, guint depth)
{
    if (mkdirat(to, name, 0755) != 0 && errno != EEXIST)
        return errno;
    int below = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0)
        return errno;
    while (copy->folders->len > depth + 1) {
        close(g_array_index(copy->folders, int, copy->folders->len - 1));
        g_array_set_size(copy->folders, copy->folders->len - 1);
    }
    g_array_append_val(copy->folders, below);
    /* make the folder writable, because files will be written into it */
    return fchmod(below, (st->st_mode & 0777) | 0700) == 0 ? 0 : errno;
}

static int copy_name(void *ctx, int dir, const char *name, const struct stat *st, guint depth)
{
    Copy *copy = ctx;
    int to = g_array_index(copy->folders, int, depth);
    if (S_ISDIR(st->st_mode))
        return copy_folder(copy, to, name, st, depth);
    if (S_ISLNK(st->st_mode))
        return copy_link(dir, to, name);
    return S_ISREG(st->st_mode) ? copy_file(dir, to, name, st)
                                : 0; /* trees contain no other kinds of files */
}

bool acr_tree_copy(const char *from, const char *to, GError **error)
{
    int root = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return acr_sandbox_fail_errno(error, errno, "cannot use the folder", to);
    Copy copy = {g_array_new(FALSE, FALSE, sizeof(int))};
    g_array_append_val(copy.folders, root);
    int err = walk_tree(from, false, copy_name, &copy);
    for (guint i = 0; i < copy.folders->len; i++)
        close(g_array_index(copy.folders, int, i));
    g_array_unref(copy.folders);
    return !err || acr_sandbox_fail_errno(error, err, "cannot copy", from);
}
