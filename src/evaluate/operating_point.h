/*
 * A threshold for one class: examples whose probability of it is at least that are taken for it,
 * whatever the others are.
 *
 * It is chosen for a sensitivity or a specificity that is wanted, on examples that were neither trained on nor are
 * tested on, and what it gives is scored on others.
 *
 *     operating_goal_parse("sensitivity=0.95", &goal, &failure);
 *     operating_threshold(&validation, positive, goal, &threshold, &failure);
 *     operating_scores_of(&test, members, count, (operating_rule){positive, threshold}, &scores, &failure);
 */
#ifndef HWS_EVALUATE_OPERATING_POINT_H
#define HWS_EVALUATE_OPERATING_POINT_H

#include "evaluate/class_scores.h"

typedef struct operating_goal {
    int is_sensitivity; /* 1, or 0: it is a specificity */
    double share;       /* above 0, at most 1 */
} operating_goal;

typedef struct operating_rule {
    int positive; /* the class */
    double threshold;
} operating_rule;

/* Shares with 95 % intervals: Wilson's, or where patients have several examples the
   bootstrap's, as in class_rates.h. */
typedef struct operating_scores {
    int64_t positives, negatives;
    double sensitivity, specificity; /* NaN without positives, negatives */
    interval sensitivity_ci, specificity_ci;
} operating_scores;

/* "sensitivity=0.95" or "specificity=0.9" */
status_code operating_goal_parse(const char *words, operating_goal *goal, failure *failure);

/* The highest threshold with at least this sensitivity on these examples, or the lowest with at least this
   specificity: with each the other share is the best that can be had. STATUS_BAD_INPUT without an example of the
   class, or of the others. */
status_code operating_threshold(const class_predictions *predictions, int positive, operating_goal goal,
                                double *threshold, failure *failure);

/* Of the examples `members`. */
status_code operating_scores_of(const class_predictions *predictions, const int64_t *members, int64_t count,
                                operating_rule rule, operating_scores *result, failure *failure);

#endif
