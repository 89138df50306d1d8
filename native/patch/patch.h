/*
 * patch: a model's answer -> edits -> changed files -> diff, or a refusal that says what the model
 * needs.
 *
 * Edits are byte exact and all-or-nothing: outside the edited span every byte stays, and a place
 * that is not unique is refused. Whether code compiles is asked of a referee, which is handed in as
 * a table of functions.
 */
#ifndef ACR_PATCH_H
#define ACR_PATCH_H

#include "base/base.h"
#include "index/index.h"
#include "vcs/vcs.h"

typedef enum {
    ACR_PATCH_ERROR_FAILED,
} AcrPatchError;
#define ACR_PATCH_ERROR acr_patch_error_quark()
GQuark acr_patch_error_quark(void);

#define ACR_PATCH_MAX_ANSWER                                                                       \
    (32u * 1024 * 1024)           /* bytes; the rest of a longer answer is not read, and said so */
#define ACR_PATCH_MAX_EDITS 1000u /* of one answer; more are refused */
#define ACR_PATCH_MAX_MESSAGE (24u * 1024) /* bytes of the feedback */

/* ---- Answer -> edits ------------------------------------------------------------------------- */

/* How an edit was written. */
typedef enum {
    ACR_EDIT_TAGS,           /* <file>, <original>, <patched> */
    ACR_EDIT_SEARCH_REPLACE, /* <<<<<<< SEARCH, =======, >>>>>>> REPLACE */
    ACR_EDIT_DIFF,           /* a hunk of a unified diff, or what its headers say of a file */
    ACR_EDIT_WHOLE_FILE,     /* a fenced block that is all of a new file */
} AcrEditForm;

/* What an edit asks for. */
typedef enum {
    ACR_EDIT_CHANGE, /* `original` becomes `patched`; an empty `original` makes a file */
    ACR_EDIT_DELETE, /* the file goes; `original` is what the diff shows of it, may be "" */
    ACR_EDIT_RENAME, /* the file is called `to`; edits of it name it as it was */
    ACR_EDIT_MODE,   /* the file may be run from now on, or not: `executable` */
} AcrEditKind;

/* Another way to read an edit whose text can be cut in several ways. */
typedef struct {
    char *original, *patched; /* owned */
} AcrEditReading;

/* One edit as written. Strings are owned and valid UTF-8. */
typedef struct {
    char *file;      /* as named, trimmed; NULL when the edit has none */
    char *original;  /* without the line end right after the opening tag and the blanks before the
                        closing one; NULL if absent */
    char *patched;   /* the same; NULL if absent */
    char *complaint; /* why the edit cannot be used ("<patched> is missing"), or NULL */
    gsize off, end;  /* its bytes in the answer: [off, end); a hunk's begin behind its header */
    AcrEditForm form;
    AcrEditKind kind;
    char *to;          /* the new name, of a rename; else NULL */
    guint line;        /* 1-based line at which a diff says that `original` begins; 0: none */
    bool bare;         /* the new text has no line end at its end, as a diff says */
    bool was_bare;     /* nor has the old one */
    bool one_blank;    /* a hunk's new text is one empty line, which `patched` cannot show */
    bool executable;   /* the file may be run, of a new one or a change of its mode */
    bool makes;        /* a diff that says the file is new */
    GPtrArray *others; /* of AcrEditReading, or NULL; which is right, the file decides */
} AcrEdit;
void acr_edit_free(AcrEdit *edit);

/* The edits of an answer in order, in whatever form; owned array of AcrEdit (freed with its
 * elements), empty if there is none. Never fails. Linear. */
GPtrArray *acr_patch_parse(const char *answer, gsize len) ACR_MUST_USE;

/* ---- Referee --------------------------------------------------------------------------------- */

/* A changed file, of which one version is to be chosen. All borrowed. */
typedef struct {
    const char *path;
    GBytes *before;       /* NULL: a new file */
    GBytes *const *after; /* the versions; a single one is only there for the others to import */
    gsize n_after;        /* at least one */
} AcrRefereeFile;

#define ACR_LINT_UNKNOWN G_MAXUINT

typedef struct {
    void *ctx;
    /* Whether `source` compiles; out_message: owned, why not (NULL when it does). */
    bool (*compiles)(void *ctx, const char *path, GBytes *source, bool *out_ok, char **out_message,
                     GError **error);
    /*
     * By how many pylint errors that the file had not before each version is worse than the file's
     * best one; one lint run for all. `out_worse` has room for all versions of all files, in order;
     * ACR_LINT_UNKNOWN where the linter broke or ran out of time: then *out_why (owned) may say
     * why. That is not an error: errors end what the referee was asked for.
     */
    bool (*lint)(void *ctx, const AcrRefereeFile *files, gsize n, guint *out_worse, char **out_why,
                 GError **error);
} AcrReferee;

/* ---- Edits -> diff --------------------------------------------------------------------------- */

/* The ladder: how the quoted code was found in the file. */
typedef enum {
    ACR_LEVEL_NONE,
    ACR_LEVEL_EXACT,
    ACR_LEVEL_TRAILING, /* blanks at line ends differ */
    ACR_LEVEL_INDENT,   /* shifted as a whole */
    ACR_LEVEL_STRIP,    /* each line compared without its outer blanks */
    ACR_LEVEL_ELISION,  /* `...` lines, anchored on both sides */
    ACR_LEVEL_SIMILAR,  /* spelled or broken into lines otherwise, or lines left out unmarked */
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

/* Worst to best, as in a candidate's record. */
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

/* Where the run believes the bug to be; decides between equal places. Lines 1-based, inclusive. */
typedef struct {
    const char *file;
    guint first, last;
} AcrPatchHint;

typedef struct {
    AcrSnapshot *snapshot;     /* borrowed */
    AcrIndex *index;           /* borrowed; may be NULL: no structural help then */
    const AcrReferee *referee; /* borrowed; may be NULL: nothing is compiled then */
    const AcrPatchHint *hints; /* borrowed */
    gsize n_hints;
} AcrPatchContext;

typedef struct {
    char *file; /* owned; the resolved path, or the name as written where none was found */
    AcrLevel level;
    guint start,
        end; /* 1-based lines of the replaced span in the snapshot's file; 0 where there is none */
    AcrEditStatus status;
    char *why; /* owned; for the model; NULL when applied */
} AcrEditOutcome;

typedef struct {
    AcrExtractStatus status;
    GPtrArray *edits; /* owned; of AcrEditOutcome, one for each edit of the answer, in order */
    char *message; /* owned; the feedback for the model; "" for ACR_APPLICABLE_PATCH without dropped
                      edits */
    GBytes *diff;  /* owned; NULL unless ACR_APPLICABLE_PATCH */
    AcrOverlay *overlay; /* owned; NULL unless ACR_APPLICABLE_PATCH */
    bool wants_index;    /* there was none, and it could have led to another patch */
} AcrPatchResult;
void acr_patch_result_clear(AcrPatchResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrPatchResult, acr_patch_result_clear)

/*
 * Parses an answer, matches and applies all its edits on one overlay, asks the referee, and makes
 * the diff. A refusal is a result, not an error. Errors: FAILED (an object is missing, the referee
 * itself failed on both readings).
 */
bool acr_patch_apply(const AcrPatchContext *context, const char *answer, gsize len,
                     AcrPatchResult *out, GError **error) ACR_MUST_USE;

#endif
