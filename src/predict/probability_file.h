/*
 * Probabilities on disk: an .npz archive with one array, `probabilities`, float16 [output][z][y][x], as
 * numpy.load(path)["probabilities"] reads it (docs/formats.md).
 */
#ifndef HWS_PREDICT_PROBABILITY_FILE_H
#define HWS_PREDICT_PROBABILITY_FILE_H

#include "core/failure.h"
#include "nifti/volume.h"

#include <stdint.h>

/* `outputs` maps of the grid's voxels, one after the other. The file appears whole or not at all. */
status_code probability_file_write(const char *path, const volume_grid *grid, int outputs, const float *probabilities,
                                   failure *failure);

/* The nearest half-precision number of one from 0 to 1, the even one of two. */
uint16_t half_of_probability(float probability);

#endif
