/*
 * Private to sandbox: a control group, by which the kernel counts all memory of an execution, also what
 * no process has mapped: System V's, files in memory, its own buffers. Few users may make one.
 */
#ifndef ACR_SANDBOX_MEMORY_GROUP_H
#define ACR_SANDBOX_MEMORY_GROUP_H

#include "base/base.h"

/* Zero-initialise. */
typedef struct {
    char *dir;   /* owned; NULL: none could be made */
    bool is_old; /* of the first version of control groups */
} AcrMemoryGroup;
/* The number in the line of a kernel's file that begins with those words; 0: no line does. */
gint64 acr_kernel_number(const char *text, const char *words);
/* The folder in which this process may make groups, by the lines of /proc/self/cgroup; `root` is where
 * control groups are mounted. Owned; NULL: there is none. */
char *acr_memory_group_parent(const char *root, const char *lines, bool *out_is_old) ACR_MUST_USE;
/* Makes one where that is possible: the kernel refuses it more than `limit_bytes`. */
void acr_memory_group_make(gint64 limit_bytes, AcrMemoryGroup *out);
/* The file by which a process of one thread enters it, writing a zero; owned; NULL without a group. */
char *acr_memory_group_entry(const AcrMemoryGroup *group) ACR_MUST_USE;
/* What its processes have written to and not to a disk; 0: not known. */
gint64 acr_memory_group_bytes(const AcrMemoryGroup *group);
/* Whether the kernel ended a process since there was no more. */
bool acr_memory_group_was_short(const AcrMemoryGroup *group);
/* Removes it, once its processes are gone; the next one that is made removes what had to stay. */
void acr_memory_group_remove(AcrMemoryGroup *group);

#endif
