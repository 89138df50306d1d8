/* Creates and reads control groups of both versions, through the kernel's files. In version 1, a
 * new group is a child of this process's group. Version 2 forbids child groups of a group that
 * contains processes, so the new group is a sibling. A sibling is created only if this process's
 * group has no limit, because that limit would not apply to the sibling. */
#include "sandbox/sandbox_private.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fcntl.h>

#define ROOT "/sys/fs/cgroup"
/* prefix of a group's name, followed by the owner's process id, its start time, and a number */
#define PREFIX "acr-host."
#define MAX_TEXT 16384u
#define REMOVE_TRIES 200u
#define REMOVE_EVERY_US 1000

/* Returns the contents of the file `name` in the folder `dir`, owned; "" if the file cannot be
 * read. */
static char *read_text(const char *dir, const char *name)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_autoptr(GBytes) bytes = acr_file_read(path, MAX_TEXT, NULL);
    return acr_bytes_text(bytes);
}

static bool write_text(const char *dir, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    ACR_AUTO_FD fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool has_word(const char *text, const char *word)
{
    g_auto(GStrv) words = g_strsplit_set(text, " \n", -1);
    return g_strv_contains((const char *const *)words, word);
}

gint64 acr_kernel_number(const char *text, const char *words)
{
    for (const char *at = text; (at = strstr(at, words)); at += strlen(words))
        if ((at == text || at[-1] == '\n') && at[strlen(words)] == ' ')
            return g_ascii_strtoll(at + strlen(words), NULL, 10);
    return 0;
}

/* Returns PATH from the line "N:CONTROLLERS:PATH" of /proc/self/cgroup whose second part is
 * `controllers`, owned; NULL if there is no such line. */
static char *path_of_counter(const char *lines, const char *controllers)
{
    g_auto(GStrv) split = g_strsplit(lines, "\n", -1);
    for (char **line = split; *line; line++) {
        g_auto(GStrv) parts = g_strsplit(*line, ":", 3);
        if (g_strv_length(parts) == 3 && strcmp(parts[1], controllers) == 0)
            return g_strdup(parts[2]);
    }
    return NULL;
}

char *acr_memory_group_parent(const char *root, const char *lines, bool *out_is_old)
{
    g_autofree char *old = path_of_counter(lines, "memory"), *path = path_of_counter(lines, "");
    *out_is_old = old != NULL;
    if (old)
        return g_build_filename(root, "memory", strcmp(old, "/") == 0 ? NULL : old, NULL);
    g_autofree char *own = g_build_filename(root, path, NULL);
    g_autofree char *limit = read_text(own, "memory.max"), *parent = g_path_get_dirname(own);
    if (!path || strcmp(path, "/") == 0 || strcmp(g_strchomp(limit), "max") != 0)
        return NULL;
    g_autofree char *given = read_text(parent, "cgroup.subtree_control");
    return has_word(given, "memory") ? g_steal_pointer(&parent) : NULL;
}

/* Removes the groups whose owning process has ended, unless a process still runs in them. */
static void sweep_groups(const char *parent, const AcrOwner *self)
{
    g_autoptr(GDir) dir = g_dir_open(parent, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        AcrOwner owner = *self;
        if (!g_str_has_prefix(name, PREFIX) ||
            sscanf(name + strlen(PREFIX), "%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT, &owner.pid,
                   &owner.start) != 2 ||
            acr_owner_is_alive(&owner, self))
            continue;
        g_autofree char *path = g_build_filename(parent, name, NULL);
        (void)rmdir(path);
    }
}

void acr_memory_group_make(gint64 limit_bytes, AcrMemoryGroup *out)
{
    g_autofree char *lines = read_text("/proc/self", "cgroup");
    g_autofree char *parent = acr_memory_group_parent(ROOT, lines, &out->is_old);
    g_autofree char *limit = g_strdup_printf("%" G_GINT64_FORMAT, limit_bytes);
    AcrOwner self;
    if (!parent || access(parent, W_OK) != 0)
        return;
    acr_owner_self(&self);
    sweep_groups(parent, &self);
    g_autofree char *dir =
        g_strdup_printf("%s/" PREFIX "%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT ".%08x", parent,
                        self.pid, self.start, g_random_int());
    if (mkdir(dir, 0755) != 0)
        return;
    out->dir = g_steal_pointer(&dir);
    /* disable swap; failing is harmless if there is no swap, or if swap is not counted */
    (void)write_text(out->dir, out->is_old ? "memory.swappiness" : "memory.swap.max", "0");
    if (!write_text(out->dir, out->is_old ? "memory.limit_in_bytes" : "memory.max", limit))
        acr_memory_group_remove(out);
}

/* For version 1, returns the file that moves one thread ("tasks"), because moving a whole process
 * takes about ten milliseconds. */
char *acr_memory_group_entry(const AcrMemoryGroup *group)
{
    return group->dir ? g_build_filename(group->dir, group->is_old ? "tasks" : "cgroup.procs", NULL)
                      : NULL;
}

gint64 acr_memory_group_bytes(const AcrMemoryGroup *group)
{
    if (!group->dir)
        return 0;
    g_autofree char *text = read_text(group->dir, "memory.stat");
    return acr_kernel_number(text, group->is_old ? "rss" : "anon") +
           acr_kernel_number(text, "shmem");
}

bool acr_memory_group_was_short(const AcrMemoryGroup *group)
{
    if (!group->dir)
        return false;
    g_autofree char *text =
        read_text(group->dir, group->is_old ? "memory.oom_control" : "memory.events");
    return acr_kernel_number(text, "oom_kill") > 0;
}

void acr_memory_group_remove(AcrMemoryGroup *group)
{
    for (guint i = 0; group->dir && rmdir(group->dir) != 0 && i < REMOVE_TRIES; i++)
        g_usleep(REMOVE_EVERY_US);
    g_clear_pointer(&group->dir, g_free);
}
