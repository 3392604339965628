/* What changes the intensities of one channel of a patch, in place. Volumes are [depth][height][width]. */
#ifndef HWS_AUGMENT_INTENSITY_H
#define HWS_AUGMENT_INTENSITY_H

#include "core/failure.h"
#include "core/random.h"

#include <stddef.h>

void add_noise(float *voxels, size_t count, double deviation, random_stream *stream);

/* A Gaussian as wide as scipy.ndimage.gaussian_filter's, 4 deviations to each side, the volume mirrored at its faces.
   `scratch` holds as many voxels; `deviation` is at most GAUSSIAN_MAX. */
#define GAUSSIAN_MAX 8
void gaussian_blur(float *voxels, const int size[3], double deviation, float *scratch);

void change_brightness(float *voxels, size_t count, double factor);

/* Stretches the distance to the mean, within the range before. */
void change_contrast(float *voxels, size_t count, double factor);

/* Fewer voxels, each the nearest one, along all axes but a flat one (-1: none), and back by cubic splines. */
status_code lose_resolution(float *voxels, const int size[3], double zoom, int flat_axis, float *scratch,
                            failure *failure);

/* The range taken to a power, of the negative if inverted; mean and standard deviation stay. */
void change_gamma(float *voxels, size_t count, double gamma, int inverted);

#endif
