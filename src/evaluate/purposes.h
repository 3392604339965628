/* What this part draws random numbers for (core/random.h). */
#ifndef HWS_EVALUATE_PURPOSES_H
#define HWS_EVALUATE_PURPOSES_H

enum {
    RANDOM_BOOTSTRAP = 48, /* confidence intervals */
};

#endif
