/*
 * Images and label maps on grids of another size that cover the same extent.
 *
 * Every three numbers here are for depth, height and width: the slowest axis in memory first, the fastest last.
 * An image is resampled axis by axis, each with its own order: nearest, linear, or cubic spline through the voxels (as
 * scipy.ndimage.zoom with mode='nearest' and grid_mode=True, to about 1e-7 of the values). A label map is resampled one
 * label at a time and every voxel gets the label with the largest share, the larger of two equal ones; nnU-Net does the
 * same where some label has half, and writes 0 elsewhere.
 *
 * The threads share the lines of the volume; the result does not depend on their number.
 */
#ifndef HWS_PREPROCESS_RESAMPLE_H
#define HWS_PREPROCESS_RESAMPLE_H

#include "preprocess/axis_map.h"

#include <stdint.h>

/* The spacing of an axis this many times coarser than the finest one makes it an axis of its own. */
#define RESAMPLE_COARSE_RATIO 3

typedef struct resampling {
    int from[3], to[3];
    resample_order order[3];
    int clip; /* keep an image within the range of its voxels before: a spline swings over at edges */
    int threads;
} resampling;

/* The size of a grid of another spacing: rounded to whole voxels, at least one. */
void resample_size(const int size[3], const double from_spacing[3], const double to_spacing[3], int to_size[3]);

/* The axis to be resampled apart, to the nearest slice, because its voxels are more than three times longer than
   others, before or else after; -1 if there is none or if there are two of them. */
int resample_coarse_axis(const double from_spacing[3], const double to_spacing[3]);

/* A resampling with this order on all axes but the coarse one (-1: none), which gets the nearest voxel. */
resampling resampling_of(const int from[3], const int to[3], resample_order order, int coarse_axis, int threads);

/* `from` and `to` must not overlap. */
status_code resample_image(const resampling *how, const float *from, float *to, failure *failure);

/* Cubic counts as linear here. */
status_code resample_labels(const resampling *how, const int16_t *from, int16_t *to, failure *failure);

#endif
