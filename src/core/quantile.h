/* Order statistics of numbers. */
#ifndef HWS_CORE_QUANTILE_H
#define HWS_CORE_QUANTILE_H

#include <stddef.h>

/* Ascending. There must be no NaN among them. */
void sort_numbers(double *numbers, size_t count);
void sort_floats(float *numbers, size_t count);

/* Of sorted numbers, for a share from 0 to 1: linear between neighbours, as numpy and R (type 7) do. NaN if there are
   none. */
double quantile_of_sorted(const double *sorted, size_t count, double share);
double quantile_of_sorted_floats(const float *sorted, size_t count, double share);

#endif
