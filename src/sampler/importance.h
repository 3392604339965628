/* Importance weights p_new / p_old, and the running estimate of Z_new / Z_old that normalised ones are divided by. */
#ifndef HWS_SAMPLER_IMPORTANCE_H
#define HWS_SAMPLER_IMPORTANCE_H

#include "hws.h"

/* The mean of exp(beta (new - stale)) over what was drawn lately: its logarithm, and how many
   examples it stands for. */
typedef struct ratio_mean {
    double log_mean, weight;
} ratio_mean;

/* The running mean with this batch, whose losses have not been written yet. The sampler must be prepared. */
ratio_mean ratio_mean_with(const hws_sampler *sampler, int64_t count, const int64_t *indices, const float *losses);

#endif
