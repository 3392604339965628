/* What this part draws random numbers for (core/random.h). */
#ifndef HWS_NN_PURPOSES_H
#define HWS_NN_PURPOSES_H

enum {
    RANDOM_WEIGHTS = 8,  /* the first values of a network */
    RANDOM_DROPOUT = 31, /* what dropout leaves out */
};

#endif
