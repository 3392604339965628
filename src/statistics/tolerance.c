#include "statistics/tolerance.h"

#include "statistics/binomial.h"

#include <math.h>

size_t tolerance_rank(size_t n, double share, double confidence) {
    double fewer = 0; /* P(B < k) */
    size_t k = 0;
    while (k < n) {
        fewer += binomial_probability(n, k, 1 - share);
        if (1 - fewer < confidence) break;
        k++;
    }
    return k;
}

double tolerance_of_sorted(const double *sorted, size_t n, int lower_is_better) {
    const size_t k = tolerance_rank(n, TOLERANCE_SHARE, TOLERANCE_CONFIDENCE);
    if (k == 0) return (double)NAN;
    return lower_is_better ? sorted[n - k] : sorted[k - 1];
}

size_t tolerance_cases_needed(void) {
    size_t n = 1;
    while (tolerance_rank(n, TOLERANCE_SHARE, TOLERANCE_CONFIDENCE) == 0) n++;
    return n;
}
