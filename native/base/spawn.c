/* Runs child processes: one function starts a command by posix_spawn in a process group of its own,
 * reads its output, and returns soon after the command has ended. Standard input is a file in
 * memory, so a child that does not read its input can neither block us nor raise SIGPIPE. The
 * leader of the group is reaped only after the whole group was killed: until then the leader's
 * process id is not reused, so the kill cannot hit other processes. */
#include "base/base_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_DEFAULT_LIMIT ((gsize)16 * 1024 * 1024)
#define OUTPUT_MAX_LIMIT ((gsize)1024 * 1024 * 1024)
#define READ_CHUNK (64u * 1024)
#define POLL_SLICE_MS 50 /* maximum delay until an interrupt or the child's end is noticed */
/* how long to read output after the child's end if other processes still hold the stream open */
#define END_GRACE_MS 250

/* One output stream of the child. */
typedef struct {
    int fd; /* -1 after the end of the stream */
    AcrEnds ends;
} Stream;

/* A running child. */
typedef struct {
    pid_t pid; /* process id of the child, and id of its process group */
    Stream out, err;
    bool ended; /* the child has ended, but is not reaped yet */
    /* the kernel has reaped the child, because SIGCHLD is ignored; the id may be reused */
    bool lost;
    gint64 ended_at; /* time of the child's end, in microseconds of the monotonic clock */
    gint64 watch_at; /* time of the next call of `watch`, in microseconds of the monotonic clock */
    /* time at which SIGKILL follows a SIGTERM, in microseconds; 0 if no SIGTERM was sent */
    gint64 kill_at;
    bool killed;
} Child;

/* The child's descriptors in this process. All are close-on-exec, and their numbers are n_child_fds
 * or higher. */
typedef struct {
    int in, out, err;
    int more[ACR_SPAWN_MAX_FDS];
    gsize n_more;
} ChildFds;

/* ---- Descriptors ---- */

static gsize n_child_fds(const AcrSpawn *spawn)
{
    return ACR_N_STANDARD_FDS + spawn->n_fds;
}

static bool make_pipe(const AcrSpawn *spawn, int *out_read, int *out_write)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    *out_read = acr_fd_above(ends[0], n_child_fds(spawn));
    *out_write = acr_fd_above(ends[1], n_child_fds(spawn));
    return *out_read >= 0 && *out_write >= 0 && fcntl(*out_read, F_SETFL, O_NONBLOCK) == 0;
}

static int open_input(const AcrSpawn *spawn)
{
    if (spawn->inherit_input)
        return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, (int)n_child_fds(spawn));
    if (!spawn->input)
        return acr_fd_above(open("/dev/null", O_RDONLY | O_CLOEXEC), n_child_fds(spawn));
    ACR_AUTO_FD fd = acr_fd_above(memfd_create("input", MFD_CLOEXEC), n_child_fds(spawn));
    if (fd < 0)
        return -1;
    int err = acr_fd_write_all(fd, spawn->input, spawn->input_len);
    if (err == 0 && lseek(fd, 0, SEEK_SET) != 0)
        err = errno;
    if (err != 0) {
        errno = err;
        return -1;
    }
    int opened = fd;
    fd = -1;
    return opened;
}

static void close_child_fds(ChildFds *fds)
{
    acr_fd_close(&fds->in);
    acr_fd_close(&fds->out);
    acr_fd_close(&fds->err);
    for (gsize i = 0; i < fds->n_more; i++)
        acr_fd_close(&fds->more[i]);
}

static bool copy_fds(const AcrSpawn *spawn, ChildFds *fds)
{
    g_assert(spawn->n_fds <= ACR_SPAWN_MAX_FDS);
    for (; fds->n_more < spawn->n_fds; fds->n_more++) {
        int fd = fcntl(spawn->fds[fds->n_more], F_DUPFD_CLOEXEC, (int)n_child_fds(spawn));
        if (fd < 0)
            return false;
        fds->more[fds->n_more] = fd;
    }
    return true;
}

static bool open_fds(const AcrSpawn *spawn, ChildFds *fds, Child *child, GError **error)
{
    fds->in = open_input(spawn);
    bool ok = fds->in >= 0 && make_pipe(spawn, &child->out.fd, &fds->out) &&
              make_pipe(spawn, &child->err.fd, &fds->err) && copy_fds(spawn, fds);
    return ok || acr_base_fail(error, errno, "cannot prepare to run '%s'", spawn->argv[0]);
}

/* ---- Starting ---- */

static int start_child(const AcrSpawn *spawn, const ChildFds *fds, pid_t *out_pid)
{
    int all[ACR_N_STANDARD_FDS + ACR_SPAWN_MAX_FDS] = {fds->in, fds->out, fds->err};
    memcpy(all + ACR_N_STANDARD_FDS, fds->more, fds->n_more * sizeof fds->more[0]);
    return acr_child_start(spawn->argv, spawn->envp, spawn->cwd, all, n_child_fds(spawn), out_pid);
}

/* Checks the working folder before the start, because after a failed start, "no such file" could
 * mean the folder or the program. */
static bool check_working_folder(const char *cwd, GError **error)
{
    struct stat st;
    if (!cwd || (stat(cwd, &st) == 0 && S_ISDIR(st.st_mode) && access(cwd, X_OK) == 0))
        return true;
    return acr_set_error(error, ACR_BASE_ERROR, ACR_BASE_ERROR_FAILED, "cannot enter folder '%s'",
                         cwd);
}

/* ---- Reading output ---- */

void acr_ends_init(AcrEnds *ends, gsize limit, bool keep_tail)
{
    *ends = (AcrEnds){.head = g_byte_array_new(), .tail = g_byte_array_new()};
    ends->tail_limit = keep_tail ? limit / 2 : 0;
    ends->head_limit = limit - ends->tail_limit;
}

void acr_ends_add(AcrEnds *ends, const void *data, gsize len)
{
    const guint8 *at = data;
    gsize in_head = MIN(len, ends->head_limit - ends->head->len);
    g_byte_array_append(ends->head, at, in_head);
    ends->total += len;
    at += in_head;
    len -= in_head;
    if (len > ends->tail_limit) {
        at += len - ends->tail_limit;
        len = ends->tail_limit;
    }
    if (ends->tail->len + len > 2 * ends->tail_limit)
        g_byte_array_remove_range(ends->tail, 0, ends->tail->len - ends->tail_limit);
    g_byte_array_append(ends->tail, at, len);
}

GBytes *acr_ends_finish(AcrEnds *ends)
{
    gsize tail = MIN(ends->tail->len, ends->tail_limit);
    if (tail)
        g_byte_array_append(ends->head, ends->tail->data + ends->tail->len - tail, tail);
    g_clear_pointer(&ends->tail, g_byte_array_unref);
    return g_byte_array_free_to_bytes(g_steal_pointer(&ends->head));
}

/* Reads the available output of a stream, at most a bounded number of chunks. */
static void read_stream(const AcrSpawn *spawn, Stream *stream, bool is_stderr)
{
    guint8 chunk[READ_CHUNK];
    for (int i = 0; i < 16 && stream->fd >= 0; i++) {
        ssize_t n = read(stream->fd, chunk, sizeof chunk);
        if (n > 0) {
            acr_ends_add(&stream->ends, chunk, (gsize)n);
            if (spawn->on_output)
                spawn->on_output(spawn->ctx, is_stderr, (const char *)chunk, (gsize)n);
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0 && errno == EAGAIN) {
            return;
        } else {
            acr_fd_close(&stream->fd);
        }
    }
}

/* Waits up to `wait_ms` for output, and reads the output. */
static void read_some(const AcrSpawn *spawn, Child *child, int wait_ms)
{
    struct pollfd fds[] = {{.fd = child->out.fd, .events = POLLIN},
                           {.fd = child->err.fd, .events = POLLIN}};
    if (poll(fds, G_N_ELEMENTS(fds), wait_ms) <= 0)
        return;
    if (fds[0].revents)
        read_stream(spawn, &child->out, false);
    if (fds[1].revents)
        read_stream(spawn, &child->err, true);
}

/* ---- Waiting ---- */

static void kill_group(Child *child)
{
    if (child->lost)
        return;
    if (kill(-child->pid, SIGKILL) != 0)
        kill(child->pid, SIGKILL);
    child->killed = true;
}

static void look_for_end(Child *child)
{
    siginfo_t info = {0};
    int rc = waitid(P_PID, child->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    child->lost = rc != 0 && errno == ECHILD;
    if (child->lost || (rc == 0 && info.si_pid == child->pid)) {
        child->ended = true;
        child->ended_at = g_get_monotonic_time();
    }
}

static bool is_flooded(const AcrSpawn *spawn, const Child *child)
{
    return spawn->flood_limit > 0 &&
           MAX(child->out.ends.total, child->err.ends.total) > spawn->flood_limit;
}

/* Asks `watch` whether the command may continue; at most once per POLL_SLICE_MS, however fast
 * output arrives. */
static bool is_watched(const AcrSpawn *spawn, Child *child)
{
    gint64 now = g_get_monotonic_time();
    if (!spawn->watch || now < child->watch_at)
        return true;
    child->watch_at = now + POLL_SLICE_MS * 1000;
    return spawn->watch(spawn->ctx, child->pid);
}

/* Kills the child; if `soft_ms` is set, sends a SIGTERM first. */
static void end_child(const AcrSpawn *spawn, Child *child)
{
    if (spawn->soft_ms <= 0 || kill(child->pid, SIGTERM) != 0)
        kill_group(child);
    else
        child->kill_at = g_get_monotonic_time() + spawn->soft_ms * 1000;
}

static void check_limits(const AcrSpawn *spawn, Child *child, gint64 started,
                         AcrSpawnResult *result)
{
    gint64 now = g_get_monotonic_time(), elapsed_ms = (now - started) / 1000;
    if (child->kill_at) {
        if (now >= child->kill_at)
            kill_group(child);
        return;
    }
    if (acr_interrupted(spawn->interrupt))
        result->interrupted = true;
    else if (spawn->timeout_ms > 0 && elapsed_ms >= spawn->timeout_ms)
        result->timed_out = true;
    else if (is_flooded(spawn, child))
        result->flooded = true;
    else if (!is_watched(spawn, child))
        result->unwatched = true;
    else
        return;
    end_child(spawn, child);
}

/* Returns how long to wait for output, in milliseconds. The wait is shorter after both streams have
 * ended, because the child usually ends soon afterwards. */
static int slice_ms(const AcrSpawn *spawn, const Child *child, gint64 started, int *idle_ms)
{
    gint64 slice = POLL_SLICE_MS;
    if (child->out.fd < 0 && child->err.fd < 0) {
        slice = *idle_ms;
        *idle_ms = MIN(*idle_ms * 2, POLL_SLICE_MS);
    }
    if (spawn->timeout_ms > 0 && !child->killed && !child->kill_at) {
        gint64 left = spawn->timeout_ms - (g_get_monotonic_time() - started) / 1000;
        slice = CLAMP(left, 1, slice);
    }
    return (int)slice;
}

static void run_to_end(const AcrSpawn *spawn, Child *child, gint64 started, AcrSpawnResult *result)
{
    int idle_ms = 1;
    for (;;) {
        if (!child->ended)
            look_for_end(child);
        if (child->ended)
            break;
        if (!child->killed)
            check_limits(spawn, child, started, result);
        read_some(spawn, child, slice_ms(spawn, child, started, &idle_ms));
    }
    /* Other processes of the group may hold the streams open, so their output is read only
     * briefly. */
    gint64 until = child->ended_at + END_GRACE_MS * 1000;
    while ((child->out.fd >= 0 || child->err.fd >= 0) && !acr_interrupted(spawn->interrupt)) {
        gint64 left_us = until - g_get_monotonic_time();
        if (left_us <= 0)
            break;
        read_some(spawn, child, (int)MIN(left_us / 1000 + 1, POLL_SLICE_MS));
    }
    kill_group(child);
    read_stream(spawn, &child->out, false);
    read_stream(spawn, &child->err, true);
}

static void reap(const Child *child, AcrSpawnResult *result)
{
    int status = 0;
    pid_t pid;
    do
        pid = waitpid(child->pid, &status, 0);
    while (pid < 0 && errno == EINTR);
    result->exit_code = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result->signal = pid > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* ---- Running a command ---- */

static void init_stream(Stream *stream, const AcrSpawn *spawn)
{
    gsize limit =
        spawn->output_limit ? MIN(spawn->output_limit, OUTPUT_MAX_LIMIT) : OUTPUT_DEFAULT_LIMIT;
    stream->fd = -1;
    acr_ends_init(&stream->ends, limit, spawn->keep_ends);
}

static GBytes *finish_stream(Stream *stream, guint64 *out_total)
{
    acr_fd_close(&stream->fd);
    *out_total = stream->ends.total;
    return acr_ends_finish(&stream->ends);
}

bool acr_spawn_run(const AcrSpawn *spawn, AcrSpawnResult *out, GError **error)
{
    g_assert(spawn->argv && spawn->argv[0]);
    if (!check_working_folder(spawn->cwd, error))
        return false;
    Child child = {0};
    ChildFds fds = {.in = -1, .out = -1, .err = -1};
    init_stream(&child.out, spawn);
    init_stream(&child.err, spawn);
    gint64 started = g_get_monotonic_time();
    bool ok = open_fds(spawn, &fds, &child, error);
    int err = ok ? start_child(spawn, &fds, &child.pid) : 0;
    close_child_fds(&fds);
    if (err)
        ok = acr_base_fail(error, err, "cannot run '%s'", spawn->argv[0]);
    g_auto(AcrSpawnResult) result = {0};
    if (ok) {
        run_to_end(spawn, &child, started, &result);
        reap(&child, &result);
    }
    result.out = finish_stream(&child.out, &result.out_total);
    result.err = finish_stream(&child.err, &result.err_total);
    result.wall_ms = (g_get_monotonic_time() - started) / 1000;
    if (ok) {
        *out = result;
        result = (AcrSpawnResult){0};
    }
    return ok;
}

void acr_spawn_result_clear(AcrSpawnResult *result)
{
    if (!result)
        return;
    g_clear_pointer(&result->out, g_bytes_unref);
    g_clear_pointer(&result->err, g_bytes_unref);
    *result = (AcrSpawnResult){0};
}
