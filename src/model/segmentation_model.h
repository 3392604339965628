/* The network that a plan describes. */
#ifndef HWS_MODEL_SEGMENTATION_MODEL_H
#define HWS_MODEL_SEGMENTATION_MODEL_H

#include "model/model.h"
#include "plan/plan.h"

void segmentation_model(const plan *plan, model_options *options);

#endif
