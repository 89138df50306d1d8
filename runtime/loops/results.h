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
/* Adds the results as a message, and remembers it for acr_retrieved_shorten. */
void acr_retrieved_add_results(AcrRetrieved *retrieved, const AcrPrompts *prompts,
                               AcrRoundText *text);

#endif
