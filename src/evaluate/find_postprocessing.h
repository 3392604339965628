/*
 * Which postprocessing raises the scores of predictions, by nnU-Net's rules, in this order:
 *
 *   1. of all labels together only the largest component stays, if that raises the mean Dice and no label's falls;
 *   2. if there are several: of each label or region by itself, if that raises its mean Dice.
 *
 * Each is tried on top of what was accepted before. A mean is over the cases that have a score; the mean of all is
 * that of the labels' means.
 */
#ifndef HWS_EVALUATE_FIND_POSTPROCESSING_H
#define HWS_EVALUATE_FIND_POSTPROCESSING_H

#include "core/listener.h"
#include "evaluate/scoring.h"

/* STATUS_BAD_INPUT if there are more labels or regions than a postprocessing can have. */
status_code find_postprocessing_check(const region_list *regions, failure *failure);

/*
 * `before` has the scores without any postprocessing, by these options. All maps are read once for each trial. The
 * listener, who may be NULL, is told of the work as "postprocessing", and given notice of what was found.
 */
status_code find_postprocessing(const case_pairs *pairs, const scores *before, const scoring_options *options,
                                const listener *listener, postprocessing *found, failure *failure);

#endif
