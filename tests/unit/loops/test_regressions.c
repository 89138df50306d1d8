/* Tests of the step that runs the project's own tests: the question to the reviewer, and the
 * feedback to the patch writer. */
#include <glib.h>
#include <string.h>

#include "stage.h"

#define EXPECTED(word)                                                                                                 \
    "{\"agent\":\"review\",\"content\":\"{\\\"expected\\\": \\\"" word                                                 \
    "\\\", \\\"reason\\\": \\\"it\\\\nsays so\\\"}\"}\n"
#define TALK "{\"agent\":\"review\",\"content\":\"Well.\"}\n"

static void break_tests(AcrTestComparison *found, guint n)
{
    found->command = g_strdup("pytest");
    for (guint i = 0; i < n; i++) {
        g_autofree char *id = g_strdup_printf("test_%u", i);
        acr_test_comparison_break(found, id, "assert 1 == 2");
    }
}

/* Runs the step for a patch with this result of the tests. */
static AcrStep regress(Stage *stage, AcrCandidate *patch, const AcrTestComparison *found)
{
    g_autoptr(GError) error = NULL;
    stage->run.regressions = ACR_VERIFY_AUTO;
    stage->tests = found;
    if (!stage->work.said)
        stage->work.said = acr_said_new();
    AcrStep step = made(acr_step_regress(&stage->work, patch, &error), error);
    return step;
}

STAGE_TEST("/loops/regressions", reviewer_is_asked_once_for_each_test, EXPECTED("yes") TALK EXPECTED("no"))
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    g_auto(AcrTestComparison) found = {.compared = 9};
    break_tests(&found, 2);
    AcrCandidate *patch = stage_add_patch(stage, candidates, 2);
    for (guint i = 0; i < 2; i++) { /* yes, prose, no; afterwards the reviewer is not asked */
        g_assert_cmpint(regress(stage, patch, &found), ==, ACR_STEP_NOT_DONE);
        g_assert_cmpint(patch->proof, ==, ACR_PROOF_REFUSED);
        g_assert_cmpstr(patch->why, ==, "the patch breaks tests that passed: test_1");
    }
    g_assert_nonnull(strstr(stage->work.writer.feedback, "\ntest_1\n```\nassert 1 == 2\n```\n"));
    g_assert_null(strstr(stage->work.writer.feedback, "test_0"));
    g_assert_nonnull(strstr(stage_file(stage, "attempt_0/regression_2.json"), "\"it says so\""));
    assert_text(acr_test_comparison_line(patch->tests),
                "1 that passed without the patch fail or disappear with it: test_1; expected to "
                "fail: test_0 (it says so)");
    g_hash_table_unref(stage->work.said);
}

STAGE_TEST("/loops/regressions", of_many_broken_tests_the_first_are_asked_about, EXPECTED("yes"))
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    g_auto(AcrTestComparison) found = {.compared = 90, .not_run = 4, .is_cut = true};
    break_tests(&found, 30);
    AcrCandidate *patch = stage_add_patch(stage, candidates, 2);
    g_assert_cmpint(regress(stage, patch, &found), ==, ACR_STEP_NOT_DONE);
    g_assert_cmpuint(g_hash_table_size(stage->work.said), ==, 10);
    stage_assert_noted(stage, "test_9 breaks: not expected (the reviewer gave no answer: ");
    g_assert_nonnull(strstr(stage->work.writer.feedback, "… and 19 more tests.\n"));
    assert_text(acr_test_comparison_line(patch->tests),
                "29 that passed without the patch fail or disappear with it: test_1, test_2, "
                "test_3 and 26 more; expected to fail: test_0 (it says so); 4 did "
                "not run; the time limit was reached before all tests had run");
    g_hash_table_unref(stage->work.said);
}

STAGE_TEST("/loops/regressions", tests_that_cannot_be_run_refuse_nothing, TALK)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    AcrCandidate *patch = stage_add_patch(stage, candidates, 2);
    g_assert_cmpint(regress(stage, patch, NULL), ==, ACR_STEP_UNAVAILABLE);
    g_assert_cmpint(patch->proof, ==, ACR_PROOF_NONE);
    g_assert_false(patch->is_free);
    assert_text(acr_test_comparison_line(patch->tests), "not compared: no test could be run");
    g_hash_table_unref(stage->work.said);
}

STAGE_TEST("/loops/regressions", excused_failures_at_which_tests_stopped_let_all_run,
           EXPECTED("yes") EXPECTED("no") EXPECTED("no"))
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    g_auto(AcrTestComparison) found = {.compared = 2, .is_stopped = true}, whole = {.compared = 9};
    break_tests(&found, 1);
    break_tests(&whole, 2);
    stage->whole_tests = &whole;
    AcrCandidate *patch = stage_add_patch(stage, candidates, 2);
    g_assert_cmpint(regress(stage, patch, &found), ==, ACR_STEP_NOT_DONE);
    g_assert_cmpstr(patch->why, ==, "the patch breaks tests that passed: test_1");
    g_assert_cmpuint(stage->compared, ==, 2);
    stage->compared = 0;
    /* forget the reviewer's answers, so that no failure is excused */
    g_clear_pointer(&stage->work.said, g_hash_table_unref);
    g_assert_cmpint(regress(stage, patch, &found), ==, ACR_STEP_NOT_DONE);
    assert_text(acr_test_comparison_line(patch->tests),
                "1 that passed without the patch fail or disappear with it: test_0; the other tests were "
                "not run");
    g_assert_cmpuint(stage->compared, ==, 1);
    g_hash_table_unref(stage->work.said);
}

static bool compare_and_interrupt(void *ctx, const AcrOverlay *patch, bool is_whole, const GPtrArray *only,
                                  const AcrTestComparison **out, GError **error)
{
    Stage *stage = ctx;
    stage->interrupt.signal = 2;
    *out = stage->tests;
    return true;
}

STAGE_TEST("/loops/regressions", interrupted_run_asks_about_no_test, EXPECTED("yes"))
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    g_autoptr(GError) error = NULL;
    g_auto(AcrTestComparison) found = {.compared = 9};
    break_tests(&found, 1);
    stage->comparer.compare = compare_and_interrupt;
    stage->tests = &found;
    stage->run.regressions = ACR_VERIFY_AUTO;
    stage->work.said = acr_said_new();
    AcrCandidate *patch = stage_add_patch(stage, candidates, 1);
    g_assert_cmpint(acr_step_regress(&stage->work, patch, &error), ==, ACR_STEP_FAILED);
    g_assert_error(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_INTERRUPTED);
    g_assert_cmpuint(g_hash_table_size(stage->work.said), ==, 0);
    g_hash_table_unref(stage->work.said);
}

STAGE_TEST("/loops/regressions", tests_are_run_first_only_where_they_must_be, TALK)
{
    g_autoptr(GError) error = NULL;
    static const AcrVerify whens[] = {ACR_VERIFY_NEVER, ACR_VERIFY_AUTO, ACR_VERIFY_ALWAYS};
    for (guint i = 0; i < G_N_ELEMENTS(whens); i++) {
        stage->run.regressions = whens[i];
        AcrStep want = whens[i] == ACR_VERIFY_ALWAYS ? ACR_STEP_FAILED : ACR_STEP_DONE;
        g_assert_cmpint(acr_step_know_tests(&stage->work, &error), ==, want);
    }
    g_assert_error(error, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE);
    g_assert_cmpuint(stage->compared, ==, 1);
}
