/* What hws evaluate RUN prints of a run that classifies: by class, by group, by patient, at a threshold,
   and who is taken for whom. */
#ifndef HWS_CLI_CLASS_RESULTS_H
#define HWS_CLI_CLASS_RESULTS_H

#include "evaluate/evaluate_run.h"

/* Ranks other than the first have no results, and print nothing. */
void print_class_results(const class_results *results);

#endif
