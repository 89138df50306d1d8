/*
 * The rights that a process of this program gives up before it reads foreign data, permanently and
 * for all threads that it starts later.
 */
#ifndef ACR_SANDBOX_CONFINE_H
#define ACR_SANDBOX_CONFINE_H

#include "base/base.h"

/*
 * From now on the calling thread cannot start processes, open sockets or access other processes. It
 * can only read the files in `readable` (NULL-terminated; folders include their contents; missing
 * ones are ignored), and only write to the folder `writable` (NULL: none) and to /dev/null. Best
 * effort: files need Landlock (Linux 5.13), the other rights seccomp. Open descriptors stay usable.
 */
void acr_confine(const char *const *readable, const char *writable);

#endif
