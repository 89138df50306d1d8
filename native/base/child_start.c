/*
 * Starting a process by posix_spawn, in a process group of its own, with default signals and none
 * of our descriptors but those it is given. Shared by commands that run to their end (spawn.c)
 * and by peers, which are talked to over one socket.
 */
#include "base/base_private.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PEER_STEP_US 1000
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

/* ---- Peers ---- */

bool acr_peer_start(const char *const *argv, AcrPeer *out, GError **error)
{
    int ends[2] = {-1, -1};
    AcrPeer peer = {0};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return acr_base_fail(error, errno, "cannot prepare to run '%s'", argv[0]);
    ACR_AUTO_FD ours = acr_fd_above(ends[0], ACR_N_STANDARD_FDS);
    ACR_AUTO_FD its = acr_fd_above(ends[1], ACR_N_STANDARD_FDS);
    ACR_AUTO_FD null = acr_fd_above(open("/dev/null", O_WRONLY | O_CLOEXEC), ACR_N_STANDARD_FDS);
    if (ours < 0 || its < 0 || null < 0 || fcntl(ours, F_SETFL, O_NONBLOCK) != 0)
        return acr_base_fail(error, errno, "cannot prepare to run '%s'", argv[0]);
    int err =
        acr_child_start(argv, NULL, NULL, (int[]){its, its, null}, ACR_N_STANDARD_FDS, &peer.pid);
    if (err)
        return acr_base_fail(error, err, "cannot run '%s'", argv[0]);
    peer.fd = ours;
    ours = -1;
    *out = peer;
    return true;
}

/* Whether the process has ended, not reaping it; its id then stays its own. */
static bool has_ended(pid_t pid)
{
    siginfo_t ended = {0};
    return waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == pid;
}

char *acr_peer_end(AcrPeer *peer, gint64 grace_ms)
{
    int status = 0;
    pid_t pid;
    gint64 until = g_get_monotonic_time() + grace_ms * 1000;
    acr_fd_close(&peer->fd);
    bool by_itself = has_ended(peer->pid);
    while (!by_itself && g_get_monotonic_time() < until) {
        g_usleep(PEER_STEP_US);
        by_itself = has_ended(peer->pid);
    }
    kill(-peer->pid, SIGKILL);
    do
        pid = waitpid(peer->pid, &status, 0);
    while (pid < 0 && errno == EINTR);
    peer->pid = 0;
    if (!by_itself || pid < 0)
        return g_strdup("was ended");
    if (WIFSIGNALED(status))
        return g_strdup_printf("crashed (signal %d)", WTERMSIG(status));
    return g_strdup_printf("ended with exit code %d", WEXITSTATUS(status));
}
