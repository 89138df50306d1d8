/* acr-host reproduce: writes and runs a script that fails as long as the issue is not fixed, and
 * does nothing else. Prints the script on stdout, and writes it to the run folder. */
#include "verbs/verbs_private.h"

const AcrVerb acr_verb_reproduce = {
    .name = "reproduce",
    .summary = "Write a script that shows an issue, and print it",
    .takes = ACR_FOR_REPRODUCE,
    .uses_network = true,
    .run = acr_run_and_report,
};
