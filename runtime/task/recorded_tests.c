/* Runs the project's own tests in a run. Their results come from the journal first, and then from
 * the sandbox. The baseline comes from the cache, or is made when the first patch is compared; all
 * patches share it. */
#include "task/recorded.h"

#include <string.h>

#define MAX_SUSPECTS 50u /* maximum number of suspicious methods that are recorded */
#define BASELINES "baselines"
#define MB ((gint64)1024 * 1024)
#define DEFAULT_MEMORY (8192 * MB)
#define DEFAULT_PROCESSES 1024u
#define DISK_BYTES (16 * 1024 * MB)

AcrProject acr_task_project(const AcrRunSpec *spec, const AcrHost *host)
{
    return (AcrProject){
        .python_dir = host->python_dir,
        .place = spec->repo,
        .command = spec->test_command,
        .interrupt = host->interrupt,
        .time_ms = spec->test_ms,
        .limits = {.memory_bytes = spec->memory_mb > 0 ? spec->memory_mb * MB : DEFAULT_MEMORY,
                   .processes = spec->processes > 0 ? (guint)spec->processes : DEFAULT_PROCESSES,
                   .disk_bytes = DISK_BYTES},
        .network = spec->network,
    };
}

char *acr_task_test_environment(const AcrSandboxOptions *options)
{
    return g_strdup_printf("%s\n%s", options->setup ? options->setup : "",
                           options->image ? options->image : "");
}

char *acr_task_baselines(void)
{
    return acr_host_default_cache(BASELINES);
}

/* ---- The project ---- */

/* Returns the files that any given patch changes, so that the same tests run first with all
 * patches; owned; NULL if no patch is given. */
static char **changed_by_given(const AcrRecordedTests *self)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; self->given && i < self->given->len; i++) {
        g_auto(GStrv) changed = acr_overlay_changed(self->given->pdata[i]);
        for (char **at = changed; *at; at++)
            if (!g_ptr_array_find_with_equal_func(paths, *at, g_str_equal, NULL))
                g_ptr_array_add(paths, g_strdup(*at));
    }
    if (paths->len == 0)
        return NULL;
    g_ptr_array_add(paths, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&paths), FALSE);
}

/* Prepares the project with its sandbox, and makes the baseline. */
static bool open_project(AcrRecordedTests *self, const AcrOverlay *patch, AcrProject *out,
                         GError **error)
{
    AcrTrialRunner *runner = &self->executor->runner;
    if (!acr_trial_runner_python(runner, error))
        return false;
    if (!self->environment)
        self->environment = acr_task_test_environment(&runner->options);
    *out = self->project;
    out->sandbox = runner->sandbox;
    out->snapshot = runner->snapshot;
    out->worker = self->worker;
    out->cache = self->cache;
    out->environment = self->environment;
    /* The baseline may use half of the time, and the check of a patch the other half. */
    out->time_ms = CLAMP(acr_budget_left_ms(runner->budget), 1, MAX(out->time_ms / 2, 1));
    if (!self->near)
        self->near = changed_by_given(self);
    out->near = (const char *const *)self->near;
    g_auto(GStrv) changed = patch && !self->near ? acr_overlay_changed(patch) : NULL;
    return self->baseline.plan ||
           acr_project_baseline(out, changed ? (const char *const *)changed : out->near,
                                &self->baseline, error);
}

/* Returns whether the result is valid: the run's time limit did not interrupt the tests. */
static bool was_in_time(const AcrRecordedTests *self, GError **error)
{
    const AcrTrialRunner *runner = &self->executor->runner;
    return acr_interrupted(runner->options.interrupt) || acr_loops_in_time(runner->budget, error);
}

/* ---- Comparisons ("tests") ---- */

typedef struct {
    AcrRecordedTests *self;
    const AcrOverlay *patch; /* NULL: only make the baseline */
    bool is_whole;
    const GPtrArray *only; /* ids of tests; NULL: all */
} ComparisonCall;

static AcrJson *encode_comparison(void *call, GError **error)
{
    const AcrOverlay *patch = ((ComparisonCall *)call)->patch;
    g_autoptr(GBytes) diff = patch ? acr_overlay_diff(patch, error) : NULL;
    if (patch && !diff)
        return NULL;
    g_autofree char *digest = diff ? acr_sha256_bytes(diff) : NULL;
    AcrJson *json = acr_json_new_object();
    acr_json_set_string(json, "patch", digest);
    if (patch && ((ComparisonCall *)call)->is_whole)
        acr_json_set_bool(json, "whole", true);
    if (((ComparisonCall *)call)->only)
        acr_json_set(json, "only", acr_json_new_texts(((ComparisonCall *)call)->only));
    return json;
}

static bool read_comparison(void *call, const AcrJson *answer, void *out, GError **error)
{
    bool ok = acr_recorded_executor_take_failure(answer, error);
    if (ok)
        *(AcrTestComparison **)out = acr_test_comparison_from_json(answer);
    return ok;
}

static void clear_comparison(gpointer out)
{
    acr_test_comparison_free(*(AcrTestComparison **)out);
}

/* Sets `why` if no tests were compared, so that the result does not look like a passed check. */
static void explain_empty(const AcrBaseline *baseline, AcrTestComparison *found)
{
    guint passed = acr_test_run_count(&baseline->run, ACR_TESTED_PASSED);
    if (found->compared > 0 || !found->broken || found->broken->len > 0 ||
        found->unconfirmed->len > 0 || found->removed->len > 0)
        return;
    found->why =
        passed ? g_strdup_printf("none of the tests that pass without the patch ran with it%s (%s)",
                                 found->is_cut ? " before the time limit; raise --test-time" : "",
                                 baseline->command)
               : g_strdup_printf("no test passes without the patch: %s",
                                 baseline->tried->len ? (const char *)baseline->tried->pdata[0]
                                                      : baseline->command);
}

static AcrJson *compare_tests_live(void *call, AcrJson *time, GError **error)
{
    const ComparisonCall *asked = call;
    AcrRecordedTests *self = asked->self;
    g_auto(AcrTestComparison) found = {0};
    g_auto(AcrTestRun) run = {0};
    g_autoptr(GError) reason = NULL;
    AcrProject project;
    bool ok = open_project(self, asked->patch, &project, &reason);
    project.is_first_enough = !asked->is_whole;
    project.only = asked->only;
    if (ok && asked->patch)
        ok = acr_project_compare(&project, &self->baseline, asked->patch, &run, &found, &reason);
    else if (ok)
        acr_project_compare_none(&self->baseline, &found);
    if (!was_in_time(self, error))
        return NULL;
    if (!ok)
        return ACR_NULL(acr_pass_error(error, &reason));
    explain_empty(&self->baseline, &found);
    AcrJson *json = acr_json_new_object();
    acr_test_comparison_to_json(&found, true, json);
    return json;
}

/* Ends the run if tests are required, but cannot be run even without a patch. */
static bool comparison_is_fatal(void *call, GError **failure)
{
    const ComparisonCall *asked = call;
    bool ends_run = acr_recorded_executor_ends_run(asked->self->executor, !asked->patch, *failure);
    if (ends_run)
        g_prefix_error(failure, "the project's tests cannot be compared: ");
    return ends_run;
}

static const AcrJournalPort comparison_port = {
    .event = "tests",
    .encode = encode_comparison,
    .live = compare_tests_live,
    .is_fatal = comparison_is_fatal,
    .decode = read_comparison,
    .out_size = sizeof(AcrTestComparison *),
    .clear = clear_comparison,
};

static bool compare_tests(void *ctx, const AcrOverlay *patch, bool is_whole, const GPtrArray *only,
                          const AcrTestComparison **out, GError **error)
{
    AcrRecordedTests *self = ctx;
    ComparisonCall call = {self, patch, is_whole, only};
    AcrTestComparison *const *found =
        acr_recorded_once(self->executor->journal, &comparison_port, &call, error);
    *out = found ? *found : NULL;
    return found != NULL;
}

/* ---- Ranking suspicious code ("sbfl") ---- */

typedef struct {
    AcrRecordedTests *self;
    const AcrIndex *index;
    /* NULL if there is no script, or if the user named failing tests, which are more precise */
    const char *script;
} LocalizingCall;

static AcrJson *encode_localizing(void *call, GError **error)
{
    const LocalizingCall *asked = call;
    const char *script = asked->script;
    g_autofree char *digest = script ? acr_sha256_hex(script, strlen(script)) : NULL;
    AcrJson *named = acr_json_new_array();
    for (const char *const *at = asked->self->failing; at && *at; at++)
        acr_json_append(named, acr_json_new_string(*at));
    return acr_json_of(ACR_JSON("failing", named), ACR_STRING("script", digest), NULL);
}

static AcrJson *localize_live(void *call, AcrJson *time, GError **error)
{
    const LocalizingCall *asked = call;
    AcrRecordedTests *self = asked->self;
    const char *script = asked->script;
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(self->executor->runner.snapshot);
    g_autoptr(GBytes) text = script ? g_bytes_new_static(script, strlen(script)) : NULL;
    g_autofree char *added = NULL;
    g_auto(AcrLocalized) found = {0};
    g_autoptr(GError) reason = NULL;
    AcrProject project;
    bool ok =
        open_project(self, NULL, &project, &reason) &&
        (!script || acr_overlay_write(overlay, ACR_FILE_SCRIPT, ACR_MODE_FILE, text, &reason));
    if (ok && script)
        ok = (added = acr_project_add_script(&self->baseline, ACR_FILE_SCRIPT, overlay, &reason));
    const char *const alone[] = {added, NULL};
    AcrLocalizing localizing = {.index = asked->index,
                                .overlay = script ? overlay : NULL,
                                .failing = script ? alone : self->failing};
    ok = ok && acr_project_localize(&project, &self->baseline, &localizing, &found, &reason);
    if (!was_in_time(self, error))
        return NULL;
    if (!ok)
        return ACR_NULL(acr_pass_error(error, &reason));
    return acr_json_of(
        ACR_JSON("failing", acr_json_new_texts(found.failing)), ACR_INT("passing", found.passing),
        ACR_JSON("methods", acr_suspects_to_json(asked->index, found.methods, MAX_SUSPECTS, true)),
        NULL);
}

static bool localizing_is_fatal(void *call, GError **failure)
{
    const AcrRecordedTests *self = ((LocalizingCall *)call)->self;
    bool ends_run =
        acr_recorded_executor_ends_run(self->executor, self->is_sbfl_demanded, *failure);
    if (ends_run)
        g_prefix_error(failure, "the project's tests cannot be traced: ");
    return ends_run;
}

static bool read_localized(void *call, const AcrJson *answer, void *out, GError **error)
{
    bool ok = acr_recorded_executor_take_failure(answer, error);
    if (ok)
        *(AcrJson **)out = acr_json_copy(answer);
    return ok;
}

static const AcrJournalPort localizing_port = {
    .event = "sbfl",
    .encode = encode_localizing,
    .live = localize_live,
    .is_fatal = localizing_is_fatal,
    .decode = read_localized,
};

static bool localize_tests(void *ctx, const AcrIndex *index, const char *script,
                           const AcrJson **out, GError **error)
{
    AcrRecordedTests *self = ctx;
    LocalizingCall call = {self, index, self->failing ? NULL : script};
    AcrJson *const *found =
        acr_recorded_once(self->executor->journal, &localizing_port, &call, error);
    *out = found ? *found : NULL;
    return found != NULL;
}

/* ---- Lifecycle ---- */

void acr_recorded_tests_init(AcrRecordedTests *self, AcrRecordedExecutor *executor,
                             const AcrRunSpec *spec)
{
    *self = (AcrRecordedTests){
        .comparer = {self, localize_tests, compare_tests},
        .failing = (const char *const *)spec->failing_tests,
        .is_sbfl_demanded = acr_run_spec_sbfl(spec) == ACR_VERIFY_ALWAYS,
        .executor = executor,
    };
}

AcrVerify acr_run_spec_regressions(const AcrRunSpec *spec)
{
    bool is_auto = spec->regressions <= ACR_VERIFY_AUTO;
    AcrVerify unasked = spec->test_command ? ACR_VERIFY_AUTO : ACR_VERIFY_NEVER;
    return is_auto ? unasked : (AcrVerify)spec->regressions;
}

AcrVerify acr_run_spec_sbfl(const AcrRunSpec *spec)
{
    bool is_auto = spec->sbfl <= ACR_VERIFY_AUTO,
         is_cheap = spec->failing_tests || acr_run_spec_regressions(spec) != ACR_VERIFY_NEVER;
    return !is_auto ? (AcrVerify)spec->sbfl : is_cheap ? ACR_VERIFY_AUTO : ACR_VERIFY_NEVER;
}

void acr_recorded_tests_go_live(AcrRecordedTests *self, const AcrRunSpec *spec, const AcrHost *host)
{
    self->project = acr_task_project(spec, host);
    self->cache = host->cache ? acr_task_baselines() : NULL;
    self->worker = acr_referee_worker_new(host->exe, ACR_REFEREE_VERB, host->interrupt);
}

void acr_recorded_tests_clear(AcrRecordedTests *self)
{
    acr_referee_worker_free(self->worker);
    acr_baseline_clear(&self->baseline);
    g_clear_pointer(&self->environment, g_free);
    g_clear_pointer(&self->near, g_strfreev);
    g_clear_pointer(&self->cache, g_free);
}
