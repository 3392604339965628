/*
 * Images with one label each as a task: cross entropy, accuracy on the test set, overall and per class.
 *
 * Pixels become (x / 255 - mean) / std with the mean and the standard deviation of all pixels of the training set, which
 * are recorded with the run.
 */
#ifndef HWS_TASK_CLASSIFICATION_H
#define HWS_TASK_CLASSIFICATION_H

#include "images/labelled_images.h"
#include "task/task.h"

typedef struct classification {
    const labelled_images *train, *test; /* the caller's */
    double mean, std;
} classification;

/* Fills `context` and `task`, which refers to it. Fails when the sets do not fit together or all pixels are equal. */
status_code task_classification(task *task, classification *context, const labelled_images *train,
                                const labelled_images *test, failure *failure);

/* One image as the network sees it. */
void classification_pixels(const classification *context, const uint8_t *pixels, size_t count, float *input);

/* The network for images of this shape; sets model, loss and part (the whole batch: batch normalisation wants it). */
status_code classification_network(const labelled_images *like, const char *model, int batch, learner_options *options,
                                   failure *failure);

/* Losses (may be NULL), and class probabilities [count][classes] (may be NULL), of all images of a set. Sets without
   labels have no losses. */
status_code classification_evaluate(const classification *context, const labelled_images *set, learner *learner,
                                    double *losses, float *probabilities, failure *failure);

#endif
