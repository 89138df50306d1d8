/* Drives the retrieval machine: the function of each state performs the state's work and returns
 * the resulting event. Each round writes the conversation to disk before its answer is parsed. The
 * struct Driver holds all state. */
#include "loops/attempt_work.h"

/* index of the extract agent's first answer, after the system prompt and the answer to convert */
#define EXTRACT_FIRST_ANSWER 2u
#define MAX_TOLD 20u /* maximum number of places of a call that the progress event has */

typedef struct {
    const AcrRun *run;
    AcrAttemptWork *work;
    AcrRetrieved *retrieved; /* borrowed; member of `work` */
    AcrRetrieval machine;
    char *selected; /* the model's answer in state SELECT of this round */
    /* the extract agent's conversation of this round; NULL before the agent's first try */
    AcrConversation *extract;
    AcrExtraction extraction; /* the last answer of the extract agent that was parsed */
    AcrJson *layers;          /* contents of tool_call_layers.json */
    AcrJson *tools; /* tools that the model may call; NULL if the model writes calls as text */
    bool has_found; /* a call of this round has found code */
    /* error of the last step, if the retrieval ended as FAILED or STOPPED */
    GError *failure;
} Driver;

static void retrieval_driver_clear(Driver *driver)
{
    g_free(driver->selected);
    acr_conversation_free(driver->extract);
    acr_extraction_clear(&driver->extraction);
    acr_json_free(driver->layers);
    acr_json_free(driver->tools);
    g_clear_error(&driver->failure);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Driver, retrieval_driver_clear)

void acr_retrieved_init(AcrRetrieved *retrieved, const AcrRun *run, const AcrCalls *calls,
                        const char *name)
{
    g_autofree char *listed = acr_agent_calls_text(calls);
    *retrieved = (AcrRetrieved){
        .calls = calls,
        .conversation = acr_conversation_new(name),
        .located = g_ptr_array_new_with_free_func((GDestroyNotify)acr_located_free),
        .results = g_ptr_array_new_with_free_func((GDestroyNotify)acr_results_free),
    };
    acr_agent_start(retrieved->conversation, run->prompts, ACR_AGENT_SEARCH, "issue", run->issue,
                    "calls", listed, NULL);
}

void acr_retrieved_clear(AcrRetrieved *retrieved)
{
    g_clear_pointer(&retrieved->located, g_ptr_array_unref);
    g_clear_pointer(&retrieved->conversation, acr_conversation_free);
    g_clear_pointer(&retrieved->results, g_ptr_array_unref);
    g_clear_pointer(&retrieved->clue, g_free);
}

static void begin_stage(const Driver *driver, const char *name)
{
    acr_loops_stage(driver->run, driver->work->attempt, name, driver->machine.round);
}

static void start_extract(Driver *driver)
{
    g_autofree char *name = g_strdup_printf(ACR_DIR_ATTEMPT "/extract_%u", driver->work->attempt,
                                            driver->machine.round);
    g_autofree char *calls = acr_agent_calls_text(driver->retrieved->calls);
    acr_conversation_free(driver->extract);
    driver->extract = acr_conversation_new(name);
    acr_agent_start(driver->extract, driver->run->prompts, ACR_AGENT_EXTRACT, "calls", calls,
                    "text", driver->selected, NULL);
}

/* Returns the event of a failed step. Shortens the conversation after a context overflow. Keeps the
 * error if it ends the retrieval. */
static AcrRetrievalEvent failed_event(Driver *driver)
{
    bool overflow = g_error_matches(driver->failure, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTEXT_OVERFLOW);
    const char *what = NULL;
    if (g_error_matches(driver->failure, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING))
        return ACR_RETRIEVAL_ON_CEILING;
    if (!overflow && !g_error_matches(driver->failure, ACR_LLM_ERROR, ACR_LLM_ERROR_USED_UP) &&
        !g_error_matches(driver->failure, ACR_LLM_ERROR, ACR_LLM_ERROR_INCOMPLETE))
        return ACR_RETRIEVAL_ON_FAILED;
    if (overflow && driver->machine.state != ACR_RETRIEVAL_EXTRACT) {
        what = acr_retrieved_shorten(driver->retrieved, driver->run);
    } else if (overflow && acr_conversation_size(driver->extract) > EXTRACT_FIRST_ANSWER) {
        start_extract(driver);
        what = "earlier tries are left out";
    }
    if (overflow)
        acr_loops_note_overflow(driver->run, what);
    else
        acr_loops_note(driver->run, "%s", driver->failure->message);
    g_clear_error(&driver->failure);
    return what       ? ACR_RETRIEVAL_ON_SHORTENED
           : overflow ? ACR_RETRIEVAL_ON_NOT_SHORTENABLE
                      : ACR_RETRIEVAL_ON_USED_UP;
}

/* ---- States ---------------------------------------------------------------------------------- */

/* Adds the question of this round to the conversation. The question of the first round is already
 * there. */
static void add_question(Driver *driver)
{
    AcrConversation *conversation = driver->retrieved->conversation;
    const AcrPrompts *prompts = driver->run->prompts;
    if (driver->machine.ask == ACR_ASK_NEXT) {
        acr_agent_tell(conversation, prompts, ACR_PROMPT_SEARCH_NEXT, NULL);
    } else if (driver->machine.ask == ACR_ASK_CHECK_CALLS) {
        g_autofree char *calls = acr_agent_calls_text(driver->retrieved->calls);
        acr_agent_tell(conversation, prompts, ACR_PROMPT_SEARCH_CHECK_CALLS, "problem",
                       driver->extraction.problem, "calls", calls, NULL);
    } else if (driver->machine.ask == ACR_ASK_NO_PLACE) {
        g_autofree char *locations = acr_locations_text(driver->extraction.locations);
        acr_agent_tell(conversation, prompts, ACR_PROMPT_SEARCH_NO_PLACE, "locations", locations,
                       NULL);
    }
}

static bool ask_search_agent(Driver *driver, const char **out_text)
{
    const char *hint = acr_prompts_text(driver->run->prompts, ACR_PROMPT_SEARCH_TOOLS);
    return acr_agent_ask_with(driver->work->model, driver->retrieved->conversation,
                              ACR_AGENT_SEARCH, driver->machine.round, driver->tools, hint,
                              out_text, &driver->failure) &&
           acr_loops_write_json(driver->run, driver->work->attempt,
                                acr_conversation_to_json(driver->retrieved->conversation, 0),
                                &driver->failure, ACR_DIR_SEARCH ACR_FILE_SEARCH_ROUND,
                                driver->machine.round);
}

/* Records an answer, and compares it with earlier answers of the same `kind`. Returns whether to
 * give up the model. */
static bool is_dead_end(Driver *driver, char kind, const char *text)
{
    AcrDeadEnd *end = &driver->work->dead_end;
    return acr_dead_end_hear(end, text) ||
           (end->empty == 0 && acr_dead_end_compare(end, kind, text));
}

/* Asks for the next calls, unless the model already called tools in its analysis. */
static AcrRetrievalEvent do_select(Driver *driver)
{
    const AcrConversation *conversation = driver->retrieved->conversation;
    const char *text;
    begin_stage(driver, "select");
    if (driver->machine.ask == ACR_ASK_NEXT && acr_conversation_calls(conversation)) {
        text = acr_conversation_message(conversation, acr_conversation_size(conversation) - 1)
                   ->content;
    } else {
        add_question(driver);
        if (!ask_search_agent(driver, &text))
            return failed_event(driver);
    }
    g_free(driver->selected);
    driver->selected = g_strdup(text);
    g_clear_pointer(&driver->extract, acr_conversation_free);
    return is_dead_end(driver, 's', text) ? ACR_RETRIEVAL_ON_DEAD_END : ACR_RETRIEVAL_ON_ANSWER;
}

static AcrRetrievalEvent do_extract(Driver *driver)
{
    const AcrRun *run = driver->run;
    const AcrJson *asked = acr_conversation_calls(driver->retrieved->conversation);
    const char *text;
    if (asked) {
        acr_extraction_clear(&driver->extraction);
        acr_agent_tools_read(driver->retrieved->calls, asked, &driver->extraction);
        return driver->extraction.calls->len || !driver->extraction.locations->len
                   ? ACR_RETRIEVAL_ON_CALLS
                   : ACR_RETRIEVAL_ON_LOCATIONS;
    }
    if (!driver->extract)
        start_extract(driver);
    begin_stage(driver, "extract");
    if (!acr_agent_ask(driver->work->model, driver->extract, ACR_AGENT_EXTRACT,
                       driver->machine.round, &text, &driver->failure) ||
        !acr_loops_write_json(run, driver->work->attempt,
                              acr_conversation_to_json(driver->extract, 0), &driver->failure,
                              ACR_DIR_SEARCH ACR_FILE_AGENT_PROXY, driver->machine.round))
        return failed_event(driver);
    acr_extraction_clear(&driver->extraction);
    if (!acr_agent_extract_read(run->python, driver->retrieved->calls, text, &driver->extraction,
                                &driver->failure))
        return failed_event(driver);
    if (driver->extraction.problem) {
        acr_loops_note(run, "the answer with the search calls cannot be used: %s",
                       driver->extraction.problem);
        acr_agent_tell(driver->extract, run->prompts, ACR_PROMPT_EXTRACT_RETRY, "problem",
                       driver->extraction.problem, NULL);
        return is_dead_end(driver, 'e', text) ||
                       acr_dead_end_useless(&driver->work->dead_end, ACR_USELESS_ANSWER)
                   ? ACR_RETRIEVAL_ON_DEAD_END
                   : ACR_RETRIEVAL_ON_INVALID;
    }
    if (is_dead_end(driver, 'e', text))
        return ACR_RETRIEVAL_ON_DEAD_END;
    return driver->extraction.calls->len ? ACR_RETRIEVAL_ON_CALLS : ACR_RETRIEVAL_ON_LOCATIONS;
}

/* Converts a call to {"func_name", "arguments", "call_ok"}; owned. */
static AcrJson *call_to_json(const AcrCall *call, bool ok)
{
    AcrJson *arguments = acr_json_new_object();
    for (guint i = 0; i < ACR_CALL_MAX_PARAMS && call->spec->params[i].name; i++)
        if (call->values[i])
            acr_json_set_string(arguments, call->spec->params[i].name, call->values[i]);
    return acr_json_of(ACR_STRING("func_name", call->spec->name), ACR_JSON("arguments", arguments),
                       ACR_BOOL("call_ok", ok), NULL);
}

static void tell_call(const AcrRun *run, const char *printed, const AcrAnswer *answer)
{
    guint n = answer->ok ? answer->places->len : 0;
    AcrJson *places = acr_json_new_array();
    for (guint i = 0; i < n && i < MAX_TOLD; i++)
        acr_json_append(places, acr_place_to_json(answer->places->pdata[i]));
    if (n)
        acr_progress_action(run->progress, "search", places, "%s: %u place%s", printed, n,
                            n == 1 ? "" : "s");
    else
        acr_progress_action(run->progress, "search", places, "%s: %s", printed,
                            answer->ok ? "answered" : acr_answer_miss(answer));
}

/* Makes a call, unless an extension vetoes it; the answer then gives the reason for the veto. */
static bool make_call(Driver *driver, const AcrCall *call, const char *printed, AcrAnswer *out)
{
    const AcrRun *run = driver->run;
    g_autofree char *veto = NULL;
    if (!acr_observe_call(run, printed, &veto, &driver->failure))
        return false;
    if (veto) {
        acr_loops_note(run, "%s: this call was not made: %s", printed, veto);
        out->output = g_strdup_printf("The call was not made: %s\n", veto);
        out->places = g_ptr_array_new();
        return true;
    }
    if (!acr_search_run(run->search, call, out, &driver->failure))
        return false;
    tell_call(run, printed, out);
    return acr_observe_result(run, printed, out, &driver->failure);
}

static bool answer_call(Driver *driver, const AcrCall *call, AcrResults *results, AcrJson *layer)
{
    g_auto(AcrAnswer) answer = {0};
    g_autofree char *printed = acr_call_print(call);
    if (!acr_loops_go_on(driver->run, &driver->failure) ||
        !make_call(driver, call, printed, &answer))
        return false;
    driver->has_found = driver->has_found || answer.ok;
    acr_results_add(results, printed, &answer);
    acr_json_append(layer, call_to_json(call, answer.ok));
    return true;
}

/* Returns whether the round's calls repeat earlier calls, or too many rounds found nothing. */
static bool leads_nowhere(Driver *driver)
{
    AcrDeadEnd *end = &driver->work->dead_end;
    g_autoptr(GString) calls = g_string_new(NULL);
    for (guint i = 0; i < driver->extraction.calls->len; i++) {
        g_autofree char *printed = acr_call_print(driver->extraction.calls->pdata[i]);
        if (!strstr(calls->str, printed))
            g_string_append_printf(calls, "%s\n", printed);
    }
    if (driver->has_found)
        acr_dead_end_useful(end);
    return acr_dead_end_compare(end, 'c', calls->str) ||
           (!driver->has_found && acr_dead_end_useless(end, ACR_USELESS_ROUND));
}

static AcrRetrievalEvent do_search(Driver *driver)
{
    const AcrExtraction *extraction = &driver->extraction;
    g_autoptr(AcrResults) results = acr_results_new();
    g_autoptr(AcrJson) layer = acr_json_new_array();
    begin_stage(driver, "search");
    driver->has_found = false;
    for (guint i = 0; i < extraction->calls->len; i++)
        if (!answer_call(driver, extraction->calls->pdata[i], results, layer))
            return failed_event(driver);
    const GPtrArray *replies = extraction->replies;
    for (guint i = 0; replies && i < replies->len; i++)
        if (replies->pdata[i])
            acr_loops_note(driver->run, "the answer to a tool call: %s", (char *)replies->pdata[i]);
    for (guint i = 0; i < extraction->remarks->len; i++) {
        acr_loops_note(driver->run, "%s", (char *)extraction->remarks->pdata[i]);
        g_string_append_printf(results->full, "%s\n\n", (char *)extraction->remarks->pdata[i]);
    }
    acr_json_append(driver->layers, g_steal_pointer(&layer));
    acr_retrieved_add_results(driver->retrieved, driver->run->prompts, g_steal_pointer(&results),
                              replies);
    if (!acr_loops_write_json(driver->run, driver->work->attempt, acr_json_copy(driver->layers),
                              &driver->failure, ACR_DIR_SEARCH ACR_FILE_TOOL_CALLS))
        return failed_event(driver);
    return leads_nowhere(driver) ? ACR_RETRIEVAL_ON_DEAD_END : ACR_RETRIEVAL_ON_RESULTS;
}

static AcrRetrievalEvent do_analyse(Driver *driver)
{
    const char *text;
    begin_stage(driver, "analyse");
    if (!ask_search_agent(driver, &text))
        return failed_event(driver);
    return acr_dead_end_hear(&driver->work->dead_end, text) ? ACR_RETRIEVAL_ON_DEAD_END
                                                            : ACR_RETRIEVAL_ON_ANSWER;
}

static AcrRetrievalEvent do_locate(Driver *driver)
{
    static const char *const roles[] = {[ACR_LOCATED_BUG] = "place to change",
                                        [ACR_LOCATED_CLASS] = "its class",
                                        [ACR_LOCATED_OVERRIDDEN] = "the method that it overrides"};
    const AcrRun *run = driver->run;
    const GPtrArray *locations = driver->extraction.locations;
    begin_stage(driver, "locate");
    GPtrArray *located = acr_search_locate(run->search, locations);
    g_ptr_array_unref(driver->retrieved->located);
    driver->retrieved->located = located;
    for (guint i = 0; i < located->len; i++) {
        const AcrLocated *item = located->pdata[i];
        acr_loops_note(run, "%s: %s lines %u-%u", roles[item->role], item->place->file,
                       item->place->start, item->place->end);
    }
    if (!acr_loops_write_json(run, driver->work->attempt, acr_locations_to_json(locations),
                              &driver->failure, ACR_DIR_SEARCH ACR_FILE_NAMED_LOCATIONS) ||
        !acr_loops_write_json(run, driver->work->attempt, acr_located_to_json(located),
                              &driver->failure, ACR_DIR_SEARCH ACR_FILE_LOCATIONS))
        return failed_event(driver);
    if (located->len)
        return ACR_RETRIEVAL_ON_FOUND;
    return acr_dead_end_useless(&driver->work->dead_end, ACR_USELESS_ROUND)
               ? ACR_RETRIEVAL_ON_DEAD_END
               : ACR_RETRIEVAL_ON_NOT_FOUND;
}

bool acr_retrieval_run(AcrAttemptWork *work, char *clue, GError **error)
{
    static AcrRetrievalEvent (*const steps[])(Driver *) = {
        [ACR_RETRIEVAL_SELECT] = do_select, [ACR_RETRIEVAL_EXTRACT] = do_extract,
        [ACR_RETRIEVAL_SEARCH] = do_search, [ACR_RETRIEVAL_ANALYSE] = do_analyse,
        [ACR_RETRIEVAL_LOCATE] = do_locate,
    };
    const AcrRun *run = work->run;
    g_auto(Driver)
        driver = {.run = run,
                  .work = work,
                  .retrieved = &work->retrieved,
                  .machine = acr_retrieval_begin(run->max_rounds),
                  .layers = acr_json_new_array(),
                  .tools = run->native_tools ? acr_agent_tools(acr_attempt_calls(work)) : NULL};
    g_autofree char *name = g_strdup_printf(ACR_DIR_ATTEMPT "/search", work->attempt);
    acr_retrieved_init(driver.retrieved, run, acr_attempt_calls(work), name);
    acr_dead_end_stage(&work->dead_end);
    if (clue)
        acr_retrieved_tell_clue(driver.retrieved, run, clue);
    while (!acr_retrieval_is_over(&driver.machine)) {
        AcrRetrievalEvent event = acr_loops_go_on(run, &driver.failure)
                                      ? steps[driver.machine.state](&driver)
                                      : failed_event(&driver);
        bool legal = acr_retrieval_step(&driver.machine, event);
        g_assert(legal);
    }
    if (driver.failure)
        return acr_pass_error(error, &driver.failure);
    if (work->dead_end.why)
        acr_loops_note(run, "%s", work->dead_end.why);
    acr_loops_note(run, "retrieval is %s after round %u",
                   driver.machine.state == ACR_RETRIEVAL_DONE ? "done" : "exhausted",
                   driver.machine.round);
    return true;
}
