/* What this part draws random numbers for (core/random.h). */
#ifndef HWS_CACHE_PURPOSES_H
#define HWS_CACHE_PURPOSES_H

enum {
    RANDOM_LOCATIONS = 21, /* stored foreground voxels */
};

#endif
