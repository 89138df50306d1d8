/* Cases for the property tests: a quoted region of a random file, a change of one line in it, and
 * the named ways in which a model misquotes. */
#pragma once

#include "random_file.h"
#include "unit/cases.h"

typedef enum {
    CHANGE_REPLACE,
    CHANGE_INSERT,
    CHANGE_DELETE,
} ChangeKind;

/* A quoted region and the change in it, as lines: what the model writes. */
typedef struct {
    RandomFile file;
    guint first, n, at; /* lines of the file; the change is at line `at` of them */
    ChangeKind kind;
    char *changed;                 /* owned; the new line with its indentation */
    GPtrArray *original, *patched; /* owned strings */
} Case;

/* A region that begins and ends with code, two to nine lines; the change is at a statement. */
void case_init(Case *c, GRand *rand);
void case_clear(Case *c);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Case, case_clear)

/* One way of misquoting. */
typedef struct {
    const char *name;
    bool (*distort)(Case *c, GRand *rand); /* false: there is nothing to distort so */
    guint floor;                           /* percent of the cases that land at least */
} Distortion;

#define N_DISTORTIONS 15u
extern const Distortion distortions[N_DISTORTIONS]; /* the first leaves the quote exact */

bool opens_block(const char *line);
bool same_core(const char *a, const char *b); /* without outer blanks */
gsize lead_of(const char *line);
gsize least_lead(const GPtrArray *lines); /* of those that are not blank */
