/*
 * How good predicted classes are: accuracy, balanced accuracy, AUROC and calibration of any part of the examples, each
 * with a 95 % interval.
 *
 * Intervals of AUROC, of calibration and of differences are the bootstrap's; there is none where every resample has the
 * same value, and none of AUROC where a class has fewer than five examples. Those of accuracies are share_interval.h's.
 * Where patients have several examples each, they take the place of examples: whole patients are resampled
 * (clusters.h), for accuracies as well, unless that gives the same value every time.
 */
#ifndef HWS_EVALUATE_CLASS_SCORES_H
#define HWS_EVALUATE_CLASS_SCORES_H

#include "core/listener.h"
#include "statistics/statistics.h"

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
    const int *patients;        /* [count]; -1: nobody's; NULL: patients are not known */
} class_predictions;

typedef struct class_scored {
    int64_t count;
    int64_t patients; /* that these are of, an example of nobody counting as one; `count` where none is known */
    double value[CLASS_SCORES]; /* NaN where there is none: no AUROC or balanced accuracy without a second class */
    interval ci[CLASS_SCORES];  /* NaN below STATISTICS_INTERVAL_CASES patients */
} class_scored;

/* Of the examples `members`; all count once. */
status_code class_scores_of(const class_predictions *predictions, const int64_t *members, int64_t count,
                            class_scored *result, failure *failure);

/* By how much the second method is better than the first on the same examples. */
typedef struct class_difference {
    double value[CLASS_SCORES];      /* second minus first */
    interval ci[CLASS_SCORES];       /* 95 %, by resampling the patients of both at once; NaN as above */
    int64_t only_first, only_second; /* examples that only one of them has right */
    double p; /* are these two equally likely? McNemar's exact test, or sign_flip.h's of patients; NaN: no examples */
} class_difference;

status_code class_scores_difference(const class_predictions *first, const class_predictions *second,
                                    const int64_t *members, int64_t count, class_difference *result, failure *failure);

/* The two-sided p of a + b fair coins of which a show heads; 1 without any. */
double class_scores_mcnemar(int64_t a, int64_t b);

/* The lowest accuracy of any group, with the 95 % interval of that minimum (patients are resampled within their groups,
   so that each keeps as many); and, with a second method, of the difference between their minima. */
typedef struct class_worst {
    int group; /* of the first method; the first of equals; -1: no group has an example */
    double value, difference;
    interval ci, difference_ci; /* NaN if any group with examples has fewer than STATISTICS_INTERVAL_CASES patients */
} class_worst;

typedef struct class_groups {
    const int *of; /* [example]; -1: in none */
    int count;
} class_groups;

/* How many examples there are and how many of them have no group; and the groups that have examples. */
typedef struct group_counts {
    int64_t examples, without, groups;
} group_counts;

/* Gives notice of examples that are in no group of a column, and of many groups that are too small to judge. */
void class_groups_tell(const char *column, group_counts counts, const listener *listener);

/* `second` may be NULL. */
status_code class_scores_worst(const class_predictions *first, const class_predictions *second, class_groups groups,
                               class_worst *result, failure *failure);

/* Examples in each bin of the confidence, with the sums of hits and confidences. */
typedef struct class_bin {
    double count, hits, confidence;
} class_bin;

/* Of all examples. */
void class_scores_bins(const class_predictions *predictions, class_bin bins[CLASS_BINS]);

#endif
