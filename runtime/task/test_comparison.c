/*
 * The project's own tests in a run: asked of the journal first, and of the sandbox after it. The baseline
 * is found or made when the first patch is compared, and serves all that follow.
 */
#include "task/recorded.h"

#define EVENT "tests"
#define SUSPECTS_EVENT "sbfl"
#define MAX_SUSPECTS 50u /* methods that are kept */
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
    acr_json_set(json, "fixed", acr_json_new_texts(found->fixed));
    acr_json_set(json, "unconfirmed", acr_json_new_texts(found->unconfirmed));
    acr_json_set_int(json, "not_run", found->run.not_run->len);
    return json;
}

/* ---- Live ---- */

/* Puts the project together with its sandbox, and makes the baseline. */
static bool open_project(AcrRecordedTests *self, const AcrOverlay *patch, AcrProject *out,
                         GError **error)
{
    AcrRecordedExecutor *executor = self->executor;
    if (!acr_recorded_executor_python(executor, error))
        return false;
    if (!self->environment)
        self->environment = acr_task_test_environment(&executor->options);
    *out = self->project;
    out->sandbox = executor->sandbox;
    out->snapshot = executor->snapshot;
    out->worker = self->worker;
    out->cache = self->cache;
    out->environment = self->environment;
    out->time_ms = CLAMP(acr_budget_left_ms(executor->budget), 1, out->time_ms);
    g_auto(GStrv) changed = patch ? acr_overlay_changed(patch) : NULL;
    return self->baseline.plan ||
           acr_project_baseline(out, (const char *const *)changed, &self->baseline, error);
}

/* What the end of the run's time cut short says nothing. */
static bool was_in_time(const AcrRecordedTests *self, GError **error)
{
    return acr_interrupted(self->executor->options.interrupt) ||
           acr_loops_in_time(self->executor->budget, error);
}

/* The baseline, and what the patch does; owned. */
static AcrJson *compare_live(AcrRecordedTests *self, const AcrOverlay *patch, GError **error)
{
    g_auto(AcrComparison) found = {0};
    g_autoptr(GError) reason = NULL;
    AcrProject project;
    bool ok = open_project(self, patch, &project, &reason);
    if (ok && patch)
        ok = acr_project_compare(&project, &self->baseline, patch, &found, &reason);
    if (!was_in_time(self, error))
        return NULL;
    return ok ? describe(&self->baseline, patch ? &found : NULL)
              : ACR_NULL(acr_pass_error(error, &reason));
}

/* The tests that fail, and where they point; owned. */
static AcrJson *localize_live(AcrRecordedTests *self, const AcrIndex *index, const char *script,
                              GError **error)
{
    g_autoptr(AcrOverlay) overlay = acr_overlay_new(self->executor->snapshot);
    g_autoptr(GBytes) text = script ? g_bytes_new_static(script, strlen(script)) : NULL;
    g_autofree char *added = NULL;
    g_auto(AcrLocalized) found = {0};
    g_autoptr(GError) reason = NULL;
    AcrProject project;
    bool ok = open_project(self, NULL, &project, &reason) &&
              (!script || acr_overlay_write(overlay, ACR_TEST_FILE, ACR_MODE_FILE, text, &reason));
    if (ok && script)
        ok = (added = acr_project_add_script(&self->baseline, ACR_TEST_FILE, overlay, &reason));
    const char *const alone[] = {added, NULL};
    AcrLocalizing localizing = {
        .index = index, .overlay = overlay, .failing = script ? alone : self->failing};
    ok = ok && acr_project_localize(&project, &self->baseline, &localizing, &found, &reason);
    if (!was_in_time(self, error))
        return NULL;
    if (!ok)
        return ACR_NULL(acr_pass_error(error, &reason));
    AcrJson *json = acr_json_new_object();
    acr_json_set(json, "failing", acr_json_new_texts(found.failing));
    acr_json_set_int(json, "passing", found.passing);
    acr_json_set(json, "methods", acr_suspects_to_json(index, found.methods, MAX_SUSPECTS, true));
    return json;
}

/* Records what came of the tests (`answer`, taken; NULL: `reason`); owned. That tests which must be
 * there (`is_demanded`) are not ends the run, and is not recorded. */
static AcrJson *record(AcrRecordedTests *self, const char *event, const AcrJson *request,
                       AcrJson *answer, GError *reason, bool is_demanded, GError **error)
{
    g_autoptr(AcrJson) owned = answer;
    if (!owned && (is_demanded || acr_recorded_executor_is_fatal(self->executor, reason))) {
        if (g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE))
            reason->code = ACR_SANDBOX_ERROR_FAILED;
        g_propagate_prefixed_error(error, g_error_copy(reason),
                                   "the project's tests cannot be %s: ",
                                   g_str_equal(event, EVENT) ? "compared" : "traced");
        return NULL;
    }
    if (!owned) {
        owned = acr_json_new_object();
        acr_json_set_string(owned, "error", reason->message);
    }
    if (!acr_journal_append(self->executor->journal, event, request, owned, NULL, error))
        return NULL;
    return g_steal_pointer(&owned);
}

/* The answer of the journal, or of the tests; owned. */
static AcrJson *ask_compared(AcrRecordedTests *self, const AcrOverlay *patch,
                             const AcrJson *request, GError **error)
{
    const AcrJson *recorded = NULL;
    g_autoptr(GError) reason = NULL;
    if (!acr_journal_ask(self->executor->journal, EVENT, request, &recorded, error))
        return NULL;
    if (recorded)
        return acr_json_copy(recorded);
    AcrJson *answer = compare_live(self, patch, &reason);
    return record(self, EVENT, request, answer, reason, !patch, error);
}

static AcrJson *ask_suspects(AcrRecordedTests *self, const AcrIndex *index, const char *script,
                             const AcrJson *request, GError **error)
{
    const AcrJson *recorded = NULL;
    g_autoptr(GError) reason = NULL;
    if (!acr_journal_ask(self->executor->journal, SUSPECTS_EVENT, request, &recorded, error))
        return NULL;
    if (recorded)
        return acr_json_copy(recorded);
    AcrJson *answer = localize_live(self, index, script, &reason);
    return record(self, SUSPECTS_EVENT, request, answer, reason, self->is_sbfl_demanded, error);
}

/* False, with the error that it holds, where the tests said nothing. */
static bool is_answer(const AcrJson *answer, GError **error)
{
    const char *failure = answer ? acr_json_get_string(answer, "error") : NULL;
    if (failure)
        g_set_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE, "%s", failure);
    return answer && !failure;
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
    g_autoptr(AcrJson) request = make_request(patch, error), answer = NULL;
    if (!request)
        return false;
    g_autofree char *key = acr_json_print(request);
    AcrTestsFound *known = g_hash_table_lookup(self->known, key);
    if (!known) {
        answer = ask_compared(self, patch, request, error);
        if (!is_answer(answer, error))
            return false;
        known = g_new0(AcrTestsFound, 1);
        read_answer(answer, known);
        g_hash_table_insert(self->known, g_steal_pointer(&key), known);
    }
    *out = known;
    return true;
}

/* Named tests say more than a script does. */
static bool localize(void *ctx, const AcrIndex *index, const char *script, const AcrJson **out,
                     GError **error)
{
    AcrRecordedTests *self = ctx;
    script = self->failing ? NULL : script;
    g_autofree char *digest = script ? acr_sha256_hex(script, strlen(script)) : NULL;
    g_autoptr(AcrJson) request = acr_json_new_object(), answer = NULL;
    AcrJson *named = acr_json_new_array();
    for (const char *const *at = self->failing; at && *at; at++)
        acr_json_append(named, acr_json_new_string(*at));
    acr_json_set(request, "failing", named);
    acr_json_set_string(request, "script", digest);
    g_autofree char *key = acr_json_print(request);
    *out = g_hash_table_lookup(self->suspects, key);
    if (*out)
        return true;
    answer = ask_suspects(self, index, script, request, error);
    if (!is_answer(answer, error))
        return false;
    *out = answer;
    g_hash_table_insert(self->suspects, g_steal_pointer(&key), g_steal_pointer(&answer));
    return true;
}

/* ---- Lifecycle ---- */

static void found_free(gpointer data)
{
    acr_tests_found_clear(data);
    g_free(data);
}

void acr_recorded_tests_init(AcrRecordedTests *self, AcrRecordedExecutor *executor,
                             const AcrRunSpec *spec)
{
    *self = (AcrRecordedTests){
        .comparer = {self, localize, compare},
        .failing = (const char *const *)spec->failing_tests,
        .is_sbfl_demanded = acr_run_spec_sbfl(spec) == ACR_VERIFY_ALWAYS,
        .suspects =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)acr_json_free),
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
    g_clear_pointer(&self->known, g_hash_table_unref);
    g_clear_pointer(&self->suspects, g_hash_table_unref);
    g_clear_pointer(&self->environment, g_free);
    g_clear_pointer(&self->cache, g_free);
}
