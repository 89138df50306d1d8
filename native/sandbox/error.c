/* The error domain of sandbox, and a function that sets errors from errno. */
#include "sandbox/sandbox_private.h"

G_DEFINE_QUARK(acr_sandbox_error_quark, acr_sandbox_error)

bool acr_sandbox_fail_errno(GError **error, int err, const char *what, const char *path)
{
    return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED, "%s '%s': %s", what, path,
                            g_strerror(err));
}
