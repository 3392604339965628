/*
 * A trained network for classification, from its run's folder.
 *
 *     classifier_open(&model, "runs/dro", &(classifier_options){RUN_WEIGHTS_BEST, threads}, &failure);
 *     classifier_run(&model, &images, losses, probabilities, &failure);
 *     classifier_close(&model);
 */
#ifndef HWS_PREDICT_CLASSIFIER_H
#define HWS_PREDICT_CLASSIFIER_H

#include "model/image_classifier.h"
#include "run/config.h"
#include "run/run_folder.h"

typedef struct classifier {
    run_config config;
    pixel_scale pixels; /* mean and standard deviation of the run's training set */
    int classes;
    learner *learner;
    const listener *listener; /* who is asked by classifier_run whether to stop; NULL unless it is set */
} classifier;

typedef struct classifier_options {
    run_weights weights;
    int threads;
    int one_by_one; /* 0; 1: images come singly, so that time and memory go to one and not to a batch. Same results */
} classifier_options;

status_code classifier_open(classifier *model, const char *folder, const classifier_options *options, failure *failure);
void classifier_close(classifier *model);

/* Losses of images with labels (may be NULL), and class probabilities [count][classes]. Images of another size are
   refused, and so are probabilities that are no numbers, as of a network whose training diverged. */
status_code classifier_run(classifier *model, const labelled_images *images, double *losses, float *probabilities,
                           failure *failure);

#endif
