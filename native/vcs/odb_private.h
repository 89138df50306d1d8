#pragma once

#include "vcs_private.h"

/* Return the backends for the packs and for the loose objects in the folder `objects`; owned
 * (->free). They open files only on demand. odb.c sets read_prefix. Errors are set by
 * git_error_set_str. */
git_odb_backend *acr_vcs_odb_packs(const char *objects) ACR_MUST_USE;
git_odb_backend *acr_vcs_odb_loose(const char *objects) ACR_MUST_USE;

/* True if `content` has the id `id`. Returns true for every blob, because snapshot_read.c checks
 * blobs. */
bool acr_vcs_odb_has_id(git_object_t type, const void *content, gsize len, const git_oid *id);

/* Sets libgit2's error and returns GIT_ERROR. */
static inline int acr_vcs_odb_fail(const char *why)
{
    acr_git.error_set_str(GIT_ERROR_ODB, why);
    return GIT_ERROR;
}
