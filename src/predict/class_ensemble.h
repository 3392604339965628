/* Several networks that classify, as one: the mean of their probabilities. */
#ifndef HWS_PREDICT_CLASS_ENSEMBLE_H
#define HWS_PREDICT_CLASS_ENSEMBLE_H

#include "core/listener.h"
#include "predict/classifier.h"

typedef struct class_ensemble {
    classifier *models;
    int count;
} class_ensemble;

/* Refused unless all were trained on the same classes and on images of the same size. On failure it is closed. */
status_code class_ensemble_open(class_ensemble *ensemble, const char *const *runs, int count,
                                const classifier_options *options, failure *failure);
void class_ensemble_close(class_ensemble *ensemble);

/* Probabilities [count][classes] of all images of a set. The listener, which may be NULL, is asked whether to stop. */
status_code class_ensemble_run(class_ensemble *ensemble, const labelled_images *set, const listener *listener,
                               float *probabilities, failure *failure);

#endif
