/*
 * Shared by apply.c and referee.c: an edit whose place is known.
 */
#ifndef ACR_PATCH_APPLY_PRIVATE_H
#define ACR_PATCH_APPLY_PRIVATE_H

#include "patch/patch_private.h"

typedef struct {
    guint number;      /* of the edit in the answer, from 0 */
    GArray *readings;  /* owned; of AcrSplice; at least one */
    guint chosen;      /* of the readings */
    gsize first, last; /* the bytes of the text that any reading touches: [first, last) */
} Located;

/*
 * The file with all edits (sorted, not overlapping) applied, each in the reading that the referee
 * keeps. NULL referee, or no Python file: the first readings. Owned. Errors: FAILED (as
 * acr_fit_apply; the referee failed on all readings).
 */
GBytes *acr_referee_choose(const AcrReferee *referee, const AcrSource *source,
                           Located *const *edits, gsize n, GError **error) ACR_MUST_USE;

/* Whether a change of a file may stand: it compiles, or did not before either. out_message: owned,
 * set when it may not. */
bool acr_referee_accepts(const AcrReferee *referee, const char *path, GBytes *before, GBytes *after,
                         bool *out_ok, char **out_message, GError **error) ACR_MUST_USE;

#endif
