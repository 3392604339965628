/* What this part draws random numbers for (core/random.h). */
#ifndef HWS_IMAGES_PURPOSES_H
#define HWS_IMAGES_PURPOSES_H

enum {
    RANDOM_KEEP = 16,   /* which examples of a class stay */
    RANDOM_DIGITS = 17, /* the built-in digits */
};

#endif
