/*
 * The tail: beta follows from the losses, so that p stays as far from uniform as the uniform distribution on a fraction
 * `tail` of the examples is, in the sampler's own divergence.
 */
#ifndef HWS_SAMPLER_TAIL_H
#define HWS_SAMPLER_TAIL_H

#include "sampler/weight_tree.h"

#include "hws.h"

enum { TAIL_MAX_HASTE = 8 };

/*
 * When to look at all losses again: after known / 2^haste updated examples, or when the radius, which is kept current
 * from what the updated examples contribute, is off by much. What a state must keep.
 */
typedef struct tail_watch {
    uint64_t updated; /* examples since the last look */
    uint32_t haste;   /* 0 to TAIL_MAX_HASTE */
    double radius;    /* as far as can be told without looking */
    double target;    /* what it should be */
    float square;     /* KL: sum(p ln(n p)^2), with which the radius changes with beta; 0: not known */
} tail_watch;

/* D_phi(q || uniform) for q uniform on a fraction a: a phi(1/a) + (1 - a) phi(0). Canonical, not CVaR. */
double tail_radius(const hws_divergence *divergence, double a);

/* For a sampler that was just opened: beta from the losses at hand, if there are any. */
void tail_begin(hws_sampler *sampler);

/* What some examples contribute to the divergence: their p and their part of the radius; and
   the total of all weights. */
typedef struct tail_part {
    double p, radius, square, known;
    tree_word total;
} tail_part;

/* Before losses are written, and after (NULL: others than these have changed, too). Nothing where beta
   does not follow from them. */
tail_part tail_part_of(hws_sampler *sampler, int64_t count, const int64_t *examples);
void tail_exchange(hws_sampler *sampler, const tail_part *before, const tail_part *after);

/* Losses were written without that. */
void tail_lose(hws_sampler *sampler);

/* So many losses have changed; `known_before` examples had one before. */
void tail_follow(hws_sampler *sampler, int64_t changed, int64_t known_before);

#endif
