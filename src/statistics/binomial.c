#include "statistics/binomial.h"

#include <math.h>

/* By logarithms: the coefficients would overflow. */
double binomial_probability(size_t n, size_t k, double p) {
    const double m = (double)n, j = (double)k;
    return exp(lgamma(m + 1) - lgamma(j + 1) - lgamma(m - j + 1) + j * log(p) + (m - j) * log1p(-p));
}
