#pragma once

#include "vcs/vcs_private.h"

/* ---- wildmatch.c, ignore_rules.c ---- */

/* True if git's wildcard `pattern` matches all of `text`. */
bool acr_vcs_wildmatch(const char *pattern, const char *text, bool ignore_case);

/* The ignore rules that apply in the current folder of a walk. */
typedef struct AcrVcsIgnore AcrVcsIgnore;
AcrVcsIgnore *acr_vcs_ignore_new(git_repository *git)
    ACR_MUST_USE; /* creates a stack with the rules from outside the working tree; owned */
void acr_vcs_ignore_free(AcrVcsIgnore *ignore);
/* Returns the path of the user's file that the configuration names under `key`, or the default path
 * of this file; owned; NULL if there is none. */
char *acr_vcs_user_file(git_repository *git, const char *key, const char *name) ACR_MUST_USE;
/* Pushes the rules in the .gitignore of an open folder. `base` is the length of the folder's path
 * with a slash at its end (0 at the root). If this process cannot open more files, pushes nothing,
 * sets errno and returns false. */
bool acr_vcs_ignore_enter(AcrVcsIgnore *ignore, int folder, gsize base) ACR_MUST_USE;
/* Removes the rules that the last acr_vcs_ignore_enter pushed. */
void acr_vcs_ignore_leave(AcrVcsIgnore *ignore);
/* True if `path`, which is in the folder that was entered last, is ignored. `folder`: the path is a
 * folder (a symlink is not). */
bool acr_vcs_ignore_has(const AcrVcsIgnore *ignore, const char *path, bool folder);

/* ---- attributes.c ---- */

/* The meaning of a path's `diff` attribute. */
typedef enum {
    ACR_VCS_DIFF_AUTO,
    ACR_VCS_DIFF_TEXT,
    ACR_VCS_DIFF_BINARY,
    ACR_VCS_DIFF_PYTHON, /* Python's driver, which has its own rule for the text of hunk headers */
} AcrVcsDiffKind;

/* Rules of .gitattributes files. */
typedef struct AcrVcsAttributes AcrVcsAttributes;
/* Reads the rules that concern `paths` in the .gitattributes files of `overlay`; owned. Errors:
 * those of acr_overlay_read. */
AcrVcsAttributes *acr_vcs_attributes_new(const AcrOverlay *overlay, char **paths,
                                         GError **error) ACR_MUST_USE;
/* Reads the user's rules and the repository's own rules, for a walk through the working tree;
 * owned. */
AcrVcsAttributes *acr_vcs_attributes_of_worktree(git_repository *git) ACR_MUST_USE;
/* Adds the rules in the .gitattributes of the open folder `fd`, which the walk enters. `path` is
 * the folder's path without a slash at its end. */
void acr_vcs_attributes_enter(AcrVcsAttributes *attributes, int fd, const char *path);
void acr_vcs_attributes_free(AcrVcsAttributes *attributes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrVcsAttributes, acr_vcs_attributes_free)
/* Returns the meaning of a path's `diff` attribute. O(rules * (pattern * path)). */
AcrVcsDiffKind acr_vcs_attributes_diff(const AcrVcsAttributes *attributes, const char *path);
/* True if git stores the file with LF where the working tree has CR LF. */
bool acr_vcs_attributes_converts(const AcrVcsAttributes *attributes, const char *path);

/* Returns `content` with each CR LF replaced by LF; owned; NULL if the content is binary, or if not
 * all of its lines end in CR LF. */
GBytes *acr_vcs_crlf_to_lf(GBytes *content) ACR_MUST_USE;
GBytes *acr_vcs_lf_to_crlf(GBytes *content) ACR_MUST_USE; /* inverse of acr_vcs_crlf_to_lf; owned */
