/* Drives the review machine: the function of each state performs the state's work and returns the
 * resulting event. Each round has a new conversation with the issue, the latest script and patch,
 * and the script's results without and with the patch. Earlier reviews are left out, because they
 * would mislead the reviewer. */
#include "loops/attempt_work.h"

/* maximum size in bytes of the patch that the reviewer and the test's writer see */
#define PATCH_SHOWN_BYTES (64u * 1024)

typedef struct {
    AcrAttemptWork *work;
    AcrReview machine;
    AcrConversation *conversation; /* conversation of this round */
    AcrReviewAnswer answer;        /* the last answer of the reviewer that was parsed */
    char *problem;                 /* why the last answer could not be parsed */
    char *patch, *test;            /* patch and test of this round, as text for the reviewer */
    /* the test's results without and with the patch, as text for the reviewer */
    char *executions;
    AcrTestVerdict with_patch;
    GError *failure;
} Driver;

static void review_driver_clear(Driver *driver)
{
    acr_conversation_free(driver->conversation);
    acr_review_answer_clear(&driver->answer);
    ACR_FREE(driver->problem, driver->patch, driver->test, driver->executions);
    acr_test_verdict_clear(&driver->with_patch);
    g_clear_error(&driver->failure);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Driver, review_driver_clear)

/* Returns the event that follows from a step's result; `done` if the step returned DONE. If the
 * step failed, driver->failure has the error. */
static AcrReviewEvent event_of(const Driver *driver, AcrStep step, AcrReviewEvent done)
{
    if (step == ACR_STEP_DONE)
        return done;
    if (step == ACR_STEP_FAILED)
        return g_error_matches(driver->failure, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING)
                   ? ACR_REVIEW_ON_CEILING
                   : ACR_REVIEW_ON_FAILED;
    return step == ACR_STEP_UNAVAILABLE ? ACR_REVIEW_ON_UNAVAILABLE : ACR_REVIEW_ON_NOT_WRITTEN;
}

/* Returns whether the script's result counts against the patch. A script that is broken both
 * without and with the patch does not count; for example, it may import a missing module. */
static bool is_refuted(const Driver *driver)
{
    AcrTestResult before = driver->work->reproducer.before.result,
                  after = driver->with_patch.result;
    return driver->work->run->may.refute && after != ACR_TEST_PASSED &&
           (before != ACR_TEST_BROKEN || after != ACR_TEST_BROKEN);
}

/* Runs the script with the patch. If the script fails, the patch is doubted until the reviewer
 * finds the script wrong. */
static AcrReviewEvent do_execute(Driver *driver)
{
    AcrAttemptWork *work = driver->work;
    AcrStep step =
        acr_reproducer_run(work, work->writer.latest, 0, &driver->with_patch, &driver->failure);
    if (step == ACR_STEP_DONE && is_refuted(driver))
        acr_candidate_prove(
            work->writer.latest, ACR_PROOF_DOUBTED,
            g_strdup_printf("reproducer_%u.py fails with the patch%s", work->reproducer.number,
                            work->reproducer.before.result == ACR_TEST_PASSED ? "" : ", too"));
    return event_of(driver, step, ACR_REVIEW_ON_RAN);
}

/* ---- Judging --------------------------------------------------------------------------------- */

/* Returns the number of snippets that the reviewer may still run. */
static guint probes_left(const Driver *driver)
{
    return driver->work->run->may.reviewer_probes ? acr_probe_left(driver->work) : 0;
}

static bool start_round(Driver *driver)
{
    AcrAttemptWork *work = driver->work;
    const AcrReproducer *reproducer = &work->reproducer;
    g_autofree char *name =
        g_strdup_printf(ACR_DIR_ATTEMPT "/review_%u", work->attempt, ++work->reviews);
    g_autofree char *diff = acr_utf8_repair_bytes(work->writer.latest->diff);
    g_autofree char *shown = acr_text_shorten(diff, PATCH_SHOWN_BYTES);
    g_autofree char *before = acr_execution_text("Without the patch", &reproducer->before),
                    *after = acr_execution_text("With the patch", &driver->with_patch),
                    *added = acr_proof_doubts_text(work, &driver->failure), *calls = NULL;
    if (!added || acr_step_compare_traces(work, &calls, &driver->failure) == ACR_STEP_FAILED)
        return false;
    ACR_FREE(driver->patch, driver->test, driver->executions);
    driver->patch = acr_fence_text("diff", shown);
    driver->test = acr_fence_text("python", reproducer->script);
    driver->executions = g_strconcat(before, "\n", after, calls, added, NULL);
    acr_conversation_free(driver->conversation);
    driver->conversation = acr_conversation_new(name);
    acr_agent_start(driver->conversation, work->run->prompts, ACR_AGENT_REVIEW, "issue",
                    work->run->issue, "test", driver->test, "patch", driver->patch, "executions",
                    driver->executions, NULL);
    if (probes_left(driver)) {
        g_autofree char *left = g_strdup_printf("%u", probes_left(driver));
        acr_agent_tell(driver->conversation, work->run->prompts, ACR_PROMPT_REVIEW_PROBE, "left",
                       left, NULL);
    }
    return true;
}

/* Says in a line what the reviewer found, and whether the script still fails. */
static void tell_review(const Driver *driver, const char *what)
{
    const AcrAttemptWork *work = driver->work;
    const char *fails = driver->with_patch.why ? driver->with_patch.why : "without a reason";
    g_autofree char *script =
        is_refuted(driver)
            ? g_strdup_printf("reproducer_%u.py still fails (%s); ", work->reproducer.number, fails)
            : g_strdup("");
    g_autofree char *line =
        g_strdup_printf("patch %u: %s%s", work->writer.latest->number, script, what);
    acr_progress_tell(
        work->run->progress,
        (AcrProgressEvent){.kind = ACR_PROGRESS_NOTE, .text = line, .is_logged = true});
}

/* Saves the latest review, with the reason if it cannot be used. */
static bool save_review(Driver *driver)
{
    const AcrAttemptWork *work = driver->work;
    AcrJson *json = acr_json_new_object();
    acr_json_set_int(json, "round", driver->machine.round);
    if (driver->problem)
        acr_json_set_string(json, "problem", driver->problem);
    else
        acr_agent_review_to_json(&driver->answer, json);
    acr_json_set(json, "conversation", acr_conversation_to_json(driver->conversation, 0));
    return acr_loops_write_json(work->run, work->attempt, json, &driver->failure, ACR_FILE_REVIEW,
                                work->writer.latest->number, work->reproducer.number);
}

static AcrReviewEvent decide_review(Driver *driver)
{
    bool patch = driver->answer.patch_correct, test = driver->answer.test_correct;
    g_autofree char *said =
        g_strdup_printf("review %u: the patch is %s, the test is %s", driver->machine.round,
                        patch ? "right" : "wrong", test ? "right" : "wrong");
    tell_review(driver, said);
    if (patch && test)
        return ACR_REVIEW_ON_YES_YES;
    acr_candidate_prove(driver->work->writer.latest, patch ? ACR_PROOF_APPROVED : ACR_PROOF_DOUBTED,
                        g_strdup(patch ? "the reviewer found the patch right and the test wrong"
                                       : "the reviewer found the patch wrong"));
    return patch ? ACR_REVIEW_ON_YES_NO : test ? ACR_REVIEW_ON_NO_YES : ACR_REVIEW_ON_NO_NO;
}

/* Returns whether the answer can be parsed and agrees with the executions. If it returns false,
 * driver->problem has the reason. */
static bool read_review(Driver *driver, const char *answer)
{
    AcrReviewAnswer *read = &driver->answer;
    acr_review_answer_clear(read);
    g_clear_pointer(&driver->problem, g_free);
    if (!acr_agent_review_read(answer, read, &driver->problem))
        return false;
    if (read->patch_correct && read->test_correct && is_refuted(driver))
        driver->problem = g_strdup(
            "the review calls patch and script correct, but the script fails with the patch");
    return !driver->problem;
}

/* Asks the reviewer for a judgement, and runs the snippets that the reviewer requests first. */
static AcrStep ask_reviewer(Driver *driver, const char **out_answer)
{
    AcrAttemptWork *work = driver->work;
    for (;;) {
        g_autoptr(GError) reason = NULL;
        g_autofree char *text = NULL;
        bool ran;
        if (!acr_agent_ask(work->model, driver->conversation, ACR_AGENT_REVIEW, 0, out_answer,
                           &reason)) {
            g_autofree char *said = g_strdup_printf("no review: %s", reason->message);
            if (acr_step_is_no_answer(reason))
                tell_review(driver, said);
            return acr_step_no_answer(work, "no review", g_steal_pointer(&reason),
                                      &driver->failure);
        }
        g_autofree char *code = probes_left(driver) ? acr_agent_probe_read(*out_answer) : NULL;
        if (!code)
            return ACR_STEP_DONE;
        if (!acr_probe_run(work, code, work->writer.latest->overlay, &text, &ran, &driver->failure))
            return ACR_STEP_FAILED;
        acr_conversation_add(driver->conversation, ACR_ROLE_USER, text);
    }
}

static AcrReviewEvent do_judge(Driver *driver)
{
    AcrAttemptWork *work = driver->work;
    const char *answer;
    acr_loops_stage(work->run, work->attempt, "review", driver->machine.round);
    if (driver->machine.invalid == 0 && !start_round(driver))
        return event_of(driver, ACR_STEP_FAILED, 0);
    if (driver->machine.invalid > 0)
        acr_agent_tell(driver->conversation, work->run->prompts, ACR_PROMPT_REVIEW_RETRY, "problem",
                       driver->problem, NULL);
    AcrStep step = ask_reviewer(driver, &answer);
    if (step != ACR_STEP_DONE)
        return event_of(driver, step, 0);
    if (!read_review(driver, answer)) {
        g_autofree char *said =
            driver->answer.patch_correct
                ? g_strdup("the review, which calls patch and script correct, cannot be used")
                : g_strdup_printf("the review cannot be used: %s", driver->problem);
        tell_review(driver, said);
        if (!save_review(driver))
            return event_of(driver, ACR_STEP_FAILED, 0);
        if (driver->machine.invalid + 1 == ACR_REVIEW_TRIES)
            acr_step_unproved(work, "no review could be used in %d tries: %s", ACR_REVIEW_TRIES,
                              driver->problem);
        return ACR_REVIEW_ON_INVALID;
    }
    return save_review(driver) ? decide_review(driver) : event_of(driver, ACR_STEP_FAILED, 0);
}

/* ---- Rewriting ------------------------------------------------------------------------------- */

static char *advice_text(const char *analysis, const char *advice)
{
    return g_strdup_printf("%s%s%s", analysis, *analysis && *advice ? "\n\n" : "", advice);
}

/* Lets the patch writer rewrite the patch until a try is applicable. If the validation rejected the
 * patch, the patch writer already has the feedback. */
static AcrReviewEvent do_patch(Driver *driver)
{
    AcrAttemptWork *work = driver->work;
    const AcrReviewAnswer *answer = &driver->answer;
    g_autofree char *advice = advice_text(answer->patch_analysis, answer->patch_advice),
                    *test_advice = advice_text(answer->test_analysis, answer->test_advice);
    AcrPromptId prompt =
        answer->test_correct ? ACR_PROMPT_PATCH_REVIEWED : ACR_PROMPT_PATCH_BOTH_REVIEWED;
    AcrStep step = ACR_STEP_NOT_DONE;
    if (!answer->patch_correct)
        acr_step_tell_writer(work,
                             acr_prompts_render(work->run->prompts, prompt, "test", driver->test,
                                                "executions", driver->executions, "advice", advice,
                                                "test_advice", test_advice, NULL));
    for (guint i = 0; i < work->run->max_tries && step == ACR_STEP_NOT_DONE; i++)
        step = acr_patch_writer_try(work, &driver->failure);
    return event_of(driver, step, ACR_REVIEW_ON_WRITTEN);
}

static AcrReviewEvent do_test(Driver *driver)
{
    g_autofree char *advice = advice_text(driver->answer.test_analysis, driver->answer.test_advice);
    char *message =
        acr_prompts_render(driver->work->run->prompts, ACR_PROMPT_TEST_REVIEWED, "patch",
                           driver->patch, "executions", driver->executions, "advice", advice, NULL);
    return event_of(driver, acr_reproducer_rewrite(driver->work, message, &driver->failure),
                    ACR_REVIEW_ON_WRITTEN);
}

/* ---- Approval -------------------------------------------------------------------------------- */

static AcrReviewEvent do_validate(Driver *driver)
{
    AcrStep step = acr_step_validate(driver->work, driver->work->writer.latest, &driver->failure);
    return step == ACR_STEP_NOT_DONE ? ACR_REVIEW_ON_REFUSED
                                     : event_of(driver, step, ACR_REVIEW_ON_PASSED);
}

/* Runs the project's tests, then the experiments. Tests that cannot run do not reject the patch. */
static AcrReviewEvent do_regress(Driver *driver)
{
    AcrAttemptWork *work = driver->work;
    g_autofree char *doubt = NULL;
    AcrStep step = acr_step_regress(work, work->writer.latest, &driver->failure);
    if (step == ACR_STEP_NOT_DONE)
        return ACR_REVIEW_ON_REFUSED;
    if (step != ACR_STEP_FAILED)
        step = acr_proof_judge(work, &driver->with_patch, &doubt, &driver->failure);
    if (step != ACR_STEP_DONE)
        return event_of(driver, step, 0);
    char *why =
        doubt ? g_strdup_printf("the reviewer approves, but %s", doubt) : acr_proof_words(work);
    acr_loops_note(work->run, "%s: %s", doubt ? "not proved" : "proved", why);
    acr_candidate_prove(work->writer.latest, doubt ? ACR_PROOF_APPROVED : ACR_PROOF_VERIFIED, why);
    return ACR_REVIEW_ON_PASSED;
}

AcrStep acr_review_run(AcrAttemptWork *work, GError **error)
{
    static AcrReviewEvent (*const steps[])(Driver *) = {
        [ACR_REVIEW_EXECUTE] = do_execute,   [ACR_REVIEW_JUDGE] = do_judge,
        [ACR_REVIEW_TEST] = do_test,         [ACR_REVIEW_PATCH] = do_patch,
        [ACR_REVIEW_VALIDATE] = do_validate, [ACR_REVIEW_REGRESS] = do_regress,
    };
    g_auto(Driver) driver = {.work = work, .machine = acr_review_begin()};
    while (!acr_review_is_over(&driver.machine)) {
        AcrReviewEvent event = acr_loops_go_on(work->run, &driver.failure)
                                   ? steps[driver.machine.state](&driver)
                                   : event_of(&driver, ACR_STEP_FAILED, 0);
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
