/*
 * What happens to a patch, drawn before anything is done to it.
 *
 * Probabilities and ranges are nnU-Net's. A choice follows from (seed, iteration, slot) alone, so that no number of
 * threads and no order of loading can change a patch. A range that reaches from below 1 to above 1, for zooms and
 * gammas, is drawn below 1 half of the time, as nnU-Net does it.
 */
#ifndef HWS_AUGMENT_CHOICE_H
#define HWS_AUGMENT_CHOICE_H

#include "plan/plan.h"

typedef struct augment_range {
    double low, high;
} augment_range;

typedef struct augment_options {
    int patch[3], channels;
    int16_t ignore;                    /* -1: none. The label that counts for nothing, which becomes -1 */
    uint8_t masked[PLAN_MAX_CHANNELS]; /* 1: the channel is 0 where the image was empty, and is kept so */
    int flat_axis; /* -1: none. An axis so much shorter than others that patches are turned about it alone */

    double rotation_probability;       /* 0.2 */
    augment_range rotation;            /* radians, -30 to 30 degrees about each axis; -180 to 180 about a flat one */
    double scaling_probability;        /* 0.2 */
    augment_range scaling;             /* 0.7 to 1.4; above 1 the patch shows more */
    double noise_probability;          /* 0.1 */
    augment_range noise;               /* 0 to 0.1, standard deviation */
    double blur_probability;           /* 0.2 */
    double blur_channel;               /* 0.5, of each channel once blurring is chosen */
    augment_range blur;                /* 0.5 to 1 voxels, standard deviation */
    double brightness_probability;     /* 0.15 */
    augment_range brightness;          /* 0.75 to 1.25, a factor */
    double contrast_probability;       /* 0.15 */
    augment_range contrast;            /* 0.75 to 1.25, a factor of the distance to the mean */
    double coarse_probability;         /* 0.25 */
    double coarse_channel;             /* 0.5 */
    augment_range coarse;              /* 0.5 to 1, of the resolution */
    double inverted_gamma_probability; /* 0.1 */
    double gamma_probability;          /* 0.3 */
    augment_range gamma;               /* 0.7 to 1.5 */
    double mirror_probability[3];      /* 0.5 */
} augment_options;

/* The usual options for a plan. */
augment_options augment_options_for(const plan *plan, int ignore);

/* No augmentation at all: patches as they are, for validation. */
augment_options augment_options_plain(const plan *plan, int ignore);

/* Which patch: the same numbers give the same patch. */
typedef struct patch_key {
    uint64_t seed, iteration;
    uint32_t slot; /* within the batch */
} patch_key;

/* Factors of 1 and deviations of 0 do nothing. */
typedef struct channel_choice {
    double blur, brightness, contrast, coarse, inverted_gamma, gamma;
} channel_choice;

typedef struct augment_choice {
    int turned;      /* rotated or scaled */
    double angle[3]; /* about depth, height, width */
    double scale;
    double noise;
    int mirror[3];
    channel_choice *channels; /* the caller's, options->channels of them */
} augment_choice;

void augment_choose(const augment_options *options, const patch_key *key, augment_choice *choice);

#endif
