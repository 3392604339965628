/*
 * A trained network for classification, from its run's folder.
 *
 *     run_model_open(&model, "runs/dro", RUN_WEIGHTS_BEST, threads, &failure);
 *     run_model_classify(&model, &images, losses, probabilities, &failure);
 *     run_model_close(&model);
 */
#ifndef HWS_TRAIN_RUN_MODEL_H
#define HWS_TRAIN_RUN_MODEL_H

#include "run/run_folder.h"
#include "task/classification.h"

typedef struct run_model {
    train_settings settings;
    classification pixels; /* mean and standard deviation of the run's training set */
    int height, width, channels, classes;
    learner *learner;
} run_model;

/* What a run's folder was trained for: "classification" or "segmentation"; the caller frees it. */
status_code run_task(const char *folder, char **task, failure *failure);

status_code run_model_open(run_model *model, const char *folder, run_weights weights, int threads, failure *failure);
void run_model_close(run_model *model);

/* Losses of images with labels (may be NULL), and class probabilities [count][classes]. Images of another size are
   refused. */
status_code run_model_classify(run_model *model, const labelled_images *images, double *losses, float *probabilities,
                               failure *failure);

#endif
