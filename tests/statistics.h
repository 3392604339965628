/* Tests of distributions. All seeds are fixed, so a test passes always or never. */
#ifndef HWS_TEST_STATISTICS_H
#define HWS_TEST_STATISTICS_H

#include "testing.h"

/* The upper incomplete gamma function Q(a, x): series below a + 1, continued fraction above. */
static inline double upper_gamma(double a, double x) {
    if (x <= 0) return 1;
    const double front = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int k = 1; k < 100000 && term > sum * 1e-16; k++) sum += term *= x / (a + k);
        return 1 - front * sum;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int k = 1; k < 100000; k++) {
        const double step = -k * (k - a);
        b += 2;
        d = 1 / (step * d + b);
        c = b + step / c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15) break;
    }
    return front * h;
}

/*
 * The p-value of counts against probabilities, bins merged in order until each expects at least 10; -1 when fewer
 * than five bins are left, for then p-values are too coarse to be compared with the uniform distribution.
 */
static inline double chi_square_p(size_t bins, const long *counts, const double *p, long draws) {
    double chi = 0, expected = 0, got = 0;
    long used = 0;
    double left = 1;
    for (size_t k = 0; k < bins; k++) {
        expected += p[k] * (double)draws;
        got += (double)counts[k];
        left -= p[k];
        if (expected < 10 || (left * (double)draws < 10 && k + 1 < bins)) continue;
        chi += (got - expected) * (got - expected) / expected;
        expected = got = 0;
        used++;
    }
    if (expected > 1e-9 * (double)draws) chi += (got - expected) * (got - expected) / expected;
    return used >= 5 ? upper_gamma((double)(used - 1) / 2, chi / 2) : -1;
}

static inline int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The p-value of "these values are uniform on [0, 1]" (Kolmogorov's limit; good for more than about 50 values). */
static inline double uniform_p(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare_doubles);
    double distance = 0;
    for (size_t k = 0; k < count; k++) {
        distance = fmax(distance, (double)(k + 1) / (double)count - values[k]);
        distance = fmax(distance, values[k] - (double)k / (double)count);
    }
    const double x = distance * (sqrt((double)count) + 0.12 + 0.11 / sqrt((double)count));
    double p = 0;
    for (int k = 1; k < 100; k++) p += (k % 2 ? 2 : -2) * exp(-2.0 * k * k * x * x);
    return x < 0.2 ? 1 : fmin(fmax(p, 0), 1);
}

/* Chernoff: an upper bound of the chance that a binomial count lies as far out as this one, or farther. */
static inline double count_tail(long count, long draws, double p) {
    const double share = (double)count / (double)draws;
    if (p <= 0 || p >= 1) return share == p;
    double exponent = 0;
    if (count > 0) exponent += share * log(share / p);
    if (count < draws) exponent += (1 - share) * log((1 - share) / (1 - p));
    return exp(-(double)draws * exponent);
}

#endif
