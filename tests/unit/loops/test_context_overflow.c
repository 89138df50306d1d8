/* Tests of shortening a retrieval conversation: what is removed in which order, what replaces it,
 * and how small a conversation can get. */
#include <glib.h>
#include <string.h>

#include "loops/retrieval.h"
#include "unit/cases.h"

#define SMALL 5000u /* the longest conversation shrinks to this many bytes, about 1,700 tokens */

typedef struct {
    AcrPrompts *prompts;
    char *issue;
    AcrRun run;
    AcrRetrieved retrieved;
} Talk;

/* Numbered lines with a word at the start, in the middle and at the end. */
static char *long_text(const char *word, guint lines)
{
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < lines; i++)
        g_string_append_printf(out, "%s line %u of a text that goes on\n",
                               i == 0 || i == lines / 2 || i == lines - 1 ? word : "some", i);
    return g_string_free(out, FALSE);
}

static void set_up(Talk *talk, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    const guint *issue_lines = data;
    talk->prompts = acr_prompts_load(ACR_SOURCE_DIR "/prompts", NULL, &error);
    g_assert_no_error(error);
    talk->issue = long_text("ISSUE", *issue_lines);
    talk->run = (AcrRun){.issue = talk->issue, .prompts = talk->prompts};
    acr_retrieved_init(&talk->retrieved, &talk->run, NULL, "search");
}

static void tear_down(Talk *talk, gconstpointer data)
{
    acr_retrieved_clear(&talk->retrieved);
    acr_prompts_free(talk->prompts);
    g_free(talk->issue);
}

static const guint short_issue = 3, long_issue = 2000;

#define TALK_TEST(group, name, issue) TEST_WITH(group, name, Talk, talk, data, issue, set_up, tear_down)

/* Adds one round: an answer, results, an analysis, and the next question. */
static void add_round(Talk *talk, const char *word, guint answer_lines, guint result_lines)
{
    AcrConversation *conversation = talk->retrieved.conversation;
    g_autofree char *answer = long_text("ANSWER", answer_lines);
    g_autofree char *results = long_text(word, result_lines);
    AcrResults *found = acr_results_new();
    g_string_append(found->full, results);
    g_string_append_printf(found->headings, "- search_class(\"%s\"): a.py lines 1-2\n", word);
    acr_conversation_add(conversation, ACR_ROLE_ASSISTANT, answer);
    acr_retrieved_add_results(&talk->retrieved, talk->prompts, found, NULL);
    acr_conversation_add(conversation, ACR_ROLE_ASSISTANT, answer);
    acr_conversation_add(conversation, ACR_ROLE_USER, "What next?");
}

static gsize total_bytes(const Talk *talk)
{
    gsize sum = 0;
    for (gsize i = 0; i < acr_conversation_size(talk->retrieved.conversation); i++)
        sum += strlen(acr_conversation_message(talk->retrieved.conversation, i)->content);
    return sum;
}

/* The number of messages that contain the text. */
static guint count(const Talk *talk, const char *text)
{
    guint n = 0;
    for (gsize i = 0; i < acr_conversation_size(talk->retrieved.conversation); i++)
        n += strstr(acr_conversation_message(talk->retrieved.conversation, i)->content, text) != NULL;
    return n;
}

static const char *shorten(Talk *talk)
{
    return acr_retrieved_shorten(&talk->retrieved, &talk->run);
}

TALK_TEST("/loops/context_overflow", a_short_conversation_gives_up_nothing, &short_issue)
{
    gsize before = total_bytes(talk);
    g_assert_null(shorten(talk));
    g_assert_cmpuint(total_bytes(talk), ==, before);
}

TALK_TEST("/loops/context_overflow", older_results_go_first, &short_issue)
{
    add_round(talk, "FIRST", 2, 20);
    add_round(talk, "SECOND", 2, 20);
    add_round(talk, "THIRD", 2, 20);
    g_assert_cmpstr(shorten(talk), ==, "older results are shortened");
    g_assert_cmpuint(count(talk, "FIRST line"), ==, 0);
    g_assert_cmpuint(count(talk, "search_class(\"FIRST\"): a.py lines 1-2"), ==, 1);
    g_assert_cmpuint(count(talk, "To see the code again, repeat the call"), ==, 1);
    g_assert_cmpuint(count(talk, "SECOND line"), ==, 1);
    g_assert_cmpstr(shorten(talk), ==, "older results are shortened");
    g_assert_cmpuint(count(talk, "SECOND line"), ==, 0);
    g_assert_cmpuint(count(talk, "THIRD line"), ==, 1);
}

/* Roles must alternate with a clue, too, so the first question contains it. */
TALK_TEST("/loops/context_overflow", what_the_reproducer_showed_stays_with_the_issue, &short_issue)
{
    AcrConversation *conversation = talk->retrieved.conversation;
    acr_retrieved_tell_clue(&talk->retrieved, &talk->run, long_text("CLUE", 100));
    g_assert_cmpuint(acr_conversation_size(conversation), ==, 2);
    g_assert_cmpuint(count(talk, "CLUE"), ==, 1);
    add_round(talk, "FIRST", 2, 20);
    add_round(talk, "SECOND", 2, 20);
    g_assert_cmpstr(shorten(talk), ==, "older results are shortened");
    g_assert_cmpstr(shorten(talk), ==, "what the reproducer showed is cut");
    g_assert_cmpuint(strlen(talk->retrieved.clue), <=, 1000);
    while (shorten(talk))
        ;
    g_assert_cmpuint(count(talk, "CLUE"), ==, 1);
    for (gsize i = 1; i < acr_conversation_size(conversation); i++)
        g_assert_cmpint(acr_conversation_message(conversation, i)->role, ==,
                        i % 2 ? ACR_ROLE_USER : ACR_ROLE_ASSISTANT);
}

TALK_TEST("/loops/context_overflow", newest_results_lose_their_middle_before_all, &short_issue)
{
    add_round(talk, "FIRST", 2, 20);
    add_round(talk, "SECOND", 2, 2000);
    g_assert_cmpstr(shorten(talk), ==, "older results are shortened");
    gsize before = total_bytes(talk);
    guint cuts = 0;
    while (count(talk, "SECOND line 0 ")) {
        const char *what = shorten(talk);
        g_assert_nonnull(what);
        if (strcmp(what, "the newest results are cut") != 0)
            break;
        cuts++;
        g_assert_cmpuint(count(talk, "SECOND line 0 "), ==, 1);
        g_assert_cmpuint(count(talk, "SECOND line 1000 "), ==, 0);
        g_assert_cmpuint(count(talk, "SECOND line 1999 "), ==, 1);
        g_assert_cmpuint(count(talk, "bytes left out"), ==, 1);
        g_assert_cmpuint(count(talk, "The results are shortened"), ==, 1);
    }
    g_assert_cmpuint(cuts, >=, 4); /* in halves, from about 64,000 bytes to 3,000 */
    g_assert_cmpuint(cuts, <=, 6);
    g_assert_cmpuint(total_bytes(talk), <, before / 8);
}

TALK_TEST("/loops/context_overflow", old_turns_go_before_the_newest_code, &short_issue)
{
    add_round(talk, "FIRST", 2, 20);
    add_round(talk, "SECOND", 2, 20);
    add_round(talk, "THIRD", 2, 20);
    guint dropped = 0;
    const char *what = NULL;
    while (count(talk, "THIRD line 0 ")) {
        what = shorten(talk);
        g_assert_nonnull(what);
        dropped += strcmp(what, "the oldest turn is left out") == 0;
    }
    g_assert_cmpstr(what, ==, "the newest results are shortened");
    g_assert_cmpuint(dropped, ==, 4); /* two rounds of two messages, none of the third round */
    g_assert_cmpuint(count(talk, "search_class(\"SECOND\")"), ==, 0);
    g_assert_cmpuint(count(talk, "search_class(\"THIRD\")"), ==, 1);
}

TALK_TEST("/loops/context_overflow", the_issue_loses_its_middle, &long_issue)
{
    g_assert_cmpstr(shorten(talk), ==, "the issue is cut");
    g_assert_cmpuint(count(talk, "ISSUE line 0 "), ==, 1);
    g_assert_cmpuint(count(talk, "ISSUE line 1999 "), ==, 1);
    g_assert_cmpuint(count(talk, "bytes left out"), ==, 1);
    g_assert_cmpuint(count(talk, "- search_method_in_class("), ==, 1);
}

TALK_TEST("/loops/context_overflow", each_step_takes_something_until_it_is_small, &long_issue)
{
    for (guint i = 0; i < 15; i++)
        add_round(talk, "RESULT", 100, 1000);
    acr_conversation_add(talk->retrieved.conversation, ACR_ROLE_ASSISTANT, "Hm.");
    acr_conversation_add(talk->retrieved.conversation, ACR_ROLE_USER, "The last question.");
    const AcrMessage *first = acr_conversation_message(talk->retrieved.conversation, 0);
    g_autofree char *system = g_strdup(first->content);
    gsize before = total_bytes(talk);
    guint steps = 0, dropped = 0;
    const char *what;
    while ((what = shorten(talk))) {
        gsize now = total_bytes(talk);
        g_assert_cmpuint(now, <, before);
        dropped += strcmp(what, "the oldest turn is left out") == 0;
        g_assert_cmpuint(count(talk, "oldest turns of this conversation were removed"), ==, dropped > 0);
        before = now;
        g_assert_cmpuint(++steps, <, 300);
    }
    g_assert_cmpuint(before, <, SMALL);
    g_assert_cmpstr(acr_conversation_message(talk->retrieved.conversation, 0)->content, ==, system);
    g_assert_cmpuint(count(talk, "- search_method_in_class("), ==, 1);
    g_assert_cmpuint(count(talk, "ISSUE line 0 "), ==, 1);
    g_assert_cmpuint(count(talk, "The last question."), ==, 1);
    g_assert_cmpuint(acr_conversation_size(talk->retrieved.conversation), ==, 2 + 15 * 4 + 2 - dropped * 2);
    g_assert_cmpuint(acr_conversation_size(talk->retrieved.conversation), <=, 4);
    for (gsize i = 0; i < 2; i++) /* roles still alternate */
        g_assert_cmpint(acr_conversation_message(talk->retrieved.conversation, i + 1)->role, ==,
                        i == 0 ? ACR_ROLE_USER : ACR_ROLE_ASSISTANT);
}

TALK_TEST("/loops/context_overflow", a_long_question_is_cut_at_last, &short_issue)
{
    g_autofree char *question = long_text("QUESTION", 500);
    acr_conversation_add(talk->retrieved.conversation, ACR_ROLE_ASSISTANT, "Hm.");
    acr_conversation_add(talk->retrieved.conversation, ACR_ROLE_USER, question);
    g_assert_cmpstr(shorten(talk), ==, "the last question is cut");
    g_assert_cmpuint(count(talk, "QUESTION line 0 "), ==, 1);
    g_assert_cmpuint(count(talk, "QUESTION line 250 "), ==, 0);
    g_assert_null(shorten(talk));
}
