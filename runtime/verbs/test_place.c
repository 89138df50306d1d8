/* Decides where a project's tests run, for `tests` and `localize`: in a repository, or in the tree
 * of a benchmark task, in the task's environment. */
#include "verbs/test_place.h"

#include <string.h>

#include "verbs/grading.h"

void acr_test_place_clear(AcrTestPlace *place)
{
    char **const texts[] = {&place->work_tree, &place->python, &place->cache, &place->baselines,
                            &place->environment};
    acr_sandbox_free(place->sandbox);
    acr_referee_worker_free(place->worker);
    acr_grading_plan_clear(&place->plan);
    acr_workspace_clear(&place->workspace);
    acr_set_up_clear(&place->set_up);
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_clear_pointer(texts[i], g_free);
}

static bool check_test_place(const AcrRunSpec *spec, GError **error)
{
    bool in_environment = g_strcmp0(spec->sandbox, ACR_IN_ENVIRONMENT) == 0;
    if (!spec->dataset &&
        (spec->instances || spec->repos || in_environment || spec->has_hidden_tests))
        return acr_task_refuse(
            error, "--instance, --repos, --hidden-tests and --sandbox " ACR_IN_ENVIRONMENT
                   " need --dataset");
    if (!spec->dataset)
        return true;
    if (!spec->instances || g_strv_length(spec->instances) != 1 || !spec->repos)
        return acr_task_refuse(error, "--dataset needs one --instance, and --repos");
    if (spec->repo || spec->rev || spec->python || spec->setup || spec->image ||
        (spec->sandbox && !in_environment))
        return acr_task_refuse(error,
                               "--dataset sets the repository and its environment; leave out "
                               "--repo, --rev, --python, --setup, --image and --sandbox");
    return true;
}

/* ---- --environment ---- */

static bool check_recipe_options(const AcrRunSpec *spec, GError **error)
{
    bool is_elsewhere = spec->sandbox && strcmp(spec->sandbox, ACR_IN_BUBBLEWRAP) != 0;
    if (!spec->dataset && !spec->setup && !spec->image && !is_elsewhere)
        return true;
    return acr_task_refuse(
        error, "--environment sets the Python and the set-up of the sandbox '" ACR_IN_BUBBLEWRAP
               "'; leave out --dataset, --setup, --image and --sandbox");
}

static bool find_recipe(AcrHost *host, const AcrRunSpec *spec, AcrGradingPlan *out, char **out_name,
                        GError **error)
{
    g_autoptr(AcrRefereeWorker) worker =
        acr_referee_worker_new(host->exe, ACR_REFEREE_VERB, host->interrupt);
    g_autoptr(AcrRepo) repo = acr_repo_open(spec->repo, error);
    g_autoptr(AcrSnapshot) snapshot = repo ? acr_workspace_snapshot(repo, spec->rev, error) : NULL;
    return snapshot &&
           acr_project_find_recipe(worker, snapshot, spec->environment, out, out_name, error);
}

bool acr_verb_take_environment(AcrHost *host, AcrRunSpec *spec, GError **error)
{
    g_auto(AcrGradingPlan) plan = {0};
    g_autofree char *name = NULL;
    if (!spec->environment)
        return true;
    if (!check_recipe_options(spec, error) || !find_recipe(host, spec, &plan, &name, error))
        return false;
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    g_autofree char *line = g_strdup_printf("creating the environment of %s", name);
    gint64 deadline_us = spec->max_ms > 0 ? g_get_monotonic_time() + spec->max_ms * 1000 : 0;
    acr_console_await(console, line);
    spec->python = acr_eval_environment(host, NULL, NULL, &plan, deadline_us, error);
    acr_console_end(console);
    if (!spec->python) {
        g_prefix_error(error, "--environment: %s: ", name);
        return false;
    }
    if (!spec->quiet)
        acr_verb_say("--environment: %s, with Python %s", name, plan.python);
    spec->setup = *plan.install ? g_strdup(plan.install) : NULL;
    /* a recipe's test command must not enable regression checks; only the user's options do */
    if (!spec->test_command && spec->regressions == ACR_UNSET)
        spec->regressions = ACR_VERIFY_NEVER;
    if (!spec->test_command)
        spec->test_command = g_strdup(plan.test);
    return true;
}

/* ---- Where tests run ---- */

/* Finds the tree and the environment of a benchmark task. */
static bool find_task(AcrHost *host, const AcrRunSpec *spec, AcrTestPlace *place, GError **error)
{
    AcrWorkspace *workspace = &place->workspace;
    const char *const *only = (const char *const *)spec->instances;
    g_autoptr(GPtrArray) tasks = acr_dataset_load(host, spec, ACR_DATASET_GRADE, only, error);
    if (!tasks)
        return false;
    const AcrInstance *task = tasks->pdata[0];
    g_autofree char *recipes = NULL;
    g_autofree char *path = acr_dataset_repo(spec->repos, task->repo);
    if (!path || !task->base_commit)
        return acr_task_refuse(error, "'%s' is not in '%s', or lacks the task's commit", task->repo,
                               spec->repos);
    workspace->python = acr_python_new(host->python_dir, error);
    if (!workspace->python || !acr_verb_read_recipes(spec, &recipes, error) ||
        !acr_verb_check_recipes(workspace->python, spec, recipes, error) ||
        !acr_grading_plan_environment(workspace->python, task->row, 5, recipes, &place->plan,
                                      error))
        return false;
    workspace->repo = acr_repo_open(path, error);
    workspace->snapshot =
        workspace->repo ? acr_workspace_snapshot(workspace->repo, task->base_commit, error) : NULL;
    place->python =
        workspace->snapshot ? acr_eval_environment(host, NULL, task, &place->plan, 0, error) : NULL;
    return place->python != NULL;
}

static bool find_tree(const AcrRunSpec *spec, AcrTestPlace *place, GError **error)
{
    AcrWorkspace *workspace = &place->workspace;
    workspace->repo = acr_repo_open(spec->repo, error);
    workspace->snapshot =
        workspace->repo ? acr_workspace_snapshot(workspace->repo, spec->rev, error) : NULL;
    const char *folder = workspace->snapshot ? acr_repo_workdir(workspace->repo) : NULL;
    place->work_tree = folder ? acr_path_real(folder) : NULL;
    return workspace->snapshot && acr_task_check_named(spec, place->work_tree, error);
}

bool acr_test_place_open(AcrHost *host, const AcrRunSpec *spec, AcrTestPlace *place, GError **error)
{
    bool is_task = spec->dataset != NULL;
    if (!check_test_place(spec, error) ||
        !(is_task ? find_task(host, spec, place, error) : find_tree(spec, place, error)))
        return false;
    const char *left_out = acr_snapshot_remarks(place->workspace.snapshot);
    if (left_out)
        acr_verb_say("%s", left_out);
    place->cache = acr_host_default_cache(ACR_CACHE_SANDBOX);
    place->baselines = acr_task_baselines();
    AcrSandboxOptions options = acr_sandbox_options_of(spec, host, place->workspace.snapshot,
                                                       place->work_tree, place->cache);
    if (is_task) {
        options.backend = ACR_IN_BUBBLEWRAP;
        options.python = place->python;
        options.setup = *place->plan.install ? place->plan.install : NULL;
    }
    place->worker = acr_referee_worker_new(host->exe, ACR_REFEREE_VERB, host->interrupt);
    place->sandbox = acr_project_open_sandbox(&options, place->worker, &place->set_up, error);
    place->environment = acr_task_test_environment(&options);
    if (place->set_up.command)
        acr_verb_say(ACR_SET_UP_LINE, place->set_up.command, place->set_up.why);
    return place->sandbox != NULL;
}

AcrProject acr_test_place_project(const AcrTestPlace *place, const AcrHost *host,
                                  const AcrRunSpec *spec)
{
    AcrProject project = acr_task_project(spec, host);
    project.sandbox = place->sandbox;
    project.snapshot = place->workspace.snapshot;
    project.worker = place->worker;
    project.cache = spec->no_cache ? NULL : place->baselines;
    project.environment = place->environment;
    if (!project.command)
        project.command = spec->has_hidden_tests ? place->plan.hidden_test : place->plan.test;
    return project;
}

static void await_tests(void *ctx, const char *command)
{
    g_autofree char *line = g_strconcat("running ", command, NULL);
    acr_console_await(ctx, line);
}

void acr_test_place_show(AcrProject *project, AcrConsole *console)
{
    gint64 last_ms = acr_project_last_ms(project->cache, project->place);
    g_autofree char *time = acr_time_text(last_ms),
                    *line = g_strconcat("finding the command that runs the tests",
                                        last_ms < 0 ? NULL : "; the tests took ", time,
                                        " last time", NULL);
    acr_console_await(console, line);
    project->on_run = await_tests;
    project->ctx = console;
}

int acr_test_place_fail(AcrHost *host, const GError *error)
{
    int code = acr_verb_fail(host, error);
    if (code != ACR_EXIT_ENVIRONMENT)
        return code;
    if (g_error_matches(error, ACR_BATCH_ERROR, ACR_BATCH_ERROR_DATASET))
        return ACR_EXIT_USAGE;
    bool is_none = g_error_matches(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_NO_TESTS) ||
                   g_error_matches(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_NO_FAILURE);
    return is_none ? ACR_EXIT_NONE : code;
}
