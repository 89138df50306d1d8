/*
 * The watch over a tree of processes, from outside of it, by /proc. What its processes take of
 * memory is summed as the kernel counts resident pages; only where that sum passes the limit are
 * shared pages counted once, which is slower.
 */
#include "sandbox/sandbox_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WATCHED 100000u /* processes */

/* A small file of /proc as text; "" where it cannot be read. */
static void read_proc(gint64 pid, const char *name, char *out, gsize size)
{
    char path[64];
    (void)g_snprintf(path, sizeof path, "/proc/%" G_GINT64_FORMAT "/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;
    out[MAX(n, 0)] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Appends the children of one thread. */
static void append_children(gint64 pid, const char *thread, GArray *pids)
{
    char path[96];
    (void)g_snprintf(path, sizeof path, "/proc/%" G_GINT64_FORMAT "/task/%s/children", pid, thread);
    FILE *list = fopen(path, "re");
    long child;
    while (list && pids->len < MAX_WATCHED && fscanf(list, "%ld", &child) == 1) {
        gint64 value = child;
        g_array_append_val(pids, value);
    }
    if (list)
        (void)fclose(list);
}

/* Appends the children of a process; how many threads it has. */
static guint look_at(gint64 pid, GArray *pids)
{
    char path[64];
    guint threads = 0;
    (void)g_snprintf(path, sizeof path, "/proc/%" G_GINT64_FORMAT "/task", pid);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        append_children(pid, entry->d_name, pids);
        threads++;
    }
    if (dir)
        closedir(dir);
    return threads;
}

static gint64 resident(gint64 pid)
{
    char text[128];
    read_proc(pid, "statm", text, sizeof text);
    const char *second = strchr(text, ' ');
    return second ? g_ascii_strtoll(second, NULL, 10) * sysconf(_SC_PAGESIZE) : 0;
}

/* Each page counted by the share of those who have it; what is resident where that is not told. */
static gint64 proportional(gint64 pid)
{
    char text[2048];
    read_proc(pid, "smaps_rollup", text, sizeof text);
    const char *at = strstr(text, "\nPss:");
    return at ? g_ascii_strtoll(at + strlen("\nPss:"), NULL, 10) * 1024 : resident(pid);
}

void acr_watch_use(pid_t pid, gint64 limit, AcrUse *out)
{
    g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(gint64));
    gint64 first = pid, bytes = 0;
    guint threads = 0;
    g_array_append_val(pids, first);
    for (guint i = 0; i < pids->len; i++) {
        guint n = look_at(g_array_index(pids, gint64, i), pids);
        threads += i ? n : 0;
        bytes += i ? resident(g_array_index(pids, gint64, i)) : 0;
    }
    if (limit > 0 && bytes > limit) {
        bytes = 0;
        for (guint i = 1; i < pids->len; i++)
            bytes += proportional(g_array_index(pids, gint64, i));
    }
    *out = (AcrUse){bytes, threads};
}
