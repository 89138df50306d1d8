/* The error domain, and errors in its form. */
#include "sandbox/error.h"

#include <stdarg.h>

G_DEFINE_QUARK(acr_sandbox_error_quark, acr_sandbox_error)

bool acr_sandbox_fail(GError **error, AcrSandboxError code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error_literal(error, ACR_SANDBOX_ERROR, code, message);
    return false;
}

bool acr_sandbox_fail_errno(GError **error, int err, const char *what, const char *path)
{
    return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED, "%s '%s': %s", what, path,
                            g_strerror(err));
}
