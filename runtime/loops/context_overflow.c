/* Shortens a retrieval conversation that exceeds the model's context, by a table of steps. Each
 * overflow uses the first step that finds something to remove. A note replaces the removed part and
 * describes it, so that the model can ask again. The last message, the question, is shortened last.
 * Equal overflows always give equal conversations, because a replay repeats the requests. */
#include "loops/retrieval.h"

#include <string.h>

#define DROPPED "(The oldest turns of this conversation were removed because it became too long.)"
#define FIRST_TURN 2u /* messages before the first turn: the system prompt and the issue */
#define TURN 2u       /* number of messages in a turn: an answer, and the message that follows */

/* Shows at most `bytes` bytes of the results, or only their headings if `bytes` is 0. Returns false
 * and changes nothing if the message would not become shorter. */
static bool show_results(AcrRetrieved *retrieved, const AcrRun *run, AcrResults *results,
                         gsize bytes)
{
    const char *headings = results->headings->str;
    g_autofree char *cut = bytes ? acr_text_shorten(results->full->str, bytes) : NULL;
    g_autofree char *shown =
        bytes ? g_strdup_printf(
                    "%s\n\n(The results are shortened because the conversation became too long. To "
                    "see the whole result of a call, make that call again by itself.)",
                    cut)
              : g_strdup_printf(
                    "(The code was removed from this message because the conversation became too "
                    "long. What was found:\n%s%sTo see the code again, repeat the call.)",
                    headings, g_str_has_suffix(headings, "\n") ? "" : "\n");
    g_autofree char *message =
        acr_prompts_render(run->prompts, ACR_PROMPT_SEARCH_RESULTS, "results", shown, NULL);
    const char *now = acr_conversation_message(retrieved->conversation, results->message)->content;
    results->bytes = bytes;
    if (strlen(message) >= strlen(now))
        return false;
    acr_conversation_replace(retrieved->conversation, results->message, message);
    return true;
}

static AcrResults *newest_results(const AcrRetrieved *retrieved)
{
    guint n = retrieved->results->len;
    return n ? retrieved->results->pdata[n - 1] : NULL;
}

static bool older_to_headings(AcrRetrieved *retrieved, const AcrRun *run, gsize least)
{
    for (guint i = 0; i + 1 < retrieved->results->len; i++) {
        AcrResults *results = retrieved->results->pdata[i];
        if (results->bytes && show_results(retrieved, run, results, 0))
            return true;
    }
    return false;
}

/* Halves the shown part of the newest results. If `least` is 0, shows only their headings. */
static bool cut_newest(AcrRetrieved *retrieved, const AcrRun *run, gsize least)
{
    AcrResults *newest = newest_results(retrieved);
    gsize bytes = newest ? MIN(newest->bytes, newest->full->len) : 0;
    return bytes > least && show_results(retrieved, run, newest, least ? MAX(bytes / 2, least) : 0);
}

static bool holds_results(const AcrRetrieved *retrieved, gsize message)
{
    for (guint i = 0; i < retrieved->results->len; i++)
        if (((const AcrResults *)retrieved->results->pdata[i])->message == message)
            return true;
    return false;
}

static bool cut_message(AcrRetrieved *retrieved, gsize number, gsize least)
{
    const char *text = acr_conversation_message(retrieved->conversation, number)->content;
    if (strlen(text) <= least)
        return false;
    g_autofree char *cut = acr_text_shorten(text, least);
    acr_conversation_replace(retrieved->conversation, number, cut);
    return true;
}

static bool cut_earlier(AcrRetrieved *retrieved, const AcrRun *run, gsize least)
{
    gsize last = acr_conversation_size(retrieved->conversation) - 1;
    for (gsize i = FIRST_TURN; i < last; i++)
        if (!holds_results(retrieved, i) && cut_message(retrieved, i, least))
            return true;
    return false;
}

static bool cut_question(AcrRetrieved *retrieved, const AcrRun *run, gsize least)
{
    gsize last = acr_conversation_size(retrieved->conversation) - 1;
    return last >= FIRST_TURN && cut_message(retrieved, last, least);
}

/* Writes the first question again, with the part of the issue that is still shown, the clue, and a
 * note if turns were removed. */
static void show_issue(AcrRetrieved *retrieved, const AcrRun *run)
{
    gsize bytes = retrieved->issue_bytes ? retrieved->issue_bytes : G_MAXSIZE;
    g_autofree char *issue = acr_text_shorten(run->issue, bytes),
                    *calls = acr_agent_calls_text(retrieved->calls);
    g_autofree char *question = acr_prompts_render(run->prompts, ACR_PROMPT_SEARCH_START, "issue",
                                                   issue, "calls", calls, NULL);
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

static bool cut_clue(AcrRetrieved *retrieved, const AcrRun *run, gsize least)
{
    if (!retrieved->clue || strlen(retrieved->clue) <= least)
        return false;
    acr_retrieved_tell_clue(retrieved, run, acr_text_shorten(retrieved->clue, least));
    return true;
}

static bool cut_issue(AcrRetrieved *retrieved, const AcrRun *run, gsize least)
{
    gsize shown = retrieved->issue_bytes ? retrieved->issue_bytes : strlen(run->issue);
    if (shown <= least)
        return false;
    retrieved->issue_bytes = MAX(shown / 2, least);
    show_issue(retrieved, run);
    return true;
}

static bool drop_oldest_turn(AcrRetrieved *retrieved, const AcrRun *run, gsize least)
{
    if (acr_conversation_size(retrieved->conversation) < FIRST_TURN + TURN + 1)
        return false;
    acr_conversation_remove(retrieved->conversation, FIRST_TURN, TURN);
    for (guint i = retrieved->results->len; i-- > 0;) {
        AcrResults *results = retrieved->results->pdata[i];
        if (results->message < FIRST_TURN + TURN)
            g_ptr_array_remove_index(retrieved->results, i);
        else
            results->message -= TURN;
    }
    retrieved->dropped_turns = true;
    show_issue(retrieved, run);
    return true;
}

/* Removes the oldest turn before the newest results, as code is more useful than old analyses. */
static bool drop_turn_before_newest(AcrRetrieved *retrieved, const AcrRun *run, gsize least)
{
    const AcrResults *newest = newest_results(retrieved);
    return newest && newest->message >= FIRST_TURN + TURN &&
           drop_oldest_turn(retrieved, run, least);
}

static const struct {
    bool (*take)(AcrRetrieved *retrieved, const AcrRun *run, gsize least);
    gsize least; /* number of bytes that are always kept */
    const char *what;
} steps[] = {
    {older_to_headings, 0, "older results are shortened"},
    {cut_earlier, 700, "an earlier message is shortened"},
    {cut_clue, 1000, "what the reproducer showed is cut"},
    {cut_newest, 3000, "the newest results are cut"},
    {cut_issue, 1500, "the issue is cut"},
    {drop_turn_before_newest, 0, "the oldest turn is left out"},
    {cut_newest, 0, "the newest results are shortened"},
    {drop_oldest_turn, 0, "the oldest turn is left out"},
    {cut_question, 1500, "the last question is cut"},
    {cut_issue, 400, "the issue is cut"},
};

const char *acr_retrieved_shorten(AcrRetrieved *retrieved, const AcrRun *run)
{
    for (guint i = 0; i < G_N_ELEMENTS(steps); i++)
        if (steps[i].take(retrieved, run, steps[i].least))
            return steps[i].what;
    return NULL;
}
