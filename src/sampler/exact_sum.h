/*
 * The exact sum of a set of floats to which floats are added and from which they are taken. It is a function of the set
 * alone: no order and no number that has been in it leaves a trace, as 1e20 would in a double.
 *
 * A float is 24 bits at one of 277 places. They are kept as whole numbers in base 2^24, of which each float touches
 * two; 2^32 floats fit without a carry.
 */
#ifndef HWS_SAMPLER_EXACT_SUM_H
#define HWS_SAMPLER_EXACT_SUM_H

#include <stdint.h>

enum { EXACT_SUM_DIGITS = 12 };

typedef struct exact_sum {
    int64_t digits[EXACT_SUM_DIGITS]; /* digit k counts 2^(24 k - 149) */
} exact_sum;

/* sign: 1 adds a finite number, -1 takes one out that is in. */
void exact_sum_count(exact_sum *sum, float number, int sign);

/* As a double, with an error of at most one unit in its last place. */
double exact_sum_value(const exact_sum *sum);

#endif
