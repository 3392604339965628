/*
 * What can be said of cases to come, free of any distribution: the order statistic of n scores that, with a given
 * confidence, at least a given share of such cases reach (Wilks 1941).
 *
 * The k-th lowest of n independent scores is below the quantile of 1 - share with a probability of P(B >= k), where B
 * is binomial with n and 1 - share; the largest k for which that is at least the confidence is taken. It holds exactly
 * where scores do not repeat, and all the more where they do. 95 % confidence and 90 % of the cases need 29 cases.
 */
#ifndef HWS_STATISTICS_TOLERANCE_H
#define HWS_STATISTICS_TOLERANCE_H

#include <stddef.h>

#define TOLERANCE_CONFIDENCE 0.95
#define TOLERANCE_SHARE 0.90

/* k, from 1; 0: n scores are too few. */
size_t tolerance_rank(size_t n, double share, double confidence);

/* The score that at least TOLERANCE_SHARE of the cases reach with TOLERANCE_CONFIDENCE; NaN: too few. With
   lower_is_better it is the score that they do not exceed. */
double tolerance_of_sorted(const double *sorted, size_t n, int lower_is_better);

/* How many cases a statement needs: 29. */
size_t tolerance_cases_needed(void);

#endif
