/*
 * Group DRO (Sagawa et al. 2020): a weight for each group, which grows with the group's loss.
 *
 * The objective is the largest mean loss of any group. A batch's loss is the sum over groups of q_g times the mean
 * loss of the batch's examples of group g; then q_g is multiplied by exp(step * that mean) and all are scaled to
 * add up to 1. A group that is not in the batch keeps its share. The weights of an iteration are those that the
 * iterations before it led to, so that a batch can be worked on in parts: Sagawa's own code takes the batch's
 * losses into account already.
 */
#ifndef HWS_TRAIN_GROUP_WEIGHTS_H
#define HWS_TRAIN_GROUP_WEIGHTS_H

#include "core/failure.h"

#include <stdint.h>

typedef struct group_weights {
    int count;       /* groups, with those that have no examples */
    int64_t size;    /* examples */
    int *group_of;   /* [size] */
    double *q;       /* [count]; 0 for groups without examples. What a checkpoint keeps. */
    double *sums;    /* [count] scratch: losses of the batch */
    int64_t *counts; /* [count] scratch: examples of the batch */
} group_weights;

/* Equal weights for all groups that have examples; `group` gives numbers from 0 on. */
status_code group_weights_open(group_weights *weights, int64_t examples, int (*group)(void *context, int64_t example),
                               void *context, failure *failure);
void group_weights_close(group_weights *weights); /* accepts zeros */

/* The batch that the next weights are for. */
void group_weights_begin(group_weights *weights, const int64_t *batch, int64_t count);

/* What the loss of an example of this batch is multiplied by: q_g / the batch's examples of its group. */
double group_weights_at(const group_weights *weights, int64_t example);

/* The losses of that batch move the weights. */
void group_weights_update(group_weights *weights, const int64_t *batch, const double *losses, int64_t count,
                          double step);

/* The largest weight of a group. */
double group_weights_largest(const group_weights *weights);

#endif
