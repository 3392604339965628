/*
 * How good predicted classes are: accuracy, balanced accuracy, AUROC and calibration of any part of the examples, each
 * with a 95 % bootstrap interval.
 */
#ifndef HWS_EVALUATE_CLASS_SCORES_H
#define HWS_EVALUATE_CLASS_SCORES_H

#include "evaluate/statistics.h"

typedef enum class_score {
    CLASS_ACCURACY,
    CLASS_BALANCED, /* the mean of the accuracies of the classes that are there */
    CLASS_AUROC,    /* of two classes that of the second; of more, the mean over the classes, each against the others */
    CLASS_ECE,      /* expected calibration error: |accuracy - confidence| in CLASS_BINS equal bins of the confidence */
    CLASS_SCORES
} class_score;

enum { CLASS_BINS = 15 };

const char *class_score_name(class_score score);

typedef struct class_predictions {
    int64_t count;
    int classes;
    const uint8_t *labels;      /* [count] */
    const float *probabilities; /* [count][classes]; the first of the largest is what is predicted */
} class_predictions;

typedef struct class_scored {
    int64_t count;
    double value[CLASS_SCORES]; /* NaN where there is none: no AUROC without a second class */
    interval ci[CLASS_SCORES];  /* NaN below STATISTICS_INTERVAL_CASES examples */
} class_scored;

/* Of the examples `members`; all count once. */
status_code class_scores_of(const class_predictions *predictions, const int64_t *members, int64_t count,
                            class_scored *result, failure *failure);

/* Examples in each bin of the confidence, with the sums of hits and confidences. */
typedef struct class_bin {
    double count, hits, confidence;
} class_bin;

/* Of all examples. */
void class_scores_bins(const class_predictions *predictions, class_bin bins[CLASS_BINS]);

#endif
