/* Private to sandbox: how its files report errors. Both functions set an error and return false,
 * for `return`. */
#ifndef ACR_SANDBOX_ERROR_H
#define ACR_SANDBOX_ERROR_H

#include "sandbox/sandbox.h"

#define acr_sandbox_fail(error, code, ...)                                                         \
    acr_set_error(error, ACR_SANDBOX_ERROR, code, __VA_ARGS__)
/* Sets FAILED with "WHAT 'PATH': " and the text of an errno. */
bool acr_sandbox_fail_errno(GError **error, int err, const char *what, const char *path);

#endif
