/* Roots of monotone functions. */
#ifndef HWS_SAMPLER_ROOT_H
#define HWS_SAMPLER_ROOT_H

typedef double root_function(const void *context, double x);

/*
 * x in [low, high] where the function changes sign, to 2^-52 of 1 + |x|. The ends must have values of opposite sign,
 * or one of them 0; otherwise the end that is closer to 0 is the answer. IEEE operations only, so the same bits
 * everywhere.
 */
double root_between(root_function *function, const void *context, double low, double high);

#endif
