/* Which class an example is called: the most probable one, or by a threshold for one of them. */
#ifndef HWS_PREDICT_CLASS_THRESHOLD_H
#define HWS_PREDICT_CLASS_THRESHOLD_H

#include "run/config.h"

typedef struct class_threshold {
    int positive; /* the class; -1: there is no threshold */
    float at;     /* it is called so from this probability on; below, the most probable of the others is. A float as
                     probabilities are: one that was printed with nine digits is the same number again. */
} class_threshold;

/* "pneumonia=0.31", with a class of the run; what is behind the last = is the probability, 0 to 1. NULL: none. */
status_code class_threshold_parse(const char *words, const run_facts *facts, class_threshold *threshold,
                                  failure *failure);

int class_threshold_decide(class_threshold threshold, const float *probabilities, int classes);

#endif
