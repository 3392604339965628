/*
 * Patches for training: cut from a case, augmented, laid out as the network wants them.
 *
 *     augmenter_open(&augmenter, &options, &failure);                         one per thread: it holds scratch memory
 *     augmenter_make(augmenter, &request, image, labels, &failure);
 *     augmenter_close(&augmenter);
 *
 * In order: place, rotation and scaling, noise, blur, brightness, contrast, low resolution, inverted gamma, gamma,
 * emptiness put back to 0 in masked channels, mirroring. Equal keys, options and cases give equal patches, to the
 * bit, on whatever thread.
 */
#ifndef HWS_AUGMENT_AUGMENT_H
#define HWS_AUGMENT_AUGMENT_H

#include "augment/patch.h"

typedef struct augmenter augmenter;

/* Copies the options. Close it when done; NULL after a failure. */
status_code augmenter_open(augmenter **augmenter, const augment_options *options, failure *failure);
void augmenter_close(augmenter **augmenter);

/* A patch to be made: of which case, which one, and whether it is forced onto foreground (patch_is_forced). */
typedef struct patch_request {
    const case_view *view;
    patch_key key;
    int forced;
} patch_request;

/*
 * `image` gets [depth][height][width][channel], `labels` [depth][height][width]. Labels beyond the case and where the
 * image was empty become 0, the background; labels to be ignored become -1. The case must have the options' channels.
 */
status_code augmenter_make(augmenter *augmenter, const patch_request *request, float *image, int16_t *labels,
                           failure *failure);

#endif
