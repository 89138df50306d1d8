/*
 * Drives the retrieval machine: for each state one function that does its work and says which event
 * came of it. The conversation goes to disk each round before it is parsed. All state is in Driver;
 * nothing is kept between runs.
 */
#include "loops/loops_private.h"
#include "loops/results.h"

#include <string.h>

#define EXTRACT_LEAST_BYTES 500u /* of the notes that the extract agent is shown */

typedef struct {
    const AcrRun *run;
    guint attempt;
    AcrModel *model;
    AcrRetrieval machine;
    AcrRetrieved retrieved;
    char *selected;           /* the select answer of this round */
    gsize selected_bytes;     /* of it that the extract agent is shown; 0: all */
    AcrConversation *extract; /* of this round; NULL before its first try */
    AcrExtraction extraction; /* the last one read */
    AcrJson *layers;          /* tool_call_layers.json */
    GError *failure;          /* why FAILED or STOPPED */
} Driver;

static void driver_clear(Driver *driver)
{
    acr_retrieved_clear(&driver->retrieved);
    g_free(driver->selected);
    acr_conversation_free(driver->extract);
    acr_extraction_clear(&driver->extraction);
    acr_json_free(driver->layers);
    g_clear_error(&driver->failure);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Driver, driver_clear)

/* An error of a step becomes an event; it is kept (taken) where it ends the run. `shorten` takes
 * something out of the step's conversation and says what; may be NULL. */
static AcrRetrievalEvent event_of_error(Driver *driver, GError *error,
                                        const char *(*shorten)(Driver *driver))
{
    if (g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CONTEXT_OVERFLOW)) {
        const char *what = shorten ? shorten(driver) : NULL;
        acr_loops_note_overflow(driver->run, what);
        g_error_free(error);
        return what ? ACR_RETRIEVAL_ON_SHORTENED : ACR_RETRIEVAL_ON_NOT_SHORTENABLE;
    }
    if (g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_USED_UP)) {
        acr_loops_note(driver->run, "%s", error->message);
        g_error_free(error);
        return ACR_RETRIEVAL_ON_USED_UP;
    }
    bool ceiling = g_error_matches(error, ACR_LLM_ERROR, ACR_LLM_ERROR_CEILING);
    g_clear_error(&driver->failure);
    driver->failure = error;
    return ceiling ? ACR_RETRIEVAL_ON_CEILING : ACR_RETRIEVAL_ON_FAILED;
}

static const char *shorten_search(Driver *driver)
{
    return acr_retrieved_shorten(&driver->retrieved, driver->run);
}

static bool save_conversation(Driver *driver, GError **error)
{
    return acr_loops_write_json(driver->run, driver->attempt,
                                acr_conversation_to_json(driver->retrieved.conversation, 0), error,
                                "search/search_round_%u.json", driver->machine.round);
}

static char *describe_location(const AcrBugLocation *location)
{
    g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func(g_free);
    if (location->file)
        g_ptr_array_add(parts, g_strdup_printf("file %s", location->file));
    if (location->klass)
        g_ptr_array_add(parts, g_strdup_printf("class %s", location->klass));
    if (location->method)
        g_ptr_array_add(parts, g_strdup_printf("method %s", location->method));
    g_ptr_array_add(parts, NULL);
    return g_strjoinv(", ", (char **)parts->pdata);
}

static char *describe_locations(const GPtrArray *locations)
{
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < locations->len; i++) {
        g_autofree char *one = describe_location(locations->pdata[i]);
        g_string_append_printf(out, "%s- %s", i ? "\n" : "", one);
    }
    return g_string_free(out, FALSE);
}

/* Adds the question of this round to the conversation. */
static void ask_question(Driver *driver)
{
    const AcrPrompts *prompts = driver->run->prompts;
    g_autofree char *text = NULL;
    if (driver->machine.ask == ACR_ASK_NEXT) {
        text = acr_prompts_render(prompts, ACR_PROMPT_SEARCH_NEXT, NULL);
    } else if (driver->machine.ask == ACR_ASK_CHECK_CALLS) {
        g_autofree char *calls = acr_agent_calls_text();
        text = acr_prompts_render(prompts, ACR_PROMPT_SEARCH_CHECK_CALLS, "problem",
                                  driver->extraction.problem, "calls", calls, NULL);
    } else if (driver->machine.ask == ACR_ASK_NO_PLACE) {
        g_autofree char *locations = describe_locations(driver->extraction.locations);
        text =
            acr_prompts_render(prompts, ACR_PROMPT_SEARCH_NO_PLACE, "locations", locations, NULL);
    }
    if (text)
        acr_conversation_add(driver->retrieved.conversation, ACR_ROLE_USER, text);
}

static AcrRetrievalEvent do_select(Driver *driver)
{
    GError *error = NULL;
    const char *text;
    acr_loops_stage(driver->run, driver->attempt, "select", driver->machine.round);
    ask_question(driver);
    if (!acr_agent_ask(driver->model, driver->retrieved.conversation, "search",
                       driver->machine.round, false, &text, &error))
        return event_of_error(driver, error, shorten_search);
    g_free(driver->selected);
    driver->selected = g_strdup(text);
    driver->selected_bytes = 0;
    g_clear_pointer(&driver->extract, acr_conversation_free);
    if (!save_conversation(driver, &error))
        return event_of_error(driver, error, NULL);
    return ACR_RETRIEVAL_ON_ANSWER;
}

static void start_extract(Driver *driver)
{
    g_autofree char *name =
        g_strdup_printf("attempt_%u/extract_%u", driver->attempt, driver->machine.round);
    acr_conversation_free(driver->extract);
    driver->extract = acr_conversation_new(name);
    g_autofree char *shown = acr_text_shorten(
        driver->selected, driver->selected_bytes ? driver->selected_bytes : G_MAXSIZE);
    acr_agent_extract_start(driver->extract, driver->run->prompts, shown);
}

/* The retries of an extract conversation go first, then the middle of the text. */
static const char *shorten_extract(Driver *driver)
{
    bool has_retries = acr_conversation_size(driver->extract) > 2;
    gsize shown = driver->selected_bytes ? driver->selected_bytes : strlen(driver->selected);
    if (!has_retries && shown <= EXTRACT_LEAST_BYTES)
        return NULL;
    if (!has_retries)
        driver->selected_bytes = MAX(shown / 2, EXTRACT_LEAST_BYTES);
    start_extract(driver);
    return has_retries ? "earlier tries are left out" : "the notes are cut";
}

static AcrRetrievalEvent do_extract(Driver *driver)
{
    GError *error = NULL;
    const char *text;
    if (!driver->extract)
        start_extract(driver);
    acr_loops_stage(driver->run, driver->attempt, "extract", driver->machine.round);
    if (!acr_agent_ask(driver->model, driver->extract, "extract", driver->machine.round, true,
                       &text, &error))
        return event_of_error(driver, error, shorten_extract);
    acr_extraction_clear(&driver->extraction);
    if (!acr_loops_write_json(driver->run, driver->attempt,
                              acr_conversation_to_json(driver->extract, 0), &error,
                              "search/agent_proxy_%u.json", driver->machine.round) ||
        !acr_agent_extract_read(driver->run->python, text, &driver->extraction, &error))
        return event_of_error(driver, error, NULL);
    if (driver->extraction.problem) {
        acr_loops_note(driver->run, "the extract answer cannot be used: %s",
                       driver->extraction.problem);
        g_autofree char *retry = acr_prompts_render(driver->run->prompts, ACR_PROMPT_EXTRACT_RETRY,
                                                    "problem", driver->extraction.problem, NULL);
        acr_conversation_add(driver->extract, ACR_ROLE_USER, retry);
        return ACR_RETRIEVAL_ON_INVALID;
    }
    return driver->extraction.calls->len ? ACR_RETRIEVAL_ON_CALLS : ACR_RETRIEVAL_ON_LOCATIONS;
}

/* {"func_name", "arguments", "call_ok"} of one call. */
static AcrJson *call_to_json(const AcrCall *call, bool ok)
{
    AcrJson *json = acr_json_new_object(), *arguments = acr_json_new_object();
    for (guint i = 0; i < ACR_CALL_MAX_PARAMS && call->spec->params[i].name; i++)
        acr_json_set_string(arguments, call->spec->params[i].name, call->values[i]);
    acr_json_set_string(json, "func_name", call->spec->name);
    acr_json_set(json, "arguments", arguments);
    acr_json_set_bool(json, "call_ok", ok);
    return json;
}

static bool answer_call(Driver *driver, const AcrCall *call, AcrRoundText *text, AcrJson *layer,
                        GError **error)
{
    g_auto(AcrAnswer) answer = {0};
    if (!acr_loops_go_on(driver->run, error) ||
        !acr_search_run(driver->run->search, call, &answer, error))
        return false;
    g_autofree char *printed = acr_call_print(call);
    if (answer.ok)
        acr_loops_note(driver->run, "%s: %u place%s", printed, answer.places->len,
                       answer.places->len == 1 ? "" : "s");
    else
        acr_loops_note(driver->run, "%s: nothing found", printed);
    acr_round_text_add(text, printed, &answer);
    acr_json_append(layer, call_to_json(call, answer.ok));
    return true;
}

static AcrRetrievalEvent do_search(Driver *driver)
{
    GError *error = NULL;
    g_auto(AcrRoundText) text;
    g_autoptr(AcrJson) layer = acr_json_new_array();
    acr_round_text_init(&text);
    acr_loops_stage(driver->run, driver->attempt, "search", driver->machine.round);
    for (guint i = 0; i < driver->extraction.calls->len; i++)
        if (!answer_call(driver, driver->extraction.calls->pdata[i], &text, layer, &error))
            return event_of_error(driver, error, NULL);
    for (guint i = 0; i < driver->extraction.remarks->len; i++)
        acr_round_text_remark(&text, driver->extraction.remarks->pdata[i]);
    acr_json_append(driver->layers, g_steal_pointer(&layer));
    acr_retrieved_add_results(&driver->retrieved, driver->run->prompts, &text);
    if (!acr_loops_write_json(driver->run, driver->attempt, acr_json_copy(driver->layers), &error,
                              "search/tool_call_layers.json"))
        return event_of_error(driver, error, NULL);
    return ACR_RETRIEVAL_ON_RESULTS;
}

static AcrRetrievalEvent do_analyse(Driver *driver)
{
    GError *error = NULL;
    const char *text;
    acr_loops_stage(driver->run, driver->attempt, "analyse", driver->machine.round);
    if (!acr_agent_ask(driver->model, driver->retrieved.conversation, "search",
                       driver->machine.round, false, &text, &error))
        return event_of_error(driver, error, shorten_search);
    if (!save_conversation(driver, &error))
        return event_of_error(driver, error, NULL);
    return ACR_RETRIEVAL_ON_ANSWER;
}

static AcrJson *locations_to_json(const GPtrArray *locations)
{
    AcrJson *list = acr_json_new_array();
    for (guint i = 0; i < locations->len; i++) {
        const AcrBugLocation *location = locations->pdata[i];
        AcrJson *json = acr_json_new_object();
        acr_json_set_string(json, "file", location->file);
        acr_json_set_string(json, "class", location->klass);
        acr_json_set_string(json, "method", location->method);
        acr_json_set_string(json, "intended_behavior", location->intended_behavior);
        acr_json_append(list, json);
    }
    return list;
}

static AcrJson *located_to_json(const GPtrArray *located)
{
    AcrJson *list = acr_json_new_array();
    for (guint i = 0; i < located->len; i++) {
        const AcrLocated *item = located->pdata[i];
        AcrJson *json = acr_place_to_json(item->place);
        acr_json_set_string(json, "role", acr_located_role_name(item->role));
        acr_json_set_string(json, "level", acr_locate_level_name(item->level));
        acr_json_set_string(json, "intended_behavior", item->intended_behavior);
        acr_json_set_string(json, "code", item->code);
        acr_json_append(list, json);
    }
    return list;
}

static AcrRetrievalEvent do_locate(Driver *driver)
{
    GError *error = NULL;
    acr_loops_stage(driver->run, driver->attempt, "locate", driver->machine.round);
    g_clear_pointer(&driver->retrieved.located, g_ptr_array_unref);
    driver->retrieved.located =
        acr_search_locate(driver->run->search, driver->extraction.locations);
    for (guint i = 0; i < driver->retrieved.located->len; i++) {
        const AcrLocated *item = driver->retrieved.located->pdata[i];
        acr_loops_note(driver->run, "%s by %s: %s lines %u-%u", acr_located_role_name(item->role),
                       acr_locate_level_name(item->level), item->place->file, item->place->start,
                       item->place->end);
    }
    if (!acr_loops_write_json(driver->run, driver->attempt,
                              locations_to_json(driver->extraction.locations), &error,
                              "search/bug_locations_before_process.json") ||
        !acr_loops_write_json(driver->run, driver->attempt,
                              located_to_json(driver->retrieved.located), &error,
                              "search/bug_locations_after_process.json"))
        return event_of_error(driver, error, NULL);
    return driver->retrieved.located->len ? ACR_RETRIEVAL_ON_FOUND : ACR_RETRIEVAL_ON_NOT_FOUND;
}

static AcrRetrievalEvent do_state(Driver *driver)
{
    static AcrRetrievalEvent (*const work[])(Driver *) = {
        [ACR_RETRIEVAL_SELECT] = do_select, [ACR_RETRIEVAL_EXTRACT] = do_extract,
        [ACR_RETRIEVAL_SEARCH] = do_search, [ACR_RETRIEVAL_ANALYSE] = do_analyse,
        [ACR_RETRIEVAL_LOCATE] = do_locate,
    };
    GError *error = NULL;
    if (!acr_loops_go_on(driver->run, &error))
        return event_of_error(driver, error, NULL);
    return work[driver->machine.state](driver);
}

bool acr_retrieval_run(const AcrRun *run, guint attempt, AcrModel *model, const char *clue,
                       AcrRetrieved *out, GError **error)
{
    g_auto(Driver) driver = {.run = run,
                             .attempt = attempt,
                             .model = model,
                             .machine = acr_retrieval_begin(run->max_rounds)};
    g_autofree char *name = g_strdup_printf("attempt_%u/search", attempt);
    driver.retrieved.conversation = acr_conversation_new(name);
    driver.retrieved.located = g_ptr_array_new_with_free_func((GDestroyNotify)acr_located_free);
    driver.layers = acr_json_new_array();
    acr_agent_search_start(driver.retrieved.conversation, run->prompts, run->issue);
    if (clue)
        acr_retrieved_tell_clue(&driver.retrieved, run, g_strdup(clue));
    while (!acr_retrieval_is_over(&driver.machine)) {
        AcrRetrievalEvent event = do_state(&driver);
        bool legal = acr_retrieval_step(&driver.machine, event);
        g_assert(legal);
    }
    driver.retrieved.state = driver.machine.state;
    if (driver.failure) {
        g_propagate_error(error, g_steal_pointer(&driver.failure));
        return false;
    }
    acr_loops_note(run, "retrieval is %s after round %u",
                   acr_retrieval_state_name(driver.machine.state), driver.machine.round);
    *out = driver.retrieved;
    memset(&driver.retrieved, 0, sizeof driver.retrieved);
    return true;
}
