/* Private to sandbox: calls of the kernel that processes do not get, as filters of seccomp. */
#ifndef ACR_SANDBOX_SECCOMP_H
#define ACR_SANDBOX_SECCOMP_H

#include "base/base.h"

/*
 * The filter of a command: an array of struct sock_filter, as bubblewrap takes it. `refuses_unmapped`:
 * also memory that no process has mapped, which only a control group counts. Owned.
 */
GBytes *acr_seccomp_walls(bool refuses_unmapped) ACR_MUST_USE;
/* Installs that, and more for a process that works alone: no processes, no sockets; threads are
 * left. False where the kernel cannot. */
bool acr_seccomp_alone(void);

#endif
