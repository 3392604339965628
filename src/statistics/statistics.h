/*
 * Statistics of scores, with the tail in view.
 *
 * NaN stands for a score that does not exist (Dice of a region that is empty in both). As in numpy's nan-functions it
 * is left out, and counted.
 *
 * Scores of one patient are no independent witnesses. Where patients are known, they are what is resampled, and what
 * intervals and tolerances need enough of; mean and quantiles are those of the scores.
 */
#ifndef HWS_STATISTICS_STATISTICS_H
#define HWS_STATISTICS_STATISTICS_H

#include "core/failure.h"
#include "statistics/clusters.h"

#include <stddef.h>
#include <stdint.h>

/* Of fewer numbers, or patients, a bootstrap interval is far too narrow, and none is given. */
enum { STATISTICS_INTERVAL_CASES = 10 };

typedef struct interval {
    double low, high;
} interval;

/* Whether it has no width, or is none: every resample has the same value, and says nothing of how sure it is. */
static inline int interval_is_flat(interval ci) { return !(ci.low < ci.high); }

typedef struct statistics {
    size_t count, missing; /* numbers, and NaNs */
    size_t patients;       /* whose numbers these are; without patients each is somebody else's */
    double mean, std;      /* the standard deviation divides by n - 1; NaN of a single number */
    interval ci;           /* of the mean; NaN below STATISTICS_INTERVAL_CASES */
    double tolerance;      /* what 90 % of such cases reach, with 95 % confidence (tolerance.h), or of such patients
                              in each of their cases; NaN: too few */
    double p5, p10, p25, median, p75, p90, p95, iqr;
    size_t worst; /* position of the worst value, the first of equals; with count = 0 nothing here means anything */
    double worst_value;
} statistics;

typedef struct statistics_options {
    int lower_is_better; /* which end is the worst */
    double confidence;   /* 0: no interval */
    uint32_t resamples;  /* of the bootstrap */
    uint64_t seed;
    const int *patients; /* whose each value is, -1: nobody's; NULL: not known, each is somebody else's */
} statistics_options;

/* 95 % intervals from 10000 resamples, higher is better. */
statistics_options statistics_options_default(void);

/* All fields are NaN without a number. Infinite values are STATUS_NOT_FINITE. */
status_code statistics_of(const double *values, size_t count, const statistics_options *options, statistics *result,
                          failure *failure);

/*
 * Bootstrap percentile interval of the mean of finite numbers: the quantiles of the means of resamples, each of as many
 * patients as there are, at least one, with all of their numbers. Each resample is keyed by its number, so that equal
 * numbers give equal intervals.
 */
status_code bootstrap_mean(const double *values, const clusters *patients, const statistics_options *options,
                           interval *result, failure *failure);

/* The 95 % percentile interval of something, from its values in resamples, which are sorted; NaNs are left out. */
interval bootstrap_interval(double *values, size_t count);

#endif
