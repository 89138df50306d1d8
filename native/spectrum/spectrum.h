/* spectrum: ranks the elements of a program (lines, methods) by how likely they cause a failure,
 * according to the tests that run them. Elements are identified by numbers. Sources: Ochiai and
 * Tarantula as in Abreu, Zoeteweij, van Gemund, "On the accuracy of spectrum-based fault
 * localization", 2007; DStar (with the square) as in Wong, Debroy, Gao, Li, "The DStar method
 * for effective software fault localization", 2014. */
#pragma once

#include "base/base.h"

typedef enum {
    ACR_SPECTRUM_OCHIAI,
    ACR_SPECTRUM_DSTAR,
    ACR_SPECTRUM_TARANTULA,
    ACR_SPECTRUM_FORMULAS,
} AcrSpectrumFormula;

/* Counts for one element: how many failing and passing tests run it, and how many do not run it. */
typedef struct {
    guint failed_run, failed_not, passed_run, passed_not;
} AcrSpectrumCounts;
/* Returns how suspicious an element is: 0 if no failing test runs it, otherwise above 0. Ochiai and
 * Tarantula are at most 1; DStar has no upper bound. If the denominator of DStar is 0 (all failing
 * tests and no passing test run the element), the denominator is replaced by one half, so that the
 * element ranks first. */
double acr_spectrum_score(AcrSpectrumFormula formula, const AcrSpectrumCounts *counts);

/* Elements, numbered 0 to n - 1, and the tests that run them. */
typedef struct AcrSpectrum AcrSpectrum;
/* the value for "no element" or "no group" */
#define ACR_SPECTRUM_NONE G_MAXUINT32
AcrSpectrum *acr_spectrum_new(guint32 n) ACR_MUST_USE; /* owned */
void acr_spectrum_free(AcrSpectrum *spectrum);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AcrSpectrum, acr_spectrum_free)
/* Adds a test and the elements that it runs, in any order. A repeated element counts once.
 * O(len). */
void acr_spectrum_add(AcrSpectrum *spectrum, bool failed, const guint32 *elements, gsize len);

typedef struct {
    guint32 element; /* number of the element or group */
    double score;    /* score of the element; above 0 */
    /* the first and the last rank, counted from 1, that elements with the same score share */
    guint first, last;
    guint failed_run, passed_run;
} AcrRanked;
/* Returns the elements that a failing test runs, beginning with the most suspicious; elements with
 * the same score are ordered by number. Owned array of AcrRanked. O(n log n). */
GArray *acr_spectrum_rank(const AcrSpectrum *spectrum, AcrSpectrumFormula formula) ACR_MUST_USE;
/* Ranks groups of elements (the lines of a method): a group gets the score and counts of its most
 * suspicious element. `group_of` has n elements: numbers below `n_groups`, or ACR_SPECTRUM_NONE. */
GArray *acr_spectrum_rank_groups(const AcrSpectrum *spectrum, AcrSpectrumFormula formula,
                                 const guint32 *group_of, guint32 n_groups) ACR_MUST_USE;
