/*
 * What all verbs that index share: where outlines are kept, how many processes make them.
 */
#include "verbs/verbs_private.h"

void acr_indexing_options_clear(AcrIndexingOptions *options)
{
    g_clear_pointer(&options->cache, g_free);
}

bool acr_indexing_options_check(const AcrIndexingOptions *options, const char *verb)
{
    if (options->jobs >= 0 && options->jobs <= (int)ACR_OUTLINE_MAX_JOBS)
        return true;
    acr_verb_usage(verb, "--jobs must be from 1 to %u, not %d", ACR_OUTLINE_MAX_JOBS,
                   options->jobs);
    return false;
}

AcrHost acr_verb_host(const AcrProgram *program, AcrIndexingOptions *options,
                      const AcrProgress *progress)
{
    if (!options->no_cache && !options->cache)
        options->cache = acr_host_default_cache();
    return (AcrHost){.python_dir = program->python_dir,
                     .prompts_dir = program->prompts_dir,
                     .exe = program->exe,
                     .cache = options->cache,
                     .jobs = (guint)options->jobs,
                     .interrupt = program->interrupt,
                     .progress = progress};
}
