#include "evaluate/overlap.h"

#include <math.h>

void region_mask(const region *region, const int16_t *labels, size_t count, uint8_t *mask) {
    const int16_t first = region->labels[0];
    for (size_t i = 0; i < count; i++) mask[i] = labels[i] == first;
    for (int k = 1; k < region->count; k++) {
        const int16_t label = region->labels[k];
        for (size_t i = 0; i < count; i++) mask[i] |= labels[i] == label;
    }
}

overlap overlap_of(const uint8_t *prediction, const uint8_t *reference, size_t count) {
    uint64_t both = 0, predicted = 0, real = 0;
    for (size_t i = 0; i < count; i++) {
        both += prediction[i] & reference[i];
        predicted += prediction[i];
        real += reference[i];
    }
    return (overlap){.tp = both, .fp = predicted - both, .fn = real - both, .tn = count - predicted - real + both};
}

double overlap_dice(const overlap *overlap) {
    const double denominator = 2 * (double)overlap->tp + (double)overlap->fp + (double)overlap->fn;
    return denominator > 0 ? 2 * (double)overlap->tp / denominator : (double)NAN;
}

double overlap_iou(const overlap *overlap) {
    const double denominator = (double)overlap->tp + (double)overlap->fp + (double)overlap->fn;
    return denominator > 0 ? (double)overlap->tp / denominator : (double)NAN;
}
