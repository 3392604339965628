/* Scores of predicted label maps beside their references. */
#ifndef HWS_EVALUATE_SCORING_H
#define HWS_EVALUATE_SCORING_H

#include "core/listener.h"
#include "evaluate/case_pairs.h"
#include "evaluate/scores.h"
#include "nifti/volume.h"
#include "predict/postprocessing.h"

typedef struct scoring_options {
    int hd95, assd; /* measure these distances too */
    double nsd;     /* and NSD at this tolerance, in mm; 0: do not */
    empty_rule empty;
    int ignore; /* where the reference has this label, nothing counts; 0: there is none */
    int threads;
    const postprocessing *after; /* done to the predictions before they are scored; NULL: nothing */
} scoring_options;

/* Adds every label above 0 that some reference has, ascending. STATUS_BAD_INPUT if there is none. The listener, who may
   be NULL, is only asked whether to stop. */
status_code scoring_find_labels(const case_pairs *pairs, const scoring_options *options, region_list *regions,
                                const listener *listener, failure *failure);

/*
 * Both together with the other ranks (ranks/ranks.h), to whom the cases are dealt.
 *
 * Scores every case, as the work "scored" of the listener, who may be NULL and is given notice of labels above 0 that
 * predictions or references hold but no region contains. Close the scores, also after a failure.
 */
status_code scoring_run(const case_pairs *pairs, const region_list *regions, const scoring_options *options,
                        const listener *listener, scores *scores, failure *failure);

/* Makes background of all voxels that have this label in the reference, in both maps; returns
   how many. 0: none have. */
size_t label_maps_ignore(label_map *prediction, label_map *reference, int ignore);

/* One case, whose maps have the same size: fills the METRICS values of each region. */
status_code score_label_maps(const label_map *prediction, const label_map *reference, const region_list *regions,
                             const scoring_options *options, double *values, failure *failure);

#endif
