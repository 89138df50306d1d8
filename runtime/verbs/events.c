/* Writes progress events as JSON lines for programs, to a descriptor that the caller opened or to a
 * file. Writing stops permanently if the reader closes the pipe, or does not read for READ_MS. The
 * schema is runtime/schemas/events.json. */
#include "verbs/verbs_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MS 5000
#define FIRST_BYTES "{\"event\":" /* beginning of each file of events */

struct AcrEvents {
    AcrProgress progress;
    int fd;  /* owned; -1 if writing has stopped */
    int err; /* errno of the failure that stopped writing */
    pthread_mutex_t lock;
};

/* Writes a line in pieces that the pipe accepts; returns 0 or an errno. */
static int write_event_line(int fd, const char *at, gsize len)
{
    while (len > 0) {
        struct pollfd what = {.fd = fd, .events = POLLOUT};
        int ready = poll(&what, 1, READ_MS);
        ssize_t n = ready > 0 ? write(fd, at, MIN(len, PIPE_BUF)) : 0;
        if (ready == 0)
            return ETIMEDOUT;
        if ((ready < 0 || n < 0) && errno != EINTR && errno != EAGAIN)
            return errno;
        at += MAX(n, 0);
        len -= (gsize)MAX(n, 0);
    }
    return 0;
}

static void put_event(void *ctx, const AcrProgressEvent *event)
{
    AcrEvents *events = ctx;
    g_autoptr(AcrJson) json = acr_progress_to_json(event);
    g_autofree char *text = acr_json_print(json);
    g_autofree char *line = g_strconcat(text, "\n", NULL);
    pthread_mutex_lock(&events->lock);
    if (events->fd >= 0)
        events->err = write_event_line(events->fd, line, strlen(line));
    if (events->fd >= 0 && events->err != 0) {
        close(events->fd);
        events->fd = -1;
    }
    pthread_mutex_unlock(&events->lock);
}

const AcrProgress *acr_events_progress(const AcrEvents *events)
{
    return &events->progress;
}

/* Duplicates a descriptor that this process inherited (descriptors that it opened are
 * close-on-exec). Returns -1 if the descriptor is not writable. */
static int take_descriptor(gint64 number)
{
    bool is_handed = number > STDIN_FILENO && fcntl((int)number, F_GETFD) == 0 &&
                     (fcntl((int)number, F_GETFL) & O_ACCMODE) != O_RDONLY;
    int fd = is_handed ? fcntl((int)number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    if (fd >= 0 && number > STDERR_FILENO)
        close((int)number); /* children do not inherit the duplicate */
    return fd;
}

/* Returns whether events may be appended to an existing file. A file with other contents belongs to
 * the user. */
static bool holds_events(int fd)
{
    char first[sizeof FIRST_BYTES - 1];
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size == 0)
        return true;
    return pread(fd, first, sizeof first, 0) == (ssize_t)sizeof first &&
           memcmp(first, FIRST_BYTES, sizeof first) == 0;
}

/* Opens the file of events; returns -1 with `error` on failure. A regular file is opened for
 * reading, too; a FIFO only for writing, without waiting for a reader. */
static int open_events_file(const char *where, GError **error)
{
    const int flags = O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    struct stat about;
    bool is_file = stat(where, &about) != 0 || S_ISREG(about.st_mode);
    int fd = is_file ? open(where, O_RDWR | O_CREAT | flags, 0600) : open(where, O_WRONLY | flags);
    if (fd < 0)
        acr_task_refuse(error, "--events: cannot open '%s': %s", where,
                        errno == ENXIO ? "no process is reading from it" : g_strerror(errno));
    if (fd < 0 || holds_events(fd))
        return fd;
    close(fd);
    acr_task_refuse(error, "--events: '%s' exists and is not an events file; choose another name",
                    where);
    return -1;
}

bool acr_events_are_output(const char *where)
{
    return g_strcmp0(where, "-") == 0 || g_strcmp0(where, "1") == 0;
}

AcrEvents *acr_events_open(const char *where, GError **error)
{
    gint64 number = 0;
    if (acr_events_are_output(where))
        where = "1";
    bool is_number = *where && strspn(where, "-0123456789") == strlen(where),
         is_good = is_number && acr_count_parse(where, G_MAXINT32, &number);
    int fd = is_good ? take_descriptor(number) : is_number ? -1 : open_events_file(where, error);
    if (fd < 0 && is_number)
        acr_task_refuse(error, "--events %s: this file descriptor is not open for writing", where);
    if (fd < 0)
        return NULL;
    AcrEvents *events = g_new0(AcrEvents, 1);
    events->fd = fd;
    events->progress = (AcrProgress){.ctx = events, .take = put_event};
    pthread_mutex_init(&events->lock, NULL);
    return events;
}

void acr_events_free(AcrEvents *events)
{
    if (!events)
        return;
    if (events->err != 0 && events->err != EPIPE)
        acr_verb_say("--events: writing stopped before the run ended: %s", g_strerror(events->err));
    if (events->fd >= 0)
        close(events->fd);
    pthread_mutex_destroy(&events->lock);
    g_free(events);
}
