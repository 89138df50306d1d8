/* Defines the error domain of base, helpers that set an error and return false or NULL, and the
 * conversion of an errno to an error. Callers branch on "not found" and "no space"; all other
 * errors are only shown to the user. */
#include "base/base_private.h"

#include <errno.h>

G_DEFINE_QUARK(acr_base_error, acr_base_error)

static AcrBaseError code_of(int err)
{
    switch (err) {
    case ENOENT:
        return ACR_BASE_ERROR_NOT_FOUND;
    case ENOSPC:
    case EDQUOT:
    case EROFS:
        return ACR_BASE_ERROR_NO_SPACE;
    default:
        return ACR_BASE_ERROR_FAILED;
    }
}

bool acr_set_error(GError **error, GQuark domain, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_propagate_error(error, g_error_new_valist(domain, code, format, args));
    va_end(args);
    return false;
}

bool acr_pass_error(GError **error, GError **from)
{
    g_propagate_error(error, g_steal_pointer(from));
    return false;
}

bool acr_base_fail(GError **error, int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    return acr_set_error(error, ACR_BASE_ERROR, code_of(err), "%s: %s", what, g_strerror(err));
}
