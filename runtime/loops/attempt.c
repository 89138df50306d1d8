/* Drives the attempt machine: the function of each state performs a step and returns the resulting
 * event. If a step is impossible, the function reports why, and the next step begins. */
#include "loops/attempt_work.h"

G_DEFINE_QUARK(acr_loops_error_quark, acr_loops_error)

typedef struct {
    const AcrRun *run;
    AcrAttempt machine;
    AcrAttemptWork work;   /* data of the current attempt */
    GPtrArray *candidates; /* candidates of all attempts */
    GHashTable *said;      /* made by acr_said_new */
    GPtrArray *scripts;    /* made by acr_scripts_new */
    /* number of patches written so far, and number of those that apply */
    guint samples, found;
    guint before; /* number of candidates that existed when the current sample began */
    char *reason; /* why the last attempt without an answer ended; otherwise NULL */
    GError *failure;
} Driver;

static void attempt_driver_clear(Driver *driver)
{
    acr_attempt_work_clear(&driver->work);
    g_clear_pointer(&driver->candidates, g_ptr_array_unref);
    g_clear_pointer(&driver->said, g_hash_table_unref);
    g_clear_pointer(&driver->scripts, g_ptr_array_unref);
    g_free(driver->reason);
    g_clear_error(&driver->failure);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Driver, attempt_driver_clear)

void acr_outcome_clear(AcrOutcome *outcome)
{
    g_clear_pointer(&outcome->diff, g_bytes_unref);
    g_clear_pointer(&outcome->overlay, acr_overlay_free);
    g_clear_pointer(&outcome->why, g_free);
    g_clear_pointer(&outcome->script, g_free);
    g_clear_pointer(&outcome->tests, acr_test_comparison_free);
    g_clear_pointer(&outcome->experiments, acr_json_free);
    g_clear_pointer(&outcome->candidates, acr_json_free);
    g_clear_pointer(&outcome->choice, g_free);
}

/* Returns the event that follows from a step's result. If the step failed, driver->failure has the
 * error. An impossible step is no failure. */
static AcrAttemptEvent event_of(const Driver *driver, AcrStep step)
{
    if (step == ACR_STEP_FAILED)
        return g_error_matches(driver->failure, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING)
                   ? ACR_ATTEMPT_ON_CEILING
                   : ACR_ATTEMPT_ON_FAILED;
    return step == ACR_STEP_DONE ? ACR_ATTEMPT_ON_OK : ACR_ATTEMPT_ON_UNAVAILABLE;
}

/* ---- Guard and reproducer -------------------------------------------------------------------- */

static AcrAttemptEvent do_guard(Driver *driver)
{
    acr_attempt_work_begin(&driver->work, driver->run, driver->machine.attempt, driver->candidates);
    driver->work.said = driver->said;
    driver->work.model->is_varied = driver->samples > 0;
    AcrStep step = ACR_STEP_DONE;
    if (driver->machine.attempt == 0)
        step = acr_step_know_tests(&driver->work, &driver->failure);
    if (step == ACR_STEP_DONE)
        step = acr_reproducer_guard(&driver->work, &driver->failure);
    return event_of(driver, step);
}

static AcrAttemptEvent do_reproduce(Driver *driver)
{
    return event_of(driver, acr_reproducer_write(&driver->work, &driver->failure));
}

/* ---- Retrieval and patch --------------------------------------------------------------------- */

/* Describes the reproducer and its output as a clue; owned; NULL if there is no reproducer. */
static char *reproducer_clue(const Driver *driver)
{
    const AcrReproducer *reproducer = &driver->work.reproducer;
    if (!driver->machine.reproducer)
        return NULL;
    g_autofree char *shown = acr_stream_text(reproducer->before.executed->err);
    g_autofree char *test = acr_fence_text("python", reproducer->script),
                    *output = acr_fence_text("", shown);
    return acr_prompts_render(driver->run->prompts, ACR_PROMPT_SEARCH_CLUE, "test", test, "stderr",
                              output, NULL);
}

/* Appends a part (may be NULL) to a clue, after a sentence that introduces the part. */
static void add_part(GString *clue, const char *introduction, const char *part)
{
    if (part)
        g_string_append_printf(clue, "%s%s%s", clue->len ? "\n\n" : "", introduction, part);
}

/* Makes the clue that the search agent sees with the issue: the reproducer's output, the code that
 * failing tests execute, and the places that extensions suspect. *out is owned; NULL if there are
 * none of these parts. */
static AcrStep make_clue(Driver *driver, char **out)
{
    const AcrRun *run = driver->run;
    g_autofree char *shown = reproducer_clue(driver), *tested = NULL, *suspected = NULL;
    AcrStep step =
        acr_step_suspect(&driver->work, driver->machine.reproducer, &tested, &driver->failure);
    if (step == ACR_STEP_FAILED ||
        !acr_extensions_localise(run->extensions, run->search, run->issue, &suspected,
                                 &driver->failure))
        return ACR_STEP_FAILED;
    if (acr_step_trace(&driver->work, &driver->failure) == ACR_STEP_FAILED)
        return ACR_STEP_FAILED;
    g_autoptr(GString) clue = g_string_new(NULL);
    add_part(clue, "", shown);
    add_part(clue, "", driver->work.calls);
    add_part(clue, "", tested);
    add_part(clue, "Tools, which may be wrong, suspect these places:\n\n", suspected);
    *out = clue->len ? g_string_free(g_steal_pointer(&clue), FALSE) : NULL;
    return ACR_STEP_DONE;
}

static AcrAttemptEvent do_retrieve(Driver *driver)
{
    char *clue = NULL;
    bool ok = make_clue(driver, &clue) == ACR_STEP_DONE &&
              acr_retrieval_run(&driver->work, clue, &driver->failure);
    acr_dead_end_stage(&driver->work.dead_end);
    return event_of(driver, ok ? ACR_STEP_DONE : ACR_STEP_FAILED);
}

/* Returns the latest patch if it is applicable and not judged yet; otherwise NULL. */
static AcrCandidate *open_patch(const AcrAttemptWork *work)
{
    AcrCandidate *latest = work->writer.latest;
    return latest && latest->diff && !latest->is_judged ? latest : NULL;
}

/* Marks the latest patch as judged, because no check is left for it. Keeps the patch's proof. */
static void settle_latest(AcrAttemptWork *work)
{
    AcrCandidate *latest = work->writer.latest;
    if (!latest)
        return;
    latest->is_judged = true;
    if (!latest->why)
        latest->why = g_strdup(work->unproved);
}

/* Returns whether the attempt ends because the model repeats its answers, or repeated them before
 * and its latest answer has no edit. */
static bool is_given_up(Driver *driver)
{
    const AcrAttemptWork *work = &driver->work;
    if (!work->dead_end.why)
        return false;
    g_free(driver->reason);
    driver->reason = g_strdup(work->dead_end.why);
    return work->writer.repeats ||
           (work->dead_end.repeats && work->writer.latest->status <= ACR_RAW_PATCH_BUT_UNPARSED);
}

static AcrAttemptEvent do_patch(Driver *driver)
{
    AcrAttemptWork *work = &driver->work;
    AcrStep step = acr_patch_writer_try(work, &driver->failure);
    bool is_over = (step == ACR_STEP_NOT_DONE || (step == ACR_STEP_DONE && work->writer.repeats)) &&
                   is_given_up(driver);
    if (step == ACR_STEP_NOT_DONE || is_over) {
        settle_latest(work);
        return is_over ? ACR_ATTEMPT_ON_USED_UP : ACR_ATTEMPT_ON_REFUSED;
    }
    if (step == ACR_STEP_UNAVAILABLE) {
        g_free(driver->reason);
        driver->reason = g_strdup(work->writer.reason);
        return ACR_ATTEMPT_ON_USED_UP;
    }
    if (step == ACR_STEP_DONE && work->writer.sample > 1 &&
        acr_selection_take_known(driver->candidates, work->writer.latest, work->attempt)) {
        acr_loops_note(driver->run, "patch %u is the same as an earlier one",
                       work->writer.latest->number);
        return ACR_ATTEMPT_ON_USED_UP;
    }
    return event_of(driver, step);
}

/* ---- Review and validation ------------------------------------------------------------------- */

static AcrAttemptEvent do_review(Driver *driver)
{
    AcrAttemptWork *work = &driver->work;
    AcrStep step = acr_review_run(work, &driver->failure);
    if (step != ACR_STEP_NOT_DONE)
        return event_of(driver, step);
    if (!open_patch(work))
        return ACR_ATTEMPT_ON_REFUSED;
    acr_step_unproved(work, "patch %u was not reviewed, because no reproducer was written",
                      work->writer.latest->number);
    return ACR_ATTEMPT_ON_UNAVAILABLE;
}

/* Judges the patch by the validation alone. After a review that stopped, the latest patch may
 * already be judged or may not apply; then there is nothing to do. */
static AcrAttemptEvent do_validate(Driver *driver)
{
    AcrCandidate *latest = open_patch(&driver->work);
    AcrStep step =
        latest ? acr_step_validate(&driver->work, latest, &driver->failure) : ACR_STEP_DONE;
    return step == ACR_STEP_NOT_DONE ? ACR_ATTEMPT_ON_REFUSED : event_of(driver, step);
}

static AcrAttemptEvent do_regress(Driver *driver)
{
    AcrCandidate *latest = open_patch(&driver->work);
    AcrStep step =
        latest ? acr_step_regress(&driver->work, latest, &driver->failure) : ACR_STEP_DONE;
    settle_latest(&driver->work);
    return step == ACR_STEP_NOT_DONE ? ACR_ATTEMPT_ON_REFUSED : event_of(driver, step);
}

/* ---- Selection ------------------------------------------------------------------------------- */

/* Returns the best candidate of the attempt, or of its sample if the run gathers samples. */
static AcrCandidate *best_of_sample(const Driver *driver)
{
    if (driver->run->max_samples <= 1)
        return acr_candidates_best(driver->candidates, driver->machine.attempt);
    g_autoptr(GPtrArray) own = g_ptr_array_new();
    for (guint i = driver->before; i < driver->candidates->len; i++)
        g_ptr_array_add(own, driver->candidates->pdata[i]);
    return acr_candidates_best(own, ACR_ANY_ATTEMPT);
}

/* Validates the attempt's best patch if the reviewer approved the patch but rejected the test,
 * because such a review ends without validating the patch. */
static AcrStep validate_best(Driver *driver)
{
    AcrCandidate *best;
    while ((best = best_of_sample(driver)) && best->proof == ACR_PROOF_APPROVED &&
           !best->is_validated) {
        AcrStep step = acr_step_validate(&driver->work, best, &driver->failure);
        best->is_validated = true;
        if (step == ACR_STEP_DONE || step == ACR_STEP_UNAVAILABLE)
            step = acr_step_regress(&driver->work, best, &driver->failure);
        if (step == ACR_STEP_FAILED)
            return ACR_STEP_FAILED;
    }
    return ACR_STEP_DONE;
}

/* Returns whether the attempt's best patch ends the run. If the reviewer rejected a patch of the
 * attempt, the best patch must be approved. */
static bool is_enough(const Driver *driver)
{
    const AcrCandidate *best = acr_candidates_best(driver->candidates, driver->machine.attempt);
    bool is_doubtful = false;
    for (guint i = 0; i < driver->candidates->len; i++) {
        const AcrCandidate *candidate = driver->candidates->pdata[i];
        is_doubtful = is_doubtful || (candidate->attempt == driver->machine.attempt &&
                                      candidate->proof == ACR_PROOF_DOUBTED);
    }
    return best && best->diff &&
           (best->proof >= ACR_PROOF_APPROVED || (best->proof == ACR_PROOF_NONE && !is_doubtful));
}

/* The maximum number of patches written from one retrieval. A second patch is written if the first
 * patch applied but was not verified, because only an independent patch can confirm it. An attempt
 * of a model that had no turn yet comes first. */
#define ANSWERS_OF_A_RETRIEVAL 2u
static bool may_answer_again(const Driver *driver, const AcrCandidate *best, guint left)
{
    const AcrRun *run = driver->run;
    guint begun = driver->machine.attempt + 1,
          waiting = run->n_models > begun ? (guint)run->n_models - begun : 0;
    return best && best->diff && best->proof != ACR_PROOF_VERIFIED &&
           driver->work.writer.sample < ANSWERS_OF_A_RETRIEVAL && left > waiting;
}

/* Ends a sample, and compares all candidates. Begins another sample unless there are enough
 * samples, or two candidates agree. */
static AcrAttemptEvent end_sample(Driver *driver)
{
    const AcrRun *run = driver->run;
    AcrCandidate *best = best_of_sample(driver);
    settle_latest(&driver->work);
    driver->samples++;
    driver->found += best && best->diff;
    driver->before = driver->candidates->len;
    if (acr_selection_compare(&driver->work, driver->scripts, &driver->failure) == ACR_STEP_FAILED)
        return event_of(driver, ACR_STEP_FAILED);
    bool is_settled = acr_selection_is_settled(run, driver->candidates);
    guint left = driver->machine.max_attempts - driver->samples;
    acr_loops_note(run, "sample %u of %u has ended%s", driver->samples, run->max_samples,
                   is_settled ? ": two independent patches are verified and behave alike" : "");
    if (is_settled || left == 0 || driver->found >= run->max_samples)
        return ACR_ATTEMPT_ON_OK;
    if (!may_answer_again(driver, best, left))
        return ACR_ATTEMPT_ON_REFUSED;
    acr_attempt_work_again(&driver->work);
    return ACR_ATTEMPT_ON_AGAIN;
}

static AcrAttemptEvent do_select(Driver *driver)
{
    if (validate_best(driver) == ACR_STEP_FAILED)
        return event_of(driver, ACR_STEP_FAILED);
    acr_scripts_keep(driver->scripts, &driver->work);
    if (driver->run->max_samples > 1)
        return end_sample(driver);
    return is_enough(driver) ? ACR_ATTEMPT_ON_OK : ACR_ATTEMPT_ON_REFUSED;
}

/* Checks the given patches; the first model is the reviewer. */
static AcrAttemptEvent do_weigh(Driver *driver)
{
    AcrStep step = ACR_STEP_DONE;
    if (driver->run->n_given == 0 && driver->run->max_samples <= 1)
        return ACR_ATTEMPT_ON_OK;
    settle_latest(&driver->work);
    acr_attempt_work_begin(&driver->work, driver->run, 0, driver->candidates);
    driver->work.said = driver->said;
    acr_loops_stage(driver->run, driver->machine.attempt, "select", 0);
    if (driver->machine.max_attempts == 0)
        step = acr_step_know_tests(&driver->work, &driver->failure);
    if (step == ACR_STEP_DONE)
        step = acr_selection_weigh(&driver->work, driver->scripts, &driver->failure);
    return event_of(driver, step);
}

/* Adds to the reason of a run without a patch (taken, may be NULL) which code was not found; owned. */
static char *why_no_patch(const AcrCandidate *best, char *reason)
{
    g_autofree char *taken = reason;
    const char *first = best->status == ACR_RAW_PATCH_BUT_UNMATCHED ? best->why : NULL;
    bool is_told = !first || (reason && g_str_has_prefix(reason, first));
    return is_told ? g_steal_pointer(&taken) : g_strjoin("; ", first, reason, NULL);
}

/* Sets the run's outcome. If a limit stopped the run, the outcome is the best result so far. */
static void take_outcome(Driver *driver, AcrOutcome *out)
{
    AcrAttemptWork *work = &driver->work;
    if (driver->machine.state == ACR_ATTEMPT_STOPPED && open_patch(work) && !work->unproved)
        work->unproved = g_strdup("the run was stopped before the patch was judged");
    settle_latest(work);
    AcrCandidate *best = acr_candidates_best(driver->candidates, ACR_ANY_ATTEMPT);
    *out = (AcrOutcome){.why = g_steal_pointer(&driver->reason),
                        .candidates = acr_selection_table(driver->candidates, best)};
    if (!best)
        return;
    if (best->diff && (driver->run->n_given || driver->run->max_samples > 1))
        out->choice = acr_selection_reason(driver->candidates, best);
    if (best->diff) {
        g_free(out->why);
        out->why = g_steal_pointer(&best->why);
    } else {
        out->why = why_no_patch(best, out->why);
    }
    if (best->diff && !out->why && !driver->run->max_attempts)
        out->why = g_strdup((driver->run->validate && best->is_validated) ||
                                    (best->tests && !best->tests->why)
                                ? "no script was written, because --attempts is 0"
                                : "the patch was not judged, because --attempts is 0, so no script "
                                  "was written; use --validate, --regressions, or more attempts");
    out->status = best->status;
    out->diff = g_steal_pointer(&best->diff);
    out->overlay = g_steal_pointer(&best->overlay);
    out->attempt = best->attempt;
    out->try_number = best->number;
    out->proof = best->proof;
    out->tests = g_steal_pointer(&best->tests);
    out->experiments = g_steal_pointer(&best->experiments);
    g_autofree char *unknown = out->tests && !acr_proof_is_against(best->proof)
                                   ? acr_test_comparison_doubt(out->tests)
                                   : NULL;
    out->is_validated = ((driver->run->validate && best->is_validated) ||
                         (best->is_free && !unknown && !driver->run->script)) &&
                        !best->doubt;
    if (unknown && !out->is_validated && best->proof != ACR_PROOF_VERIFIED) {
        g_autofree char *why = out->why;
        out->why = g_strdup_printf("%s%s%s", unknown, why ? "; " : "", why ? why : "");
    }
    if (out->is_validated && best->proof != ACR_PROOF_VERIFIED &&
        !acr_proof_is_against(best->proof)) {
        g_autofree char *why = out->why;
        out->why =
            g_strdup_printf("%s%s%s",
                            driver->run->validate ? "the --validate command succeeds with the patch"
                                                  : "the project's tests pass with the patch",
                            why ? "; not verified: " : "", why ? why : "");
    }
    if (best->doubt && best->proof == ACR_PROOF_NONE) {
        g_free(out->why);
        out->why = g_strdup_printf("%s the patch, but %s",
                                   driver->run->validate ? "the --validate command succeeds with"
                                                         : "the project's tests pass with",
                                   best->doubt);
    }
}

bool acr_attempts_run(const AcrRun *run, AcrOutcome *out, GError **error)
{
    static AcrAttemptEvent (*const steps[])(Driver *) = {
        [ACR_ATTEMPT_GUARD] = do_guard,       [ACR_ATTEMPT_REPRODUCE] = do_reproduce,
        [ACR_ATTEMPT_RETRIEVE] = do_retrieve, [ACR_ATTEMPT_PATCH] = do_patch,
        [ACR_ATTEMPT_REVIEW] = do_review,     [ACR_ATTEMPT_VALIDATE] = do_validate,
        [ACR_ATTEMPT_REGRESS] = do_regress,   [ACR_ATTEMPT_SELECT] = do_select,
        [ACR_ATTEMPT_WEIGH] = do_weigh,
    };
    g_auto(Driver) driver = {
        .run = run,
        .machine = acr_attempt_begin(
            run->max_attempts ? MAX(run->max_attempts, run->max_samples) : 0, run->max_tries),
        .candidates = acr_candidates_new(),
        .said = acr_said_new(),
        .scripts = acr_scripts_new()};
    if (!acr_selection_add_given(driver.candidates, run, error))
        return false;
    while (!acr_attempt_is_over(&driver.machine)) {
        AcrAttemptEvent event = acr_loops_go_on(run, &driver.failure)
                                    ? steps[driver.machine.state](&driver)
                                    : event_of(&driver, ACR_STEP_FAILED);
        bool legal = acr_attempt_step(&driver.machine, event);
        g_assert(legal);
    }
    if (driver.failure)
        g_propagate_error(error, g_steal_pointer(&driver.failure));
    if (driver.machine.state == ACR_ATTEMPT_FAILED)
        return false;
    take_outcome(&driver, out);
    return driver.machine.state == ACR_ATTEMPT_DONE;
}
