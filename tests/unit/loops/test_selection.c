/* Tests of choosing among candidates: what the model is shown, how its votes count, and that an
 * interrupt ends the checks. */
#include <glib.h>
#include <string.h>

#include "stage.h"

#define CHOOSES(number, expect)                                                                                        \
    "{\"agent\":\"select\",\"content\":\"{\\\"choice\\\": " #number                                                    \
    ", \\\"reason\\\": \\\"short\\\"}\",\"expect\":[\"" expect "\"]}\n"
/* Three votes among this many patches: a number that is too high is asked for again, the last vote
 * is valid. */
#define VOTE(shown, beyond) CHOOSES(beyond, "Patch " #shown ":") CHOOSES(shown, "is not a number from 1 to " #shown)
#define VOTES(shown, beyond) VOTE(shown, beyond) VOTE(shown, beyond) VOTE(shown, beyond)

/* Lets the model choose among this many equal patches; returns the sum of their votes. */
static gsize choose(Stage *stage, guint count)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    g_autoptr(GError) error = NULL;
    gsize votes = 0;
    stage->work.candidates = candidates;
    for (guint i = 0; i < count; i++) {
        char *diff = g_strdup_printf("+diff %u", i);
        acr_candidates_add(candidates, (AcrCandidate){.status = ACR_APPLICABLE_PATCH,
                                                      .number = i + 1,
                                                      .diff = g_bytes_new_take(diff, strlen(diff)),
                                                      .proof = ACR_PROOF_NONE});
    }
    g_assert_cmpint(acr_selection_vote(&stage->work, &error), ==, ACR_STEP_DONE);
    g_assert_no_error(error);
    for (guint i = 0; i < count; i++)
        votes += acr_json_size(((AcrCandidate *)candidates->pdata[i])->votes);
    return votes;
}

STAGE_TEST("/loops/selection", each_of_several_equals_is_shown_in_each_vote, VOTES(4, 5))
{
    g_assert_cmpuint(choose(stage, 4), ==, 3);
}

STAGE_TEST("/loops/selection", the_first_eight_of_many_equals_are_shown, VOTES(8, 9))
{
    g_assert_cmpuint(choose(stage, 9), ==, 3);
}

STAGE_TEST("/loops/selection", nobody_is_asked_about_a_single_patch, CHOOSES(1, "never asked"))
{
    g_assert_cmpuint(choose(stage, 1), ==, 0);
}

STAGE_TEST("/loops/selection", how_many_tests_ran_in_the_time_is_no_behaviour, CHOOSES(1, "never asked"))
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new(), scripts = acr_scripts_new();
    g_autoptr(GError) error = NULL;
    stage->work.candidates = candidates;
    for (guint i = 0; i < 3; i++) {
        AcrCandidate *candidate = stage_add_patch(stage, candidates, i + 1);
        candidate->attempt = 0;
        candidate->tests = g_new0(AcrTestComparison, 1);
        candidate->tests->compared = 40 + i;
        if (i == 2)
            acr_test_comparison_break(candidate->tests, "test_a", "no");
    }
    g_assert_cmpint(acr_selection_weigh(&stage->work, scripts, &error), ==, ACR_STEP_DONE);
    g_assert_no_error(error);
    for (guint i = 0; i < 3; i++)
        g_assert_cmpuint(((AcrCandidate *)candidates->pdata[i])->agrees, ==, i < 2 ? 2 : 1);
}

/* With every patch, the disputed tests fail. */
static bool fail_disputed(void *ctx, const AcrOverlay *patch, bool is_whole, const GPtrArray *only,
                          const AcrTestComparison **out, GError **error)
{
    Stage *stage = ctx;
    stage->compared++;
    g_assert_cmpuint(only->len, ==, 1);
    g_assert_cmpstr(only->pdata[0], ==, "test_a");
    *out = stage->tests;
    return true;
}

STAGE_TEST("/loops/selection", a_test_in_which_candidates_differ_runs_with_all, CHOOSES(1, "never asked"))
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new(), scripts = acr_scripts_new();
    g_autoptr(GError) error = NULL;
    g_auto(AcrTestComparison) found = {.compared = 1};
    acr_test_comparison_break(&found, "test_a", "no");
    stage->tests = &found;
    stage->comparer.compare = fail_disputed;
    stage->run.may.dispute = true;
    stage->work.candidates = candidates;
    stage->work.said = acr_said_new();
    /* tests not reached, failures not confirmed, nothing compared, tests passed */
    for (guint i = 0; i < 4; i++) {
        AcrCandidate *candidate = stage_add_patch(stage, candidates, i + 1);
        const char *text = i == 1   ? "{\"regressions\": [], \"unconfirmed\": [\"test_a\"]}"
                           : i == 2 ? "{\"why\": \"no test ran\"}"
                                    : "{\"regressions\": []}";
        g_autoptr(AcrJson) json = acr_json_parse(text, strlen(text), &error);
        candidate->tests = acr_test_comparison_from_json(json);
        candidate->tests->is_cut = i == 0;
        candidate->attempt = 0;
    }
    g_assert_cmpint(acr_selection_weigh(&stage->work, scripts, &error), ==, ACR_STEP_DONE);
    g_assert_no_error(error);
    g_assert_cmpuint(stage->compared, ==, 3);
    for (guint i = 0; i < 4; i++) {
        const AcrCandidate *candidate = candidates->pdata[i];
        g_assert_cmpint(candidate->proof, ==, i < 3 ? ACR_PROOF_REFUSED : ACR_PROOF_NONE);
        g_assert_cmpuint(acr_candidate_suspects(candidate), ==, 0);
    }
    g_hash_table_unref(stage->work.said);
}

static bool interrupt_trial(void *ctx, const AcrTrial *trial, const AcrExecuted **out, GError **error)
{
    return acr_set_error(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_INTERRUPTED, "interrupted");
}

/* Weighs two patches of that attempt; the first execution is interrupted. */
static void weigh_until_interrupted(Stage *stage, guint attempt)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new(), scripts = acr_scripts_new();
    g_autoptr(GError) error = NULL;
    for (guint i = 0; i < 2; i++)
        stage_add_patch(stage, candidates, i + 1)->attempt = attempt;
    stage->work.candidates = candidates;
    stage->work.reproducer.script = g_strdup("import a\n");
    stage->work.reproducer.before = (AcrTestVerdict){.result = ACR_TEST_REPRODUCED, .doubts = g_ptr_array_new()};
    acr_scripts_keep(scripts, &stage->work);
    stage->run.validate = "make test";
    stage->executor.run = interrupt_trial;
    g_assert_cmpint(acr_selection_weigh(&stage->work, scripts, &error), ==, ACR_STEP_FAILED);
    g_assert_error(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_INTERRUPTED);
}

STAGE_TEST("/loops/selection", interrupted_checks_of_given_patches_end_the_run, CHOOSES(1, "never asked"))
{
    weigh_until_interrupted(stage, ACR_GIVEN_ATTEMPT);
}

STAGE_TEST("/loops/selection", interrupted_reproducers_end_the_run, CHOOSES(1, "never asked"))
{
    weigh_until_interrupted(stage, 0);
}
