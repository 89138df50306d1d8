/* Lets a process of this program give up rights before it reads untrusted data, permanently and for
 * all threads that it starts later. */
#pragma once

#include "base/base.h"

/* From now on the calling thread cannot start processes, open sockets or access other processes.
 * It can read only the files and folders in `readable` (NULL-terminated; missing ones are
 * ignored), and write only to the folder `writable` (NULL: none) and to /dev/null. Best effort:
 * the kernel must have Landlock (Linux 5.13) for files, and seccomp for the rest. Open
 * descriptors stay usable. `program` is the only program that the process may become (execve),
 * with the same limits; NULL: none. */
void acr_confine(const char *const *readable, const char *writable, const char *program);
