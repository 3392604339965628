/* What this part draws random numbers for (core/random.h). */
#ifndef HWS_STATISTICS_PURPOSES_H
#define HWS_STATISTICS_PURPOSES_H

enum {
    RANDOM_BOOTSTRAP = 48, /* confidence intervals; evaluate/ resamples for them as well */
};

#endif
