/* Private to loops: the text of one round's search results, in full and as headings. */
#ifndef ACR_LOOPS_RESULTS_H
#define ACR_LOOPS_RESULTS_H

#include "loops/loops.h"

typedef struct {
    GString *full;     /* owned; what the model is shown */
    GString *headings; /* owned; a line for each call */
} AcrRoundText;

void acr_round_text_init(AcrRoundText *text);
void acr_round_text_clear(AcrRoundText *text);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrRoundText, acr_round_text_clear)
void acr_round_text_add(AcrRoundText *text, const char *call, const AcrAnswer *answer);
void acr_round_text_remark(AcrRoundText *text, const char *remark);
/* How much of a round's results its message still shows; in the order that it goes down. */
typedef enum {
    ACR_RESULTS_FULL,
    ACR_RESULTS_CUT,
    ACR_RESULTS_HEADINGS,
    ACR_RESULTS_CUT_HEADINGS,
} AcrResultsForm;

/* One round's results; AcrRetrieved.results is of these. */
typedef struct {
    gsize message; /* its number in the conversation */
    char *full, *headings;
    AcrResultsForm form;
    gsize bytes; /* of `full` that CUT shows */
} AcrResults;

/* Adds the results as a message, and remembers it for acr_retrieved_shorten. */
void acr_retrieved_add_results(AcrRetrieved *retrieved, const AcrPrompts *prompts,
                               AcrRoundText *text);
/* Tells the clue (taken) with the issue, in the first question. */
void acr_retrieved_tell_clue(AcrRetrieved *retrieved, const AcrRun *run, char *clue);

#endif
