/*
 * Patches for training: cut from a case, augmented, laid out as the network wants them.
 *
 *     augmenter_open(&maker, &options, &failure);                         one per thread: it holds scratch memory
 *     augmenter_make(maker, &view, &key, forced, image, labels, &failure);
 *     augmenter_close(&maker);
 *
 * In order: place, rotation and scaling, noise, blur, brightness, contrast, low resolution, inverted gamma, gamma,
 * emptiness put back to 0 in masked channels, mirroring. Equal keys, options and cases give equal patches, to the bit, on
 * whatever thread.
 */
#ifndef HWS_AUGMENT_AUGMENT_H
#define HWS_AUGMENT_AUGMENT_H

#include "augment/patch.h"

typedef struct augmenter augmenter;

/* Copies the options. Close it when done; NULL after a failure. */
status_code augmenter_open(augmenter **maker, const augment_options *options, failure *failure);
void augmenter_close(augmenter **maker);

/*
 * `image` gets [depth][height][width][channel], `labels` [depth][height][width]. Labels beyond the case and where the
 * image was empty become 0, the background; labels to be ignored become -1. The case must have the options' channels.
 */
status_code augmenter_make(augmenter *maker, const case_view *view, const patch_key *key, int forced, float *image,
                           int16_t *labels, failure *failure);

/* What was chosen for the last patch, for tests and demonstrations. */
const augment_choice *augmenter_choice(const augmenter *maker);

#endif
