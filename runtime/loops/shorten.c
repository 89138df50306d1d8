/*
 * What a retrieval conversation gives up when it overflows the model's context: a table of steps,
 * the first of which that finds something to take is made, so that one overflow takes one thing.
 * What is left out is said in its place, so that the model can ask again. The last message, the
 * question, goes last. Pure: the same overflows give the same conversation, which replays rely on.
 */
#include "loops/results.h"

#include <string.h>

/* What is kept at least, in bytes, before the next step is made. */
#define EARLIER_BYTES 700u
#define CLUE_BYTES 1000u
#define NEWEST_BYTES 3000u
#define HEADINGS_BYTES 300u
#define ISSUE_BYTES 1500u
#define QUESTION_BYTES 1500u
#define ISSUE_LEAST_BYTES 400u

#define DROPPED "(The oldest turns of this conversation are left out, since it grew too long.)"
#define FIRST_TURN 2u /* after the system prompt and the issue */
#define TURN 2u       /* messages: an answer, and what it was told then */

/* ---- Results ------------------------------------------------------------------------------------
 */

static char *describe_results(const AcrResults *results)
{
    if (results->form == ACR_RESULTS_CUT) {
        g_autofree char *cut = acr_text_shorten(results->full, results->bytes);
        return g_strdup_printf("%s\n\n(The results are cut, since the conversation grew too long. "
                               "Make single calls again to see more.)",
                               cut);
    }
    gsize max = results->form == ACR_RESULTS_HEADINGS ? G_MAXSIZE : HEADINGS_BYTES;
    g_autofree char *headings = acr_text_shorten(results->headings, max);
    return g_strdup_printf("(The code that was shown here is left out, since the conversation grew "
                           "too long. What was found:\n%s%sMake a call again to see its code.)",
                           headings, g_str_has_suffix(headings, "\n") ? "" : "\n");
}

/* Puts text in a message's place; false, and nothing changed: it is no shorter. */
static bool replace_by_shorter(AcrRetrieved *retrieved, gsize message, const char *text)
{
    const char *now = acr_conversation_message(retrieved->conversation, message)->content;
    bool is_shorter = strlen(text) < strlen(now);
    if (is_shorter)
        acr_conversation_replace(retrieved->conversation, message, text);
    return is_shorter;
}

static bool show_results(AcrRetrieved *retrieved, const AcrRun *run, AcrResults *results,
                         AcrResultsForm form)
{
    results->form = form;
    g_autofree char *shown = describe_results(results);
    g_autofree char *message =
        acr_prompts_render(run->prompts, ACR_PROMPT_SEARCH_RESULTS, "results", shown, NULL);
    return replace_by_shorter(retrieved, results->message, message);
}

static AcrResults *nth_results(const AcrRetrieved *retrieved, guint n)
{
    return retrieved->results && n < retrieved->results->len ? retrieved->results->pdata[n] : NULL;
}

static AcrResults *newest_results(const AcrRetrieved *retrieved)
{
    return retrieved->results ? nth_results(retrieved, retrieved->results->len - 1) : NULL;
}

/* Takes the oldest results that show more than `form` down to it; the newest ones stay. */
static bool lower_older(AcrRetrieved *retrieved, const AcrRun *run, AcrResultsForm form)
{
    const AcrResults *newest = newest_results(retrieved);
    AcrResults *results;
    for (guint i = 0; (results = nth_results(retrieved, i)) && results != newest; i++)
        if (results->form < form && show_results(retrieved, run, results, form))
            return true;
    return false;
}

static bool lower_newest(AcrRetrieved *retrieved, const AcrRun *run, AcrResultsForm form)
{
    AcrResults *newest = newest_results(retrieved);
    return newest && newest->form < form && show_results(retrieved, run, newest, form);
}

static bool older_to_headings(AcrRetrieved *retrieved, const AcrRun *run)
{
    return lower_older(retrieved, run, ACR_RESULTS_HEADINGS);
}

static bool cut_newest(AcrRetrieved *retrieved, const AcrRun *run)
{
    AcrResults *newest = newest_results(retrieved);
    if (!newest || newest->form > ACR_RESULTS_CUT)
        return false;
    gsize bytes = newest->form == ACR_RESULTS_CUT ? newest->bytes : strlen(newest->full);
    if (bytes <= NEWEST_BYTES)
        return false;
    newest->bytes = MAX(bytes / 2, NEWEST_BYTES);
    return show_results(retrieved, run, newest, ACR_RESULTS_CUT);
}

static bool newest_to_headings(AcrRetrieved *retrieved, const AcrRun *run)
{
    return lower_newest(retrieved, run, ACR_RESULTS_HEADINGS);
}

static bool cut_older_headings(AcrRetrieved *retrieved, const AcrRun *run)
{
    return lower_older(retrieved, run, ACR_RESULTS_CUT_HEADINGS);
}

static bool cut_newest_headings(AcrRetrieved *retrieved, const AcrRun *run)
{
    return lower_newest(retrieved, run, ACR_RESULTS_CUT_HEADINGS);
}

/* ---- Other messages -----------------------------------------------------------------------------
 */

static bool holds_results(const AcrRetrieved *retrieved, gsize message)
{
    const AcrResults *results;
    for (guint i = 0; (results = nth_results(retrieved, i)); i++)
        if (results->message == message)
            return true;
    return false;
}

/* Cuts the first message from `first` to before `end` that is longer than `max`. */
static bool cut_message(AcrRetrieved *retrieved, gsize first, gsize end, gsize max)
{
    for (gsize i = first; i < end; i++) {
        const char *text = acr_conversation_message(retrieved->conversation, i)->content;
        if (strlen(text) <= max || holds_results(retrieved, i))
            continue;
        g_autofree char *cut = acr_text_shorten(text, max);
        acr_conversation_replace(retrieved->conversation, i, cut);
        return true;
    }
    return false;
}

static bool cut_earlier(AcrRetrieved *retrieved, const AcrRun *run)
{
    (void)run;
    gsize last = acr_conversation_size(retrieved->conversation) - 1;
    return cut_message(retrieved, FIRST_TURN, last, EARLIER_BYTES);
}

static bool cut_question(AcrRetrieved *retrieved, const AcrRun *run)
{
    (void)run;
    gsize size = acr_conversation_size(retrieved->conversation);
    return cut_message(retrieved, MAX(FIRST_TURN, size - 1), size, QUESTION_BYTES);
}

/* ---- The issue ----------------------------------------------------------------------------------
 */

/* The first question as it is asked now: with what is left of the issue, the clue, and the word
 * that turns are missing. */
static void show_issue(AcrRetrieved *retrieved, const AcrRun *run)
{
    gsize bytes = retrieved->issue_bytes ? retrieved->issue_bytes : G_MAXSIZE;
    g_autofree char *issue = acr_text_shorten(run->issue, bytes);
    g_autofree char *question = acr_agent_search_question(run->prompts, issue);
    g_autofree char *message =
        g_strconcat(question, retrieved->clue ? "\n\n" : "", retrieved->clue ? retrieved->clue : "",
                    retrieved->dropped_turns ? "\n\n" DROPPED : "", NULL);
    acr_conversation_replace(retrieved->conversation, FIRST_TURN - 1, message);
}

void acr_retrieved_tell_clue(AcrRetrieved *retrieved, const AcrRun *run, char *clue)
{
    g_free(retrieved->clue);
    retrieved->clue = clue;
    show_issue(retrieved, run);
}

static bool cut_clue(AcrRetrieved *retrieved, const AcrRun *run)
{
    if (!retrieved->clue || strlen(retrieved->clue) <= CLUE_BYTES)
        return false;
    acr_retrieved_tell_clue(retrieved, run, acr_text_shorten(retrieved->clue, CLUE_BYTES));
    return true;
}

static bool cut_issue_to(AcrRetrieved *retrieved, const AcrRun *run, gsize least)
{
    gsize shown = retrieved->issue_bytes ? retrieved->issue_bytes : strlen(run->issue);
    if (shown <= least)
        return false;
    retrieved->issue_bytes = MAX(shown / 2, least);
    show_issue(retrieved, run);
    return true;
}

static bool cut_issue(AcrRetrieved *retrieved, const AcrRun *run)
{
    return cut_issue_to(retrieved, run, ISSUE_BYTES);
}

static bool cut_issue_more(AcrRetrieved *retrieved, const AcrRun *run)
{
    return cut_issue_to(retrieved, run, ISSUE_LEAST_BYTES);
}

/* ---- Turns --------------------------------------------------------------------------------------
 */

/* The results whose messages went go too; the others' numbers fall. */
static void forget_results(AcrRetrieved *retrieved)
{
    while (nth_results(retrieved, 0) && nth_results(retrieved, 0)->message < FIRST_TURN + TURN)
        g_ptr_array_remove_index(retrieved->results, 0);
    AcrResults *results;
    for (guint i = 0; (results = nth_results(retrieved, i)); i++)
        results->message -= TURN;
}

static bool drop_oldest_turn(AcrRetrieved *retrieved, const AcrRun *run)
{
    if (acr_conversation_size(retrieved->conversation) < FIRST_TURN + TURN + 1)
        return false;
    acr_conversation_remove(retrieved->conversation, FIRST_TURN, TURN);
    forget_results(retrieved);
    retrieved->dropped_turns = true;
    show_issue(retrieved, run);
    return true;
}

/* The same as long as it leaves the newest results alone: code is worth more than old notes. */
static bool drop_turn_before_newest(AcrRetrieved *retrieved, const AcrRun *run)
{
    const AcrResults *newest = newest_results(retrieved);
    return newest && newest->message >= FIRST_TURN + TURN && drop_oldest_turn(retrieved, run);
}

/* ---- All of it ----------------------------------------------------------------------------------
 */

static const struct {
    bool (*take)(AcrRetrieved *retrieved, const AcrRun *run);
    const char *what;
} steps[] = {
    {older_to_headings, "older results are shortened"},
    {cut_earlier, "an earlier message is shortened"},
    {cut_clue, "what the reproducer showed is cut"},
    {cut_newest, "the newest results are cut"},
    {cut_issue, "the issue is cut"},
    {cut_older_headings, "the headings of results are cut"},
    {drop_turn_before_newest, "the oldest turn is left out"},
    {newest_to_headings, "the newest results are shortened"},
    {cut_newest_headings, "the headings of results are cut"},
    {drop_oldest_turn, "the oldest turn is left out"},
    {cut_question, "the last question is cut"},
    {cut_issue_more, "the issue is cut"},
};

const char *acr_retrieved_shorten(AcrRetrieved *retrieved, const AcrRun *run)
{
    for (guint i = 0; i < G_N_ELEMENTS(steps); i++)
        if (steps[i].take(retrieved, run))
            return steps[i].what;
    return NULL;
}
