/* The binomial distribution. */
#ifndef HWS_STATISTICS_BINOMIAL_H
#define HWS_STATISTICS_BINOMIAL_H

#include <stddef.h>

/* P(B = k) of n trials that succeed with a probability of p, between 0 and 1; n may be large. */
double binomial_probability(size_t n, size_t k, double p);

#endif
