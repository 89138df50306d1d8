/*
 * What all verbs that index share: where outlines are kept, how many processes make them.
 */
#include "verbs/verbs_private.h"

void acr_indexing_options_clear(AcrIndexingOptions *options)
{
    g_clear_pointer(&options->jobs_given, g_free);
    g_clear_pointer(&options->cache, g_free);
}

bool acr_indexing_options_check(AcrIndexingOptions *options, const char *verb)
{
    guint64 jobs = 0;
    if (options->jobs_given && !g_ascii_string_to_unsigned(options->jobs_given, 10, 1,
                                                           ACR_OUTLINE_MAX_JOBS, &jobs, NULL)) {
        acr_verb_usage(verb, "--jobs must be from 1 to %u, not '%s'", ACR_OUTLINE_MAX_JOBS,
                       options->jobs_given);
        return false;
    }
    options->jobs = (guint)jobs;
    return true;
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
                     .jobs = options->jobs,
                     .interrupt = program->interrupt,
                     .progress = progress};
}
