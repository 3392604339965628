/* What this part draws random numbers for (core/random.h). */
#ifndef HWS_AUGMENT_PURPOSES_H
#define HWS_AUGMENT_PURPOSES_H

enum {
    RANDOM_PATCH = 22,   /* where patches are cut */
    RANDOM_AUGMENT = 23, /* what happens to them */
    RANDOM_NOISE = 24,   /* the noise that is added to them */
};

#endif
