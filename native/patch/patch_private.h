/*
 * Shared inside native/patch: lines of a text, a source file with its decoded text, places that the
 * ladder found, and the replacement text that fitting makes for a place.
 */
#ifndef ACR_PATCH_PRIVATE_H
#define ACR_PATCH_PRIVATE_H

#include "patch/patch.h"

#define ACR_PATCH_MAX_PLACES 64u       /* equal places that are told apart; more are just "many" */
#define ACR_PATCH_MAX_READINGS 3u      /* of one replacement */
#define ACR_PATCH_MAX_COMBINATIONS 64u /* of readings, in one file */
#define ACR_REFEREE_MAX_LINTED 4u      /* versions of one file that are given to the linter */
/* Bytes of a text that is compiled: Python takes some 300 times as much memory for it. Of longer
 * ones the first reading stays, and whether they compile is not asked. */
#define ACR_REFEREE_MAX_COMPILED (4u * 1024 * 1024)
/* Bytes of all texts of one lint run: some 20 s of pylint, so that its deadline is never near. */
#define ACR_REFEREE_MAX_LINT_BYTES (2u * 1024 * 1024)
#define ACR_PATCH_MAX_ALIGN_CELLS                                                                  \
    4000000u /* of one line alignment; above it only equal ends are aligned */
#define ACR_PATCH_MAX_SCAN 50000000u     /* line comparisons of one search that is not linear */
#define ACR_PATCH_MAX_CUTS 1000u         /* occurrences inside words that one search passes over */
#define ACR_SIMILAR_MAX_QUOTE_LINES 400u /* a longer quote is not searched by similarity */
#define ACR_SIMILAR_MAX_CELLS                                                                      \
    8000000u                    /* quote lines x file lines; 400 lines in a file of 20,000         \
                                 */
#define ACR_SIMILAR_MIN 0.80    /* score that a place needs to be taken for what was quoted */
#define ACR_SIMILAR_MARGIN 0.05 /* by which it must beat every other place */

/* ---- Lines ----------------------------------------------------------------------------------- */

/* One line, a view into a text. `len` is without the line end, `full` with it; `lead` blanks, then
 * `core` bytes, then blanks. */
typedef struct {
    const char *s;
    gsize len, full, lead, core;
} AcrLine;

typedef struct {
    AcrLine *line; /* owned */
    gsize n;
} AcrLines;

/* The lines of a file's text: a line end at the end of the text begins no further line. Views into
 * `text`. */
void acr_lines_of_file(const char *text, gsize len, AcrLines *out);
/* The lines of a quote: n line ends make n + 1 lines; the empty text has none. Views into `text`.
 */
void acr_lines_of_quote(const char *text, AcrLines *out);
void acr_lines_clear(AcrLines *lines);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrLines, acr_lines_clear)
AcrLine acr_line_make(const char *s, gsize len, gsize full);

static inline bool acr_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f' || c == '\v';
}
/* Columns of a run of leading blanks; a tab goes on to the next multiple of eight. */
gsize acr_line_width(const char *s, gsize lead);
static inline bool acr_line_is_blank(const AcrLine *line)
{
    return line->core == 0;
}
bool acr_line_same_core(const AcrLine *a, const AcrLine *b);    /* without outer blanks */
bool acr_line_same_trimmed(const AcrLine *a, const AcrLine *b); /* without blanks at the end */
bool acr_line_same_exact(const AcrLine *a, const AcrLine *b);

/*
 * Pairs equal lines of `a` and `b` in order (longest common subsequence, blanks at line ends
 * ignored): out[j] is the number in `a` of line j of `b`, or -1. `out` has room for b->n. O(a*b) up
 * to ACR_PATCH_MAX_ALIGN_CELLS.
 */
void acr_lines_align(const AcrLine *a, gsize na, const AcrLine *b, gsize nb, gssize *out);

/* ---- Source file ----------------------------------------------------------------------------- */

typedef struct {
    char *path;    /* owned */
    GBytes *bytes; /* owned */
    AcrText text;
    AcrLines lines; /* views into text.text */
} AcrSource;
AcrSource *acr_source_new(const char *path, GBytes *bytes) ACR_MUST_USE; /* owned */
void acr_source_free(AcrSource *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrSource, acr_source_free)
/* The line end that a new line at line `at` (0-based, may be n) should have. Borrowed static text.
 */
const char *acr_source_eol(const AcrSource *source, gsize at);

/* ---- Ladder ---------------------------------------------------------------------------------- */

/* Where a quote stands in a file. Lines 0-based, [first, last). */
typedef struct {
    gsize first, last;
    bool inside;               /* begins or ends inside a line: */
    gsize col_first, col_last; /*   byte columns in line `first` and in line `last - 1` */
    /* Owned; quote line -> file line or -1; NULL: quote line j is line first + j. At level
     * `similar` twice as long: map[n + j] is the file's line behind those of quote line j, and
     * quote lines that stand in one line of the file have the same. */
    gssize *map;
} AcrPlace;

/* The quote as it was finally read: after taking off line numbers, outer blank lines, escapes. */
typedef struct {
    AcrLevel level;
    GArray *places;             /* owned; of AcrPlace; empty: not found */
    bool many;                  /* more places than ACR_PATCH_MAX_PLACES */
    AcrLines original, patched; /* as matched; views into the edit or into `store` */
    GPtrArray *store;           /* owned texts */
    char *why; /* owned; why it must be refused although the code was found, or NULL */
} AcrMatch;
void acr_match_clear(AcrMatch *match);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrMatch, acr_match_clear)

/* Searches the levels in order; the first that has a place wins. Linear but for the bounded levels.
 */
void acr_ladder_find(const AcrSource *source, const char *original, const char *patched,
                     AcrMatch *out);
/* The quote as it is read (quote.c). Each takes the same off both parts and is false, or 0, where
 * there is nothing to take. */
void acr_quote_read(AcrMatch *match, const char *original, const char *patched); /* borrowed */
bool acr_quote_trim_blank(AcrMatch *match);    /* outer blank lines */
bool acr_quote_trim_elisions(AcrMatch *match); /* elisions at the same end of both parts */
gsize acr_quote_take_numbers(AcrMatch *match); /* line numbers; that of the first line */
/* Reads both parts anew without HTML escapes. */
bool acr_quote_unescape(AcrMatch *match, const char *original, const char *patched);

/* A line that stands for code left out: `...`, `# ...`, `# rest of the method unchanged`. */
bool acr_line_is_elision(const AcrLine *line);
gsize acr_elision_count(const AcrLines *lines);
/* Looks for a quote with elisions, anchored by code on both sides of each; adds its places and sets
 * the level. */
bool acr_elision_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match);
/* Takes what the place points to. */
void acr_match_add_place(AcrMatch *match, const AcrPlace *place);

/* Number of the place that the answer's words (near the edit) or else the hints decide on, or -1.
 */
gssize acr_decide_place(const AcrPatchContext *context, const char *path, const AcrMatch *match,
                        const char *words, gsize words_len);

/* ---- Level `similar`, its rules in order ---------------------------------------------------- */

#define ACR_LOOSE_MIN 8u /* characters that a loose search needs, blanks not counted */

/* The quote but for blanks, line breaks, quotation marks, brackets around conditions. Linear. */
bool acr_loose_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match);
/* Equal for lines that differ in blanks and quotation marks only. */
guint64 acr_loose_hash(const AcrLine *line);
/* The quote with lines of the file left out, unmarked. Bounded by ACR_PATCH_MAX_SCAN. */
bool acr_skip_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match);
/* The quote mistyped: likeness, one clear winner. O(quote lines * file lines). */
bool acr_alike_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match);
/* Maps blank quote lines (a map of level `similar`) to blank lines that stand at the same point. */
void acr_map_blank_lines(const AcrLines *file, const AcrLines *quote, gssize *map);
/* The line behind the string that is a statement and begins at line `at`; `at` if none does. */
gsize acr_string_end(const AcrLines *file, gsize at);
bool acr_line_opens_block(const AcrLine *line); /* ends in a colon */
/* The words that occur in the lines; owned set of strings. */
GHashTable *acr_words_known(const AcrLines *lines) ACR_MUST_USE;
/* Whether two lines differ otherwise than by typing errors: a word of `known` that is quoted for
 * another, a word that turns the sense. */
bool acr_words_differ(const AcrLine *quoted, const AcrLine *theirs, GHashTable *known);
/* The line `theirs` with what `ours` changes of `base`; owned, NULL: both change the same words. */
char *acr_words_merge(const AcrLine *base, const AcrLine *theirs, const AcrLine *ours) ACR_MUST_USE;
/* How alike two lines are: 1 for equal ones without outer blanks, 0 for different ones. */
double acr_line_likeness(const AcrLine *a, const AcrLine *b);

/* ---- Similarity ------------------------------------------------------------------------------ */

typedef struct {
    gsize first, last; /* 0-based, [first, last) */
    double score;      /* 0 to 1 */
} AcrRegion;

/*
 * The regions of `text` most like `quote`, best first, at most `max`, not overlapping. Owned array
 * of AcrRegion; empty when a bound is passed. O(quote lines * text lines).
 */
GArray *acr_similar_find(const AcrLines *text, const AcrLines *quote, gsize max) ACR_MUST_USE;
/* Pairs quote lines with lines of the region; owned, a map of level `similar`: see AcrPlace. */
gssize *acr_similar_map(const AcrLines *text, const AcrLines *quote,
                        const AcrRegion *region) ACR_MUST_USE;

/* ---- Fitting --------------------------------------------------------------------------------- */

/* A change of a source: bytes [off, off + len) of its text become `with`. */
typedef struct {
    gsize off, len;
    char *with; /* owned */
} AcrSplice;
void acr_splice_clear(AcrSplice *splice);

/*
 * The readings of the replacement at one place, the likeliest first, all different; at most
 * ACR_PATCH_MAX_READINGS. Owned array of AcrSplice, trimmed to what changes. Empty with *out_why
 * (owned) when it cannot be fitted.
 */
GArray *acr_fit_readings(const AcrSource *source, const AcrMatch *match, const AcrPlace *place,
                         char **out_why) ACR_MUST_USE;
/*
 * The file with splices (sorted by offset, not overlapping) applied: kept bytes are copied from the
 * file, new ones encoded as it is. Errors: FAILED (a character that the file's encoding lacks, a
 * file that cannot be decoded exactly).
 */
GBytes *acr_fit_apply(const AcrSource *source, const AcrSplice *const *splices, gsize n,
                      GError **error) ACR_MUST_USE;

/* ---- File names ------------------------------------------------------------------------------ */

typedef struct AcrFileNames AcrFileNames;
AcrFileNames *acr_file_names_new(AcrSnapshot *snapshot) ACR_MUST_USE; /* owned */
void acr_file_names_free(AcrFileNames *names);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrFileNames, acr_file_names_free)
/*
 * The path that `name` stands for: exact, by whole parts from the right, the same without a first
 * part that is no folder of the repository, or (unless `may_be_new`) by a base name that occurs
 * once. Owned; NULL: none, then *out_near (owned, never NULL) lists the
 * near ones, best first.
 */
char *acr_file_names_resolve(const AcrFileNames *names, const char *name, bool may_be_new,
                             GPtrArray **out_near) ACR_MUST_USE;
/* `name` without quotes, "./" and a colon at its end. Owned. */
char *acr_file_name_clean(const char *name) ACR_MUST_USE;
/* The path that a new file of that name gets: "a/" and the like are taken off where what is left
 * lies in a folder of the repository. Owned. */
char *acr_file_names_make(const AcrFileNames *names, const char *name) ACR_MUST_USE;
/* Why a (clean) name may not be written, for the model; owned, or NULL. */
char *acr_file_name_refusal(const AcrFileNames *names, const AcrOverlay *overlay,
                            const char *name) ACR_MUST_USE;
bool acr_file_names_has_folder(const AcrFileNames *names, const char *folder);
/* An answer without its HTML escapes. Owned. */
char *acr_answer_unescape(const char *s, gsize len) ACR_MUST_USE;

#endif
