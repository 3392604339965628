/* What this part draws random numbers for (core/random.h). */
#ifndef HWS_IMAGES_PURPOSES_H
#define HWS_IMAGES_PURPOSES_H

enum {
    RANDOM_KEEP = 16,       /* which examples of a class stay */
    RANDOM_DIGITS = 17,     /* the built-in digits */
    RANDOM_KEEP_GROUP = 60, /* which examples of a group stay */
    RANDOM_SPLIT = 61,      /* which examples are tested on, where the data do not say */
    RANDOM_SPLIT_OFF = 25,  /* which examples are validated on */
    RANDOM_PICTURE = 62,    /* what happens to pictures while they are trained on */
};

#endif
