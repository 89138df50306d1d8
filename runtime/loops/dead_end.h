/* Decides when to give up a model: it repeats itself, gives empty answers, or makes no progress.
 * The decision depends only on the answers of one attempt, so that a resumed or replayed run ends
 * at the same point. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* maximum number of equal answers, or of equal calls, within a stage */
#define ACR_DEAD_END_SAME 3u
#define ACR_DEAD_END_EMPTY 3u /* maximum number of consecutive empty answers */
/* maximum sum of the weights of consecutive useless answers; the weights follow */
#define ACR_DEAD_END_USELESS 7u
#define ACR_USELESS_ANSWER 1u /* weight of an answer that cannot be parsed */
/* weight of a round that found nothing, or that named no existing place */
#define ACR_USELESS_ROUND 3u

typedef struct {
    GHashTable *seen; /* owned; kind and text -> number of occurrences within the stage */
    /* owned array of char *: the texts of the stage in order, each with its kind as a prefix */
    GPtrArray *told;
    guint empty, useless;
    bool repeats;    /* `why` says that the model repeats itself or gives empty answers */
    const char *why; /* static; why to give up the model; NULL if there is no reason */
} AcrDeadEnd;
void acr_dead_end_clear(AcrDeadEnd *end);
/* Begins a stage: forgets the answers of earlier stages, but keeps the sum of weights and `why`. */
void acr_dead_end_stage(AcrDeadEnd *end);
/* Records an answer, and counts it if it is empty. Returns true if the model must be given up; so
 * do acr_dead_end_compare and acr_dead_end_useless. */
bool acr_dead_end_hear(AcrDeadEnd *end, const char *text);
/* Records an answer, or the calls of a round, and compares the text with earlier texts of the same
 * `kind`, to find repetitions. */
bool acr_dead_end_compare(AcrDeadEnd *end, char kind, const char *text);
bool acr_dead_end_useless(AcrDeadEnd *end, guint weight);
void acr_dead_end_useful(AcrDeadEnd *end);
/* Whether the reason of a run without a patch says that the model repeated its answers, so that more
 * tries cannot help. */
bool acr_dead_end_is_repetition(const char *why);
