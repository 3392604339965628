/* Probabilities from logits: of classes that exclude each other by the softmax, of regions each by its sigmoid. */
#ifndef HWS_PREDICT_PROBABILITIES_H
#define HWS_PREDICT_PROBABILITIES_H

#include "plan/label_scheme.h"

/* In place, of one voxel, whose outputs are `stride` numbers apart. */
void probabilities_of(const label_scheme *labels, float *values, size_t stride);

#endif
