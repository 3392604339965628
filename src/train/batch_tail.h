/*
 * CVaR of a batch (Levy et al. 2020): the mean loss of its hardest part.
 *
 * Of `count` losses the hardest share `tail` have the weight 1 / (tail * count) each, the one at the border
 * what is left, and the others nothing, so that the weights add up to 1. The single hardest always counts; of
 * equal losses the first does.
 */
#ifndef HWS_TRAIN_BATCH_TAIL_H
#define HWS_TRAIN_BATCH_TAIL_H

#include "core/failure.h"

#include <stdint.h>

/* The positions of the losses, hardest first. */
status_code order_by_loss(const double *losses, int64_t count, int64_t *order, failure *failure);

/* What is less is rounding, not a share of an example: 0.07 of 100 are 7. */
#define BATCH_TAIL_LEAST 1e-9

status_code batch_tail_weights(const double *losses, int64_t count, double tail, double *weights, failure *failure);

#endif
