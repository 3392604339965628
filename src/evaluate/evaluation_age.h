/* Whether a run was trained further after it was evaluated: then what the evaluation found may be of older weights. */
#ifndef HWS_EVALUATE_EVALUATION_AGE_H
#define HWS_EVALUATE_EVALUATION_AGE_H

#include "core/listener.h"
#include "run/run_folder.h"

/* The last iteration that a run's history.csv tells of; -1: nobody knows. */
status_code evaluation_iteration(const char *run, double *iteration, failure *failure);

/* Gives notice, by this name, of an evaluation that lies in its run's folder and is old: of a classifier, whose
   strata.csv has a lower iteration than the history; of a segmentation, whose weights are newer than its summary.json.
   What cannot be read is not old. */
void evaluation_tell_old(const char *path, const char *name, const listener *listener);

#endif
