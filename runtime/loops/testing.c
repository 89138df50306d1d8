/*
 * The reproducer at work: whether the issue can be reproduced, the script and its tries, and each
 * execution with the files that it leaves in the run folder.
 */
#include "loops/work.h"

#include <string.h>

#define GUARD_TRIES 3u

/* ---- Asking -------------------------------------------------------------------------------------
 */

/* A failed call: what a verify role lacks does not end the run. `reason` is taken. */
static AcrStep no_answer(AcrWork *work, const char *what, GError *reason, GError **error)
{
    if (!acr_work_is_no_answer(reason)) {
        g_propagate_error(error, reason);
        return ACR_STEP_FAILED;
    }
    acr_work_unproved(work, "%s: %s", what, reason->message);
    g_error_free(reason);
    return ACR_STEP_UNAVAILABLE;
}

static void add_rendered(AcrConversation *conversation, char *text)
{
    g_autofree char *owned = text;
    acr_conversation_add(conversation, ACR_ROLE_USER, owned);
}

AcrStep acr_testing_guard(AcrWork *work, GError **error)
{
    g_autofree char *name = g_strdup_printf("attempt_%u/reproducible", work->attempt);
    g_autoptr(AcrConversation) conversation = acr_conversation_new(name);
    acr_agent_reproducible_start(conversation, work->run->prompts, work->run->issue);
    for (guint i = 0; i < GUARD_TRIES; i++) {
        GError *reason = NULL;
        const char *answer;
        bool yes = false;
        g_autofree char *problem = NULL;
        if (!acr_loops_go_on(work->run, error))
            return ACR_STEP_FAILED;
        if (!acr_agent_ask(work->model, conversation, "reproducible", 0, true, &answer, &reason))
            return no_answer(work, "whether the issue can be reproduced is not known", reason,
                             error);
        if (acr_agent_reproducible_read(answer, &yes, &problem)) {
            if (!yes)
                acr_work_unproved(work, "the issue gives no example that can be reproduced");
            return yes ? ACR_STEP_DONE : ACR_STEP_NOT_DONE;
        }
        add_rendered(conversation,
                     acr_prompts_render(work->run->prompts, ACR_PROMPT_REPRODUCIBLE_RETRY,
                                        "problem", problem, NULL));
    }
    acr_work_unproved(work, "whether the issue can be reproduced was not answered in %u tries",
                      GUARD_TRIES);
    return ACR_STEP_NOT_DONE;
}

/* ---- Executions ---------------------------------------------------------------------------------
 */

static AcrJson *doubts_json(const GPtrArray *doubts)
{
    AcrJson *list = acr_json_new_array();
    for (guint i = 0; i < doubts->len; i++)
        acr_json_append(list, acr_json_new_string(doubts->pdata[i]));
    return list;
}

static const char *result_name(AcrTestResult result)
{
    static const char *const names[] = {"passed", "reproduced", "broken"};
    return names[result];
}

/* execution_PATCH_TEST.json; patch 0: without one. */
static bool save_execution(const AcrWork *work, guint patch, const AcrExecuted *executed,
                           const AcrTestVerdict *verdict, GError **error)
{
    AcrJson *json = acr_json_new_object();
    acr_json_set_int(json, "patch", patch);
    acr_json_set_int(json, "test", work->testing.number);
    acr_json_set_string(json, "result", result_name(verdict->result));
    acr_json_set_string(json, "why", verdict->why);
    acr_json_set(json, "doubts", doubts_json(verdict->doubts));
    acr_json_set(json, "exit",
                 executed->exit_code < 0 ? acr_json_new_null()
                                         : acr_json_new_int(executed->exit_code));
    acr_json_set(json, "signal",
                 executed->signal ? acr_json_new_int(executed->signal) : acr_json_new_null());
    acr_json_set_string(json, "limit", acr_sandbox_limit_name(executed->limit));
    acr_json_set(json, "stdout", acr_json_new_gbytes(executed->out));
    acr_json_set(json, "stderr", acr_json_new_gbytes(executed->err));
    return acr_loops_write_json(work->run, work->attempt, json, error, "execution_%u_%u.json",
                                patch, work->testing.number);
}

AcrStep acr_testing_run(AcrWork *work, const AcrOverlay *overlay, guint patch, guint repeat,
                        const AcrExecuted **out, AcrTestVerdict *out_verdict, GError **error)
{
    const AcrExecutor *executor = work->run->executor;
    AcrTrial trial = {.overlay = overlay, .test = work->testing.script, .repeat = repeat};
    AcrStep step = acr_work_run(work, &trial, "the reproducer cannot be run", out, error);
    if (step != ACR_STEP_DONE)
        return step;
    g_auto(AcrTestVerdict) verdict = {0};
    acr_test_judge(*out, work->testing.script, executor->dir(executor->ctx), &verdict);
    if (!acr_python_doubts(work->run->python, work->testing.script, verdict.doubts, error))
        return ACR_STEP_FAILED;
    g_autofree char *when = patch ? g_strdup_printf("patch %u", patch) : g_strdup("no patch");
    acr_loops_note(work->run, "reproducer %u with %s: %s", work->testing.number, when, verdict.why);
    for (guint i = 0; i < verdict.doubts->len; i++)
        acr_loops_note(work->run, "doubt: %s", (const char *)verdict.doubts->pdata[i]);
    if (repeat == 0 && !save_execution(work, patch, *out, &verdict, error))
        return ACR_STEP_FAILED;
    acr_test_verdict_clear(out_verdict);
    *out_verdict = verdict;
    memset(&verdict, 0, sizeof verdict);
    return ACR_STEP_DONE;
}

/* The name of a stream's tag: one that the text does not close; owned. */
static char *tag_of(const char *name, const char *text)
{
    char *tag = g_strdup(name);
    for (guint i = 2;; i++) {
        g_autofree char *end = g_strdup_printf("</%s>", tag);
        if (!strstr(text, end))
            return tag;
        g_free(tag);
        tag = g_strdup_printf("%s_%u", name, i);
    }
}

/* One stream, in a fence that it cannot close. */
static void append_stream(GString *out, const char *name, GBytes *bytes)
{
    g_autofree char *text = acr_utf8_repair_bytes(bytes);
    g_autofree char *shown = acr_text_shorten(text, ACR_TRIAL_SHOWN_BYTES);
    g_autofree char *tag = tag_of(name, shown);
    if (!*shown)
        g_string_append_printf(out, "Its %s is empty.\n", name);
    else
        g_string_append_printf(out, "Its %s:\n<%s>\n%s%s</%s>\n", name, tag, shown,
                               g_str_has_suffix(shown, "\n") ? "" : "\n", tag);
}

char *acr_testing_describe(const char *when, const AcrExecuted *executed,
                           const AcrTestVerdict *verdict)
{
    g_autoptr(GString) out = g_string_new(NULL);
    if (executed->signal)
        g_string_append_printf(out, "%s, the script was ended by signal %d", when,
                               executed->signal);
    else
        g_string_append_printf(out, "%s, the script exited with %d", when, executed->exit_code);
    g_string_append_printf(out, " (%s).\n", verdict->why);
    for (guint i = 0; i < verdict->doubts->len; i++)
        g_string_append_printf(out, "Note: %s.\n", (const char *)verdict->doubts->pdata[i]);
    append_stream(out, "stdout", executed->out);
    append_stream(out, "stderr", executed->err);
    return g_string_free(g_steal_pointer(&out), FALSE);
}

/* ---- Writing ------------------------------------------------------------------------------------
 */

static bool save_conversation(const AcrWork *work, GError **error)
{
    return acr_loops_write_json(work->run, work->attempt,
                                acr_conversation_to_json(work->testing.conversation, 0), error,
                                "conv_test_%u.json", work->testing.tries);
}

/* Takes the script of an answer as the latest; NULL problem when there was one. */
static bool take_script(AcrWork *work, const char *answer, char **out_problem, GError **error)
{
    g_autofree char *script = acr_agent_test_read(answer, out_problem);
    if (!script)
        return true;
    AcrTesting *testing = &work->testing;
    testing->number = testing->tries;
    g_free(testing->script);
    testing->script = g_steal_pointer(&script);
    return acr_loops_write(work->run, work->attempt, testing->script, strlen(testing->script),
                           error, "reproducer_%u.py", testing->number);
}

/* What the next try is told in place of anything before it. `text` is taken. */
static void take_feedback(AcrWork *work, char *text)
{
    g_free(work->testing.feedback);
    work->testing.feedback = text;
}

/* What the next try is told of one that did not reproduce the issue. */
static void tell_problem(AcrWork *work, const char *problem, const AcrExecuted *executed,
                         const AcrTestVerdict *verdict)
{
    g_autofree char *execution =
        executed ? acr_testing_describe("Without a patch", executed, verdict) : g_strdup("");
    take_feedback(work, acr_prompts_render(work->run->prompts, ACR_PROMPT_TEST_RETRY, "problem",
                                           problem, "execution", execution, NULL));
}

/* One try: asks, saves and runs. DONE: reproduced. *out_ran: there was a script, and it ran. */
static AcrStep try_once(AcrWork *work, bool *out_ran, GError **error)
{
    AcrTesting *testing = &work->testing;
    GError *reason = NULL;
    const char *answer;
    g_autofree char *problem = NULL;
    testing->tries++;
    acr_loops_stage(work->run, work->attempt, "reproduce", testing->tries);
    if (!acr_loops_go_on(work->run, error))
        return ACR_STEP_FAILED;
    if (testing->feedback)
        add_rendered(testing->conversation, g_steal_pointer(&testing->feedback));
    if (!acr_agent_ask(work->model, testing->conversation, "test", 0, false, &answer, &reason))
        return no_answer(work, "no reproducer in this try", reason, error);
    if (!save_conversation(work, error) || !take_script(work, answer, &problem, error))
        return ACR_STEP_FAILED;
    if (problem) {
        acr_loops_note(work->run, "%s", problem);
        tell_problem(work, problem, NULL, NULL);
        return ACR_STEP_NOT_DONE;
    }
    AcrStep step = acr_testing_run(work, NULL, 0, 0, &testing->executed, &testing->before, error);
    if (step != ACR_STEP_DONE)
        return step;
    *out_ran = true;
    if (testing->before.result == ACR_TEST_REPRODUCED)
        return ACR_STEP_DONE;
    tell_problem(work,
                 testing->before.result == ACR_TEST_PASSED
                     ? "the script exits with 0 in the project as it is"
                     : testing->before.why,
                 testing->executed, &testing->before);
    return ACR_STEP_NOT_DONE;
}

AcrStep acr_testing_write(AcrWork *work, guint tries, GError **error)
{
    g_autofree char *name = g_strdup_printf("attempt_%u/test", work->attempt), *python = NULL;
    bool available = false, ran = false;
    if (!work->run->executor->open(work->run->executor->ctx, &available, &python, error))
        return ACR_STEP_FAILED;
    acr_conversation_free(work->testing.conversation);
    work->testing.conversation = acr_conversation_new(name);
    acr_agent_test_start(work->testing.conversation, work->run->prompts, work->run->issue, python);
    for (guint i = 0; i < tries; i++) {
        AcrStep step = try_once(work, &ran, error);
        if (step != ACR_STEP_NOT_DONE)
            return step;
    }
    acr_work_unproved(work, "the issue was not reproduced in %u tries", tries);
    return ACR_STEP_NOT_DONE;
}

AcrStep acr_testing_rewrite(AcrWork *work, char *message, guint tries, GError **error)
{
    bool ran = false;
    take_feedback(work, message);
    for (guint i = 0; i < tries; i++) {
        AcrStep step = try_once(work, &ran, error);
        if (step != ACR_STEP_NOT_DONE)
            return step;
    }
    return ran ? ACR_STEP_DONE : ACR_STEP_NOT_DONE;
}
