/* The state of applying an answer: the files that it edits, and the edits for which a place was
 * found. */
#pragma once

#include <string.h>

#include "patch/parse_private.h"
#include "patch/replacement_private.h"

/* ---- Edits whose places are known ------------------------------------------------------------ */

typedef struct {
    guint number;     /* number of the edit in the answer, from 0 */
    GArray *readings; /* owned array of AcrSplice arrays, one for each reading; not empty */
    /* owned; the match from which the readings are made; it has no places if none is known */
    AcrMatch match;
    AcrPlace place;    /* borrowed from `match` */
    guint chosen;      /* index of the chosen reading */
    gsize first, last; /* [first, last): the bytes of the text that the readings touch */
} Located;

/* Makes an edit with known readings; owned (acr_patch_located_free). */
Located *acr_patch_located_new(guint number, GArray *readings) ACR_MUST_USE;
void acr_patch_located_free(gpointer located);

/* The input for choosing the readings of the edits of one file. The edits are sorted and do not
 * overlap. All members are borrowed. */
typedef struct {
    const AcrSource *source;
    Located *const *edits;
    gsize n;
    GBytes **out_after; /* receives the file's new contents, owned */
} AcrChoice;

/* Chooses a reading for every edit and makes the new contents of the files. The referee drops the
 * combinations of readings that do not compile. If several are left in a file, one lint run selects
 * the best. The first combination is used if the linter cannot decide, if there are too many bytes
 * to lint, if there is no referee, and for files that are not Python. Errors: FAILED (as
 * acr_splices_apply; the referee failed on all readings; the linter failed). */
bool acr_patch_choose_readings(const AcrReferee *referee, AcrChoice *choices, gsize n,
                               GError **error) ACR_MUST_USE;

/* Whether a change of a file is acceptable: the file compiles, or did not compile before the
 * change either. *out_broken (owned) says why it is not acceptable; otherwise NULL. */
bool acr_patch_may_stand(const AcrReferee *referee, const char *path, GBytes *before, GBytes *after,
                         char **out_broken, GError **error) ACR_MUST_USE;

/* ---- An answer and its files ----------------------------------------------------------------- */

typedef struct {
    const AcrPatchContext *context;
    char *answer; /* owned; UTF-8 */
    bool cut;     /* the answer was too long, so its end was ignored */
    AcrFileNames *names;
    GPtrArray *edits;    /* array of AcrEdit */
    GPtrArray *outcomes; /* array of AcrEditOutcome */
    GPtrArray *files;    /* array of File */
    GHashTable *by_path; /* path -> File, borrowed */
    GHashTable *places;  /* number of an ambiguous edit -> GArray of AcrPlace */
    AcrOverlay *overlay;
    /* number of bytes searched so far in files that do not contain an edit's exact quote */
    gsize searched;
    bool wants_index; /* copied to AcrPatchResult.wants_index */
} Work;

/* A file that the answer edits. */
typedef struct {
    char *path;
    AcrSource *source;  /* from the snapshot; NULL if the file is new */
    guint32 mode;       /* mode in the snapshot, or of the new file; 0 means ACR_MODE_FILE */
    bool has_mode;      /* an edit sets the mode */
    bool gone;          /* an edit deletes the file */
    char *to;           /* owned; the new name if an edit renames the file; otherwise NULL */
    GPtrArray *located; /* array of Located */
    /* array of guint: the numbers of the edits whose quotes are not in the snapshot's text */
    GArray *waiting;
    GBytes *after; /* the contents with the edits applied */
    /* owned; why the result does not compile, although the file compiled before; otherwise NULL */
    char *broken;
} File;

static inline const AcrEdit *edit_at(const Work *work, guint number)
{
    return work->edits->pdata[number];
}

static inline AcrEditOutcome *outcome_at(const Work *work, guint number)
{
    return work->outcomes->pdata[number];
}

/* Sets the outcome of an edit; `why` is taken. */
void acr_patch_refuse(const Work *work, guint number, AcrEditStatus status, char *why);
/* Returns the words that name an edit's quoted part in messages to the model; static. */
const char *acr_edit_quote_name(const AcrEdit *edit);
/* Opens a file of the snapshot, and returns it, borrowed; NULL with `error` if the file cannot be
 * read. */
File *acr_patch_open_file(Work *work, const char *path, GError **error) ACR_MUST_USE;
void acr_patch_file_free(gpointer file);
/* Returns the number of edits with the outcome `status`. */
guint acr_patch_count(const Work *work, AcrEditStatus status);

static inline bool acr_is_blank_text(const char *text)
{
    return text[strspn(text, " \t\r\n\f\v")] == '\0';
}

/* ---- HTML escapes (escapes.c) ---------------------------------------------------------------- */

/* Returns `text` with HTML escapes of ASCII characters decoded, owned; NULL if it has no
 * escapes. */
char *acr_text_unescape(const char *text) ACR_MUST_USE;
/* Decodes the escapes in all edits if the answer was escaped. Otherwise refuses edits with escapes
 * in new Python code. */
void acr_patch_unescape(const Work *work);

/* ---- One edit's place (choose_place.c) ------------------------------------------------------- */

/* Finds the place of one edit in a text, and returns it, owned. Returns NULL if the edit was
 * refused, or if its code was not found (sets *out_missing). If the edit has several readings,
 * moves the reading that was found to the front. */
Located *acr_patch_choose_place(Work *work, guint number, const AcrSource *source,
                                bool *out_missing) ACR_MUST_USE;
/* Whether the limit on searched bytes allows another search. Without another search,
 * acr_patch_choose_place finds nothing. */
bool acr_patch_may_search(const Work *work);

/* Widens the match to the function that contains the place (sets *out_widened) if the replacement
 * is the whole function, or refuses the edit and returns false. */
bool acr_patch_take_whole_function(Work *work, guint number, const AcrSource *source,
                                   AcrMatch *match, gsize chosen, bool *out_widened) ACR_MUST_USE;

/* ---- All edits of a file (apply_files.c) ----------------------------------------------------- */

/* Sorts the edits of a file, drops repeated edits, and refuses edits that change each other's
 * lines. */
void acr_patch_settle(const Work *work, File *file);
/* Each of the following functions handles one edit of a path that may be written. It returns false
 * if the file cannot be read (sets `error`). */
void acr_patch_create_file(Work *work, guint number, const char *path);
bool acr_patch_fill_file(Work *work, guint number, const char *path, GError **error) ACR_MUST_USE;
bool acr_patch_delete_file(Work *work, guint number, const char *path, GError **error) ACR_MUST_USE;
bool acr_patch_rename_file(Work *work, guint number, const char *path, GError **error) ACR_MUST_USE;
bool acr_patch_set_mode(Work *work, guint number, const char *path, GError **error) ACR_MUST_USE;
/* Whether the lines of a block occur in a text in the same order; the block may contain
 * elisions. */
bool acr_patch_shows(const AcrEdit *block, GBytes *text);

/* Returns the feedback for the model, owned; "" if there is nothing to say. */
char *acr_patch_message(const Work *work, AcrExtractStatus status) ACR_MUST_USE;
