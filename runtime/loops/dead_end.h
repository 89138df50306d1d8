/* Decides when to give up a model: it repeats itself, gives empty answers, or makes no progress.
 * Pure: depends only on the answers of one attempt, so that resume and replay end there too. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define ACR_DEAD_END_SAME 3u    /* limit of equal answers, or equal calls, within a stage */
#define ACR_DEAD_END_EMPTY 3u   /* limit of consecutive empty answers */
#define ACR_DEAD_END_USELESS 7u /* limit of the weight of useless answers in a row: */
#define ACR_USELESS_ANSWER 1u   /* weight of an answer that cannot be parsed */
#define ACR_USELESS_ROUND 3u /* weight of a round that found nothing or named no existing place */

typedef struct {
    GHashTable *seen; /* owned; kind and text -> count, within the stage */
    /* owned char *: the texts of the stage in order, each with its kind as a prefix */
    GPtrArray *told;
    guint empty, useless;
    bool repeats;    /* `why` is a repetition or an empty answer */
    const char *why; /* static; why to give up the model; NULL: do not */
} AcrDeadEnd;
void acr_dead_end_clear(AcrDeadEnd *end);
/* Begins a stage: forgets earlier answers, but keeps the sum of weights and `why`. */
void acr_dead_end_stage(AcrDeadEnd *end);
/* Takes an answer and counts it if it is empty. Returns true if the stage must end, as do the
 * next two functions. */
bool acr_dead_end_hear(AcrDeadEnd *end, const char *text);
/* Takes an answer, or the calls of a round, and compares it with earlier ones of its `kind`, to
 * find repetitions. */
bool acr_dead_end_compare(AcrDeadEnd *end, char kind, const char *text);
bool acr_dead_end_useless(AcrDeadEnd *end, guint weight);
void acr_dead_end_useful(AcrDeadEnd *end);
