/* The backend "container": an image contains a commit of the project and everything that the
 * project needs. Only changed files are written into a container: files of the working tree that
 * differ from the commit, and files of the overlay. Each execution gets its own container, which is
 * removed afterwards with all its processes. The result of a set-up is kept as an image. */
#include <string.h>
#include <unistd.h>

#include "sandbox/container_engine.h"
#include "sandbox/backend.h"
#include "sandbox/sandbox_private.h"

#define SIGNAL_EXIT 128
#define SMALL_MS (30 * 1000)
/* maximum number of arguments of one command; even, because arguments may be pairs of a path and a
 * link target */
#define WORDS_AT_ONCE 500u
#define MAX_LAID_BYTES ((gsize)1024 * 1024 * 1024)
/* maximum number of files written by the host that are compared after the command */
#define MAX_COMPARED 200u
#define INPUT_NAME ".acr-host-input" /* name of a file in the container's root folder */

typedef struct {
    AcrEngine *engine;
    char *image_id; /* id of the user's image */
    gint64 image_bytes;
    char *image;    /* image for containers: the user's image, or the image that the set-up
                     * created */
    bool has_shell; /* a command has already run in the shell of `image` */
    bool has_told;  /* the user was already told that the system call filter is missing */
    char *walls;    /* cache folder with the system call filter, for acr_engine_start */
    /* array of AcrHelperFile: the files in which the snapshot differs from the image; NULL if not
     * compared yet; empty if the set-up's image already contains these files */
    GPtrArray *own;
} State;

static bool open_container(AcrSandbox *sandbox, GError **error)
{
    State *state = sandbox->state = g_new0(State, 1);
    state->engine = acr_engine_open(sandbox->options.interrupt, error);
    if (!state->engine)
        return false;
    state->image_id =
        acr_engine_image(state->engine, sandbox->options.image, &state->image_bytes, error);
    state->image = g_strdup(sandbox->options.image);
    state->walls = state->image_id ? acr_engine_walls_folder(sandbox->cache, error) : NULL;
    if (!state->walls)
        return false;
    acr_engine_sweep(state->engine);
    return true;
}

static void close_container(AcrSandbox *sandbox)
{
    State *state = sandbox->state;
    acr_engine_free(state->engine);
    ACR_FREE(state->image_id, state->image, state->walls);
    g_clear_pointer(&state->own, g_ptr_array_unref);
    g_free(state);
}

static bool is_same(const AcrEntry *a, const AcrEntry *b)
{
    return a->mode == b->mode && memcmp(a->id, b->id, sizeof a->id) == 0;
}

/* Appends the file at `index` to `out`. Adds its size to *bytes and fails if the total is too
 * large. */
static bool add_own(AcrSnapshot *snapshot, gsize index, gsize *bytes, GPtrArray *out,
                    GError **error)
{
    const AcrEntry *entry = acr_snapshot_entry(snapshot, index);
    g_autoptr(GBytes) content = acr_snapshot_read(snapshot, index, error);
    if (!content)
        return false;
    *bytes += g_bytes_get_size(content);
    acr_helper_file(out, entry->path, entry->mode, content);
    return *bytes <= MAX_LAID_BYTES ||
           acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                            "the files to copy into the container are larger than %" G_GSIZE_FORMAT
                            " bytes",
                            MAX_LAID_BYTES);
}

/* Appends to `out` the files in which `snapshot` differs from `image`, the snapshot of its commit;
 * both list their files sorted by path. */
static bool compare_containers(AcrSnapshot *snapshot, const AcrSnapshot *image, GPtrArray *out,
                               GError **error)
{
    gsize n = acr_snapshot_size(snapshot), m = acr_snapshot_size(image), bytes = 0;
    for (gsize i = 0, k = 0; i < n || k < m;) {
        const AcrEntry *ours = i < n ? acr_snapshot_entry(snapshot, i) : NULL,
                       *its = k < m ? acr_snapshot_entry(image, k) : NULL;
        int order = !ours ? 1 : !its ? -1 : strcmp(ours->path, its->path);
        if (order > 0)
            acr_helper_file(out, its->path, 0, NULL);
        else if ((order < 0 || !is_same(ours, its)) && !add_own(snapshot, i, &bytes, out, error))
            return false;
        i += order <= 0;
        k += order >= 0;
    }
    return true;
}

/* Compares the snapshot with the image, which is assumed to contain the commit that is checked
 * out. */
static bool need_own(AcrSandbox *sandbox, GError **error)
{
    State *state = sandbox->state;
    if (state->own)
        return true;
    if (!sandbox->options.snapshot) {
        state->own = g_ptr_array_new_with_free_func(acr_helper_file_free);
        return true;
    }
    g_autoptr(AcrSnapshot) committed = acr_snapshot_committed(sandbox->options.snapshot, error);
    g_autoptr(GPtrArray) own = g_ptr_array_new_with_free_func(acr_helper_file_free);
    if (!committed || !compare_containers(sandbox->options.snapshot, committed, own, error))
        return false;
    state->own = g_steal_pointer(&own);
    return true;
}

/* Appends to `out` the changes of the execution, and those changes of the snapshot whose paths the
 * execution does not change. */
static bool all_changes(AcrSandbox *sandbox, const AcrExecution *execution, GPtrArray *out,
                        GError **error)
{
    g_autoptr(GHashTable) paths = g_hash_table_new(g_str_hash, g_str_equal);
    if (!need_own(sandbox, error) || !acr_sandbox_changes(execution, out, error))
        return false;
    for (guint i = 0; i < out->len; i++)
        (void)g_hash_table_add(paths, ((AcrHelperFile *)out->pdata[i])->path);
    const GPtrArray *own = ((const State *)sandbox->state)->own;
    for (guint i = 0; i < own->len; i++) {
        const AcrHelperFile *file = own->pdata[i];
        if (!g_hash_table_contains(paths, file->path))
            acr_helper_file(out, file->path, file->mode, file->content);
    }
    return true;
}

/* Wraps the command in a shell, because every engine reports a missing program differently. */
static void add_command(const AcrExecution *execution, bool has_input, GPtrArray *argv)
{
    static const char with_input[] = "exec </" INPUT_NAME "; rm -f /" INPUT_NAME "; exec \"$@\"";
    acr_helper_words(argv, ACR_ENGINE_SHELL, "-c", has_input ? with_input : "exec \"$@\"", "sh",
                     NULL);
    for (gsize i = 0; execution->argv[i]; i++)
        g_ptr_array_add(argv, g_strdup(execution->argv[i]));
    g_ptr_array_add(argv, NULL);
}

/* Runs a shell script with `words` as arguments, in batches of WORDS_AT_ONCE, because the number of
 * arguments of a command is limited. */
static bool run_over(const AcrSandbox *sandbox, const char *id, const char *script,
                     const GPtrArray *words, GError **error)
{
    const State *state = sandbox->state;
    for (guint from = 0; from < words->len; from += WORDS_AT_ONCE) {
        g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
        acr_helper_words(argv, ACR_ENGINE_SHELL, "-c", script, "sh", NULL);
        for (guint i = from; i < MIN(words->len, from + WORDS_AT_ONCE); i++)
            g_ptr_array_add(argv, g_strdup(words->pdata[i]));
        g_ptr_array_add(argv, NULL);
        AcrEngineExec exec = {.argv = (const char *const *)argv->pdata,
                              .dir = sandbox->dir,
                              .timeout_ms = SMALL_MS,
                              .output_limit = 4096,
                              .flood_limit = 65536};
        bool ok = acr_engine_exec(state->engine, id, &exec, error);
        if (ok && (exec.spawned.timed_out || exec.spawned.exit_code != 0))
            ok = acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                                  "cannot change files in the image's folder '%s'", sandbox->dir);
        acr_spawn_result_clear(&exec.spawned);
        if (!ok)
            return false;
    }
    return true;
}

/* Makes by a script the changes that an archive cannot express. The script removes files (and, like
 * git, folders that become empty), and then creates symbolic links, because Docker does not extract
 * links that lead out of their folder. */
static bool put_by_script(const AcrSandbox *sandbox, const char *id, const GPtrArray *files,
                          GError **error)
{
    static const char script[] =
        "while [ $# -gt 0 ]; do rm -f -- \"$1\" || exit 1; case $1 in */*) d=${1%/*};; *) d=.;; "
        "esac; "
        "if [ -n \"$2\" ]; then mkdir -p -- \"$d\" && ln -s -- \"$2\" \"./$1\" || exit 1; "
        "else rmdir -p -- \"$d\" 2>/dev/null; fi; shift 2; done; exit 0";
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    for (guint pass = 0; pass < 2; pass++) {
        for (guint i = 0; i < files->len; i++) {
            const AcrHelperFile *file = files->pdata[i];
            if (file->content ? pass == 0 || file->mode != ACR_MODE_LINK : pass == 1)
                continue;
            g_ptr_array_add(words, g_strdup(file->path));
            g_ptr_array_add(words, acr_bytes_text(file->content));
        }
    }
    return run_over(sandbox, id, script, words, error);
}

static bool put_files(const AcrSandbox *sandbox, const char *id, const GPtrArray *files,
                      GError **error)
{
    const State *state = sandbox->state;
    g_autoptr(GPtrArray) regular = g_ptr_array_new();
    for (guint i = 0; i < files->len; i++) {
        AcrHelperFile *file = files->pdata[i];
        if (file->content && file->mode != ACR_MODE_LINK)
            g_ptr_array_add(regular, file);
    }
    if (!put_by_script(sandbox, id, files, error))
        return false;
    g_autoptr(GBytes) tar = regular->len ? acr_tar_write(regular) : NULL;
    return !tar || acr_engine_put(state->engine, id, sandbox->dir, tar, error);
}

static bool put_input(const State *state, const char *id, GBytes *input, GError **error)
{
    if (!input)
        return true;
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(acr_helper_file_free);
    acr_helper_file(files, INPUT_NAME, ACR_MODE_FILE, input);
    g_autoptr(GBytes) tar = acr_tar_write(files);
    return acr_engine_put(state->engine, id, "/", tar, error);
}

/* Sets *out to the command's standard input (owned), or to NULL if there is none. Reads this
 * process's input to its end first, because the engine needs the input in one piece. A terminal
 * counts as empty input. */
static bool take_input(const AcrSandbox *sandbox, const AcrExecution *execution, GBytes **out,
                       GError **error)
{
    g_autoptr(GError) reason = NULL;
    if (execution->input)
        *out = g_bytes_ref(execution->input);
    if (!execution->inherit_input || isatty(STDIN_FILENO))
        return true;
    *out = acr_fd_read_all(STDIN_FILENO, "standard input", ACR_SANDBOX_MAX_INPUT,
                           execution->limits.wall_ms, sandbox->options.interrupt, &reason);
    if (*out && g_bytes_get_size(*out) == 0)
        g_clear_pointer(out, g_bytes_unref);
    if (acr_interrupted(sandbox->options.interrupt))
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_INTERRUPTED, "interrupted");
    return !reason ||
           acr_sandbox_fail(
               error, ACR_SANDBOX_ERROR_FAILED,
               "%s (in a container, a command starts only after all of its input has arrived)",
               reason->message);
}

static bool fail_ended(GError **error)
{
    return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_FAILED,
                            "the container was stopped from outside while the command ran");
}

static bool take_result(const State *state, const char *id, const AcrExecution *execution,
                        const AcrSpawnResult *spawned, AcrExecuted *out, GError **error)
{
    int code = spawned->exit_code;
    bool is_signal = code > SIGNAL_EXIT && code <= SIGNAL_EXIT + SIGRTMAX;
    AcrEngineCounts counts;
    acr_engine_count(state->engine, id, execution->limits.processes, &counts);
    if (counts.is_ended && !spawned->timed_out && !spawned->flooded)
        return fail_ended(error);
    *out = (AcrExecuted){
        .exit_code = is_signal ? -1 : code,
        .signal = is_signal ? code - SIGNAL_EXIT : 0,
        .peak_bytes = counts.peak_bytes,
        .image_bytes = state->image_bytes,
    };
    AcrSandboxLimit seen = counts.killed       ? ACR_LIMIT_MEMORY
                           : counts.is_crowded ? ACR_LIMIT_PROCESSES
                                               : ACR_LIMIT_NONE;
    acr_sandbox_take_result(spawned, &execution->limits, seen, out);
    return true;
}

/* Parameters for asking the engine about files that the host wrote. */
typedef struct {
    const AcrSandbox *sandbox;
    const char *id;
    guint compared;
} Comparing;

static bool is_as_laid(void *ctx, const AcrHelperFile *file)
{
    Comparing *self = ctx;
    const State *state = self->sandbox->state;
    return !file->content || file->mode == ACR_MODE_LINK || self->compared++ >= MAX_COMPARED ||
           acr_engine_holds(state->engine, self->id, self->sandbox->dir, file->path, file->content);
}

/* Returns the files that the command wrote or removed. Leaves out the files that the host wrote,
 * which the engine lists too. */
static char **changes(const AcrSandbox *sandbox, const char *id, const GPtrArray *files)
{
    const State *state = sandbox->state;
    Comparing comparing = {sandbox, id, 0};
    g_autoptr(GHashTable) paths = acr_engine_changes(state->engine, id, sandbox->dir);
    return paths ? acr_sandbox_changed(paths, files, is_as_laid, &comparing) : NULL;
}

/* Runs the command in an existing container. */
static bool run_in(AcrSandbox *sandbox, const char *id, const AcrExecution *execution,
                   AcrExecuted *out, GError **error)
{
    const State *state = sandbox->state;
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(acr_helper_file_free),
                         argv = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GBytes) input = NULL;
    if (!all_changes(sandbox, execution, files, error) ||
        !take_input(sandbox, execution, &input, error) || !put_files(sandbox, id, files, error) ||
        !put_input(state, id, input, error))
        return false;
    add_command(execution, input != NULL, argv);
    AcrEngineExec exec = {
        .argv = (const char *const *)argv->pdata,
        .env = execution->env,
        .dir = sandbox->dir,
        .timeout_ms = execution->limits.wall_ms,
        .output_limit = execution->limits.output_bytes,
        .flood_limit = ACR_SANDBOX_FLOOD(execution->limits.output_bytes),
        .on_output = execution->on_output,
        .on_output_ctx = execution->on_output_ctx,
    };
    g_autoptr(GError) reason = NULL;
    bool ok = acr_engine_exec(state->engine, id, &exec, &reason);
    if (ok)
        ok = take_result(state, id, execution, &exec.spawned, out, &reason);
    else if (g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED) &&
             acr_engine_is_ended(state->engine, id)) {
        g_clear_error(&reason);
        (void)fail_ended(&reason);
    }
    if (ok)
        out->changed = execution->tell_changed ? changes(sandbox, id, files) : NULL;
    acr_spawn_result_clear(&exec.spawned);
    return ok || acr_pass_error(error, &reason);
}

static bool finish_container(AcrSandbox *sandbox, const char *id)
{
    const State *state = sandbox->state;
    g_autoptr(GError) left = NULL;
    if (acr_engine_remove(state->engine, id, &left))
        return true;
    acr_sandbox_remark(sandbox, "a container could not be removed: %s", left->message);
    return false;
}

static void tell_walls(AcrSandbox *sandbox)
{
    State *state = sandbox->state;
    if (acr_engine_walls(state->engine) == ACR_WALLS_NONE && !state->has_told)
        acr_sandbox_remark(sandbox, "only the engine's own system call filter applies, because "
                                    "acr-host cannot add its filter to this image");
    state->has_told = true;
}

/* True if the image's shell runs in the container `id`. The shell may be missing, or built for
 * another architecture. Engines report these cases differently, and some report them only after the
 * container has started. */
static bool check_shell(AcrSandbox *sandbox, const char *id, GError **error)
{
    static const char *const argv[] = {ACR_ENGINE_SHELL, "-c", "exit 0", NULL};
    State *state = sandbox->state;
    AcrEngineExec exec = {.argv = argv, .dir = "/", .timeout_ms = SMALL_MS, .flood_limit = 4096};
    g_autoptr(GError) reason = NULL;
    bool ok = state->has_shell || acr_engine_exec(state->engine, id, &exec, &reason);
    state->has_shell |= ok && !exec.spawned.timed_out && exec.spawned.exit_code == 0;
    acr_spawn_result_clear(&exec.spawned);
    if (state->has_shell) {
        tell_walls(sandbox);
        return true;
    }
    if (reason && !g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_FAILED))
        return acr_pass_error(error, &reason);
    return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                            "the image '%s' has no " ACR_ENGINE_SHELL
                            " that runs on this machine%s%s",
                            state->image, reason ? ": " : "", reason ? reason->message : "");
}

static char *start_container(AcrSandbox *sandbox, const AcrEngineContainer *container,
                             GError **error);

/* Weakens the system call filter if the filter may be the reason why the shell does not run, for
 * example on another architecture. Tests the user's own image, because a set-up could have changed
 * the resulting image in order to avoid the filter. */
static bool lower_walls(AcrSandbox *sandbox, const AcrEngineContainer *container)
{
    AcrEngine *engine = ((State *)sandbox->state)->engine;
    AcrEngineContainer own = *container;
    AcrWalls had = acr_engine_walls(engine);
    own.image = sandbox->options.image;
    if (strcmp(own.image, container->image) == 0)
        return acr_engine_lower_walls(engine);
    g_autofree char *id = start_container(sandbox, &own, NULL);
    if (id)
        (void)finish_container(sandbox, id);
    return acr_engine_walls(engine) != had;
}

/* Starts a container in which the image's shell runs. If the shell does not run, tries again with a
 * weaker system call filter; if that fails too, the filter was not the reason. */
static char *start_container(AcrSandbox *sandbox, const AcrEngineContainer *container,
                             GError **error)
{
    const State *state = sandbox->state;
    g_autofree char *id = acr_engine_start(state->engine, container, error);
    g_autoptr(GError) reason = NULL;
    if (!id || check_shell(sandbox, id, &reason))
        return g_steal_pointer(&id);
    (void)finish_container(sandbox, id);
    char *next = !g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_INTERRUPTED) &&
                         lower_walls(sandbox, container)
                     ? start_container(sandbox, container, NULL)
                     : NULL;
    return next ? next : ACR_NULL(acr_pass_error(error, &reason));
}

/* Calls start_container. If start_container fails and the image is for another architecture,
 * reports the architecture as the reason. */
static char *need_container(AcrSandbox *sandbox, const AcrEngineContainer *container,
                            GError **error)
{
    g_autoptr(GError) reason = NULL;
    char *id = start_container(sandbox, container, &reason);
    if (id)
        return id;
    bool is_interrupt = g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_INTERRUPTED);
    g_autofree char *foreign = is_interrupt ? NULL
                                            : acr_engine_foreign(((State *)sandbox->state)->engine,
                                                                 sandbox->options.image);
    return ACR_NULL(foreign ? acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                                               "the image '%s' cannot be run here: %s",
                                               sandbox->options.image, foreign)
                            : acr_pass_error(error, &reason));
}

static bool run_container(AcrSandbox *sandbox, const AcrExecution *execution, AcrExecuted *out,
                          GError **error)
{
    const State *state = sandbox->state;
    const AcrEngineContainer container = {state->image,         sandbox->dir,
                                          &execution->limits,   execution->network,
                                          execution->host_name, state->walls};
    g_autofree char *id = need_container(sandbox, &container, error);
    if (!id)
        return false;
    bool ok = run_in(sandbox, id, execution, out, error);
    (void)finish_container(sandbox, id);
    return ok;
}

/* Creates the image `name` if it is missing. The caller holds the lock of this name. */
static bool make_image(AcrSandbox *sandbox, const char *name, GError **error)
{
    const State *state = sandbox->state;
    AcrSandboxLimits limits = acr_sandbox_setup_limits(sandbox);
    if (acr_engine_has_image(state->engine, name))
        return true;
    const AcrEngineContainer container = {
        state->image, sandbox->dir, &limits, sandbox->options.setup_network, NULL, state->walls};
    g_autofree char *id = need_container(sandbox, &container, error);
    bool ok = id && acr_sandbox_run_setup(sandbox, run_in, id, error) &&
              acr_engine_commit(state->engine, id, name, error);
    if (id)
        (void)finish_container(sandbox, id);
    return ok;
}

/* Creates an image named after a digest of the user's image and of all other inputs by which
 * environments can differ. */
static bool set_up_container(AcrSandbox *sandbox, GError **error)
{
    State *state = sandbox->state;
    g_autofree char *tree = acr_snapshot_digest(sandbox->options.snapshot);
    g_autofree char *both = g_strconcat(state->image_id, tree, sandbox->digest, NULL);
    g_autofree char *key = acr_sha256_hex(both, strlen(both));
    g_autofree char *name = g_strdup_printf("acr-host-setup/%.32s", key);
    if (!acr_engine_has_image(state->engine, name)) {
        g_autofree char *lock = g_strdup_printf("image-%.32s", key);
        int fd = acr_tree_cache_lock(sandbox->cache, lock, error);
        bool ok = fd >= 0 && make_image(sandbox, name, error);
        if (fd >= 0)
            acr_tree_cache_unlock(sandbox->cache, lock, fd);
        if (!ok)
            return false;
    }
    g_free(state->image);
    state->image = g_steal_pointer(&name);
    g_clear_pointer(&state->own, g_ptr_array_unref);
    /* empty, because the set-up's image already contains the snapshot's files */
    state->own = g_ptr_array_new_with_free_func(acr_helper_file_free);
    return true;
}

/* Finds the Python: the one that the user named, else the one of the conda environment in benchmark
 * images, else the first in the image's PATH. */
static bool find_python(AcrSandbox *sandbox, GError **error)
{
    static const char search[] =
        "for p in \"$1\" /opt/miniconda3/envs/testbed/bin/python python3 python; do "
        "[ -n \"$p\" ] && command -v \"$p\" && exit 0; [ -n \"$1\" ] && exit 1; done; exit 1";
    const char *const argv[] = {ACR_ENGINE_SHELL,
                                "-c",
                                search,
                                "sh",
                                sandbox->options.python ? sandbox->options.python : "",
                                NULL};
    AcrExecution execution = {.argv = argv};
    g_auto(AcrExecuted) executed = {0};
    if (!acr_sandbox_run(sandbox, &execution, &executed, error))
        return false;
    g_autofree char *path = g_strchomp(acr_bytes_text(executed.out));
    if (executed.exit_code != 0 || !*path)
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                                "the image '%s' has no Python%s%s", sandbox->options.image,
                                sandbox->options.python ? " named " : "",
                                sandbox->options.python ? sandbox->options.python : "");
    sandbox->python.remark =
        g_strdup_printf("using the image's Python '%s', %s", path,
                        sandbox->options.python ? "as --python says" : "the first that was found");
    sandbox->python.path = g_steal_pointer(&path);
    return true;
}

const AcrSandboxBackend acr_sandbox_container = {ACR_IN_CONTAINER, open_container, set_up_container,
                                                 run_container,    NULL,           find_python,
                                                 close_container};
