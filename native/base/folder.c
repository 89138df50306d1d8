/* Makes folders with their parents, and removes folders with everything in them. Removal works on
 * descriptors, so that no symbolic link can lead outside the folder. To hold few descriptors at a
 * time, removal first moves a folder that lies too deep up to the top of the tree. */
#include "base/base_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMOVE_MAX_DEPTH 64 /* maximum number of folders that are open at a time */

static bool make_one(const char *path, GError **error)
{
    if (mkdir(path, 0777) == 0)
        return true;
    int err = errno;
    struct stat st;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return true;
        err = ENOTDIR;
    }
    /* The parents exist, so ENOENT can only mean a dangling symbolic link or an empty path. */
    if (err == EEXIST || err == ENOENT)
        err = ENOTDIR;
    return acr_base_fail(error, err, "cannot create folder '%s'", path);
}

bool acr_dir_make(const char *path, GError **error)
{
    g_autofree char *part = g_strdup(path);
    for (char *p = part; *p; p++) {
        if (*p != '/' || p == part || p[-1] == '/')
            continue;
        *p = '\0';
        bool made = make_one(part, error);
        *p = '/';
        if (!made)
            return false;
    }
    return make_one(path, error);
}

int acr_dir_open_beneath(int folder, const char *name, bool make)
{
    int fd = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    for (const char *slash; fd >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        ACR_AUTO_FD parent = fd;
        g_autofree char *part = g_strndup(name, (gsize)(slash - name));
        if (strcmp(part, "..") == 0) {
            errno = ELOOP;
            return -1;
        }
        if (make && mkdirat(parent, part, 0700) != 0 && errno != EEXIST)
            return -1;
        fd = openat(parent, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOTDIR)
            errno = ELOOP;
    }
    return fd;
}

typedef struct {
    const char *path; /* path of the whole tree, for messages */
    int top;          /* descriptor of the tree's top folder */
    dev_t device;
    guint moved; /* number of folders moved up so far, which numbers their new names */
    GError **error;
} Removal;

static bool fail_removal(Removal *removal, int err, const char *name)
{
    if (err == ENOENT) /* ENOENT would become NOT_FOUND, which the caller takes for success */
        err = EBUSY;
    return acr_base_fail(removal->error, err, "cannot remove '%s' in '%s'", name, removal->path);
}

bool acr_fd_is_mount(int fd)
{
    struct statx st;
    return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) == 0 &&
           (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* Opens a folder, and restores its owner's rights to list and change it. Refuses a mount point,
 * because its contents are not ours to remove. Returns -1 and sets errno on failure. */
static int open_folder(int parent, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        fd = openat(parent, name, flags);
    if (fd >= 0 && acr_fd_is_mount(fd)) {
        acr_fd_close(&fd);
        errno = EXDEV;
    }
    struct stat st;
    /* if fchmod fails, removing the entries fails, too, and reports the error */
    if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
        (void)!fchmod(fd, 0700);
    return fd;
}

static bool remove_entries(Removal *removal, int fd, guint depth);

/* Moves a folder that lies too deep up to the top folder, where a later pass finds it. */
static bool move_up(Removal *removal, int parent, const char *name)
{
    for (int i = 0; i < 1000; i++) {
        char moved[32];
        g_snprintf(moved, sizeof moved, ".acr-deep-%u", removal->moved++);
        if (renameat2(parent, name, removal->top, moved, RENAME_NOREPLACE) == 0)
            return true;
        if (errno != EEXIST)
            break;
    }
    return fail_removal(removal, errno, name);
}

static bool remove_folder(Removal *removal, int parent, const char *name, guint depth)
{
    if (depth > REMOVE_MAX_DEPTH)
        return move_up(removal, parent, name);
    ACR_AUTO_FD fd = open_folder(parent, name);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return fail_removal(removal, errno, name);
    if (st.st_dev != removal->device)
        return fail_removal(removal, EXDEV, name);
    if (!remove_entries(removal, fd, depth))
        return false;
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return fail_removal(removal, errno, name);
    return true;
}

static bool remove_entry(Removal *removal, int parent, const char *name, guint depth)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return true;
    int err = errno;
    struct stat st;
    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
        return fail_removal(removal, err, name);
    return remove_folder(removal, parent, name, depth);
}

/* Removes the entries of a folder. Repeats until the folder is empty, because each pass may move
 * deep folders up into it. */
static bool remove_entries(Removal *removal, int fd, guint depth)
{
    int listed = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = listed < 0 ? NULL : fdopendir(listed);
    if (!dir) {
        int err = errno;
        acr_fd_close(&listed);
        return fail_removal(removal, err, ".");
    }
    bool ok = true, found = true;
    while (ok && found) {
        found = false;
        rewinddir(dir);
        const struct dirent *entry;
        while (ok && (entry = readdir(dir))) {
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            found = true;
            ok = remove_entry(removal, fd, entry->d_name, depth + 1);
        }
    }
    closedir(dir);
    return ok;
}

bool acr_dir_remove(const char *path, GError **error)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? true : acr_base_fail(error, errno, "cannot remove '%s'", path);
    if (!S_ISDIR(st.st_mode)) {
        if (unlink(path) == 0 || errno == ENOENT)
            return true;
        return acr_base_fail(error, errno, "cannot remove '%s'", path);
    }
    ACR_AUTO_FD top = open_folder(AT_FDCWD, path);
    if (top < 0 || fstat(top, &st) != 0)
        return acr_base_fail(error, errno, "cannot remove '%s'", path);
    Removal removal = {.path = path, .top = top, .device = st.st_dev, .error = error};
    if (!remove_entries(&removal, top, 0))
        return false;
    if (rmdir(path) != 0 && errno != ENOENT)
        return acr_base_fail(error, errno, "cannot remove '%s'", path);
    return true;
}
