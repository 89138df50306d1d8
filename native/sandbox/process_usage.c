/* Measures a tree of processes from outside, through /proc. The memory is the sum of the resident
 * pages plus the files in memory that the processes hold open, mapped or not. If the sum exceeds
 * the limit, the memory is counted again with each shared page only once, which is slower. */
#include "sandbox/helper_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WATCHED 100000u /* maximum number of processes that are watched */
#define MAX_OPEN 4096u      /* maximum number of open files of one process that are checked */

/* Reads a small file of /proc as text; "" if it cannot be read. */
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

/* Appends the children of the thread `thread` of `pid` to `pids`. */
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

/* Appends the children of the process `pid` to `pids`. Returns the number of threads of the
 * process. */
static guint append_threads(gint64 pid, GArray *pids)
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

/* Returns the number of kilobytes after `label` in `text`, converted to bytes; -1 if `text` does
 * not contain `label`. */
static gint64 kilobytes(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    return at ? g_ascii_strtoll(at + strlen(label), NULL, 10) * 1024 : -1;
}

/* Returns the memory of a process in bytes, in which each shared page is divided by the number of
 * processes that share it. Adds pages of files in memory to *shared instead. If the kernel does not
 * report shares, returns the resident pages. */
static gint64 proportional(gint64 pid, gint64 *shared)
{
    char text[2048];
    read_proc(pid, "smaps_rollup", text, sizeof text);
    gint64 all = kilobytes(text, "\nPss:"), files = kilobytes(text, "\nPss_Shmem:");
    if (all < 0)
        return resident(pid);
    *shared += MAX(files, 0);
    return all - MAX(files, 0);
}

/* Returns the process ids of `pid` and all its descendants, and sets *out_threads to the number of
 * threads of the descendants. */
static GArray *list_tree(pid_t pid, guint *out_threads)
{
    GArray *pids = g_array_new(FALSE, FALSE, sizeof(gint64));
    gint64 first = pid;
    *out_threads = 0;
    g_array_append_val(pids, first);
    for (guint i = 0; i < pids->len; i++) {
        guint n = append_threads(g_array_index(pids, gint64, i), pids);
        *out_threads += i ? n : 0;
    }
    return pids;
}

/* Sets *out to the device to which all files in memory belong. */
static bool find_device(struct statx *out)
{
    ACR_AUTO_FD fd = memfd_create("acr-host", MFD_CLOEXEC);
    return fd >= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_INO, out) == 0;
}

/* Adds to `seen` the files in memory that a process holds open, and returns the number of bytes of
 * those that were not in `seen` before. */
static gint64 add_open_files(gint64 pid, const struct statx *device, GHashTable *seen)
{
    char path[64];
    gint64 bytes = 0;
    guint left = MAX_OPEN;
    (void)g_snprintf(path, sizeof path, "/proc/%" G_GINT64_FORMAT "/fd", pid);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && left > 0 && (entry = readdir(dir)); left--) {
        struct statx st;
        /* AT_STATX_DONT_SYNC avoids a request to a network file server */
        if (entry->d_name[0] == '.' || statx(dirfd(dir), entry->d_name, AT_STATX_DONT_SYNC,
                                             STATX_INO | STATX_BLOCKS, &st) != 0)
            continue;
        if (st.stx_dev_major != device->stx_dev_major || st.stx_dev_minor != device->stx_dev_minor)
            continue;
        gint64 *inode = g_new(gint64, 1);
        *inode = (gint64)st.stx_ino;
        if (g_hash_table_add(seen, inode))
            bytes += (gint64)st.stx_blocks * 512;
    }
    if (dir)
        closedir(dir);
    return bytes;
}

static gint64 count_files(const GArray *pids)
{
    struct statx device;
    if (!find_device(&device))
        return 0;
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    gint64 bytes = 0;
    for (guint i = 1; i < pids->len; i++)
        bytes += add_open_files(g_array_index(pids, gint64, i), &device, seen);
    return bytes;
}

void acr_process_usage(pid_t pid, gint64 limit, bool with_files, AcrUsage *use)
{
    g_autoptr(GArray) pids = list_tree(pid, &use->processes);
    gint64 shared = 0;
    if (with_files)
        use->file_bytes = count_files(pids);
    use->bytes = use->file_bytes;
    for (guint i = 1; i < pids->len; i++)
        use->bytes += resident(g_array_index(pids, gint64, i));
    if (limit <= 0 || use->bytes <= limit)
        return;
    use->bytes = 0;
    for (guint i = 1; i < pids->len; i++)
        use->bytes += proportional(g_array_index(pids, gint64, i), &shared);
    /* a file that is both mapped and open is counted in both numbers, so take the larger */
    use->bytes += MAX(shared, use->file_bytes);
}
