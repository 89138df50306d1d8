/* Finds quoted code in a file: reads the quote, searches for it level by level, and finds the
 * regions of a file that are most similar to the quote. */
#pragma once

#include "patch/source_private.h"

/* maximum number of equal places that are listed; if there are more, `many` is set */
#define ACR_PATCH_MAX_PLACES 64u
/* maximum number of line comparisons in a search that is not linear */
#define ACR_PATCH_MAX_SCAN 50000000u
/* how many occurrences inside words a search skips before the search gives up */
#define ACR_PATCH_MAX_CUTS 1000u
/* a quote with more lines is not searched by similarity */
#define ACR_SIMILAR_MAX_QUOTE_LINES 400u
/* Maximum product of the numbers of quote lines and file lines, such as 400 lines in a file of
 * 20,000. */
#define ACR_SIMILAR_MAX_CELLS 8000000u

/* A place where a quote was found in a file. Lines are 0-based: [first, last). */
typedef struct {
    gsize first, last;
    bool inside;  /* the place is only a part of line `first`, which begins at `column` */
    gsize column; /* byte column in line `first` */
    /* owned; quote line -> file line, or -1. If NULL, quote line j is file line first + j. At level
     * `similar` the array is twice as long: map[n + j] is the line after the last file line of
     * quote line j. Quote lines that share a line of the file have the same value. */
    gssize *map;
} AcrPlace;

/* The result of a search, and the quote in the form in which it was found: without blank lines and
 * elisions at its beginning and end. */
typedef struct {
    AcrLevel level;
    GArray *places;       /* owned array of AcrPlace; empty if the quote was not found */
    bool many;            /* there are more places than ACR_PATCH_MAX_PLACES */
    const AcrLines *file; /* borrowed; set during the search, otherwise NULL */
    /* both parts as they were matched; views into the edit, or into `store` */
    AcrLines original, patched;
    GPtrArray *store; /* owned array of texts */
    char *why; /* owned; why the edit must be refused although the code was found; otherwise NULL */
} AcrMatch;
void acr_match_init(AcrMatch *match);
void acr_match_clear(AcrMatch *match);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrMatch, acr_match_clear)

/* Searches level by level; the result has the places of the first level that finds any. Every level
 * takes linear or limited time. */
void acr_ladder_find(const AcrSource *source, const char *original, const char *patched,
                     AcrMatch *out);

/* ---- The quote as it is read (match_quote.c) ----
 * Each function removes the same lines from both parts. It returns false, or 0, if there is nothing
 * to remove. */
void acr_match_add_place(AcrMatch *match, const AcrPlace *place); /* the map of `place` is taken */
/* Whether, at `place`, every quoted line is shifted by the same number of columns. If the file is
 * indented with tabs and the quote with spaces, a tab counts as one indentation step of the
 * quote. */
bool acr_place_is_shifted(const AcrLines *file, const AcrPlace *place, const AcrLines *quote);
/* Reads the two texts of an edit, which are borrowed. */
void acr_quote_read(AcrMatch *match, const char *original, const char *patched);
/* Removes blank lines at the beginning and the end of both parts. */
bool acr_quote_trim_blank(AcrMatch *match);
bool acr_quote_trim_elisions(AcrMatch *match); /* removes elisions at the same end of both parts */
/* Whether the line stands for omitted code, such as `...`, `# ...` or `# rest of the method
 * unchanged`. A comment that ends in dots is an elision only if it mentions code. */
bool acr_line_is_elision(const AcrLine *line);
gsize acr_elision_count(const AcrLines *lines);

/* ---- Levels ---------------------------------------------------------------------------------- */

/* Searches for a quote with elisions, each of which has code before and after it; adds the
 * places. */
bool acr_elision_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match);
/* Sets match->why if the replacement omits code that the quote does not omit. */
void acr_elision_check(AcrMatch *match);
/* Sets match->why if a comment in the replacement stands for code of the quote ("# as before").
 * O(quote * patched), up to ACR_PATCH_MAX_SCAN. */
void acr_placeholder_check(AcrMatch *match);

/* minimum number of characters, not counting blanks, that a quote must have for a loose search */
#define ACR_LOOSE_MIN 8u

/* The following functions are the rules of level `similar`, in order. */
/* Finds the quote, ignoring blanks, line breaks, quotation marks, and brackets around conditions.
 * Linear. */
bool acr_loose_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match);
/* Returns a hash that is the same for lines that differ only in blanks and quotation marks. */
guint64 acr_loose_hash(const AcrLine *line);
/* Finds a quote that omits lines without marking the omission. Bounded by ACR_PATCH_MAX_SCAN. */
bool acr_skip_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match);
/* Maps blank lines of the quote to blank lines at the same point of the file, in a map of level
 * `similar`. */
void acr_map_blank_lines(const AcrLines *file, const AcrLines *quote, gssize *map);
/* Returns the line after the string statement that begins at line `at`; returns `at` if no string
 * statement begins at that line. */
gsize acr_string_end(const AcrLines *file, gsize at);
/* Returns the position in a line where the code ends and a comment begins; the end of the line's
 * text if the line has no comment. */
gsize acr_line_code_end(const AcrLine *line);

/* ---- Similarity ------------------------------------------------------------------------------ */

typedef struct {
    gsize first, last; /* 0-based lines [first, last) */
    double score;      /* similarity, from 0 to 1 */
} AcrRegion;

/* Returns how similar two lines are: from 0 (different) to 1 (equal without outer blanks). */
double acr_line_likeness(const AcrLine *a, const AcrLine *b);
/* Returns the regions of `text` that are most similar to `quote`, beginning with the best: at most
 * `max`, which do not overlap. Owned array of AcrRegion; empty if a bound is exceeded. O(quote
 * lines * text lines). */
GArray *acr_similar_find(const AcrLines *text, const AcrLines *quote, gsize max) ACR_MUST_USE;
/* Pairs quote lines with lines of the region; returns an owned map of level `similar` (see
 * AcrPlace). */
gssize *acr_similar_map(const AcrLines *text, const AcrLines *quote,
                        const AcrRegion *region) ACR_MUST_USE;
