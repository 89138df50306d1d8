/* The helper starts the command and waits for it. Processes that the command leaves behind, even in
 * their own sessions, become children of the helper, which kills them. In the plain backend this
 * gives no protection, because a command of the same user could kill the helper first. bubblewrap
 * ends when the helper ends. The exception is bubblewrap's preparation of the root folder: if the
 * helper were killed in that phase, the sandbox would keep running. */
#include "sandbox/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWEEP_US 1000
/* maximum number of times that the remaining processes are killed; new ones may appear each time */
#define SWEEPS 1000
#define NOT_FOUND 127
#define NOT_RUNNABLE 126

/* Blocks SIGCHLD and SIGTERM, and returns a descriptor from which these signals can be read; -1 on
 * failure. No signal handler runs. */
static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    return sigprocmask(SIG_BLOCK, &set, NULL) == 0 ? signalfd(-1, &set, SFD_CLOEXEC) : -1;
}

static int start_command(const AcrHelperSpec *spec, pid_t *out_pid)
{
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    int err = posix_spawnattr_init(&attributes);
    if (err)
        return err;
    err = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    if (!err)
        err = posix_spawnattr_setsigmask(&attributes, &none);
    if (!err)
        err = posix_spawnp(out_pid, spec->argv->pdata[0], NULL, &attributes,
                           (char *const *)spec->argv->pdata, (char *const *)spec->env->pdata);
    posix_spawnattr_destroy(&attributes);
    return err;
}

/* Asks the kernel to kill this process and its children first when the machine runs out of memory.
 * The samples miss memory that no process maps, so without this setting the kernel might kill
 * unrelated processes. */
void acr_helper_offer_to_end(const char *score)
{
    ACR_AUTO_FD fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    (void)!write(fd, score, strlen(score));
}

/* Waits until the command ends or SIGTERM arrives; returns the command's status. */
static int wait_for(pid_t pid, int signals)
{
    for (;;) {
        int status = 0;
        struct signalfd_siginfo info;
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid || (ended < 0 && errno == ECHILD))
            return status;
        ssize_t n = read(signals, &info, sizeof info);
        if (n == (ssize_t)sizeof info && info.ssi_signo == SIGTERM)
            return SIGKILL; /* the same status as that of a killed process */
    }
}

/* Kills every child of this process, including adopted ones. Returns true if no child is left. */
static bool end_children(void)
{
    FILE *list = fopen("/proc/thread-self/children", "re");
    int pid;
    while (list && fscanf(list, "%d", &pid) == 1)
        (void)kill(pid, SIGKILL);
    if (list)
        (void)fclose(list);
    for (;;) {
        pid_t ended = waitpid(-1, NULL, WNOHANG);
        if (ended < 0 && errno == ECHILD)
            return true;
        if (ended <= 0)
            return false;
    }
}

/* Reports on standard error that a program cannot be run, in the same words as a shell. Returns the
 * wait status of a shell in that case. */
static int report_missing(const char *program, int err)
{
    int code = err == ENOENT || err == ENOTDIR ? NOT_FOUND : NOT_RUNNABLE;
    (void)fprintf(stderr, "%s: %s\n", program, g_strerror(err));
    return code << 8;
}

bool acr_helper_supervise(const AcrHelperSpec *spec, int *out_status, GError **error)
{
    const char *program = spec->argv->pdata[0];
    int signals = open_signals();
    pid_t pid = 0;
    if (signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return acr_sandbox_fail_errno(error, errno, "cannot supervise", program);
    if (*spec->cwd && chdir(spec->cwd) != 0)
        return acr_sandbox_fail_errno(error, errno, "cannot enter", spec->cwd);
    (void)fcntl(ACR_HELPER_CHANNEL, F_SETFD, FD_CLOEXEC);
    (void)fcntl(ACR_HELPER_SPEC, F_SETFD, FD_CLOEXEC);
    /* the first descriptor to close when the command starts; bubblewrap closes the lower ones
     * itself */
    unsigned own = spec->is_plain ? ACR_HELPER_STATUS : ACR_HELPER_FILTER + 1;
    (void)syscall(SYS_close_range, own, ~0u,
                  CLOSE_RANGE_CLOEXEC); /* CLOEXEC: close on exec, not now */
    for (guint i = 0; i < spec->env->len; i++)
        (void)putenv(spec->env->pdata[i]); /* posix_spawnp looks up the program in the PATH of this
                                            * process */
    g_ptr_array_add(spec->argv, NULL);
    g_ptr_array_add(spec->env, NULL);
    int err = start_command(spec, &pid);
    /* lower the score, so that the kernel kills the command before this process, which must clean
     * up */
    acr_helper_offer_to_end("900");
    *out_status = err ? report_missing(program, err) : wait_for(pid, signals);
    for (int i = 0; i < SWEEPS && !end_children(); i++)
        g_usleep(SWEEP_US);
    return true;
}
