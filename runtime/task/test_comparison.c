/*
 * The project's own tests in a run: asked of the journal first, and of the sandbox after it. The baseline
 * is found or made when the first patch is compared, and serves all that follow.
 */
#include "task/recorded.h"

#define EVENT "tests"
#define BASELINES "baselines"
#define MB ((gint64)1024 * 1024)
#define DEFAULT_MEMORY (8192 * MB)
#define DEFAULT_PROCESSES 1024u
#define DISK_BYTES (16 * 1024 * MB)

AcrProject acr_task_project(const AcrRunSpec *spec, const AcrHost *host)
{
    return (AcrProject){
        .python_dir = host->python_dir,
        .command = spec->test_command,
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

/* ---- Records ---- */

static char **take_strings(const AcrJson *json)
{
    GStrvBuilder *texts = g_strv_builder_new();
    for (const AcrJson *at = acr_json_first(json); at; at = acr_json_next(at))
        if (acr_json_string(at))
            g_strv_builder_add(texts, acr_json_string(at));
    char **list = g_strv_builder_end(texts);
    g_strv_builder_unref(texts);
    return list;
}

static void read_answer(const AcrJson *json, AcrTestsFound *out)
{
    *out = (AcrTestsFound){
        .command = g_strdup(acr_json_get_string(json, "command")),
        .compared = (guint)acr_json_get_int(json, "compared", 0),
        .fixed = take_strings(acr_json_get(json, "fixed")),
        .unconfirmed = take_strings(acr_json_get(json, "unconfirmed")),
        .not_run = (guint)acr_json_get_int(json, "not_run", 0),
    };
    const AcrJson *broken = acr_json_get(json, "broken");
    for (const AcrJson *at = acr_json_first(broken); at; at = acr_json_next(at))
        if (acr_json_string(at))
            acr_tests_found_break(out, acr_json_key(at), acr_json_string(at));
}

static AcrJson *strings_of(const GPtrArray *texts)
{
    AcrJson *json = acr_json_new_array();
    for (guint i = 0; i < texts->len; i++)
        acr_json_append(json, acr_json_new_string(texts->pdata[i]));
    return json;
}

/* Tests that are good in the baseline; those of them that `with` has, unless it is NULL. */
static gint64 count_good(const AcrBaseline *baseline, const AcrTestRun *with)
{
    gint64 good = 0;
    for (guint i = 0; i < baseline->run.ids->len; i++) {
        const char *id = baseline->run.ids->pdata[i];
        const AcrTested *result = g_hash_table_lookup(baseline->run.tests, id);
        good += acr_test_is_good(result->outcome) &&
                (!with || acr_test_run_outcome(with, id) != ACR_TESTED_ABSENT);
    }
    return good;
}

/* How a test failed that passed before. */
static const char *message_of(const AcrTestRun *run, const char *id)
{
    const AcrTested *result = g_hash_table_lookup(run->tests, id);
    if (result && result->message)
        return result->message;
    return result ? "nothing is known of how it failed"
                  : "it does not run any more: its file, or one that it needs, cannot be imported, "
                    "or the test run was ended early";
}

static AcrJson *describe(const AcrBaseline *baseline, const AcrComparison *found)
{
    AcrJson *json = acr_json_new_object(), *broken = acr_json_new_object();
    acr_json_set_string(json, "command", baseline->command);
    acr_json_set_int(json, "compared", count_good(baseline, found ? &found->run : NULL));
    if (!found) {
        acr_json_free(broken);
        return json;
    }
    for (guint i = 0; i < found->regressions->len; i++) {
        const char *id = found->regressions->pdata[i];
        acr_json_set_string(broken, id, message_of(&found->run, id));
    }
    acr_json_set(json, "broken", broken);
    acr_json_set(json, "fixed", strings_of(found->fixed));
    acr_json_set(json, "unconfirmed", strings_of(found->unconfirmed));
    acr_json_set_int(json, "not_run", found->run.not_run->len);
    return json;
}

/* ---- Live ---- */

/* The baseline, and what the patch does; owned. One that the end of the run's time cut short says
 * nothing. */
static AcrJson *compare_live(AcrRecordedTests *self, const AcrOverlay *patch, GError **error)
{
    AcrRecordedExecutor *executor = self->executor;
    if (!acr_recorded_executor_python(executor, error))
        return NULL;
    g_autofree char *environment = acr_task_test_environment(&executor->options);
    g_auto(AcrComparison) found = {0};
    g_autoptr(GError) reason = NULL;
    AcrProject project = self->project;
    project.sandbox = executor->sandbox;
    project.snapshot = executor->snapshot;
    project.worker = self->worker;
    project.cache = self->cache;
    project.environment = environment;
    project.time_ms = CLAMP(acr_budget_left_ms(executor->budget), 1, project.time_ms);
    g_auto(GStrv) changed = patch ? acr_overlay_changed(patch) : NULL;
    bool ok = self->baseline.plan || acr_project_baseline(&project, (const char *const *)changed,
                                                          &self->baseline, &reason);
    if (ok && patch)
        ok = acr_project_compare(&project, &self->baseline, patch, &found, &reason);
    if (!acr_interrupted(executor->options.interrupt) &&
        !acr_loops_in_time(executor->budget, error))
        return NULL;
    return ok ? describe(&self->baseline, patch ? &found : NULL)
              : ACR_NULL(acr_pass_error(error, &reason));
}

/* Compares and records it; the answer, owned. That tests which must be there are not ends the run, and
 * is not recorded. */
static AcrJson *ask_live(AcrRecordedTests *self, const AcrOverlay *patch, const AcrJson *request,
                         GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(AcrJson) answer = compare_live(self, patch, &reason);
    if (!answer && (!patch || acr_recorded_executor_is_fatal(self->executor, reason))) {
        if (g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE))
            reason->code = ACR_SANDBOX_ERROR_FAILED;
        g_prefix_error(&reason, "the project's tests cannot be compared: ");
        return ACR_NULL(acr_pass_error(error, &reason));
    }
    if (!answer) {
        answer = acr_json_new_object();
        acr_json_set_string(answer, "error", reason->message);
    }
    if (!acr_journal_append(self->executor->journal, EVENT, request, answer, NULL, error))
        return NULL;
    return g_steal_pointer(&answer);
}

static AcrJson *make_request(const AcrOverlay *patch, GError **error)
{
    g_autoptr(GBytes) diff = patch ? acr_overlay_diff(patch, error) : NULL;
    if (patch && !diff)
        return NULL;
    g_autofree char *digest = diff ? acr_sha256_bytes(diff) : NULL;
    AcrJson *json = acr_json_new_object();
    acr_json_set_string(json, "patch", digest);
    return json;
}

static bool compare(void *ctx, const AcrOverlay *patch, const AcrTestsFound **out, GError **error)
{
    AcrRecordedTests *self = ctx;
    const AcrJson *recorded = NULL;
    g_autoptr(AcrJson) request = make_request(patch, error), answer = NULL;
    if (!request)
        return false;
    g_autofree char *key = acr_json_print(request);
    AcrTestsFound *known = g_hash_table_lookup(self->known, key);
    if (!known) {
        if (!acr_journal_ask(self->executor->journal, EVENT, request, &recorded, error))
            return false;
        answer = recorded ? acr_json_copy(recorded) : ask_live(self, patch, request, error);
        const char *failure = answer ? acr_json_get_string(answer, "error") : NULL;
        if (failure)
            g_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE, "%s", failure);
        if (!answer || failure)
            return false;
        known = g_new0(AcrTestsFound, 1);
        read_answer(answer, known);
        g_hash_table_insert(self->known, g_steal_pointer(&key), known);
    }
    *out = known;
    return true;
}

/* ---- Lifecycle ---- */

static void found_free(gpointer data)
{
    acr_tests_found_clear(data);
    g_free(data);
}

void acr_recorded_tests_init(AcrRecordedTests *self, AcrRecordedExecutor *executor)
{
    *self = (AcrRecordedTests){
        .comparer = {self, compare},
        .executor = executor,
        .known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, found_free),
    };
}

AcrVerify acr_run_spec_regressions(const AcrRunSpec *spec)
{
    bool is_auto = spec->regressions <= ACR_VERIFY_AUTO;
    AcrVerify unasked = spec->test_command ? ACR_VERIFY_AUTO : ACR_VERIFY_NEVER;
    return is_auto ? unasked : (AcrVerify)spec->regressions;
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
    g_clear_pointer(&self->known, g_hash_table_unref);
    g_clear_pointer(&self->cache, g_free);
}
