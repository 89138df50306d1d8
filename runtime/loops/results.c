/*
 * The text of one round's search results, in full and as headings, which say what was found where:
 * what stands in its place when the conversation grows too long (shorten.c).
 */
#include "loops/results.h"

#include <string.h>

#define HEADING_PLACES 8u /* places that a heading names */

static void free_results(gpointer data)
{
    AcrResults *results = data;
    g_free(results->full);
    g_free(results->headings);
    g_free(results);
}

void acr_round_text_init(AcrRoundText *text)
{
    *text = (AcrRoundText){g_string_new(NULL), g_string_new(NULL)};
}

void acr_round_text_clear(AcrRoundText *text)
{
    if (text->full)
        g_string_free(text->full, TRUE);
    if (text->headings)
        g_string_free(text->headings, TRUE);
    *text = (AcrRoundText){NULL, NULL};
}

static void append_heading(GString *out, const char *call, const AcrAnswer *answer)
{
    g_string_append_printf(out, "- %s: ", call);
    if (answer->places->len == 0) {
        g_string_append(out, "nothing found\n");
        return;
    }
    for (guint i = 0; i < answer->places->len && i < HEADING_PLACES; i++) {
        const AcrPlace *place = answer->places->pdata[i];
        g_string_append_printf(out, "%s%s", i ? "; " : "", place->file);
        if (place->klass || place->func)
            g_string_append_printf(out, " %s%s%s", place->klass ? place->klass : "",
                                   place->klass && place->func ? "." : "",
                                   place->func ? place->func : "");
        g_string_append_printf(out, " lines %u-%u", place->start, place->end);
    }
    if (answer->places->len > HEADING_PLACES)
        g_string_append_printf(out, "; and %u more", answer->places->len - HEADING_PLACES);
    g_string_append_c(out, '\n');
}

void acr_round_text_add(AcrRoundText *text, const char *call, const AcrAnswer *answer)
{
    append_heading(text->headings, call, answer);
    g_string_append_printf(text->full, "Result of %s:\n\n", call);
    if (text->full->len + strlen(answer->output) > ACR_ROUND_MAX_OUTPUT)
        g_string_append(text->full, "(left out: the results of this round are too long; make the "
                                    "call again by itself)\n\n");
    else
        g_string_append_printf(text->full, "%s\n\n", answer->output);
}

void acr_round_text_remark(AcrRoundText *text, const char *remark)
{
    g_string_append_printf(text->full, "%s\n\n", remark);
}

void acr_retrieved_add_results(AcrRetrieved *retrieved, const AcrPrompts *prompts,
                               AcrRoundText *text)
{
    g_strchomp(text->full->str);
    g_autofree char *message =
        acr_prompts_render(prompts, ACR_PROMPT_SEARCH_RESULTS, "results", text->full->str, NULL);
    acr_conversation_add(retrieved->conversation, ACR_ROLE_USER, message);
    AcrResults *results = g_new0(AcrResults, 1);
    results->message = acr_conversation_size(retrieved->conversation) - 1;
    results->full = g_strdup(text->full->str);
    results->headings = g_strdup(text->headings->str);
    if (!retrieved->results)
        retrieved->results = g_ptr_array_new_with_free_func(free_results);
    g_ptr_array_add(retrieved->results, results);
}

void acr_retrieved_clear(AcrRetrieved *retrieved)
{
    g_clear_pointer(&retrieved->located, g_ptr_array_unref);
    g_clear_pointer(&retrieved->conversation, acr_conversation_free);
    g_clear_pointer(&retrieved->results, g_ptr_array_unref);
    g_clear_pointer(&retrieved->clue, g_free);
}
