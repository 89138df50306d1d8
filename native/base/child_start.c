/* Starts a process by posix_spawn, in a process group of its own, with default signals and only the
 * given descriptors. Used for commands that run to their end (spawn.c) and for peers (peer.c). */
#include "base/base_private.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

int acr_fd_above(int fd, gsize n)
{
    if (fd < 0 || (gsize)fd >= n)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, (int)n);
    acr_fd_close(&fd);
    return moved;
}

static int add_actions(posix_spawn_file_actions_t *actions, const char *cwd, const int *fds,
                       gsize n_fds)
{
    int err = 0;
    for (gsize i = 0; i < n_fds && !err; i++)
        err = posix_spawn_file_actions_adddup2(actions, fds[i], (int)i);
    if (!err && cwd)
        err = posix_spawn_file_actions_addchdir_np(actions, cwd);
    if (!err)
        err = posix_spawn_file_actions_addclosefrom_np(actions, (int)n_fds);
    return err;
}

static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int err = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                                       POSIX_SPAWN_SETSIGMASK);
    if (!err)
        err = posix_spawnattr_setpgroup(attributes, 0);
    if (!err)
        err = posix_spawnattr_setsigdefault(attributes, &all);
    return err ? err : posix_spawnattr_setsigmask(attributes, &none);
}

char *acr_program_find(const char *name)
{
    const char *path = g_getenv("PATH");
    g_auto(GStrv) folders = g_strsplit(path ? path : DEFAULT_PATH, ":", -1);
    for (guint i = 0; folders[i]; i++) {
        struct stat st;
        g_autofree char *file = g_build_filename(folders[i], name, NULL);
        if (*folders[i] == '/' && stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
            access(file, X_OK) == 0)
            return g_steal_pointer(&file);
    }
    return NULL;
}

int acr_child_start(const char *const *argv, const char *const *envp, const char *cwd,
                    const int *fds, gsize n_fds, pid_t *out_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    g_autofree char *program = strchr(argv[0], '/') ? g_strdup(argv[0]) : acr_program_find(argv[0]);
    if (!program)
        return ENOENT;
    int err = posix_spawn_file_actions_init(&actions);
    if (err)
        return err;
    err = posix_spawnattr_init(&attributes);
    if (err) {
        posix_spawn_file_actions_destroy(&actions);
        return err;
    }
    err = add_actions(&actions, cwd, fds, n_fds);
    if (!err)
        err = set_attributes(&attributes);
    if (!err)
        err = posix_spawn(out_pid, program, &actions, &attributes, (char *const *)argv,
                          envp ? (char *const *)envp : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return err;
}
