/*
 * Private to the object database: its backends, and what they share.
 */
#ifndef ACR_ODB_PRIVATE_H
#define ACR_ODB_PRIVATE_H

#include "vcs_private.h"

/* The backends for the packs of a folder of objects, and for its loose objects; owned (->free).
 * They open nothing before it is needed; read_prefix is set by odb.c. Errors are set by
 * git_error_set_str, like libgit2's. */
git_odb_backend *acr_vcs_odb_packs(const char *objects) ACR_MUST_USE;
git_odb_backend *acr_vcs_odb_loose(const char *objects) ACR_MUST_USE;

/* Whether a content has that id; snapshot_read.c checks blobs where it matters. */
bool acr_vcs_odb_has_id(git_object_t type, const void *content, gsize len, const git_oid *id);

/* Sets libgit2's error and returns GIT_ERROR. */
static inline int acr_vcs_odb_fail(const char *why)
{
    acr_git.error_set_str(GIT_ERROR_ODB, why);
    return GIT_ERROR;
}

#endif
