/* Counts how many failing and passing tests run each element, and computes scores and ranks. */
#include "spectrum/spectrum.h"

#include <math.h>

struct AcrSpectrum {
    guint32 n;
    guint failed, passed; /* numbers of failing and passing tests */
    /* numbers of failing and passing tests that run an element, by element */
    guint *failed_run, *passed_run;
    /* for each element, number (from 1) of the last test that ran the element; 0 if none did */
    guint *seen;
};

double acr_spectrum_score(AcrSpectrumFormula formula, const AcrSpectrumCounts *counts)
{
    double run = counts->failed_run, failed = run + counts->failed_not,
           passed_run = counts->passed_run, passed = passed_run + counts->passed_not;
    if (counts->failed_run == 0)
        return 0;
    if (formula == ACR_SPECTRUM_OCHIAI)
        return run / sqrt(failed * (run + passed_run));
    if (formula == ACR_SPECTRUM_DSTAR)
        return run * run / MAX(passed_run + counts->failed_not, 0.5);
    double bad = run / failed, good = passed > 0 ? passed_run / passed : 0;
    return bad / (bad + good);
}

AcrSpectrum *acr_spectrum_new(guint32 n)
{
    AcrSpectrum *spectrum = g_new0(AcrSpectrum, 1);
    spectrum->n = n;
    spectrum->failed_run = g_new0(guint, n);
    spectrum->passed_run = g_new0(guint, n);
    spectrum->seen = g_new0(guint, n);
    return spectrum;
}

void acr_spectrum_free(AcrSpectrum *spectrum)
{
    if (!spectrum)
        return;
    ACR_FREE(spectrum->failed_run, spectrum->passed_run, spectrum->seen, spectrum);
}

void acr_spectrum_add(AcrSpectrum *spectrum, bool failed, const guint32 *elements, gsize len)
{
    guint *run = failed ? spectrum->failed_run : spectrum->passed_run,
          *tests = failed ? &spectrum->failed : &spectrum->passed;
    (*tests)++;
    guint number = spectrum->failed + spectrum->passed;
    for (gsize i = 0; i < len; i++) {
        g_assert(elements[i] < spectrum->n);
        if (spectrum->seen[elements[i]] != number)
            run[elements[i]]++;
        spectrum->seen[elements[i]] = number;
    }
}

static AcrRanked measure(const AcrSpectrum *spectrum, AcrSpectrumFormula formula, guint32 element)
{
    guint failed_run = spectrum->failed_run[element], passed_run = spectrum->passed_run[element];
    AcrSpectrumCounts counts = {failed_run, spectrum->failed - failed_run, passed_run,
                                spectrum->passed - passed_run};
    return (AcrRanked){.element = element,
                       .score = acr_spectrum_score(formula, &counts),
                       .failed_run = failed_run,
                       .passed_run = passed_run};
}

static int compare_scores(gconstpointer a, gconstpointer b)
{
    const AcrRanked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->element < y->element ? -1 : x->element > y->element;
}

/* Sorts the array by score, and sets the ranks. */
static void finish_spectrum(GArray *ranked)
{
    g_array_sort(ranked, compare_scores);
    for (guint i = 0, end; i < ranked->len; i = end) {
        double score = g_array_index(ranked, AcrRanked, i).score;
        for (end = i; end < ranked->len && g_array_index(ranked, AcrRanked, end).score == score;)
            end++;
        for (guint k = i; k < end; k++) {
            g_array_index(ranked, AcrRanked, k).first = i + 1;
            g_array_index(ranked, AcrRanked, k).last = end;
        }
    }
}

GArray *acr_spectrum_rank(const AcrSpectrum *spectrum, AcrSpectrumFormula formula)
{
    GArray *ranked = g_array_new(FALSE, FALSE, sizeof(AcrRanked));
    for (guint32 i = 0; i < spectrum->n; i++) {
        AcrRanked row = measure(spectrum, formula, i);
        if (row.failed_run > 0)
            g_array_append_val(ranked, row);
    }
    finish_spectrum(ranked);
    return ranked;
}

GArray *acr_spectrum_rank_groups(const AcrSpectrum *spectrum, AcrSpectrumFormula formula,
                                 const guint32 *group_of, guint32 n_groups)
{
    GArray *ranked = g_array_new(FALSE, FALSE, sizeof(AcrRanked));
    g_autofree AcrRanked *best = g_new0(AcrRanked, n_groups);
    for (guint32 i = 0; i < spectrum->n; i++) {
        AcrRanked row = measure(spectrum, formula, i);
        row.element = group_of[i];
        if (group_of[i] != ACR_SPECTRUM_NONE && row.score > best[group_of[i]].score)
            best[group_of[i]] = row;
    }
    for (guint32 i = 0; i < n_groups; i++)
        if (best[i].failed_run > 0)
            g_array_append_val(ranked, best[i]);
    finish_spectrum(ranked);
    return ranked;
}
