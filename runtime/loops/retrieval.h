/* Private to loops: the result of a retrieval, and the search results in its conversation. */
#ifndef ACR_LOOPS_RETRIEVAL_H
#define ACR_LOOPS_RETRIEVAL_H

#include "loops/loops_private.h"

typedef struct {
    const AcrCalls *calls;         /* borrowed; the calls that the model may make; NULL: built-in */
    GPtrArray *located;            /* owned; AcrLocated; empty if the retrieval is EXHAUSTED */
    AcrConversation *conversation; /* owned */
    GPtrArray *results;            /* owned; AcrResults: the messages with search results */
    char *clue;                    /* owned; what the model is shown with the issue, or NULL */
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
    gsize message;     /* number of the message in the conversation */
    gsize bytes;       /* bytes of `full` that the message shows at most; 0: only the headings */
} AcrResults;
AcrResults *acr_results_new(void) ACR_MUST_USE;
void acr_results_free(AcrResults *results);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrResults, acr_results_free)
/* Adds the answer of a call; `call` is the call's text. */
void acr_results_add(AcrResults *results, const char *call, const AcrAnswer *answer);
/* Adds the results (taken) as a message; if tools were called, each call gets its own result
 * (`replies` of AcrExtraction; else NULL). */
void acr_retrieved_add_results(AcrRetrieved *retrieved, const AcrPrompts *prompts,
                               AcrResults *results, const GPtrArray *replies);

/* Convert bug locations as the model named them, and the code found for them, to JSON for files of
 * the run folder. */
AcrJson *acr_locations_to_json(const GPtrArray *locations) ACR_MUST_USE;
AcrJson *acr_located_to_json(const GPtrArray *located) ACR_MUST_USE;
/* Writes the named locations as text, one a line: "- file a.py, class A, method f"; owned. */
char *acr_locations_text(const GPtrArray *locations) ACR_MUST_USE;

/* ---- What it gives up when the context overflows (context_overflow.c) ------------------------ */

/* Adds the clue (taken) to the first question, which shows the issue. */
void acr_retrieved_tell_clue(AcrRetrieved *retrieved, const AcrRun *run, char *clue);
/*
 * Removes one thing from a conversation that is too long, the least important first, and leaves a
 * note in its place. Older search results become headings first; then earlier answers and the
 * newest results lose their middle, then the issue, and at last the oldest turns are removed.
 * Returns what was done (static); NULL: nothing is left to remove.
 */
const char *acr_retrieved_shorten(AcrRetrieved *retrieved, const AcrRun *run);

#endif
