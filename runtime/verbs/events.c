/*
 * What a run reports as it proceeds, as JSON lines for programs: on a descriptor that the caller opened, or
 * in a file. A reader that has gone costs the run nothing. The schema is runtime/schemas/events.json.
 */
#include "verbs/verbs_private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct AcrEvents {
    int fd; /* owned; -1: nobody reads any more */
    pthread_mutex_t lock;
};

/* Takes a descriptor that was handed to this process: only such ones are open after an exec. -1: that
 * number cannot be written to. */
static int take_descriptor(gint64 number)
{
    bool is_handed = number > STDIN_FILENO && fcntl((int)number, F_GETFD) == 0 &&
                     (fcntl((int)number, F_GETFL) & O_ACCMODE) != O_RDONLY;
    int fd = is_handed ? fcntl((int)number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    if (fd >= 0 && number > STDERR_FILENO)
        close((int)number); /* what is started does not get it */
    return fd;
}

AcrEvents *acr_events_open(const char *where, GError **error)
{
    gint64 number = 0;
    bool is_number = acr_count_parse(where, G_MAXINT32, &number);
    int fd = is_number ? take_descriptor(number)
                       : open(where, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0 && is_number)
        return ACR_NULL(acr_task_refuse(
            error, "--events %s: there is no descriptor of that number to write to", where));
    if (fd < 0)
        return ACR_NULL(
            acr_task_refuse(error, "cannot open '%s' (--events): %s", where, g_strerror(errno)));
    AcrEvents *events = g_new0(AcrEvents, 1);
    events->fd = fd;
    pthread_mutex_init(&events->lock, NULL);
    return events;
}

void acr_events_free(AcrEvents *events)
{
    if (!events)
        return;
    if (events->fd >= 0)
        close(events->fd);
    pthread_mutex_destroy(&events->lock);
    g_free(events);
}

AcrJson *acr_event_new(const char *kind)
{
    AcrJson *event = acr_json_new_object();
    acr_json_set_string(event, "event", kind);
    acr_json_set_int(event, "time_ms", g_get_real_time() / 1000);
    return event;
}

void acr_events_put(AcrEvents *events, AcrJson *event)
{
    g_autoptr(AcrJson) owned = event;
    if (!events)
        return;
    g_autofree char *text = acr_json_print(owned);
    g_autofree char *line = g_strconcat(text, "\n", NULL);
    pthread_mutex_lock(&events->lock);
    if (events->fd >= 0 && acr_fd_write_all(events->fd, line, strlen(line)) != 0) {
        close(events->fd);
        events->fd = -1;
    }
    pthread_mutex_unlock(&events->lock);
}
