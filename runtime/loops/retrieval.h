/* Private to loops: the result of a retrieval, and the search results in its conversation. */
#pragma once

#include "loops/loops_private.h"

typedef struct {
    /* borrowed; calls that the model may make; NULL: the built-in calls */
    const AcrCalls *calls;
    /* owned array of AcrLocated; empty if the retrieval is EXHAUSTED */
    GPtrArray *located;
    AcrConversation *conversation; /* owned */
    GPtrArray *results;            /* owned array of AcrResults: the messages with search results */
    /* owned; a text that the model sees together with the issue, or NULL */
    char *clue;
    gsize issue_bytes;  /* number of bytes of the issue that are still shown; 0: all */
    bool dropped_turns; /* the oldest turns were removed from the conversation */
} AcrRetrieved;
void acr_retrieved_init(AcrRetrieved *retrieved, const AcrRun *run, const AcrCalls *calls,
                        const char *name);
void acr_retrieved_clear(AcrRetrieved *retrieved);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRetrieved, acr_retrieved_clear)

/* ---- One round's results (search_results.c) -------------------------------------------------- */

typedef struct {
    GString *full;     /* owned; the text for the model */
    GPtrArray *texts;  /* owned array of char *: the part of `full` for each call */
    GString *headings; /* owned; a line for each call, which names the places that the call found */
    gsize message;     /* index of the message in the conversation */
    gsize bytes;       /* maximum number of bytes of `full` in the message; 0: only the headings */
} AcrResults;
AcrResults *acr_results_new(void) ACR_MUST_USE;
void acr_results_free(AcrResults *results);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrResults, acr_results_free)
/* Returns what an answer that is not `ok` says in a word or two: "failed" or "nothing found". */
const char *acr_answer_miss(const AcrAnswer *answer);
/* Adds the answer to a call; `call` is the call as a string. */
void acr_results_add(AcrResults *results, const char *call, const AcrAnswer *answer);
/* Adds the results (taken) to the conversation as a message. If the model called tools, `replies`
 * is AcrExtraction.replies, and each tool call gets its own result; otherwise `replies` is NULL. */
void acr_retrieved_add_results(AcrRetrieved *retrieved, const AcrPrompts *prompts,
                               AcrResults *results, const GPtrArray *replies);

/* acr_locations_to_json converts bug locations, as the model named them, to JSON for the run
 * folder. acr_located_to_json converts the code found at these locations. */
AcrJson *acr_locations_to_json(const GPtrArray *locations) ACR_MUST_USE;
AcrJson *acr_located_to_json(const GPtrArray *located) ACR_MUST_USE;
/* Writes the named locations as text, one on each line: "- file a.py, class A, method f"; owned. */
char *acr_locations_text(const GPtrArray *locations) ACR_MUST_USE;

/* ---- Shortening after a context overflow (context_overflow.c) -------------------------------- */

/* Adds the clue (taken) to the first question of the conversation, after the issue. */
void acr_retrieved_tell_clue(AcrRetrieved *retrieved, const AcrRun *run, char *clue);
/* Removes one part of a conversation that is too long, and puts a note in the part's place. The
 * least important parts are removed first: older search results (their headings stay); then the
 * middle of earlier answers, of the newest results and of the issue; and finally the oldest turns.
 * Returns a description of the removed part (static); NULL if nothing is left to remove. */
const char *acr_retrieved_shorten(AcrRetrieved *retrieved, const AcrRun *run);
