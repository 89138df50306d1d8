/* The outcomes of a run of tests: a table of ids and outcomes, and its JSON. */
#include "project/project_private.h"

#include <string.h>

G_DEFINE_QUARK(acr_project_error_quark, acr_project_error)

#define MAX_TESTS 1000000u

static const char *const names[] = {"passed", "xfailed", "skipped", "failed", "error", "absent"};

const char *acr_test_outcome_name(AcrTestOutcome outcome)
{
    return names[outcome];
}

/* Converts a name to an outcome; ABSENT if the name is unknown. A test that passed although it was
 * expected to fail has the outcome PASSED. */
static AcrTestOutcome outcome_of(const char *name)
{
    if (g_strcmp0(name, "xpassed") == 0)
        return ACR_TESTED_PASSED;
    for (guint i = 0; i < ACR_TESTED_N_OUTCOMES; i++)
        if (g_strcmp0(name, names[i]) == 0)
            return i;
    return ACR_TESTED_ABSENT;
}

static void result_free(void *data)
{
    AcrTested *result = data;
    ACR_FREE(result->message, result);
}

void acr_test_run_init(AcrTestRun *run)
{
    run->tests = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, result_free);
    run->ids = g_ptr_array_new();
    run->not_run = g_ptr_array_new_with_free_func(g_free);
}

void acr_test_run_clear(AcrTestRun *run)
{
    g_clear_pointer(&run->ids, g_ptr_array_unref);
    g_clear_pointer(&run->tests, g_hash_table_unref);
    g_clear_pointer(&run->not_run, g_ptr_array_unref);
    g_clear_pointer(&run->running, g_free);
    g_clear_pointer(&run->lines, acr_json_free);
    g_clear_pointer(&run->log, g_free);
}

void acr_test_run_add(AcrTestRun *run, const char *id, AcrTestOutcome outcome, double seconds,
                      const char *message)
{
    AcrTested *result = g_hash_table_lookup(run->tests, id);
    if (!result && run->ids->len < MAX_TESTS) {
        char *key = g_strdup(id);
        result = g_new0(AcrTested, 1);
        g_hash_table_insert(run->tests, key, result);
        g_ptr_array_add(run->ids, key);
    }
    if (!result)
        return;
    result->outcome = MAX(result->outcome, outcome);
    result->seconds += seconds;
    if (message && !result->message)
        result->message = g_strdup(message);
}

/* Returns whether `id` is a part of `whole`: a test of a file, a method of a class. */
static bool is_within(const char *id, const char *whole)
{
    gsize len = strlen(whole);
    return len > 0 && strncmp(id, whole, len) == 0 && strchr(":./[", id[len]) && id[len];
}

AcrTestOutcome acr_test_run_outcome(const AcrTestRun *run, const char *id)
{
    const AcrTested *result = g_hash_table_lookup(run->tests, id);
    AcrTestOutcome worst = ACR_TESTED_ABSENT;
    if (result)
        return result->outcome;
    for (guint i = 0; i < run->ids->len; i++) {
        const AcrTested *part = g_hash_table_lookup(run->tests, run->ids->pdata[i]);
        if (is_within(run->ids->pdata[i], id))
            worst = worst == ACR_TESTED_ABSENT ? part->outcome : MAX(worst, part->outcome);
    }
    return worst;
}

/* Returns whether the error or skip `failed` is about a test or module. In unittest's "setUpClass
 * (a.B)", and in failed imports, the name comes last. */
static bool is_about(const char *failed, const char *id)
{
    static const char *const loaders[] = {"unittest.loader._FailedTest.",
                                          "unittest.loader.ModuleSkipped."};
    const char *bracket = strchr(failed, '(');
    if (strcmp(failed, ACR_PYTEST_ITSELF) == 0)
        return true;
    for (guint i = 0; i < G_N_ELEMENTS(loaders); i++)
        if (g_str_has_prefix(failed, loaders[i]))
            return is_within(id, failed + strlen(loaders[i]));
    g_autofree char *name =
        bracket ? g_strndup(bracket + 1, strcspn(bracket + 1, ")")) : g_strdup(failed);
    return is_within(id, name);
}

GPtrArray *acr_test_run_ids(const AcrTestRun *run, AcrTestOutcome outcome)
{
    GPtrArray *ids = g_ptr_array_new();
    for (guint i = 0; i < run->ids->len; i++)
        if (acr_test_run_outcome(run, run->ids->pdata[i]) == outcome)
            g_ptr_array_add(ids, run->ids->pdata[i]);
    return ids;
}

bool acr_test_ids_are_about(const GPtrArray *ids, const char *id)
{
    for (guint i = 0; i < ids->len; i++)
        if (is_about(ids->pdata[i], id))
            return true;
    return false;
}

bool acr_test_run_is_whole(const AcrTestRun *run)
{
    return !run->timed_out && !run->limit && !run->running && run->not_run->len == 0;
}

bool acr_test_run_lost(const AcrTestRun *run, const char *id)
{
    g_autoptr(GPtrArray) errors = acr_test_run_ids(run, ACR_TESTED_ERROR);
    if (run->timed_out || run->limit || acr_test_ids_are_about(errors, id))
        return true;
    if (g_strcmp0(run->running, id) == 0 ||
        g_ptr_array_find_with_equal_func(run->not_run, id, g_str_equal, NULL))
        return true;
    return acr_test_run_failed_to_start(run);
}

bool acr_test_run_failed_to_start(const AcrTestRun *run)
{
    return run->ids->len == 0 && run->exit_code != 0 && run->exit_code != PYTEST_NO_TESTS &&
           !run->timed_out;
}

guint acr_test_run_count(const AcrTestRun *run, AcrTestOutcome outcome)
{
    guint n = 0;
    for (guint i = 0; i < run->ids->len; i++) {
        const AcrTested *result = g_hash_table_lookup(run->tests, run->ids->pdata[i]);
        n += result->outcome == outcome;
    }
    return n;
}

/* ---- JSON ---- */

AcrJson *acr_test_run_to_json(const AcrTestRun *run)
{
    AcrJson *tests = acr_json_new_array();
    for (guint i = 0; i < run->ids->len; i++) {
        const AcrTested *result = g_hash_table_lookup(run->tests, run->ids->pdata[i]);
        AcrJson *row = acr_json_new_array();
        acr_json_append(row, acr_json_new_string(run->ids->pdata[i]));
        acr_json_append(row, acr_json_new_string(names[result->outcome]));
        acr_json_append(row, acr_json_new_double(result->seconds));
        if (result->message)
            acr_json_append(row, acr_json_new_string(result->message));
        acr_json_append(tests, row);
    }
    return acr_json_of(ACR_JSON("tests", tests),
                       ACR_JSON("not_run", acr_json_new_texts(run->not_run)),
                       ACR_STRING("running", run->running), ACR_INT("exit", run->exit_code),
                       ACR_BOOL("timed_out", run->timed_out), ACR_INT("wall_ms", run->wall_ms),
                       ACR_STRING("log", run->log), NULL);
}

GPtrArray *acr_texts_from_json(const AcrJson *list)
{
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
    for (const AcrJson *at = acr_json_first(list); at && texts->len < MAX_TESTS;
         at = acr_json_next(at))
        if (acr_json_string(at))
            g_ptr_array_add(texts, g_strdup(acr_json_string(at)));
    return texts;
}

void acr_test_run_take(AcrTestRun *run, const AcrJson *json)
{
    const AcrJson *at = acr_json_first(acr_json_get(json, "tests"));
    for (; at; at = acr_json_next(at)) {
        const AcrJson *id = acr_json_first(at), *name = id ? acr_json_next(id) : NULL,
                      *seconds = name ? acr_json_next(name) : NULL,
                      *message = seconds ? acr_json_next(seconds) : NULL;
        AcrTestOutcome outcome = outcome_of(name ? acr_json_string(name) : NULL);
        g_autofree char *printed = seconds ? acr_json_print(seconds) : g_strdup("0");
        if (id && acr_json_string(id) && outcome != ACR_TESTED_ABSENT)
            acr_test_run_add(run, acr_json_string(id), outcome, g_ascii_strtod(printed, NULL),
                             message ? acr_json_string(message) : NULL);
    }
    g_ptr_array_unref(run->not_run);
    run->not_run = acr_texts_from_json(acr_json_get(json, "not_run"));
    run->running = g_strdup(acr_json_get_string(json, "running"));
    run->log = g_strdup(acr_json_get_string(json, "log"));
    run->exit_code = (int)acr_json_get_int(json, "exit", -1);
    run->timed_out = acr_json_get_bool(json, "timed_out", false) ||
                     acr_json_type(acr_json_get(json, "exit")) == ACR_JSON_NULL;
    run->is_stopped = acr_json_get_bool(json, "stopped", false);
    run->wall_ms = acr_json_get_int(json, "wall_ms", 0);
}
