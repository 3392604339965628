/* What this part draws random numbers for (core/random.h). */
#ifndef HWS_PLAN_PURPOSES_H
#define HWS_PLAN_PURPOSES_H

enum {
    RANDOM_FINGERPRINT = 20, /* voxels for the statistics of a dataset */
};

#endif
