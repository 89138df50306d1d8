/* Private to sandbox: the helper's steps; each ends in an error of FAILED. */
#ifndef ACR_SANDBOX_HELPER_STEPS_H
#define ACR_SANDBOX_HELPER_STEPS_H

#include "sandbox/helper_spec.h"

/* Namespaces, the stage and its mounts; *out_stage is a descriptor of the stage (owned). */
bool acr_helper_mount(const AcrHelperSpec *spec, int *out_stage, GError **error) ACR_MUST_USE;
/* Refuses some calls of the kernel from now on, for good. */
bool acr_helper_refuse_calls(GError **error) ACR_MUST_USE;
/* Lays files into the folder `root`, no link followed, owned by `uid` (-1: nothing is changed). */
bool acr_helper_write_files(int root, const GPtrArray *files, gint64 uid,
                            GError **error) ACR_MUST_USE;
/* Sends the host a message: 'E', an AcrSandboxError as a digit, and what went wrong; or 'X' and the
 * command's status as wait() gives it. */
void acr_helper_send(const char *message);
/* Runs the command of a spec, ends all that it left, and tells how it ended. The exit code of the
 * helper, or -1 with an error. */
int acr_helper_supervise(const AcrHelperSpec *spec, GError **error) ACR_MUST_USE;

#endif
