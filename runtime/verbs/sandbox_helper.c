/*
 * acr-host sandbox-helper: what stands between this program and a command in the sandbox. It is
 * never called by hand, so it is not listed; without the descriptors that the program gives it, it
 * does nothing.
 */
#include "verbs/verbs_private.h"

#include "sandbox/sandbox.h"

static int start_sandbox_helper(AcrHost *host, int argc, char **argv)
{
    return acr_sandbox_helper(host->interrupt);
}

const AcrVerb acr_verb_sandbox_helper = {.name = ACR_SANDBOX_VERB, .start = start_sandbox_helper};
