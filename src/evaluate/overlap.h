/* How far a predicted region overlaps its reference. */
#ifndef HWS_EVALUATE_OVERLAP_H
#define HWS_EVALUATE_OVERLAP_H

#include "evaluate/regions.h"

typedef struct overlap {
    uint64_t tp, fp, fn, tn; /* voxels in both, only predicted, only in the reference, in neither */
} overlap;

/* 1 where the label belongs to the region, else 0. */
void region_mask(const region *region, const int16_t *labels, size_t count, uint8_t *mask);

overlap overlap_of(const uint8_t *prediction, const uint8_t *reference, size_t count);

/* 2 tp / (2 tp + fp + fn) and tp / (tp + fp + fn); NaN if both are empty, as nnU-Net has it. */
double overlap_dice(const overlap *overlap);
double overlap_iou(const overlap *overlap);

#endif
