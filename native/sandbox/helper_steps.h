/* Private to sandbox: the helper's steps; their errors are FAILED. */
#ifndef ACR_SANDBOX_HELPER_STEPS_H
#define ACR_SANDBOX_HELPER_STEPS_H

#include "sandbox/helper_spec.h"

/* Makes namespaces, the stage and its mounts; *out_stage is a descriptor of the stage (owned). */
bool acr_helper_mount(const AcrHelperSpec *spec, int *out_stage, GError **error) ACR_MUST_USE;
/* Sets how readily the kernel kills this process, and those that it starts, when memory runs out;
 * up to 1000: before all others. */
void acr_helper_offer_to_end(const char *score);
/* Runs the command of a spec and kills all that it left behind; its status as from wait(). */
bool acr_helper_supervise(const AcrHelperSpec *spec, int *out_status, GError **error) ACR_MUST_USE;

#endif
