/* What this part draws random numbers for (core/random.h). */
#ifndef HWS_PHANTOM_PURPOSES_H
#define HWS_PHANTOM_PURPOSES_H

enum {
    RANDOM_PHANTOM = 18, /* the synthetic heads */
    RANDOM_TUMOUR = 71,  /* the synthetic tumours */
};

#endif
