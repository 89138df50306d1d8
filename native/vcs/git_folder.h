/* Private to vcs: checks a git folder, which may be untrusted (from an archive). */
#pragma once

#include "vcs/vcs.h"

#define ACR_VCS_GIT_FILE "gitdir: " /* first bytes of a `.git` that is a file */
/* Checks the git folder of `path` before libgit2 opens it: fails if the folder has a file on which
 * libgit2 would block, or a file that refers to another repository. Errors: FAILED. */
bool acr_vcs_check_git_folder(const char *path, GError **error) ACR_MUST_USE;
/* Returns the resolved path that follows `prefix` in the file `name` of `folder`; owned; NULL if
 * the file is missing or does not begin with `prefix`. */
char *acr_vcs_read_path(const char *folder, const char *name, const char *prefix) ACR_MUST_USE;
bool acr_vcs_fail_outside(GError **error, const char *from, const char *to);
bool acr_vcs_trusts_links(void);
