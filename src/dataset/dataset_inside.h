/* What the files of dataset.h share. */
#ifndef HWS_DATASET_DATASET_INSIDE_H
#define HWS_DATASET_DATASET_INSIDE_H

#include "dataset/dataset.h"
#include "nifti/nifti.h"

#include <jansson.h>

/* dataset.json apart from its cases: layout, channels, labels, names. */
status_code dataset_describe(dataset *set, const json_t *root, const char *path, failure *failure);

/* The cases: from the files that are there, or from a list in dataset.json. */
status_code dataset_list(dataset *set, const json_t *root, const char *path, failure *failure);

/* ---- one case ---------------------------------------------------------------------------------------------------- */

/* One file of a case's image, opened. */
typedef struct image_file {
    const char *path;
    nifti_reader *reader;
    volume_grid grid;
} image_file;

/* How many channels each of its files holds. */
int dataset_file_channels(const dataset *set, const dataset_case *one);

/* STATUS_OK unless the file is missing or has other than the right number of channels. Close its reader. */
status_code dataset_open_image(const dataset *set, const dataset_case *one, int file, image_file *opened,
                               failure *failure);

/* The file's next channel, whose voxels must be finite. */
status_code dataset_read_channel(const dataset_case *one, const image_file *file, float *voxels, failure *failure);

/* Values that are no label; `foreground` tells whether there are others than 0 and `ignore`. */
status_code dataset_check_values(const dataset *set, const dataset_case *one, const label_map *labels, int *foreground,
                                 failure *failure);
/* Makes classes of values, which dataset_check_values found in order. */
void dataset_to_classes(const dataset *set, label_map *labels);

status_code dataset_check_grids(const dataset_case *one, const char *image, const volume_grid *a, const volume_grid *b,
                                failure *failure);
status_code dataset_check_channels_fit(const dataset_case *one, const char *image, const volume_grid *first,
                                       const volume_grid *other, failure *failure);

#endif
