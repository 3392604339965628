/*
 * Gradients of the parts of a batch, each computed by one rank, joined in the order of the parts.
 *
 * The flat block is cut into buckets that the ranks own in turn. While a backward pass goes on, the buckets that are
 * complete travel to their owners; each owner adds up all parts of its buckets, in order. So the sums do not depend on
 * who computed which part. Then each rank works on its buckets, and the results go to all.
 *
 *     gradient_join_begin(j)
 *     for each own part k: compute into gradient_join_part(j, k); gradient_join_ready(j, k, 1, offset) now and then
 *     gradient_join_finish(j, gradients)         own buckets of `gradients` += the sums
 *     ... work on the buckets of gradient_join_next(j, ...) ...
 *     gradient_join_spread(j, values)            own buckets of `values` go to all
 *
 * All of it is done by all ranks together.
 */
#ifndef HWS_MODEL_GRADIENT_JOIN_H
#define HWS_MODEL_GRADIENT_JOIN_H

#include "ranks/ranks.h"

typedef struct gradient_join gradient_join;

/* For `floats` parameters and a batch of which rank k has the parts from starts[k] to starts[k + 1]. */
status_code gradient_join_open(gradient_join **join, const ranks *ranks, size_t floats, const int *starts,
                               failure *failure);
void gradient_join_close(gradient_join **join);

/* Forgets the last batch, and makes the own parts' gradients zeros. */
void gradient_join_begin(gradient_join *join);
/* The k-th own part's gradients; those of the next follow. */
float *gradient_join_part(gradient_join *join, int k);
/* The gradients of `count` own parts, from the first on, are complete from `offset` on. */
void gradient_join_ready(gradient_join *join, int first, int count, size_t offset);
void gradient_join_finish(gradient_join *join, float *gradients);

/* The own buckets, one after the other: a first call with *end = 0; returns 0 when there are no more. */
int gradient_join_next(const gradient_join *join, size_t *first, size_t *end);
void gradient_join_spread(gradient_join *join, float *values);

/* The norm of gradients of which each rank has its buckets: that of gradient_norm, to the bit. */
double gradient_join_norm(gradient_join *join, const float *gradients);

#endif
