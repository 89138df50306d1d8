/* Makes the replacement text for a place, as splices of the file's text, and holds the state of
 * writing a replacement line by line. */
#pragma once

#include "patch/match_private.h"

/* A change: bytes [off, off + len) of a source's text become `with`. */
typedef struct {
    gsize off, len;
    char *with; /* owned */
} AcrSplice;
/* Makes an empty array of AcrSplice, which owns the texts of its splices; owned. */
GArray *acr_splices_new(void) ACR_MUST_USE;

/* Returns the different readings of the replacement at one place, beginning with the likeliest; at
 * most three. Owned array of AcrSplice arrays, trimmed to the bytes that change. Empty if the
 * replacement does not fit; then *out_why (owned) says why. */
GArray *acr_replacement_readings(const AcrSource *source, const AcrEdit *edit,
                                 const AcrMatch *match, const AcrPlace *place,
                                 char **out_why) ACR_MUST_USE;
/* Applies splices (sorted by offset, not overlapping) to the file, and returns its new bytes,
 * owned: kept bytes are copied from the file, and new text is encoded like the file. Errors: FAILED
 * (the file's encoding lacks a character; the file cannot be decoded exactly). */
GBytes *acr_splices_apply(const AcrSource *source, const AcrSplice *const *splices, gsize n,
                          GError **error) ACR_MUST_USE;

/* ---- A replacement being written ------------------------------------------------------------- */

/* How to interpret the indentation of new lines. */
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
    gssize *paired; /* patched line -> original line, or -1 */
    gsize step;     /* number of columns of one indentation step in the model's text */
    /* the first line of the quote lost its indentation, but the other lines did not */
    bool first_lost;
    /* the edit is a hunk that was found exactly, so its new text is used as written */
    bool verbatim;
    GArray *lines; /* array of NewLine */
} Fit;

static inline gssize file_line(const Fit *fit, gsize j)
{
    return fit->place->map ? fit->place->map[j] : (gssize)(fit->place->first + j);
}

/* Prepares a replacement for one place. All arguments are borrowed. */
void acr_fit_init(Fit *fit, const AcrSource *source, const AcrEdit *edit, const AcrMatch *match,
                  const AcrPlace *place);
void acr_fit_clear(Fit *fit);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fit, acr_fit_clear)
/* Sets `step` and `first_lost` of `fit`. */
void acr_indentation_init(Fit *fit);
/* Returns the readings to try, beginning with the likeliest; static. *out_n is their number. */
const Reading *acr_indentation_order(const Fit *fit, gsize *out_n);
/* Returns the indentation `lead`, widened or narrowed by some columns with the same kind of blanks;
 * owned. */
char *acr_fit_shift_lead(const Fit *fit, const char *lead, gsize len, gssize columns) ACR_MUST_USE;
/* Adds line f of the file to the result, unchanged. */
void acr_fit_keep(Fit *fit, gssize f);
/* Adds line k of <patched>, which follows quote line `at`. `core` (taken) replaces the line's
 * text without its indentation, unless it is NULL. */
void acr_fit_write(Fit *fit, Reading reading, gsize k, gssize at, char *core);
/* Writes the lines for a place of level `similar`: applies the differences between <original> and
 * <patched> to the file's own lines. Returns false with *out_why (owned) if a changed line cannot
 * be told from a misquoted line. */
bool acr_fit_transplant(Fit *fit, Reading reading, char **out_why);
