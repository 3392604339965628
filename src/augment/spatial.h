/*
 * Rotated and scaled patches: cubic splines for the image, the largest linear share for labels.
 *
 * The patch is looked up in the whole case around it, not in a crop, so that its corners are filled as far as the case
 * reaches; beyond it the image is 0 and the label -1.
 */
#ifndef HWS_AUGMENT_SPATIAL_H
#define HWS_AUGMENT_SPATIAL_H

#include "augment/patch.h"

/* Memory that grows as needed and is kept from patch to patch. */
typedef struct spatial_scratch {
    float *coefficients;
    size_t voxels;
    double (*lines)[16];
    size_t rows;
} spatial_scratch;

void spatial_scratch_close(spatial_scratch *scratch);

/* Where the patch's voxels are in the case: centre + matrix * (voxel - middle of the patch). */
typedef struct patch_map {
    double matrix[3][3], centre[3], middle[3];
    int patch[3];
} patch_map;

patch_map patch_map_of(const augment_options *options, const augment_choice *choice, const int start[3]);

/* One channel, [depth][height][width]. */
status_code spatial_image(const patch_map *map, const float *image, const int size[3], float *to,
                          spatial_scratch *scratch, failure *failure);
void spatial_labels(const patch_map *map, const int16_t *labels, const int size[3], int16_t *to);

#endif
