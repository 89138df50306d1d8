/* Lets a process of this program give up rights before it reads untrusted data. The rights are lost
 * permanently, also for threads that the process starts later. */
#pragma once

#include "base/base.h"

/* Forbids the calling thread to start processes, open sockets and access other processes,
 * permanently. The thread can still read the files and folders in `readable` (NULL-terminated;
 * missing ones are ignored), and write to the folder `writable` (NULL: none) and to /dev/null. Open
 * descriptors stay usable. `program` is the only program that the process may execute (execve),
 * with the same restrictions; NULL: none. Best effort: restricting files needs Landlock (Linux
 * 5.13), and the other restrictions need seccomp. */
void acr_confine(const char *const *readable, const char *writable, const char *program);
