/* Identifies the process that owns a reservation or a folder, and tells whether the owner still
 * runs. Reservations and folders can outlive their owner. Boot id, process id and start time
 * together are unique, across reboots and reused ids. If the system does not say whether the owner
 * runs, the owner is assumed to be alive: to keep a stale reservation does less harm than to remove
 * one in use. */
#include "base/base_private.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define START_FIELD 22u /* position of the start time in /proc/PID/stat */

/* Returns the start time of a process; 0 if it has ended (or is a zombie), or if /proc does not
 * say. */
static gint64 start_of(gint64 pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%" G_GINT64_FORMAT "/stat", pid), *stat = NULL;
    (void)g_file_get_contents(path, &stat, NULL, NULL);
    /* the process's name in brackets may contain any character */
    const char *at = stat ? strrchr(stat, ')') : NULL;
    if (!at || !at[1] || strchr("ZXx", at[2]))
        return 0;
    at += 2;
    for (guint field = 3; at && field < START_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at ? g_ascii_strtoll(at, NULL, 10) : 0;
}

static void read_boot(char *out, gsize size)
{
    g_autofree char *text = NULL;
    (void)g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL);
    g_strlcpy(out, text ? g_strstrip(text) : "", size);
}

void acr_owner_self(AcrOwner *out)
{
    *out = (AcrOwner){.pid = getpid(), .start = start_of(getpid())};
    read_boot(out->boot, sizeof out->boot);
}

bool acr_owner_is_alive(const AcrOwner *owner, const AcrOwner *self)
{
    if (strcmp(owner->boot, self->boot) != 0)
        return !owner->boot[0] || !self->boot[0];
    if (owner->pid == self->pid && owner->start == self->start)
        return true;
    if (owner->pid <= 0 || owner->pid > G_MAXINT32)
        return false;
    if (!self->start || !owner->start) /* /proc is not available */
        return kill((pid_t)owner->pid, 0) == 0 || errno == EPERM;
    gint64 start = start_of(owner->pid);
    if (!start && kill((pid_t)owner->pid, 0) != 0 && errno == EPERM)
        return true; /* another user's process, which /proc may hide (hidepid) */
    return start == owner->start;
}
