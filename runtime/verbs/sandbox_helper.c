/* acr-host sandbox-helper: the process between this program and a command in the sandbox. Hidden,
 * because users never call it; it does nothing without the descriptors that the program passes. */
#include "verbs/verbs_private.h"

#include "sandbox/sandbox.h"

static int start_sandbox_helper(AcrHost *host, int argc, char **argv)
{
    return acr_sandbox_helper(host->interrupt);
}

const AcrVerb acr_verb_sandbox_helper = {.name = ACR_SANDBOX_VERB, .start = start_sandbox_helper};
