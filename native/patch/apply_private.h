/*
 * An answer at work: the files that it edits, and its edits whose places are known.
 */
#ifndef ACR_PATCH_APPLY_PRIVATE_H
#define ACR_PATCH_APPLY_PRIVATE_H

#include <string.h>

#include "patch/parse_private.h"
#include "patch/replacement_private.h"

/* ---- Edits whose places are known ------------------------------------------------------------ */

typedef struct {
    guint number;      /* of the edit in the answer, from 0 */
    GArray *readings;  /* owned; of AcrSplice; at least one */
    AcrMatch match;    /* owned; what the readings were made of; without places: not known */
    AcrPlace place;    /* borrowed from `match` */
    guint chosen;      /* of the readings */
    gsize first, last; /* the bytes of the text that any reading touches: [first, last) */
} Located;

Located *acr_patch_located_new(guint number, GArray *readings) ACR_MUST_USE; /* owned */
void acr_patch_located_free(gpointer located);

/* Which readings of one file's edits (sorted, not overlapping) are right. All borrowed. */
typedef struct {
    const AcrSource *source;
    Located *const *edits;
    gsize n;
    GBytes **out_after; /* where the result goes; that is owned */
} AcrChoice;

/*
 * Makes each file with all its edits applied, each edit in the reading that the referee keeps: the
 * combinations of readings that compile, and of several in any file those that one lint run finds
 * best. The first stays where the linter cannot say, where the bytes to lint are too many, without
 * a referee, and of files that are not Python. Errors: FAILED (as acr_splices_apply; the referee
 * failed on all readings; the lint's error).
 */
bool acr_patch_choose_readings(const AcrReferee *referee, AcrChoice *choices, gsize n,
                               GError **error) ACR_MUST_USE;

/* Whether a change of a file may stand: it compiles, or did not before either. *out_broken (owned):
 * why not, NULL where it may. */
bool acr_patch_may_stand(const AcrReferee *referee, const char *path, GBytes *before, GBytes *after,
                         char **out_broken, GError **error) ACR_MUST_USE;

/* ---- An answer and its files ----------------------------------------------------------------- */

typedef struct {
    const AcrPatchContext *context;
    char *answer; /* owned; UTF-8 */
    bool cut;     /* the answer was longer than is read */
    AcrFileNames *names;
    GPtrArray *edits;    /* of AcrEdit */
    GPtrArray *outcomes; /* of AcrEditOutcome */
    GPtrArray *files;    /* of File */
    GHashTable *by_path; /* path -> File, borrowed */
    GHashTable *places;  /* edit number -> GArray of AcrPlace, of ambiguous edits */
    AcrOverlay *overlay;
    gsize searched; /* bytes of files in which edits were searched for and not found as they are */
    bool wants_index; /* as that of the result */
} Work;

/* A file that the answer edits. */
typedef struct {
    char *path;
    AcrSource *source;  /* as in the snapshot; NULL: a new file */
    guint32 mode;       /* as in the snapshot, or that of the new file; 0: ACR_MODE_FILE */
    bool has_mode;      /* an edit sets it */
    bool gone;          /* an edit deletes it */
    char *to;           /* owned; the name that an edit gives it, or NULL */
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

/* Sets the outcome of an edit; `why`: taken. */
void acr_patch_refuse(const Work *work, guint number, AcrEditStatus status, char *why);
/* What the quoted part of an edit is called, for the model. */
const char *acr_edit_quote_name(const AcrEdit *edit);
/* The file of that path of the snapshot; borrowed; NULL with `error` when it cannot be read. */
File *acr_patch_open_file(Work *work, const char *path, GError **error) ACR_MUST_USE;
void acr_patch_file_free(gpointer file);
/* How many edits have that outcome. */
guint acr_patch_count(const Work *work, AcrEditStatus status);

static inline bool acr_is_blank_text(const char *text)
{
    return text[strspn(text, " \t\r\n\f\v")] == '\0';
}

/* ---- HTML escapes (escapes.c) ---------------------------------------------------------------- */

/* `text` without its HTML escapes of ASCII; owned, NULL: it has none. */
char *acr_text_unescape(const char *text) ACR_MUST_USE;
/* Takes the escapes off all edits of an answer that was escaped; refuses edits that have some in new
 * Python code of an answer that was not. */
void acr_patch_unescape(const Work *work);

/* ---- One edit's place (choose_place.c) ------------------------------------------------------- */

/* Finds one edit in a text; owned; NULL: refused, or not found (then *out_missing). Of several
 * readings the edit keeps first the one that was found. */
Located *acr_patch_choose_place(Work *work, guint number, const AcrSource *source,
                                bool *out_missing) ACR_MUST_USE;
/* Whether more may be searched; where not, acr_patch_choose_place finds nothing. */
bool acr_patch_may_search(const Work *work);

/* Where the replacement is all of the function that the place is in: the match becomes one of the
 * whole function (*out_widened), or the edit is refused (false). */
bool acr_patch_take_whole_function(Work *work, guint number, const AcrSource *source,
                                   AcrMatch *match, gsize chosen, bool *out_widened) ACR_MUST_USE;

/* ---- All edits of a file (apply_files.c) ----------------------------------------------------- */

/* Sorts the edits of a file, takes out repeated ones, refuses those that touch the lines of
 * another. */
void acr_patch_settle(const Work *work, File *file);
/* Each takes one edit, whose path may be written. False: the file cannot be read (`error`). */
void acr_patch_create_file(Work *work, guint number, const char *path);
bool acr_patch_fill_file(Work *work, guint number, const char *path, GError **error) ACR_MUST_USE;
bool acr_patch_delete_file(Work *work, guint number, const char *path, GError **error) ACR_MUST_USE;
bool acr_patch_rename_file(Work *work, guint number, const char *path, GError **error) ACR_MUST_USE;
bool acr_patch_set_mode(Work *work, guint number, const char *path, GError **error) ACR_MUST_USE;
/* Whether the lines of a block stand in a text in their order: it shows them. Lines that stand for
 * others may be among them. */
bool acr_patch_shows(const AcrEdit *block, GBytes *text);

/* The feedback for the model; "" where there is nothing to say. Owned. */
char *acr_patch_message(const Work *work, AcrExtractStatus status) ACR_MUST_USE;

#endif
