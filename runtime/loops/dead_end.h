/*
 * Decides when to give up a model: it repeats itself, says nothing, or leads nowhere. Pure: depends
 * only on the answers of one attempt, so that resume and replay end where the run did.
 */
#ifndef ACR_LOOPS_DEAD_END_H
#define ACR_LOOPS_DEAD_END_H

#include <glib.h>
#include <stdbool.h>

#define ACR_DEAD_END_SAME 3u    /* equal answers, or equal calls, within a stage */
#define ACR_DEAD_END_EMPTY 3u   /* empty answers in a row */
#define ACR_DEAD_END_USELESS 7u /* weight of useless answers since the last useful one: */
#define ACR_USELESS_ANSWER 1u   /* an answer that cannot be parsed */
#define ACR_USELESS_ROUND 3u    /* a round whose calls found nothing, or that named no real place */

typedef struct {
    GHashTable *seen; /* owned; kind and text -> count, within the stage */
    GPtrArray *told;  /* owned char *: the stage's texts in order, each after its kind */
    guint empty, useless;
    bool repeats;    /* `why` is a repetition or an empty answer */
    const char *why; /* static; why the model is given up; NULL: it is not */
} AcrDeadEnd;
void acr_dead_end_clear(AcrDeadEnd *end);
/* Begins a stage: forgets earlier answers, but keeps their weight and `why`. */
void acr_dead_end_stage(AcrDeadEnd *end);
/* Takes an answer and counts it if it is empty. True: the stage must end; the next two functions
 * return the same. */
bool acr_dead_end_hear(AcrDeadEnd *end, const char *text);
/* Takes something that should not be repeated: an answer, or the calls of a round. It is compared
 * with others of its `kind`. */
bool acr_dead_end_compare(AcrDeadEnd *end, char kind, const char *text);
bool acr_dead_end_useless(AcrDeadEnd *end, guint weight);
void acr_dead_end_useful(AcrDeadEnd *end);

#endif
