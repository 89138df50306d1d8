/*
 * Private to the object database: its backends, and what they share.
 */
#ifndef ACR_ODB_PRIVATE_H
#define ACR_ODB_PRIVATE_H

#include "vcs_private.h"

/* The packs of a folder of objects, and its loose objects; owned (->free). Nothing is opened before it
 * is asked for; read_prefix is left to who adds them. Errors come by git_error_set_str, as libgit2's do. */
git_odb_backend *acr_vcs_odb_packs(const char *objects) ACR_MUST_USE;
git_odb_backend *acr_vcs_odb_loose(const char *objects) ACR_MUST_USE;

/* Whether a content has an id; of blobs snapshot_read.c checks it where it matters. */
bool acr_vcs_odb_has_id(git_object_t type, const void *content, gsize len, const git_oid *id);

/* Sets libgit2's error and returns GIT_ERROR. */
static inline int acr_vcs_odb_fail(const char *why)
{
    acr_git.error_set_str(GIT_ERROR_ODB, why);
    return GIT_ERROR;
}

#endif
