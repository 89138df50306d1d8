/* Tests of spectra: scores calculated by hand, ranks with ties, groups. */
#include <glib.h>
#include <math.h>

#include "spectrum/spectrum.h"
#include "unit/cases.h"

TEST("/spectrum", scores_are_those_of_the_formulas)
{
    static const struct {
        AcrSpectrumCounts counts;
        double ochiai, dstar, tarantula;
    } rows[] = {
        {{0, 3, 5, 2}, 0, 0, 0},
        /* run by all failing tests and by nothing else; the denominator is one half */
        {{1, 0, 0, 4}, 1, 2, 1},
        {{2, 0, 0, 4}, 1, 8, 1},
        {{1, 0, 3, 1}, 0.5, 1.0 / 3, 4.0 / 7},
        {{1, 3, 0, 4}, 0.5, 1.0 / 3, 1},
        {{4, 5, 5, 5}, 4.0 / 9, 1.6, 8.0 / 17},
        {{2, 0, 0, 0}, 1, 8, 1}, /* no test passes */
    };
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        const double want[] = {rows[i].ochiai, rows[i].dstar, rows[i].tarantula};
        for (guint formula = 0; formula < ACR_SPECTRUM_FORMULAS; formula++)
            g_assert_cmpfloat_with_epsilon(acr_spectrum_score(formula, &rows[i].counts), want[formula], 1e-12);
    }
}

/* Of lines 0 to 5, only the failing test runs 1 and 2, all tests run 3, only passing tests run 4,
 * and no test runs 5. */
static AcrSpectrum *make(void)
{
    static const guint32 bad[] = {3, 1, 2, 1, 0}, good[] = {3, 4, 0}, other[] = {3, 4, 4, 4};
    AcrSpectrum *spectrum = acr_spectrum_new(6);
    acr_spectrum_add(spectrum, true, bad, G_N_ELEMENTS(bad));
    acr_spectrum_add(spectrum, false, good, G_N_ELEMENTS(good));
    acr_spectrum_add(spectrum, false, other, G_N_ELEMENTS(other));
    return spectrum;
}

static void check(const GArray *ranked, guint i, guint32 element, guint first, guint last, double score)
{
    const AcrRanked *row = &g_array_index(ranked, AcrRanked, i);
    g_assert_cmpuint(row->element, ==, element);
    g_assert_cmpuint(row->first, ==, first);
    g_assert_cmpuint(row->last, ==, last);
    g_assert_cmpfloat_with_epsilon(row->score, score, 1e-12);
}

TEST("/spectrum", equal_scores_share_their_ranks)
{
    g_autoptr(AcrSpectrum) spectrum = make();
    g_autoptr(GArray) ranked = acr_spectrum_rank(spectrum, ACR_SPECTRUM_OCHIAI);
    g_assert_cmpuint(ranked->len, ==, 4);
    check(ranked, 0, 1, 1, 2, 1);
    check(ranked, 1, 2, 1, 2, 1);
    check(ranked, 2, 0, 3, 3, 1 / sqrt(2));
    check(ranked, 3, 3, 4, 4, 1 / sqrt(3));
    g_assert_cmpuint(g_array_index(ranked, AcrRanked, 0).failed_run, ==, 1); /* counted once */
    g_assert_cmpuint(g_array_index(ranked, AcrRanked, 3).passed_run, ==, 2);
}

TEST("/spectrum", a_group_is_as_suspicious_as_its_worst_element)
{
    static const guint32 group_of[] = {2, ACR_SPECTRUM_NONE, 0, 0, 1, 1};
    g_autoptr(AcrSpectrum) spectrum = make();
    g_autoptr(GArray) ranked = acr_spectrum_rank_groups(spectrum, ACR_SPECTRUM_TARANTULA, group_of, 3);
    g_assert_cmpuint(ranked->len, ==, 2);
    check(ranked, 0, 0, 1, 1, 1);
    check(ranked, 1, 2, 2, 2, 1 / 1.5);
}

TEST("/spectrum", without_failing_tests_nothing_is_suspicious)
{
    static const guint32 lines[] = {0, 1};
    g_autoptr(AcrSpectrum) spectrum = acr_spectrum_new(2), none = acr_spectrum_new(0);
    acr_spectrum_add(spectrum, false, lines, 2);
    acr_spectrum_add(none, true, NULL, 0);
    g_autoptr(GArray) ranked = acr_spectrum_rank(spectrum, ACR_SPECTRUM_DSTAR),
                      empty = acr_spectrum_rank(none, ACR_SPECTRUM_DSTAR);
    g_assert_cmpuint(ranked->len, ==, 0);
    g_assert_cmpuint(empty->len, ==, 0);
}
