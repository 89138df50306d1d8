/*
 * The backend "plain": a copy of the tree in a folder of the store, limits, an environment of its
 * own, and a helper that ends what the command leaves. It isolates nothing: a command reads and
 * writes what its user can. For machines where nothing else works, and only when it is asked for by
 * name. A copy is kept for the next execution, and mended after each.
 */
#include "sandbox/sandbox_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_COPIES 64u /* of one tree, for executions at the same time; more of them wait */

typedef struct {
    char *made; /* folder of the store with the set-up's tree and home; NULL: there was none */
    /* Where the set-up ran, and each execution runs after it: what it made may name this folder. */
    char *place;
} State;

static bool open_backend(AcrSandbox *sandbox, GError **error)
{
    sandbox->state = g_new0(State, 1);
    if (!acr_sandbox_python_find(sandbox->given_python, sandbox->work_tree, sandbox->snapshot,
                                 &sandbox->python, error))
        return false;
    acr_sandbox_remark(sandbox,
                       "the sandbox 'plain' isolates nothing: what runs in it can read and "
                       "write what you can, and use the network");
    return true;
}

static void state_free(State *state)
{
    g_free(state->made);
    g_free(state->place);
    g_free(state);
}

static void close_backend(AcrSandbox *sandbox)
{
    if (sandbox->state)
        state_free(sandbox->state);
}

/* Writes what is not there yet of the tree and a home: the set-up's, or the snapshot's. */
static bool fill(void *ctx, const char *dir, GError **error)
{
    AcrSandbox *sandbox = ctx;
    const State *state = sandbox->state;
    if (state->made)
        return acr_tree_copy(state->made, dir, error);
    g_autofree char *home = g_build_filename(dir, ACR_SANDBOX_HOME, NULL);
    return acr_tree_folder(home, 0700, error) && acr_sandbox_fill_tree(sandbox, dir, -1, error);
}

/* What names the tree by the path that callers know names the copy. */
static void point_to(GPtrArray *env, const char *mount, const char *tree)
{
    for (guint i = 0; i < env->len; i++) {
        g_auto(GStrv) parts = NULL;
        char *entry = env->pdata[i];

        if (!entry || !g_str_has_prefix(entry, "PYTHONPATH="))
            continue;
        parts = g_strsplit(entry, mount, -1);
        env->pdata[i] = g_strjoinv(tree, parts);
        g_free(entry);
    }
}

/* What the command wrote or removed in the tree; NULL: not known. */
static char **changed_files(AcrCopy *copy, const char *tree, const GPtrArray *laid)
{
    g_autoptr(GError) reason = NULL;
    const GPtrArray *changed = acr_copy_changed(copy, &reason);
    ACR_AUTO_FD root = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (!changed || root < 0)
        return NULL;
    GPtrArray *paths = g_ptr_array_new();
    for (guint i = 0; i < changed->len && paths->len < ACR_SANDBOX_MAX_CHANGED; i++) {
        const char *path = changed->pdata[i];
        if (g_str_has_prefix(path, ACR_SANDBOX_TREE "/") &&
            !acr_sandbox_is_as_laid(root, path + strlen(ACR_SANDBOX_TREE "/"), laid))
            g_ptr_array_add(paths, g_strdup(path + strlen(ACR_SANDBOX_TREE "/")));
    }
    return acr_sandbox_sorted(paths);
}

/* `copy` NULL: what was changed is not asked for. */
static bool run_in(AcrSandbox *sandbox, const char *dir, AcrCopy *copy,
                   const AcrExecution *execution, AcrExecuted *out, GError **error)
{
    g_autofree char *tree = g_build_filename(dir, ACR_SANDBOX_TREE, NULL),
                    *home = g_build_filename(dir, ACR_SANDBOX_HOME, NULL);
    g_auto(AcrHelperSpec) spec;
    acr_helper_spec_init(&spec);
    spec.is_plain = true;
    spec.parent = getpid();
    spec.files_at = g_strdup(tree);
    spec.cwd = g_strdup(tree);
    spec.cpu_s = execution->limits.cpu_s;
    spec.file_bytes = execution->limits.disk_bytes;
    acr_sandbox_env(sandbox, home, execution, spec.env);
    point_to(spec.env, sandbox->mount, tree);
    for (gsize i = 0; execution->argv[i]; i++)
        g_ptr_array_add(spec.argv, g_strdup(execution->argv[i]));
    if (!acr_sandbox_changes(sandbox, execution, spec.files, error))
        return false;
    g_auto(AcrHelperRun)
        helper = {.sandbox = sandbox, .execution = execution, .spec = &spec, .disk = dir};
    if (!acr_helper_run(&helper, out, error))
        return false;
    out->dir = acr_path_real(tree);
    out->changed = copy && execution->tell_changed ? changed_files(copy, tree, spec.files) : NULL;
    return true;
}

static void discard(AcrSandbox *sandbox, const char *dir)
{
    g_autoptr(GError) left = NULL;
    if (!acr_layers_discard(sandbox->store, dir, &left))
        acr_sandbox_remark(sandbox, "a copy of the tree could not be removed: %s", left->message);
}

/* A copy that nobody else uses: that of the set-up, which has one place, or one of several. */
static char *claim_copy(AcrSandbox *sandbox, GError **error)
{
    const State *state = sandbox->state;
    if (state->place)
        return acr_layers_claim(sandbox->store, state->place, true, error);
    g_autofree char *tree = acr_snapshot_digest(sandbox->snapshot);
    for (guint i = 0; i < MAX_COPIES; i++) {
        g_autoptr(GError) reason = NULL;
        g_autofree char *key = g_strdup_printf("%s-%u-%u", tree, geteuid(), i);
        char *dir = acr_layers_claim(sandbox->store, key, i + 1 == MAX_COPIES, &reason);
        if (reason)
            g_propagate_error(error, g_steal_pointer(&reason));
        if (dir || reason)
            return dir;
    }
    return NULL;
}

/* A copy that is whole; what is in the way of that is set aside with the one that it is in. NULL
 * with an error. */
static AcrCopy *take_copy(AcrSandbox *sandbox, char **out_dir, GError **error)
{
    for (guint tries = 2;; tries--) {
        g_autoptr(GError) reason = NULL;
        g_autofree char *dir = claim_copy(sandbox, error);
        if (!dir)
            return NULL;
        g_autofree char *record = acr_layers_record(dir);
        AcrCopy *copy = acr_copy_new(dir, record);
        if (acr_copy_mend(copy, fill, sandbox, &reason)) {
            *out_dir = g_steal_pointer(&dir);
            return copy;
        }
        acr_copy_free(copy);
        discard(sandbox, dir);
        if (tries == 1) {
            g_propagate_error(error, g_steal_pointer(&reason));
            return NULL;
        }
    }
}

static bool run(AcrSandbox *sandbox, const AcrExecution *execution, AcrExecuted *out,
                GError **error)
{
    g_autofree char *dir = NULL;
    g_autoptr(AcrCopy) copy = take_copy(sandbox, &dir, error);
    g_autoptr(GError) reason = NULL;
    if (!copy)
        return false;
    acr_sandbox_tell_left_out(sandbox, dir);
    bool ok = run_in(sandbox, dir, copy, execution, out, error);
    if (acr_copy_mend(copy, fill, sandbox, &reason))
        acr_layers_release(sandbox->store, dir);
    else
        discard(sandbox, dir);
    return ok;
}

/* ---- Set-up ---- */

static bool run_setup(AcrSandbox *sandbox, const char *dir, GError **error)
{
    const char *const argv[] = {"/bin/sh", "-c", sandbox->setup, NULL};
    AcrExecution execution = {.argv = argv, .limits = acr_sandbox_setup_limits(sandbox)};
    g_auto(AcrExecuted) executed = {0};
    return run_in(sandbox, dir, NULL, &execution, &executed, error) &&
           acr_sandbox_setup_check(sandbox, &executed, error);
}

/* The place of the set-up, as a folder that nobody is in yet: what is left of a set-up that was
 * killed may write to the one before. */
static char *claim_new_place(AcrSandbox *sandbox, GError **error)
{
    const State *state = sandbox->state;
    g_autofree char *used = acr_layers_claim(sandbox->store, state->place, true, error);
    if (!used)
        return NULL;
    discard(sandbox, used);
    return acr_layers_claim(sandbox->store, state->place, true, error);
}

/* Runs the set-up in the place of its executions, and keeps a copy of what it made. */
static bool make_layer(void *ctx, const char *dir, GError **error)
{
    AcrSandbox *sandbox = ctx;
    g_autofree char *place = claim_new_place(sandbox, error);
    if (!place)
        return false;
    bool ok = fill(sandbox, place, error) && run_setup(sandbox, place, error) &&
              acr_tree_open_up(place, error) && acr_tree_copy(place, dir, error);
    discard(sandbox, place);
    return ok;
}

static bool set_up(AcrSandbox *sandbox, GError **error)
{
    State *state = sandbox->state;
    g_autofree char *tree = acr_snapshot_digest(sandbox->snapshot);
    g_autofree char *key =
        g_strdup_printf("layer-%.24s-copy-%s-%u", sandbox->digest, tree, geteuid());
    g_free(state->place);
    state->place = g_strdup(key);
    state->made = acr_layers_get(sandbox->store, key, make_layer, sandbox, error);
    return state->made != NULL;
}

const AcrSandboxBackend acr_sandbox_plain = {"plain", open_backend, set_up,
                                             run,     NULL,         close_backend};
