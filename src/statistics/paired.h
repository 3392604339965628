/*
 * Two methods on the same cases: by how much one is better, how sure that is, and what is left of it when many such
 * questions are asked at once. Scores of any kind, one per case.
 *
 * Where patients have several cases (statistics_options.patients), they are resampled as a whole, and Wilcoxon's test
 * is of the mean difference of each patient.
 */
#ifndef HWS_STATISTICS_PAIRED_H
#define HWS_STATISTICS_PAIRED_H

#include "statistics/statistics.h"
#include "statistics/wilcoxon.h"

/* Where fewer pairs, or patients, differ Wilcoxon's test has nothing to tell: p cannot fall below 0.05. */
enum { PAIRED_TEST_CASES = 6 };

typedef struct paired {
    size_t count;    /* pairs without NaN */
    size_t patients; /* whose pairs these are; without patients each is somebody else's */
    double mean;     /* of b - a; NaN without pairs */
    interval ci;     /* of that mean, by the bootstrap; NaN below STATISTICS_INTERVAL_CASES */
    wilcoxon test;   /* of the patients; its p is NaN where fewer than PAIRED_TEST_CASES differ */
    double holm;     /* p, corrected for the other tests of the same table; NaN where p is */
} paired;

/* How b differs from a. `holm` is p as long as there is no other test. */
status_code paired_of(const double *a, const double *b, size_t count, const statistics_options *options, paired *result,
                      failure *failure);

/*
 * Holm's step-down correction (Holm 1979) of `count` p-values, in place: the probability that any of the
 * true null hypotheses is rejected stays below the level, whatever the tests have to do with each other.
 * NaN stays, and is no test.
 */
status_code holm_correct(double *p, size_t count, failure *failure);

#endif
