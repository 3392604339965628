/*
 * Deep supervision: one loss over the outputs of a network at several resolutions, the finest first.
 */
#ifndef HWS_NN_SUPERVISION_H
#define HWS_NN_SUPERVISION_H

#include "nn/loss.h"

/* nnU-Net's weights: 1/2^i for output i, 0 for the coarsest if there is more than one, scaled to the sum 1. */
void supervision_weights(size_t outputs, double *weights);

/* Labels of a coarser output by nearest neighbour: every stride[a]-th label along each axis a of
   [depth][height][width], into a volume of ceil(size[a] / stride[a]). */
void supervision_labels(const size_t size[3], const size_t stride[3], const int16_t *labels, int16_t *coarse);

/* One output of one example. Where its weight is 0 neither logits nor labels nor workspace are looked at. */
typedef struct supervised_output {
    double weight;
    size_t positions;
    const float *logits;
    const int16_t *labels;
    void *workspace;  /* of loss_workspace bytes */
    double smoothing; /* of the labels; see nn/loss.h */
    float *gradient;  /* may be NULL where the weight is 0; else it is filled with zeros there */
} supervised_output;

/* The weighted sum of the losses, and the gradient of weight times it with respect to all logits. */
status_code supervised_forward(loss_kind kind, size_t classes, size_t count, const supervised_output *outputs,
                               double *value, failure *failure);
void supervised_backward(loss_kind kind, size_t classes, size_t count, const supervised_output *outputs, double weight);

#endif
