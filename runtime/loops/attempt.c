/*
 * Drives the attempt machine: for each state one function that does its step and says which event
 * came of it. A step that cannot be done says why, and the next begins.
 */
#include "loops/work.h"

#include <string.h>

typedef struct {
    const AcrRun *run;
    AcrAttempt machine;
    AcrWork work;      /* of this attempt */
    AcrCandidate best; /* of the attempts that are over */
    char *reason;      /* why the last attempt that gave no answer ended, or NULL */
    GError *failure;
} Driver;

static void driver_clear(Driver *driver)
{
    acr_work_clear(&driver->work);
    acr_candidate_clear(&driver->best);
    g_free(driver->reason);
    g_clear_error(&driver->failure);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Driver, driver_clear)

void acr_outcome_clear(AcrOutcome *result)
{
    g_clear_pointer(&result->diff, g_bytes_unref);
    g_clear_pointer(&result->overlay, acr_overlay_free);
    g_clear_pointer(&result->proof_why, g_free);
    g_clear_pointer(&result->script, g_free);
    g_clear_pointer(&result->reason, g_free);
}

void acr_work_begin(AcrWork *work, const AcrRun *run, guint attempt)
{
    acr_work_clear(work);
    work->run = run;
    work->attempt = attempt;
    work->model = run->models[attempt % run->n_models];
    work->candidates = acr_candidates_new();
    work->patching.statuses = acr_json_new_array();
    work->patching.shown[ACR_PART_CODE] = ACR_PATCH_CODE_BYTES;
    work->patching.shown[ACR_PART_ISSUE] = work->patching.shown[ACR_PART_FEEDBACK] = G_MAXSIZE;
}

void acr_work_clear(AcrWork *work)
{
    acr_retrieved_clear(&work->retrieved);
    acr_conversation_free(work->patching.conversation);
    g_free(work->patching.feedback);
    acr_json_free(work->patching.statuses);
    acr_candidate_clear(&work->patching.latest);
    g_free(work->patching.reason);
    acr_conversation_free(work->testing.conversation);
    g_free(work->testing.feedback);
    g_free(work->testing.script);
    acr_test_verdict_clear(&work->testing.before);
    g_clear_pointer(&work->candidates, g_ptr_array_unref);
    g_free(work->unproved);
    memset(work, 0, sizeof *work);
}

void acr_work_unproved(AcrWork *work, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_free(work->unproved);
    work->unproved = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    acr_loops_note(work->run, "%s", work->unproved);
}

bool acr_work_is_no_answer(const GError *error)
{
    return g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USED_UP) ||
           g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTEXT_OVERFLOW);
}

AcrStep acr_work_run(AcrWork *work, const AcrTrial *trial, const char *what,
                     const AcrExecuted **out, GError **error)
{
    const AcrExecutor *executor = work->run->executor;
    GError *reason = NULL;
    if (!acr_loops_go_on(work->run, error))
        return ACR_STEP_FAILED;
    if (executor->run(executor->ctx, trial, out, &reason))
        return ACR_STEP_DONE;
    if (!g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE)) {
        g_propagate_error(error, reason);
        return ACR_STEP_FAILED;
    }
    acr_work_unproved(work, "%s: %s", what, reason->message);
    g_error_free(reason);
    return ACR_STEP_UNAVAILABLE;
}

static AcrAttemptEvent fail(Driver *driver, GError *error)
{
    bool ceiling = g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING);
    g_clear_error(&driver->failure);
    driver->failure = error;
    return ceiling ? ACR_ATTEMPT_ON_CEILING : ACR_ATTEMPT_ON_FAILED;
}

/* The event of a step that a verify role does: what cannot be done is none of the run's failures.
 */
static AcrAttemptEvent event_of(Driver *driver, AcrStep step, GError *error)
{
    return step == ACR_STEP_FAILED ? fail(driver, error)
           : step == ACR_STEP_DONE ? ACR_ATTEMPT_ON_OK
                                   : ACR_ATTEMPT_ON_UNAVAILABLE;
}

/* ---- Guard and reproducer -----------------------------------------------------------------------
 */

static AcrAttemptEvent unavailable(Driver *driver, const char *why)
{
    if (driver->run->verify == ACR_VERIFY_ALWAYS)
        return fail(driver, g_error_new(ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_UNAVAILABLE,
                                        "code cannot be run here: %s", why));
    g_auto(GStrv) lines = g_strsplit(why, "\n", -1);
    for (guint i = 1; lines[0] && lines[i]; i++) /* of what a set-up said: only its last */
        acr_loops_note(driver->run, "%s", lines[i]);
    acr_work_unproved(&driver->work, "the issue is not reproduced: %s", lines[0] ? lines[0] : "");
    return ACR_ATTEMPT_ON_UNAVAILABLE;
}

static AcrAttemptEvent do_guard(Driver *driver)
{
    const AcrExecutor *executor = driver->run->executor;
    GError *error = NULL;
    bool available = false;
    g_autofree char *text = NULL;
    acr_work_begin(&driver->work, driver->run, driver->machine.attempt);
    if (driver->run->verify == ACR_VERIFY_NEVER) {
        acr_work_unproved(&driver->work, "--verify=never was given");
        return ACR_ATTEMPT_ON_UNAVAILABLE;
    }
    if (!executor->open(executor->ctx, &available, &text, &error))
        return fail(driver, error);
    if (!available)
        return unavailable(driver, text);
    AcrStep step = acr_testing_guard(&driver->work, &error);
    return event_of(driver, step, error);
}

static AcrAttemptEvent do_reproduce(Driver *driver)
{
    GError *error = NULL;
    AcrStep step = acr_testing_write(&driver->work, driver->run->max_tries, &error);
    return event_of(driver, step, error);
}

/* ---- Retrieval and patch ------------------------------------------------------------------------
 */

/* What the reproducer showed, for the search agent; NULL: nothing. Owned. */
static char *make_clue(const Driver *driver)
{
    const AcrTesting *testing = &driver->work.testing;
    if (!driver->machine.reproducer)
        return NULL;
    g_autofree char *stderr_text = acr_utf8_repair_bytes(testing->executed->err);
    g_autofree char *shown = acr_text_shorten(stderr_text, ACR_TRIAL_SHOWN_BYTES);
    g_autofree char *test = acr_loops_fence("python", testing->script),
                    *output = acr_loops_fence("", shown);
    return acr_prompts_render(driver->run->prompts, ACR_PROMPT_SEARCH_CLUE, "test", test, "stderr",
                              output, NULL);
}

static AcrAttemptEvent do_retrieve(Driver *driver)
{
    GError *error = NULL;
    g_autofree char *clue = make_clue(driver);
    if (!acr_retrieval_run(driver->run, driver->machine.attempt, driver->work.model, clue,
                           &driver->work.retrieved, &error))
        return fail(driver, error);
    return ACR_ATTEMPT_ON_OK;
}

/* Makes the latest patch one of the attempt's candidates, unless it is already. */
static void keep_latest(Driver *driver)
{
    AcrPatching *patching = &driver->work.patching;
    if (!patching->latest.why)
        patching->latest.why = g_strdup(driver->work.unproved);
    if (patching->latest.number > 0 && !patching->is_kept)
        acr_candidates_put(driver->work.candidates, &patching->latest);
}

static AcrAttemptEvent do_patch(Driver *driver)
{
    GError *error = NULL;
    AcrStep step = acr_patching_try(&driver->work, &error);
    if (step == ACR_STEP_FAILED)
        return fail(driver, error);
    if (step == ACR_STEP_DONE)
        return ACR_ATTEMPT_ON_OK;
    if (step == ACR_STEP_NOT_DONE)
        keep_latest(driver);
    else {
        g_free(driver->reason);
        driver->reason = g_strdup(driver->work.patching.reason);
    }
    return step == ACR_STEP_NOT_DONE ? ACR_ATTEMPT_ON_REFUSED : ACR_ATTEMPT_ON_USED_UP;
}

/* ---- Review and validation ----------------------------------------------------------------------
 */

static void refuse(AcrCandidate *candidate)
{
    acr_candidate_prove(candidate, ACR_PROOF_REFUSED, g_strdup("the validation refuses the patch"));
}

/* Whether the latest patch is one that nobody has judged. */
static bool is_open(const AcrWork *work)
{
    return work->patching.latest.diff && !work->patching.is_kept;
}

static AcrAttemptEvent do_review(Driver *driver)
{
    GError *error = NULL;
    AcrStep step = acr_review_run(&driver->work, &error);
    if (step != ACR_STEP_NOT_DONE)
        return event_of(driver, step, error);
    if (!is_open(&driver->work))
        return ACR_ATTEMPT_ON_REFUSED;
    acr_work_unproved(&driver->work, "no reproducer was written to review patch %u with",
                      driver->work.patching.latest.number);
    return ACR_ATTEMPT_ON_UNAVAILABLE;
}

/* The patch as it is, judged by the validation alone; after a review that could not go on, the
 * latest may be judged already, or not be applicable. */
static AcrAttemptEvent do_validate(Driver *driver)
{
    GError *error = NULL;
    AcrCandidate *latest = &driver->work.patching.latest;
    g_autofree char *message = NULL;
    AcrStep step = ACR_STEP_DONE;
    if (is_open(&driver->work)) {
        step = acr_validate(&driver->work, latest, &message, &error);
        latest->is_validated = true;
    }
    if (step == ACR_STEP_NOT_DONE) {
        refuse(latest);
        acr_patching_tell(&driver->work,
                          acr_prompts_render(driver->run->prompts, ACR_PROMPT_PATCH_REFUSED,
                                             "message", message, NULL));
    }
    keep_latest(driver);
    return step == ACR_STEP_NOT_DONE ? ACR_ATTEMPT_ON_REFUSED : event_of(driver, step, error);
}

static char *shown_stream(GBytes *bytes)
{
    g_autofree char *text = acr_utf8_repair_bytes(bytes);
    return acr_text_shorten(g_strchomp(text), ACR_TRIAL_SHOWN_BYTES);
}

/* How a command ended, for a model. */
static char *describe_end(const AcrExecuted *executed)
{
    if (executed->limit != ACR_LIMIT_NONE && executed->limit != ACR_LIMIT_OUTPUT)
        return g_strdup_printf("it was stopped at its limit of %s",
                               acr_sandbox_limit_words(executed->limit));
    if (executed->signal)
        return g_strdup_printf("signal %d ended it", executed->signal);
    return g_strdup_printf("exit code %d", executed->exit_code);
}

char *acr_validation_message(const AcrExecuted *executed)
{
    g_autofree char *out = shown_stream(executed->out), *err = shown_stream(executed->err),
                    *end = describe_end(executed);
    return g_strdup_printf("%s%s%s%s(%s)", out, *out ? "\n" : "", err, *err ? "\n" : "", end);
}

AcrStep acr_validate(AcrWork *work, const AcrCandidate *candidate, char **out_message,
                     GError **error)
{
    AcrTrial trial = {.overlay = candidate->overlay, .command = work->run->validate};
    const AcrExecuted *executed;
    if (!trial.command)
        return ACR_STEP_DONE;
    g_autofree char *what = g_strdup_printf("patch %u is not validated", candidate->number);
    AcrStep step = acr_work_run(work, &trial, what, &executed, error);
    if (step != ACR_STEP_DONE)
        return step;
    bool passed = executed->exit_code == 0 && executed->limit != ACR_LIMIT_WALL;
    acr_loops_note(work->run, "the validation %s patch %u", passed ? "accepts" : "refuses",
                   candidate->number);
    if (!passed)
        *out_message = acr_validation_message(executed);
    return passed ? ACR_STEP_DONE : ACR_STEP_NOT_DONE;
}

/* ---- Selection ----------------------------------------------------------------------------------
 */

/* What a reviewer approved with a test that it held for wrong was not validated: its turn was not
 * yet. That is made up for before such a patch is selected. */
static bool validate_best(Driver *driver, GError **error)
{
    AcrCandidate *best;
    while ((best = acr_candidates_best(driver->work.candidates)) &&
           best->proof == ACR_PROOF_APPROVED && !best->is_validated) {
        g_autofree char *message = NULL;
        AcrStep step = acr_validate(&driver->work, best, &message, error);
        if (step == ACR_STEP_FAILED)
            return false;
        best->is_validated = true;
        if (step == ACR_STEP_NOT_DONE)
            refuse(best);
    }
    return true;
}

/* Whether a candidate ends the run: where a reviewer found patches wrong, it must have found this
 * one right. */
static bool is_enough(const Driver *driver, const AcrCandidate *best)
{
    bool is_doubtful = false;
    for (guint i = 0; i < driver->work.candidates->len; i++) {
        const AcrCandidate *candidate = driver->work.candidates->pdata[i];
        is_doubtful = is_doubtful || candidate->proof == ACR_PROOF_DOUBTED;
    }
    return best->diff &&
           (best->proof >= ACR_PROOF_APPROVED || (best->proof == ACR_PROOF_NONE && !is_doubtful));
}

/* The attempt's best, against those of the attempts before it. */
static void take_best(Driver *driver)
{
    GPtrArray *candidates = driver->work.candidates;
    AcrCandidate *best = candidates ? acr_candidates_best(candidates) : NULL;
    if (!best)
        return;
    acr_candidate_offer(&driver->best, best);
    g_ptr_array_set_size(candidates, 0);
}

static AcrAttemptEvent do_select(Driver *driver)
{
    GError *error = NULL;
    if (!validate_best(driver, &error))
        return fail(driver, error);
    const AcrCandidate *best = acr_candidates_best(driver->work.candidates);
    bool enough = best && is_enough(driver, best);
    take_best(driver);
    return enough ? ACR_ATTEMPT_ON_OK : ACR_ATTEMPT_ON_REFUSED;
}

static AcrAttemptEvent do_state(Driver *driver)
{
    static AcrAttemptEvent (*const steps[])(Driver *) = {
        [ACR_ATTEMPT_GUARD] = do_guard,       [ACR_ATTEMPT_REPRODUCE] = do_reproduce,
        [ACR_ATTEMPT_RETRIEVE] = do_retrieve, [ACR_ATTEMPT_PATCH] = do_patch,
        [ACR_ATTEMPT_REVIEW] = do_review,     [ACR_ATTEMPT_VALIDATE] = do_validate,
        [ACR_ATTEMPT_SELECT] = do_select,
    };
    GError *error = NULL;
    if (!acr_loops_go_on(driver->run, &error))
        return fail(driver, error);
    return steps[driver->machine.state](driver);
}

/* What the run has come to; at a ceiling with what the attempt has so far. */
static void take_result(Driver *driver, AcrOutcome *out)
{
    bool is_stopped = driver->machine.state == ACR_ATTEMPT_STOPPED;
    if (is_stopped && is_open(&driver->work) && !driver->work.unproved)
        driver->work.unproved = g_strdup("the run was stopped before it was judged");
    keep_latest(driver);
    take_best(driver);
    AcrCandidate *best = &driver->best;
    *out = (AcrOutcome){
        .status = best->status,
        .diff = g_steal_pointer(&best->diff),
        .overlay = g_steal_pointer(&best->overlay),
        .attempt = best->attempt,
        .try_number = best->number,
        .proof = best->proof,
        .proof_why = g_steal_pointer(&best->why),
        .is_validated = driver->run->validate && best->is_validated,
        .reason = g_steal_pointer(&driver->reason),
    };
}

bool acr_attempts_run(const AcrRun *run, AcrOutcome *out, GError **error)
{
    g_auto(Driver)
        driver = {.run = run, .machine = acr_attempt_begin(run->max_attempts, run->max_tries)};
    while (!acr_attempt_is_over(&driver.machine)) {
        AcrAttemptEvent event = do_state(&driver);
        bool legal = acr_attempt_step(&driver.machine, event);
        g_assert(legal);
    }
    if (driver.failure) {
        bool ceiling = driver.machine.state == ACR_ATTEMPT_STOPPED;
        g_propagate_error(error, g_steal_pointer(&driver.failure));
        if (!ceiling)
            return false;
    }
    take_result(&driver, out);
    return driver.machine.state == ACR_ATTEMPT_DONE;
}
