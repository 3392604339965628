/*
 * From an image as it was recorded to what a network sees, and from what the network says back.
 *
 * Cropped to what is not empty, normalised, resampled to the plan's spacing, in this order, as nnU-Net v2 does it.
 * Three numbers are depth, height, width; volumes are [channel][depth][height][width].
 */
#ifndef HWS_PREPROCESS_PREPROCESS_H
#define HWS_PREPROCESS_PREPROCESS_H

#include "preprocess/crop.h"
#include "preprocess/normalise.h"

enum { LABEL_OUTSIDE = -1 }; /* what labels say where the image was empty: background that the scanner did not see */

typedef struct preprocessing {
    int channels;
    const channel_rule *rules; /* one for each channel */
    double spacing[3];
    int unresampled[3]; /* 1: the image's own spacing along this axis */
    int threads;
} preprocessing;

/* What is needed to undo it. */
typedef struct case_geometry {
    int original[3];
    double original_spacing[3];
    crop_box box;
    int size[3];
    double spacing[3];
} case_geometry;

typedef struct prepared_case {
    case_geometry geometry;
    int channels;
    float *image;    /* memory_open */
    int16_t *labels; /* memory_open; NULL if there were none */
} prepared_case;

/*
 * `labels` may be NULL, else they are on the image's grid. Refused: another number of channels than the plan has;
 * voxels that are not finite or, in a channel of NORMALISE_RGB, not from 0 to 255; and sizes that case_geometry_check
 * refuses. Close the case when STATUS_OK; otherwise it is zeroed.
 */
status_code preprocess(const preprocessing *how, const volume *image, const label_map *labels, prepared_case *prepared,
                       failure *failure);
void prepared_case_close(prepared_case *prepared);

/*
 * STATUS_BAD_INPUT, with both spacings and the size, if the preprocessed image would have more than UINT32_MAX voxels,
 * more than 100 times those of the original and 256 MB, or not fit into `available` bytes. preprocess asks for it.
 */
status_code case_geometry_check(const case_geometry *geometry, int channels, double available, failure *failure);

/* Voxels of one channel after preprocessing, and before. */
size_t case_geometry_voxels(const case_geometry *geometry);
size_t case_geometry_original_voxels(const case_geometry *geometry);

/* Labels on the preprocessed grid, brought back to the original one; 0 where nothing was kept. */
status_code restore_labels(const case_geometry *geometry, const int16_t *labels, int threads, int16_t *original,
                           failure *failure);

/* Scores of the classes (probabilities or logits) on the preprocessed grid; class c of voxel v is
   values[v * voxel_stride + c * class_stride]. */
typedef struct class_scores {
    int classes;
    const float *values;
    size_t voxel_stride, class_stride;
} class_scores;

/* Resamples the scores linearly and gives every voxel of the original grid the class with the highest, the first of
   equal ones; 0 where nothing was kept. */
status_code restore_scores(const case_geometry *geometry, const class_scores *scores, int threads, int16_t *original,
                           failure *failure);

/* The scores of one class on the preprocessed grid: voxel v has values[v * voxel_stride]. */
typedef struct score_map {
    const float *values;
    size_t voxel_stride;
    float outside; /* what the original grid gets where nothing was kept */
} score_map;

score_map class_score_map(const class_scores *scores, int class, float outside);

/* Resampled linearly to the original grid. */
status_code restore_score_map(const case_geometry *geometry, const score_map *map, int threads, float *original,
                              failure *failure);

#endif
