/* Declares the feedback to the model while it is written, and the facts about a refused edit. */
#pragma once

#include "patch/apply_private.h"

#define ACR_FEEDBACK_MAX_EDIT (6u * 1024) /* maximum number of bytes of the part about one edit */
#define ACR_FEEDBACK_MIN 0.4              /* a region with a lower similarity is not shown */
/* a region with at least this similarity counts as the quoted code, even if some words differ */
#define ACR_FEEDBACK_FOUND 0.8

/* The feedback while it is written; code is not added beyond `limit` bytes. */
typedef struct {
    GString *text; /* owned */
    gsize limit;
    const AcrPatchContext *context;
} AcrFeedback;

/* The region of another file that is most similar to a quote. */
typedef struct {
    AcrSource *source; /* owned; NULL if there is no similar region */
    AcrRegion region;
} AcrElsewhere;

/* A refused edit, and the code that the edit may mean. */
typedef struct {
    guint number; /* number of the edit, from 1 */
    const AcrEdit *edit;
    const AcrEditOutcome *outcome;
    const AcrSource *source; /* borrowed; NULL if the edit's file does not exist */
    const GArray *places;    /* array of AcrPlace if the edit was ambiguous; otherwise NULL */
    AcrLines quote;          /* lines of the edit's quote; views into the edit */
    GArray *regions;         /* owned array of AcrRegion in `source`; may be NULL */
    AcrElsewhere elsewhere;
} AcrRefusal;

/* Fills `regions` and `elsewhere` of `n` refusals. `elsewhere` comes from any other Python file
 * that contains a third of the quote's lines. Takes time linear in the bytes of the repository, up
 * to a limit. */
void acr_refusals_search(const AcrPatchContext *context, AcrRefusal *refusals, gsize n);
void acr_refusal_clear(AcrRefusal *refusal);

/* Appends the part about one edit: the reason and, if `detailed`, the real code. */
void acr_feedback_edit(AcrFeedback *feedback, const AcrRefusal *refusal, bool detailed);
/* Appends lines [first, last) unchanged, under a heading with file, lines and enclosing symbol. */
void acr_feedback_code(AcrFeedback *feedback, const AcrSource *source, gsize first, gsize last);
/* Appends numbered lines around `line` (1-based), and marks `line`. */
void acr_feedback_around(AcrFeedback *feedback, const AcrSource *source, gsize line);
/* Appends the places where symbols with the name `name` are defined, and the code of the first
 * symbol, preferably from the file of `refusal` (may be NULL). Returns whether there is such a
 * symbol. */
bool acr_feedback_symbol(AcrFeedback *feedback, const char *name, const AcrRefusal *refusal);
