/*
 * Shared by fit.c and transplant.c: a replacement that is being written, line by line.
 */
#ifndef ACR_PATCH_FIT_PRIVATE_H
#define ACR_PATCH_FIT_PRIVATE_H

#include "patch/patch_private.h"

/* How the indentation of new lines is read. */
typedef enum {
    READ_AS_ORIGINAL,
    READ_RELATIVE,
    READ_ABSOLUTE,
} Reading;

/* A line of the result: a line of the file (keep >= 0) or a text. */
typedef struct {
    gssize keep;
    char *text; /* owned */
} NewLine;

typedef struct {
    const AcrSource *source;
    const AcrMatch *match;
    const AcrPlace *place;
    gssize *paired;  /* patched line -> original line, or -1 */
    gsize step;      /* columns of one indentation step, as the model writes it */
    bool first_lost; /* the first quoted line lost its indentation, the others have it */
    GArray *lines;   /* of NewLine */
} Fit;

static inline gssize file_line(const Fit *fit, gsize j)
{
    return fit->place->map ? fit->place->map[j] : (gssize)(fit->place->first + j);
}

/* Adds line f of the file to the result. */
void acr_fit_keep(Fit *fit, gssize f);
/* Adds line k of <patched>, which stands behind quote line `at`; `core` (owned, taken): its text
 * without indentation where that is not as written, or NULL. */
void acr_fit_write(Fit *fit, Reading reading, gsize k, gssize at, char *core);

/*
 * Makes the lines of a place of level `similar`: what <patched> changes of <original> is done to
 * the file's own lines, and nothing else. False with *out_why (owned) where that cannot be told
 * from what was misquoted.
 */
bool acr_fit_transplant(Fit *fit, Reading reading, char **out_why);

#endif
