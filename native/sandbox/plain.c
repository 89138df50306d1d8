/* The backend "plain". Each execution gets a copy of the tree, limits, its own environment, and a
 * helper that kills the processes that the command leaves behind. The backend isolates nothing: a
 * command can read and write everything that its user can. It is for machines on which no other
 * backend works, and is used only if an option names it. */
#include "sandbox/helper_run.h"
#include "sandbox/sandbox_private.h"

#include <unistd.h>

typedef struct {
    /* cache folder with the tree and home that the set-up made; NULL if there was no set-up */
    char *made;
    /* name of the folder in which the set-up and all later executions run, because the set-up's
     * result may contain the path of that folder */
    char *place;
} State;

static bool open_plain(AcrSandbox *sandbox, GError **error)
{
    sandbox->state = g_new0(State, 1);
    if (!acr_sandbox_python_find(sandbox->options.python, sandbox->options.work_tree,
                                 sandbox->options.snapshot, &sandbox->python, error))
        return false;
    acr_sandbox_remark(sandbox, "the sandbox 'plain' isolates nothing: code in it can read and "
                                "write all your files and use the network");
    return true;
}

static void close_plain(AcrSandbox *sandbox)
{
    State *state = sandbox->state;
    ACR_FREE(state->made, state->place, state);
}

static void discard(AcrSandbox *sandbox, const char *dir)
{
    g_autoptr(GError) left = NULL;
    if (!acr_tree_cache_discard(sandbox->cache, dir, &left))
        acr_sandbox_remark(sandbox, "a copy of the tree could not be removed: %s", left->message);
}

/* Creates a folder with a copy of the tree and a home (from the set-up or from the snapshot);
 * returns its path, owned. If there was a set-up, uses the folder in which the set-up ran, which
 * only one process can use at a time. */
static char *make_copy(AcrSandbox *sandbox, GError **error)
{
    const State *state = sandbox->state;
    if (!acr_sandbox_need_base(sandbox, error))
        return NULL;
    g_autofree char *dir = state->place ? acr_tree_cache_place(sandbox->cache, state->place, error)
                                        : acr_tree_cache_scratch(sandbox->cache, error);
    g_autofree char *home = dir ? g_build_filename(dir, ACR_SANDBOX_HOME, NULL) : NULL;
    if (!dir)
        return NULL;
    if (acr_tree_folder(home, 0700, error) &&
        acr_tree_copy(state->made ? state->made : sandbox->base, dir, error))
        return g_steal_pointer(&dir);
    discard(sandbox, dir);
    return NULL;
}

/* Replaces the path `dir` in PYTHONPATH by `tree`, the path of the copy. */
static void point_to(GPtrArray *env, const char *dir, const char *tree)
{
    for (guint i = 0; i < env->len; i++) {
        g_auto(GStrv) parts = NULL;
        char *entry = env->pdata[i];

        if (!entry || !g_str_has_prefix(entry, "PYTHONPATH="))
            continue;
        parts = g_strsplit(entry, dir, -1);
        env->pdata[i] = g_strjoinv(tree, parts);
        g_free(entry);
    }
}

static bool copy_git(const AcrSandbox *sandbox, const char *tree, GError **error)
{
    g_autofree char *from = g_build_filename(sandbox->git, ACR_SANDBOX_GIT, NULL),
                    *to = g_build_filename(tree, ".git", NULL);
    return acr_tree_folder(to, 0755, error) && acr_tree_copy(from, to, error);
}

static bool run_in(AcrSandbox *sandbox, const char *dir, const AcrExecution *execution,
                   AcrExecuted *out, GError **error)
{
    g_autofree char *tree = g_build_filename(dir, ACR_SANDBOX_TREE, NULL),
                    *home = g_build_filename(dir, ACR_SANDBOX_HOME, NULL);
    g_auto(AcrHelperSpec) spec = {0};
    acr_helper_spec_init(&spec);
    spec.is_plain = true;
    spec.parent = getpid();
    spec.files_at = g_strdup(tree);
    spec.cwd = g_strdup(tree);
    spec.cpu_s = execution->limits.cpu_s;
    spec.file_bytes = execution->limits.disk_bytes;
    acr_sandbox_env(sandbox, home, execution, spec.env);
    point_to(spec.env, sandbox->dir, tree);
    for (gsize i = 0; execution->argv[i]; i++)
        g_ptr_array_add(spec.argv, g_strdup(execution->argv[i]));
    if (!acr_sandbox_changes(execution, spec.files, error) ||
        (execution->has_git && sandbox->git && !copy_git(sandbox, tree, error)))
        return false;
    g_autoptr(GHashTable) before = execution->tell_changed ? acr_tree_list(tree) : NULL,
                          after = NULL;
    g_auto(AcrHelperRun)
        helper = {.sandbox = sandbox, .execution = execution, .spec = &spec, .disk = dir};
    if (!acr_helper_run(&helper, out, error))
        return false;
    out->dir = acr_path_real(tree);
    after = before ? acr_tree_list(tree) : NULL;
    if (after) {
        acr_tree_drop_same(after, before);
        out->changed = acr_sandbox_changed(after, spec.files, acr_sandbox_is_as_laid, tree);
    }
    return true;
}

static bool run_plain(AcrSandbox *sandbox, const AcrExecution *execution, AcrExecuted *out,
                      GError **error)
{
    g_autofree char *dir = make_copy(sandbox, error);
    if (!dir)
        return false;
    bool ok = run_in(sandbox, dir, execution, out, error);
    discard(sandbox, dir);
    return ok;
}

/* Runs the set-up in the folder in which later executions will run, and copies the result to
 * `dir`. */
static bool make_layer(void *ctx, const char *dir, GError **error)
{
    AcrSandbox *sandbox = ctx;
    g_autofree char *place = make_copy(sandbox, error);
    if (!place)
        return false;
    g_autofree char *git = g_build_filename(place, ACR_SANDBOX_TREE, ".git", NULL);
    bool ok = acr_sandbox_run_setup(sandbox, run_in, place, error) &&
              (!sandbox->git || acr_dir_remove(git, error)) && acr_tree_open_up(place, error) &&
              acr_tree_copy(place, dir, error);
    discard(sandbox, place);
    return ok;
}

static bool set_up_plain(AcrSandbox *sandbox, GError **error)
{
    State *state = sandbox->state;
    g_autofree char *tree = acr_snapshot_digest(sandbox->options.snapshot);
    g_autofree char *key =
        g_strdup_printf("layer-%.24s-copy-%s-%u", sandbox->digest, tree, geteuid());
    g_free(state->place);
    state->place = g_strdup(key);
    state->made = acr_tree_cache_get(sandbox->cache, key, make_layer, sandbox, error);
    return state->made != NULL;
}

const AcrSandboxBackend acr_sandbox_plain = {ACR_IN_PLAIN, open_plain, set_up_plain, run_plain,
                                             NULL,         NULL,       close_plain};
