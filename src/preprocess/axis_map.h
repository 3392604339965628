/*
 * Where the voxels of a resampled axis look on the original one.
 *
 * Both grids cover the same extent: the voxel o of `to` looks at the place (o + 1/2) * from / to - 1/2, as
 * scipy.ndimage.zoom with grid_mode=True and skimage.transform.resize do. Beyond its ends the axis goes on with its
 * first and last value.
 */
#ifndef HWS_PREPROCESS_AXIS_MAP_H
#define HWS_PREPROCESS_AXIS_MAP_H

#include "core/failure.h"

typedef enum resample_order { RESAMPLE_NEAREST = 0, RESAMPLE_LINEAR = 1, RESAMPLE_CUBIC = 3 } resample_order;

/* The weighted neighbours of one place. Cubic ones are spline coefficients and may lie up to two beyond the ends, the
   others lie inside. */
typedef struct axis_taps {
    int index[4]; /* nearest uses one, linear two, cubic four */
    double weight[4];
} axis_taps;

typedef struct axis_map {
    int from, to, count; /* neighbours per place */
    axis_taps *taps;     /* `to` of them, memory_open */
} axis_map;

axis_taps axis_taps_at(double place, int size, resample_order order);

/* Sizes are at least 1. Close it when STATUS_OK; otherwise it is zeroed. */
status_code axis_map_open(axis_map *map, int from, int to, resample_order order, failure *failure);
void axis_map_close(axis_map *map);

#endif
