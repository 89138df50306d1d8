/*
 * Drives the attempt machine: for each state one function that does its step and says which event
 * came of it. The steps that run code say that they cannot be done and why, as long as no sandbox
 * is there to run it in; none is faked.
 */
#include "loops/loops_private.h"

#include <string.h>

/* What a patch writer's conversation can be cut by, and what is kept of each at least, in bytes. */
enum { PART_CODE, PART_ISSUE, PART_FEEDBACK, PARTS };
static const gsize least[PARTS] = {1500, 1000, 1000};

typedef struct {
    const AcrRun *run;
    AcrAttempt machine;
    AcrModel *model; /* of this attempt; borrowed */
    AcrRetrieved retrieved;
    AcrConversation *conversation; /* the patch writer's */
    char *feedback;                /* what the last try was told; NULL before */
    gsize shown[PARTS];            /* bytes of each part that the patch writer is shown at most */
    AcrJson *statuses;             /* extract_status.json of this attempt */
    bool has_patch;                /* this attempt gave one */
    AcrRunResult best;
    GError *failure;
} Driver;

static void begin_attempt(Driver *driver)
{
    acr_retrieved_clear(&driver->retrieved);
    g_clear_pointer(&driver->conversation, acr_conversation_free);
    g_clear_pointer(&driver->feedback, g_free);
    g_clear_pointer(&driver->statuses, acr_json_free);
    driver->statuses = acr_json_new_array();
    driver->has_patch = false;
    driver->shown[PART_CODE] = ACR_PATCH_CODE_BYTES;
    driver->shown[PART_ISSUE] = driver->shown[PART_FEEDBACK] = G_MAXSIZE;
    driver->model = driver->run->models[driver->machine.attempt % driver->run->n_models];
}

static void driver_clear(Driver *driver)
{
    acr_retrieved_clear(&driver->retrieved);
    acr_conversation_free(driver->conversation);
    g_free(driver->feedback);
    acr_json_free(driver->statuses);
    acr_run_result_clear(&driver->best);
    g_clear_error(&driver->failure);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Driver, driver_clear)

void acr_run_result_clear(AcrRunResult *result)
{
    g_clear_pointer(&result->diff, g_bytes_unref);
    g_clear_pointer(&result->overlay, acr_overlay_free);
    g_clear_pointer(&result->reason, g_free);
}

static AcrAttemptEvent fail(Driver *driver, GError *error)
{
    bool ceiling = g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING);
    g_clear_error(&driver->failure);
    driver->failure = error;
    return ceiling ? ACR_ATTEMPT_ON_CEILING : ACR_ATTEMPT_ON_FAILED;
}

/* ---- The steps that run code --------------------------------------------------------------------
 */

static AcrAttemptEvent do_guard(Driver *driver)
{
    begin_attempt(driver);
    const char *why = "this version has no sandbox to run code in";
    if (driver->run->verify == ACR_VERIFY_ALWAYS)
        return fail(driver,
                    g_error_new(ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_UNAVAILABLE,
                                "cannot verify by running code, as --verify=always asks: %s", why));
    if (driver->run->verify == ACR_VERIFY_NEVER)
        why = "--verify=never was given";
    acr_loops_note(driver->run, "the issue is not reproduced: %s", why);
    return ACR_ATTEMPT_ON_UNAVAILABLE;
}

/* Reached only through a guard that found code runnable. */
static AcrAttemptEvent do_unavailable(Driver *driver)
{
    acr_loops_note(driver->run, "%s cannot be done: this version has no sandbox to run code in",
                   acr_attempt_state_name(driver->machine.state));
    return ACR_ATTEMPT_ON_UNAVAILABLE;
}

/* ---- Retrieval ----------------------------------------------------------------------------------
 */

static AcrAttemptEvent do_retrieve(Driver *driver)
{
    GError *error = NULL;
    if (!acr_retrieval_run(driver->run, driver->machine.attempt, driver->model, &driver->retrieved,
                           &error))
        return fail(driver, error);
    return ACR_ATTEMPT_ON_OK;
}

/* ---- Patch --------------------------------------------------------------------------------------
 */

/* Starts the patch writer's conversation, from the located code if there is some. */
static void start_conversation(Driver *driver)
{
    g_autofree char *name = g_strdup_printf("attempt_%u/patch", driver->machine.attempt);
    acr_conversation_free(driver->conversation);
    driver->conversation = acr_conversation_new(name);
    if (!driver->retrieved.located->len) {
        acr_agent_patch_start_from(driver->conversation, driver->run->prompts,
                                   driver->retrieved.conversation);
        return;
    }
    g_autofree char *issue = acr_text_shorten(driver->run->issue, driver->shown[PART_ISSUE]);
    acr_agent_patch_start(driver->conversation, driver->run->prompts, issue,
                          driver->retrieved.located, driver->shown[PART_CODE]);
}

static void add_feedback(Driver *driver)
{
    g_autofree char *shown = acr_text_shorten(driver->feedback, driver->shown[PART_FEEDBACK]);
    g_autofree char *text =
        acr_prompts_render(driver->run->prompts, ACR_PROMPT_PATCH_RETRY, "feedback", shown, NULL);
    acr_conversation_add(driver->conversation, ACR_ROLE_USER, text);
}

/* How long each part is as it is shown now. */
static void measure_parts(const Driver *driver, gsize len[PARTS])
{
    const GPtrArray *located = driver->retrieved.located;
    memset(len, 0, PARTS * sizeof len[0]);
    for (guint i = 0; i < located->len; i++)
        len[PART_CODE] += strlen(((const AcrLocated *)located->pdata[i])->code);
    if (located->len)
        len[PART_ISSUE] = strlen(driver->run->issue);
    if (driver->feedback)
        len[PART_FEEDBACK] = strlen(driver->feedback);
    for (guint i = 0; i < PARTS; i++)
        len[i] = MIN(len[i], driver->shown[i]);
}

/* Halves the longest part of what the patch writer is shown; NULL: all are short. */
static const char *cut_longest_part(Driver *driver)
{
    static const char *const what[PARTS] = {"the code is cut", "the issue is cut",
                                            "the feedback is cut"};
    gsize len[PARTS];
    guint longest = PARTS;
    measure_parts(driver, len);
    for (guint i = 0; i < PARTS; i++)
        if (len[i] > least[i] && (longest == PARTS || len[i] > len[longest]))
            longest = i;
    if (longest == PARTS)
        return NULL;
    driver->shown[longest] = MAX(len[longest] / 2, least[longest]);
    return what[longest];
}

/*
 * After an overflow: earlier tries are dropped (the last feedback stays), then one thing is
 * shortened. What was done; NULL: nothing is left to take away.
 */
static const char *shorten_conversation(Driver *driver, bool *dropped_tries)
{
    const char *what = NULL;
    if (driver->feedback && !*dropped_tries)
        what = "earlier tries are left out";
    *dropped_tries = true;
    if (!what && !driver->retrieved.located->len)
        what = acr_retrieved_shorten(&driver->retrieved, driver->run);
    if (!what)
        what = cut_longest_part(driver);
    if (!what)
        return NULL;
    start_conversation(driver);
    if (driver->feedback)
        add_feedback(driver);
    return what;
}

static bool ask_for_patch(Driver *driver, const char **out_answer, GError **error)
{
    bool dropped_tries = false;
    if (!driver->conversation)
        start_conversation(driver);
    if (driver->feedback)
        add_feedback(driver);
    for (;;) {
        g_autoptr(GError) reason = NULL;
        if (!acr_loops_go_on(driver->run, error))
            return false;
        if (acr_agent_ask(driver->model, driver->conversation, "patch", 0, false, out_answer,
                          &reason))
            return true;
        bool overflow = g_error_matches(reason, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTEXT_OVERFLOW);
        const char *what = overflow ? shorten_conversation(driver, &dropped_tries) : NULL;
        if (overflow)
            acr_loops_note_overflow(driver->run, what);
        if (!what) {
            g_propagate_error(error, g_steal_pointer(&reason));
            return false;
        }
    }
}

static AcrJson *edits_to_json(const GPtrArray *edits)
{
    AcrJson *list = acr_json_new_array();
    for (guint i = 0; i < edits->len; i++) {
        const AcrEditOutcome *edit = edits->pdata[i];
        AcrJson *json = acr_json_new_object();
        acr_json_set_string(json, "file", edit->file);
        acr_json_set_string(json, "level", acr_level_name(edit->level));
        acr_json_set_int(json, "start", edit->start);
        acr_json_set_int(json, "end", edit->end);
        acr_json_set_string(json, "status", acr_edit_status_name(edit->status));
        acr_json_set_string(json, "why", edit->why);
        acr_json_append(list, json);
    }
    return list;
}

static bool save_try(Driver *driver, const char *answer, const AcrPatchResult *result,
                     GError **error)
{
    guint attempt = driver->machine.attempt, number = driver->machine.tries;
    AcrJson *status = acr_json_new_object();
    acr_json_set_int(status, "try", number);
    acr_json_set_string(status, "status", acr_extract_status_name(result->status));
    acr_json_set(status, "edits", edits_to_json(result->edits));
    acr_json_set_string(status, "message", result->message);
    acr_json_append(driver->statuses, status);
    if (!acr_loops_write(driver->run, attempt, answer, strlen(answer), error, "patch_raw_%u.md",
                         number) ||
        !acr_loops_write_json(driver->run, attempt,
                              acr_conversation_to_json(driver->conversation, 0), error,
                              "conv_patch_%u.json", number) ||
        !acr_loops_write_json(driver->run, attempt, acr_json_copy(driver->statuses), error,
                              "extract_status.json"))
        return false;
    if (!result->diff)
        return true;
    gsize len;
    const void *diff = g_bytes_get_data(result->diff, &len);
    return acr_loops_write(driver->run, attempt, diff, len, error, "extracted_patch_%u.diff",
                           number);
}

/* The places of the bug, for edits whose place is not unique. */
static AcrPatchHint *make_hints(const GPtrArray *located, gsize *out_n)
{
    AcrPatchHint *hints = g_new0(AcrPatchHint, located->len + 1);
    gsize n = 0;
    for (guint i = 0; i < located->len; i++) {
        const AcrLocated *item = located->pdata[i];
        if (item->role == ACR_LOCATED_BUG)
            hints[n++] = (AcrPatchHint){item->place->file, item->place->start, item->place->end};
    }
    *out_n = n;
    return hints;
}

static bool apply_answer(Driver *driver, const char *answer, AcrPatchResult *out, GError **error)
{
    gsize n_hints;
    g_autofree AcrPatchHint *hints = make_hints(driver->retrieved.located, &n_hints);
    AcrPatchContext context = {
        .snapshot = driver->run->snapshot,
        .index = driver->run->index,
        .referee = driver->run->referee,
        .hints = hints,
        .n_hints = n_hints,
    };
    return acr_patch_apply(&context, answer, strlen(answer), out, error);
}

/* Keeps a candidate: the first applicable one, until there is more to judge by. */
static void keep_candidate(Driver *driver, AcrPatchResult *result)
{
    if (driver->best.diff)
        return;
    driver->best.status = MAX(driver->best.status, result->status);
    driver->best.attempt = driver->machine.attempt;
    driver->best.try_number = driver->machine.tries;
    if (result->diff) {
        driver->best.diff = g_steal_pointer(&result->diff);
        driver->best.overlay = g_steal_pointer(&result->overlay);
        driver->has_patch = true;
    }
}

static void note_edit(const Driver *driver, guint number, const AcrEditOutcome *edit)
{
    g_autofree char *lines =
        edit->start ? g_strdup_printf(" lines %u-%u", edit->start, edit->end) : g_strdup("");
    acr_loops_note(driver->run, "edit %u: %s, %s (%s%s)", number,
                   acr_edit_status_name(edit->status), acr_level_name(edit->level),
                   edit->file ? edit->file : "no file", lines);
}

static AcrAttemptEvent do_patch(Driver *driver)
{
    GError *error = NULL;
    const char *answer;
    acr_loops_stage(driver->run, driver->machine.attempt, "patch", driver->machine.tries);
    if (!ask_for_patch(driver, &answer, &error)) {
        bool ends_attempt = g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USED_UP) ||
                            g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTEXT_OVERFLOW);
        if (!ends_attempt)
            return fail(driver, error);
        acr_loops_note(driver->run, "no patch in this try: %s", error->message);
        g_free(driver->best.reason);
        driver->best.reason = g_strdup(error->message);
        g_error_free(error);
        return ACR_ATTEMPT_ON_USED_UP;
    }
    g_auto(AcrPatchResult) result = {0};
    if (!apply_answer(driver, answer, &result, &error) ||
        !save_try(driver, answer, &result, &error))
        return fail(driver, error);
    acr_loops_note(driver->run, "%s", acr_extract_status_name(result.status));
    for (guint i = 0; i < result.edits->len; i++)
        note_edit(driver, i + 1, result.edits->pdata[i]);
    g_free(driver->feedback);
    driver->feedback = g_strdup(result.message);
    bool applicable = result.status == ACR_APPLICABLE_PATCH;
    keep_candidate(driver, &result);
    return applicable ? ACR_ATTEMPT_ON_OK : ACR_ATTEMPT_ON_REFUSED;
}

/* ---- Validation and selection -------------------------------------------------------------------
 */

static AcrAttemptEvent do_select(Driver *driver)
{
    return driver->has_patch ? ACR_ATTEMPT_ON_OK : ACR_ATTEMPT_ON_REFUSED;
}

static AcrAttemptEvent do_state(Driver *driver)
{
    static AcrAttemptEvent (*const steps[])(Driver *) = {
        [ACR_ATTEMPT_GUARD] = do_guard,        [ACR_ATTEMPT_REPRODUCE] = do_unavailable,
        [ACR_ATTEMPT_RETRIEVE] = do_retrieve,  [ACR_ATTEMPT_PATCH] = do_patch,
        [ACR_ATTEMPT_REVIEW] = do_unavailable, [ACR_ATTEMPT_VALIDATE] = do_unavailable,
        [ACR_ATTEMPT_SELECT] = do_select,
    };
    GError *error = NULL;
    if (!acr_loops_go_on(driver->run, &error))
        return fail(driver, error);
    return steps[driver->machine.state](driver);
}

bool acr_attempts_run(const AcrRun *run, AcrRunResult *out, GError **error)
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
    *out = driver.best;
    memset(&driver.best, 0, sizeof driver.best);
    return driver.machine.state == ACR_ATTEMPT_DONE;
}
