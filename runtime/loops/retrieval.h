/* Private to loops: the result of a retrieval, and the search results in its conversation. */
#pragma once

#include "loops/loops_private.h"

typedef struct {
    const AcrCalls *calls;         /* borrowed; the calls that the model may make; NULL: built-in */
    GPtrArray *located;            /* owned; AcrLocated; empty if the retrieval is EXHAUSTED */
    AcrConversation *conversation; /* owned */
    GPtrArray *results;            /* owned; AcrResults: the messages with search results */
    char *clue;                    /* owned; a text that the model sees with the issue, or NULL */
    gsize issue_bytes;             /* bytes of the issue that are still shown; 0: all */
    bool dropped_turns;            /* the oldest turns were removed from the conversation */
} AcrRetrieved;
void acr_retrieved_init(AcrRetrieved *retrieved, const AcrRun *run, const AcrCalls *calls,
                        const char *name);
void acr_retrieved_clear(AcrRetrieved *retrieved);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRetrieved, acr_retrieved_clear)

/* ---- One round's results (search_results.c) -------------------------------------------------- */

typedef struct {
    GString *full;     /* owned; the text for the model */
    GPtrArray *texts;  /* owned; char *: the part of `full` for each call */
    GString *headings; /* owned; a line for each call: what was found where */
    gsize message;     /* index of the message in the conversation */
    gsize bytes;       /* limit of the bytes of `full` in the message; 0: only the headings */
} AcrResults;
AcrResults *acr_results_new(void) ACR_MUST_USE;
void acr_results_free(AcrResults *results);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrResults, acr_results_free)
/* Adds the answer of a call; `call` is the call's text. */
void acr_results_add(AcrResults *results, const char *call, const AcrAnswer *answer);
/* Adds the results (taken) as a message. `replies`: AcrExtraction.replies if the model called
 * tools, so that each call gets its own result; else NULL. */
void acr_retrieved_add_results(AcrRetrieved *retrieved, const AcrPrompts *prompts,
                               AcrResults *results, const GPtrArray *replies);

/* Converts bug locations as the model named them to JSON for the run folder; acr_located_to_json
 * does so for the code found for them. */
AcrJson *acr_locations_to_json(const GPtrArray *locations) ACR_MUST_USE;
AcrJson *acr_located_to_json(const GPtrArray *located) ACR_MUST_USE;
/* Writes the named locations as text, one a line: "- file a.py, class A, method f"; owned. */
char *acr_locations_text(const GPtrArray *locations) ACR_MUST_USE;

/* ---- What it gives up when the context overflows (context_overflow.c) ------------------------ */

/* Adds the clue (taken) to the first question, after the issue. */
void acr_retrieved_tell_clue(AcrRetrieved *retrieved, const AcrRun *run, char *clue);
/* Removes one part of a conversation that is too long, the least important first, and leaves a note
 * in its place: first older search results, of which headings stay; then the middle of earlier
 * answers, of the newest results and of the issue; and last the oldest turns. Returns a description
 * of the removed part (static); NULL if nothing is left to remove. */
const char *acr_retrieved_shorten(AcrRetrieved *retrieved, const AcrRun *run);
