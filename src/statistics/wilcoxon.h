/*
 * Wilcoxon's signed-rank test for pairs, two-sided.
 *
 * Pairs that are equal are left out (Wilcoxon's own rule, scipy's default), and so are pairs with a NaN;
 * differences of the same size share the mean of their ranks. Up to 50 pairs that differ, the p-value comes from
 * the exact distribution of these very ranks; beyond, from the normal approximation with the correction for ties
 * and none for continuity.
 */
#ifndef HWS_STATISTICS_WILCOXON_H
#define HWS_STATISTICS_WILCOXON_H

#include "core/failure.h"

#include <stddef.h>

enum { WILCOXON_EXACT_PAIRS = 50 };

typedef struct wilcoxon {
    size_t better, worse, equal; /* pairs with b > a, b < a, b = a */
    size_t missing;              /* pairs with a NaN */
    double statistic;            /* the smaller sum of ranks */
    double p;                    /* 1 if no pair differs; NaN if there is no pair */
    int exact;
} wilcoxon;

status_code wilcoxon_test(const double *a, const double *b, size_t count, wilcoxon *result, failure *failure);

#endif
