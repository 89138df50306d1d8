/* patch: turns a model's answer into edits, changed files and a diff, or into a refusal that tells
 * the model how to correct its answer.
 *
 * Edits are byte exact and all-or-nothing: every byte outside the edited span stays the same, and
 * an edit whose place is not unique is refused. A referee, passed in as a table of functions, says
 * whether code compiles. */
#pragma once

#include "base/base.h"
#include "index/index.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_PATCH_ERROR_FAILED,
} AcrPatchError;
#define ACR_PATCH_ERROR acr_patch_error_quark()
GQuark acr_patch_error_quark(void);

/* maximum size of an answer in bytes; further bytes are ignored, and the feedback says so */
#define ACR_PATCH_MAX_ANSWER (32u * 1024 * 1024)
/* maximum number of edits in one answer; further edits are refused */
#define ACR_PATCH_MAX_EDITS 1000u
#define ACR_PATCH_MAX_MESSAGE (24u * 1024) /* maximum size of the feedback in bytes */

/* ---- Answer -> edits ------------------------------------------------------------------------- */

/* The form in which an edit was written. */
typedef enum {
    ACR_EDIT_TAGS,           /* <file>, <original>, <patched> */
    ACR_EDIT_SEARCH_REPLACE, /* <<<<<<< SEARCH, =======, >>>>>>> REPLACE */
    /* a hunk of a unified diff, or a change of a file that the diff's headers state */
    ACR_EDIT_DIFF,
    ACR_EDIT_WHOLE_FILE, /* a fenced block with the whole text of a new file */
} AcrEditForm;

typedef enum {
    ACR_EDIT_CHANGE, /* `original` becomes `patched`; an empty `original` creates a file */
    /* the file is deleted; `original` is the part of its text that the diff shows, may be "" */
    ACR_EDIT_DELETE,
    ACR_EDIT_RENAME, /* the file is renamed to `to`; other edits use its old name */
    ACR_EDIT_MODE,   /* the file becomes executable or not, as `executable` says */
} AcrEditKind;

/* Another reading of an edit whose text can be cut in several ways. */
typedef struct {
    char *original, *patched; /* owned */
} AcrEditReading;

/* An edit as the model wrote it. Strings are owned and valid UTF-8. */
typedef struct {
    char *file; /* the file's name as written, trimmed; NULL if there is none */
    /* the quoted text, without the line end after the opening tag and the blanks before the closing
     * tag; NULL if absent */
    char *original;
    char *patched;   /* the new text, in the same form as `original`; NULL if absent */
    char *complaint; /* why the edit cannot be used ("<patched> is missing"); otherwise NULL */
    /* [off, end): the bytes of the edit in the answer; for a hunk, without the header */
    gsize off, end;
    AcrEditForm form;
    AcrEditKind kind;
    char *to;        /* the new name of a renamed file; otherwise NULL */
    guint line;      /* 1-based line at which `original` begins according to a diff; 0 if unknown */
    bool bare;       /* according to a diff, the last line of the new text has no line end */
    bool was_bare;   /* according to a diff, the last line of the old text has no line end */
    bool one_blank;  /* the new text of a hunk is one empty line, which `patched` cannot express */
    bool executable; /* whether the new or changed file is executable */
    bool makes;      /* according to a diff, the file is new */
    /* array of AcrEditReading, or NULL; the file determines which reading is right */
    GPtrArray *others;
} AcrEdit;
void acr_edit_free(AcrEdit *edit);

/* Returns all edits of an answer, of all forms, in order; owned array of AcrEdit, may be empty.
 * Never fails. Takes linear time. */
GPtrArray *acr_patch_parse(const char *answer, gsize len) ACR_MUST_USE;

/* ---- Referee --------------------------------------------------------------------------------- */

/* A changed file and the versions to choose from. All members are borrowed. */
typedef struct {
    const char *path;
    GBytes *before; /* NULL if the file is new */
    /* the versions; a file with only one version is given only because other files import it */
    GBytes *const *after;
    gsize n_after; /* number of versions; at least 1 */
} AcrRefereeFile;

#define ACR_LINT_UNKNOWN G_MAXUINT

typedef struct {
    void *ctx;
    /* Sets *out_ok to whether `source` compiles. *out_message says why it does not (owned), or is
     * NULL. */
    bool (*compiles)(void *ctx, const char *path, GBytes *source, bool *out_ok, char **out_message,
                     GError **error);
    /* Compares versions by their new pylint errors, in one lint run. out_worse (allocated by the
     * caller) has an entry for each version of each file, in order. An entry is the number of
     * errors that the version has more than the file's best version, or ACR_LINT_UNKNOWN if the
     * linter failed or timed out; *out_why (owned) may then say why. A failure of the linter is not
     * an error; any error makes acr_patch_apply fail. */
    bool (*lint)(void *ctx, const AcrRefereeFile *files, gsize n, guint *out_worse, char **out_why,
                 GError **error);
} AcrReferee;

/* ---- Edits -> diff --------------------------------------------------------------------------- */

/* The levels on which a search tries to find the quoted code. */
typedef enum {
    ACR_LEVEL_NONE,
    ACR_LEVEL_EXACT,
    ACR_LEVEL_TRAILING, /* blanks at the ends of lines differ */
    ACR_LEVEL_INDENT,   /* all lines are shifted by the same indentation */
    ACR_LEVEL_STRIP,    /* each line is compared without blanks at its beginning and end */
    ACR_LEVEL_ELISION,  /* the quote has `...` lines between lines of code */
    /* spelling or line breaks differ, or the quote omits lines without a mark */
    ACR_LEVEL_SIMILAR,
} AcrLevel;
const char *acr_level_name(AcrLevel level); /* returns "none", "exact", … */

typedef enum {
    ACR_EDIT_APPLIED,
    ACR_EDIT_DROPPED_TEST,
    ACR_EDIT_NO_FILE,
    ACR_EDIT_UNMATCHED,
    ACR_EDIT_AMBIGUOUS,
    ACR_EDIT_OVERLAP,
    ACR_EDIT_EMPTY_ORIGINAL,
} AcrEditStatus;
const char *acr_edit_status_name(AcrEditStatus status); /* returns "applied", … */

/* The result of an answer, from worst to best, as in extract_status.json. */
typedef enum {
    ACR_NO_PATCH,
    ACR_RAW_PATCH_BUT_UNPARSED,
    ACR_RAW_PATCH_BUT_UNMATCHED,
    ACR_MATCHED_BUT_BREAKS_SYNTAX,
    ACR_MATCHED_BUT_EMPTY_DIFF,
    ACR_MATCHED_BUT_EMPTY_ORIGIN,
    ACR_APPLICABLE_PATCH,
} AcrExtractStatus;
const char *acr_extract_status_name(AcrExtractStatus status); /* returns "NO_PATCH", … */
/* Returns the status in words for a person, such as "the model's edits change nothing". */
const char *acr_extract_status_words(AcrExtractStatus status);

/* A bug location of the run, which helps to choose between several equal places. Lines are
 * 1-based and inclusive. */
typedef struct {
    const char *file;
    guint first, last;
} AcrPatchHint;

typedef struct {
    AcrSnapshot *snapshot;     /* borrowed */
    AcrIndex *index;           /* borrowed; NULL: symbols do not help to choose places */
    const AcrReferee *referee; /* borrowed; NULL: no code is compiled */
    const AcrPatchHint *hints; /* borrowed */
    gsize n_hints;
} AcrPatchContext;

typedef struct {
    char *file;  /* owned; the resolved path, or the name as written if it was not found */
    char *asked; /* owned; the name as written if `file` is the nearest path to it; or NULL */
    AcrLevel level;
    /* 1-based lines of the replaced span in the snapshot's file; 0 if there are none */
    guint start, end;
    AcrEditStatus status;
    char *why;   /* owned; why the edit was not applied, for the model; NULL if it was applied */
    char *quote; /* owned; first line of the code that the edit quotes; NULL if there is none */
} AcrEditOutcome;

typedef struct {
    AcrExtractStatus status;
    GPtrArray *edits; /* owned array of AcrEditOutcome, one for each edit of the answer, in order */
    /* owned; the feedback for the model; "" if the status is ACR_APPLICABLE_PATCH and no edit
     * was dropped */
    char *message;
    GBytes *diff;        /* owned; NULL unless the status is ACR_APPLICABLE_PATCH */
    AcrOverlay *overlay; /* owned; NULL unless the status is ACR_APPLICABLE_PATCH */
    bool wants_index;    /* without an index, the patch may differ from the patch with an index */
} AcrPatchResult;
void acr_patch_result_clear(AcrPatchResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrPatchResult, acr_patch_result_clear)

/* Parses an answer, matches and applies all its edits on one overlay, asks the referee, and makes
 * the diff. A refusal is a result, not an error. Errors: FAILED (an object is missing; the referee
 * failed on all readings). */
bool acr_patch_apply(const AcrPatchContext *context, const char *answer, gsize len,
                     AcrPatchResult *out, GError **error) ACR_MUST_USE;

/* Returns the files that a diff in git's format changes, in order; owned array of char *, each
 * "path (+2 -1)". `diff` may be NULL. */
GPtrArray *acr_patch_files(GBytes *diff) ACR_MUST_USE;
