/*
 * The options of verbs that run code, and the sandbox that they describe.
 */
#include "verbs/verbs_private.h"

#include <string.h>

void acr_code_options_clear(AcrCodeOptions *options)
{
    g_clear_pointer(&options->sandbox, g_free);
    g_clear_pointer(&options->image, g_free);
    g_clear_pointer(&options->python, g_free);
    g_clear_pointer(&options->setup, g_free);
    g_clear_pointer(&options->setup_timeout, g_free);
}

bool acr_code_options_check(AcrCodeOptions *options, const char *verb)
{
    if (options->setup && !*options->setup)
        acr_verb_usage(verb, "--setup is empty");
    else if (options->setup_network && !options->setup)
        acr_verb_usage(verb, "--setup-network needs --setup");
    else if (options->setup_timeout && !options->setup)
        acr_verb_usage(verb, "--setup-timeout needs --setup");
    else if (!acr_seconds_check(verb, "setup-timeout", options->setup_timeout, &options->setup_ms))
        return false;
    else if (options->image && options->sandbox && strcmp(options->sandbox, "container") != 0)
        acr_verb_usage(verb, "--image needs the sandbox container, not %s", options->sandbox);
    else {
        char *python = options->python;
        if (python && strchr(python, '/')) { /* a name is looked up in PATH */
            options->python = g_canonicalize_filename(python, NULL);
            g_free(python);
        }
        return true;
    }
    return false;
}

void acr_code_options_to_argv(const AcrCodeOptions *options, GPtrArray *argv)
{
    const struct {
        const char *name, *value;
    } rows[] = {{"sandbox", options->sandbox},
                {"image", options->image},
                {"python", options->python},
                {"setup", options->setup},
                {"setup-timeout", options->setup_timeout}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].value)
            g_ptr_array_add(argv, g_strdup_printf("--%s=%s", rows[i].name, rows[i].value));
    if (options->setup_network)
        g_ptr_array_add(argv, g_strdup("--setup-network"));
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
        .setup_ms = given->setup_ms,
        .image = given->image,
        .cache = cache,
        .exe = program->exe,
        .interrupt = program->interrupt,
    };
    return acr_sandbox_open(&options, error);
}
