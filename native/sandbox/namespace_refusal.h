/* Private to sandbox: why this machine refuses a user namespace, and what its owner can do about it. */
#ifndef ACR_SANDBOX_NAMESPACE_REFUSAL_H
#define ACR_SANDBOX_NAMESPACE_REFUSAL_H

#include "base/base.h"

/*
 * The cause and the remedy in one line; owned (g_free). `root`: where the machine's /proc, /run and the
 * like are looked for, "" of this machine. `err`: the errno of the step that failed.
 */
char *acr_namespace_refusal(const char *root, int err) ACR_MUST_USE;

#endif
