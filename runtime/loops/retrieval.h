/* Private to loops: what a retrieval comes to, and the search results in its conversation. */
#ifndef ACR_LOOPS_RETRIEVAL_H
#define ACR_LOOPS_RETRIEVAL_H

#include "loops/loops_private.h"

typedef struct {
    GPtrArray *located;            /* owned; of AcrLocated; empty when the retrieval is EXHAUSTED */
    AcrConversation *conversation; /* owned */
    GPtrArray *results;            /* owned; of AcrResults: which messages hold search results */
    char *clue;                    /* owned; what the model is told with the issue, or NULL */
    gsize issue_bytes;             /* of the issue, as it is still shown; 0: all */
    bool dropped_turns;            /* the conversation lacks its oldest turns */
} AcrRetrieved;
void acr_retrieved_init(AcrRetrieved *retrieved, const AcrRun *run, const char *name);
void acr_retrieved_clear(AcrRetrieved *retrieved);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRetrieved, acr_retrieved_clear)

/* ---- One round's results (search_results.c) -------------------------------------------------- */

typedef struct {
    GString *full;     /* owned; what the model is shown */
    GPtrArray *texts;  /* owned; of char *: each call's part of `full` */
    GString *headings; /* owned; a line for each call: what was found where */
    gsize message;     /* its number in the conversation */
    gsize bytes;       /* of `full` that the message shows at most; 0: the headings only */
} AcrResults;
AcrResults *acr_results_new(void) ACR_MUST_USE;
void acr_results_free(AcrResults *results);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrResults, acr_results_free)
/* Adds the answer of a call; `call` is its text. */
void acr_results_add(AcrResults *results, const char *call, const AcrAnswer *answer);
/* Adds the results (taken) as a message; where tools were called, each call gets its own
 * (AcrExtraction's `replies`; else NULL). */
void acr_retrieved_add_results(AcrRetrieved *retrieved, const AcrPrompts *prompts,
                               AcrResults *results, const GPtrArray *replies);

/* Bug locations as the model named them, and the code that was found for them, for run folders. */
AcrJson *acr_locations_to_json(const GPtrArray *locations) ACR_MUST_USE;
AcrJson *acr_located_to_json(const GPtrArray *located) ACR_MUST_USE;
/* The same as the model named them, a line each: "- file a.py, class A, method f"; owned. */
char *acr_locations_text(const GPtrArray *locations) ACR_MUST_USE;

/* ---- What it gives up when the context overflows (context_overflow.c) ------------------------ */

/* Tells the clue (taken) with the issue, in the first question. */
void acr_retrieved_tell_clue(AcrRetrieved *retrieved, const AcrRun *run, char *clue);
/*
 * Takes one thing out of a conversation that is too long, first what its reader misses least, and
 * leaves a note in its place. Older search results become their headings, earlier answers and the
 * newest results lose their middle, then the issue does; then the oldest turns go. What was done in
 * words (borrowed, static); NULL: nothing is left to take.
 */
const char *acr_retrieved_shorten(AcrRetrieved *retrieved, const AcrRun *run);

#endif
