/* The table of verbs. */
#include "verbs/verbs.h"

#include <string.h>

#include "search/search.h"

const AcrVerb *const acr_verbs[] = {&acr_verb_run,
                                    &acr_verb_search,
                                    &acr_verb_patch,
                                    &acr_verb_index,
                                    &acr_verb_swe_bench,
                                    &acr_verb_merge,
                                    &acr_verb_watch,
                                    &acr_verb_eval,
                                    &acr_verb_runs,
                                    &acr_verb_replay,
                                    &acr_verb_ask,
                                    &acr_verb_reproduce,
                                    &acr_verb_exec,
                                    &acr_verb_mcp,
                                    &acr_verb_acp,
                                    &acr_verb_tests,
                                    &acr_verb_verify,
                                    &acr_verb_extensions,
                                    &acr_verb_localize,
                                    &acr_verb_config,
                                    &acr_verb_doctor,
                                    &acr_verb_report,
                                    &acr_verb_demo,
                                    &acr_verb_pr,
                                    &acr_verb_help,
                                    &acr_verb_describe,
                                    &acr_verb_batch_task,
                                    &acr_verb_outline_worker,
                                    &acr_verb_referee_worker,
                                    &acr_verb_extension_worker,
                                    &acr_verb_sandbox_helper,
                                    NULL};

const AcrVerb *acr_verb_find(const char *name)
{
    for (guint i = 0; acr_verbs[i]; i++)
        if (strcmp(acr_verbs[i]->name, name) == 0 || g_strcmp0(acr_verbs[i]->short_name, name) == 0)
            return acr_verbs[i];
    return NULL;
}

const char *acr_verb_nearest(const char *name)
{
    const char *names[G_N_ELEMENTS(acr_verbs) + 3] = {"help", "--help", "--version"};
    guint n = 3;
    for (guint i = 0; acr_verbs[i]; i++)
        if (acr_verbs[i]->summary)
            names[n++] = acr_verbs[i]->name;
    names[n] = NULL;
    return acr_nearest_name(name, names);
}
