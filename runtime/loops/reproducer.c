/* Handles the reproducer: asks whether the issue can be reproduced, lets the model write the
 * script, runs the script, and writes its files to the run folder. The file also implements
 * `reproduce`, which writes only a reproducer. */
#include "loops/attempt_work.h"

#include <string.h>

#define GUARD_TRIES 3u
#define TRIES_UNTIL_FLIP 2u
#define SHOWN_BYTES 160u /* maximum number of bytes shown of an exception */

/* Finds out whether code can be run on this machine, unless --verify is never. */
static AcrStep open_executor(AcrAttemptWork *work, GError **error)
{
    const AcrRun *run = work->run;
    bool available = false;
    g_autofree char *text = NULL;
    if (run->verify == ACR_VERIFY_NEVER) {
        acr_step_unproved(work, "verification was off (--verify=never)");
        return ACR_STEP_UNAVAILABLE;
    }
    if (!run->executor->open(run->executor->ctx, &available, &text, error))
        return ACR_STEP_FAILED;
    if (available) {
        acr_probe_offer(work);
        return ACR_STEP_DONE;
    }
    if (run->verify == ACR_VERIFY_ALWAYS) {
        g_set_error(error, ACR_LOOPS_ERROR, ACR_LOOPS_ERROR_UNAVAILABLE,
                    "code cannot be run here: %s", text);
        return ACR_STEP_FAILED;
    }
    acr_step_unproved(work, "code cannot be run here: %s", text);
    return ACR_STEP_UNAVAILABLE;
}

AcrStep acr_reproducer_guard(AcrAttemptWork *work, GError **error)
{
    AcrStep opened = open_executor(work, error);
    if (opened != ACR_STEP_DONE)
        return opened;
    const AcrPrompts *prompts = work->run->prompts;
    acr_loops_stage(work->run, work->attempt, "reproduce", 0);
    g_autofree char *name = g_strdup_printf(ACR_DIR_ATTEMPT "/reproducible", work->attempt);
    g_autoptr(AcrConversation) conversation = acr_conversation_new(name);
    acr_agent_start(conversation, prompts, ACR_AGENT_REPRODUCIBLE, "issue", work->run->issue, NULL);
    for (guint i = 0; i < GUARD_TRIES; i++) {
        GError *reason = NULL;
        const char *answer;
        bool yes = false;
        g_autofree char *problem = NULL;
        if (!acr_loops_go_on(work->run, error))
            return ACR_STEP_FAILED;
        if (!acr_agent_ask(work->model, conversation, ACR_AGENT_REPRODUCIBLE, 0, &answer, &reason))
            return acr_step_no_answer(work, "whether the issue can be reproduced is not known",
                                      reason, error);
        if (acr_agent_reproducible_read(answer, &yes, &problem)) {
            if (!yes)
                acr_step_unproved(work, "the issue gives no example that can be reproduced");
            return yes ? ACR_STEP_DONE : ACR_STEP_NOT_DONE;
        }
        acr_agent_tell(conversation, prompts, ACR_PROMPT_REPRODUCIBLE_RETRY, "problem", problem,
                       NULL);
        work->dead_end.useless += ACR_USELESS_ANSWER;
    }
    acr_step_unproved(work, "the model did not say in %u tries whether the issue can be reproduced",
                      GUARD_TRIES);
    return ACR_STEP_NOT_DONE;
}

/* ---- Executions ------------------------------------------------------------------------------ */

/* Writes execution_PATCH_TEST.json; PATCH 0 means without a patch. */
static bool save_execution(const AcrAttemptWork *work, guint patch, const AcrTestVerdict *verdict,
                           GError **error)
{
    static const char *const results[] = {"passed", "reproduced", "broken"};
    AcrJson *json =
        acr_json_of(ACR_INT("patch", patch), ACR_INT("test", work->reproducer.number),
                    ACR_STRING("result", results[verdict->result]), ACR_STRING("why", verdict->why),
                    ACR_JSON("doubts", acr_json_new_texts(verdict->doubts)), NULL);
    acr_executed_to_json(verdict->executed, json);
    return acr_loops_write_json(work->run, work->attempt, json, error, ACR_FILE_EXECUTION, patch,
                                work->reproducer.number);
}

AcrStep acr_reproducer_run(AcrAttemptWork *work, const AcrCandidate *patch, guint repeat,
                           AcrTestVerdict *out, GError **error)
{
    const AcrExecuted *executed;
    const AcrExecutor *executor = work->run->executor;
    const char *script = work->reproducer.script;
    AcrTrial trial = {.overlay = patch ? patch->overlay : NULL, .test = script, .repeat = repeat};
    AcrStep step = acr_step_run(work, &trial, "the reproducer cannot be run", &executed, error);
    if (step != ACR_STEP_DONE)
        return step;
    g_auto(AcrTestVerdict) verdict = {0};
    acr_test_judge(executed, script, executor->dir(executor->ctx), &verdict);
    if (!acr_python_doubts(work->run->python, script, verdict.doubts, error))
        return ACR_STEP_FAILED;
    g_autofree char *with =
        patch ? g_strdup_printf("patch %u", patch->number) : g_strdup("no patch");
    acr_progress_action(work->run->progress, "execute", NULL, "reproducer %u with %s: %s",
                        work->reproducer.number, with, verdict.why);
    for (guint i = 0; i < verdict.doubts->len; i++)
        acr_loops_note(work->run, "doubt: %s", (const char *)verdict.doubts->pdata[i]);
    if (repeat == 0 && !save_execution(work, patch ? patch->number : 0, &verdict, error))
        return ACR_STEP_FAILED;
    acr_test_verdict_clear(out);
    *out = verdict;
    memset(&verdict, 0, sizeof verdict);
    return ACR_STEP_DONE;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Replaces the feedback for the next try. `text` is taken. */
static void take_feedback(AcrReproducer *reproducer, char *text)
{
    g_free(reproducer->feedback);
    reproducer->feedback = text;
}

static bool save_script(const AcrAttemptWork *work, GError **error)
{
    const AcrReproducer *reproducer = &work->reproducer;
    return acr_loops_write(work->run, work->attempt, reproducer->script, strlen(reproducer->script),
                           error, ACR_FILE_REPRODUCER, reproducer->number);
}

/* Returns the last line that the script wrote to stderr, if it says that a module is missing;
 * owned; otherwise NULL. A missing name in an existing module does not count, because it is the
 * script's own mistake. */
static char *find_missing_module(const AcrTestVerdict *verdict)
{
    if (verdict->result != ACR_TEST_BROKEN || !verdict->executed || !verdict->executed->err)
        return NULL;
    g_autofree char *last = acr_bytes_last_line(verdict->executed->err);
    return g_str_has_prefix(last, "ModuleNotFoundError: ") ? acr_text_shorten(last, SHOWN_BYTES)
                                                           : NULL;
}

/* Says how the last script failed to reproduce the issue, and what the user can do; owned; NULL if
 * no script failed. */
static char *last_script_words(const AcrAttemptWork *work)
{
    const AcrReproducer *reproducer = &work->reproducer;
    g_autofree char *missing = find_missing_module(&reproducer->before);
    if (missing)
        return g_strdup_printf("the script ended with '%s' in %s; install the module with --setup, "
                               "or choose another Python with --python",
                               missing, reproducer->python);
    return reproducer->before.result == ACR_TEST_REPRODUCED ? NULL
                                                            : g_strdup(reproducer->before.why);
}

/* Handles a model that gives no further answer. `reason` is taken. */
static AcrStep no_script(AcrAttemptWork *work, GError *reason, GError **error)
{
    g_autofree char *words = last_script_words(work),
                    *what = g_strdup_printf("no reproducer in this try%s%s%s", words ? ": " : "",
                                            words ? words : "",
                                            words ? "; the model gave no further answer" : "");
    return acr_step_no_answer(work, what, reason, error);
}

/* Asks for a script, and saves the conversation and the script. If the answer contains no script,
 * sets *out_problem (owned) to the reason. */
static AcrStep ask_for_script(AcrAttemptWork *work, char **out_problem, GError **error)
{
    AcrReproducer *reproducer = &work->reproducer;
    GError *reason = NULL;
    const char *answer;
    if (reproducer->feedback)
        acr_conversation_add(reproducer->conversation, ACR_ROLE_USER, reproducer->feedback);
    take_feedback(reproducer, NULL);
    if (!acr_agent_ask(work->model, reproducer->conversation, ACR_AGENT_TEST, 0, &answer, &reason))
        return no_script(work, reason, error);
    if (!acr_loops_write_json(work->run, work->attempt,
                              acr_conversation_to_json(reproducer->conversation, 0), error,
                              ACR_FILE_TEST_CONVERSATION, reproducer->tries))
        return ACR_STEP_FAILED;
    char *script = acr_agent_test_read(answer, out_problem);
    if (!script)
        return ACR_STEP_NOT_DONE;
    g_free(reproducer->script);
    reproducer->script = script;
    reproducer->number = reproducer->tries;
    return save_script(work, error) ? ACR_STEP_DONE : ACR_STEP_FAILED;
}

/* Inverts the last assertion of a script that passes as requested, and runs the inverted script. */
static AcrStep turn_round(AcrAttemptWork *work, GError **error)
{
    AcrReproducer *reproducer = &work->reproducer;
    bool is_flip = reproducer->is_flip && reproducer->before.result == ACR_TEST_PASSED;
    g_autofree char *turned = NULL;
    if (is_flip && !acr_python_invert(work->run->python, reproducer->script, &turned, error))
        return ACR_STEP_FAILED;
    if (!turned || !*turned)
        return ACR_STEP_DONE;
    acr_loops_note(work->run,
                   "the script passes, as requested; acr-host negates its last assertion");
    g_free(reproducer->script);
    reproducer->script = g_steal_pointer(&turned);
    return save_script(work, error) ? acr_reproducer_run(work, NULL, 0, &reproducer->before, error)
                                    : ACR_STEP_FAILED;
}

/* Makes the feedback for the next try; owned. After two failed tries, requests a passing script. */
static char *feedback_of(AcrAttemptWork *work, const char *problem, const char *execution)
{
    AcrReproducer *reproducer = &work->reproducer;
    reproducer->is_flip = reproducer->until_flip && --reproducer->until_flip == 0;
    return acr_prompts_render(work->run->prompts,
                              reproducer->is_flip ? ACR_PROMPT_TEST_FLIP : ACR_PROMPT_TEST_RETRY,
                              "problem", problem, "execution", execution ? execution : "", NULL);
}

/* Makes one try: asks the model, and saves and runs the script. Returns DONE if the issue is
 * reproduced. *out_ran is true if the answer had a script and the script ran. */
static AcrStep try_once(AcrAttemptWork *work, bool *out_ran, GError **error)
{
    AcrReproducer *reproducer = &work->reproducer;
    g_autofree char *problem = NULL, *execution = NULL;
    reproducer->tries++;
    acr_loops_stage(work->run, work->attempt, "reproduce", reproducer->tries);
    if (!acr_loops_go_on(work->run, error))
        return ACR_STEP_FAILED;
    AcrStep step = ask_for_script(work, &problem, error);
    if (step == ACR_STEP_DONE) {
        step = acr_reproducer_run(work, NULL, 0, &reproducer->before, error);
        if (step == ACR_STEP_DONE)
            step = turn_round(work, error);
        if (step != ACR_STEP_DONE)
            return step;
        *out_ran = true;
        if (reproducer->before.result == ACR_TEST_REPRODUCED)
            return ACR_STEP_DONE;
        problem = g_strdup(reproducer->before.result == ACR_TEST_PASSED
                               ? "the script exits with 0 in the project as it is"
                               : reproducer->before.why);
        execution = acr_execution_text("Without a patch", &reproducer->before);
    } else if (step == ACR_STEP_NOT_DONE) {
        acr_loops_note(work->run, "%s", problem);
        work->dead_end.useless += ACR_USELESS_ANSWER;
    } else {
        return step;
    }
    take_feedback(reproducer, feedback_of(work, problem, execution));
    return ACR_STEP_NOT_DONE;
}

/* Tries the issue's own examples as the script. Returns DONE if the examples reproduce the issue.
 * If they print what the issue shows, they are shown to the model. */
static AcrStep try_examples(AcrAttemptWork *work, GError **error)
{
    AcrReproducer *reproducer = &work->reproducer;
    g_autofree char *script = NULL;
    bool fails = false;
    AcrStep step = acr_issue_draft_try(work, &script, &fails, error);
    if (step != ACR_STEP_DONE)
        return step;
    g_autofree char *shown = acr_fence_text("python", script);
    if (!fails) {
        acr_agent_tell(reproducer->conversation, work->run->prompts, ACR_PROMPT_TEST_EXAMPLES,
                       "script", shown, NULL);
        return ACR_STEP_NOT_DONE;
    }
    acr_loops_note(work->run, "the issue's examples are the first reproducer");
    acr_conversation_add(reproducer->conversation, ACR_ROLE_ASSISTANT, shown);
    g_free(reproducer->script);
    reproducer->script = g_steal_pointer(&script);
    reproducer->number = reproducer->tries = 1;
    return save_script(work, error) ? acr_reproducer_run(work, NULL, 0, &reproducer->before, error)
                                    : ACR_STEP_FAILED;
}

static AcrStep try_all(AcrAttemptWork *work, bool *out_ran, GError **error)
{
    AcrStep step = ACR_STEP_NOT_DONE;
    for (guint i = 0; i < work->run->max_tries && step == ACR_STEP_NOT_DONE; i++)
        step = try_once(work, out_ran, error);
    return step;
}

/* Reports to the user why no try reproduced the issue. */
static void tell_not_reproduced(AcrAttemptWork *work)
{
    g_autofree char *words = last_script_words(work);
    acr_step_unproved(work, "the issue was not reproduced in %u %s%s%s", work->run->max_tries,
                      work->run->max_tries == 1 ? "try" : "tries", words ? ": " : "",
                      words ? words : "");
}

AcrStep acr_reproducer_write(AcrAttemptWork *work, GError **error)
{
    const AcrRun *run = work->run;
    g_autofree char *name = g_strdup_printf(ACR_DIR_ATTEMPT "/test", work->attempt), *python = NULL;
    bool available = false, ran = false;
    if (!run->executor->open(run->executor->ctx, &available, &python, error))
        return ACR_STEP_FAILED;
    g_free(work->reproducer.python);
    work->reproducer.python = g_strdup(python ? python : "the project's Python");
    acr_conversation_free(work->reproducer.conversation);
    work->reproducer.conversation = acr_conversation_new(name);
    acr_agent_start(work->reproducer.conversation, run->prompts, ACR_AGENT_TEST, "issue",
                    run->issue, "python", python, NULL);
    work->reproducer.until_flip = run->may.flip ? TRIES_UNTIL_FLIP : 0;
    AcrStep step = try_examples(work, error);
    if (step == ACR_STEP_NOT_DONE)
        step = try_all(work, &ran, error);
    if (step == ACR_STEP_NOT_DONE)
        tell_not_reproduced(work);
    return step;
}

AcrStep acr_reproducer_rewrite(AcrAttemptWork *work, char *message, GError **error)
{
    bool ran = false;
    take_feedback(&work->reproducer, message);
    work->reproducer.until_flip = 0;
    work->reproducer.is_flip = false;
    AcrStep step = try_all(work, &ran, error);
    return step == ACR_STEP_NOT_DONE && ran ? ACR_STEP_DONE : step;
}

AcrStep acr_reproducer_take(AcrAttemptWork *work, GError **error)
{
    AcrReproducer *reproducer = &work->reproducer;
    AcrStep opened = open_executor(work, error);
    if (opened != ACR_STEP_DONE)
        return opened;
    reproducer->number = 1;
    g_free(reproducer->script);
    reproducer->script = g_strdup(work->run->script);
    return save_script(work, error) ? acr_reproducer_run(work, NULL, 0, &reproducer->before, error)
                                    : ACR_STEP_FAILED;
}

/* ---- The reproducer alone -------------------------------------------------------------------- */

/* Runs the guard and the reproducer. Returns DONE if the issue is reproduced. Runs the script
 * twice, and sets *out_doubt (owned) to a doubt that the user should check. */
static AcrStep attempt(AcrAttemptWork *work, char **out_doubt, GError **error)
{
    const AcrTestVerdict *before = &work->reproducer.before;
    g_auto(AcrTestVerdict) again = {0};
    AcrStep step = acr_reproducer_guard(work, error);
    if (step == ACR_STEP_DONE)
        step = acr_reproducer_write(work, error);
    if (step == ACR_STEP_DONE)
        step = acr_reproducer_run(work, NULL, 1, &again, error);
    if (step == ACR_STEP_DONE && before->doubts->len)
        *out_doubt = g_strdup(before->doubts->pdata[0]);
    else if (step == ACR_STEP_DONE && again.result != before->result)
        *out_doubt = g_strdup("the script is not deterministic");
    return step;
}

bool acr_reproduce_run(const AcrRun *run, AcrOutcome *out, GError **error)
{
    g_auto(AcrAttemptWork) work = {0};
    g_autofree char *reason = NULL, *doubt = NULL;
    AcrStep step = ACR_STEP_NOT_DONE;
    for (guint i = 0; i < run->max_attempts && step != ACR_STEP_DONE; i++) {
        acr_attempt_work_begin(&work, run, i, NULL);
        step = attempt(&work, &doubt, error);
        if (step == ACR_STEP_FAILED)
            return false;
        g_free(reason);
        reason = g_steal_pointer(&work.unproved);
    }
    *out = (AcrOutcome){.attempt = work.attempt, .try_number = work.reproducer.number};
    if (step == ACR_STEP_DONE)
        out->script = g_steal_pointer(&work.reproducer.script);
    out->why = step == ACR_STEP_DONE ? g_steal_pointer(&doubt) : g_steal_pointer(&reason);
    return true;
}
