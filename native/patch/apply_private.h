/*
 * Shared by apply.c, referee.c and message.c: an answer at work, and its edits whose places are
 * known.
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

/* Which readings of one file's edits (sorted, not overlapping) are right. Borrowed but `after`. */
typedef struct {
    const AcrSource *source;
    Located *const *edits;
    gsize n;
    GBytes *after; /* owned; set by acr_referee_choose */
} AcrChoice;

/*
 * Makes each file with all its edits applied, each edit in the reading that the referee keeps: the
 * combinations of readings that compile, and of several in any file those that one lint run finds
 * best. The first stays where the linter cannot say, where ACR_REFEREE_MAX_LINT_BYTES is passed,
 * without a referee, and of files that are not Python. Errors: FAILED (as acr_fit_apply; the
 * referee failed on all readings; the lint's error).
 */
bool acr_referee_choose(const AcrReferee *referee, AcrChoice *choices, gsize n,
                        GError **error) ACR_MUST_USE;

/* Whether a change of a file may stand: it compiles, or did not before either. out_message: owned,
 * set when it may not. */
bool acr_referee_accepts(const AcrReferee *referee, const char *path, GBytes *before, GBytes *after,
                         bool *out_ok, char **out_message, GError **error) ACR_MUST_USE;

/* An answer at work. */
typedef struct {
    const AcrPatchContext *context;
    const char *answer; /* UTF-8 */
    gsize len;
    char *repaired; /* owned; what `answer` is, when it came as something else */
    bool cut;       /* the answer was longer than is read */
    AcrFileNames *names;
    GPtrArray *edits;    /* of AcrEdit */
    GPtrArray *outcomes; /* of AcrEditOutcome */
    GPtrArray *files;    /* of File */
    GHashTable *by_path; /* path -> File, borrowed */
    GHashTable *places;  /* edit number -> GArray of AcrPlace, of ambiguous edits */
    AcrOverlay *overlay;
} Work;

/* A file that the answer edits. */
typedef struct {
    char *path;
    AcrSource *source;  /* as in the snapshot; NULL: a new file */
    GPtrArray *located; /* of Located */
    GArray *waiting;    /* of guint: edits not found in the snapshot's text */
    GBytes *after;      /* with the edits applied */
    char *broken;       /* owned; why that does not compile, where it must; or NULL */
} File;

static inline const AcrEdit *edit_at(const Work *work, guint number)
{
    return work->edits->pdata[number];
}

static inline AcrEditOutcome *outcome_at(const Work *work, guint number)
{
    return work->outcomes->pdata[number];
}

/* How many edits have that outcome. */
guint acr_work_count(const Work *work, AcrEditStatus status);
/* The feedback for the model; "" where there is nothing to say. Owned. */
char *acr_work_message(const Work *work, AcrExtractStatus status) ACR_MUST_USE;

#endif
