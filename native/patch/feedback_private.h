/*
 * The message for the model: what grows in it, and what is known of a refused edit.
 */
#ifndef ACR_PATCH_FEEDBACK_PRIVATE_H
#define ACR_PATCH_FEEDBACK_PRIVATE_H

#include "patch/apply_private.h"

#define ACR_FEEDBACK_MAX_EDIT (6u * 1024) /* bytes of the part for one edit */
#define ACR_FEEDBACK_MIN 0.4              /* a region less alike than this does not help */
#define ACR_FEEDBACK_FOUND 0.8            /* code as alike as this is there, if not word for word */

/* A message that grows; code is not added to it beyond `limit` bytes. */
typedef struct {
    GString *text; /* owned */
    gsize limit;
    const AcrPatchContext *context;
} AcrFeedback;

/* The region of another file that is most like a quote. */
typedef struct {
    AcrSource *source; /* owned; NULL: none */
    AcrRegion region;
} AcrElsewhere;

/* What is known of one refused edit. */
typedef struct {
    guint number; /* from 1 */
    const AcrEdit *edit;
    const AcrEditOutcome *outcome;
    const AcrSource *source; /* borrowed; NULL: no such file */
    const GArray *places;    /* of AcrPlace, where it was ambiguous; else NULL */
    AcrLines quote;          /* views into the edit */
    GArray *regions;         /* owned; of AcrRegion, in `source`; may be NULL */
    AcrElsewhere elsewhere;
} AcrRefusal;

/* Fills regions and elsewhere of `n` refusals: the latter from any other Python file that shares a
 * third of the quote's lines. O(bytes of the repository), bounded. */
void acr_refusals_search(const AcrPatchContext *context, AcrRefusal *refusals, gsize n);
void acr_refusal_clear(AcrRefusal *refusal);

/* Appends the part for one edit: why, and (`detailed`) the real code. */
void acr_feedback_edit(AcrFeedback *feedback, const AcrRefusal *refusal, bool detailed);
/* Appends lines [first, last) as they are, headed by file, lines, and what holds them. */
void acr_feedback_code(AcrFeedback *feedback, const AcrSource *source, gsize first, gsize last);
/* Appends lines around `line` (1-based), numbered, with a mark at it. */
void acr_feedback_around(AcrFeedback *feedback, const AcrSource *source, gsize line);
/* Appends where things of that name are defined, and the code of the first, of the file of
 * `refusal` (may be NULL) if there is one there. Whether there is any. */
bool acr_feedback_symbol(AcrFeedback *feedback, const char *name, const AcrRefusal *refusal);

#endif
