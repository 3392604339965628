/* Robust losses and other functions of a whole vector of losses, in O(n). */
#ifndef HWS_SAMPLER_ROBUST_H
#define HWS_SAMPLER_ROBUST_H

#include "divergence.h"

/* p-bar for a vector of losses: everything that is needed to evaluate it at one loss. */
typedef struct tilted_law {
    tilt tilt;
    cvar_boundary cvar;
    double beta, largest, n;
    double total; /* what the weights sum to */
} tilted_law;

/* `divergence` must be canonical and outlive the result. */
tilted_law tilted_law_of(const hws_divergence *divergence, double beta, const float *losses, size_t n);
double tilted_probability(const tilted_law *law, double loss);

double largest_of(const float *losses, size_t n);
double mean_of(const float *losses, size_t n);
/* The population's. */
double deviation_of(const float *losses, size_t n, double mean);

/* (1/beta) ln(mean(exp(beta L))), the mean for beta = 0. */
double log_mean_exp(double beta, const float *losses, size_t n);

/* R(L). NaN for a custom divergence without phi. */
double robust_loss_of(const hws_divergence *divergence, double beta, const float *losses, size_t n);

#endif
