/* Forbids core dumps, because a core would hold the keys in our memory, or in the environment of
 * the processes that we start. The limit is 1 byte and not 0, because of core(5): if core_pattern
 * names a program after a "|", the kernel sends the memory to that program even if the limit is 0,
 * but not if the limit is 1. PR_SET_DUMPABLE would also prevent cores, but it would make root the
 * owner of our files in /proc. */
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
