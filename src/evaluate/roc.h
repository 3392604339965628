/* Receiver operating characteristics: what each threshold of a class's probability gives. */
#ifndef HWS_EVALUATE_ROC_H
#define HWS_EVALUATE_ROC_H

#include "evaluate/class_scores.h"

enum { ROC_POINTS = 200 };

/* Examples whose probability of the class is at least `threshold` are taken for it. */
typedef struct roc_point {
    double threshold, sensitivity, specificity;
} roc_point;

/* From a threshold above all probabilities, which takes none, down to one that takes all; the corners between them,
   thinned to at most ROC_POINTS. `count` is 0 where all or none are of the class. */
status_code roc_of(const class_predictions *predictions, int positive, roc_point points[ROC_POINTS], size_t *count,
                   failure *failure);

#endif
