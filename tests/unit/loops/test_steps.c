/* Tests of the steps that run code: guard, reproducer, validation, proof. The model is scripted,
 * the results of trials are prepared, and the run folder is in memory. */
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "loops/attempt_work.h"
#include "stage.h"

#define SCRIPT "import pkg\nassert pkg.double(3) == 6\n"
#define RED                                                                                                            \
    "Traceback (most recent call last):\n  File \"/srv/p/reproducer.py\", line 2, in <module>\n"                       \
    "    assert pkg.double(3) == 6\nAssertionError\n"

/* ---- The guard ---- */

static AcrStep guard(Stage *stage)
{
    g_autoptr(GError) error = NULL;
    AcrStep step = made(acr_reproducer_guard(&stage->work, &error), error);
    return step;
}

#define SAYS(words) "{\"agent\":\"reproducible\",\"content\":\"" words "\"}\n"
#define YES SAYS("{\\\"reproducible\\\": \\\"yes\\\"}")
#define TEST_ANSWER                                                                                                    \
    "{\"agent\":\"test\",\"content\":\""                                                                               \
    "```python\\n"                                                                                                     \
    "import pkg\\n"                                                                                                    \
    "assert pkg.double(3) == 6\\n```\"}\n"
#define TEST_TALK "{\"agent\":\"test\",\"content\":\"I cannot.\"}\n"

STAGE_TEST("/loops/steps", guard_asks_again_until_the_answer_can_be_read, SAYS("perhaps") SAYS("{}") YES)
{
    g_assert_cmpint(guard(stage), ==, ACR_STEP_DONE);
    g_assert_null(stage->work.unproved);
}

STAGE_TEST("/loops/steps", guard_gives_up_after_three_answers, SAYS("1") SAYS("2") SAYS("3") YES)
{
    g_assert_cmpint(guard(stage), ==, ACR_STEP_NOT_DONE);
    g_assert_cmpstr(stage->work.unproved, ==, "the model did not say in 3 tries whether the issue can be reproduced");
}

STAGE_TEST("/loops/steps", issue_without_an_example_is_not_reproduced, SAYS("{\\\"reproducible\\\": false}"))
{
    g_assert_cmpint(guard(stage), ==, ACR_STEP_NOT_DONE);
    g_assert_nonnull(strstr(stage->work.unproved, "no example"));
}

STAGE_TEST("/loops/steps", no_answer_leaves_the_proof_undone, SAYS("?"))
{
    g_assert_cmpint(guard(stage), ==, ACR_STEP_UNAVAILABLE);
    g_assert_nonnull(strstr(stage->work.unproved, "is not known: "));
}

STAGE_TEST("/loops/steps", nothing_is_asked_where_code_is_never_run, YES)
{
    stage->run.verify = ACR_VERIFY_NEVER;
    g_assert_cmpint(guard(stage), ==, ACR_STEP_UNAVAILABLE);
    g_assert_nonnull(strstr(stage->work.unproved, "--verify=never"));
}

STAGE_TEST("/loops/steps", why_code_cannot_be_run_is_noted, YES)
{
    stage->is_available = false;
    stage->about = "the set-up failed";
    g_assert_cmpint(guard(stage), ==, ACR_STEP_UNAVAILABLE);
    g_assert_cmpstr(stage->work.unproved, ==, "code cannot be run here: the set-up failed");
    g_assert_cmpstr(stage->notes->str, ==, "code cannot be run here: the set-up failed\n");
}

STAGE_TEST("/loops/steps", verify_always_fails_where_code_cannot_be_run, YES)
{
    g_autoptr(GError) error = NULL;
    stage->is_available = false;
    stage->run.verify = ACR_VERIFY_ALWAYS;
    g_assert_cmpint(acr_reproducer_guard(&stage->work, &error), ==, ACR_STEP_FAILED);
    g_assert_error(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_UNAVAILABLE);
}

STAGE_TEST("/loops/steps", interrupted_run_asks_and_runs_nothing, YES TEST_ANSWER)
{
    g_autoptr(GError) error = NULL;
    stage->interrupt.signal = 2;
    g_assert_cmpint(acr_reproducer_guard(&stage->work, &error), ==, ACR_STEP_FAILED);
    g_assert_error(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_INTERRUPTED);
    g_clear_error(&error);
    g_assert_cmpint(acr_reproducer_write(&stage->work, &error), ==, ACR_STEP_FAILED);
    g_assert_error(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_INTERRUPTED);
    g_assert_cmpuint(g_hash_table_size(stage->files), ==, 0);
}

/* ---- The reproducer ---- */

static AcrStep reproduce(Stage *stage)
{
    g_autoptr(GError) error = NULL;
    AcrStep step = made(acr_reproducer_write(&stage->work, &error), error);
    return step;
}

STAGE_TEST("/loops/steps", script_is_written_again_until_it_fails_as_it_should, TEST_TALK TEST_ANSWER TEST_ANSWER)
{
    stage_give(stage, 0, "");
    stage_give(stage, 1, RED);
    g_assert_cmpint(reproduce(stage), ==, ACR_STEP_DONE);
    g_assert_cmpuint(stage->work.reproducer.tries, ==, 3);
    g_assert_cmpuint(stage->work.reproducer.number, ==, 3);
    g_assert_cmpstr(stage->work.reproducer.script, ==, SCRIPT);
    g_assert_cmpstr(stage_file(stage, "attempt_0/reproducer_3.py"), ==, SCRIPT);
    /* the model answered with prose */
    g_assert_null(stage_file(stage, "attempt_0/reproducer_1.py"));
    g_assert_nonnull(stage_file(stage, "attempt_0/conv_test_1.json"));
    g_assert_nonnull(strstr(stage_file(stage, "attempt_0/execution_0_2.json"), "\"passed\""));
    g_assert_nonnull(strstr(stage_file(stage, "attempt_0/execution_0_3.json"), "\"reproduced\""));
    g_assert_nonnull(strstr(stage_file(stage, "attempt_0/conv_test_2.json"), "no block of Python code"));
    g_assert_nonnull(strstr(stage_file(stage, "attempt_0/conv_test_3.json"), "exits with 0 in the"));
    g_assert_nonnull(strstr(stage_file(stage, "attempt_0/conv_test_3.json"), "the script exited with 0"));
    stage_assert_noted(stage, "reproducer 3 with no patch: ");
}

STAGE_TEST("/loops/steps", tries_of_the_script_are_counted, TEST_ANSWER TEST_ANSWER TEST_ANSWER)
{
    stage->run.max_tries = 2;
    stage_give(stage, 1, "NameError\n");
    stage_give(stage, 0, "");
    g_assert_cmpint(reproduce(stage), ==, ACR_STEP_NOT_DONE);
    g_assert_cmpuint(stage->ran, ==, 2);
    g_assert_cmpstr(stage->work.unproved, ==, "the issue was not reproduced in 2 tries: the script exits with 0");
}

STAGE_TEST("/loops/steps", lost_sandbox_ends_the_tries, TEST_ANSWER TEST_ANSWER)
{
    g_ptr_array_add(stage->given, NULL);
    g_assert_cmpint(reproduce(stage), ==, ACR_STEP_UNAVAILABLE);
    g_assert_cmpuint(stage->ran, ==, 1);
    g_assert_cmpstr(stage->work.unproved, ==, "the reproducer cannot be run: the disk is gone");
}

/* After a reviewer's advice, a script only has to run, whether it fails or passes. */
STAGE_TEST("/loops/steps", rewritten_script_needs_only_to_run, TEST_ANSWER TEST_ANSWER TEST_TALK)
{
    g_autoptr(GError) error = NULL;
    stage->run.max_tries = 1;
    stage_give(stage, 1, RED);
    stage_give(stage, 0, "");
    g_assert_cmpint(reproduce(stage), ==, ACR_STEP_DONE);
    AcrStep step = acr_reproducer_rewrite(&stage->work, g_strdup("Compare with 6."), &error);
    g_assert_cmpint(step, ==, ACR_STEP_DONE);
    g_assert_nonnull(strstr(stage_file(stage, "attempt_0/conv_test_2.json"), "Compare with 6."));
    g_assert_cmpint(stage->work.reproducer.before.result, ==, ACR_TEST_PASSED);
    step = acr_reproducer_rewrite(&stage->work, g_strdup("Again."), &error);
    g_assert_cmpint(step, ==, ACR_STEP_NOT_DONE); /* prose, so nothing ran */
    g_assert_no_error(error);
}

/* ---- The reproducer alone ---- */

STAGE_TEST("/loops/steps", reproducer_alone_is_run_twice, YES TEST_ANSWER)
{
    g_auto(AcrOutcome) outcome = {0};
    g_autoptr(GError) error = NULL;
    stage_give(stage, 1, RED);
    stage_give(stage, 1, RED);
    g_assert_true(acr_reproduce_run(&stage->run, &outcome, &error));
    g_assert_cmpstr(outcome.script, ==, SCRIPT);
    g_assert_null(outcome.why);
    g_assert_cmpuint(outcome.try_number, ==, 1);
    g_assert_cmpstr(stage->trials->str, ==, "script 0\nscript 1\n");
    g_assert_cmpuint(g_hash_table_size(stage->files), ==, 3); /* the second run creates no file */
}

STAGE_TEST("/loops/steps", reproducer_that_ends_otherwise_is_doubted, YES TEST_ANSWER)
{
    g_auto(AcrOutcome) outcome = {0};
    g_autoptr(GError) error = NULL;
    stage_give(stage, 1, RED);
    stage_give(stage, 0, "");
    g_assert_true(acr_reproduce_run(&stage->run, &outcome, &error));
    g_assert_cmpstr(outcome.script, ==, SCRIPT);
    g_assert_cmpstr(outcome.why, ==, "the script is not deterministic");
}

STAGE_TEST("/loops/steps", second_attempt_follows_one_that_reproduced_nothing, YES YES TEST_ANSWER TEST_ANSWER)
{
    g_auto(AcrOutcome) outcome = {0};
    g_autoptr(GError) error = NULL;
    stage->run.max_tries = 1;
    stage_give(stage, 0, "");
    stage_give(stage, 1, RED);
    stage_give(stage, 1, RED);
    g_assert_true(acr_reproduce_run(&stage->run, &outcome, &error));
    g_assert_cmpuint(outcome.attempt, ==, 1);
    g_assert_cmpstr(outcome.script, ==, SCRIPT);
    g_assert_cmpstr(stage_file(stage, "attempt_1/reproducer_1.py"), ==, SCRIPT);
}

/* ---- The validation ---- */

/* Validates a patch; returns the step, and whether the patch passed. */
static AcrStep validate(Stage *stage, AcrCandidate *candidate)
{
    g_autoptr(GError) error = NULL;
    stage->run.validate = "make test";
    AcrStep step = made(acr_step_validate(&stage->work, candidate, &error), error);
    return step;
}

STAGE_TEST("/loops/steps", without_a_validation_every_patch_is_valid, YES)
{
    g_autoptr(GError) error = NULL;
    AcrCandidate candidate = {.proof = ACR_PROOF_NONE};
    g_assert_cmpint(acr_step_validate(&stage->work, &candidate, &error), ==, ACR_STEP_DONE);
    g_assert_true(candidate.is_validated);
    g_assert_cmpuint(stage->ran, ==, 0);
}

STAGE_TEST("/loops/steps", rejected_patch_is_refused_and_its_writer_told, YES)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    AcrCandidate *patch = acr_candidates_add(candidates, (AcrCandidate){.number = 4});
    stage_give(stage, 2, "test_double failed\n");
    g_assert_cmpint(validate(stage, patch), ==, ACR_STEP_NOT_DONE);
    g_assert_true(patch->is_validated);
    g_assert_cmpint(patch->proof, ==, ACR_PROOF_REFUSED);
    g_assert_cmpstr(patch->why, ==, "validation refused the patch: exit code 2: test_double failed");
    g_assert_nonnull(strstr(stage->work.writer.feedback, "test_double failed\n(exit code 2)"));
    stage_assert_noted(stage, "validation refused patch 4");
}

STAGE_TEST("/loops/steps", validation_that_takes_too_long_rejects, YES)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    AcrCandidate *patch = acr_candidates_add(candidates, (AcrCandidate){.number = 1});
    stage_give(stage, 0, "")->limit = ACR_LIMIT_WALL;
    g_assert_cmpint(validate(stage, patch), ==, ACR_STEP_NOT_DONE);
    g_assert_nonnull(strstr(stage->work.writer.feedback, "(it was stopped at its limit of "));
}

STAGE_TEST("/loops/steps", patch_with_which_fewer_tests_run_is_refused, YES)
{
    static const struct {
        const char *with, *without, *why;
    } rows[] = {{"5 passed in 0.1s\n", "6 passed in 0.1s\n",
                 "without the patch the command ran 6 tests, with the patch it ran 5"},
                {"0 passed in 0.1s\n", "1 passed in 0.1s\n", "with the patch it ran 0"},
                {"done\n", "6 passed in 0.1s\n", "with the patch it printed no summary"}};
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GPtrArray) candidates = acr_candidates_new();
        AcrCandidate *patch = acr_candidates_add(candidates, (AcrCandidate){.number = 1});
        stage_give(stage, 0, rows[i].with);
        stage_give(stage, 1, rows[i].without);
        g_assert_cmpint(validate(stage, patch), ==, ACR_STEP_NOT_DONE);
        g_assert_nonnull(strstr(patch->why, rows[i].why));
        g_assert_nonnull(strstr(stage->work.writer.feedback, rows[i].why));
    }
}

STAGE_TEST("/loops/steps", lost_sandbox_validates_nothing, YES)
{
    AcrCandidate patch = {.number = 3, .proof = ACR_PROOF_NONE};
    g_ptr_array_add(stage->given, NULL);
    g_assert_cmpint(validate(stage, &patch), ==, ACR_STEP_UNAVAILABLE);
    g_assert_false(patch.is_validated);
    g_assert_cmpstr(stage->work.unproved, ==, "patch 3 is not validated: the disk is gone");
}

/* ---- Proof ---- */

/* A copy of the program's Python files without the experiments; owned. */
static char *package_without_experiments(void)
{
    char *folder = g_dir_make_tmp("acr-loops-XXXXXX", NULL);
    g_autofree char *package = g_build_filename(folder, "acr", NULL);
    g_autoptr(GDir) dir = g_dir_open(ACR_SOURCE_DIR "/python/acr", 0, NULL);
    g_assert_true(acr_dir_make(package, NULL));
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *from = g_build_filename(ACR_SOURCE_DIR "/python/acr", name, NULL);
        g_autofree char *to = g_build_filename(package, name, NULL);
        if (strcmp(name, "experiments") != 0)
            g_assert_cmpint(symlink(from, to), ==, 0);
    }
    return folder;
}

/* Judges a patch with which a failing script passes; only the executions that the executor saw were
 * run. */
static AcrStep prove(Stage *stage, char **out_doubt, GError **error)
{
    g_autoptr(GPtrArray) candidates = acr_candidates_new();
    g_auto(AcrTestVerdict) with = {.result = ACR_TEST_PASSED, .doubts = g_ptr_array_new()};
    stage->work.writer.latest = stage_add_patch(stage, candidates, 1);
    stage->work.reproducer.script = g_strdup(SCRIPT);
    g_auto(AcrExecuted)
        red = {.exit_code = 1, .out = g_bytes_new_static("", 0), .err = g_bytes_new_static(RED, strlen(RED))};
    stage->work.reproducer.before =
        (AcrTestVerdict){.executed = &red, .result = ACR_TEST_REPRODUCED, .doubts = g_ptr_array_new()};
    AcrStep step = acr_proof_judge(&stage->work, &with, out_doubt, error);
    stage->work.reproducer.before.executed = NULL;
    return step;
}

STAGE_TEST("/loops/steps", runs_that_all_pass_prove_nothing, YES)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *doubt = NULL;
    for (guint i = 0; i < 40; i++)
        stage_give(stage, 0, "");
    g_assert_cmpint(prove(stage, &doubt, &error), ==, ACR_STEP_DONE);
    g_assert_no_error(error);
    g_assert_nonnull(doubt);
    g_assert_nonnull(strstr(doubt, "does not agree"));
}

STAGE_TEST("/loops/steps", lost_sandbox_proves_nothing, YES)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *doubt = NULL;
    g_ptr_array_add(stage->given, NULL);
    g_assert_cmpint(prove(stage, &doubt, &error), ==, ACR_STEP_DONE);
    g_assert_cmpstr(doubt, ==, "the experiments cannot be run: the disk is gone");
}

STAGE_TEST("/loops/steps", what_python_cannot_judge_is_an_error_and_no_proof, YES)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *doubt = NULL, *package = package_without_experiments();
    acr_python_free(stage->python); /* a process can have only one interpreter */
    stage->run.python = stage->python = acr_python_new(package, &error);
    g_assert_no_error(error);
    stage_give(stage, 0, "");
    stage_give(stage, 1, RED);
    g_assert_cmpint(prove(stage, &doubt, &error), ==, ACR_STEP_FAILED);
    g_assert_true(error && error->domain == ACR_PY_ERROR);
    g_assert_true(acr_dir_remove(package, NULL));
}

/* ---- Progress ---- */

STAGE_TEST("/loops/steps", nobody_need_watch, YES)
{
    acr_progress_note(NULL, "%s", "a line");
    acr_progress_stage(NULL, 0, "patch", 1);
    acr_progress_warn(NULL, "a line");
    acr_progress_warn(&stage->progress, NULL); /* NULL is not a warning */
    acr_progress_note(&stage->progress, "%d places", 2);
    g_assert_cmpstr(stage->notes->str, ==, "2 places\n");
}
