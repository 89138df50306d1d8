/* The replacement text for a place, as splices of the file's text; and the state of writing a
 * replacement line by line. */
#pragma once

#include "patch/match_private.h"

/* A change: bytes [off, off + len) of a source's text become `with`. */
typedef struct {
    gsize off, len;
    char *with; /* owned */
} AcrSplice;
GArray *acr_splices_new(void) ACR_MUST_USE; /* owned array of AcrSplice; it owns their texts */

/* The different readings of the replacement at one place, the likeliest first; at most three. Owned
 * array of AcrSplice, trimmed to the bytes that change. Empty, with *out_why (owned), if the
 * replacement does not fit. */
GArray *acr_replacement_readings(const AcrSource *source, const AcrEdit *edit,
                                 const AcrMatch *match, const AcrPlace *place,
                                 char **out_why) ACR_MUST_USE;
/* Applies splices (sorted by offset, not overlapping) to the file: kept bytes are copied from it,
 * new text is encoded like it. Errors: FAILED (a character that the file's encoding lacks; a file
 * that cannot be decoded exactly). */
GBytes *acr_splices_apply(const AcrSource *source, const AcrSplice *const *splices, gsize n,
                          GError **error) ACR_MUST_USE;

/* ---- A replacement being written ------------------------------------------------------------- */

/* How the indentation of new lines is interpreted. */
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
    gsize step;      /* columns of one indentation step in the model's text */
    bool first_lost; /* the first line of the quote lost its indentation, the others have it */
    bool verbatim;   /* a hunk that was found exactly: use its new text as written */
    GArray *lines;   /* array of NewLine */
} Fit;

static inline gssize file_line(const Fit *fit, gsize j)
{
    return fit->place->map ? fit->place->map[j] : (gssize)(fit->place->first + j);
}

/* Prepares a replacement for one place; all borrowed. */
void acr_fit_init(Fit *fit, const AcrSource *source, const AcrEdit *edit, const AcrMatch *match,
                  const AcrPlace *place);
void acr_fit_clear(Fit *fit);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fit, acr_fit_clear)
/* Sets `step` and `first_lost`. */
void acr_indentation_init(Fit *fit);
/* The readings to try, the likeliest first; *out_n: their number. Static. */
const Reading *acr_indentation_order(const Fit *fit, gsize *out_n);
/* Widens or narrows `lead` by some columns, with its own kind of blanks. Owned. */
char *acr_fit_shift_lead(const Fit *fit, const char *lead, gsize len, gssize columns) ACR_MUST_USE;
/* Adds line f of the file to the result, unchanged. */
void acr_fit_keep(Fit *fit, gssize f);
/* Adds line k of <patched>, which follows quote line `at`; `core` (taken): a different text for
 * the line, without indentation, or NULL. */
void acr_fit_write(Fit *fit, Reading reading, gsize k, gssize at, char *core);
/* Writes the lines for a place of level `similar`: applies the differences between <original> and
 * <patched> to the file's own lines. False with *out_why (owned) if it cannot distinguish a change
 * from a misquoted line. */
bool acr_fit_transplant(Fit *fit, Reading reading, char **out_why);
