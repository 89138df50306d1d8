/*
 * The options of verbs that run code, and the sandbox that they describe.
 */
#include "verbs/verbs_private.h"

void acr_code_options_clear(AcrCodeOptions *options)
{
    g_clear_pointer(&options->sandbox, g_free);
    g_clear_pointer(&options->image, g_free);
    g_clear_pointer(&options->python, g_free);
    g_clear_pointer(&options->setup, g_free);
}

/* Where the project lies on this machine, without links; NULL: nowhere, as of a bare repository. */
static char *find_work_tree(const AcrRepo *repo)
{
    const char *path = acr_repo_is_git(repo) ? acr_repo_workdir(repo) : acr_repo_path(repo);
    return path ? acr_path_real(path) : NULL;
}

AcrSandbox *acr_code_options_open(const AcrCodeOptions *given, const AcrProgram *program,
                                  const AcrRepo *repo, AcrSnapshot *snapshot, GError **error)
{
    g_autofree char *work_tree = find_work_tree(repo), *cache = acr_host_default_sandbox_cache();
    AcrSandboxOptions options = {
        .backend = given->sandbox,
        .snapshot = snapshot,
        .mount = work_tree,
        .work_tree = work_tree,
        .python = given->python,
        .setup = given->setup,
        .setup_network = given->setup_network,
        .image = given->image,
        .cache = cache,
        .exe = program->exe,
        .interrupt = program->interrupt,
    };
    return acr_sandbox_open(&options, error);
}
