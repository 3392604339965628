/* Robust losses and other functions of a whole vector of losses, in O(n). At least one of them must be known. */
#ifndef HWS_SAMPLER_ROBUST_H
#define HWS_SAMPLER_ROBUST_H

#include "sampler/divergence.h"

/* p-bar for a vector of losses: everything that is needed to evaluate it at one loss. */
typedef struct tilted_law {
    tilt tilt;
    cvar_boundary cvar;
    double beta, largest, n;
    double total; /* what the weights sum to */
} tilted_law;

/* `divergence` must be canonical and outlive the result. */
tilted_law tilted_law_of(const hws_divergence *divergence, double beta, const loss_list *list);
double tilted_probability(const tilted_law *law, double loss);

double largest_of(const loss_list *list);
double mean_of(const loss_list *list);
/* The population's. */
double deviation_of(const loss_list *list, double mean);

/* (1/beta) ln(mean(exp(beta L))), the mean for beta = 0. */
double log_mean_exp(double beta, const loss_list *list);

/* D_phi(p || uniform) of that p; NaN for a custom divergence without phi. */
double divergence_of(const hws_divergence *divergence, const tilted_law *law, const loss_list *list);

/* R(L). NaN for a custom divergence without phi. */
double robust_loss_of(const hws_divergence *divergence, double beta, const loss_list *list);

#endif
