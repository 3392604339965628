/*
 * Where patches are cut, and cutting them.
 *
 * The last third of a batch (sample j of B when j >= round(0.67 B), two of three being left to chance) is forced onto
 * foreground: a class that the case has, any with the same chance, and one of its stored voxels is the centre, as far
 * as the patch stays within the case. The others lie anywhere within it. A case smaller than the patch lies in its
 * middle.
 */
#ifndef HWS_AUGMENT_PATCH_H
#define HWS_AUGMENT_PATCH_H

#include "augment/choice.h"
#include "cache/case_view.h"

/* Whether the sample with this slot in a batch is forced onto foreground. */
int patch_is_forced(int slot, int batch);

/* The first voxel of the patch, which may be negative. */
void patch_place(const case_view *view, const int patch[3], const patch_key *key, int forced, int start[3]);

/* Copies a box out of a volume: `outside` where it reaches beyond. */
void box_copy_image(const float *image, const int size[3], const int start[3], const int box[3], float outside,
                    float *to);
void box_copy_labels(const int16_t *labels, const int size[3], const int start[3], const int box[3], int16_t outside,
                     int16_t *to);

#endif
