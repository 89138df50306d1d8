/* Selects among all candidates if a run gathers several samples or got patches with --candidate.
 * Given patches pass the same checks as patches of the attempts. The reproducers of all attempts
 * and the issue's examples run with each candidate, and candidates with equal changes or equal
 * behaviour are counted. The file also makes the table of candidates for every run. */
#include "loops/attempt_work.h"

#include <string.h>

#define MOST_DISPUTED 20u /* maximum number of disputed tests that run with all candidates */

/* A script that reproduces the issue. All members are owned. */
typedef struct {
    char *name, *text;
} Script;

static void script_free(gpointer data)
{
    Script *script = data;
    ACR_FREE(script->name, script->text, script);
}

GPtrArray *acr_scripts_new(void)
{
    return g_ptr_array_new_with_free_func(script_free);
}

void acr_scripts_keep(GPtrArray *scripts, const AcrAttemptWork *work)
{
    const AcrReproducer *reproducer = &work->reproducer;
    if (!reproducer->script || reproducer->before.result != ACR_TEST_REPRODUCED)
        return;
    for (guint i = 0; i < scripts->len; i++)
        if (strcmp(((const Script *)scripts->pdata[i])->text, reproducer->script) == 0)
            return;
    Script *script = g_new(Script, 1);
    *script = (Script){
        g_strdup_printf(ACR_DIR_ATTEMPT "/" ACR_FILE_REPRODUCER, work->attempt, reproducer->number),
        g_strdup(reproducer->script)};
    g_ptr_array_add(scripts, script);
}

bool acr_selection_add_given(GPtrArray *candidates, const AcrRun *run, GError **error)
{
    for (gsize i = 0; i < run->n_given; i++) {
        GBytes *diff = acr_overlay_diff(run->given[i], error);
        if (!diff)
            return false;
        acr_candidates_add(candidates, (AcrCandidate){.status = ACR_APPLICABLE_PATCH,
                                                      .overlay = acr_overlay_copy(run->given[i]),
                                                      .diff = diff,
                                                      .attempt = ACR_GIVEN_ATTEMPT,
                                                      .number = (guint)i + 1,
                                                      .proof = ACR_PROOF_NONE});
    }
    return true;
}

/* ---- Comparing candidates -------------------------------------------------------------------- */

static bool is_open(const AcrCandidate *candidate)
{
    return candidate->diff && !acr_proof_is_against(candidate->proof);
}

static bool is_of_tests(const AcrCandidate *candidate)
{
    g_auto(GStrv) changed = acr_overlay_changed(candidate->overlay);
    char **at = changed;
    while (*at && acr_index_is_test_path(*at))
        at++;
    return !*at;
}

static bool find_change(const AcrAttemptWork *work, AcrCandidate *candidate, GError **error)
{
    g_autoptr(GByteArray) files = acr_proof_files(work, candidate->overlay, error);
    return files && acr_python_change_key(work->run->python, files, &candidate->change, error);
}

/* Copies the results of a candidate to another candidate that makes the same change. */
static void share_findings(const AcrCandidate *from, AcrCandidate *to)
{
    to->proof = from->proof;
    to->why = g_strdup(from->why);
    to->doubt = g_strdup(from->doubt);
    to->tests = from->tests ? acr_test_comparison_copy(from->tests) : NULL;
    to->experiments = from->experiments ? acr_json_copy(from->experiments) : NULL;
    to->is_free = from->is_free;
    to->is_validated = from->is_validated;
    to->is_judged = true;
}

bool acr_selection_take_known(const GPtrArray *candidates, AcrCandidate *candidate, guint attempt)
{
    for (guint i = 0; i < candidates->len; i++) {
        const AcrCandidate *other = candidates->pdata[i];
        if (other != candidate && other->is_judged && acr_candidates_are_same(other, candidate) &&
            (attempt == ACR_ANY_ATTEMPT || other->attempt == attempt)) {
            share_findings(other, candidate);
            return true;
        }
    }
    return false;
}

/* Proves a given patch by the user's script, which must fail without the patch and pass with it. */
static AcrStep prove_given(AcrAttemptWork *work, AcrCandidate *candidate, GError **error)
{
    const AcrTestVerdict *before = &work->reproducer.before;
    g_auto(AcrTestVerdict) after = {0};
    g_autofree char *doubt = NULL;
    work->writer.latest = candidate;
    AcrStep step = acr_reproducer_take(work, error);
    if (step == ACR_STEP_DONE && before->result != ACR_TEST_REPRODUCED) {
        /* the usual mistake: a file of pytest tests, whose functions nobody calls */
        bool calls_nothing =
            before->result == ACR_TEST_PASSED && strstr(work->run->script, "\ndef test");
        acr_candidate_prove(
            candidate, ACR_PROOF_NONE,
            g_strdup_printf(
                "the script could not be used: without the patch, %s; it must fail with an "
                "AssertionError%s",
                before->why, calls_nothing ? "; does it call its test functions?" : ""));
        return ACR_STEP_DONE;
    }
    if (step == ACR_STEP_DONE)
        step = acr_reproducer_run(work, candidate, 0, &after, error);
    if (step == ACR_STEP_DONE && after.result != ACR_TEST_PASSED) {
        acr_candidate_prove(candidate, ACR_PROOF_DOUBTED,
                            g_strdup_printf("with the patch, %s", after.why));
        return ACR_STEP_DONE;
    }
    if (step == ACR_STEP_DONE)
        step = acr_proof_judge(work, &after, &doubt, error);
    if (step == ACR_STEP_DONE)
        acr_candidate_prove(candidate, doubt ? ACR_PROOF_NONE : ACR_PROOF_VERIFIED,
                            doubt ? g_strdup(doubt) : acr_proof_words(work));
    return step;
}

/* Checks a given patch by the validation, the project's tests, and the user's script if given. */
static AcrStep check_given(AcrAttemptWork *work, AcrCandidate *candidate, GError **error)
{
    if (acr_selection_take_known(work->candidates, candidate, ACR_ANY_ATTEMPT))
        return ACR_STEP_DONE;
    AcrStep step = acr_step_validate(work, candidate, error);
    if (step == ACR_STEP_DONE || step == ACR_STEP_UNAVAILABLE)
        step = acr_step_regress(work, candidate, error);
    if (work->run->script && (step == ACR_STEP_DONE || step == ACR_STEP_UNAVAILABLE))
        step = prove_given(work, candidate, error);
    candidate->is_judged = true;
    if (!candidate->why && work->unproved)
        candidate->why = g_strdup(work->unproved);
    return step;
}

static void take_ids(GPtrArray *ids, const GPtrArray *more)
{
    for (guint i = 0; more && i < more->len && ids->len < MOST_DISPUTED; i++)
        if (!g_ptr_array_find_with_equal_func(ids, more->pdata[i], g_str_equal, NULL))
            g_ptr_array_add(ids, g_strdup(more->pdata[i]));
}

/* Returns the ids of the tests that some candidate breaks, seems to break, or fixes; owned. */
static GPtrArray *find_disputed(const GPtrArray *candidates)
{
    GPtrArray *ids = g_ptr_array_new_with_free_func(g_free);
    for (guint kind = 0; kind < 3; kind++)
        for (guint i = 0; i < candidates->len; i++) {
            const AcrTestComparison *tests = ((AcrCandidate *)candidates->pdata[i])->tests;
            g_autoptr(GPtrArray) broken = g_ptr_array_new();
            for (guint k = 0; tests && tests->broken && k < tests->broken->len; k++)
                g_ptr_array_add(broken, ((AcrBrokenTest *)tests->broken->pdata[k])->id);
            if (tests)
                take_ids(ids, kind == 0 ? broken : kind == 1 ? tests->unconfirmed : tests->fixed);
        }
    return ids;
}

/* Runs tests in which candidates differ with each candidate whose own tests ended early or were not
 * confirmed. Otherwise a candidate could be better only because fewer tests ran with it. */
static AcrStep settle_disputes(AcrAttemptWork *work, GError **error)
{
    g_autoptr(GPtrArray) disputed = find_disputed(work->candidates);
    for (guint i = 0; disputed->len > 0 && i < work->candidates->len; i++) {
        AcrCandidate *candidate = work->candidates->pdata[i];
        const AcrTestComparison *tests = candidate->tests;
        bool is_partial =
            tests && (tests->why || tests->is_cut || acr_candidate_suspects(candidate) > 0);
        if (is_open(candidate) && is_partial &&
            acr_step_regress_only(work, candidate, disputed, error) == ACR_STEP_FAILED)
            return ACR_STEP_FAILED;
    }
    return ACR_STEP_DONE;
}

/* Runs a script with a candidate's patch, and adds the result to candidate->scripts. */
static AcrStep cross(AcrAttemptWork *work, const Script *script, AcrCandidate *candidate,
                     GError **error)
{
    static const char *const names[] = {"passed", "reproduced", "broken"};
    const AcrExecutor *executor = work->run->executor;
    const AcrExecuted *executed;
    AcrTrial trial = {.overlay = candidate->overlay, .test = script->text};
    AcrStep step = acr_step_run(work, &trial, "candidates cannot be run", &executed, error);
    if (step != ACR_STEP_DONE)
        return step;
    g_auto(AcrTestVerdict) verdict = {0};
    acr_test_judge(executed, script->text, executor->dir(executor->ctx), &verdict);
    acr_json_add(candidate->scripts, ACR_STRING("script", script->name),
                 ACR_STRING("result", names[verdict.result]));
    candidate->passes += verdict.result == ACR_TEST_PASSED;
    return ACR_STEP_DONE;
}

static AcrStep cross_all(AcrAttemptWork *work, const GPtrArray *scripts, GError **error)
{
    AcrStep step = ACR_STEP_DONE;
    for (guint i = 0; i < work->candidates->len; i++) {
        AcrCandidate *candidate = work->candidates->pdata[i];
        acr_json_free(candidate->scripts);
        candidate->scripts = acr_json_new_array();
        candidate->passes = 0;
        for (guint k = 0; k < scripts->len && is_open(candidate) && step == ACR_STEP_DONE; k++)
            step = cross(work, scripts->pdata[k], candidate, error);
    }
    return step;
}

/* Runs the issue's examples with a patch (NULL: without one). *out (owned) is their output. */
static AcrStep show_examples(AcrAttemptWork *work, const AcrOverlay *patch, const char *script,
                             char **out, GError **error)
{
    const AcrExecuted *executed;
    AcrTrial trial = {.overlay = patch, .test = script};
    AcrStep step =
        acr_step_run(work, &trial, "the issue's examples cannot be run", &executed, error);
    if (step == ACR_STEP_DONE)
        *out = acr_utf8_repair_bytes(executed->out);
    return step;
}

/* Runs the issue's examples with each candidate (once for equal changes). A patch with which the
 * examples print the same as without it does not resolve the issue. */
static AcrStep compare_examples(AcrAttemptWork *work, GError **error)
{
    const AcrRun *run = work->run;
    const GPtrArray *all = work->candidates;
    g_autofree char *script = NULL, *before = NULL;
    if (!run->has_examples || run->verify == ACR_VERIFY_NEVER || all->len < 2)
        return ACR_STEP_DONE;
    if (!acr_python_issue_examples(run->python, run->issue, &script, error))
        return ACR_STEP_FAILED;
    AcrStep step = *script ? show_examples(work, NULL, script, &before, error) : ACR_STEP_DONE;
    for (guint i = 0; i < all->len && before && step == ACR_STEP_DONE; i++) {
        AcrCandidate *candidate = all->pdata[i];
        for (guint k = 0; k < i && is_open(candidate) && !candidate->examples; k++)
            if (acr_candidates_are_same(all->pdata[k], candidate))
                candidate->examples = g_strdup(((const AcrCandidate *)all->pdata[k])->examples);
        if (is_open(candidate) && !candidate->examples)
            step = show_examples(work, candidate->overlay, script, &candidate->examples, error);
        candidate->changes_examples =
            candidate->examples && strcmp(candidate->examples, before) != 0;
    }
    return step;
}

/* Returns a string made from a candidate's results in all runs, to compare candidates; owned. The
 * string omits how many tests ran before a timeout, because this depends on the machine. NULL if
 * nothing ran with the candidate. */
static char *behaviour(const AcrCandidate *candidate)
{
    static const char *const kinds[] = {"why", "regressions", "expected", "fixed"};
    if (acr_json_size(candidate->scripts) == 0 && !candidate->examples && !candidate->tests)
        return NULL;
    g_autofree char *scripts = acr_json_print(candidate->scripts);
    GString *text = g_string_new(scripts);
    g_string_append(text, candidate->examples ? candidate->examples : "");
    g_autoptr(AcrJson) compared = acr_json_new_object();
    if (candidate->tests)
        acr_test_comparison_to_json(candidate->tests, false, compared);
    for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
        const AcrJson *tests = acr_json_get(compared, kinds[i]);
        g_autofree char *list = tests ? acr_json_print(tests) : g_strdup("");
        g_string_append_printf(text, "\n%s", list);
    }
    return g_string_free(text, FALSE);
}

static void count_alike(const GPtrArray *candidates)
{
    for (guint i = 0; i < candidates->len; i++) {
        AcrCandidate *candidate = candidates->pdata[i];
        g_autofree char *own = is_open(candidate) ? behaviour(candidate) : NULL;
        candidate->agrees = 0;
        for (guint k = 0; own && k < candidates->len; k++) {
            const AcrCandidate *other = candidates->pdata[k];
            g_autofree char *its = is_open(other) ? behaviour(other) : NULL;
            candidate->agrees += g_strcmp0(own, its) == 0;
        }
        candidate->count = acr_candidates_count_same(candidates, candidate);
    }
}

/* Sets `change` and `is_of_tests` of each candidate. */
static bool find_changes(const AcrAttemptWork *work, GError **error)
{
    for (guint i = 0; i < work->candidates->len; i++) {
        AcrCandidate *candidate = work->candidates->pdata[i];
        if (candidate->diff && !candidate->change && !find_change(work, candidate, error))
            return false;
        candidate->is_of_tests = candidate->diff && is_of_tests(candidate);
    }
    return true;
}

AcrStep acr_selection_compare(AcrAttemptWork *work, const GPtrArray *scripts, GError **error)
{
    AcrStep step = find_changes(work, error) ? cross_all(work, scripts, error) : ACR_STEP_FAILED;
    if (step != ACR_STEP_FAILED)
        count_alike(work->candidates);
    return step;
}

/* Returns whether no check is left that could prove more about the candidate. */
static bool is_proved(const AcrRun *run, const AcrCandidate *candidate)
{
    return candidate->proof == ACR_PROOF_VERIFIED && candidate->scripts &&
           (candidate->is_free || run->regressions == ACR_VERIFY_NEVER);
}

bool acr_selection_is_settled(const AcrRun *run, const GPtrArray *candidates)
{
    for (guint i = 0; i < candidates->len; i++) {
        const AcrCandidate *candidate = candidates->pdata[i];
        g_autofree char *own = is_proved(run, candidate) ? behaviour(candidate) : NULL;
        for (guint k = 0; own && k < i; k++) {
            const AcrCandidate *other = candidates->pdata[k];
            g_autofree char *its = is_proved(run, other) ? behaviour(other) : NULL;
            if (other->attempt != candidate->attempt && g_strcmp0(own, its) == 0)
                return true;
        }
    }
    return false;
}

/* Marks the given patches as doubted if all scripts fail with every patch. If a reviewer approved
 * one of the patches, changes nothing, because the scripts are then wrong. */
static void doubt_given(const AcrAttemptWork *work, const GPtrArray *scripts)
{
    const GPtrArray *all = work->candidates;
    if (!work->run->may.refute || scripts->len == 0)
        return;
    for (guint i = 0; i < all->len; i++) {
        const AcrCandidate *candidate = all->pdata[i];
        if (candidate->proof >= ACR_PROOF_APPROVED || candidate->passes)
            return;
    }
    for (guint i = 0; i < all->len; i++) {
        AcrCandidate *candidate = all->pdata[i];
        if (candidate->attempt == ACR_GIVEN_ATTEMPT && is_open(candidate))
            acr_candidate_prove(candidate, ACR_PROOF_DOUBTED,
                                g_strdup_printf("%s fails with the patch, too",
                                                ((const Script *)scripts->pdata[0])->name));
    }
}

AcrStep acr_selection_weigh(AcrAttemptWork *work, const GPtrArray *scripts, GError **error)
{
    AcrStep step = ACR_STEP_DONE;
    if (!find_changes(work, error))
        return ACR_STEP_FAILED;
    for (guint i = 0; i < work->candidates->len; i++) {
        AcrCandidate *candidate = work->candidates->pdata[i];
        if (candidate->attempt == ACR_GIVEN_ATTEMPT)
            step = check_given(work, candidate, error);
        if (step == ACR_STEP_FAILED)
            return step;
    }
    if (work->run->may.dispute && settle_disputes(work, error) == ACR_STEP_FAILED)
        return ACR_STEP_FAILED;
    step = compare_examples(work, error);
    if (step != ACR_STEP_FAILED)
        step = acr_selection_compare(work, scripts, error);
    if (step == ACR_STEP_DONE)
        doubt_given(work, scripts);
    return step == ACR_STEP_FAILED ? step : acr_selection_vote(work, error);
}

/* ---- The table of candidates --------------------------------------------------------------------- */

/* Returns the path of a candidate's diff in the run folder; owned; NULL if the patch is not
 * applicable. */
static char *candidate_path(const AcrCandidate *candidate)
{
    g_autofree char *folder = acr_loops_folder(candidate->attempt);
    if (!candidate->diff)
        return NULL;
    return g_strdup_printf(candidate->attempt == ACR_GIVEN_ATTEMPT ? "%s/" ACR_FILE_GIVEN
                                                                   : "%s/" ACR_FILE_EXTRACTED,
                           folder, candidate->number);
}

/* Returns whether a candidate breaks no tests, as JSON; null if unknown (not all tests ran). */
static AcrJson *free_json(const AcrCandidate *candidate)
{
    bool is_known = candidate->tests && !candidate->tests->why &&
                    (acr_candidate_is_free(candidate) || !candidate->is_free);
    return is_known ? acr_json_new_bool(candidate->is_free) : acr_json_new_null();
}

AcrJson *acr_selection_table(const GPtrArray *candidates, const AcrCandidate *best)
{
    AcrJson *table = acr_json_new_array();
    for (guint i = 0; i < candidates->len; i++) {
        const AcrCandidate *candidate = candidates->pdata[i];
        g_autofree char *path = candidate_path(candidate);
        AcrJson *row = acr_json_of(
            ACR_STRING("patch", path),
            ACR_STRING("status", acr_extract_status_name(candidate->status)),
            ACR_BOOL("selected", candidate == best && path),
            ACR_STRING("proof", path ? acr_proof_name(candidate->proof) : NULL),
            ACR_STRING("why", candidate->why), ACR_JSON("no_regressions", free_json(candidate)),
            ACR_INT("same_change", acr_candidates_count_same(candidates, candidate)), NULL);
        if (candidate->scripts) {
            acr_json_set(row, "reproducers", acr_json_copy(candidate->scripts));
            acr_json_set_int(row, "same_behaviour", candidate->agrees);
        }
        if (candidate->examples)
            acr_json_set_bool(row, "changes_examples", candidate->changes_examples);
        if (candidate->votes)
            acr_json_set(row, "votes", acr_json_copy(candidate->votes));
        acr_json_append(table, row);
    }
    return table;
}

/* Returns the best candidate whose change differs from that of `best`; NULL if there is none. */
static const AcrCandidate *find_rival(const GPtrArray *candidates, const AcrCandidate *best)
{
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    for (guint i = 0; i < candidates->len; i++) {
        AcrCandidate *candidate = candidates->pdata[i];
        if (candidate->diff && !acr_candidates_are_same(candidate, best))
            g_ptr_array_add(others, candidate);
    }
    return acr_candidates_best(others, ACR_ANY_ATTEMPT);
}

char *acr_selection_reason(const GPtrArray *candidates, const AcrCandidate *best)
{
    const AcrCandidate *rival = find_rival(candidates, best);
    guint scripts = (guint)acr_json_size(best->scripts);
    g_autofree char *by = NULL;
    if (!rival)
        by = g_strdup("all applicable patches are the same change");
    else if (!best->is_of_tests && rival->is_of_tests)
        by = g_strdup("the next best patch changes only tests");
    else if (acr_candidate_worth(best) != acr_candidate_worth(rival))
        by = g_strdup_printf("the next best patch is %s%s", acr_proof_name(rival->proof),
                             acr_candidate_is_free(best) && !acr_candidate_is_free(rival)
                                 ? ", and may break tests"
                                 : "");
    else if (best->passes != rival->passes)
        by = g_strdup_printf(
            "the chosen patch passes %u of %u reproducers, the next best patch passes %u",
            best->passes, scripts, rival->passes);
    else if (acr_candidate_expected(best) != acr_candidate_expected(rival))
        by = g_strdup_printf("%u tests fail with the chosen patch as the issue expects, and %u "
                             "with the next best patch",
                             acr_candidate_expected(best), acr_candidate_expected(rival));
    else if (best->changes_examples != rival->changes_examples)
        by = g_strdup("the chosen patch changes what the issue's examples print, and the next best "
                      "patch does not");
    else if (acr_candidate_suspects(best) != acr_candidate_suspects(rival))
        by =
            g_strdup_printf("%u tests failed with the chosen patch and could not run again, and %u "
                            "with the next best patch",
                            acr_candidate_suspects(best), acr_candidate_suspects(rival));
    else if (best->agrees != rival->agrees)
        by = g_strdup_printf(
            "%u patches behave like the chosen patch, and %u like the next best patch",
            best->agrees, rival->agrees);
    else if (best->count != rival->count)
        by = g_strdup_printf("%u candidates make this change, and %u make the next best change",
                             best->count, rival->count);
    else if (acr_json_size(best->votes) > acr_json_size(rival->votes))
        by = g_strdup_printf(
            "the model chose this patch %zu times, and the next best patch %zu times",
            acr_json_size(best->votes), acr_json_size(rival->votes));
    else if (best->is_vote_unread)
        by = g_strdup("the answer of the agent 'select' could not be read, so the first of several "
                      "equal patches was chosen");
    else
        by = g_strdup_printf("the chosen patch is the %s of several equal patches",
                             acr_proof_is_against(best->proof) ? "last" : "first");
    return g_strdup_printf("chosen from %u candidates: %s", candidates->len, by);
}
