/* Private to sandbox: the helper's steps; each ends in an error of FAILED. */
#ifndef ACR_SANDBOX_HELPER_STEPS_H
#define ACR_SANDBOX_HELPER_STEPS_H

#include "sandbox/helper_spec.h"

/* Namespaces, the stage and its mounts; *out_stage is a descriptor of the stage (owned). */
bool acr_helper_mount(const AcrHelperSpec *spec, int *out_stage, GError **error) ACR_MUST_USE;
/* How soon the kernel ends this process and what it starts from now on, up to 1000: first of all. */
void acr_helper_offer_to_end(const char *score);
/* Runs the command of a spec and ends all that it left; its status as wait() gives it. */
bool acr_helper_supervise(const AcrHelperSpec *spec, int *out_status, GError **error) ACR_MUST_USE;

#endif
