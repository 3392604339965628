/* What this part draws random numbers for (core/random.h). */
#ifndef HWS_TRAIN_PURPOSES_H
#define HWS_TRAIN_PURPOSES_H

enum {
    RANDOM_SHUFFLE = 28,    /* the order of the examples in a pass */
    RANDOM_REWEIGHT = 29,   /* draws by group */
    RANDOM_UPWEIGHTED = 30, /* the order in a pass in which some examples are several times */
    RANDOM_UNIFORM = 72,    /* independent draws */
};

#endif
