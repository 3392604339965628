/* What nnU-Net's plans.json and dataset.json say, as a plan of ours. */
#ifndef HWS_NNUNET_NNUNET_PLAN_H
#define HWS_NNUNET_NNUNET_PLAN_H

#include "core/text.h"
#include "plan/plan.h"

/* The network's axis k is axis order[k] of the image (depth, height, width): nnU-Net's transpose_forward. In 2D the
   network's axes are 1 and 2; slices lie along axis 0. */
typedef struct nnunet_axes {
    int order[3];
    int dimensions; /* 3 or 2 */
} nnunet_axes;

/* Reads both files of a model folder for one configuration ("3d_fullres"), whose `mirrored` axes (of the network) were
   mirrored in training: bit k for axis k. What we cannot do as nnU-Net does it is refused by its name. `names` of the
   network's outputs are one memory block that the caller frees; NULL after a failure. */
status_code nnunet_plan_read(const char *folder, const char *configuration, unsigned mirrored, plan *plan,
                             nnunet_axes *axes, char ***names, failure *failure);

/* The axes that nnU-Net would give the plan: the one across slices first. */
nnunet_axes nnunet_plan_axes(const plan *plan);

/* The other way: both files as text, for the configuration of this name. */
const char *nnunet_configuration(const plan *plan);
void nnunet_plan_format(const plan *plan, text *plans);
#define NNUNET_BACKGROUND "background"
void nnunet_dataset_format(const plan *plan, char *const *names, text *dataset);

#endif
