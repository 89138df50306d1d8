/* Cases for the property tests: a quoted region of a random file, a change of one line in it, and
 * the ways in which a model misquotes it. */
#pragma once

#include "random_file.h"
#include "unit/cases.h"

typedef enum { CHANGE_REPLACE, CHANGE_INSERT, CHANGE_DELETE } ChangeKind;

/* A quoted region and a change, as the lines that the model writes. */
typedef struct {
    RandomFile file;
    guint first, n, at; /* the region's lines in the file; the change is at line `at` of the file */
    ChangeKind kind;
    char *changed;                 /* owned; the new line with its indentation */
    GPtrArray *original, *patched; /* owned strings */
} Case;

/* Chooses a region of two to nine lines that begins and ends with code, and changes a statement. */
void case_init(Case *c, GRand *rand);
void case_clear(Case *c);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Case, case_clear)

/* A way to misquote. */
typedef struct {
    const char *name;
    bool (*distort)(Case *c, GRand *rand); /* false: this case cannot be distorted in this way */
    guint floor;                           /* minimum percentage of cases that must be applied */
} Distortion;

#define N_DISTORTIONS 15u
extern const Distortion distortions[N_DISTORTIONS]; /* the first leaves the quote exact */

bool opens_block(const char *line);
bool same_core(const char *a, const char *b); /* ignoring outer blanks */
gsize lead_of(const char *line);
gsize least_lead(const GPtrArray *lines); /* ignores blank lines */
