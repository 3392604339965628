/*
 * The headline of a page of classifiers that hws evaluate has seen, from what it found on the test examples with
 * the weights that are kept (strata.csv, confusion.csv): the last epoch, which history.csv tells of, may be
 * another. Intervals are Wilson's, or where patients have several examples each those of strata.csv, for which
 * whole patients were resampled.
 */
#ifndef HWS_REPORT_CLASS_VERDICT_H
#define HWS_REPORT_CLASS_VERDICT_H

#include "report/section.h"

typedef struct class_share {
    double share, low, high; /* of what is classified correctly, with its 95 % interval; NaN: not known */
} class_share;

typedef struct class_result {
    double examples;
    class_share all, worst;    /* the worst group, or without groups the worst class; NaN: there is none */
    const char *column, *name; /* of the worst: "group" and "virus"; of a class the column is NULL */
} class_result;

/* Of so many examples, with Wilson's interval; NaN without any. */
class_share class_share_of(double right, double all);

/* How many examples have the label of this row of a confusion matrix. */
double class_size(const csv *confusion, size_t row);

/* 0: the run is no classifier, or was not evaluated, or that is old. */
int class_result_of(const run *run, class_result *result);

/* Of a class, or of a group whose key is COLUMN:VALUE, as in the names of history.csv's columns; NaN: not known. */
double class_result_share(const run *run, const char *key);

/* Whether all runs of a page were evaluated; then the headline about them. The better one is named where that is fair
   and its interval lies apart from that of the baseline. */
int class_verdict_applies(const runs *runs);
void class_verdict_write(text *page, const runs *runs, int fair);

/* A note for each run whose evaluation is old. */
void class_verdict_tell_old(text *page, const runs *runs);

#endif
