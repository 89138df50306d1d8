/*
 * No core dumps: a core holds the keys in our memory, and those in the environment of whatever we
 * start. The limit is not 0 but 1 byte, which no core fits in either: with 0 the kernel still hands
 * the whole memory to a program that core_pattern names behind a "|", with 1 it does not (core(5)).
 * That says the same as PR_SET_DUMPABLE, without taking from us what belongs to us in /proc.
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
           acr_base_fail(error, errno, "cannot forbid core dumps");
}
