/* Private to sandbox: files as a tar archive, the form that container engines take. */
#ifndef ACR_SANDBOX_TAR_H
#define ACR_SANDBOX_TAR_H

#include "sandbox/helper_spec.h"

/* An archive of regular files owned by root, with paths of any length and bytes (by pax headers if
 * needed). Owned. */
GBytes *acr_tar_write(const GPtrArray *files) ACR_MUST_USE;
/* Whether the archive's first file (folders are ignored) is a regular one with this content. */
bool acr_tar_holds(GBytes *archive, GBytes *content);

#endif
