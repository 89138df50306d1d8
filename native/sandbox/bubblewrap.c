/* The backend "bubblewrap". The snapshot's files are written to disk once for each tree (or taken
 * from the set-up's result). Each execution gets an overlay over these files: what the command
 * writes stays in a file system in memory, the helper's stage, and disappears with the stage. The
 * helper prepares the stage. bubblewrap then creates the namespaces and the root folder: /usr, a
 * few files of /etc, the Python, and the tree at its own path. Only the tree and the temporary
 * folders are writable. */
#include "sandbox/helper_run.h"
#include "sandbox/sandbox_private.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* user id for commands if the program runs as root; the user owns nothing else */
#define ROOT_RUNS_AS 64711

typedef struct {
    char *program; /* path of bwrap */
    char *stage;   /* folder over which the stage is mounted */
    char *layer;   /* cache folder with the set-up's result; NULL if there is none */
    char *above;   /* cache folder whose home lies above the tree; NULL if there is none */
} State;

#define AT_TREE ACR_SANDBOX_TREE
#define AT_HOME ACR_SANDBOX_HOME
#define AT_VENV "venv"
#define AT_GIT ACR_SANDBOX_GIT
#define AT_TMP "tmp"
#define AT_SHM "shm"
#define AT_NONE "none"

/* Returns a folder over which the stage can be mounted. The folder must not contain the bubblewrap
 * program, which is started after the stage hides the folder's contents. */
static char *find_stage(const char *program)
{
    static const char *const folders[] = {"/tmp", "/mnt", "/run", "/var/tmp"};
    g_autofree char *real = acr_path_real(program);
    for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *prefix = g_strconcat(folders[i], "/", NULL);
        if (g_file_test(folders[i], G_FILE_TEST_IS_DIR) &&
            !g_file_test(folders[i], G_FILE_TEST_IS_SYMLINK) &&
            !g_str_has_prefix(program, prefix) && (!real || !g_str_has_prefix(real, prefix)))
            return g_strdup(folders[i]);
    }
    return NULL;
}

/* True if `uid` exists in this user namespace, which may map only a few ids. */
static bool is_user(uid_t uid)
{
    ACR_AUTO_FD fd = memfd_create("owner", MFD_CLOEXEC);
    return fd >= 0 && fchown(fd, uid, uid) == 0;
}

static bool open_bubblewrap(AcrSandbox *sandbox, GError **error)
{
    State *state = sandbox->state = g_new0(State, 1);
    sandbox->tree_uid = geteuid() == 0 && is_user(ROOT_RUNS_AS) ? ROOT_RUNS_AS : -1;
    state->program = acr_program_find("bwrap");
    if (!state->program)
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                                "bubblewrap is not installed (Debian: apt-get install bubblewrap)");
    state->stage = find_stage(state->program);
    if (!state->stage)
        return acr_sandbox_fail(error, ACR_SANDBOX_ERROR_UNAVAILABLE,
                                "no folder is available in which the sandbox can be assembled");
    return acr_sandbox_python_find(sandbox->options.python, sandbox->options.work_tree,
                                   sandbox->options.snapshot, &sandbox->python, error);
}

static void close_bubblewrap(AcrSandbox *sandbox)
{
    State *state = sandbox->state;
    ACR_FREE(state->program, state->stage, state->layer, state->above, state);
}

static void add_namespaces(AcrHelperSpec *spec, bool network)
{
    g_autofree char *status = g_strdup_printf("%d", ACR_HELPER_STATUS),
                    *filter = g_strdup_printf("%d", ACR_HELPER_FILTER);
    acr_helper_words(spec->argv, "--unshare-all", "--unshare-user", "--disable-userns",
                     "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--uid", "1000",
                     "--gid", "1000", "--json-status-fd", status, "--seccomp", filter, NULL);
    if (network)
        acr_helper_words(spec->argv, "--share-net", NULL);
}

/* Adds /usr, and the folders beside /usr, such as /bin, which are symbolic links on newer
 * machines. */
static void add_system(AcrHelperSpec *spec)
{
    static const char *const beside[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
    acr_helper_words(spec->argv, "--ro-bind", "/usr", "/usr", NULL);
    for (guint i = 0; i < G_N_ELEMENTS(beside); i++) {
        g_autofree char *target = g_file_read_link(beside[i], NULL);
        if (target)
            acr_helper_words(spec->argv, "--symlink", target, beside[i], NULL);
        else
            acr_helper_words(spec->argv, "--ro-bind-try", beside[i], beside[i], NULL);
    }
}

static void add_etc(AcrHelperSpec *spec, bool network)
{
    static const char *const files[] = {
        "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",   "localtime",      "timezone",
        "os-release",   "mime.types",  "services",   "protocols",      "debian_version", "fonts",
        "magic",        "python3",     "ssl/certs",  "ssl/openssl.cnf"};
    static const char *const own[] = {"passwd", "group", "hosts", "nsswitch.conf"};
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_build_filename("/etc", files[i], NULL);
        acr_helper_words(spec->argv, "--ro-bind-try", path, path, NULL);
    }
    for (guint i = 0; i < G_N_ELEMENTS(own); i++) {
        g_autofree char *to = g_build_filename("/etc", own[i], NULL),
                        *from = g_build_filename(spec->stage, to, NULL);
        /* with network access, host names resolve in the same way as on this machine */
        bool is_host = network && i >= 2;
        acr_helper_words(spec->argv, "--ro-bind", is_host ? to : from, to, NULL);
    }
    if (network)
        acr_helper_words(spec->argv, "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf", NULL);
}

static void bind_stage(AcrHelperSpec *spec, const char *how, const char *at, const char *to)
{
    g_autofree char *from = g_build_filename(spec->stage, at, NULL);
    acr_helper_words(spec->argv, how, from, to, NULL);
}

/* Mounts /proc read-only, so that the command can change neither kernel settings nor oom_score_adj.
 * Hides /proc/1, because process 1 is bubblewrap, which runs as the same user as the command. */
static void add_proc(AcrHelperSpec *spec)
{
    static const char *const hidden[] = {"/proc/keys", "/proc/key-users", "/proc/timer_list"};
    acr_helper_folder(spec, AT_NONE, 0555);
    acr_helper_words(spec->argv, "--proc", "/proc", NULL);
    bind_stage(spec, "--ro-bind", AT_NONE, "/proc/1");
    for (guint i = 0; i < G_N_ELEMENTS(hidden); i++)
        if (g_file_test(hidden[i], G_FILE_TEST_EXISTS)) /* not every kernel has the file */
            acr_helper_words(spec->argv, "--ro-bind", "/dev/null", hidden[i], NULL);
    acr_helper_words(spec->argv, "--remount-ro", "/proc", NULL);
}

/* Adds the folders that a Python outside /usr needs. They are mounted on the stage first, because
 * the command's user may have no access to their parent folders. */
static void add_python(const AcrSandbox *sandbox, bool is_setup, AcrHelperSpec *spec)
{
    const AcrSandboxPython *python = &sandbox->python;
    for (guint i = 0; i < python->roots->len; i++) {
        const char *root = python->roots->pdata[i];
        if (python->venv && strcmp(root, python->venv) == 0) {
            /* A set-up writes to a copy of the virtual environment; executions can only read the
             * user's own virtual environment. */
            bind_stage(spec, is_setup ? "--bind" : "--ro-bind", AT_VENV, root);
            continue;
        }
        g_autofree char *at = g_strdup_printf("root_%u", i);
        acr_helper_bind(spec, at, root);
        bind_stage(spec, "--ro-bind", at, root);
    }
    for (guint i = 0; i + 1 < python->links->len; i += 2)
        acr_helper_words(spec->argv, "--symlink", python->links->pdata[i + 1],
                         python->links->pdata[i], NULL);
    if (python->path) /* Debian has only python3, but people and guides write `python` */
        acr_helper_words(spec->argv, "--symlink", python->path, ACR_SANDBOX_PROGRAMS "/python",
                         NULL);
}

/* Mounts ".git" with a separate overlay, so that changes to ".git" disappear after the command,
 * even after the set-up command. */
static void add_git(const AcrSandbox *sandbox, AcrHelperSpec *spec)
{
    g_autofree char *source = g_build_filename(sandbox->git, AT_GIT, NULL),
                    *to = g_build_filename(sandbox->dir, ".git", NULL);
    acr_helper_overlay(spec, AT_GIT, source, NULL);
    bind_stage(spec, "--bind", AT_GIT, to);
}

static void add_command(const AcrSandbox *sandbox, const AcrExecution *execution,
                        AcrHelperSpec *spec)
{
    acr_sandbox_env(sandbox, ACR_HELPER_HOME, execution, spec->env);
    /* Start the program from a shell, which reports a missing program in the usual way. */
    acr_helper_words(spec->argv, "--chdir", sandbox->dir, "--remount-ro", "/", "--", "/bin/sh",
                     "-c", "exec \"$@\"", "sh", NULL);
    for (gsize i = 0; execution->argv[i]; i++)
        g_ptr_array_add(spec->argv, g_strdup(execution->argv[i]));
}

/* Sets the rest of `spec`. The caller has already added the tree, the home and the virtual
 * environment. */
static void fill_spec(const AcrSandbox *sandbox, const AcrExecution *execution, bool is_setup,
                      AcrHelperSpec *spec)
{
    const State *state = sandbox->state;
    spec->parent = getpid();
    spec->stage = g_strdup(state->stage);
    spec->cpu_s = execution->limits.cpu_s;
    spec->file_bytes = execution->limits.disk_bytes;
    spec->stage_bytes = execution->limits.disk_bytes;
    /* count three more processes: the helper, and two processes of bubblewrap */
    spec->processes = execution->limits.processes + 3;
    spec->files_at = g_strdup(AT_TREE);
    spec->host_name = g_strdup(execution->host_name);
    acr_helper_folder(spec, AT_TMP, 01777);
    acr_helper_folder(spec, AT_SHM, 01777);
    acr_helper_words(spec->argv, state->program, NULL);
    add_namespaces(spec, execution->network);
    add_system(spec);
    add_etc(spec, execution->network);
    add_proc(spec);
    acr_helper_words(spec->argv, "--dev", "/dev", NULL);
    bind_stage(spec, "--bind", AT_SHM, "/dev/shm");
    /* make /dev read-only, because the size of its file system cannot be limited */
    acr_helper_words(spec->argv, "--remount-ro", "/dev", NULL);
    bind_stage(spec, "--bind", AT_TMP, "/tmp");
    bind_stage(spec, "--bind", AT_HOME, ACR_HELPER_HOME);
    bind_stage(spec, "--bind", AT_TREE, sandbox->dir);
    if (execution->has_git && sandbox->git)
        add_git(sandbox, spec);
    add_python(sandbox, is_setup, spec);
    add_command(sandbox, execution, spec);
}

/* Returns the files of the tree that the command wrote or removed, except for files that the host
 * wrote. They are found in the overlay's upper folder. NULL if unknown. */
static char **changed_files(int stage, const AcrHelperSpec *spec)
{
    g_autofree char *upper = g_strdup_printf("/proc/self/fd/%d/upper_0", stage);
    g_autoptr(GHashTable) files = acr_tree_list(upper);
    return files ? acr_sandbox_changed(files, spec->files, acr_sandbox_is_as_laid, upper) : NULL;
}

/* Adds the tree, the home and the virtual environment of an execution, as the set-up left them if
 * there was a set-up. Each is read-only or gets an overlay in memory. If `own_home` is not NULL,
 * the home is that folder on disk. */
static void add_layers(const AcrSandbox *sandbox, const char *own_home, AcrHelperSpec *spec)
{
    const State *state = sandbox->state;
    const char *from = state->layer ? state->layer : sandbox->base;
    g_autofree char *tree = g_build_filename(from, AT_TREE, NULL),
                    *home = g_build_filename(from, AT_HOME, NULL),
                    *venv = g_build_filename(from, AT_VENV, NULL),
                    *above = state->above ? g_build_filename(state->above, AT_HOME, NULL) : NULL;
    acr_helper_overlay(spec, AT_TREE, tree, above);
    if (own_home)
        acr_helper_bind(spec, AT_HOME, own_home);
    else if (state->layer)
        acr_helper_overlay(spec, AT_HOME, home, NULL);
    else
        acr_helper_folder(spec, AT_HOME, 0700);
    if (sandbox->python.venv)
        acr_helper_bind(spec, AT_VENV, state->layer ? venv : sandbox->python.venv);
}

/* Runs a command in the tree. If `own_home` is not NULL, the home is that folder on disk. */
static bool run_with_home(AcrSandbox *sandbox, const char *own_home, const AcrExecution *execution,
                          AcrExecuted *out, GError **error)
{
    g_auto(AcrHelperSpec) spec = {0};
    acr_helper_spec_init(&spec);
    spec.uid = sandbox->tree_uid;
    add_layers(sandbox, own_home, &spec);
    fill_spec(sandbox, execution, false, &spec);
    if (!acr_sandbox_changes(execution, spec.files, error))
        return false;
    g_auto(AcrHelperRun)
        helper = {.sandbox = sandbox, .execution = execution, .spec = &spec, .disk = own_home};
    if (!acr_helper_run(&helper, out, error))
        return false;
    out->changed = execution->tell_changed ? changed_files(helper.stage, &spec) : NULL;
    return true;
}

static bool run_bubblewrap(AcrSandbox *sandbox, const AcrExecution *execution, AcrExecuted *out,
                           GError **error)
{
    return acr_sandbox_need_base(sandbox, error) &&
           run_with_home(sandbox, NULL, execution, out, error);
}

/* A command whose home becomes a layer above the tree. */
typedef struct {
    AcrSandbox *sandbox;
    const AcrExecution *execution;
} Above;

static bool make_above(void *ctx, const char *dir, GError **error)
{
    const Above *self = ctx;
    AcrSandbox *sandbox = self->sandbox;
    g_auto(AcrExecuted) executed = {0};
    g_autofree char *home = g_build_filename(dir, AT_HOME, NULL);
    return acr_tree_folder(home, 0755, error) &&
           (sandbox->tree_uid < 0 || acr_tree_give(home, sandbox->tree_uid, error)) &&
           run_with_home(sandbox, home, self->execution, &executed, error);
}

/* Returns the key of a layer in the cache; owned. */
static char *above_key(const AcrSandbox *sandbox, const AcrExecution *execution)
{
    gsize len = 0;
    const void *input = execution->input ? g_bytes_get_data(execution->input, &len) : NULL;
    g_autofree char *base = g_path_get_basename(sandbox->base),
                    *words = g_strjoinv("\n", (char **)execution->argv),
                    *command = acr_sha256_hex(words, strlen(words)),
                    *read = acr_sha256_hex(input ? input : "", len),
                    *all = g_strconcat(sandbox->digest, command, read, NULL),
                    *sum = acr_sha256_hex(all, strlen(all));
    return g_strdup_printf("above-%.24s-%s", sum, base);
}

static bool add_layer(AcrSandbox *sandbox, const AcrExecution *execution, GError **error)
{
    State *state = sandbox->state;
    if (!acr_sandbox_need_base(sandbox, error))
        return false;
    g_autofree char *key = above_key(sandbox, execution);
    Above above = {sandbox, execution};
    g_clear_pointer(&state->above, g_free);
    state->above = acr_tree_cache_get(sandbox->cache, key, make_above, &above, error);
    return state->above != NULL;
}

/* Creates the folder dir/name as a copy of `from`, or as an empty folder if `from` is NULL. */
static bool make_copy(const char *dir, const char *name, const char *from, GError **error)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    return acr_tree_folder(path, 0755, error) && (!from || acr_tree_copy(from, path, error));
}

/* Adds the folders to which the set-up writes on disk: copies of the tree and the virtual
 * environment, and a home. */
static void add_setup_layers(const AcrSandbox *sandbox, const char *dir, AcrHelperSpec *spec)
{
    static const char *const folders[] = {AT_TREE, AT_HOME, AT_VENV};
    for (guint i = 0; i < G_N_ELEMENTS(folders) - !sandbox->python.venv; i++) {
        g_autofree char *source = g_build_filename(dir, folders[i], NULL);
        acr_helper_bind(spec, folders[i], source);
    }
}

static bool run_in_layer(AcrSandbox *sandbox, const char *dir, const AcrExecution *execution,
                         AcrExecuted *out, GError **error)
{
    g_auto(AcrHelperSpec) spec = {0};
    acr_helper_spec_init(&spec);
    add_setup_layers(sandbox, dir, &spec);
    fill_spec(sandbox, execution, true, &spec);
    g_auto(AcrHelperRun)
        helper = {.sandbox = sandbox, .execution = execution, .spec = &spec, .disk = dir};
    return acr_helper_run(&helper, out, error);
}

static bool make_layer(void *ctx, const char *dir, GError **error)
{
    AcrSandbox *sandbox = ctx;
    const char *venv = sandbox->python.venv;
    g_autofree char *from = g_build_filename(sandbox->base, AT_TREE, NULL),
                    *tree = g_build_filename(dir, AT_TREE, NULL),
                    *home = g_build_filename(dir, AT_HOME, NULL),
                    *git = g_build_filename(tree, ".git", NULL); /* mount point, which must exist */
    return make_copy(dir, AT_TREE, from, error) && make_copy(dir, AT_HOME, NULL, error) &&
           (!venv || make_copy(dir, AT_VENV, venv, error)) &&
           acr_sandbox_run_setup(sandbox, run_in_layer, dir, error) &&
           (!sandbox->git || acr_dir_remove(git, error)) &&
           (sandbox->tree_uid < 0 || (acr_tree_give(tree, sandbox->tree_uid, error) &&
                                      acr_tree_give(home, sandbox->tree_uid, error)));
}

static bool set_up_bubblewrap(AcrSandbox *sandbox, GError **error)
{
    State *state = sandbox->state;
    if (!acr_sandbox_need_base(sandbox, error))
        return false;
    g_autofree char *base = g_path_get_basename(sandbox->base);
    g_autofree char *key = g_strdup_printf("layer-%.24s-%s", sandbox->digest, base);
    state->layer = acr_tree_cache_get(sandbox->cache, key, make_layer, sandbox, error);
    return state->layer != NULL;
}

const AcrSandboxBackend acr_sandbox_bubblewrap = {
    ACR_IN_BUBBLEWRAP, open_bubblewrap, set_up_bubblewrap, run_bubblewrap, add_layer, NULL,
    close_bubblewrap};
