/* What this part draws random numbers for (core/random.h). */
#ifndef HWS_SAMPLER_PURPOSES_H
#define HWS_SAMPLER_PURPOSES_H

enum {
    RANDOM_DRAW = 1,   /* which examples make up a batch */
    RANDOM_JITTER = 2, /* noise on the losses that examples begin with */
    RANDOM_MIX = 3,    /* whether a draw is uniform */
    RANDOM_VISIT = 4,  /* the order of first visits */
};

#endif
