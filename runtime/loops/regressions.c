/* Runs the project's own tests with a patch. No test that passed without the patch may fail, except
 * tests that the issue asks to change. The reviewer decides once in a run, for each failing test,
 * whether the issue asks for the failure; regression_PATCH.json and the result show the
 * decision. */
#include "loops/attempt_work.h"

#include <string.h>

#define MAX_ASKED 10u /* maximum number of broken tests of a patch that are shown to the reviewer */
#define ANSWER_TRIES 3u
#define SHOWN_TESTS 10u         /* maximum number of broken tests shown to the patch writer */
#define SHOWN_BYTES (4u * 1024) /* maximum size of the text shown of a failure, in bytes */
/* maximum size of the patch shown to the reviewer, in bytes */
#define PATCH_SHOWN_BYTES (64u * 1024)

/* The reviewer's answer about a test: whether the issue expects it to fail. */
typedef struct {
    bool is_expected;
    char *reason; /* owned */
} Said;

static void said_free(gpointer data)
{
    ACR_FREE(((Said *)data)->reason, data);
}

GHashTable *acr_said_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, said_free);
}

/* ---- The reviewer ---------------------------------------------------------------------------- */

static char *failure_text(const AcrBrokenTest *test)
{
    g_autofree char *shown = acr_text_shorten(test->message ? test->message : "", SHOWN_BYTES);
    return acr_fence_text("", shown);
}

static AcrConversation *start_question(const AcrAttemptWork *work, const AcrCandidate *candidate,
                                       const AcrBrokenTest *test, guint number)
{
    const AcrPrompts *prompts = work->run->prompts;
    g_autofree char *folder = acr_loops_folder(candidate->attempt),
                    *name =
                        g_strdup_printf("%s/regression_%u_%u", folder, candidate->number, number),
                    *system = acr_prompts_render(prompts, ACR_PROMPT_REGRESSION_SYSTEM, NULL),
                    *whole = acr_utf8_repair_bytes(candidate->diff),
                    *shown = acr_text_shorten(whole, PATCH_SHOWN_BYTES),
                    *patch = acr_fence_text("diff", shown), *failure = failure_text(test);
    AcrConversation *conversation = acr_conversation_new(name);
    acr_conversation_add(conversation, ACR_ROLE_SYSTEM, system);
    acr_agent_tell(conversation, prompts, ACR_PROMPT_REGRESSION, "issue", work->run->issue, "patch",
                   patch, "test", test->id, "failure", failure, NULL);
    return conversation;
}

/* Asks the reviewer whether the issue expects a test to fail. No answer counts as "no". */
static bool ask_reviewer(AcrAttemptWork *work, AcrConversation *conversation, Said *out,
                         GError **error)
{
    for (guint i = 0; i < ANSWER_TRIES; i++) {
        GError *reason = NULL;
        const char *answer;
        g_autofree char *problem = NULL;
        if (!acr_loops_go_on(work->run, error))
            return false;
        if (!acr_agent_ask(work->model, conversation, ACR_AGENT_REVIEW, 0, &answer, &reason)) {
            if (!acr_step_is_no_answer(reason)) {
                g_propagate_error(error, reason);
                return false;
            }
            out->reason = g_strdup_printf("the reviewer gave no answer: %s", reason->message);
            g_error_free(reason);
            return true;
        }
        if (acr_agent_regression_read(answer, &out->is_expected, &out->reason, &problem))
            return true;
        acr_agent_tell(conversation, work->run->prompts, ACR_PROMPT_REGRESSION_RETRY, "problem",
                       problem, NULL);
    }
    out->reason = g_strdup_printf("the reviewer gave no valid answer in %u tries", ANSWER_TRIES);
    return true;
}

/* Asks the reviewer about at most MAX_ASKED broken tests, and keeps the answers in work->said.
 * Excuses the tests that the issue expects to fail. */
static bool ask_all(AcrAttemptWork *work, const AcrCandidate *candidate, GError **error)
{
    const GPtrArray *broken = work->model ? candidate->tests->broken : NULL;
    for (guint i = 0; broken && i < broken->len; i++) {
        AcrBrokenTest *test = broken->pdata[i];
        const Said *known = g_hash_table_lookup(work->said, test->id);
        if (!known && i < MAX_ASKED) {
            g_autoptr(AcrConversation) conversation = start_question(work, candidate, test, i + 1);
            g_autofree Said *said = g_new0(Said, 1);
            if (!ask_reviewer(work, conversation, said, error))
                return false;
            acr_loops_note(work->run, "%s breaks: %s (%s)", test->id,
                           said->is_expected ? "expected" : "not expected", said->reason);
            known = said;
            g_hash_table_insert(work->said, g_strdup(test->id), g_steal_pointer(&said));
        }
        if (known && known->is_expected)
            test->excuse = g_strdup(known->reason);
    }
    return true;
}

/* ---- The step -------------------------------------------------------------------------------- */

/* Describes the broken tests and their failures for the patch writer; owned. */
static char *broken_text(const AcrTestComparison *found)
{
    GString *text = g_string_new("Tests that passed without the change fail with it.\n");
    guint n = 0;
    for (guint i = 0; i < found->broken->len; i++) {
        const AcrBrokenTest *test = found->broken->pdata[i];
        if (test->excuse || n++ >= SHOWN_TESTS)
            continue;
        g_autofree char *failure = failure_text(test);
        g_string_append_printf(text, "\n%s\n%s\n", test->id, failure);
    }
    if (n > SHOWN_TESTS)
        g_string_append_printf(text, "\n… and %u more tests.\n", n - SHOWN_TESTS);
    return g_string_free(text, FALSE);
}

static AcrStep refuse_patch(AcrAttemptWork *work, AcrCandidate *candidate)
{
    GString *why = g_string_new("the patch breaks tests that passed");
    g_autofree char *message = broken_text(candidate->tests);
    acr_test_comparison_name_regressions(candidate->tests, why);
    acr_loops_note(work->run, "patch %u: %s", candidate->number, why->str);
    return acr_step_refuse(work, candidate, g_string_free(why, FALSE), message);
}

/* Judges the results of the tests with a patch, and writes them to regression_PATCH.json. */
static AcrStep judge_tests(AcrAttemptWork *work, AcrCandidate *candidate, GError **error)
{
    AcrTestComparison *found = candidate->tests;
    AcrJson *json = acr_json_new_object();
    acr_test_comparison_to_json(found, true, json);
    if (!acr_loops_write_json(work->run, candidate->attempt, json, error, ACR_FILE_REGRESSION,
                              candidate->number))
        return ACR_STEP_FAILED;
    if (acr_test_comparison_regressions(found) > 0)
        return refuse_patch(work, candidate);
    candidate->is_free = found->compared > 0 && !(found->unconfirmed && found->unconfirmed->len);
    g_autofree char *line = acr_test_comparison_line(found);
    acr_loops_note(work->run, "patch %u: %s", candidate->number, line);
    g_clear_pointer(&candidate->doubt, g_free);
    return acr_proof_is_barred(work, candidate->overlay, &candidate->doubt, error)
               ? ACR_STEP_DONE
               : ACR_STEP_FAILED;
}

/* Returns the patch without its changes to tests, so that the same tests run; owned. */
static AcrOverlay *keep_tests(const AcrAttemptWork *work, const AcrOverlay *patch, GError **error)
{
    g_autoptr(AcrOverlay) kept = acr_overlay_copy(patch),
                          before = acr_overlay_new(work->run->snapshot);
    g_auto(GStrv) changed = acr_overlay_changed(patch);
    for (char **at = changed; *at; at++) {
        if (!acr_index_is_test_path(*at))
            continue;
        bool was_there = acr_overlay_has(before, *at);
        g_autoptr(GBytes) text = was_there ? acr_overlay_read(before, *at, error) : NULL;
        bool ok = was_there ? text && acr_overlay_write(kept, *at, acr_overlay_mode(before, *at),
                                                        text, error)
                            : acr_overlay_remove(kept, *at, error);
        if (!ok)
            return NULL;
    }
    return g_steal_pointer(&kept);
}

/* Runs the tests with a patch, or only the tests in `only` (NULL: all), and judges all results
 * known afterwards. */
static AcrStep run_tests(AcrAttemptWork *work, AcrCandidate *candidate, const GPtrArray *only,
                         GError **error)
{
    const AcrTestComparer *tests = work->run->tests;
    const AcrTestComparison *found;
    g_autoptr(GError) reason = NULL;
    bool is_whole = only != NULL;
    g_autoptr(AcrOverlay) patch = keep_tests(work, candidate->overlay, error);
    if (!patch || !acr_loops_go_on(work->run, error))
        return ACR_STEP_FAILED;
    acr_loops_stage(work->run, work->attempt, "tests", candidate->number);
    while (tests->compare(tests->ctx, patch, is_whole, only, &found, &reason)) {
        if (only && !candidate->tests->why) {
            acr_test_comparison_merge(candidate->tests, found, only);
        } else if (!only || !found->why) {
            acr_test_comparison_free(candidate->tests);
            candidate->tests = acr_test_comparison_copy(found);
            candidate->tests->is_cut |= only != NULL; /* tests not in `only` did not run */
        }
        if (!ask_all(work, candidate, error))
            return ACR_STEP_FAILED;
        /* run all tests if the run stopped at failures that the issue expects */
        if (!found->is_stopped || is_whole || acr_test_comparison_regressions(candidate->tests) > 0)
            return judge_tests(work, candidate, error);
        is_whole = true;
    }
    if (!g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE)) {
        g_propagate_error(error, g_steal_pointer(&reason));
        return ACR_STEP_FAILED;
    }
    acr_loops_note(work->run, "patch %u: the project's tests were not compared: %s",
                   candidate->number, reason->message);
    if (only)
        return ACR_STEP_UNAVAILABLE;
    acr_test_comparison_free(candidate->tests);
    candidate->tests = g_new0(AcrTestComparison, 1);
    candidate->tests->why = g_strdup(reason->message);
    return ACR_STEP_UNAVAILABLE;
}

AcrStep acr_step_regress(AcrAttemptWork *work, AcrCandidate *candidate, GError **error)
{
    return work->run->regressions == ACR_VERIFY_NEVER ? ACR_STEP_DONE
                                                      : run_tests(work, candidate, NULL, error);
}

AcrStep acr_step_regress_only(AcrAttemptWork *work, AcrCandidate *candidate, const GPtrArray *only,
                              GError **error)
{
    return run_tests(work, candidate, only, error);
}

AcrStep acr_step_know_tests(AcrAttemptWork *work, GError **error)
{
    const AcrTestComparer *tests = work->run->tests;
    const AcrTestComparison *found;
    if (work->run->regressions != ACR_VERIFY_ALWAYS)
        return ACR_STEP_DONE;
    acr_loops_stage(work->run, 0, "tests", 0);
    if (!acr_loops_go_on(work->run, error) ||
        !tests->compare(tests->ctx, NULL, true, NULL, &found, error))
        return ACR_STEP_FAILED;
    acr_loops_note(work->run, "the project's tests: %" G_GINT64_FORMAT " pass (%s)",
                   found->compared, found->command);
    return ACR_STEP_DONE;
}
