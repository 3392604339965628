/*
 * How well each class is told from the others: sensitivity, specificity, precision and F1, with 95 % intervals.
 *
 * Intervals of the first three are Wilson's (share_interval.h), those of F1 the bootstrap's. Where patients have
 * several examples each, whole patients are resampled for all of them (clusters.h), and Wilson's stands where each
 * resample has the same value.
 */
#ifndef HWS_EVALUATE_CLASS_RATES_H
#define HWS_EVALUATE_CLASS_RATES_H

#include "evaluate/class_scores.h"

typedef enum class_rate {
    RATE_SENSITIVITY, /* of the examples of the class, which share is recognised: its accuracy, or recall */
    RATE_SPECIFICITY, /* of all other examples, which share is taken for something else than the class */
    RATE_PRECISION,   /* of the examples that are taken for the class, which share is right */
    RATE_F1,          /* the harmonic mean of sensitivity and precision */
    CLASS_RATES
} class_rate;

const char *class_rate_name(class_rate rate);

typedef struct class_rates {
    double value[CLASS_RATES]; /* NaN without an example to be right or wrong about */
    interval ci[CLASS_RATES];  /* NaN if fewer than STATISTICS_INTERVAL_CASES patients have such examples; F1 needs as
                                  many of the class */
} class_rates;

/* Of each class; and behind them the mean F1 of the classes that have one, beside which there is nothing; it has no
   interval where a class has fewer than five patients. */
status_code class_rates_of(const class_predictions *predictions, class_rates *each, failure *failure);

#endif
