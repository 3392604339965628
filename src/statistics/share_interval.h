/* 95 % intervals of shares, which have a width also where all or none are right, unlike the bootstrap's. */
#ifndef HWS_STATISTICS_SHARE_INTERVAL_H
#define HWS_STATISTICS_SHARE_INTERVAL_H

#include "statistics/statistics.h"

/* Wilson's score interval (Wilson 1927) of a share of `count` independent examples; NaN without any. */
interval share_interval(double share, double count);

/* That of a share whose bootstrap interval is known: where examples are independent the bootstrap is a detour, and
   where every resample has the same value it says nothing. `count` are the independent witnesses. */
interval share_interval_or(interval resampled, int independent, double share, double count);

/* Of the mean of shares of different examples, such as the accuracies of classes: the distances from each share to the
   ends of its interval add up as independent errors do (Zou and Donner 2008). Shares of no examples are left out. */
interval share_interval_of_mean(const double *shares, const double *counts, int count);

#endif
