/*
 * Images with one label each as a task: cross entropy, accuracy on the test part and, if there is one, on the
 * validation part, overall, per class and per group.
 *
 * Pixels become (x / 255 - mean) / std with the mean and the standard deviation of all pixels of the training set,
 * which are recorded with the run.
 */
#ifndef HWS_TASK_CLASSIFICATION_H
#define HWS_TASK_CLASSIFICATION_H

#include "images/classification_data.h"
#include "images/picture_augment.h"
#include "images/pixel_scale.h"
#include "task/task.h"

/* The numbers of an evaluation of one set, in this order; groups only where there are some. */
typedef struct class_metrics {
    int classes, groups; /* groups: 0 without */
    int extended;        /* 0: only accuracy, one per class, and loss, as for images without names and groups */
    int accuracy, first_class, loss, worst_class, cvar, first_group, worst_group; /* positions */
    int count;
} class_metrics;

typedef struct classification {
    const classification_data *data;     /* the caller's */
    const labelled_images *evaluated[2]; /* the test set, and the validation set */
    int evaluated_count;
    const char *group; /* the column of groups; NULL: none */
    class_metrics metrics;
    pixel_scale pixels;
    picture_augment augment;
    uint64_t seed;
} classification;

/* Fills `context` and `task`, which refers to it and to the settings. Fails when the sets do not fit together, all
   pixels are equal or there is no such column of groups. */
status_code task_classification(task *task, classification *context, const classification_data *data,
                                const train_settings *settings, failure *failure);

#endif
