/* The helper: a process between the host and the command. It reads the host's spec, sets limits,
 * prepares files and mounts, starts the command (through bubblewrap, except for the plain backend),
 * and cleans up afterwards. Its environment is empty from the start, because all processes in a
 * namespace can read the original environment of the namespace's first process. */
#include "sandbox/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FILES 4096u /* maximum number of descriptors of one process */
/* maximum size of POSIX message queues in bytes; the same as Linux's default */
#define MAX_QUEUE_BYTES 819200u

/* Sends the host a descriptor of the stage (the file system in memory), so that the host can see
 * how full the stage is and which files were written, even after the helper has ended. */
static void send_stage(int stage)
{
    char byte = 'S';
    struct iovec data = {&byte, 1};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &stage, sizeof stage);
    (void)sendmsg(ACR_HELPER_CHANNEL, &message, MSG_NOSIGNAL);
}

static void send_text(const char *text)
{
    (void)send(ACR_HELPER_CHANNEL, text, strlen(text), MSG_NOSIGNAL);
}

/* Sends the host 'E', an AcrSandboxError as a digit, and the message. Returns the helper's exit
 * code. */
static int send_error(const GError *error)
{
    int code = error->domain == ACR_SANDBOX_ERROR ? error->code : ACR_SANDBOX_ERROR_FAILED;
    g_autofree char *text = g_strdup_printf("E%d%s", code, error->message);
    send_text(text);
    return ACR_HELPER_FAILED;
}

/* Sends the host 'X', the command's status and the memory of the largest process. Returns 0, the
 * helper's exit code. */
static int send_status(int status)
{
    struct rusage used = {0};
    (void)getrusage(RUSAGE_CHILDREN, &used);
    g_autofree char *text =
        g_strdup_printf("X%d %" G_GINT64_FORMAT, status, (gint64)used.ru_maxrss * 1024);
    send_text(text);
    return 0;
}

static int set_limit(int what, gint64 soft, gint64 hard)
{
    struct rlimit now;
    if (getrlimit(what, &now) != 0)
        return errno;
    struct rlimit wanted = {MIN((rlim_t)soft, now.rlim_max), MIN((rlim_t)hard, now.rlim_max)};
    return setrlimit(what, &wanted) == 0 ? 0 : errno;
}

static bool set_limits(const AcrHelperSpec *spec, GError **error)
{
    /* Soft and hard limits; 0 means unchanged. The signal at the soft limit shows which limit was
     * exceeded; the hard limit kills a process that ignores the signal. */
    const struct {
        int what;
        gint64 soft, hard;
    } limits[] = {
        {RLIMIT_CPU, spec->cpu_s, spec->cpu_s + 2},
        {RLIMIT_FSIZE, spec->file_bytes, spec->file_bytes},
        {RLIMIT_NPROC, spec->processes, spec->processes},
        {RLIMIT_NOFILE, MAX_FILES, MAX_FILES},
        {RLIMIT_MSGQUEUE, MAX_QUEUE_BYTES, MAX_QUEUE_BYTES},
    };
    int err = set_limit(RLIMIT_CORE, 0, 0);
    for (guint i = 0; i < G_N_ELEMENTS(limits) && !err; i++)
        err = limits[i].soft ? set_limit(limits[i].what, limits[i].soft, limits[i].hard) : 0;
    return !err || acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED, "cannot set a limit: %s",
                                    g_strerror(err));
}

/* Starts a new session keyring, because the host's session keyring may contain keys. */
static void leave_keyring(void)
{
    (void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
}

/* Makes the kernel end the helper when the host ends. Must be called again after each change of
 * user, which resets this setting. Returns false if the host has already ended. */
static bool die_with(const AcrHelperSpec *spec)
{
    return prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == (pid_t)spec->parent;
}

/* Moves this process and its future children into the control group of `spec`. Returns false on
 * failure. */
static bool join_group(const AcrHelperSpec *spec)
{
    ACR_AUTO_FD fd = *spec->group ? open(spec->group, O_WRONLY | O_CLOEXEC) : -1;
    return fd >= 0 && write(fd, "0", 1) == 1;
}

/* Writes the system call filter to descriptor ACR_HELPER_FILTER. bubblewrap installs the filter
 * just before it starts the command, because bubblewrap itself needs some of the refused calls. */
static bool write_filter(bool refuses_unmapped, GError **error)
{
    g_autoptr(GBytes) filter = acr_seccomp_walls(refuses_unmapped);
    ACR_AUTO_FD fd = memfd_create("filter", MFD_CLOEXEC);
    int err = fd < 0
                  ? errno
                  : acr_fd_write_all(fd, g_bytes_get_data(filter, NULL), g_bytes_get_size(filter));
    if (!err && (lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, ACR_HELPER_FILTER) < 0))
        err = errno;
    return !err ||
           acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                            "cannot install the filter of system calls: %s", g_strerror(err));
}

static bool isolate(const AcrHelperSpec *spec, GError **error)
{
    int stage = -1;
    bool is_counted = join_group(spec);
    leave_keyring();
    if (!acr_helper_mount(spec, &stage, error))
        return false;
    send_stage(stage);
    if (!die_with(spec))
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                                "the acr-host program file no longer exists");
    return set_limits(spec, error) && write_filter(!is_counted, error);
}

static bool lay_plain(const AcrHelperSpec *spec, GError **error)
{
    ACR_AUTO_FD root = open(spec->files_at, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return acr_sandbox_fail_errno(error, errno, "cannot open", spec->files_at);
    return acr_tree_write(root, spec->files, -1, error);
}

/* Resets signal handling to the defaults, because a command inherits ignored signals. Blocks
 * SIGTERM, which stays pending until the supervisor reads it. Returns false if a request to stop
 * has already arrived. */
static bool reset_signals(const AcrInterrupt *interrupt)
{
    static const int changed[] = {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ};
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &stop, NULL) != 0 || acr_interrupted(interrupt))
        return false;
    for (guint i = 0; i < G_N_ELEMENTS(changed); i++)
        (void)signal(changed[i], SIG_DFL);
    return true;
}

int acr_sandbox_helper(const AcrInterrupt *interrupt)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrHelperSpec) spec = {0};
    (void)umask(022); /* the command may run as another user, who must be able to read the files */
    if (!reset_signals(interrupt))
        return ACR_HELPER_FAILED;
    if (!acr_helper_spec_read(ACR_HELPER_SPEC, &spec, &error))
        return send_error(error);
    if (!die_with(&spec))
        return ACR_HELPER_FAILED;
    int status = 0;
    acr_helper_offer_to_end("1000");
    bool ok = spec.is_plain ? lay_plain(&spec, &error) && set_limits(&spec, &error)
                            : isolate(&spec, &error);
    ok = ok && acr_helper_supervise(&spec, &status, &error);
    return ok ? send_status(status) : send_error(error);
}
