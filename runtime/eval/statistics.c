/*
 * How sure a share of resolved tasks is, and a difference between two runs.
 */
#include "eval/eval_private.h"

#include <math.h>

#define Z95 1.959963984540054 /* the normal distribution's 97.5% */

/* E. B. Wilson, 1927. */
void acr_wilson(guint good, guint all, double *out_low, double *out_high)
{
    *out_low = 0;
    *out_high = 1;
    if (all == 0)
        return;
    double share = (double)good / all, z2 = Z95 * Z95 / all;
    double middle = (share + z2 / 2) / (1 + z2);
    double half = Z95 * sqrt(share * (1 - share) / all + z2 / 4 / all) / (1 + z2);
    *out_low = MAX(0, middle - half);
    *out_high = MIN(1, middle + half);
}

/* Two-sided: a coin that is thrown for each task that changed. */
double acr_mcnemar(guint gained, guint lost)
{
    guint n = gained + lost, fewer = MIN(gained, lost);
    double sum = 0;
    for (guint k = 0; k <= fewer; k++)
        sum += exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) - n * log(2));
    return MIN(1, 2 * sum);
}
