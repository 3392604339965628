/*
 * A model for segmentation in a folder: a run's, or an exported one.
 *
 * An exported model is a folder with a plan (plans.json) and weights: best.safetensors, or one .safetensors file of any
 * other name. Nothing else is needed; of config.json only the labels' names are read, where it is there.
 */
#ifndef HWS_PREDICT_MODEL_FOLDER_H
#define HWS_PREDICT_MODEL_FOLDER_H

#include "plan/plan.h"
#include "run/run_folder.h"

status_code model_folder_plan(const char *folder, plan *plan, failure *failure);

/* A run has the weights that were asked for; an exported model has only one file. */
status_code model_folder_weights(const char *folder, run_weights weights, char path[PATH_SIZE], failure *failure);

/* Names of the network's outputs, one memory block that the caller frees: regions as the plan calls them, classes,
   background first, as config.json does; those that it does not tell are the label values. */
status_code model_folder_labels(const char *folder, const plan *plan, char ***names, failure *failure);

#endif
