/*
 * A case to be looked at: its image, reference and predictions, cropped to where labels are and some voxels around.
 */
#ifndef HWS_EVALUATE_CASE_VOLUME_H
#define HWS_EVALUATE_CASE_VOLUME_H

#include "core/failure.h"

#include <stddef.h>
#include <stdint.h>

enum { CASE_VOLUME_MAPS = 9, CASE_VOLUME_LABELS = 12 };

typedef struct case_files {
    const char *image, *reference;
    const char *predictions[CASE_VOLUME_MAPS - 1]; /* of `methods` methods */
    int methods;
    int ignored; /* the label of references whose voxels count for nothing; 0: none */
} case_files;

typedef struct case_volume {
    int size[3];       /* along x, y, z, as shown */
    double spacing[3]; /* mm, of what is shown */
    int step[3];       /* every so many voxels are shown: large volumes must fit into a page */
    int methods;
    int label_count;                    /* different labels above 0 in any map */
    int16_t values[CASE_VOLUME_LABELS]; /* of them, ascending; the last stands for all that are left */
    uint8_t *grey;                      /* x fastest; the 0.5th percentile is black, the 99.5th white */
    uint8_t *labels[CASE_VOLUME_MAPS];  /* the reference, then the predictions: 0, or 1 + a position in `values` */
} case_volume;

/* Close it, also after a failure. */
status_code case_volume_open(case_volume *shown, const case_files *files, failure *failure);
void case_volume_close(case_volume *shown);

/* The slices across an axis: how many there are, their width and height, and where a pixel lies in the volume. Rows run
   downwards on the screen and upwards in the volume. */
typedef struct slices {
    int axis, across, down; /* of 0, 1, 2 */
    int count, width, height;
} slices;

slices case_volume_slices(const case_volume *shown, int axis);
size_t slices_voxel(const case_volume *shown, const slices *slices, int slice, int row, int column);

/* The axis with the widest spacing: the planes across it have the best resolution. */
int case_volume_widest(const case_volume *shown);

/* The slice in which most voxels are wrong, for all predictions together; where none is, with most of the reference. */
int case_volume_telling(const case_volume *shown, const slices *slices);

#endif
