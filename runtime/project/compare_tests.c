/* Finds the effect of a patch on the tests, within the time for one check. A test whose outcome
 * differs from the baseline is a suspect. Suspects of one kind are run again on both trees: several
 * times together, and then the first few alone, each in its own process, unless there was only one
 * suspect. If one of these behaves differently alone, all others are run alone, too. A single run
 * that contradicts the suspicion clears a suspect. So a test that fails half of the time by chance
 * is taken for a regression with a probability of at most 4^-(rounds + 1). After a run that was
 * stopped at a failure, or in which no test could start, a quick verdict is needed, so two runs of
 * the first suspect on each tree suffice, the second one alone. */
#include "project/project_private.h"

#include <string.h>

/* How often all suspects are run together, without and with the patch (for broken tests, or for
 * fixed tests). If the verdict is to be quick, the round of a single suspect is one alone, too. */
#define ROUNDS(work, bad_with, is_single)                                                          \
    (!(bad_with) ? 1u : !is_quick(work) ? 4u : (is_single) ? MIN_ROUNDS : 1u)
#define MIN_ROUNDS 2u /* after so many rounds, half of the time is kept for runs alone */
/* number of suspects that are run alone even if all rounds together agree */
#define FIRST_ALONE(work) (is_quick(work) ? 1u : 3u)
/* time kept for confirming suspects, but at most half of the whole time */
#define CONFIRM_MS 120000
#define ALONE(work, bad_with) ((bad_with) && !is_quick(work) ? 2u : 1u)
#define SLOWER 4 /* limit: times the duration of the baseline, plus SLACK_MS */
#define SLACK_MS 60000
/* maximum number of suspects to confirm; further suspects stay unconfirmed */
#define MAX_AGAIN 20u
#define PYTEST_FAILURES 1 /* exit code of pytest and unittest after failed tests */
#define MAX_QUICK 3u      /* maximum number of suspects if the verdict is to be quick */

/* The state of the check of one patch, for broken and for fixed tests. */
typedef struct {
    const AcrProject *project;
    const AcrBaseline *baseline;
    const AcrOverlay *overlay;
    AcrTestRun *run;        /* the first run with the patch */
    GPtrArray *regressions; /* ids of tests */
    GPtrArray *gone;        /* tests that the patch hides, but does not remove; borrowed ids */
    AcrTestComparison *out;
    gint64 deadline_us;
    bool ends_early; /* two runs with the patch ended early; tests that they omit are no evidence */
} Work;

static bool is_in(const GPtrArray *texts, const char *text)
{
    return g_ptr_array_find_with_equal_func((GPtrArray *)texts, text, g_str_equal, NULL);
}

/* Returns whether one confirmed regression suffices, and further ones would cost time only. */
static bool is_quick(const Work *work)
{
    return work->run->is_stopped ||
           (work->project->is_first_enough && acr_test_run_failed_to_start(work->run));
}

static gint64 left_ms(const Work *work)
{
    return (work->deadline_us - g_get_monotonic_time()) / 1000;
}

/* Returns the time limit of a run, derived from the baseline's time, because a patch may make a
 * test hang. */
static gint64 bound_ms(const Work *work)
{
    const AcrTestRun *before = &work->baseline->run;
    gint64 most = before->timed_out ? G_MAXINT64 : SLOWER * before->wall_ms + SLACK_MS;
    return CLAMP(left_ms(work), 1, most);
}

/* ---- Running suspects again ---- */

/* Returns whether a test is bad in a run. A missing test is bad if the run reports an error for it,
 * if no test ended with the patch, or if the patch hides the test. */
static bool is_bad(const Work *work, const AcrTestRun *run, bool with_patch, const char *id)
{
    AcrTestOutcome outcome = acr_test_run_outcome(run, id);
    if (outcome != ACR_TESTED_ABSENT)
        return acr_test_is_bad(outcome);
    return acr_test_run_lost(run, id) ||
           (with_patch && (work->run->ids->len == 0 || is_in(work->gone, id)));
}

/* Runs suspects on one tree, and removes suspects whose outcome differs from the expected one
 * (`bad`). */
static bool sift(Work *work, const GPtrArray *select, bool with_patch, bool bad,
                 GPtrArray *suspects, GError **error)
{
    bool is_hidden = with_patch && is_in(work->gone, select->pdata[0]),
         is_named = is_hidden && acr_json_get_string(work->baseline->plan, "select");
    AcrTestOrder asked = {
        .plan = work->baseline->plan,
        .overlay = with_patch ? work->overlay : NULL,
        .select = select,
        .is_wide = is_hidden,
        .time_ms = bound_ms(work),
    };
    g_auto(AcrTestRun) run = {0};
    if (!acr_project_run(work->project, &asked, &run, error))
        return false;
    for (guint i = select->len; i > 0; i--) {
        char *id = select->pdata[i - 1];
        bool agrees = bad ? is_bad(work, &run, with_patch, id)
                          : acr_test_is_good(acr_test_run_outcome(&run, id));
        if (agrees)
            continue;
        /* a hidden test runs if the command line names it, which proves nothing */
        bool is_late =
            is_named || (run.timed_out && acr_test_run_outcome(&run, id) == ACR_TESTED_ABSENT);
        g_ptr_array_add(is_late ? work->out->unconfirmed : work->out->unstable, g_strdup(id));
        g_ptr_array_remove(suspects, id);
    }
    return true;
}

/* Runs the suspects on both trees. If `bad_with`, they are expected to be bad with the patch and
 * good without it; otherwise the opposite. */
static bool sift_both(Work *work, const GPtrArray *select, bool bad_with, GPtrArray *suspects,
                      GError **error)
{
    g_autoptr(GPtrArray) left = g_ptr_array_new();
    if (!sift(work, select, true, bad_with, suspects, error))
        return false;
    for (guint i = 0; i < select->len; i++)
        if (g_ptr_array_find(suspects, select->pdata[i], NULL))
            g_ptr_array_add(left, select->pdata[i]);
    return left->len == 0 || sift(work, left, false, !bad_with, suspects, error);
}

/* Runs the first suspects alone; if one of them behaves differently, runs the others alone, too.
 * Adds confirmed suspects to `confirmed`. `rounds` is the number of rounds in which they ran
 * together; with `was_alone`, there was only one suspect in these rounds. */
static bool confirm_alone(Work *work, bool bad_with, guint rounds, bool was_alone,
                          GPtrArray *suspects, GPtrArray *confirmed, GError **error)
{
    guint enough = MIN(ROUNDS(work, bad_with, was_alone), MIN_ROUNDS);
    g_autoptr(GPtrArray) all = g_ptr_array_copy(suspects, NULL, NULL);
    for (guint i = 0; i < all->len; i++) {
        g_autoptr(GPtrArray) one = g_ptr_array_new();
        g_ptr_array_add(one, all->pdata[i]);
        bool are_alike = rounds >= enough && suspects->len == all->len;
        if (are_alike && (was_alone || i >= FIRST_ALONE(work) ||
                          left_ms(work) <= 0)) { /* the rounds together are enough */
            g_ptr_array_add(confirmed, g_strdup(all->pdata[i]));
            continue;
        }
        bool has_time = i < MAX_AGAIN;
        for (guint n = 0; n < ALONE(work, bad_with) && has_time &&
                          g_ptr_array_find(suspects, all->pdata[i], NULL);
             n++) {
            has_time = left_ms(work) > 0;
            if (has_time && !sift_both(work, one, bad_with, suspects, error))
                return false;
        }
        if (!g_ptr_array_find(suspects, all->pdata[i], NULL))
            continue;
        g_ptr_array_add(has_time ? confirmed : work->out->unconfirmed, g_strdup(all->pdata[i]));
    }
    return true;
}

static bool confirm(Work *work, bool bad_with, GPtrArray *suspects, GPtrArray *confirmed,
                    GError **error)
{
    gint64 whole_ms = left_ms(work);
    guint rounds = 0, most = is_quick(work) ? MAX_QUICK : MAX_AGAIN;
    for (; bad_with && suspects->len > most; g_ptr_array_set_size(suspects, suspects->len - 1))
        g_ptr_array_add(work->out->unconfirmed, g_strdup(suspects->pdata[suspects->len - 1]));
    bool was_alone = bad_with && suspects->len == 1;
    for (; rounds < ROUNDS(work, bad_with, was_alone) && suspects->len > 0; rounds++) {
        if (left_ms(work) <= (rounds < MIN_ROUNDS ? 0 : whole_ms / 2))
            break;
        g_autoptr(GPtrArray) all = g_ptr_array_copy(suspects, NULL, NULL);
        if (!sift_both(work, all, bad_with, suspects, error))
            return false;
    }
    return confirm_alone(work, bad_with, rounds, was_alone, suspects, confirmed, error);
}

/* Returns whether a test failed that passes without the patch. A runner that is told to stop at the
 * first failure ends after such a test. */
static bool has_new_failure(const AcrTestRun *before, const AcrTestRun *run)
{
    for (guint i = 0; i < run->ids->len; i++) {
        const char *id = run->ids->pdata[i];
        if (acr_test_is_bad(acr_test_run_outcome(run, id)) &&
            acr_test_is_good(acr_test_run_outcome(before, id)))
            return true;
    }
    return false;
}

/* Returns whether a run ended by itself, between two tests. */
static bool ended_by_itself(const AcrTestRun *run)
{
    return !run->timed_out && !run->limit && !run->running;
}

/* Returns whether a run left out no test but those that the baseline left out, too. Some projects
 * have such tests; pytest's own suite collects tests whose outcome its runner never reports. */
static bool ran_as_before(const AcrTestRun *before, const AcrTestRun *run)
{
    bool ran = ended_by_itself(run);
    for (guint i = 0; ran && i < run->not_run->len; i++)
        ran = g_ptr_array_find_with_equal_func(before->not_run, run->not_run->pdata[i], g_str_equal,
                                               NULL);
    return ran;
}

/* Returns whether a run ended before all tests had run, and neither a limit nor a failing test
 * ended it. A timeout counts if no test was running (a running test is a suspect of its own) and
 * the run had much more time than the baseline needed. */
static bool broke_off(const AcrTestRun *before, const AcrTestRun *run)
{
    if (run->limit || run->is_stopped || ran_as_before(before, run))
        return false;
    if (run->timed_out)
        return !run->running && run->wall_ms >= SLOWER * before->wall_ms;
    return run->running || run->exit_code != PYTEST_FAILURES || !has_new_failure(before, run);
}

/* Returns the test to blame if two runs with the patch ended early: the test that was running in
 * both, or the first test that neither run reached; borrowed; NULL if there is none. */
static const char *find_end(const AcrTestRun *before, const AcrTestRun *one,
                            const AcrTestRun *other)
{
    if (one->running && g_strcmp0(one->running, other->running) == 0 &&
        acr_test_is_good(acr_test_run_outcome(before, one->running)))
        return one->running;
    for (guint i = 0; i < before->ids->len; i++) {
        const char *id = before->ids->pdata[i];
        if (acr_test_is_good(acr_test_run_outcome(before, id)) &&
            !g_hash_table_contains(one->tests, id) && !g_hash_table_contains(other->tests, id))
            return id;
    }
    return NULL;
}

/* Adds a regression if two runs with the patch end early, even if each test passes alone. */
static bool confirm_end(Work *work, AcrTestOrder *asked, GError **error)
{
    const AcrTestRun *run = work->run, *before = &work->baseline->run;
    g_auto(AcrTestRun) again = {0};
    bool is_usual = before->exit_code == 0 || before->exit_code == PYTEST_FAILURES;
    if (!(acr_test_run_is_whole(before) || (ended_by_itself(before) && is_usual)) ||
        !broke_off(before, run))
        return true;
    asked->time_ms = bound_ms(work);
    if (!acr_project_run(work->project, asked, &again, error))
        return false;
    const char *id = broke_off(before, &again) ? find_end(before, run, &again) : NULL;
    work->ends_early = id != NULL;
    if (id)
        g_ptr_array_add(work->regressions, g_strdup(id));
    return true;
}

/* Removes the tests that a run omitted because it ended early. How they behave alone says nothing
 * about the patch. */
static void forget_omitted(const AcrTestRun *run, GPtrArray *ids)
{
    for (guint i = ids->len; i > 0; i--)
        if (!g_hash_table_contains(run->tests, ids->pdata[i - 1]))
            g_ptr_array_remove_index(ids, i - 1);
}

/* ---- Suspects ---- */

/* Returns whether the timeout came before the test could run. A test whose file cannot be imported
 * is not left out. */
static bool is_left_out(const AcrTestRun *run, const GPtrArray *errors, const char *id)
{
    return run->timed_out && !g_hash_table_contains(run->tests, id) &&
           g_strcmp0(run->running, id) != 0 && !acr_test_ids_are_about(errors, id);
}

/* Returns the ids (borrowed from the baseline) of the tests that the patch seems to break
 * (`bad_with`) or to fix. */
static GPtrArray *find_suspects(const Work *work, bool bad_with)
{
    const AcrTestRun *before = &work->baseline->run, *after = work->run;
    GPtrArray *suspects = g_ptr_array_new();
    g_autoptr(GPtrArray) errors = acr_test_run_ids(after, ACR_TESTED_ERROR),
                         skipped = acr_test_run_ids(after, ACR_TESTED_SKIPPED);
    for (guint i = 0; i < before->ids->len; i++) {
        char *id = before->ids->pdata[i];
        const AcrTested *result = g_hash_table_lookup(before->tests, id);
        const AcrTested *now = g_hash_table_lookup(after->tests, id);
        const GPtrArray *only = work->project->only;
        if ((only && !is_in(only, id)) || is_in(work->baseline->flaky, id) ||
            is_in(work->regressions, id) || is_left_out(after, errors, id))
            continue;
        bool is_skipped =
            now ? now->outcome == ACR_TESTED_SKIPPED : acr_test_ids_are_about(skipped, id);
        /* list skipped tests, because a patch may skip tests that it would break */
        if (is_skipped && bad_with && acr_test_is_good(result->outcome))
            g_ptr_array_add(work->out->skipped, g_strdup(id));
        if (is_skipped)
            continue;
        bool broken = acr_test_is_good(result->outcome) && (!now || acr_test_is_bad(now->outcome));
        bool mended = acr_test_is_bad(result->outcome) &&
                      (!now || acr_test_is_good(now->outcome)) &&
                      acr_test_is_good(acr_test_run_outcome(after, id));
        if (bad_with ? broken : mended)
            g_ptr_array_add(suspects, id);
    }
    return suspects;
}

/* Returns the tests in work->gone that the patch itself removes or renames; owned. */
static GPtrArray *find_removed(const Work *work, GError **error)
{
    g_autoptr(GBytes) diff = acr_overlay_diff(work->overlay, error);
    g_autofree char *text = diff ? acr_utf8_repair_bytes(diff) : NULL;
    g_autoptr(AcrJson) question =
        acr_json_of(ACR_JSON("gone", acr_json_new_texts(work->gone)), ACR_STRING("diff", text),
                    ACR_JSON("before", acr_json_new_texts(work->baseline->run.ids)),
                    ACR_JSON("now", acr_json_new_texts(work->run->ids)), NULL);
    g_autoptr(AcrJson) removed =
        diff ? acr_project_ask(work->project, "removed", question, error) : NULL;
    return removed ? acr_texts_from_json(removed) : NULL;
}

/* Moves the tests that the runner no longer finds from `broken` to work->gone. Lists tests that the
 * patch itself removes. Other tests are regressions if a second run does not find them either. It
 * collects all files, because a test that the command line names may run all the same. */
static bool confirm_gone(Work *work, GPtrArray *broken, GError **error)
{
    const AcrTestRun *run = work->run;
    bool is_whole = ran_as_before(&work->baseline->run, run);
    for (guint i = broken->len; i > 0 && is_whole; i--) {
        char *id = broken->pdata[i - 1];
        if (g_hash_table_contains(run->tests, id) || acr_test_run_lost(run, id))
            continue;
        g_ptr_array_insert(work->gone, 0, id);
        g_ptr_array_remove_index(broken, i - 1);
    }
    if (work->gone->len == 0)
        return true;
    g_autoptr(GPtrArray) removed = find_removed(work, error);
    for (guint i = 0, at; removed && i < removed->len; i++) {
        if (g_ptr_array_find_with_equal_func(work->gone, removed->pdata[i], g_str_equal, &at))
            g_ptr_array_remove_index(work->gone, at);
        g_ptr_array_add(work->out->removed, g_strdup(removed->pdata[i]));
    }
    g_autoptr(GPtrArray) hidden = g_ptr_array_copy(work->gone, NULL, NULL);
    bool has_time = left_ms(work) > 0, ok = removed != NULL;
    if (ok && has_time && hidden->len > 0)
        ok = sift_both(work, work->gone, true, hidden, error);
    for (guint i = 0; ok && i < hidden->len; i++)
        g_ptr_array_add(has_time ? work->regressions : work->out->unconfirmed,
                        g_strdup(hidden->pdata[i]));
    return ok;
}

/* Adds tests that ran with the patch, but that the baseline did not reach before its timeout. */
static bool complete_baseline(const Work *work, AcrBaseline *baseline, GError **error)
{
    const AcrTestRun *after = work->run;
    g_autoptr(GPtrArray) lacking = g_ptr_array_new();
    for (guint i = 0; i < after->ids->len; i++)
        if (!g_hash_table_contains(baseline->run.tests, after->ids->pdata[i]))
            g_ptr_array_add(lacking, after->ids->pdata[i]);
    if (!baseline->run.timed_out || lacking->len == 0)
        return true;
    AcrTestOrder asked = {
        .plan = baseline->plan, .select = lacking, .time_ms = MAX(left_ms(work) / 2, 1)};
    g_auto(AcrTestRun) run = {0};
    if (!acr_project_run(work->project, &asked, &run, error))
        return false;
    for (guint i = 0; i < run.ids->len; i++) {
        const AcrTested *result = g_hash_table_lookup(run.tests, run.ids->pdata[i]);
        acr_test_run_add(&baseline->run, run.ids->pdata[i], result->outcome, result->seconds,
                         result->message);
    }
    return true;
}

/* ---- The comparison ---- */

/* Counts tests that are good in the baseline and, unless `with` is NULL, also exist in `with`. */
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

void acr_project_compare_none(const AcrBaseline *baseline, AcrTestComparison *out)
{
    *out = (AcrTestComparison){.command = g_strdup(baseline->command),
                               .compared = count_good(baseline, NULL)};
}

/* Says how the run with the patch ended early; owned. */
static char *describe_end(const AcrTestRun *run)
{
    const AcrTested *error = g_hash_table_lookup(run->tests, ACR_PYTEST_ITSELF);
    g_autofree char *cause = g_strchomp(g_strdup(error && error->message ? error->message : ""));
    const char *last = strrchr(cause, '\n');
    last = last ? last + 1 : cause;
    if (run->timed_out)
        return g_strdup("the test run hangs between tests with the patch, but not without it");
    g_autofree char *code = run->exit_code < 0 ? g_strdup_printf("signal %d", -run->exit_code)
                                               : g_strdup_printf("exit code %d", run->exit_code);
    return g_strdup_printf("the test run ends early with the patch (%s%s%s), but not without it",
                           code, *last ? ", " : "", last);
}

static void describe_runs(const Work *work)
{
    g_autofree char *end = work->ends_early ? describe_end(work->run) : NULL;
    AcrTestComparison *out = work->out;
    out->command = g_strdup(work->baseline->command);
    out->compared = count_good(work->baseline, work->run);
    out->not_run = work->run->not_run->len;
    out->is_stopped = work->run->is_stopped;
    out->is_cut = work->run->timed_out && !out->is_stopped;
    out->running = out->is_cut ? g_strdup(work->run->running) : NULL;
    for (guint i = 0; i < work->regressions->len; i++) {
        const char *id = work->regressions->pdata[i];
        const AcrTested *result = g_hash_table_lookup(work->run->tests, id);
        acr_test_comparison_break(
            out, id,
            result && result->message ? result->message
            : result                  ? "the cause of the failure is unknown"
            : end                     ? end
            : is_in(work->gone, id)
                ? "with the patch, the test is not collected, although its code is not removed"
                : "the test no longer runs: its file, or a file that it imports, "
                  "cannot be imported, or the test run ended early");
    }
}

/* Returns the tests that always pass without the patch; borrowed ids. */
static GPtrArray *find_good(const AcrBaseline *baseline)
{
    GPtrArray *good = g_ptr_array_new();
    for (guint i = 0; i < baseline->run.ids->len; i++) {
        char *id = baseline->run.ids->pdata[i];
        if (acr_test_is_good(acr_test_run_outcome(&baseline->run, id)) &&
            !is_in(baseline->flaky, id))
            g_ptr_array_add(good, id);
    }
    return good;
}

/* Runs the tests with the patch, and confirms changed outcomes. If the run was stopped at a
 * failure, confirms only a few broken tests, and no fixed tests. */
static bool check_patch(Work *work, AcrBaseline *baseline, AcrTestOrder *asked, GError **error)
{
    if (!acr_project_run(work->project, asked, work->run, error) ||
        !complete_baseline(work, baseline, error) || !confirm_end(work, asked, error))
        return false;
    g_autoptr(GPtrArray) broken = find_suspects(work, true), mended = find_suspects(work, false);
    return confirm_gone(work, broken, error) &&
           confirm(work, true, broken, work->regressions, error) &&
           (work->run->is_stopped || confirm(work, false, mended, work->out->fixed, error));
}

bool acr_project_compare(const AcrProject *project, AcrBaseline *baseline,
                         const AcrOverlay *overlay, AcrTestRun *out_run, AcrTestComparison *out,
                         GError **error)
{
    g_auto(AcrTestRun) run = {0};
    g_autoptr(GPtrArray) regressions = g_ptr_array_new_with_free_func(g_free),
                         gone = g_ptr_array_new(),
                         good = project->is_first_enough ? find_good(baseline) : NULL;
    g_auto(AcrTestComparison) found = {0};
    acr_test_comparison_init(&found);
    gint64 deadline_us = g_get_monotonic_time() + project->time_ms * 1000,
           run_ms = MAX(project->time_ms / 2, project->time_ms - CONFIRM_MS);
    Work work = {project, baseline, overlay, &run, regressions, gone, &found, deadline_us, false};
    g_auto(GStrv) changed = acr_overlay_changed(overlay);
    g_autoptr(AcrJson) order = acr_project_order(
        project, project->near ? project->near : (const char *const *)changed, error);
    AcrTestOrder asked = {.plan = baseline->plan,
                          .overlay = overlay,
                          .select = project->only,
                          .order = project->only ? NULL : order,
                          .good = good,
                          .time_ms = MIN(bound_ms(&work), run_ms)};
    if (!order || !check_patch(&work, baseline, &asked, error))
        return false;
    if (run.is_stopped && regressions->len == 0) {
        acr_test_run_clear(&run);
        run = (AcrTestRun){0};
        work.ends_early = false;
        acr_test_comparison_clear(&found);
        acr_test_comparison_init(&found);
        asked.good = NULL;
        asked.time_ms = MIN(bound_ms(&work), run_ms);
        if (!check_patch(&work, baseline, &asked, error))
            return false;
    }
    if (work.ends_early) {
        forget_omitted(&run, found.unconfirmed);
        forget_omitted(&run, found.unstable);
    }
    describe_runs(&work);
    *out = found;
    *out_run = run;
    found = (AcrTestComparison){0};
    run = (AcrTestRun){0};
    return true;
}
