/*
 * What search, patch and index share: the options that name a repository, and opening it.
 */
#include "verbs/verbs_private.h"

void acr_repo_options_clear(AcrRepoOptions *options)
{
    g_clear_pointer(&options->repo, g_free);
    g_clear_pointer(&options->rev, g_free);
    acr_indexing_options_clear(&options->indexing);
}

bool acr_repo_options_parse(const AcrVerb *verb, const char *arguments, const GOptionEntry *own,
                            AcrRepoOptions *options, int *argc, char ***argv, int *out_exit)
{
    const GOptionEntry entries[] = {
        {"repo", 'r', 0, G_OPTION_ARG_FILENAME, &options->repo, "The repository", "DIR"},
        {"rev", 0, 0, G_OPTION_ARG_FILENAME, &options->rev,
         "Commit to look at (default: the working tree as it lies)", "REV"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "One JSON object for each result", NULL},
        {"verbose", 'v', 0, G_OPTION_ARG_NONE, &options->verbose,
         "Name each file that cannot be parsed, and why", NULL},
        ACR_INDEXING_ENTRIES(&options->indexing),
        G_OPTION_ENTRY_NULL,
    };
    g_autofree GOptionEntry *all = acr_options_join(own, entries);
    if (!acr_options_parse(verb, arguments, all, argc, argv, out_exit))
        return false;
    *out_exit = ACR_EXIT_USAGE;
    return acr_indexing_options_check(&options->indexing, verb->name);
}

bool acr_repo_options_check(const AcrRepoOptions *options, const AcrVerb *verb)
{
    if (!options->repo)
        acr_verb_usage(verb->name, "--repo is missing");
    return options->repo;
}

static void say_unparsed(const AcrVerb *verb, const AcrIndex *index)
{
    for (gsize i = 0; i < acr_index_n_files(index); i++) {
        const AcrIndexFile *file = acr_index_file(index, i);
        if (file->unparsed)
            acr_verb_say(verb->name, "'%s' counts as text only: %s", file->path, file->unparsed);
    }
}

bool acr_repo_options_begin(const AcrProgram *program, const AcrVerb *verb, AcrRepoOptions *options,
                            AcrWorkspace *out, GError **error)
{
    AcrHost host = acr_verb_host(program, &options->indexing, NULL);
    if (!acr_workspace_begin(options->repo, options->rev, &host, out, error))
        return false;
    if (acr_snapshot_remarks(out->snapshot))
        acr_verb_say(verb->name, "%s", acr_snapshot_remarks(out->snapshot));
    return true;
}

bool acr_repo_options_index(const AcrProgram *program, const AcrVerb *verb, AcrRepoOptions *options,
                            AcrWorkspace *workspace, GError **error)
{
    AcrHost host = acr_verb_host(program, &options->indexing, NULL);
    if (!acr_workspace_index(workspace, &host, NULL, error))
        return false;
    if (workspace->remark)
        acr_verb_say(verb->name, "%s", workspace->remark);
    if (options->verbose && !options->json)
        say_unparsed(verb, workspace->index);
    return true;
}

bool acr_repo_options_open(const AcrProgram *program, const AcrVerb *verb, AcrRepoOptions *options,
                           AcrWorkspace *out, GError **error)
{
    g_auto(AcrWorkspace) workspace = {0};
    if (!acr_repo_options_begin(program, verb, options, &workspace, error) ||
        !acr_repo_options_index(program, verb, options, &workspace, error))
        return false;
    *out = workspace;
    workspace = (AcrWorkspace){0};
    return true;
}
