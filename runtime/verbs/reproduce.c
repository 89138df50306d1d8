/* acr-host reproduce: writes and runs a script that fails as long as the issue is not fixed; writes
 * no patch. Prints the script on stdout, and saves it in the run folder. */
#include "verbs/verbs_private.h"

const AcrVerb acr_verb_reproduce = {
    .name = "reproduce",
    .summary = "Write a script that reproduces an issue, and print it",
    .takes = ACR_FOR_REPRODUCE,
    .uses_network = true,
    .examples = {{"Write a script that shows an issue",
                  "reproduce --issue issue.md --model openai/gpt-4.1"}},
    .run = acr_run_and_report,
};
