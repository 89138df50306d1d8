/* Makes the baseline, the outcomes of the tests without a patch. Tries plans in order until some
 * tests pass, and then runs failing tests a second time. The cache key is a digest of all inputs on
 * which the results depend. */
#include "project/project_private.h"

#include <string.h>

#define MAX_LAST_BYTES 32 /* maximum size of the note with the duration of the tests, in bytes */
#define VERSION 3
#define MAX_TRIED 5u
#define MAX_KEPT_BYTES ((gsize)128 * 1024 * 1024)
#define SHOWN_BYTES 160u

void acr_baseline_clear(AcrBaseline *baseline)
{
    char **const texts[] = {&baseline->runner,  &baseline->command, &baseline->why,
                            &baseline->version, &baseline->missing, &baseline->unstarted};
    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        g_clear_pointer(texts[i], g_free);
    g_clear_pointer(&baseline->plan, acr_json_free);
    g_clear_pointer(&baseline->tried, g_ptr_array_unref);
    g_clear_pointer(&baseline->flaky, g_ptr_array_unref);
    acr_test_run_clear(&baseline->run);
}

static void take_plan(AcrBaseline *baseline, const AcrJson *plan)
{
    baseline->plan = acr_json_copy(plan);
    baseline->runner = g_strdup(acr_json_get_string(plan, "runner"));
    baseline->command = g_strdup(acr_json_get_string(plan, "command"));
    baseline->why = g_strdup(acr_json_get_string(plan, "why"));
}

/* ---- The cache ---- */

/* Returns the baseline's path in the cache; owned; NULL without an error if it is not cached. */
static char *baseline_path(const AcrProject *project, const AcrProbe *probe, const AcrJson *plans,
                           GError **error)
{
    g_autofree char *inside = acr_project_inside_digest(project, error);
    if (!project->cache || project->overlay || !inside)
        return NULL;
    g_autofree char *tree = acr_snapshot_digest(project->snapshot), *text = acr_json_print(plans),
                    *all = g_strdup_printf(
                        "%d\n%s\n%s\n%s\n%s\n%s\n%d\n%s\n", VERSION, tree, inside, probe->digest,
                        acr_sandbox_backend(project->sandbox),
                        project->environment ? project->environment : "", project->network, text),
                    *key = acr_sha256_hex(all, strlen(all)),
                    *name = g_strconcat(key, ".json", NULL);
    return g_build_filename(project->cache, name, NULL);
}

/* Returns the path in the cache of the note with the duration of the tests; owned. */
static char *last_path(const char *cache, const char *place)
{
    g_autofree char *real = acr_path_real(place), *key = acr_sha256_hex(real, strlen(real));
    return g_strdup_printf("%s/last-%s", cache, key);
}

gint64 acr_project_last_ms(const char *cache, const char *place)
{
    g_autofree char *path = cache && place ? last_path(cache, place) : NULL;
    g_autoptr(GBytes) bytes = path ? acr_file_read(path, MAX_LAST_BYTES, NULL) : NULL;
    g_autofree char *text = bytes ? acr_bytes_text(bytes) : NULL;
    guint64 ms = 0;
    bool is_known = text && g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT32, &ms, NULL);
    return is_known ? (gint64)ms : -1;
}

static void keep_time(const AcrProject *project, const AcrBaseline *baseline)
{
    g_autoptr(GError) error = NULL;
    bool is_kept = project->cache && project->place && !project->overlay;
    g_autofree char *path = is_kept ? last_path(project->cache, project->place) : NULL,
                    *ms = g_strdup_printf("%" G_GINT64_FORMAT, baseline->run.wall_ms);
    if (path && acr_dir_make(project->cache, &error))
        (void)!acr_file_write_atomic(path, ms, strlen(ms), 0600, &error);
}

/* Caches the baseline. If caching fails, the next run makes the baseline again. */
static void keep_baseline(const AcrProject *project, const AcrBaseline *baseline, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(AcrJson) json =
        acr_json_of(ACR_JSON("plan", acr_json_copy(baseline->plan)),
                    ACR_JSON("tried", acr_json_new_texts(baseline->tried)),
                    ACR_JSON("flaky", acr_json_new_texts(baseline->flaky)),
                    ACR_STRING("missing", baseline->missing),
                    ACR_JSON("run", acr_test_run_to_json(&baseline->run)), NULL);
    g_autofree char *text = acr_json_print(json);
    if (!acr_dir_make(project->cache, &error) ||
        !acr_file_write_atomic(path, text, strlen(text), 0600, &error))
        g_debug("cannot save the baseline: %s", error->message);
}

/* Reads a cached baseline. */
static bool take_kept(const char *path, AcrBaseline *out)
{
    g_autoptr(GBytes) bytes = path ? acr_file_read(path, MAX_KEPT_BYTES, NULL) : NULL;
    g_autoptr(AcrJson) json = bytes ? acr_json_parse_bytes(bytes, NULL) : NULL;
    const AcrJson *run = acr_json_get(json, "run"), *plan = acr_json_get(json, "plan");
    if (!run || !acr_json_get_string(plan, "runner"))
        return false;
    take_plan(out, plan);
    g_ptr_array_unref(out->tried);
    g_ptr_array_unref(out->flaky);
    out->tried = acr_texts_from_json(acr_json_get(json, "tried"));
    out->flaky = acr_texts_from_json(acr_json_get(json, "flaky"));
    out->missing = g_strdup(acr_json_get_string(json, "missing"));
    acr_test_run_init(&out->run);
    acr_test_run_take(&out->run, run);
    out->is_kept = true;
    return true;
}

/* Reads a cached baseline, or waits for the process that is making it. Returns false if this
 * process must make the baseline, because no process is making it or locking failed. */
static bool take_or_lock(const AcrProject *project, const char *path, AcrBaseline *out,
                         AcrLock **out_lock)
{
    if (take_kept(path, out))
        return true;
    g_autofree char *lock_path = path ? g_strconcat(path, ".lock", NULL) : NULL;
    if (!path || !acr_dir_make(project->cache, NULL))
        return false;
    gint64 wait_us = 2 * project->time_ms * 1000,
           deadline_us = wait_us > 0 ? g_get_monotonic_time() + wait_us : 0;
    *out_lock = acr_project_lock(lock_path, deadline_us, project->interrupt, NULL);
    return *out_lock && take_kept(path, out);
}

/* ---- Trying plans ---- */

/* Says which program the plan needs and the environment lacks; NULL if none is missing. */
static const char *find_lack(const AcrJson *plan, const AcrProbe *probe)
{
    g_autoptr(GPtrArray) found = acr_texts_from_json(probe->modules);
    bool is_pytest = g_strcmp0(acr_json_get_string(plan, "runner"), "pytest") == 0,
         has_pytest = g_ptr_array_find_with_equal_func(found, "pytest", g_str_equal, NULL);
    return is_pytest && !has_pytest ? "pytest is not installed for the project's Python" : NULL;
}

/* Finds the error in a message or log, shortened: the exception that pytest marks (the first of the
 * last lines that begin with "E"), otherwise the last non-empty line; owned; NULL if there is
 * none. */
static char *find_exception(const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
    const char *marked = NULL, *last = NULL;
    bool was_marked = false;
    for (guint i = 0; lines[i]; i++) {
        bool is_marked = lines[i][0] == 'E' && g_ascii_isspace(lines[i][1]);
        const char *line = g_strstrip(lines[i] + (is_marked ? 1 : 0));
        if (*line && is_marked && !was_marked)
            marked = line;
        last = *line ? line : last;
        was_marked = is_marked;
    }
    last = marked ? marked : last;
    return last ? acr_text_shorten(last, SHOWN_BYTES) : NULL;
}

/* Says why no test passes: the message of one test, preferably of an error (a fixture that raises,
 * a file that cannot be imported), otherwise of a failure; without either, the end of the log;
 * owned. */
static char *explain_run(const AcrTestRun *run)
{
    static const AcrTestOutcome outcomes[] = {ACR_TESTED_ERROR, ACR_TESTED_FAILED};
    for (guint k = 0; k < G_N_ELEMENTS(outcomes); k++)
        for (guint i = 0; i < run->ids->len; i++) {
            const char *id = run->ids->pdata[i];
            const AcrTested *result = g_hash_table_lookup(run->tests, id);
            g_autofree char *why =
                result->outcome == outcomes[k] ? find_exception(result->message) : NULL;
            if (why)
                return g_strdup_printf("%s: %s", id, why);
        }
    char *line = find_exception(run->log);
    return line ? line : g_strdup("the command printed nothing");
}

static guint count_good(const AcrTestRun *run)
{
    return acr_test_run_count(run, ACR_TESTED_PASSED) + acr_test_run_count(run, ACR_TESTED_XFAILED);
}

static void add_tried(AcrBaseline *baseline, const AcrJson *plan, bool has_started, const char *why)
{
    const char *command = acr_json_get_string(plan, "command");
    char *line = g_strdup_printf("%s: %s", command ? command : "?", why);
    if (!has_started && !baseline->unstarted)
        baseline->unstarted = g_strdup(line);
    g_ptr_array_add(baseline->tried, line);
}

/* Runs a plan. If its result is the best so far, keeps it in `out` and returns true. */
static bool try_plan(const AcrProject *project, const AcrJson *plan, const AcrJson *order,
                     AcrBaseline *out, GError **error)
{
    AcrTestOrder asked = {
        .plan = plan, .overlay = project->overlay, .order = order, .time_ms = project->time_ms};
    g_auto(AcrTestRun) run = {0};
    if (!acr_project_run(project, &asked, &run, error))
        return false;
    if (count_good(&run) == 0) {
        g_autofree char *line = explain_run(&run);
        guint bad = acr_test_run_count(&run, ACR_TESTED_FAILED) +
                    acr_test_run_count(&run, ACR_TESTED_ERROR);
        g_autofree char *why =
            run.timed_out && !bad ? g_strdup("no test finished before the timeout")
            : run.ids->len > 0    ? g_strdup_printf("no test passes (%s)", line)
                                  : g_strdup_printf("the command runs no tests (%s)", line);
        add_tried(out, plan, !acr_test_run_failed_to_start(&run), why);
        if (out->plan && run.ids->len <= out->run.ids->len)
            return true;
    }
    g_clear_pointer(&out->plan, acr_json_free);
    g_clear_pointer(&out->runner, g_free);
    g_clear_pointer(&out->command, g_free);
    g_clear_pointer(&out->why, g_free);
    acr_test_run_clear(&out->run);
    take_plan(out, plan);
    out->run = run;
    run = (AcrTestRun){0};
    return true;
}

/* Runs failing tests again. Tests that now pass are flaky. */
static bool run_again(const AcrProject *project, AcrBaseline *baseline, GError **error)
{
    g_autoptr(GPtrArray) failed = g_ptr_array_new();
    for (guint i = 0; i < baseline->run.ids->len; i++)
        if (acr_test_is_bad(acr_test_run_outcome(&baseline->run, baseline->run.ids->pdata[i])))
            g_ptr_array_add(failed, baseline->run.ids->pdata[i]);
    if (failed->len == 0 || baseline->run.timed_out)
        return true;
    AcrTestOrder asked = {.plan = baseline->plan,
                          .overlay = project->overlay,
                          .select = failed,
                          .time_ms = project->time_ms};
    g_auto(AcrTestRun) again = {0};
    if (!acr_project_run(project, &asked, &again, error))
        return false;
    for (guint i = 0; i < failed->len; i++)
        if (acr_test_is_good(acr_test_run_outcome(&again, failed->pdata[i])))
            g_ptr_array_add(baseline->flaky, g_strdup(failed->pdata[i]));
    return true;
}

static bool find_missing(const AcrProject *project, AcrBaseline *baseline, GError **error)
{
    GString *text = g_string_new(baseline->run.log);
    for (guint i = 0; i < baseline->run.ids->len; i++) {
        const AcrTested *result =
            g_hash_table_lookup(baseline->run.tests, baseline->run.ids->pdata[i]);
        if (result->message && result->outcome == ACR_TESTED_ERROR)
            g_string_append_printf(text, "\n%s", result->message);
    }
    g_autoptr(AcrJson) question = acr_json_new_object();
    acr_json_set_string(question, "text", text->str);
    g_string_free(text, TRUE);
    g_autoptr(AcrJson) found = acr_project_ask(project, "missing", question, error);
    if (!found)
        return false;
    GString *list = g_string_new(NULL);
    for (const AcrJson *at = acr_json_first(found); at; at = acr_json_next(at))
        g_string_append_printf(list, "%s%s", list->len ? ", " : "", acr_json_string(at));
    baseline->missing = g_string_free(list, list->len == 0);
    return true;
}

static bool make_baseline(const AcrProject *project, const AcrJson *plans, const AcrProbe *probe,
                          const AcrJson *order, AcrBaseline *out, GError **error)
{
    guint n = 0;
    for (const AcrJson *plan = acr_json_first(plans); plan && n < MAX_TRIED;
         plan = acr_json_next(plan)) {
        const char *lack = find_lack(plan, probe);
        if (lack)
            add_tried(out, plan, false, lack);
        else if (n++, !try_plan(project, plan, order, out, error))
            return false;
        if (out->plan && count_good(&out->run) > 0)
            break;
    }
    if (out->unstarted && (!out->plan || count_good(&out->run) == 0))
        return acr_set_error(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_NO_RUNNER,
                             "no test could be run: %s", out->unstarted);
    if (out->plan && out->run.ids->len > 0)
        return run_again(project, out, error) && find_missing(project, out, error);
    if (out->tried->len == 0)
        return acr_set_error(
            error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_NO_TESTS,
            "the project's files do not say how to run its tests; give --test-cmd");
    g_autofree char *tried = g_strdup(out->tried->pdata[0]);
    return acr_set_error(error, ACR_PROJECT_ERROR, ACR_PROJECT_ERROR_NO_TESTS,
                         "no test could be run: %s", tried);
}

bool acr_project_baseline(const AcrProject *project, const char *const *changed, AcrBaseline *out,
                          GError **error)
{
    g_auto(AcrBaseline) baseline = {.tried = g_ptr_array_new_with_free_func(g_free),
                                    .flaky = g_ptr_array_new_with_free_func(g_free)};
    g_auto(AcrProbe) probe = {0};
    g_autoptr(GError) failed = NULL;
    g_autoptr(AcrJson) plans = acr_project_detect(project, error), order = NULL;
    if (!plans || !acr_project_probe(project, &probe, error))
        return false;
    baseline.version = g_strdup(probe.version);
    g_autofree char *path = baseline_path(project, &probe, plans, &failed);
    if (failed)
        return acr_pass_error(error, &failed);
    g_autoptr(AcrLock) lock = NULL;
    if (!take_or_lock(project, path, &baseline, &lock)) {
        if (changed && !(order = acr_project_order(project, changed, error)))
            return false;
        if (!make_baseline(project, plans, &probe, order, &baseline, error))
            return false;
        /* a baseline that timed out has only the tests nearest to this patch */
        if (path && !baseline.run.timed_out)
            keep_baseline(project, &baseline, path);
    }
    keep_time(project, &baseline);
    *out = baseline;
    baseline = (AcrBaseline){0};
    return true;
}
