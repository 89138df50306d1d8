/*
 * Drives the review machine: for each state one function that does its work and says which event
 * came of it. The reviewer starts afresh in each round, from the issue, the latest script and patch
 * and what the script did without and with it: what was said of earlier ones would only mislead.
 */
#include "loops/work.h"

#include <string.h>

typedef struct {
    AcrWork *work;
    AcrReview machine;
    AcrConversation *conversation; /* of this round */
    AcrReviewAnswer answer;        /* the last one read */
    char *problem;                 /* of the last one that could not be read */
    char *judged_patch;            /* as the reviewer saw it */
    const AcrExecuted *after;      /* borrowed */
    AcrTestVerdict with_patch;
    GError *failure;
} Driver;

static void driver_clear(Driver *driver)
{
    acr_conversation_free(driver->conversation);
    acr_review_answer_clear(&driver->answer);
    g_free(driver->problem);
    g_free(driver->judged_patch);
    acr_test_verdict_clear(&driver->with_patch);
    g_clear_error(&driver->failure);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Driver, driver_clear)

static AcrReviewEvent fail(Driver *driver, GError *error)
{
    g_clear_error(&driver->failure);
    driver->failure = error;
    return g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING) ? ACR_REVIEW_ON_CEILING
                                                                        : ACR_REVIEW_ON_FAILED;
}

/* The event of a step that was not DONE. `error` is taken. */
static AcrReviewEvent event_of(Driver *driver, AcrStep step, GError *error)
{
    if (step == ACR_STEP_FAILED)
        return fail(driver, error);
    return step == ACR_STEP_UNAVAILABLE ? ACR_REVIEW_ON_UNAVAILABLE : ACR_REVIEW_ON_NOT_WRITTEN;
}

/* ---- Texts --------------------------------------------------------------------------------------
 */

static char *patch_text(const Driver *driver)
{
    g_autofree char *text = acr_utf8_repair_bytes(driver->work->patching.latest.diff);
    g_autofree char *shown = acr_text_shorten(text, ACR_PATCH_SHOWN_BYTES);
    return acr_loops_fence("diff", shown);
}

static char *executions_text(const Driver *driver)
{
    const AcrTesting *testing = &driver->work->testing;
    g_autofree char *before = acr_testing_describe("Without the patch", testing->executed,
                                                   &testing->before),
                    *after =
                        acr_testing_describe("With the patch", driver->after, &driver->with_patch);
    return g_strconcat(before, "\n", after, NULL);
}

static char *advice_text(const char *analysis, const char *advice)
{
    return g_strdup_printf("%s%s%s", analysis, *analysis && *advice ? "\n\n" : "", advice);
}

/* ---- States -------------------------------------------------------------------------------------
 */

static AcrReviewEvent do_execute(Driver *driver)
{
    AcrWork *work = driver->work;
    const AcrCandidate *patch = &work->patching.latest;
    GError *error = NULL;
    AcrStep step = acr_testing_run(work, patch->overlay, patch->number, 0, &driver->after,
                                   &driver->with_patch, &error);
    return step == ACR_STEP_DONE ? ACR_REVIEW_ON_RAN : event_of(driver, step, error);
}

static void start_round(Driver *driver)
{
    const AcrWork *work = driver->work;
    g_autofree char *name =
        g_strdup_printf("attempt_%u/review_%u", work->attempt, driver->machine.round);
    g_autofree char *test = acr_loops_fence("python", work->testing.script),
                    *executions = executions_text(driver);
    g_free(driver->judged_patch);
    driver->judged_patch = patch_text(driver);
    g_autofree char *system =
        acr_prompts_render(work->run->prompts, ACR_PROMPT_REVIEW_SYSTEM, NULL);
    g_autofree char *user =
        acr_prompts_render(work->run->prompts, ACR_PROMPT_REVIEW, "issue", work->run->issue, "test",
                           test, "patch", driver->judged_patch, "executions", executions, NULL);
    acr_conversation_free(driver->conversation);
    driver->conversation = acr_conversation_new(name);
    acr_conversation_add(driver->conversation, ACR_ROLE_SYSTEM, system);
    acr_conversation_add(driver->conversation, ACR_ROLE_USER, user);
}

static void ask_again(Driver *driver)
{
    g_autofree char *text = acr_prompts_render(driver->work->run->prompts, ACR_PROMPT_REVIEW_RETRY,
                                               "problem", driver->problem, NULL);
    acr_conversation_add(driver->conversation, ACR_ROLE_USER, text);
}

/* review_pPATCH_tTEST.json */
static bool save_review(const Driver *driver, GError **error)
{
    const AcrReviewAnswer *answer = &driver->answer;
    const AcrWork *work = driver->work;
    AcrJson *json = acr_json_new_object();
    acr_json_set_int(json, "round", driver->machine.round);
    acr_json_set_string(json, "patch-correct", answer->patch_correct ? "yes" : "no");
    acr_json_set_string(json, "test-correct", answer->test_correct ? "yes" : "no");
    acr_json_set_string(json, "patch-analysis", answer->patch_analysis);
    acr_json_set_string(json, "patch-advice", answer->patch_advice);
    acr_json_set_string(json, "test-analysis", answer->test_analysis);
    acr_json_set_string(json, "test-advice", answer->test_advice);
    acr_json_set(json, "conversation", acr_conversation_to_json(driver->conversation, 0));
    return acr_loops_write_json(work->run, work->attempt, json, error, "review_p%u_t%u.json",
                                work->patching.latest.number, work->testing.number);
}

/* Keeps the patch that was just judged as a candidate. `why` is taken. */
static void keep(Driver *driver, AcrProof proof, char *why)
{
    AcrCandidate *latest = &driver->work->patching.latest;
    AcrCandidate copy = *latest;
    copy.overlay = acr_overlay_copy(latest->overlay);
    copy.diff = g_bytes_ref(latest->diff);
    copy.why = NULL;
    copy.is_validated = driver->machine.state == ACR_REVIEW_VALIDATE;
    driver->work->patching.is_kept = true;
    acr_candidate_prove(&copy, proof, why);
    acr_candidates_put(driver->work->candidates, &copy);
}

static AcrReviewEvent decide(Driver *driver)
{
    bool patch = driver->answer.patch_correct, test = driver->answer.test_correct;
    acr_loops_note(driver->work->run, "review %u: the patch is %s, the test is %s",
                   driver->machine.round, patch ? "right" : "wrong", test ? "right" : "wrong");
    if (patch && test)
        return ACR_REVIEW_ON_YES_YES;
    keep(driver, patch ? ACR_PROOF_APPROVED : ACR_PROOF_DOUBTED,
         g_strdup(patch ? "the reviewer holds the patch for right and the test for wrong"
                        : "the reviewer holds the patch for wrong"));
    return patch ? ACR_REVIEW_ON_YES_NO : test ? ACR_REVIEW_ON_NO_YES : ACR_REVIEW_ON_NO_NO;
}

static AcrReviewEvent do_judge(Driver *driver)
{
    const AcrWork *work = driver->work;
    GError *error = NULL;
    const char *answer;
    acr_loops_stage(work->run, work->attempt, "review", driver->machine.round);
    if (driver->machine.invalid == 0)
        start_round(driver);
    else
        ask_again(driver);
    if (!acr_agent_ask(work->model, driver->conversation, "review", 0, true, &answer, &error)) {
        if (!acr_work_is_no_answer(error))
            return fail(driver, error);
        acr_work_unproved(driver->work, "no review: %s", error->message);
        g_error_free(error);
        return ACR_REVIEW_ON_UNAVAILABLE;
    }
    acr_review_answer_clear(&driver->answer);
    g_clear_pointer(&driver->problem, g_free);
    if (!acr_agent_review_read(answer, &driver->answer, &driver->problem)) {
        acr_loops_note(work->run, "the review cannot be read: %s", driver->problem);
        if (driver->machine.invalid + 1 == ACR_REVIEW_TRIES)
            acr_work_unproved(driver->work, "no review can be read in %d tries", ACR_REVIEW_TRIES);
        return ACR_REVIEW_ON_INVALID;
    }
    return save_review(driver, &error) ? decide(driver) : fail(driver, error);
}

/* Tries of the patch writer until one is applicable. */
static AcrReviewEvent write_patch(Driver *driver)
{
    GError *error = NULL;
    for (guint i = 0; i < driver->work->run->max_tries; i++) {
        AcrStep step = acr_patching_try(driver->work, &error);
        if (step == ACR_STEP_DONE)
            return ACR_REVIEW_ON_WRITTEN;
        if (step != ACR_STEP_NOT_DONE)
            return event_of(driver, step, error);
    }
    return ACR_REVIEW_ON_NOT_WRITTEN;
}

/* Tells the patch writer what a review says; of the script too, where that is wrong as well. */
static void tell_review(Driver *driver)
{
    AcrWork *work = driver->work;
    const AcrReviewAnswer *answer = &driver->answer;
    const AcrPrompts *prompts = work->run->prompts;
    g_autofree char *test = acr_loops_fence("python", work->testing.script),
                    *executions = executions_text(driver),
                    *advice = advice_text(answer->patch_analysis, answer->patch_advice),
                    *test_advice = advice_text(answer->test_analysis, answer->test_advice);
    if (answer->test_correct)
        acr_patching_tell(work,
                          acr_prompts_render(prompts, ACR_PROMPT_PATCH_REVIEWED, "test", test,
                                             "executions", executions, "advice", advice, NULL));
    else
        acr_patching_tell(work, acr_prompts_render(prompts, ACR_PROMPT_PATCH_BOTH_REVIEWED, "test",
                                                   test, "executions", executions, "advice", advice,
                                                   "test_advice", test_advice, NULL));
}

/* Rewrites the patch after a review; after a refusal the patch writer has been told already. */
static AcrReviewEvent do_patch(Driver *driver)
{
    if (!driver->answer.patch_correct)
        tell_review(driver);
    return write_patch(driver);
}

static AcrReviewEvent do_test(Driver *driver)
{
    AcrWork *work = driver->work;
    GError *error = NULL;
    g_autofree char *executions = executions_text(driver),
                    *advice = advice_text(driver->answer.test_analysis, driver->answer.test_advice);
    char *message =
        acr_prompts_render(work->run->prompts, ACR_PROMPT_TEST_REVIEWED, "patch",
                           driver->judged_patch, "executions", executions, "advice", advice, NULL);
    AcrStep step = acr_testing_rewrite(work, message, work->run->max_tries, &error);
    return step == ACR_STEP_DONE ? ACR_REVIEW_ON_WRITTEN : event_of(driver, step, error);
}

/* ---- Approval -----------------------------------------------------------------------------------
 */

/*
 * Whether the same happens once more, first with the patch and then without, and nothing doubtful:
 * a script that goes by the clock, by chance or by how often it ran says something else then.
 */
static AcrStep repeat(Driver *driver, bool *out_same, GError **error)
{
    AcrWork *work = driver->work;
    const AcrCandidate *patch = &work->patching.latest;
    const AcrExecuted *executed;
    g_auto(AcrTestVerdict) with = {0}, without = {0};
    AcrStep step = acr_testing_run(work, patch->overlay, patch->number, 1, &executed, &with, error);
    if (step == ACR_STEP_DONE)
        step = acr_testing_run(work, NULL, 0, 1, &executed, &without, error);
    *out_same = step == ACR_STEP_DONE && with.result == driver->with_patch.result &&
                without.result == work->testing.before.result && with.doubts->len == 0 &&
                without.doubts->len == 0;
    return step;
}

/* How well an approved patch is proved. */
static AcrStep prove(Driver *driver, AcrProof *out_proof, char **out_why, GError **error)
{
    const AcrTesting *testing = &driver->work->testing;
    const GPtrArray *doubts[] = {testing->before.doubts, driver->with_patch.doubts};
    bool same = false;
    *out_proof = ACR_PROOF_APPROVED;
    if (testing->before.result != ACR_TEST_REPRODUCED ||
        driver->with_patch.result != ACR_TEST_PASSED) {
        *out_why =
            g_strdup("the reviewer approves, but the test was not red before and green after");
        return ACR_STEP_DONE;
    }
    for (guint i = 0; i < G_N_ELEMENTS(doubts); i++) {
        if (doubts[i]->len) {
            *out_why =
                g_strdup_printf("the reviewer approves, but %s", (const char *)doubts[i]->pdata[0]);
            return ACR_STEP_DONE;
        }
    }
    AcrStep step = repeat(driver, &same, error);
    if (step == ACR_STEP_UNAVAILABLE) {
        *out_why = g_strdup_printf("the reviewer approves, but %s", driver->work->unproved);
        return ACR_STEP_DONE;
    }
    if (step != ACR_STEP_DONE)
        return step;
    *out_proof = same ? ACR_PROOF_VERIFIED : ACR_PROOF_APPROVED;
    *out_why = same ? g_strdup_printf("reproducer_%u.py fails without the patch and passes with it",
                                      testing->number)
                    : g_strdup("the reviewer approves, but the test says something else each time");
    return ACR_STEP_DONE;
}

static AcrReviewEvent do_validate(Driver *driver)
{
    AcrWork *work = driver->work;
    GError *error = NULL;
    g_autofree char *message = NULL, *why = NULL;
    AcrProof proof;
    AcrStep step = acr_validate(work, &work->patching.latest, &message, &error);
    if (step == ACR_STEP_NOT_DONE) {
        keep(driver, ACR_PROOF_REFUSED, g_strdup("the validation refuses the patch"));
        acr_patching_tell(work, acr_prompts_render(work->run->prompts, ACR_PROMPT_PATCH_REFUSED,
                                                   "message", message, NULL));
        return ACR_REVIEW_ON_REFUSED;
    }
    if (step == ACR_STEP_DONE)
        step = prove(driver, &proof, &why, &error);
    if (step != ACR_STEP_DONE)
        return event_of(driver, step, error);
    acr_loops_note(work->run, "approved: %s", why);
    keep(driver, proof, g_steal_pointer(&why));
    return ACR_REVIEW_ON_PASSED;
}

/* ---- The whole ----------------------------------------------------------------------------------
 */

static AcrReviewEvent do_state(Driver *driver)
{
    static AcrReviewEvent (*const steps[])(Driver *) = {
        [ACR_REVIEW_EXECUTE] = do_execute,   [ACR_REVIEW_JUDGE] = do_judge,
        [ACR_REVIEW_TEST] = do_test,         [ACR_REVIEW_PATCH] = do_patch,
        [ACR_REVIEW_VALIDATE] = do_validate,
    };
    GError *error = NULL;
    if (!acr_loops_go_on(driver->work->run, &error))
        return fail(driver, error);
    return steps[driver->machine.state](driver);
}

AcrStep acr_review_run(AcrWork *work, GError **error)
{
    g_auto(Driver) driver = {.work = work, .machine = acr_review_begin()};
    while (!acr_review_is_over(&driver.machine)) {
        AcrReviewEvent event = do_state(&driver);
        bool legal = acr_review_step(&driver.machine, event);
        g_assert(legal);
    }
    if (driver.failure) {
        g_propagate_error(error, g_steal_pointer(&driver.failure));
        return ACR_STEP_FAILED;
    }
    return driver.machine.state == ACR_REVIEW_APPROVED  ? ACR_STEP_DONE
           : driver.machine.state == ACR_REVIEW_GAVE_UP ? ACR_STEP_UNAVAILABLE
                                                        : ACR_STEP_NOT_DONE;
}
