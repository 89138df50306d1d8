/*
 * When a model is given up: it says the same again and again, says nothing, or nothing of what it
 * says leads anywhere. Pure: a function of the answers of one attempt, so that resume and replay end
 * where the run did.
 */
#ifndef ACR_LOOPS_DEAD_END_H
#define ACR_LOOPS_DEAD_END_H

#include <glib.h>
#include <stdbool.h>

#define ACR_DEAD_END_SAME 3u    /* equal answers, or equal calls, in a stage */
#define ACR_DEAD_END_EMPTY 3u   /* empty answers in a row */
#define ACR_DEAD_END_USELESS 7u /* what led to nothing since something did, by weight: */
#define ACR_USELESS_ANSWER 1u   /*   an answer that cannot be read */
#define ACR_USELESS_ROUND 3u /*   a round whose calls found nothing, or that named no real place */

typedef struct {
    GHashTable *seen; /* owned; kind and text -> how often; of the stage */
    GPtrArray *told;  /* owned; of char *: the stage's texts in order, kind first */
    guint empty, useless;
    bool repeats;    /* `why` is that it repeats itself, or says nothing */
    const char *why; /* static; why the model is given up; NULL: it is not */
} AcrDeadEnd;
void acr_dead_end_clear(AcrDeadEnd *end);
/* A stage begins: earlier answers are forgotten, but not that they were useless, nor `why`. */
void acr_dead_end_stage(AcrDeadEnd *end);
/* An answer; counts where it is empty. True: the stage ends, as of the following. */
bool acr_dead_end_hear(AcrDeadEnd *end, const char *text);
/* What should not repeat itself: an answer, or the calls of a round; `kind` is what it is compared
 * with. */
bool acr_dead_end_compare(AcrDeadEnd *end, char kind, const char *text);
bool acr_dead_end_useless(AcrDeadEnd *end, guint weight);
void acr_dead_end_useful(AcrDeadEnd *end);

#endif
