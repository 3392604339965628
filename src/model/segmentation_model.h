/* The network that a plan describes. Heads of regions have biases, as nnU-Net v2's: a sigmoid has no other class to
   say how rare its region is. */
#ifndef HWS_MODEL_SEGMENTATION_MODEL_H
#define HWS_MODEL_SEGMENTATION_MODEL_H

#include "model/model.h"
#include "plan/plan.h"

void segmentation_model(const plan *plan, model_options *options);

/* The same for prediction: only the head of the full resolution. */
status_code segmentation_model_open(const plan *plan, const graph_options *options, graph **graph, failure *failure);

#endif
