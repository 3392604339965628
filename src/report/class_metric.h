/*
 * What is measured on test examples or validation cases, per class: the accuracy of a classifier (columns test_accuracy
 * and test_accuracy_CLASS of history.csv) or the Dice score of a segmentation (val_dice and val_dice_LABEL).
 */
#ifndef HWS_REPORT_CLASS_METRIC_H
#define HWS_REPORT_CLASS_METRIC_H

#include "report/section.h"

typedef struct class_metric {
    const char *column;                   /* the overall measure; class columns begin with it and an underscore */
    const char *name, *Name;              /* "test accuracy" */
    const char *class_word, *class_words; /* "class", "classes"; with groups among them "class or group" */
    char **classes;                       /* the keys of the classes that any run has, in the order of the columns */
    size_t count, capacity;
} class_metric;

/* Of the runs of one page; the first decides between the two. 0 when memory ran out. Close with class_metric_close. */
int class_metric_open(class_metric *metric, const runs *runs);
void class_metric_close(class_metric *metric);

/* The column of a class, in a buffer of this size. */
enum { METRIC_COLUMN = 256 };
void class_metric_column(const class_metric *metric, const char *class_key, char column[METRIC_COLUMN]);

double class_metric_last(const class_metric *metric, const run *run, const char *class_key);

/* The class a run does worst on at its end, and how well; NULL if it has none. */
const char *class_metric_worst(const class_metric *metric, const run *run, double *value);

/*
 * The class to look at: the one that was thinned out most (then `kept` is the share that was left), else the one with
 * the lowest value at the end of any run (then `kept` is 1). NULL if there are no classes.
 */
const char *class_metric_focus(const class_metric *metric, const runs *runs, double *kept);

/* What one of them is: "class", "label" or "group". */
const char *class_metric_word(const class_metric *metric, const char *class_key);

/* The class's name for people: the key itself if any run has a class of that name, else what the first run calls it
   whose history has its column. */
const char *class_metric_class_name(const class_metric *metric, const runs *runs, const char *class_key);

#endif
