/*
 * The executor of a run: it asks the journal first for the result of a trial, and the sandbox after it.
 * The sandbox is opened when it is needed first: a replay, and a run that is resumed up to where
 * it was, need none. Each trial is run once; its result is kept, so that a loop may ask again.
 *
 * Recorded are also whether code can be run at all ("sandbox"), and a sandbox that failed: both
 * decide what the run does next.
 */
#include "task/recorded.h"

#include <string.h>

#define TEST_WALL_MS ((gint64)120 * 1000)
#define VALIDATE_WALL_MS ((gint64)1800 * 1000)
#define PROBE_WALL_MS ((gint64)30 * 1000)
#define PROBE "import sys; print('Python ' + sys.version.split()[0])" /* no project's module */

/* ---- Records ---- */

static void executed_free(gpointer data)
{
    acr_executed_clear(data);
    g_free(data);
}

static AcrJson *answer_json(const AcrExecuted *executed)
{
    AcrJson *json = acr_json_new_object(), *changed = acr_json_new_array();
    acr_executed_to_json(executed, json);
    acr_json_set_int(json, "stdout_bytes", (gint64)executed->out_total);
    acr_json_set_int(json, "stderr_bytes", (gint64)executed->err_total);
    for (gsize i = 0; executed->changed && executed->changed[i]; i++)
        acr_json_append(changed,
                        acr_json_new_bytes(executed->changed[i], strlen(executed->changed[i])));
    acr_json_set(json, "changed", changed);
    return json;
}

static GBytes *take_bytes(const AcrJson *json, const char *key)
{
    GBytes *bytes = acr_json_get_bytes(json, key);
    return bytes ? bytes : g_bytes_new_static("", 0);
}

static char **take_changed(const AcrJson *json)
{
    GPtrArray *paths = g_ptr_array_new();
    for (const AcrJson *at = acr_json_first(acr_json_get(json, "changed")); at;
         at = acr_json_next(at)) {
        g_autoptr(GBytes) bytes = acr_json_bytes(at);
        g_ptr_array_add(paths, acr_bytes_text(bytes));
    }
    g_ptr_array_add(paths, NULL);
    return (char **)g_ptr_array_free(paths, FALSE);
}

static void read_answer(const AcrJson *json, AcrExecuted *out)
{
    *out = (AcrExecuted){
        .exit_code = (int)acr_json_get_int(json, "exit", -1),
        .signal = (int)acr_json_get_int(json, "signal", 0),
        .out = take_bytes(json, "stdout"),
        .err = take_bytes(json, "stderr"),
        .out_total = (guint64)acr_json_get_int(json, "stdout_bytes", 0),
        .err_total = (guint64)acr_json_get_int(json, "stderr_bytes", 0),
        .changed = take_changed(json),
    };
    (void)acr_sandbox_limit_from_name(acr_json_get_string(json, "limit"), &out->limit);
}

static AcrJson *time_json(const AcrExecuted *executed)
{
    AcrJson *json = acr_json_new_object();
    acr_json_set_int(json, "wall_ms", executed->wall_ms);
    acr_json_set_int(json, "peak_bytes", executed->peak_bytes);
    return json;
}

/* ---- The sandbox ---- */

/* A set-up that the end of the run's time cut short says nothing of the project. */
const char *acr_recorded_executor_python(AcrRecordedExecutor *self, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_assert(self->budget); /* in a replay the journal answers, or the run ends */
    if (!acr_loops_in_time(self->budget, error))
        return NULL;
    if (!self->sandbox)
        self->sandbox = acr_sandbox_open(&self->options, &reason);
    if (self->sandbox && acr_sandbox_set_up(self->sandbox, &reason))
        return acr_sandbox_python(self->sandbox, error);
    if (acr_interrupted(self->options.interrupt) || acr_loops_in_time(self->budget, error))
        g_propagate_error(error, g_steal_pointer(&reason));
    return NULL;
}

/* Runs the project's Python once: what it is called, owned. */
static char *probe(AcrRecordedExecutor *self, GError **error)
{
    const char *python = acr_recorded_executor_python(self, error);
    if (!python)
        return NULL;
    const char *const argv[] = {python, "-c", PROBE, NULL};
    AcrExecution execution = {.argv = argv, .limits = {.wall_ms = PROBE_WALL_MS}};
    g_auto(AcrExecuted) executed = {0};
    if (!acr_sandbox_run(self->sandbox, &execution, &executed, error))
        return NULL;
    g_autofree char *text =
        acr_utf8_repair_bytes(executed.exit_code == 0 ? executed.out : executed.err);
    g_strstrip(text);
    if (executed.exit_code == 0)
        return g_strdup(text);
    return ACR_NULL(acr_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE,
                                  "the Python '%s' does not run in the sandbox: %s", python, text));
}

/* ---- Opening ---- */

static AcrJson *opened_json(AcrRecordedExecutor *self, const char *python, const GError *reason)
{
    AcrJson *json = acr_json_new_object();
    acr_json_set_bool(json, "available", python != NULL);
    acr_json_set_string(json, "text", python ? python : reason->message);
    if (!python)
        return json;
    acr_json_set_string(json, "dir", acr_sandbox_dir(self->sandbox));
    acr_json_set_string(json, "backend", acr_sandbox_backend(self->sandbox));
    return json;
}

bool acr_recorded_executor_is_fatal(const AcrRecordedExecutor *self, const GError *error)
{
    return g_error_matches(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_INTERRUPTED) ||
           g_error_matches(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_USAGE) ||
           g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING) ||
           acr_interrupted(self->options.interrupt);
}

/* Tells the user what was chosen and what was left out. */
static void tell(const AcrRecordedExecutor *self)
{
    const char *choice = acr_sandbox_choice(self->sandbox);
    for (const char *const *at = acr_sandbox_remarks(self->sandbox); *at; at++)
        acr_progress_warn(self->progress, *at);
    if (choice)
        acr_progress_note(self->progress, "the sandbox is %s; %s",
                          acr_sandbox_backend(self->sandbox), choice);
}

/* Ends the call by an error of the sandbox that is not recorded. It must not be taken for one that
 * is: UNAVAILABLE would be. `reason` is taken. */
static void fail_unrecorded(GError *reason, GError **error)
{
    if (g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE))
        reason->code = ACR_SANDBOX_ERROR_FAILED;
    g_propagate_error(error, reason);
}

/* Opens the sandbox and records that, but not that there is none where one is demanded; owned. */
static AcrJson *open_live(AcrRecordedExecutor *self, const AcrJson *request, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autofree char *python = probe(self, &reason);
    if (self->sandbox)
        tell(self);
    if (!python && acr_recorded_executor_is_fatal(self, reason))
        return ACR_NULL(fail_unrecorded(g_steal_pointer(&reason), error));
    g_autoptr(AcrJson) answer = opened_json(self, python, reason);
    bool is_recorded = python || !self->is_demanded;
    if (is_recorded && !acr_journal_append(self->journal, "sandbox", request, answer, NULL, error))
        return NULL;
    return g_steal_pointer(&answer);
}

static bool open_executor(void *ctx, bool *out_available, char **out_text, GError **error)
{
    AcrRecordedExecutor *self = ctx;
    const AcrJson *recorded = NULL;
    g_autoptr(AcrJson) request = acr_json_new_object();
    if (!self->opened && !acr_journal_ask(self->journal, "sandbox", request, &recorded, error))
        return false;
    if (!self->opened)
        self->opened = recorded ? acr_json_copy(recorded) : open_live(self, request, error);
    *out_available = acr_json_get_bool(self->opened, "available", false);
    *out_text = g_strdup(acr_json_get_string(self->opened, "text"));
    return self->opened != NULL;
}

static const char *executor_dir(void *ctx)
{
    const char *dir = acr_json_get_string(((const AcrRecordedExecutor *)ctx)->opened, "dir");
    return dir ? dir : "";
}

/* ---- Trials ---- */

static bool describe_trial(const AcrTrial *trial, AcrJson **out, GError **error)
{
    g_autofree char *patch = NULL,
                    *test = trial->test ? acr_sha256_hex(trial->test, strlen(trial->test)) : NULL;
    if (trial->overlay) {
        g_autoptr(GBytes) diff = acr_overlay_diff(trial->overlay, error);
        if (!diff)
            return false;
        patch = acr_sha256_bytes(diff);
    }
    AcrJson *json = acr_json_new_object();
    acr_json_set_string(json, "patch", patch);
    acr_json_set_string(json, "test", test);
    acr_json_set_string(json, "command", trial->command);
    acr_json_set_int(json, "repeat", trial->repeat);
    if (trial->is_watched)
        acr_json_set_bool(json, "watched", true);
    *out = json;
    return true;
}

/* Folders below the tree that projects keep their packages in, for those that are not installed. */
static char *python_path(const AcrRecordedExecutor *self)
{
    static const char *const folders[] = {"src", "lib"};
    g_autoptr(GString) path = g_string_new("PYTHONPATH=");
    for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *prefix = g_strconcat(folders[i], "/", NULL);
        for (gsize k = 0; k < acr_snapshot_size(self->snapshot); k++) {
            const char *name = acr_snapshot_entry(self->snapshot, k)->path;
            const char *slash =
                g_str_has_prefix(name, prefix) ? strchr(name + strlen(prefix), '/') : NULL;
            if (slash && strcmp(slash, "/__init__.py") == 0) {
                g_string_append_printf(path, "%s%s/%s", path->str[path->len - 1] == '=' ? "" : ":",
                                       acr_sandbox_dir(self->sandbox), folders[i]);
                break;
            }
        }
    }
    return path->str[path->len - 1] == '=' ? NULL : g_string_free(g_steal_pointer(&path), FALSE);
}

static GBytes *replace(GBytes *text, const char *from, const char *to)
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

/* A copy that lay elsewhere for this one trial is called by the tree's own path in what was
 * written: tracebacks are read by it, and the same trial says the same each time. */
static void call_by_tree(const AcrRecordedExecutor *self, AcrExecuted *executed)
{
    if (!executed->dir || !*executed->dir)
        return;
    GBytes **const streams[] = {&executed->out, &executed->err};
    for (guint i = 0; i < G_N_ELEMENTS(streams); i++) {
        GBytes *was = *streams[i];
        *streams[i] = replace(was, executed->dir, acr_sandbox_dir(self->sandbox));
        g_bytes_unref(was);
    }
}

/* Runs a command of a trial in the project's tree. One that the end of the run's time cut short says
 * nothing: it is run again when the run is resumed. */
static bool execute(AcrRecordedExecutor *self, AcrExecution *execution, gint64 wall_ms,
                    const char *seed, AcrExecuted *out, GError **error)
{
    g_autofree char *path = python_path(self);
    const char *const env[] = {"PYTHONDONTWRITEBYTECODE=1", seed, path, NULL};
    execution->env = env;
    execution->limits.wall_ms = CLAMP(acr_budget_left_ms(self->budget), 1, wall_ms);
    return acr_sandbox_run(self->sandbox, execution, out, error) &&
           (out->limit != ACR_LIMIT_WALL || acr_loops_in_time(self->budget, error));
}

/* A name for the machine that nobody knows before; owned. */
static char *make_host_name(void)
{
    char name[] = "xxxxxxxxxx";
    for (char *at = name; *at; at++)
        *at = (char)g_random_int_range('g', 'z' + 1); /* none of those in a container's number */
    return g_strdup(name);
}

/* Runs a script under observation, with a patch twice in the same place: by that a patch which tells
 * the first run from the next ends otherwise. Its hash seed is any, as Python's is without a setting. */
static bool run_watched(AcrRecordedExecutor *self, const AcrTrial *trial, const char *python,
                        AcrExecuted *out, GError **error)
{
    g_auto(AcrWatch) watch = {0};
    if (!acr_python_watch_begin(self->python, trial->test, trial->overlay != NULL, &watch, error))
        return false;
    const char *const argv[] = {python, "-c", watch.code, NULL};
    g_autoptr(GBytes) input = g_bytes_new_static(watch.input, strlen(watch.input));
    g_autoptr(GBytes) reports = NULL;
    g_autofree char *host_name = make_host_name();
    AcrExecution execution = {
        .overlay = trial->overlay, .argv = argv, .input = input, .host_name = host_name};
    if (!execute(self, &execution, TEST_WALL_MS, "PYTHONHASHSEED=random", out, error) ||
        !acr_python_watch_end(self->python, &watch, out->err, &reports, error))
        return false;
    g_bytes_unref(out->err);
    out->err = g_steal_pointer(&reports);
    return true;
}

static bool run_live(AcrRecordedExecutor *self, const AcrTrial *trial, AcrExecuted *out,
                     GError **error)
{
    const char *python = acr_recorded_executor_python(self, error);
    if (!python)
        return false;
    if (trial->is_watched)
        return run_watched(self, trial, python, out, error);
    g_autoptr(AcrOverlay) overlay =
        trial->overlay ? acr_overlay_copy(trial->overlay) : acr_overlay_new(self->snapshot);
    g_autoptr(GBytes) script =
        trial->test ? g_bytes_new_static(trial->test, strlen(trial->test)) : NULL;
    if (script && !acr_overlay_write(overlay, ACR_TEST_FILE, ACR_MODE_FILE, script, error))
        return false;
    const char *const test[] = {python, ACR_TEST_FILE, NULL};
    const char *const command[] = {"/bin/sh", "-c", trial->command, NULL};
    AcrExecution execution = {
        .overlay = overlay,
        .argv = script ? test : command,
        .tell_changed = script != NULL,
        /* A script that asks git would see the patch, not what the patch does. */
        .has_git = !script};
    if (!execute(self, &execution, script ? TEST_WALL_MS : VALIDATE_WALL_MS, "PYTHONHASHSEED=0",
                 out, error))
        return false;
    call_by_tree(self, out);
    return true;
}

/* Runs a trial and records it; its answer, owned. */
static AcrJson *try_live(AcrRecordedExecutor *self, const AcrTrial *trial, const AcrJson *request,
                         GError **error)
{
    g_auto(AcrExecuted) executed = {0};
    g_autoptr(GError) reason = NULL;
    bool ran = run_live(self, trial, &executed, &reason);
    if (!ran && (self->is_demanded || acr_recorded_executor_is_fatal(self, reason)))
        return ACR_NULL(fail_unrecorded(g_steal_pointer(&reason), error));
    g_autoptr(AcrJson) answer = ran ? answer_json(&executed) : acr_json_new_object();
    if (!ran)
        acr_json_set_string(answer, "error", reason->message);
    if (!acr_journal_append(self->journal, "execution", request, answer,
                            ran ? time_json(&executed) : NULL, error))
        return NULL;
    return g_steal_pointer(&answer);
}

/* The answer to a trial from the journal or the sandbox; owned. */
static AcrJson *ask(AcrRecordedExecutor *self, const AcrTrial *trial, const AcrJson *request,
                    GError **error)
{
    const AcrJson *recorded = NULL;
    if (!acr_journal_ask(self->journal, "execution", request, &recorded, error))
        return NULL;
    return recorded ? acr_json_copy(recorded) : try_live(self, trial, request, error);
}

static bool run_trial(void *ctx, const AcrTrial *trial, const AcrExecuted **out, GError **error)
{
    AcrRecordedExecutor *self = ctx;
    g_autoptr(AcrJson) request = NULL;
    if (!describe_trial(trial, &request, error))
        return false;
    g_autofree char *key = acr_json_print(request);
    AcrExecuted *known = g_hash_table_lookup(self->known, key);
    if (!known) {
        g_autoptr(AcrJson) answer = ask(self, trial, request, error);
        const char *failure = answer ? acr_json_get_string(answer, "error") : NULL;
        if (failure)
            g_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE, "%s", failure);
        if (!answer || failure)
            return false;
        known = g_new0(AcrExecuted, 1);
        read_answer(answer, known);
        g_hash_table_insert(self->known, g_steal_pointer(&key), known);
    }
    *out = known;
    return true;
}

/* ---- Lifecycle ---- */

void acr_recorded_executor_init(AcrRecordedExecutor *self, AcrJournal *journal,
                                AcrSnapshot *snapshot, AcrPython *python)
{
    *self = (AcrRecordedExecutor){
        .executor = {self, open_executor, executor_dir, run_trial},
        .journal = journal,
        .snapshot = snapshot,
        .python = python,
        .known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, executed_free),
    };
}

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

void acr_recorded_executor_go_live(AcrRecordedExecutor *self, const AcrRunSpec *spec,
                                   const char *work_tree, const AcrBudget *budget,
                                   const AcrHost *host)
{
    self->work_tree = work_tree ? acr_path_real(work_tree) : NULL;
    self->cache = host->cache ? acr_host_default_cache(ACR_CACHE_SANDBOX) : NULL;
    self->is_demanded = spec->verify == ACR_VERIFY_ALWAYS;
    self->progress = host->progress;
    self->budget = budget;
    self->options =
        acr_sandbox_options_of(spec, host, self->snapshot, self->work_tree, self->cache);
    self->options.deadline_us = acr_budget_deadline(budget);
}

void acr_recorded_executor_clear(AcrRecordedExecutor *self)
{
    acr_sandbox_free(self->sandbox);
    g_clear_pointer(&self->known, g_hash_table_unref);
    g_clear_pointer(&self->opened, acr_json_free);
    g_clear_pointer(&self->work_tree, g_free);
    g_clear_pointer(&self->cache, g_free);
}
