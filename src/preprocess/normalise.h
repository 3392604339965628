/* Bringing the intensities of a channel to a common scale. */
#ifndef HWS_PREPROCESS_NORMALISE_H
#define HWS_PREPROCESS_NORMALISE_H

#include <stddef.h>
#include <stdint.h>

typedef enum normalisation {
    NORMALISE_ZSCORE,  /* mean 0 and standard deviation 1 in every image: MRI and all that has no fixed scale */
    NORMALISE_CT,      /* clipped to the dataset's foreground percentiles 0.5 and 99.5, then its mean and deviation */
    NORMALISE_RESCALE, /* the image's range to 0 to 1 */
    NORMALISE_NONE,
    NORMALISE_RGB /* divided by 255: the channels of a picture keep their proportions */
} normalisation;

#define NORMALISE_RGB_MOST 255 /* the values that may be divided by it are 0 to 255 */

/* How one channel is normalised. */
typedef struct channel_rule {
    normalisation kind;
    int masked;             /* z-score: over the mask only, the rest is set to 0 */
    double mean, deviation; /* of the dataset's foreground, as low and high are its percentiles 0.5 and 99.5 */
    double low, high;
} channel_rule;

/* The rule that nnU-Net takes from a channel's name in dataset.json: CT, noNorm, rescale_0_1 or rescale_to_0_1, and
   rgb_to_0_1 (whatever the case of the letters), z-score for all others. */
normalisation normalisation_of_channel(const char *name);

/* "z-score", "ct", "rescale", "none", "rgb"; and back, or -1. */
const char *normalisation_name(normalisation kind);
int normalisation_named(const char *name);

/* In place; `mask` has a byte per voxel. */
void normalise(const channel_rule *rule, float *voxels, const uint8_t *mask, size_t count);

#endif
