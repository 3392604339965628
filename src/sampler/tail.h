/*
 * The tail: beta follows from the losses, so that p stays as far from uniform as the uniform distribution on a fraction
 * `tail` of the examples is, in the sampler's own divergence.
 */
#ifndef HWS_SAMPLER_TAIL_H
#define HWS_SAMPLER_TAIL_H

#include "hws.h"

enum { TAIL_MAX_HASTE = 8 };

/*
 * When to look again: after known / 2^haste updated examples, or when those that were updated have changed what they
 * contribute to the divergence by much. What a state must keep.
 */
typedef struct tail_watch {
    uint64_t updated; /* examples since the last look */
    uint32_t haste;   /* 0 to TAIL_MAX_HASTE */
    double moved;     /* by how much their part of the divergence has grown */
} tail_watch;

/* D_phi(q || uniform) for q uniform on a fraction a: a phi(1/a) + (1 - a) phi(0). Canonical, not CVaR. */
double tail_radius(const hws_divergence *divergence, double a);

/* For a sampler that was just opened: beta from the losses at hand, if there are any. */
void tail_begin(hws_sampler *sampler);

/* What these examples contribute to the divergence, where beta follows it; else 0. */
double tail_part(hws_sampler *sampler, int64_t count, const int64_t *examples);

/* So many losses have changed; `known_before` examples had one before. */
void tail_follow(hws_sampler *sampler, int64_t changed, int64_t known_before);

#endif
