/*
 * The part of an image that is not empty.
 *
 * Scanners and skull stripping leave voxels of exactly 0 around the body. What is not 0 in some channel, with the holes
 * inside it filled, is the mask; the smallest box around it is what is worth keeping. An image of zeros is kept whole.
 * Three numbers are depth, height, width.
 */
#ifndef HWS_PREPROCESS_CROP_H
#define HWS_PREPROCESS_CROP_H

#include "nifti/volume.h"

typedef struct crop_box {
    int first[3], size[3];
} crop_box;

typedef struct crop {
    int original[3];
    crop_box box;
    uint8_t *mask; /* of the original size, 0 or 1, memory_open */
} crop;

/* The grid's sizes and spacings, slowest axis first. */
void grid_size(const volume_grid *grid, int size[3]);
void grid_spacing(const volume_grid *grid, double spacing[3]);

/* Images of 2^32 voxels and more are refused. Close the crop when STATUS_OK; otherwise it is zeroed. */
status_code crop_open(crop *crop, const volume *image, failure *failure);
void crop_close(crop *crop);

/* Copies the box out of a volume of this size, and back into one; elements have `bytes` bytes. */
void crop_copy_out(const int original[3], const crop_box *box, size_t bytes, const void *from, void *to);
void crop_copy_in(const int original[3], const crop_box *box, size_t bytes, const void *from, void *to);

#endif
