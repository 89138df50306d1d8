/* patch: turns a model's answer into edits, changed files and a diff, or into a refusal that tells
 * the model what it needs.
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

#define ACR_PATCH_MAX_ANSWER                                                                       \
    (32u * 1024 * 1024) /* limit of an answer; the rest is ignored, and the feedback says so */
/* limit of edits in one answer; further ones are refused */
#define ACR_PATCH_MAX_EDITS 1000u
#define ACR_PATCH_MAX_MESSAGE (24u * 1024) /* most bytes of the feedback */

/* ---- Answer -> edits ------------------------------------------------------------------------- */

/* How an edit was written. */
typedef enum {
    ACR_EDIT_TAGS,           /* <file>, <original>, <patched> */
    ACR_EDIT_SEARCH_REPLACE, /* <<<<<<< SEARCH, =======, >>>>>>> REPLACE */
    ACR_EDIT_DIFF,           /* a hunk of a unified diff, or what its headers say about a file */
    ACR_EDIT_WHOLE_FILE,     /* a fenced block with the whole text of a new file */
} AcrEditForm;

typedef enum {
    ACR_EDIT_CHANGE, /* `original` becomes `patched`; an empty `original` creates a file */
    /* the file is deleted; `original` is the text of it that the diff shows, may be "" */
    ACR_EDIT_DELETE,
    ACR_EDIT_RENAME, /* the file is renamed to `to`; other edits use its old name */
    ACR_EDIT_MODE,   /* the file becomes executable or not: `executable` */
} AcrEditKind;

/* Another reading of an edit whose text can be cut in several ways. */
typedef struct {
    char *original, *patched; /* owned */
} AcrEditReading;

/* One edit as written. Strings are owned and valid UTF-8. */
typedef struct {
    char *file; /* the name as written, trimmed; NULL: none */
    /* without the line end after the opening tag and the blanks before the closing tag; NULL:
     * absent */
    char *original;
    char *patched;   /* in the same form as `original`; NULL: absent */
    char *complaint; /* why the edit cannot be used ("<patched> is missing"), or NULL */
    gsize off, end;  /* the edit is at [off, end) in the answer; for a hunk, without its header */
    AcrEditForm form;
    AcrEditKind kind;
    char *to;        /* the new name of a renamed file; else NULL */
    guint line;      /* 1-based line at which `original` begins according to a diff; 0: unknown */
    bool bare;       /* according to a diff, the new text lacks a line end at the end */
    bool was_bare;   /* according to a diff, the old text does */
    bool one_blank;  /* the new text of a hunk is one empty line, which `patched` cannot express */
    bool executable; /* whether the new or changed file is executable */
    bool makes;      /* according to a diff, the file is new */
    GPtrArray *others; /* AcrEditReading, or NULL; the file decides which reading is right */
} AcrEdit;
void acr_edit_free(AcrEdit *edit);

/* All edits of an answer, of all forms, in order; owned array of AcrEdit, may be empty. Never
 * fails. Linear. */
GPtrArray *acr_patch_parse(const char *answer, gsize len) ACR_MUST_USE;

/* ---- Referee --------------------------------------------------------------------------------- */

/* A changed file and the versions to choose from. All borrowed. */
typedef struct {
    const char *path;
    GBytes *before; /* NULL: a new file */
    /* the versions; if there is only one, the file is needed only because other files import it */
    GBytes *const *after;
    gsize n_after; /* at least one */
} AcrRefereeFile;

#define ACR_LINT_UNKNOWN G_MAXUINT

typedef struct {
    void *ctx;
    /* Whether `source` compiles; out_message: owned, why not, or NULL. */
    bool (*compiles)(void *ctx, const char *path, GBytes *source, bool *out_ok, char **out_message,
                     GError **error);
    /* Compares versions by their new pylint errors, in one lint run. out_worse (allocated by the
     * caller) has an entry for each version of each file, in order: how many more errors the
     * version has than the file's best version, or ACR_LINT_UNKNOWN if the linter failed or timed
     * out; *out_why (owned) may then say why. A failed linter is not an error; an error ends the
     * caller's work. */
    bool (*lint)(void *ctx, const AcrRefereeFile *files, gsize n, guint *out_worse, char **out_why,
                 GError **error);
} AcrReferee;

/* ---- Edits -> diff --------------------------------------------------------------------------- */

/* The ladder: how the quoted code was found in the file. */
typedef enum {
    ACR_LEVEL_NONE,
    ACR_LEVEL_EXACT,
    ACR_LEVEL_TRAILING, /* blanks at line ends differ */
    ACR_LEVEL_INDENT,   /* all lines shifted by the same indentation */
    ACR_LEVEL_STRIP,    /* each line is compared without its outer blanks */
    ACR_LEVEL_ELISION,  /* the quote has `...` lines with code on both sides */
    ACR_LEVEL_SIMILAR,  /* different spelling or line breaks, or lines omitted without a mark */
} AcrLevel;
const char *acr_level_name(AcrLevel level); /* "none", "exact", "trailing", … */

typedef enum {
    ACR_EDIT_APPLIED,
    ACR_EDIT_DROPPED_TEST,
    ACR_EDIT_NO_FILE,
    ACR_EDIT_UNMATCHED,
    ACR_EDIT_AMBIGUOUS,
    ACR_EDIT_OVERLAP,
    ACR_EDIT_EMPTY_ORIGINAL,
} AcrEditStatus;
const char *acr_edit_status_name(AcrEditStatus status); /* "applied", "dropped_test", … */

/* From worst to best, as in extract_status.json. */
typedef enum {
    ACR_NO_PATCH,
    ACR_RAW_PATCH_BUT_UNPARSED,
    ACR_RAW_PATCH_BUT_UNMATCHED,
    ACR_MATCHED_BUT_BREAKS_SYNTAX,
    ACR_MATCHED_BUT_EMPTY_DIFF,
    ACR_MATCHED_BUT_EMPTY_ORIGIN,
    ACR_APPLICABLE_PATCH,
} AcrExtractStatus;
const char *acr_extract_status_name(AcrExtractStatus status); /* "NO_PATCH", … */
/* The same for a person: "the model's edits change nothing". */
const char *acr_extract_status_words(AcrExtractStatus status);

/* A bug location of the run; it decides between several equal places. Lines 1-based, inclusive. */
typedef struct {
    const char *file;
    guint first, last;
} AcrPatchHint;

typedef struct {
    AcrSnapshot *snapshot;     /* borrowed */
    AcrIndex *index;           /* borrowed; NULL: no help from symbols */
    const AcrReferee *referee; /* borrowed; NULL: nothing is compiled */
    const AcrPatchHint *hints; /* borrowed */
    gsize n_hints;
} AcrPatchContext;

typedef struct {
    char *file; /* owned; the resolved path; if it was not found, the name as written */
    AcrLevel level;
    guint start, end; /* 1-based lines of the replaced span in the snapshot's file; 0: none */
    AcrEditStatus status;
    char *why; /* owned; for the model; NULL if applied */
} AcrEditOutcome;

typedef struct {
    AcrExtractStatus status;
    GPtrArray *edits; /* owned array of AcrEditOutcome, one for each edit of the answer, in order */
    /* owned; the feedback for the model; "" for ACR_APPLICABLE_PATCH without dropped edits */
    char *message;
    GBytes *diff;        /* owned; NULL unless ACR_APPLICABLE_PATCH */
    AcrOverlay *overlay; /* owned; NULL unless ACR_APPLICABLE_PATCH */
    bool wants_index;    /* there was no index, but one might have led to another patch */
} AcrPatchResult;
void acr_patch_result_clear(AcrPatchResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrPatchResult, acr_patch_result_clear)

/* Parses an answer, matches and applies all its edits on one overlay, asks the referee, and makes
 * the diff. A refusal is a result, not an error. Errors: FAILED (an object is missing; the referee
 * failed on both readings). */
bool acr_patch_apply(const AcrPatchContext *context, const char *answer, gsize len,
                     AcrPatchResult *out, GError **error) ACR_MUST_USE;
