/* Private to vcs: the check of a git folder, which may have come with an archive from anybody. */
#ifndef ACR_VCS_GIT_FOLDER_H
#define ACR_VCS_GIT_FOLDER_H

#include "vcs/vcs.h"

#define ACR_VCS_GIT_FILE "gitdir: " /* what a `.git` that is a file begins with */
/* Looks at the git folder of `path`, before libgit2 does, for what it would wait for, and what leads to another
 * repository. Errors: FAILED. */
bool acr_vcs_check_git_folder(const char *path, GError **error) ACR_MUST_USE;
/* The path that the one line of a file names behind `prefix`, without links; owned. NULL: it names none. */
char *acr_vcs_read_path(const char *folder, const char *name, const char *prefix) ACR_MUST_USE;
bool acr_vcs_fail_outside(GError **error, const char *from, const char *to);
bool acr_vcs_trusts_links(void);

#endif
