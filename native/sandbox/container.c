/*
 * The backend "container": an image holds the project and what it needs, and only changed files are
 * written into it. Each execution has a container of its own, which is removed with all that runs
 * in it. What the set-up has changed is kept as an image.
 */
#include <string.h>

#include "sandbox/engine.h"
#include "sandbox/sandbox_private.h"
#include "sandbox/tar.h"

#define SIGNAL_EXIT 128
#define SMALL_MS (30 * 1000)

typedef struct {
    AcrEngine *engine;
    char *image_id; /* of the user's image */
    char *image;    /* what containers are made of: the user's, or the set-up's */
} State;

static bool open_backend(AcrSandbox *sandbox, GError **error)
{
    State *state = sandbox->state = g_new0(State, 1);
    state->engine = acr_engine_open(sandbox->engine, sandbox->interrupt, error);
    if (!state->engine)
        return false;
    state->image_id = acr_engine_image(state->engine, sandbox->image, error);
    state->image = g_strdup(sandbox->image);
    if (!state->image_id)
        return false;
    acr_engine_sweep(state->engine);
    return true;
}

static void close_backend(AcrSandbox *sandbox)
{
    State *state = sandbox->state;
    if (!state)
        return;
    acr_engine_free(state->engine);
    g_free(state->image_id);
    g_free(state->image);
    g_free(state);
}

/* ---- One container ------------------------------------------------------------------------------
 */

/* The command, behind a shell where files are to be removed or input is to be read first: it takes
 * the paths up to "--". */
static const char *const wrapper =
    "while [ \"$1\" != -- ]; do rm -f -- \"$1\" || exit 125; shift; done; shift; "
    "if [ -e /.acr-host-input ]; then exec \"$@\" </.acr-host-input; else exec \"$@\"; fi";

static void add_command(const AcrExecution *execution, const GPtrArray *files, GPtrArray *argv)
{
    acr_helper_words(argv, "/bin/sh", "-c", wrapper, "sh", NULL);
    for (guint i = 0; i < files->len; i++) {
        const AcrHelperFile *file = files->pdata[i];
        if (!file->content)
            g_ptr_array_add(argv, g_strdup(file->path));
    }
    acr_helper_words(argv, "--", NULL);
    for (gsize i = 0; execution->argv[i]; i++)
        g_ptr_array_add(argv, g_strdup(execution->argv[i]));
    g_ptr_array_add(argv, NULL);
}

static bool put_files(const State *state, const char *id, const char *dir, const GPtrArray *files,
                      GError **error)
{
    bool any = false;
    for (guint i = 0; i < files->len; i++)
        any = any || ((const AcrHelperFile *)files->pdata[i])->content;
    if (!any)
        return true;
    g_autoptr(GBytes) tar = acr_tar_write(files);
    return acr_engine_put(state->engine, id, dir, tar, error);
}

static bool put_input(const State *state, const char *id, const AcrExecution *execution,
                      GError **error)
{
    if (!execution->input)
        return true;
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(acr_helper_file_free);
    g_autoptr(GBytes) content = g_bytes_new_static(execution->input, execution->input_len);
    acr_helper_file(files, ".acr-host-input", ACR_MODE_FILE, content);
    g_autoptr(GBytes) tar = acr_tar_write(files);
    return acr_engine_put(state->engine, id, "/", tar, error);
}

/* Whether the kernel ended something in the container for want of memory. */
static bool ran_out_of_memory(const State *state, const char *id)
{
    static const char *const argv[] = {
        "/bin/sh", "-c",
        "cat /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events 2>/dev/null",
        NULL};
    AcrEngineExec exec = {.argv = argv,
                          .dir = "/",
                          .timeout_ms = SMALL_MS,
                          .output_limit = 4096,
                          .flood_limit = 65536};
    g_autoptr(GError) reason = NULL;
    bool ok = acr_engine_exec(state->engine, id, &exec, &reason), is_out = false;
    gsize len = 0;
    const char *data = ok ? g_bytes_get_data(exec.spawned.out, &len) : NULL;
    g_autofree char *text = g_strndup(data ? data : "", len);
    const char *at = strstr(text, "oom_kill ");
    is_out = at && g_ascii_strtoll(at + strlen("oom_kill "), NULL, 10) > 0;
    acr_spawn_result_clear(&exec.spawned);
    return is_out;
}

static AcrSandboxLimit limit_of(const State *state, const char *id, const AcrExecution *execution,
                                const AcrExecuted *executed, const AcrSpawnResult *spawned)
{
    guint64 longest = MAX(spawned->out_total, spawned->err_total);
    if (spawned->timed_out)
        return ACR_LIMIT_WALL;
    if (spawned->flooded)
        return ACR_LIMIT_OUTPUT;
    if (executed->signal == SIGXCPU)
        return ACR_LIMIT_CPU;
    if (executed->signal == SIGXFSZ)
        return ACR_LIMIT_FILES;
    if (executed->exit_code != 0 && ran_out_of_memory(state, id))
        return ACR_LIMIT_MEMORY;
    return longest > execution->limits.output_bytes ? ACR_LIMIT_OUTPUT : ACR_LIMIT_NONE;
}

static void take_result(const State *state, const char *id, const AcrExecution *execution,
                        const AcrSpawnResult *spawned, AcrExecuted *out)
{
    int code = spawned->exit_code;
    bool is_signal = code > SIGNAL_EXIT && code <= SIGNAL_EXIT + SIGRTMAX;
    AcrExecuted executed = {
        .exit_code = is_signal ? -1 : code,
        .signal = is_signal ? code - SIGNAL_EXIT : 0,
        .out = acr_sandbox_join_ends(spawned->out, spawned->out_total),
        .err = acr_sandbox_join_ends(spawned->err, spawned->err_total),
        .out_total = spawned->out_total,
        .err_total = spawned->err_total,
        .wall_ms = spawned->wall_ms,
    };
    executed.limit = limit_of(state, id, execution, &executed, spawned);
    *out = executed;
}

/* Runs the command in a container that is there. */
static bool run_in(AcrSandbox *sandbox, const char *id, const AcrExecution *execution,
                   AcrExecuted *out, GError **error)
{
    const State *state = sandbox->state;
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(acr_helper_file_free),
                         argv = g_ptr_array_new_with_free_func(g_free);
    if (!acr_sandbox_changes(sandbox, execution, files, error) ||
        !put_files(state, id, sandbox->image_dir, files, error) ||
        !put_input(state, id, execution, error))
        return false;
    add_command(execution, files, argv);
    AcrEngineExec exec = {
        .argv = (const char *const *)argv->pdata,
        .env = execution->env,
        .dir = sandbox->image_dir,
        .timeout_ms = execution->limits.wall_ms,
        .output_limit = execution->limits.output_bytes,
        .flood_limit = (guint64)execution->limits.output_bytes * ACR_SANDBOX_FLOOD,
        .on_output = execution->on_output,
        .on_output_ctx = execution->on_output_ctx,
    };
    bool ok = acr_engine_exec(state->engine, id, &exec, error);
    if (ok) {
        take_result(state, id, execution, &exec.spawned, out);
        out->changed = acr_sandbox_without_laid(
            acr_engine_changes(state->engine, id, sandbox->image_dir), files);
    }
    acr_spawn_result_clear(&exec.spawned);
    return ok;
}

static char *start(const AcrSandbox *sandbox, const AcrSandboxLimits *limits, bool network,
                   GError **error)
{
    const State *state = sandbox->state;
    AcrEngineContainer container = {state->image, sandbox->image_dir, limits, network};
    return acr_engine_start(state->engine, &container, error);
}

static bool finish(AcrSandbox *sandbox, const char *id)
{
    const State *state = sandbox->state;
    g_autoptr(GError) left = NULL;
    if (acr_engine_remove(state->engine, id, &left))
        return true;
    acr_sandbox_remark(sandbox, "a container is left over: %s", left->message);
    return false;
}

static bool run(AcrSandbox *sandbox, const AcrExecution *execution, AcrExecuted *out,
                GError **error)
{
    g_autofree char *id = start(sandbox, &execution->limits, execution->network, error);
    if (!id)
        return false;
    bool ok = run_in(sandbox, id, execution, out, error);
    (void)finish(sandbox, id);
    return ok;
}

/* ---- Set-up -------------------------------------------------------------------------------------
 */

static bool run_setup(AcrSandbox *sandbox, const char *id, const char *name, GError **error)
{
    const State *state = sandbox->state;
    const char *const argv[] = {"/bin/sh", "-c", sandbox->setup, NULL};
    AcrExecution execution = {.argv = argv, .limits = acr_sandbox_setup_limits()};
    g_auto(AcrExecuted) executed = {0};
    if (!run_in(sandbox, id, &execution, &executed, error))
        return false;
    if (executed.exit_code != 0 || executed.limit == ACR_LIMIT_WALL)
        return acr_sandbox_setup_failed(sandbox, &executed, error);
    return acr_engine_commit(state->engine, id, name, error);
}

/* An image named for the user's image and all that makes the environment. */
static bool set_up(AcrSandbox *sandbox, GError **error)
{
    State *state = sandbox->state;
    g_autofree char *both = g_strconcat(state->image_id, sandbox->digest, NULL);
    g_autofree char *key = acr_sha256_hex(both, strlen(both));
    g_autofree char *name = g_strdup_printf("acr-host-setup/%.32s", key);
    AcrSandboxLimits limits = acr_sandbox_setup_limits();
    if (!acr_engine_has_image(state->engine, name)) {
        g_autofree char *id = start(sandbox, &limits, sandbox->setup_network, error);
        bool ok = id && run_setup(sandbox, id, name, error);
        if (id)
            (void)finish(sandbox, id);
        if (!ok)
            return false;
    }
    g_free(state->image);
    state->image = g_steal_pointer(&name);
    return true;
}

/* ---- Python -------------------------------------------------------------------------------------
 */

/* The Python that the user named, that of an environment as benchmark images have it, or the first
 * in the image's PATH. */
static bool find_python(AcrSandbox *sandbox, GError **error)
{
    static const char search[] =
        "for p in \"$1\" /opt/miniconda3/envs/testbed/bin/python python3 python; do "
        "[ -n \"$p\" ] && command -v \"$p\" && exit 0; [ -n \"$1\" ] && exit 1; done; exit 1";
    const char *const argv[] = {
        "/bin/sh", "-c", search, "sh", sandbox->given_python ? sandbox->given_python : "", NULL};
    AcrExecution execution = {.argv = argv};
    g_auto(AcrExecuted) executed = {0};
    if (!acr_sandbox_run(sandbox, &execution, &executed, error))
        return false;
    gsize len;
    const char *data = g_bytes_get_data(executed.out, &len);
    g_autofree char *path = g_strndup(data ? data : "", len);
    g_strchomp(path);
    if (executed.exit_code != 0 || !*path)
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                                "the image '%s' has no Python%s%s", sandbox->image,
                                sandbox->given_python ? " named " : "",
                                sandbox->given_python ? sandbox->given_python : "");
    sandbox->python.path = g_steal_pointer(&path);
    return true;
}

const AcrSandboxBackend acr_sandbox_container = {"container", open_backend, set_up,
                                                 run,         find_python,  close_backend};
