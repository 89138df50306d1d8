/*
 * Where quoted code stands in a file: the quote as it is read, the levels that search for it, and
 * the regions of a file that are most like it.
 */
#ifndef ACR_PATCH_MATCH_PRIVATE_H
#define ACR_PATCH_MATCH_PRIVATE_H

#include "patch/source_private.h"

#define ACR_PATCH_MAX_PLACES 64u         /* equal places that are listed; more are just "many" */
#define ACR_PATCH_MAX_SCAN 50000000u     /* line comparisons of one search that is not linear */
#define ACR_PATCH_MAX_CUTS 1000u         /* occurrences inside words that one search passes over */
#define ACR_SIMILAR_MAX_QUOTE_LINES 400u /* a longer quote is not searched by similarity */
/* Quote lines x file lines: 400 lines in a file of 20,000. */
#define ACR_SIMILAR_MAX_CELLS 8000000u

/* Where a quote stands in a file. Lines 0-based, [first, last). */
typedef struct {
    gsize first, last;
    bool inside;  /* a part of line `first`, */
    gsize column; /*   from this byte column on */
    /* Owned; quote line -> file line or -1; NULL: quote line j is line first + j. At level
     * `similar` twice as long: map[n + j] is the file's line behind those of quote line j, and
     * quote lines that stand in one line of the file have the same. */
    gssize *map;
} AcrPlace;

/* The quote as it was finally read: after taking off outer blank lines and elisions. */
typedef struct {
    AcrLevel level;
    GArray *places;             /* owned; of AcrPlace; empty: not found */
    bool many;                  /* more places than ACR_PATCH_MAX_PLACES */
    const AcrLines *file;       /* borrowed; while it is searched for, else NULL */
    AcrLines original, patched; /* as matched; views into the edit or into `store` */
    GPtrArray *store;           /* owned texts */
    char *why; /* owned; why it must be refused although the code was found, or NULL */
} AcrMatch;
void acr_match_init(AcrMatch *match);
void acr_match_clear(AcrMatch *match);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AcrMatch, acr_match_clear)

/* Searches the levels in order; the first that has a place wins. Linear but for the bounded levels.
 */
void acr_ladder_find(const AcrSource *source, const char *original, const char *patched,
                     AcrMatch *out);

/* ---- The quote as it is read (match_quote.c) ---------------------------------------------------
 * What is taken off one part is taken off both; false, or 0, where there is nothing to take.
 */
void acr_match_add_place(AcrMatch *match, const AcrPlace *place); /* takes what it points to */
/* Whether all lines of the quote are shifted by the same number of columns there; where the file has
 * tabs and the quote blanks, a tab is one step of the quote. */
bool acr_place_is_shifted(const AcrLines *file, const AcrPlace *place, const AcrLines *quote);
void acr_quote_read(AcrMatch *match, const char *original, const char *patched); /* borrowed */
bool acr_quote_trim_blank(AcrMatch *match);    /* outer blank lines */
bool acr_quote_trim_elisions(AcrMatch *match); /* elisions at the same end of both parts */
/* A line that stands for code left out: `...`, `# ...`, `# rest of the method unchanged`; a comment
 * that only ends in dots does where it speaks of code. */
bool acr_line_is_elision(const AcrLine *line);
gsize acr_elision_count(const AcrLines *lines);

/* ---- Levels ---------------------------------------------------------------------------------- */

/* Searches for a quote with elisions, anchored by code on both sides of each; adds its places. */
bool acr_elision_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match);
/* Sets match->why where the replacement leaves code out otherwise than the quote. */
void acr_elision_check(AcrMatch *match);
/* The same where a comment of the replacement stands for code of the quote. O(quote * patched), up
 * to ACR_PATCH_MAX_SCAN. */
void acr_placeholder_check(AcrMatch *match);

#define ACR_LOOSE_MIN 8u /* characters that a loose search needs, blanks not counted */

/* Level `similar`, its rules in order. */
/* The quote but for blanks, line breaks, quotation marks, brackets around conditions. Linear. */
bool acr_loose_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match);
/* Equal for lines that differ in blanks and quotation marks only. */
guint64 acr_loose_hash(const AcrLine *line);
/* The quote with lines of the file left out, unmarked. Bounded by ACR_PATCH_MAX_SCAN. */
bool acr_skip_find(const AcrLines *file, const AcrLines *quote, AcrMatch *match);
/* Maps blank quote lines (a map of level `similar`) to blank lines that stand at the same point. */
void acr_map_blank_lines(const AcrLines *file, const AcrLines *quote, gssize *map);
/* The line behind the string that is a statement and begins at line `at`; `at` if none does. */
gsize acr_string_end(const AcrLines *file, gsize at);
/* Where the code of a line ends and a comment behind it begins; the end of what it says, where it has
 * none. */
gsize acr_line_code_end(const AcrLine *line);

/* ---- Similarity ------------------------------------------------------------------------------ */

typedef struct {
    gsize first, last; /* 0-based, [first, last) */
    double score;      /* 0 to 1 */
} AcrRegion;

/* How alike two lines are: 1 for equal ones without outer blanks, 0 for different ones. */
double acr_line_likeness(const AcrLine *a, const AcrLine *b);
/*
 * The regions of `text` most like `quote`, best first, at most `max`, not overlapping. Owned array
 * of AcrRegion; empty when a bound is passed. O(quote lines * text lines).
 */
GArray *acr_similar_find(const AcrLines *text, const AcrLines *quote, gsize max) ACR_MUST_USE;
/* Pairs quote lines with lines of the region; owned, a map of level `similar`: see AcrPlace. */
gssize *acr_similar_map(const AcrLines *text, const AcrLines *quote,
                        const AcrRegion *region) ACR_MUST_USE;

#endif
