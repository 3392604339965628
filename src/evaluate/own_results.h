/* Whether the files of an evaluation may be written into a folder: those that are there must be
   such files themselves. */
#ifndef HWS_EVALUATE_OWN_RESULTS_H
#define HWS_EVALUATE_OWN_RESULTS_H

#include "core/failure.h"

typedef enum results_kind {
    RESULTS_OF_CLASSES,        /* evaluate_classification.c */
    RESULTS_OF_CASES,          /* evaluate.c */
    RESULTS_OF_POSTPROCESSING, /* and this, if it is looked for */
    RESULTS_OF_COMPARISON      /* comparison_folder.c */
} results_kind;

/* To be asked before the work begins. Fails, naming the first file that is somebody else's. In a run's folder all of
   these names are the run's own. */
status_code own_results_check(const char *folder, results_kind kind, failure *failure);

/* The same of volumes' scores, and of their postprocessing if it is looked for. */
status_code own_results_check_cases(const char *folder, int find_postprocessing, failure *failure);

#endif
