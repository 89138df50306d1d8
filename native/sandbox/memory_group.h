/*
 * Private to sandbox: a control group, with which the kernel counts all memory of an execution,
 * even what no process has mapped: System V shared memory, files in memory, the kernel's own
 * buffers. Few users may make one.
 */
#ifndef ACR_SANDBOX_MEMORY_GROUP_H
#define ACR_SANDBOX_MEMORY_GROUP_H

#include "base/base.h"

/* Zero-initialise. */
typedef struct {
    char *dir;   /* owned; NULL: none could be made */
    bool is_old; /* of the first version of control groups */
} AcrMemoryGroup;
/* The number in the first line of a kernel's file that begins with those words; 0: none. */
gint64 acr_kernel_number(const char *text, const char *words);
/* The folder in which this process may make groups, from the lines of /proc/self/cgroup; `root` is
 * where control groups are mounted. Owned; NULL: none. */
char *acr_memory_group_parent(const char *root, const char *lines, bool *out_is_old) ACR_MUST_USE;
/* Makes a group, if possible, that limits memory to `limit_bytes`. */
void acr_memory_group_make(gint64 limit_bytes, AcrMemoryGroup *out);
/* The file through which a process with one thread enters the group, by writing a zero; owned;
 * NULL: no group. */
char *acr_memory_group_entry(const AcrMemoryGroup *group) ACR_MUST_USE;
/* The memory of the group without files on disk; 0: unknown. */
gint64 acr_memory_group_bytes(const AcrMemoryGroup *group);
/* Whether the kernel killed a process of the group for lack of memory. */
bool acr_memory_group_was_short(const AcrMemoryGroup *group);
/* Removes the group after its processes are gone; if that fails, a later run removes it. */
void acr_memory_group_remove(AcrMemoryGroup *group);

#endif
