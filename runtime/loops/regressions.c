/*
 * The project's own tests with a patch: none that passed without it may fail, but those that the issue
 * asks to change. Which these are, a reviewer says, once for each test of a run; what it says is kept
 * with its reason in regression_PATCH.json and in the result.
 */
#include "loops/attempt_work.h"

#include <string.h>

#define MAX_ASKED 10u /* tests of a patch; what breaks more is not asked about beyond them */
#define ANSWER_TRIES 3u
#define SHOWN_TESTS 10u /* to the patch writer; in a line: */
#define LINE_TESTS 3u
#define SHOWN_BYTES (4u * 1024)        /* of a failure */
#define PATCH_SHOWN_BYTES (64u * 1024) /* of a patch, to the reviewer */

/* What the reviewer says of a test. */
typedef struct {
    bool is_expected;
    char *reason; /* owned */
} Said;

static void said_free(gpointer data)
{
    g_free(((Said *)data)->reason);
    g_free(data);
}

GHashTable *acr_said_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, said_free);
}

static void broken_free(gpointer data)
{
    AcrBrokenTest *test = data;
    g_free(test->id);
    g_free(test->message);
    g_free(test);
}

void acr_tests_found_clear(AcrTestsFound *found)
{
    g_clear_pointer(&found->command, g_free);
    g_clear_pointer(&found->broken, g_ptr_array_unref);
    g_clear_pointer(&found->fixed, g_strfreev);
    g_clear_pointer(&found->unconfirmed, g_strfreev);
}

void acr_tests_found_break(AcrTestsFound *found, const char *id, const char *message)
{
    AcrBrokenTest *test = g_new(AcrBrokenTest, 1);
    *test = (AcrBrokenTest){g_strdup(id), g_strdup(message)};
    if (!found->broken)
        found->broken = g_ptr_array_new_with_free_func(broken_free);
    g_ptr_array_add(found->broken, test);
}

/* ---- The reviewer ---------------------------------------------------------------------------- */

static char *failure_text(const AcrBrokenTest *test)
{
    g_autofree char *shown = acr_text_shorten(test->message, SHOWN_BYTES);
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

/* Asks whether a test is expected to fail. One that nobody answers for is not. */
static bool ask(AcrAttemptWork *work, AcrConversation *conversation, Said *out, GError **error)
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
    out->reason = g_strdup_printf("no answer of the reviewer can be read in %u", ANSWER_TRIES);
    return true;
}

/* What the reviewer says of each broken test, kept in work->said; the first of them, at most. */
static bool ask_all(AcrAttemptWork *work, const AcrCandidate *candidate, const GPtrArray *broken,
                    GError **error)
{
    for (guint i = 0; i < MIN(broken->len, MAX_ASKED); i++) {
        const AcrBrokenTest *test = broken->pdata[i];
        if (g_hash_table_contains(work->said, test->id))
            continue;
        g_autoptr(AcrConversation) conversation = start_question(work, candidate, test, i + 1);
        g_autofree Said *said = g_new0(Said, 1);
        if (!ask(work, conversation, said, error))
            return false;
        acr_loops_note(work->run, "%s breaks: %s (%s)", test->id,
                       said->is_expected ? "expected" : "not expected", said->reason);
        g_hash_table_insert(work->said, g_strdup(test->id), g_steal_pointer(&said));
    }
    return true;
}

static const Said *find_excuse(const AcrAttemptWork *work, const AcrBrokenTest *test)
{
    const Said *said = g_hash_table_lookup(work->said, test->id);
    return said && said->is_expected ? said : NULL;
}

/* ---- What is kept ---------------------------------------------------------------------------- */

static AcrJson *strings(char *const *texts)
{
    static const char *const none[] = {NULL};
    return acr_json_new_strings(texts ? (const char *const *)texts : none);
}

static AcrJson *describe(const AcrAttemptWork *work, const AcrTestsFound *found)
{
    AcrJson *json = acr_json_new_object(), *broken = acr_json_new_array(),
            *expected = acr_json_new_array();
    for (guint i = 0; found->broken && i < found->broken->len; i++) {
        const AcrBrokenTest *test = found->broken->pdata[i];
        const Said *excuse = find_excuse(work, test);
        if (!excuse) {
            acr_json_append(broken, acr_json_new_string(test->id));
            continue;
        }
        AcrJson *row = acr_json_new_object();
        acr_json_set_string(row, "test", test->id);
        acr_json_set_string(row, "reason", excuse->reason);
        acr_json_append(expected, row);
    }
    acr_json_set_string(json, "command", found->command);
    acr_json_set_int(json, "compared", found->compared);
    acr_json_set(json, "regressions", broken);
    acr_json_set(json, "expected", expected);
    acr_json_set(json, "fixed", strings(found->fixed));
    acr_json_set(json, "unconfirmed", strings(found->unconfirmed));
    acr_json_set_int(json, "not_run", found->not_run);
    return json;
}

/* regression_PATCH.json: the same, with how each test failed. */
static bool save(const AcrAttemptWork *work, const AcrCandidate *candidate,
                 const AcrTestsFound *found, GError **error)
{
    AcrJson *json = acr_json_copy(candidate->tests), *messages = acr_json_new_object();
    for (guint i = 0; found->broken && i < found->broken->len; i++) {
        const AcrBrokenTest *test = found->broken->pdata[i];
        acr_json_set_string(messages, test->id, test->message);
    }
    acr_json_set(json, "messages", messages);
    return acr_loops_write_json(work->run, candidate->attempt, json, error, "regression_%u.json",
                                candidate->number);
}

static gsize count(const AcrJson *tests, const char *key)
{
    return acr_json_size(acr_json_get(tests, key));
}

/* ": a, b and 3 more" of an array of ids; nothing where it is empty. */
static void append_ids(GString *line, const AcrJson *ids)
{
    guint n = 0;
    for (const AcrJson *at = acr_json_first(ids); at && n < LINE_TESTS; at = acr_json_next(at), n++)
        g_string_append_printf(line, "%s%s", n ? ", " : ": ", acr_json_string(at));
    if (acr_json_size(ids) > LINE_TESTS)
        g_string_append_printf(line, " and %u more", (guint)acr_json_size(ids) - LINE_TESTS);
}

char *acr_tests_line(const AcrJson *tests)
{
    GString *line = g_string_new(NULL);
    const char *why = acr_json_get_string(tests, "why");
    if (why)
        g_string_append_printf(line, "not compared: %s", why);
    else if (count(tests, "regressions") > 0)
        g_string_append_printf(line, "%u that passed without the patch fail with it",
                               (guint)count(tests, "regressions"));
    else
        g_string_append_printf(line, "no regression in the %" G_GINT64_FORMAT " that passed before",
                               acr_json_get_int(tests, "compared", 0));
    append_ids(line, acr_json_get(tests, "regressions"));
    const AcrJson *expected = acr_json_get(tests, "expected");
    for (const AcrJson *at = acr_json_first(expected); at; at = acr_json_next(at))
        g_string_append_printf(line, "; expected to fail: %s (%s)", acr_json_get_string(at, "test"),
                               acr_json_get_string(at, "reason"));
    if (count(tests, "unconfirmed") > 0)
        g_string_append_printf(line, "; %u failed and could not run again",
                               (guint)count(tests, "unconfirmed"));
    if (acr_json_get_int(tests, "not_run", 0) > 0)
        g_string_append_printf(line, "; %" G_GINT64_FORMAT " did not run",
                               acr_json_get_int(tests, "not_run", 0));
    return g_string_free(line, FALSE);
}

/* ---- The step -------------------------------------------------------------------------------- */

/* For the patch writer: what broke, and how. */
static char *broken_text(const AcrAttemptWork *work, const AcrTestsFound *found)
{
    GString *text = g_string_new("Tests that passed without the change fail with it.\n");
    guint n = 0, more = 0;
    for (guint i = 0; i < found->broken->len; i++) {
        const AcrBrokenTest *test = found->broken->pdata[i];
        if (find_excuse(work, test))
            continue;
        if (n++ >= SHOWN_TESTS) {
            more++;
            continue;
        }
        g_autofree char *failure = failure_text(test);
        g_string_append_printf(text, "\n%s\n%s\n", test->id, failure);
    }
    if (more)
        g_string_append_printf(text, "\n… and %u more tests.\n", more);
    return g_string_free(text, FALSE);
}

static AcrStep refuse(AcrAttemptWork *work, AcrCandidate *candidate, const AcrTestsFound *found)
{
    GString *why = g_string_new("the patch breaks tests that passed");
    g_autofree char *message = broken_text(work, found);
    append_ids(why, acr_json_get(candidate->tests, "regressions"));
    acr_loops_note(work->run, "patch %u: %s", candidate->number, why->str);
    acr_candidate_prove(candidate, ACR_PROOF_REFUSED, g_string_free(why, FALSE));
    acr_step_tell_writer(work, acr_prompts_render(work->run->prompts, ACR_PROMPT_PATCH_REFUSED,
                                                  "message", message, NULL));
    return ACR_STEP_NOT_DONE;
}

/* What was found of a patch is judged. */
static AcrStep judge(AcrAttemptWork *work, AcrCandidate *candidate, const AcrTestsFound *found,
                     GError **error)
{
    if (found->broken && !ask_all(work, candidate, found->broken, error))
        return ACR_STEP_FAILED;
    candidate->tests = describe(work, found);
    if (!save(work, candidate, found, error))
        return ACR_STEP_FAILED;
    if (count(candidate->tests, "regressions") > 0)
        return refuse(work, candidate, found);
    candidate->is_free = found->compared > 0 && count(candidate->tests, "unconfirmed") == 0;
    g_autofree char *line = acr_tests_line(candidate->tests);
    acr_loops_note(work->run, "patch %u: %s", candidate->number, line);
    g_clear_pointer(&candidate->doubt, g_free);
    return acr_proof_is_barred(work, candidate->overlay, &candidate->doubt, error)
               ? ACR_STEP_DONE
               : ACR_STEP_FAILED;
}

/* The patch without what it changes in tests: these are to be as they are; owned. */
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

AcrStep acr_step_regress(AcrAttemptWork *work, AcrCandidate *candidate, GError **error)
{
    const AcrTestComparer *tests = work->run->tests;
    const AcrTestsFound *found;
    g_autoptr(GError) reason = NULL;
    if (work->run->regressions == ACR_VERIFY_NEVER)
        return ACR_STEP_DONE;
    g_autoptr(AcrOverlay) patch = keep_tests(work, candidate->overlay, error);
    if (!patch || !acr_loops_go_on(work->run, error))
        return ACR_STEP_FAILED;
    acr_loops_stage(work->run, work->attempt, "tests", candidate->number);
    g_clear_pointer(&candidate->tests, acr_json_free);
    if (tests->compare(tests->ctx, patch, &found, &reason))
        return judge(work, candidate, found, error);
    if (!g_error_matches(reason, ACR_SANDBOX_ERROR, ACR_SANDBOX_ERROR_UNAVAILABLE)) {
        g_propagate_error(error, g_steal_pointer(&reason));
        return ACR_STEP_FAILED;
    }
    acr_loops_note(work->run, "patch %u: the project's tests were not compared: %s",
                   candidate->number, reason->message);
    candidate->tests = acr_json_new_object();
    acr_json_set_string(candidate->tests, "why", reason->message);
    return ACR_STEP_UNAVAILABLE;
}

AcrStep acr_step_know_tests(AcrAttemptWork *work, GError **error)
{
    const AcrTestComparer *tests = work->run->tests;
    const AcrTestsFound *found;
    if (work->run->regressions != ACR_VERIFY_ALWAYS)
        return ACR_STEP_DONE;
    acr_loops_stage(work->run, 0, "tests", 0);
    if (!acr_loops_go_on(work->run, error) || !tests->compare(tests->ctx, NULL, &found, error))
        return ACR_STEP_FAILED;
    acr_loops_note(work->run, "the project's tests: %u pass (%s)", found->compared, found->command);
    return ACR_STEP_DONE;
}
