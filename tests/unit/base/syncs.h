/* Records what a library syncs to disk, for tests of what must survive a crash. The functions here
 * override the C library's in the executable that includes this header, and make the system calls.
 * Only one .c file of a test program may include it. */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SYNCS_KEPT 64u

static struct stat syncs[SYNCS_KEPT]; /* the last synced files, each as it was when it was synced */
static guint n_syncs;
static pthread_mutex_t syncs_lock = PTHREAD_MUTEX_INITIALIZER;

static int sync_noted(long call, int fd)
{
    pthread_mutex_lock(&syncs_lock);
    if (fstat(fd, &syncs[n_syncs % SYNCS_KEPT]) == 0)
        n_syncs++;
    pthread_mutex_unlock(&syncs_lock);
    return (int)syscall(call, fd);
}

int fsync(int fd)
{
    return sync_noted(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return sync_noted(SYS_fdatasync, fd);
}

static inline void forget_syncs(void)
{
    pthread_mutex_lock(&syncs_lock);
    n_syncs = 0;
    pthread_mutex_unlock(&syncs_lock);
}

/* Whether the file or folder at `path` was synced in its current state. */
static inline bool is_synced(const char *path)
{
    struct stat now;
    bool found = false;
    g_assert_cmpint(lstat(path, &now), ==, 0);
    pthread_mutex_lock(&syncs_lock);
    for (guint i = 0; i < MIN(n_syncs, SYNCS_KEPT); i++)
        found = found ||
                (syncs[i].st_dev == now.st_dev && syncs[i].st_ino == now.st_ino && syncs[i].st_size == now.st_size &&
                 syncs[i].st_mtim.tv_sec == now.st_mtim.tv_sec && syncs[i].st_mtim.tv_nsec == now.st_mtim.tv_nsec);
    pthread_mutex_unlock(&syncs_lock);
    return found;
}
