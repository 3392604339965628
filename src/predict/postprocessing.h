/*
 * What is done to a label map after the network: of some labels only the largest connected component stays.
 *
 * Which labels gain by it is found on validation cases (evaluate/find_postprocessing.h) and kept in postprocessing.json
 * (docs/formats.md).
 */
#ifndef HWS_PREDICT_POSTPROCESSING_H
#define HWS_PREDICT_POSTPROCESSING_H

#include "core/failure.h"

#include <stddef.h>
#include <stdint.h>

enum { POSTPROCESSING_STEPS = 64, POSTPROCESSING_VALUES = 256 };

/* Voxels with one of these values, taken together: all but the largest component become 0. */
typedef struct postprocessing_step {
    int count;
    int16_t values[POSTPROCESSING_VALUES]; /* above 0 */
} postprocessing_step;

typedef struct postprocessing {
    int count;
    postprocessing_step steps[POSTPROCESSING_STEPS]; /* done in this order */
} postprocessing;

/* `path` may also be a run's or an evaluation's folder, with the file in it. Strict. */
status_code postprocessing_read(postprocessing *postprocessing, const char *path, failure *failure);

/* Into such a folder. */
status_code postprocessing_write(const postprocessing *postprocessing, const char *folder, failure *failure);

/* Neighbours share a face, an edge or a corner (26 of them), and of equally large components all stay, as nnU-Net has
   it. Sizes are along x, y, z, x fastest. Memory that runs out leaves the labels as they were. */
status_code keep_largest_component(const postprocessing_step *step, const int size[3], int16_t *labels,
                                   failure *failure);

/* All steps. After a failure the labels are undefined. */
status_code postprocessing_apply(const postprocessing *postprocessing, const int size[3], int16_t *labels,
                                 failure *failure);

#endif
