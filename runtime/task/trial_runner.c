/* Runs trials in the sandbox of a run. Opens the sandbox on demand (a replay needs none), and
 * runs scripts, commands and experiments in it. recorded_executor.c records the results. */
#include "task/recorded.h"

#include <string.h>

#define TEST_WALL_MS ((gint64)120 * 1000)
#define VALIDATE_WALL_MS ((gint64)1800 * 1000)
#define VERSION_WALL_MS ((gint64)30 * 1000)
#define PROBE_WALL_MS ((gint64)10 * 1000)
#define PROBE_BYTES ((gsize)16 * 1024) /* larger than the part of an output that models see */
#define TRACER "acr/project/inside/call_tracer.py"
#define COMPILER "acr/project/inside/compile_imports.py"
#define INSIDE_BYTES ((gsize)1024 * 1024)
/* in a smaller project, compiling in each run is faster than another start of the sandbox */
#define MIN_COMPILED_FILES 60u
#define COMPILE_WALL_MS ((gint64)60 * 1000)
/* this program imports none of the project's modules */
#define PROBE "import sys; print('Python ' + sys.version.split()[0])"

/* ---- The sandbox ---- */

/* Opens the sandbox and sets it up. A set-up that the run's time limit interrupts is not recorded
 * as a failure, because it says nothing about the project. */
const char *acr_trial_runner_python(AcrTrialRunner *self, GError **error)
{
    g_autoptr(GError) reason = NULL;
    /* a replay never gets here: the journal has answered, or the run has ended */
    g_assert(self->budget);
    if (!acr_loops_in_time(self->budget, error))
        return NULL;
    if (!self->sandbox)
        self->sandbox =
            acr_project_open_sandbox(&self->options, self->worker, &self->set_up, &reason);
    if (self->sandbox && acr_sandbox_set_up(self->sandbox, &reason))
        return acr_sandbox_python(self->sandbox, error);
    if (acr_interrupted(self->options.interrupt) || acr_loops_in_time(self->budget, error))
        g_propagate_error(error, g_steal_pointer(&reason));
    return NULL;
}

char *acr_trial_runner_probe(AcrTrialRunner *self, GError **error)
{
    const char *python = acr_trial_runner_python(self, error);
    if (!python)
        return NULL;
    const char *const argv[] = {python, "-c", PROBE, NULL};
    AcrExecution execution = {.argv = argv, .limits = {.wall_ms = VERSION_WALL_MS}};
    g_auto(AcrExecuted) executed = {0};
    if (!acr_sandbox_run(self->sandbox, &execution, &executed, error))
        return NULL;
    g_autofree char *text =
        acr_utf8_repair_bytes(executed.exit_code == 0 ? executed.out : executed.err);
    g_strstrip(text);
    if (executed.exit_code == 0)
        return g_strdup(text);
    return ACR_NULL(acr_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE,
                                  "the Python '%s' does not run in the sandbox: %s", python,
                                  *text ? text : "Python printed no message"));
}

/* ---- Trials ---- */

/* Returns the folders from which a project that is not installed can be imported; owned. */
static char **import_path(const AcrTrialRunner *self)
{
    GPtrArray *path = g_ptr_array_new();
    const AcrJson *at = acr_json_first(self->import_folders);
    for (; at; at = acr_json_next(at))
        g_ptr_array_add(
            path, g_strdup_printf("%s/%s", acr_sandbox_dir(self->sandbox), acr_json_string(at)));
    g_ptr_array_add(path, NULL);
    return (char **)g_ptr_array_free(path, FALSE);
}

static bool need_import_folders(AcrTrialRunner *self, GError **error)
{
    if (!self->import_folders)
        self->import_folders = acr_project_import_folders(self->worker, self->snapshot, error);
    return self->import_folders != NULL;
}

/* Returns the lines of a script that begin an import. Scripts of one task often have the same, and
 * then share the bytecode in the cache. */
static GBytes *import_lines(const char *script)
{
    GString *found = g_string_new(NULL);
    g_auto(GStrv) lines = g_strsplit(script, "\n", -1);
    for (char **line = lines; *line; line++)
        if (g_str_has_prefix(g_strchug(*line), "import ") || g_str_has_prefix(*line, "from "))
            g_string_append_printf(found, "%s\n", *line);
    return g_string_free_to_bytes(found);
}

/* Compiles what the script imports from the project, once, because a run cannot keep bytecode for
 * the next one, and large projects take longer to compile than to test. It does not matter if this
 * fails. The scripts of later attempts usually import the same. */
static void compile_imports(AcrTrialRunner *self, const char *python, const char *script)
{
    g_autofree char *path = g_build_filename(self->python_dir, COMPILER, NULL);
    g_autoptr(GError) reason = NULL;
    g_autoptr(GBytes) file = acr_file_read(path, INSIDE_BYTES, &reason),
                      input = import_lines(script);
    self->is_compiled = true;
    if (!file || !need_import_folders(self, &reason)) {
        g_debug("%s", reason->message);
        return;
    }
    gsize len;
    const char *data = g_bytes_get_data(file, &len);
    g_autofree char *program = g_strndup(data, len);
    g_auto(GStrv) folders = import_path(self);
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    const char *const words[] = {python, "-I", "-S", "-c", program};
    for (guint i = 0; i < G_N_ELEMENTS(words); i++)
        g_ptr_array_add(argv, (gpointer)words[i]);
    for (char **at = folders; *at; at++)
        g_ptr_array_add(argv, *at);
    g_ptr_array_add(argv, NULL);
    AcrExecution execution = {.argv = (const char *const *)argv->pdata,
                              .input = input,
                              .limits.wall_ms =
                                  CLAMP(acr_budget_left_ms(self->budget), 1, COMPILE_WALL_MS)};
    if (!acr_sandbox_add_layer(self->sandbox, &execution, &reason))
        g_debug("%s", reason->message);
}

static GBytes *replace_bytes(GBytes *text, const char *from, const char *to)
{
    gsize len;
    const char *at = g_bytes_get_data(text, &len), *found;
    GByteArray *out = g_byte_array_new();
    while (len > 0 && (found = memmem(at, len, from, strlen(from)))) {
        g_byte_array_append(out, (const guint8 *)at, (guint)(found - at));
        g_byte_array_append(out, (const guint8 *)to, (guint)strlen(to));
        len -= (gsize)(found - at) + strlen(from);
        at = found + strlen(from);
    }
    if (len > 0)
        g_byte_array_append(out, (const guint8 *)at, (guint)len);
    return g_byte_array_free_to_bytes(out);
}

/* Replaces the path of the trial's own copy in the output by the usual path of the tree, so that
 * tracebacks can be parsed and equal trials have equal outputs. */
static void call_by_tree(const AcrTrialRunner *self, AcrExecuted *executed)
{
    if (!executed->dir || !*executed->dir)
        return;
    GBytes **const streams[] = {&executed->out, &executed->err};
    for (guint i = 0; i < G_N_ELEMENTS(streams); i++) {
        GBytes *was = *streams[i];
        *streams[i] = replace_bytes(was, executed->dir, acr_sandbox_dir(self->sandbox));
        g_bytes_unref(was);
    }
}

/* Makes the environment of a trial; owned. The trial's own variables override the others. */
static char **make_environment(const AcrTrialRunner *self, const AcrTrial *trial)
{
    g_auto(GStrv) folders = import_path(self);
    g_autofree char *path = g_strjoinv(":", folders);
    char **env = g_new0(char *, 1);
    env = g_environ_setenv(env, "PYTHONDONTWRITEBYTECODE", "1", TRUE);
    env = g_environ_setenv(env, "PYTHONHASHSEED", "0", TRUE);
    if (*path)
        env = g_environ_setenv(env, "PYTHONPATH", path, TRUE);
    for (const char *const *at = trial->env; at && *at; at++) {
        g_auto(GStrv) pair = g_strsplit(*at, "=", 2);
        env = g_environ_setenv(env, pair[0], pair[1] ? pair[1] : "", TRUE);
    }
    return env;
}

/* Runs a command of a trial in the project's tree. If the run's time limit interrupts the
 * command, the result is not recorded, and a resumed run repeats the command. */
static bool run_in_time(AcrTrialRunner *self, const AcrTrial *trial, AcrExecution *execution,
                        AcrExecuted *out, GError **error)
{
    if (!need_import_folders(self, error))
        return false;
    g_auto(GStrv) env = make_environment(self, trial);
    execution->env = (const char *const *)env;
    bool is_probe = g_strcmp0(trial->experiment, ACR_EXPERIMENT_PROBE) == 0;
    gint64 most_ms = is_probe ? PROBE_WALL_MS : trial->command ? VALIDATE_WALL_MS : TEST_WALL_MS;
    execution->limits.output_bytes = is_probe ? PROBE_BYTES : 0;
    execution->limits.wall_ms = CLAMP(acr_budget_left_ms(self->budget), 1, most_ms);
    return acr_sandbox_run(self->sandbox, execution, out, error) &&
           (out->limit != ACR_LIMIT_WALL || acr_loops_in_time(self->budget, error));
}

static char *make_host_name(void)
{
    char name[] = "xxxxxxxxxx";
    for (char *at = name; *at; at++)
        *at = (char)g_random_int_range(
            'g',
            /* letters from 'g' on are not hexadecimal digits, so that the name does not look like a
             * container's id */
            'z' + 1);
    return g_strdup(name);
}

static bool run_experiment(AcrTrialRunner *self, const AcrTrial *trial, const char *python,
                           AcrExecuted *out, GError **error)
{
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    g_autofree char *host_name = make_host_name();
    bool is_traced = !trial->input && g_strcmp0(trial->experiment, ACR_EXPERIMENT_CALLS) == 0;
    g_autofree char *path = is_traced ? g_build_filename(self->python_dir, TRACER, NULL) : NULL;
    g_autoptr(GBytes) tracer = path ? acr_file_read(path, INSIDE_BYTES, error) : NULL;
    if (path && !tracer)
        return false;
    g_ptr_array_add(argv, (gpointer)python);
    for (const char *const *at = trial->args; *at; at++)
        g_ptr_array_add(argv, (gpointer)*at);
    g_ptr_array_add(argv, NULL);
    AcrExecution execution = {.overlay = trial->overlay,
                              .argv = (const char *const *)argv->pdata,
                              .input = is_traced ? tracer : trial->input,
                              .host_name = host_name};
    return run_in_time(self, trial, &execution, out, error);
}

/* Runs the trial's script as a file of the tree, or the trial's command. */
static bool run_plain(AcrTrialRunner *self, const AcrTrial *trial, const char *python,
                      AcrExecuted *out, GError **error)
{
    g_autoptr(AcrOverlay) overlay =
        trial->overlay ? acr_overlay_copy(trial->overlay) : acr_overlay_new(self->snapshot);
    g_autoptr(GBytes) script =
        trial->test ? g_bytes_new_static(trial->test, strlen(trial->test)) : NULL;
    if (script && !acr_overlay_write(overlay, ACR_FILE_SCRIPT, ACR_MODE_FILE, script, error))
        return false;
    const char *const test[] = {python, ACR_FILE_SCRIPT, NULL};
    const char *const command[] = {"/bin/sh", "-c", trial->command, NULL};
    AcrExecution execution = {.overlay = overlay,
                              .argv = script ? test : command,
                              .input = trial->input,
                              .tell_changed = script != NULL,
                              /* a script gets no git folder, because it could read the patch from
                               * git */
                              .has_git = !script};
    return run_in_time(self, trial, &execution, out, error);
}

bool acr_trial_runner_run(AcrTrialRunner *self, const AcrTrial *trial, AcrExecuted *out,
                          GError **error)
{
    const char *python = acr_trial_runner_python(self, error);
    if (!python)
        return false;
    if (trial->test && !self->is_compiled &&
        acr_snapshot_size(self->snapshot) >= MIN_COMPILED_FILES)
        compile_imports(self, python, trial->test);
    bool ok = trial->args ? run_experiment(self, trial, python, out, error)
                          : run_plain(self, trial, python, out, error);
    if (ok)
        call_by_tree(self, out);
    return ok;
}

/* ---- Lifecycle ---- */

AcrSandboxOptions acr_sandbox_options_of(const AcrRunSpec *spec, const AcrHost *host,
                                         AcrSnapshot *snapshot, const char *work_tree,
                                         const char *cache)
{
    return (AcrSandboxOptions){
        .backend = spec->sandbox,
        .snapshot = snapshot,
        .work_tree = work_tree,
        .python = spec->python,
        .setup = spec->setup,
        .setup_network = spec->setup_network,
        .setup_ms = MAX(spec->setup_ms, 0),
        .image = spec->image,
        .cache = cache,
        .exe = host->exe,
        .interrupt = host->interrupt,
    };
}

void acr_trial_runner_init(AcrTrialRunner *self, const AcrRunSpec *spec, AcrWorkspace *workspace,
                           const char *work_tree, const AcrBudget *budget, const AcrHost *host)
{
    self->snapshot = workspace->snapshot;
    self->python_dir = host->python_dir;
    (void)acr_workspace_referee(workspace, host);
    self->worker = workspace->referee;
    self->work_tree = work_tree ? acr_path_real(work_tree) : NULL;
    self->cache = host->cache ? acr_host_default_cache(ACR_CACHE_SANDBOX) : NULL;
    self->budget = budget;
    self->options =
        acr_sandbox_options_of(spec, host, self->snapshot, self->work_tree, self->cache);
    self->options.deadline_us = acr_budget_deadline(budget);
}

void acr_trial_runner_clear(AcrTrialRunner *self)
{
    acr_sandbox_free(self->sandbox);
    acr_json_free(self->import_folders);
    acr_set_up_clear(&self->set_up);
    ACR_FREE(self->work_tree, self->cache);
    memset(self, 0, sizeof *self);
}
