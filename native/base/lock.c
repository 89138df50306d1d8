/* Implements exclusive locks between processes by flock on a file that holds the holder's process
 * id, so that a process that does not get the lock can say which process has it. The kernel
 * releases the lock when the process ends, so a remaining file locks nothing. The file is never
 * removed: otherwise one process, which still has the removed file open, could lock the removed
 * file while another process locks a new file with the same name. */
#include "base/base_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define STEP_US 5000u
#define LEFT_BEHIND_US 2000000u

struct AcrLock {
    int fd;
};

/* Returns the process id in the file; 0 if none is written yet. */
static long holder_of(int fd)
{
    char text[24] = {0};
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    return n > 0 ? MAX(strtol(text, NULL, 10), 0) : 0;
}

static void set_busy(GError **error, int fd, const char *path)
{
    long pid = holder_of(fd);
    g_autofree char *who = pid ? g_strdup_printf("process %ld", pid) : g_strdup("another process");
    g_set_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_BUSY, "'%s' is locked by %s", path, who);
}

/* Writes the process id to the file. Errors are ignored, because the lock works without the id. */
static void write_holder(int fd)
{
    g_autofree char *text = g_strdup_printf("%ld\n", (long)getpid());
    if (ftruncate(fd, 0) == 0)
        (void)!pwrite(fd, text, strlen(text), 0);
}

/* Whether the process whose id is in the file has ended. A child that the process had just
 * forked can still hold the lock until the child calls exec. */
static bool is_left_behind(int fd)
{
    long pid = holder_of(fd);
    return pid && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* Takes the lock. Returns false and sets errno on failure. */
static bool take_lock(int fd)
{
    for (guint waited = 0;; waited += STEP_US) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno == EWOULDBLOCK && (waited >= LEFT_BEHIND_US || !is_left_behind(fd))) {
            errno = EWOULDBLOCK;
            return false;
        }
        if (errno != EWOULDBLOCK && errno != EINTR && errno != ESRCH)
            return false;
        g_usleep(STEP_US);
    }
}

AcrLock *acr_lock_take(const char *path, GError **error)
{
    ACR_AUTO_FD fd =
        open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW, 0644);
    if (fd < 0)
        return ACR_NULL(acr_base_fail(error, errno, "cannot open lock '%s'", path));
    if (!take_lock(fd)) {
        if (errno == EWOULDBLOCK)
            set_busy(error, fd, path);
        else
            acr_base_fail(error, errno, "cannot lock '%s'", path);
        return NULL;
    }
    write_holder(fd);
    AcrLock *lock = g_new0(AcrLock, 1);
    lock->fd = fd;
    fd = -1;
    return lock;
}

void acr_lock_free(AcrLock *lock)
{
    if (!lock)
        return;
    (void)!ftruncate(lock->fd, 0);
    acr_fd_close(&lock->fd);
    g_free(lock);
}
