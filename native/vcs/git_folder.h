/* Private to vcs: checks a git folder, which may be untrusted (from an archive). */
#pragma once

#include "vcs/vcs.h"

#define ACR_VCS_GIT_FILE "gitdir: " /* the beginning of a `.git` that is a file */
/* Checks the git folder of `path` before libgit2 opens it. Looks for files on which libgit2
 * would block, and for files that refer to another repository. Errors: FAILED. */
bool acr_vcs_check_git_folder(const char *path, GError **error) ACR_MUST_USE;
/* The resolved path that follows `prefix` in the only line of a file; owned; NULL if there is
 * none. */
char *acr_vcs_read_path(const char *folder, const char *name, const char *prefix) ACR_MUST_USE;
bool acr_vcs_fail_outside(GError **error, const char *from, const char *to);
bool acr_vcs_trusts_links(void);
