/*
 * acr-host sandbox-helper: what stands between this program and a command in the sandbox. It is
 * never called by hand, so it is not listed; without the descriptors that the program gives it, it
 * does nothing.
 */
#include "verbs/verbs_private.h"

#include "sandbox/sandbox.h"

static int run(const AcrProgram *program, int argc, char **argv)
{
    return acr_sandbox_helper(program->interrupt);
}

const AcrVerb acr_verb_sandbox_helper = {ACR_SANDBOX_VERB, NULL, run};
