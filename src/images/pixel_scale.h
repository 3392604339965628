/* Pixels as a network sees them: (x / 255 - mean) / std, with mean and standard deviation of the training set. */
#ifndef HWS_IMAGES_PIXEL_SCALE_H
#define HWS_IMAGES_PIXEL_SCALE_H

#include "images/labelled_images.h"

typedef struct pixel_scale {
    double mean, std; /* of x / 255 */
} pixel_scale;

/* From all pixels of a set; of a table 0 and 1. Fails when they are all equal. */
status_code pixel_scale_measure(pixel_scale *scale, const labelled_images *set, failure *failure);

void pixel_scale_apply(const pixel_scale *scale, const uint8_t *pixels, size_t count, float *input);

/* What the network sees of an example, decoded if need be; a table's values as they are. Any
   number of threads at once. */
status_code pixel_scale_example(const pixel_scale *scale, const labelled_images *set, int64_t index, float *input,
                                failure *failure);

#endif
