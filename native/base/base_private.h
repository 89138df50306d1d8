/* What the files of base share with one another and nobody else. */
#ifndef ACR_BASE_PRIVATE_H
#define ACR_BASE_PRIVATE_H

#include "base/base.h"

/*
 * Sets an error that says what was tried and why `err` (an errno) forbade it: "<format>: <reason>".
 * ENOENT gives NOT_FOUND; ENOSPC, EDQUOT and EROFS give NO_SPACE; the rest FAILED. Returns false,
 * for `return`.
 */
bool acr_base_fail(GError **error, int err, const char *format, ...) G_GNUC_PRINTF(3, 4);

/*
 * Checks the strings, numbers and ceilings of a JSON text; its structure is cJSON's to check.
 *   out_repaired  owned; NULL when the text can be parsed as it is, else a text in which escapes and
 *                 numbers that cJSON would misread are replaced.
 * Errors: MALFORMED (with the byte offset), TOO_BIG.
 */
bool acr_json_check(const char *text, gsize len, GString **out_repaired,
                    GError **error) ACR_MUST_USE;

/* The value of a number; 0 for other types. */
double acr_json_double(const AcrJson *json);

#define ACR_N_STANDARD_FDS 3
/* Moves a descriptor out of the first `n`, those that a child gets; -1 with errno. */
int acr_fd_above(int fd, gsize n);

/*
 * Starts a process in a group of its own whose descriptors from 0 on are `fds`, at least three; all
 * of them must be `n_fds` or higher here. It inherits no other descriptor, and no signal
 * disposition or mask. `envp` and `cwd` may be NULL: this process's. Returns 0 or an errno.
 */
int acr_child_start(const char *const *argv, const char *const *envp, const char *cwd,
                    const int *fds, gsize n_fds, pid_t *out_pid) ACR_MUST_USE;

#endif
