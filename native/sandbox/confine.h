/*
 * What a process of this program gives up before it looks at what others wrote, permanently and with
 * every thread that it starts later.
 */
#ifndef ACR_SANDBOX_CONFINE_H
#define ACR_SANDBOX_CONFINE_H

#include "base/base.h"

/*
 * From now on the calling thread starts no process and no socket, reaches into no other process, and
 * of files reads those in `readable` (NULL-terminated; folders with all that is in them; what is
 * missing does not count) and writes in the folder `writable` (NULL: nowhere) and to /dev/null. As far as the kernel
 * can: files by Landlock (Linux 5.13), the rest by seccomp. What is open stays open.
 */
void acr_confine(const char *const *readable, const char *writable);

#endif
