/* The host's side of a helper: starts the helper, watches its processes, and fills in the result.
 * The helper sends at most a few lines. */
#include "sandbox/helper_run.h"
#include "sandbox/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_MESSAGE 4096u
#define SUPERVISOR_END_MS 3000
#define WEIGH_EVERY_US (500 * 1000)
/* every FILES_EVERYth sample also searches for open files, which takes longer */
#define FILES_EVERY 2u
/* number of bubblewrap's processes that every sample counts; the second one may have ended */
#define BUBBLEWRAPS 1u
#define SIGNAL_EXIT 128 /* bubblewrap reports signal N as exit code 128 + N, like a shell */

void acr_helper_run_clear(AcrHelperRun *run)
{
    acr_spawn_result_clear(&run->spawned);
    acr_fd_close(&run->stage);
    acr_memory_group_remove(&run->group);
    g_clear_pointer(&run->failure, g_free);
    g_clear_pointer(&run->said, g_byte_array_unref);
}

/* Receives one message into `text`. A descriptor in the message is a descriptor of the stage.
 * Returns false if no message has arrived. */
static bool receive(AcrHelperRun *run, char *text)
{
    struct iovec data = {text, MAX_MESSAGE};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(run->channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n <= 0)
        return false;
    text[n] = '\0';
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        acr_fd_close(&run->stage);
        memcpy(&run->stage, CMSG_DATA(head), sizeof run->stage);
    }
    return true;
}

/* Reads "STATUS PEAK": how the command ended (used only by the plain backend), and the memory of
 * the command's largest process. */
static void take_status(AcrHelperRun *run, const char *text)
{
    char *rest = NULL;
    gint64 status = g_ascii_strtoll(text, &rest, 10);
    if (run->spec->is_plain)
        run->wait_status = (int)status;
    run->largest_bytes = g_ascii_strtoll(rest, NULL, 10);
}

static void take_messages(AcrHelperRun *run)
{
    char text[MAX_MESSAGE + 1];
    while (receive(run, text)) {
        if (text[0] == 'X')
            take_status(run, text + 1);
        if (text[0] == 'E' && text[1] && !run->failure)
            run->failure = g_strdup(text + 1);
    }
}

/* Reads the command's exit code from bubblewrap's status pipe, which contains a JSON object on each
 * line. */
static void read_status(int fd, AcrHelperRun *run)
{
    char text[MAX_MESSAGE + 1];
    ssize_t n = read(fd, text, MAX_MESSAGE);
    text[MAX(n, 0)] = '\0';
    const char *at = strstr(text, "\"exit-code\":");
    if (!at)
        return;
    int code = (int)g_ascii_strtoll(at + strlen("\"exit-code\":"), NULL, 10);
    run->wait_status =
        code > SIGNAL_EXIT && code <= SIGNAL_EXIT + SIGRTMAX ? code - SIGNAL_EXIT : code << 8;
}

/* True if the files written to run->disk exceed the limit. Measures so rarely that measuring takes
 * at most a twentieth of the time. */
static bool is_too_large(AcrHelperRun *run)
{
    gint64 now = g_get_monotonic_time();
    if (!run->disk || now < run->weigh_at_us)
        return false;
    gint64 bytes = acr_tree_bytes(run->disk), took = g_get_monotonic_time() - now;
    if (run->weigh_at_us == 0)
        run->bytes_before = bytes;
    run->weigh_at_us = now + MAX(WEIGH_EVERY_US, took * 20);
    return bytes - run->bytes_before > run->execution->limits.disk_bytes;
}

/* True if the stage is full. The size of the stage is the limit of written files. */
static bool is_disk_of_helper_full(int stage)
{
    struct statvfs st;
    return stage >= 0 && fstatvfs(stage, &st) == 0 && st.f_blocks > 0 &&
           (st.f_bavail == 0 || st.f_favail == 0);
}

/* Returns the number of bytes that the control group counts, without the files of the stage, which
 * have their own limit. 0 if unknown. */
static gint64 group_bytes(AcrHelperRun *run)
{
    struct statvfs st;
    gint64 bytes = acr_memory_group_bytes(&run->group);
    if (bytes <= 0)
        return 0;
    take_messages(run);
    if (run->stage < 0 || fstatvfs(run->stage, &st) != 0)
        return 0;
    return bytes - (gint64)((st.f_blocks - st.f_bfree) * st.f_frsize);
}

static bool watch(void *ctx, pid_t pid)
{
    AcrHelperRun *run = ctx;
    const AcrSandboxLimits *limits = &run->execution->limits;
    AcrUsage *use = &run->use;
    acr_process_usage(pid, limits->memory_bytes, run->looks++ % FILES_EVERY == 0, use);
    use->bytes = MAX(use->bytes, group_bytes(run));
    run->peak.bytes = MAX(run->peak.bytes, use->bytes);
    run->peak.processes = MAX(run->peak.processes, use->processes);
    if (use->bytes > limits->memory_bytes)
        run->limit = ACR_LIMIT_MEMORY;
    else if (run->spec->is_plain && use->processes > limits->processes)
        run->limit = ACR_LIMIT_PROCESSES; /* in namespaces, the kernel enforces this limit */
    else if (is_too_large(run))
        run->limit = ACR_LIMIT_FILES;
    return !run->limit;
}

/* Passes on the output that was held back, once it is known to come from the command and not from
 * bubblewrap. */
static void pass_said(AcrHelperRun *run)
{
    const AcrExecution *execution = run->execution;
    run->has_begun = true;
    if (run->said && run->said->len && execution->on_output)
        execution->on_output(execution->on_output_ctx, true, (const char *)run->said->data,
                             run->said->len);
    g_clear_pointer(&run->said, g_byte_array_unref);
}

/* True if the output so far may be an error message of bubblewrap, and must be held back. If it is
 * such a message, it becomes the error. */
static bool is_held(AcrHelperRun *run, const char *data, gsize len)
{
    static const char own[] = "bwrap: ";
    if (!run->said)
        run->said = g_byte_array_new();
    g_byte_array_append(run->said, (const guint8 *)data, (guint)len);
    return run->said->len <= MAX_MESSAGE &&
           strncmp((const char *)run->said->data, own, MIN(run->said->len, strlen(own))) == 0;
}

static void pass_output(void *ctx, bool is_stderr, const char *data, gsize len)
{
    AcrHelperRun *run = ctx;
    const AcrExecution *execution = run->execution;
    if (is_stderr && !run->has_begun) {
        if (!is_held(run, data, len))
            pass_said(run);
        return;
    }
    if (execution->on_output)
        execution->on_output(execution->on_output_ctx, is_stderr, data, len);
}

/* Reads standard input to its end if it is a regular file, and fails if it is a folder or a block
 * device. The command must not get the descriptor itself: through /proc, a process could reopen the
 * file for writing, or reach the files below an open folder. *out is owned. */
static bool take_input(const AcrHelperRun *run, GBytes **out, GError **error)
{
    struct stat st;
    g_autoptr(GError) reason = NULL;
    if (run->execution->input)
        *out = g_bytes_ref(run->execution->input);
    if (!run->execution->inherit_input || run->spec->is_plain || fstat(STDIN_FILENO, &st) != 0)
        return true;
    if (S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                                "standard input cannot be a directory or a block device");
    if (!S_ISREG(st.st_mode))
        return true;
    *out =
        acr_fd_read_all(STDIN_FILENO, "standard input", ACR_SANDBOX_MAX_INPUT,
                        run->execution->limits.wall_ms, run->sandbox->options.interrupt, &reason);
    return *out || acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                                    "%s (send larger input through a pipe)", reason->message);
}

static bool spawn_helper(AcrHelperRun *run, int channel, int spec, int status, GError **error)
{
    static const char *const empty[] = {NULL};
    const AcrExecution *execution = run->execution;
    const char *const argv[] = {run->sandbox->options.exe, ACR_SANDBOX_VERB, NULL};
    const int fds[] = {channel, spec, status};
    g_autoptr(GBytes) file = NULL;
    gsize len = 0;
    if (!take_input(run, &file, error))
        return false;
    const char *input = file ? g_bytes_get_data(file, &len) : NULL;
    AcrSpawn spawn = {
        .argv = argv,
        .envp = empty,
        .input = input,
        .input_len = len,
        .inherit_input = execution->inherit_input && !file,
        .timeout_ms = execution->limits.wall_ms,
        .output_limit = execution->limits.output_bytes,
        .soft_ms = SUPERVISOR_END_MS, /* time in which the helper can kill its children before it is
                                       * killed */
        .keep_ends = true,
        .flood_limit = ACR_SANDBOX_FLOOD(execution->limits.output_bytes),
        .fds = fds,
        .n_fds = G_N_ELEMENTS(fds),
        .on_output = pass_output,
        .watch = watch,
        .ctx = run,
        .interrupt = run->sandbox->options.interrupt,
    };
    return acr_spawn_run(&spawn, &run->spawned, error);
}

static bool check_end(const AcrHelperRun *run, GError **error)
{
    const AcrSpawnResult *spawned = &run->spawned;
    if (spawned->interrupted)
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_INTERRUPTED, "interrupted");
    if (run->wait_status >= 0 || spawned->timed_out || spawned->flooded || spawned->unwatched ||
        acr_memory_group_was_short(&run->group))
        return true;
    g_autofree char *line = acr_bytes_last_line(spawned->err);
    return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                            "the sandbox process ended unexpectedly: %s",
                            *line ? line : "the process printed nothing");
}

static bool run_helper(AcrHelperRun *run, GError **error)
{
    int ends[2] = {-1, -1}, pipe_ends[2] = {-1, -1};
    run->stage = -1;
    run->wait_status = -1;
    ACR_AUTO_FD spec = acr_helper_spec_write(run->spec, error);
    if (spec < 0)
        return false;
    bool made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 &&
                pipe2(pipe_ends, O_CLOEXEC) == 0;
    ACR_AUTO_FD ours = run->channel = ends[0];
    ACR_AUTO_FD its = ends[1];
    ACR_AUTO_FD status = pipe_ends[0];
    ACR_AUTO_FD told = pipe_ends[1];
    if (!made)
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED, "cannot prepare the sandbox: %s",
                                g_strerror(errno));
    if (!spawn_helper(run, its, spec, told, error))
        return false;
    acr_fd_close(&told);
    (void)fcntl(status, F_SETFL, O_NONBLOCK);
    take_messages(run);
    if (run->failure)
        return acr_sandbox_fail(error, (AcrSandboxError)(run->failure[0] - '0'), "%s",
                                run->failure + 1);
    read_status(status, run);
    if (!check_end(run, error))
        return false;
    pass_said(run);
    return true;
}

static AcrSandboxLimit seen_limit(const AcrHelperRun *run)
{
    guint own = run->spec->is_plain ? 0 : BUBBLEWRAPS;
    if (run->limit)
        return run->limit;
    /* the peak may lie between two samples */
    if (acr_memory_group_was_short(&run->group) ||
        run->largest_bytes > run->execution->limits.memory_bytes)
        return ACR_LIMIT_MEMORY;
    if (is_disk_of_helper_full(run->stage))
        return ACR_LIMIT_FILES;
    return run->peak.processes >= run->execution->limits.processes + own ? ACR_LIMIT_PROCESSES
                                                                         : ACR_LIMIT_NONE;
}

static void take_result(const AcrHelperRun *run, AcrExecuted *out)
{
    const AcrSpawnResult *spawned = &run->spawned;
    bool was_killed = spawned->timed_out || spawned->flooded || spawned->unwatched;
    int status = was_killed || run->wait_status < 0 ? SIGKILL : run->wait_status;
    *out = (AcrExecuted){
        .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
        .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        .peak_bytes = MAX(run->peak.bytes, run->largest_bytes),
    };
    acr_sandbox_take_result(spawned, &run->execution->limits, seen_limit(run), out);
}

bool acr_helper_run(AcrHelperRun *run, AcrExecuted *out, GError **error)
{
    const AcrSandboxLimits *limits = &run->execution->limits;
    if (!run->spec->is_plain)
        acr_memory_group_make(limits->memory_bytes + limits->disk_bytes, &run->group);
    run->spec->group = acr_memory_group_entry(&run->group);
    bool ok = run_helper(run, error);
    if (ok)
        take_result(run, out);
    acr_memory_group_remove(&run->group);
    return ok;
}
