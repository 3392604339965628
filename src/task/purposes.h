/* What this part draws random numbers for (core/random.h). */
#ifndef HWS_TASK_PURPOSES_H
#define HWS_TASK_PURPOSES_H

enum {
    RANDOM_MISLABEL = 70, /* which labels are made wrong, and how */
};

#endif
