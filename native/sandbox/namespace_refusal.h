/* Private to sandbox: why this machine refuses a user namespace, and what its owner can do. */
#ifndef ACR_SANDBOX_NAMESPACE_REFUSAL_H
#define ACR_SANDBOX_NAMESPACE_REFUSAL_H

#include "base/base.h"

/*
 * The cause and the remedy in one line; owned (g_free). `root`: where the machine's /proc, /run and
 * so on are, "" for this machine. `err`: the errno of the failed step.
 */
char *acr_namespace_refusal(const char *root, int err) ACR_MUST_USE;

#endif
