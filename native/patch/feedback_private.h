/*
 * Shared by message.c, feedback.c and elsewhere.c: a message of bounded size, and what is known of
 * a refused edit.
 */
#ifndef ACR_PATCH_FEEDBACK_PRIVATE_H
#define ACR_PATCH_FEEDBACK_PRIVATE_H

#include "patch/apply_private.h"

#define ACR_FEEDBACK_MAX_DETAILED 12u /* refused edits that are shown code; others are one line */
#define ACR_FEEDBACK_MAX_EDIT (6u * 1024)       /* bytes of the part for one edit */
#define ACR_FEEDBACK_LOCATED_BYTES (10u * 1024) /* kept free for the located code */
#define ACR_FEEDBACK_MIN 0.4                    /* a region less alike than this is no help */
#define ACR_FEEDBACK_FOUND 0.8 /* code as alike as this is there, if not word for word */
#define ACR_FEEDBACK_SAME 0.98 /* as alike as this, no other file is searched */

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

/* Fills regions and elsewhere of `n` refusals. O(bytes of the repository), bounded. */
void acr_refusals_search(const AcrPatchContext *context, AcrRefusal *refusals, gsize n);
void acr_refusal_clear(AcrRefusal *refusal);

/*
 * For each of `n` quotes the most similar region of any Python file but `not_in[i]` (may be NULL),
 * if that shares a third of the quote's lines, or one of few; a quote that is NULL is passed over.
 * One pass over the repository, up to a bound in bytes.
 */
void acr_elsewhere_find(const AcrPatchContext *context, const AcrLines *const *quotes,
                        const char *const *not_in, gsize n, AcrElsewhere *out);

/* Appends the part for one edit: why, and (`detailed`) the real code. */
void acr_feedback_edit(AcrFeedback *feedback, const AcrRefusal *refusal, bool detailed);
/* Appends lines [first, last) as they are, headed by file, lines, and what holds them. */
void acr_feedback_code(AcrFeedback *feedback, const AcrSource *source, gsize first, gsize last);
/* Appends lines around `line` (1-based), numbered, with a mark at it. */
void acr_feedback_around(AcrFeedback *feedback, const AcrSource *source, gsize line);
/* Appends what classes and functions a file has, with their lines. */
void acr_feedback_outline(AcrFeedback *feedback, const char *path);
/* Appends where things of that name are defined, and the code of the first, of the file of
 * `refusal` (may be NULL) if there is one there. Whether there is any. */
bool acr_feedback_symbol(AcrFeedback *feedback, const char *name, const AcrRefusal *refusal);

#endif
