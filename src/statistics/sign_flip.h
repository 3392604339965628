/*
 * The paired test of two methods on patients of several examples each.
 *
 * If neither method is better, a patient's answers might as well have been the other method's: the difference d of a
 * patient (how many more of its examples the second has right) has either sign with equal chance, and patients are
 * independent of each other, while the examples of one need not be. p is the share of all ways to choose the signs
 * whose sum is as far from 0 as the one that was seen. It is computed exactly, from the distribution of the sum, not by
 * drawing. Where no |d| is above 1 it is McNemar's exact test.
 */
#ifndef HWS_STATISTICS_SIGN_FLIP_H
#define HWS_STATISTICS_SIGN_FLIP_H

#include "core/failure.h"

#include <stdint.h>

/* The two-sided p; 1 if nobody differs. Of thousands of patients that differ by many examples it is that of the normal
   distribution with the same variance, which then is the same to more digits than are shown. */
status_code sign_flip_test(const int64_t *differences, int64_t count, double *p, failure *failure);

#endif
