/* hws_options: what stands in a caller's struct of any version, and whether it is valid. */
#ifndef HWS_SAMPLER_OPTIONS_H
#define HWS_SAMPLER_OPTIONS_H

#include "hws.h"

/* Beyond this, scale * loss leaves the range in which the weight tree tells neighbouring floats apart. */
#define LARGEST_BETA 1e15

/*
 * Takes over the caller's options (NULL: the defaults), whatever the size of the struct: what it does not reach has its
 * default, and what it has beyond this version must be 0.
 */
hws_status options_read(const hws_options *given, hws_options *options, hws_error *error);

/* Are they within their ranges, for n examples? */
hws_status options_check(const hws_options *options, int64_t n, hws_error *error);

/* Puts what follows from tail in its place: CVaR's fraction, or a beta of 0 to begin with. */
void options_take_tail(hws_options *options);

/* The same words for the same thing, as a state will tell them: with doubt a record is kept, and yes is 1. */
void options_settle(hws_options *options);

/* Gives them to a caller whose struct has this size; what it has beyond this version becomes 0. */
void options_write(const hws_options *options, hws_options *wanted, size_t size);

#endif
