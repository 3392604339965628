/*
 * Images with one label each as a task: cross entropy, accuracy on the test set, overall and per class.
 *
 * Pixels become (x / 255 - mean) / std with the mean and the standard deviation of all pixels of the training set, which
 * are recorded with the run.
 */
#ifndef HWS_TASK_CLASSIFICATION_H
#define HWS_TASK_CLASSIFICATION_H

#include "images/pixel_scale.h"
#include "task/task.h"

typedef struct classification {
    const labelled_images *train, *test; /* the caller's */
    pixel_scale pixels;
} classification;

/* Fills `context` and `task`, which refers to it. Fails when the sets do not fit together or all pixels are equal. */
status_code task_classification(task *task, classification *context, const labelled_images *train,
                                const labelled_images *test, failure *failure);

#endif
