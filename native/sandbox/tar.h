/* Private to sandbox: files as a tar archive, as container engines take them. */
#ifndef ACR_SANDBOX_TAR_H
#define ACR_SANDBOX_TAR_H

#include "sandbox/helper_spec.h"

/* An archive of the files, which are regular ones, each owned by root; paths of any length and bytes
 * (pax headers where the old ones have no room). Owned. */
GBytes *acr_tar_write(const GPtrArray *files) ACR_MUST_USE;
/* Whether the archive's first file (folders do not count) is a regular one with this content. */
bool acr_tar_holds(GBytes *archive, GBytes *content);

#endif
