/*
 * Forbids core dumps: a core would hold the keys in our memory, and those in the environment of the
 * processes that we start. The limit is 1 byte and not 0, because with 0 the kernel still sends the
 * memory to a program that core_pattern names after a "|"; with 1 it does not (core(5)).
 * PR_SET_DUMPABLE would do the same, but it would also give our files in /proc to root.
 */
#include "base/base_private.h"

#include <errno.h>
#include <sys/resource.h>

bool acr_forbid_cores(GError **error)
{
    struct rlimit limit = {0};
    if (getrlimit(RLIMIT_CORE, &limit) != 0)
        return acr_base_fail(error, errno, "cannot read the limit on core dumps");
    limit.rlim_max = MIN(limit.rlim_max, 1);
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_CORE, &limit) == 0 ||
           acr_base_fail(error, errno, "cannot disable core dumps");
}
