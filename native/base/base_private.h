#pragma once

#include "base/base.h"

/* Sets the error "<format>: <reason>". The format says which action failed; the reason is the text
 * of `err` (an errno). ENOENT becomes NOT_FOUND; ENOSPC, EDQUOT and EROFS become NO_SPACE; the rest
 * FAILED. Returns false, so that a caller can write `return acr_base_fail(…)`. */
bool acr_base_fail(GError **error, int err, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Checks the strings, numbers and ceilings of a JSON text; cJSON checks the structure.
 *   out_repaired  owned; NULL if cJSON can parse the text unchanged, otherwise a copy in which
 *                 escapes and numbers that cJSON would misread are replaced.
 * Errors: MALFORMED (with the byte offset), TOO_BIG. */
bool acr_json_check(const char *text, gsize len, GString **out_repaired,
                    GError **error) ACR_MUST_USE;

/* Returns the value of a number; 0 for other types. */
double acr_json_double(const AcrJson *json);

#define ACR_N_STANDARD_FDS 3
/* Moves a descriptor to a number that is at least `n`, because the child's descriptors get the
 * lower numbers. Returns -1 and sets errno on failure. */
int acr_fd_above(int fd, gsize n);

/* Starts a process in a group of its own. `fds` (at least three) become its descriptors 0, 1, 2, …;
 * in this process they must all be `n_fds` or higher. The child inherits no other descriptor, no
 * signal disposition and no signal mask. If `envp` or `cwd` is NULL, the child gets that of this
 * process. Returns 0 or an errno. */
int acr_child_start(const char *const *argv, const char *const *envp, const char *cwd,
                    const int *fds, gsize n_fds, pid_t *out_pid) ACR_MUST_USE;
