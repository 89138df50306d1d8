/*
 * Lays files into a tree. The tree may hold any links; none is followed, neither on the way to a
 * file nor in its place: the folder of a path is walked to part by part.
 */
#include "sandbox/helper_steps.h"
#include "sandbox/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int give(int fd, gint64 uid)
{
    return uid < 0 || fchown(fd, (uid_t)uid, (gid_t)uid) == 0 ? 0 : errno;
}

/* The folder of a path, made where it is missing; -1 with errno. */
static int open_parent(int root, char *const *parts, guint n_parts, bool make, gint64 uid)
{
    int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
    for (guint i = 0; at >= 0 && i + 1 < n_parts; i++) {
        bool made = make && mkdirat(at, parts[i], 0755) == 0;
        int next = openat(at, parts[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int err = next < 0 ? errno : made ? give(next, uid) : 0;
        close(at);
        if (err && next >= 0)
            close(next);
        at = err ? -1 : next;
        errno = err;
    }
    return at;
}

static int write_link(int parent, const char *name, const AcrHelperFile *file, gint64 uid)
{
    gsize len;
    const char *data = g_bytes_get_data(file->content, &len);
    g_autofree char *target = g_strndup(data ? data : "", len);
    if (symlinkat(target, parent, name) != 0)
        return errno;
    return uid < 0 || fchownat(parent, name, (uid_t)uid, (gid_t)uid, AT_SYMLINK_NOFOLLOW) == 0
               ? 0
               : errno;
}

static int write_regular(int parent, const char *name, const AcrHelperFile *file, gint64 uid)
{
    gsize len;
    const void *data = g_bytes_get_data(file->content, &len);
    mode_t mode = file->mode == ACR_MODE_EXEC ? 0755 : 0644;
    int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    int err = fd < 0 ? errno : acr_fd_write_all(fd, data, len);
    if (!err && fchmod(fd, mode) != 0)
        err = errno;
    if (!err)
        err = give(fd, uid);
    if (fd >= 0)
        close(fd);
    return err;
}

static int lay(int root, const AcrHelperFile *file, gint64 uid)
{
    g_auto(GStrv) parts = g_strsplit(file->path, "/", -1);
    guint n = g_strv_length(parts);
    const char *name = n ? parts[n - 1] : "";
    for (guint i = 0; i < n; i++)
        if (!*parts[i] || strcmp(parts[i], ".") == 0 || strcmp(parts[i], "..") == 0)
            return EINVAL;
    int parent = n ? open_parent(root, parts, n, file->content != NULL, uid) : -1;
    if (parent < 0)
        return n && !file->content && errno == ENOENT ? 0 : n ? errno : EINVAL;
    int err = unlinkat(parent, name, 0) == 0 || errno == ENOENT ? 0 : errno;
    if (!err && file->content)
        err = file->mode == ACR_MODE_LINK ? write_link(parent, name, file, uid)
                                          : write_regular(parent, name, file, uid);
    close(parent);
    return err;
}

bool acr_helper_write_files(int root, const GPtrArray *files, gint64 uid, GError **error)
{
    for (guint i = 0; i < files->len; i++) {
        const AcrHelperFile *file = files->pdata[i];
        int err = lay(root, file, uid);
        if (err)
            return acr_sandbox_fail_errno(
                error, err, file->content ? "cannot write" : "cannot remove", file->path);
    }
    return true;
}
