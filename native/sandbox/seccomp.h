/* Private to sandbox: seccomp filters of the kernel calls that processes cannot make. */
#ifndef ACR_SANDBOX_SECCOMP_H
#define ACR_SANDBOX_SECCOMP_H

#include "base/base.h"

/*
 * The filter of a command: an array of struct sock_filter, as bubblewrap takes it.
 * `refuses_unmapped`: also refuse memory that no process maps, which only a control group could
 * count. Owned.
 */
GBytes *acr_seccomp_walls(bool refuses_unmapped) ACR_MUST_USE;
/* Installs that filter and more for a process that works alone: no processes, no sockets; threads
 * are allowed. False if the kernel cannot. */
bool acr_seccomp_alone(void);

#endif
