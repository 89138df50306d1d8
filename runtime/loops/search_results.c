/* Formats one round's search results, in full and as headings. Headings name the places that each
 * call found, and replace the results when the context overflows. Also formats bug locations. */
#include "loops/retrieval.h"

#include <string.h>

#define HEADING_PLACES 8u /* maximum number of places that one heading names */

AcrResults *acr_results_new(void)
{
    AcrResults *results = g_new0(AcrResults, 1);
    results->full = g_string_new(NULL);
    results->headings = g_string_new(NULL);
    results->texts = g_ptr_array_new_with_free_func(g_free);
    results->bytes = G_MAXSIZE;
    return results;
}

void acr_results_free(AcrResults *results)
{
    g_string_free(results->full, TRUE);
    g_string_free(results->headings, TRUE);
    g_ptr_array_unref(results->texts);
    g_free(results);
}

const char *acr_answer_miss(const AcrAnswer *answer)
{
    return answer->failed ? "failed" : "nothing found";
}

static void append_heading(GString *out, const char *call, const AcrAnswer *answer)
{
    g_string_append_printf(out, "- %s: %s", call, answer->ok ? "" : acr_answer_miss(answer));
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

void acr_results_add(AcrResults *results, const char *call, const AcrAnswer *answer)
{
    gsize start = results->full->len;
    append_heading(results->headings, call, answer);
    g_string_append_printf(results->full, "Result of %s:\n\n", call);
    if (results->full->len + strlen(answer->output) > ACR_ROUND_MAX_OUTPUT)
        g_string_append(results->full, "(left out: the results of this round are too long; make "
                                       "the call again by itself)\n\n");
    else
        g_string_append_printf(results->full, "%s\n\n", answer->output);
    g_ptr_array_add(results->texts, g_strchomp(g_strdup(results->full->str + start)));
}

/* Sets the result of each tool call: its reply or, for a search call, the next search result. */
static void answer_calls(AcrConversation *conversation, const AcrResults *results,
                         const GPtrArray *replies)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new();
    guint n = 0;
    for (guint i = 0; i < replies->len; i++)
        g_ptr_array_add(texts, replies->pdata[i] ? replies->pdata[i] : results->texts->pdata[n++]);
    acr_conversation_set_results(conversation, texts);
}

void acr_retrieved_add_results(AcrRetrieved *retrieved, const AcrPrompts *prompts,
                               AcrResults *results, const GPtrArray *replies)
{
    for (guint i = 0; replies && i < replies->len; i++)
        if (replies->pdata[i])
            g_string_append_printf(results->full, "%s\n\n", (char *)replies->pdata[i]);
    g_string_truncate(results->full, strlen(g_strchomp(results->full->str)));
    acr_agent_tell(retrieved->conversation, prompts, ACR_PROMPT_SEARCH_RESULTS, "results",
                   results->full->str, NULL);
    if (replies)
        answer_calls(retrieved->conversation, results, replies);
    results->message = acr_conversation_size(retrieved->conversation) - 1;
    g_ptr_array_add(retrieved->results, results);
}

char *acr_locations_text(const GPtrArray *locations)
{
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < locations->len; i++) {
        const AcrBugLocation *location = locations->pdata[i];
        const char *const parts[][2] = {
            {"file", location->file}, {"class", location->klass}, {"method", location->method}};
        const char *before = i ? "\n- " : "- ";
        for (guint k = 0; k < G_N_ELEMENTS(parts); k++) {
            if (!parts[k][1])
                continue;
            g_string_append_printf(out, "%s%s %s", before, parts[k][0], parts[k][1]);
            before = ", ";
        }
    }
    return g_string_free(out, FALSE);
}

AcrJson *acr_locations_to_json(const GPtrArray *locations)
{
    AcrJson *list = acr_json_new_array();
    for (guint i = 0; i < locations->len; i++) {
        const AcrBugLocation *location = locations->pdata[i];
        acr_json_add(list, ACR_STRING("file", location->file), ACR_STRING("class", location->klass),
                     ACR_STRING("method", location->method),
                     ACR_STRING("intended_behavior", location->intended_behavior));
    }
    return list;
}

AcrJson *acr_located_to_json(const GPtrArray *located)
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
