/* acr-host tests: runs a project's tests, and compares their outcomes with and without a patch. */
#include "verbs/test_place.h"

#define SHOWN 20u /* maximum number of tests in a list for a person */
/* maximum number of failing tests listed without a patch; --list lists all */
#define FAILING 10u

/* ---- Printing ---- */

static AcrJson *counts_of(const AcrTestRun *run)
{
    return acr_json_of(ACR_INT("passed", acr_test_run_count(run, ACR_TESTED_PASSED)),
                       ACR_INT("failed", acr_test_run_count(run, ACR_TESTED_FAILED)),
                       ACR_INT("errors", acr_test_run_count(run, ACR_TESTED_ERROR)),
                       ACR_INT("skipped", acr_test_run_count(run, ACR_TESTED_SKIPPED)),
                       ACR_INT("xfailed", acr_test_run_count(run, ACR_TESTED_XFAILED)), NULL);
}

static AcrJson *list_of(const AcrTestRun *run)
{
    AcrJson *json = acr_json_new_array();
    for (guint i = 0; i < run->ids->len; i++) {
        const AcrTested *result = g_hash_table_lookup(run->tests, run->ids->pdata[i]);
        AcrJson *row = acr_json_of(ACR_STRING("test", run->ids->pdata[i]),
                                   ACR_STRING("outcome", acr_test_outcome_name(result->outcome)),
                                   ACR_JSON("seconds", acr_json_new_double(result->seconds)), NULL);
        if (result->message)
            acr_json_set_string(row, "message", result->message);
        acr_json_append(json, row);
    }
    return json;
}

static AcrJson *describe_tests(const AcrRunSpec *spec, const AcrBaseline *baseline,
                               const AcrTestRun *patched, const AcrTestComparison *found)
{
    const AcrTestRun *run = &baseline->run, *last = patched ? patched : run;
    AcrJson *json = acr_json_of(
        ACR_STRING("runner", baseline->runner), ACR_STRING("command", baseline->command),
        ACR_STRING("why", baseline->why), ACR_JSON("tried", acr_json_new_texts(baseline->tried)),
        ACR_STRING("python", baseline->version), ACR_JSON("counts", counts_of(run)),
        ACR_JSON("flaky", acr_json_new_texts(baseline->flaky)),
        ACR_JSON("seconds", acr_json_new_double((double)run->wall_ms / 1000)),
        ACR_BOOL("kept", baseline->is_kept), ACR_BOOL("complete", acr_test_run_is_whole(last)),
        ACR_STRING("running", last->running), ACR_STRING("missing", baseline->missing), NULL);
    if (spec->list)
        acr_json_set(json, "tests", list_of(run));
    if (patched) {
        acr_json_set(json, "patched", counts_of(last));
        acr_json_set(json, "patched_seconds", acr_json_new_double((double)last->wall_ms / 1000));
        acr_test_comparison_to_json(found, true, json);
    }
    acr_json_set(json, "not_run",
                 /* the names of the tests, not only their number */
                 acr_json_new_texts(last->not_run));
    return json;
}

static void add_list(GString *text, const char *heading, const GPtrArray *ids, guint most)
{
    if (!ids || ids->len == 0)
        return;
    g_string_append_printf(text, "%s (%u):\n", heading, ids->len);
    for (guint i = 0; i < MIN(ids->len, most); i++) {
        g_autofree char *id = acr_one_line(ids->pdata[i]);
        g_string_append_printf(text, "  %s\n", id);
    }
    if (ids->len > most)
        g_string_append_printf(text, "  … and %u more\n", ids->len - most);
}

static void add_failing(GString *text, const AcrTestRun *run)
{
    g_autoptr(GPtrArray) failing = g_ptr_array_new();
    for (guint i = 0; i < run->ids->len; i++)
        if (acr_test_is_bad(acr_test_run_outcome(run, run->ids->pdata[i])))
            g_ptr_array_add(failing, run->ids->pdata[i]);
    add_list(text, "failing", failing, FAILING);
    if (failing->len > FAILING)
        g_string_append(text, "  (--list names all)\n");
}

static void add_run(GString *text, const char *name, const AcrTestRun *run)
{
    guint errors = acr_test_run_count(run, ACR_TESTED_ERROR);
    g_string_append_printf(
        text, "%s: %u passed, %u failed, %u error%s, %u skipped, %u failed as expected, in %.1f s",
        name, acr_test_run_count(run, ACR_TESTED_PASSED),
        acr_test_run_count(run, ACR_TESTED_FAILED), errors, errors == 1 ? "" : "s",
        acr_test_run_count(run, ACR_TESTED_SKIPPED), acr_test_run_count(run, ACR_TESTED_XFAILED),
        (double)run->wall_ms / 1000);
    if (run->exit_code > 0)
        g_string_append_printf(text, " (exit code %d)", run->exit_code);
    g_string_append_c(text, '\n');
    if (!acr_test_run_is_whole(run))
        g_string_append_printf(text, "%s: not all tests ran: %s\n", name,
                               run->limit       ? "a limit was reached"
                               : run->timed_out ? "--test-time was over"
                                                : "the test run ended early");
    add_list(text, "not run", run->not_run, SHOWN);
}

/* Says why it is unknown whether the patch breaks tests; owned; NULL if the results are complete,
 * or as complete as the baseline. */
static char *find_doubt(const AcrBaseline *baseline, const AcrTestComparison *found)
{
    if (found->compared == 0)
        return g_strdup("none of the tests that pass without the patch ran");
    bool is_known = !acr_test_run_is_whole(&baseline->run) && found->unconfirmed->len == 0;
    return is_known ? NULL : acr_test_comparison_doubt(found);
}

static char *tests_text(const AcrRunSpec *spec, const AcrBaseline *baseline,
                        const AcrTestRun *patched, const AcrTestComparison *found)
{
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "command: %s\nwhy: %s\npython: %s\n", baseline->command,
                           baseline->why, baseline->version);
    add_list(text, "tried before", baseline->tried, SHOWN);
    add_run(text, baseline->is_kept ? "baseline (kept)" : "baseline", &baseline->run);
    add_list(text, "flaky", baseline->flaky, SHOWN);
    if (baseline->missing)
        g_string_append_printf(text, "missing modules: %s%s\n", baseline->missing,
                               spec->setup ? ""
                                           : " (--setup auto installs what the project names)");
    for (guint i = 0; spec->list && i < baseline->run.ids->len; i++) {
        const char *id = baseline->run.ids->pdata[i];
        const AcrTested *result = g_hash_table_lookup(baseline->run.tests, id);
        g_autofree char *shown = acr_one_line(id);
        g_string_append_printf(text, "%s %s\n", acr_test_outcome_name(result->outcome), shown);
    }
    if (!patched && !spec->list)
        add_failing(text, &baseline->run);
    if (!patched)
        return g_string_free(text, FALSE);
    g_autoptr(GPtrArray) broken = g_ptr_array_new();
    for (guint i = 0; i < found->broken->len; i++)
        g_ptr_array_add(broken, ((AcrBrokenTest *)found->broken->pdata[i])->id);
    add_run(text, "with the patch", patched);
    add_list(text, "regressions", broken, G_MAXUINT);
    const char *name, *heading;
    const GPtrArray *ids;
    for (guint i = 0; acr_test_comparison_list(found, i, &name, &heading, &ids); i++)
        add_list(text, heading, ids, ids == found->fixed ? G_MAXUINT : SHOWN);
    g_autofree char *doubt = find_doubt(baseline, found);
    if (doubt && acr_test_comparison_regressions(found) == 0)
        g_string_append_printf(text, "whether the patch breaks tests is unknown: %s\n", doubt);
    return g_string_free(text, FALSE);
}

/* ---- Running ---- */

static int report_tests(const AcrRunSpec *spec, const AcrBaseline *baseline,
                        const AcrTestRun *patched, const AcrTestComparison *found)
{
    bool is_refused = acr_test_comparison_regressions(found) > 0;
    bool runs = acr_test_run_count(&baseline->run, ACR_TESTED_PASSED) > 0;
    bool is_red = !patched && (acr_test_run_count(&baseline->run, ACR_TESTED_FAILED) > 0 ||
                               acr_test_run_count(&baseline->run, ACR_TESTED_ERROR) > 0);
    g_autofree char *doubt = patched ? find_doubt(baseline, found) : NULL;
    int code = is_refused || !runs || is_red || doubt ? ACR_EXIT_NONE : ACR_EXIT_OK;
    if (spec->json) {
        g_autoptr(AcrJson) json = describe_tests(spec, baseline, patched, found);
        return acr_out_exit(acr_out_json(json), code);
    }
    g_autofree char *text = tests_text(spec, baseline, patched, found);
    return acr_out_exit(acr_out_text(text), code);
}

static int compare_tests(AcrHost *host, const AcrRunSpec *spec, const AcrTestPlace *place,
                         const AcrOverlay *overlay)
{
    g_autoptr(GError) error = NULL;
    AcrProject project = acr_test_place_project(place, host, spec);
    g_auto(AcrBaseline) baseline = {0};
    g_auto(AcrTestRun) patched = {0};
    g_auto(AcrTestComparison) found = {0};
    g_auto(GStrv) changed = overlay ? acr_overlay_changed(overlay) : NULL;
    g_autoptr(AcrConsole) console = acr_console_new(spec);
    acr_test_place_show(&project, console);
    if (overlay) /* the baseline gets half of the time, the patch the other half */
        project.time_ms = MAX(project.time_ms / 2, 1);
    bool ok =
        acr_project_baseline(&project, (const char *const *)changed, &baseline, &error) &&
        (!overlay || acr_project_compare(&project, &baseline, overlay, &patched, &found, &error));
    acr_console_end(console);
    if (!ok)
        return acr_test_place_fail(host, error);
    return report_tests(spec, &baseline, overlay ? &patched : NULL, &found);
}

static int run_tests_verb(AcrHost *host, AcrRunSpec *spec)
{
    g_autoptr(GError) error = NULL;
    g_auto(AcrTestPlace) place = {0};
    if (!acr_verb_take_environment(host, spec, &error) ||
        !acr_test_place_open(host, spec, &place, &error))
        return acr_test_place_fail(host, error);
    if (spec->verbose && acr_sandbox_choice(place.sandbox))
        acr_verb_say("%s", acr_sandbox_choice(place.sandbox));
    g_autoptr(AcrOverlay) overlay = spec->patch ? acr_overlay_new(place.workspace.snapshot) : NULL;
    if (overlay && !acr_verb_apply_patch(host, spec->patch, overlay, &error))
        return acr_verb_usage(host, "%s", error->message);
    return compare_tests(host, spec, &place, overlay);
}

const AcrVerb acr_verb_tests = {
    .name = "tests",
    .summary = "Find and run a project's own tests; report what a patch breaks and fixes",
    .takes = ACR_FOR_TESTS,
    .uses_network = true,
    .examples = {{"Report which tests a patch breaks and fixes", "tests --patch patch.diff"}},
    .exits = "0 no test fails (--patch: it breaks none), 1 one does, none passes, or it is unclear",
    .run = run_tests_verb,
};
