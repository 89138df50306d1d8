/* Reads whole files up to a size limit, and writes files so that a crash leaves either the old or
 * the new file. Also has helpers for descriptors, and the checksum. */
#include "base/base_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_CHUNK (64u * 1024)
#define DEFAULT_MODE 0644
#define LOOK_MS 100 /* interval between checks for an interrupt */
#define TEMPORARY_PREFIX ".acr-"
#define TEMPORARY_NAME TEMPORARY_PREFIX "XXXXXX"
#define MAX_NAMES 100u

void acr_fd_close(int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = saved;
}

int acr_fd_write_all(int fd, const void *data, gsize len)
{
    const char *at = data;
    while (len > 0) {
        ssize_t n = write(fd, at, MIN(len, (gsize)G_MAXINT32));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            return ENOSPC;
        at += n;
        len -= n;
    }
    return 0;
}

/* Waits until the descriptor has data; returns 0 or an errno. */
static int wait_readable(int fd, gint64 until, const AcrInterrupt *interrupt)
{
    struct pollfd what = {.fd = fd, .events = POLLIN};
    for (;;) {
        if (acr_interrupted(interrupt))
            return EINTR;
        if (until && g_get_monotonic_time() >= until)
            return ETIMEDOUT;
        int n = poll(&what, 1, LOOK_MS);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return errno;
    }
}

GBytes *acr_fd_read_all(int fd, const char *name, gsize max, gint64 timeout_ms,
                        const AcrInterrupt *interrupt, GError **error)
{
    g_autoptr(GByteArray) all = g_byte_array_new();
    guint8 piece[READ_CHUNK];
    gint64 until = timeout_ms ? g_get_monotonic_time() + timeout_ms * 1000 : 0;
    for (;;) {
        int err = wait_readable(fd, until, interrupt);
        ssize_t n = err ? -1 : read(fd, piece, sizeof piece);
        if (n < 0 && !err && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n == 0)
            return g_byte_array_free_to_bytes(g_steal_pointer(&all));
        if (n < 0)
            return ACR_NULL(acr_set_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED,
                                          "cannot read %s: %s", name,
                                          g_strerror(err ? err : errno)));
        if (all->len + (gsize)n > max)
            return ACR_NULL(acr_set_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_TOO_BIG,
                                          "%s is larger than %" G_GSIZE_FORMAT " bytes", name,
                                          max));
        g_byte_array_append(all, piece, (guint)n);
    }
}

char *acr_path_real(const char *path)
{
    g_autofree char *absolute = g_canonicalize_filename(path, NULL);
    char *real = realpath(absolute, NULL);
    /* the result of `realpath` comes from malloc; g_free can free it, because g_free calls free */
    return real ? real : g_steal_pointer(&absolute);
}

bool acr_path_is_below(const char *path, const char *folder)
{
    gsize len = folder ? strlen(folder) : 0;
    return folder && strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* ---- Reading ---- */

static GBytes *fail_too_big(GError **error, const char *path, gsize max)
{
    return ACR_NULL(acr_set_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_TOO_BIG,
                                  "'%s' is larger than %" G_GSIZE_FORMAT " bytes", path, max));
}

static GBytes *fail_read(GError **error, int err, const char *path)
{
    return ACR_NULL(acr_base_fail(error, err, "cannot read '%s'", path));
}

GBytes *acr_fd_read_file(int fd, const char *path, gsize max, GError **error)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail_read(error, errno, path);
    if (!S_ISREG(st.st_mode))
        return fail_read(error, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, path);
    if ((guint64)st.st_size > max)
        return fail_too_big(error, path, max);
    /* The size is only a hint: files in /proc report 0 (some of them return data only to the
     * first read), and a file may grow while it is read. */
    gsize room = st.st_size ? (gsize)st.st_size + 1 : READ_CHUNK, len = 0;
    g_autofree char *data = g_malloc(room);
    for (;;) {
        if (len == room)
            data = g_realloc(data, room += MAX(room / 2, READ_CHUNK));
        ssize_t n = read(fd, data + len, room - len);
        if (n == 0)
            return g_bytes_new_take(g_steal_pointer(&data), len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_read(error, errno, path);
        len += n;
        if (len > max)
            return fail_too_big(error, path, max);
    }
}

int acr_file_open(int folder, const char *name, bool follow)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW);
    struct stat st;
    int fd = openat(folder, name, flags);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
        return fd;
    acr_fd_close(&fd);
    errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    return -1;
}

/* Returns the descriptor of a pipe that a shell passes as "/dev/fd/N"; -1 if `path` is another
 * path. */
static int find_passed_pipe(const char *path)
{
    static const char folder[] = "/dev/fd/";
    guint64 fd = 0;
    struct stat st;
    bool is_passed =
        g_str_has_prefix(path, folder) &&
        g_ascii_string_to_unsigned(path + strlen(folder), 10, 0, G_MAXINT, &fd, NULL) &&
        fstat((int)fd, &st) == 0 && S_ISFIFO(st.st_mode);
    return is_passed ? (int)fd : -1;
}

GBytes *acr_file_read(const char *path, gsize max, GError **error)
{
    int passed = find_passed_pipe(path);
    if (passed >= 0)
        return acr_fd_read_all(passed, path, max, 0, NULL, error);
    ACR_AUTO_FD fd = acr_file_open(AT_FDCWD, path, true);
    if (fd >= 0)
        return acr_fd_read_file(fd, path, max, error);
    if (errno == EINVAL) /* acr_file_open sets EINVAL if the file is not regular */
        return ACR_NULL(acr_set_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED,
                                      "'%s' is not a regular file", path));
    return ACR_NULL(acr_base_fail(error, errno, "cannot open '%s'", path));
}

/* ---- Writing ---- */

static int fsync_again(int fd)
{
    int rc;
    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

static bool sync_folder(int fd, const char *path, GError **error)
{
    int err = fsync_again(fd);
    if (err != 0 && err != EINVAL &&
        err != ENOTSUP) /* some file systems do not support fsync of a folder */
        return acr_base_fail(error, err, "cannot sync folder '%s'", path);
    return true;
}

/* Writes the contents and mode of an open file, and leaves the file open; returns 0 or an errno. */
static int fill(int fd, const void *data, gsize len, mode_t mode, bool is_synced)
{
    int err = acr_fd_write_all(fd, data, len);
    if (err == 0 && fchmod(fd, mode) != 0)
        err = errno;
    return err || !is_synced ? err : fsync_again(fd);
}

/* Creates a file with a name that acr_file_is_temporary recognises, and opens it. Returns -1 and
 * sets errno on failure. */
static int make_temporary(int folder, char *name, gsize room)
{
    for (guint i = 0; i < MAX_NAMES; i++) {
        g_snprintf(name, (gulong)room, TEMPORARY_PREFIX "%06x", g_random_int() & 0xffffff);
        int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static bool replace(int folder, const char *name, const char *path, const void *data, gsize len,
                    mode_t mode, bool is_synced, GError **error)
{
    char temporary[sizeof TEMPORARY_NAME];
    ACR_AUTO_FD fd = make_temporary(folder, temporary, sizeof temporary);
    if (fd < 0)
        return acr_base_fail(error, errno, "cannot write '%s'", path);
    int err = fill(fd, data, len, mode ? mode : DEFAULT_MODE, is_synced);
    if (close(fd) != 0 && err == 0 && errno != EINTR)
        err = errno; /* NFS and quotas may report an error only at close */
    fd = -1;
    if (err == 0 && renameat(folder, temporary, folder, name) != 0)
        err = errno;
    if (err != 0) {
        unlinkat(folder, temporary, 0);
        return acr_base_fail(error, err, "cannot write '%s'", path);
    }
    return !is_synced || sync_folder(folder, path, error);
}

bool acr_file_write_atomic_at(int folder, const char *name, const char *path, const void *data,
                              gsize len, mode_t mode, GError **error)
{
    return replace(folder, name, path, data, len, mode, true, error);
}

bool acr_file_replace_at(int folder, const char *name, const char *path, const void *data,
                         gsize len, mode_t mode, GError **error)
{
    return replace(folder, name, path, data, len, mode, false, error);
}

bool acr_file_write_atomic(const char *path, const void *data, gsize len, mode_t mode,
                           GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path), *name = g_path_get_basename(path);
    ACR_AUTO_FD fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return acr_base_fail(error, errno, "cannot write '%s'", path);
    return acr_file_write_atomic_at(fd, name, path, data, len, mode, error);
}

bool acr_dir_sync(const char *path, GError **error)
{
    ACR_AUTO_FD fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return acr_base_fail(error, errno, "cannot open folder '%s'", path);
    return sync_folder(fd, path, error);
}

char *acr_sha256_hex(const void *data, gsize len)
{
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, len ? data : (const void *)"", len);
}

char *acr_sha256_bytes(GBytes *bytes)
{
    return g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes);
}

bool acr_file_is_temporary(const char *name)
{
    return g_str_has_prefix(name, TEMPORARY_PREFIX) && strlen(name) == strlen(TEMPORARY_NAME);
}
