/*
 * The loss of one example, and its gradient under the example's weight.
 *
 * Logits are [position][class], channels last; positions are the voxels of a volume, or 1 for classification. All
 * arithmetic on sums is in doubles and in an order that depends on the shape alone, so that the number of threads does
 * not change a bit. NaN among the logits that count makes the loss NaN: the caller names the example.
 *
 *     loss loss = {LOSS_DICE_CE, positions, classes, 0};
 *     void *workspace = memory_open(loss_workspace(&loss));
 *     loss_forward(&loss, logits, labels, workspace, &value, &failure);
 *     loss_backward(&loss, labels, workspace, weight, gradient);
 */
#ifndef HWS_NN_LOSS_H
#define HWS_NN_LOSS_H

#include "core/failure.h"

#include <stddef.h>
#include <stdint.h>

typedef enum loss_kind {
    LOSS_CROSS_ENTROPY = 0, /* of the softmax: mean over the positions that are not ignored; 0 if all are */
    LOSS_DICE_CE = 1,       /* cross entropy plus the Dice loss, as nnU-Net's; between -1 and infinity */
    LOSS_DICE = 2,          /* minus the mean over all classes but 0 of the soft Dice of the softmax,
                               (2 sum(p y) + 1e-5) / (sum(p) + sum(y) + 1e-5); between -1 and 0 */
    LOSS_REGIONS = 3 /* regions that may overlap, one logit each: binary cross entropy of the sigmoid, the mean over
                               regions and positions that are not ignored, minus the mean over all regions of the soft
                               Dice as above, as nnU-Net's; between -1 and infinity */
} loss_kind;

/* As many as a label has bits. */
enum { LOSS_MAX_REGIONS = 15 };

typedef struct loss {
    loss_kind kind;
    size_t positions; /* at least 1 */
    size_t classes;   /* 1 to 32767; Dice needs 2; regions: 1 to LOSS_MAX_REGIONS */
    double smoothing; /* of cross entropy: this share of each label, 0 to below 1, is spread over all classes alike */
} loss;

/* Whether there is such a loss: its kind, and sizes whose workspace can be counted in bytes. */
status_code loss_check(const loss *loss, failure *failure);

/* The workspace that forward fills for backward, in bytes; it must be aligned to 64 bytes. */
size_t loss_workspace(const loss *loss);

/* The loss; STATUS_BAD_INPUT if a label is of no class, or of no region. A position with a negative label is ignored.
   Of regions a label is the sum of 2^r over the regions r that the position lies in. */
status_code loss_forward(const loss *loss, const float *logits, const int16_t *labels, void *workspace, double *value,
                         failure *failure);

/* The gradient of weight * loss with respect to the logits, after forward with the same labels and
   workspace: written, not added. */
void loss_backward(const loss *loss, const int16_t *labels, void *workspace, double weight, float *gradient);

#endif
