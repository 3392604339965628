/* What the files of dataset.h share. */
#ifndef HWS_DATASET_DATASET_INSIDE_H
#define HWS_DATASET_DATASET_INSIDE_H

#include "dataset/dataset.h"

#include <jansson.h>

/* dataset.json apart from its cases: layout, channels, labels, names. */
status_code dataset_describe(dataset *set, const json_t *root, const char *path, failure *failure);

/* The cases: from the files that are there, or from a list in dataset.json. */
status_code dataset_list(dataset *set, const json_t *root, const char *path, failure *failure);

/* ---- one case ---------------------------------------------------------------------------------------------------- */

/* The file of a channel, and which channel of that file it is. */
const char *dataset_channel_file(const dataset_case *one, int channel, int *inside);

/* STATUS_OK unless the file is missing or has other than the right number of channels. */
status_code dataset_inspect_image(const dataset *set, const dataset_case *one, int file, volume_grid *grid,
                                  failure *failure);
status_code dataset_check_finite(const dataset_case *one, const char *path, const float *voxels, size_t count,
                                 failure *failure);

/* Values that are no label; `foreground` tells whether there are others than 0 and `ignore`. */
status_code dataset_check_values(const dataset *set, const dataset_case *one, const label_map *labels, int *foreground,
                                 failure *failure);
status_code dataset_check_grids(const dataset_case *one, const char *image, const volume_grid *a, const volume_grid *b,
                                failure *failure);

#endif
