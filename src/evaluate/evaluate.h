/* Scores of predicted label maps beside their references. */
#ifndef HWS_EVALUATE_EVALUATE_H
#define HWS_EVALUATE_EVALUATE_H

#include "evaluate/case_files.h"
#include "evaluate/scores.h"
#include "nifti/volume.h"

typedef struct evaluation {
    int hd95, assd; /* measure these distances too */
    int ignore;     /* where the reference has this label, nothing counts; 0: there is none */
    int threads;
    void (*progress)(void *context, size_t done, size_t total); /* may be NULL; one call at a time */
    void *progress_context;
} evaluation;

/* Adds every label above 0 that some reference has, ascending. STATUS_BAD_INPUT if there is none. */
status_code evaluate_find_labels(const case_files *files, const evaluation *evaluation, region_list *regions,
                                 failure *failure);

/*
 * Scores every case. Labels above 0 that predictions or references hold but no region contains are told in `notes`.
 * Close the scores, also after a failure.
 */
status_code evaluate_cases(const case_files *files, const region_list *regions, const evaluation *evaluation,
                           scores *scores, text *notes, failure *failure);

/* Makes background of all voxels that have this label in the reference, in both maps; returns how many. 0: none have. */
size_t label_maps_ignore(label_map *prediction, label_map *reference, int ignore);

/* One case: fills the METRICS values of each region. Both maps have the same size. */
status_code evaluate_maps(const int16_t *prediction, const int16_t *reference, const int size[3],
                          const double spacing[3], const region_list *regions, int distances, double *values,
                          failure *failure);

#endif
