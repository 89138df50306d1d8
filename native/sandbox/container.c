#include "sandbox/sandbox_private.h"
static bool open_backend(AcrSandbox *sandbox, GError **error)
{
    return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE, "not there yet");
}
static void close_backend(AcrSandbox *sandbox)
{
}
const AcrSandboxBackend acr_sandbox_container = {"container", open_backend, NULL, NULL,
                                                 close_backend};
