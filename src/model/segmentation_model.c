#include "model/segmentation_model.h"

#include <string.h>

void segmentation_model(const plan *plan, model_options *options) {
    *options = (model_options){.kind = MODEL_UNET,
                               .input = {1, {plan->patch[0], plan->patch[1], plan->patch[2]}, plan->channels},
                               .classes = plan->classes,
                               .unet_levels = plan->topology.count,
                               .unet_base = plan->topology.stages[0].features,
                               .unet_cap = TOPOLOGY_MAX_FEATURES,
                               /* As nnU-Net has them since version 2. */
                               .unet_bias = plan->bias || plan->labels.regions > 0 || plan->model.residual};
    for (int level = 0; level < plan->topology.count; level++) {
        options->unet_features[level] = plan->topology.stages[level].features;
        options->unet_blocks[level] = plan->topology.stages[level].blocks;
        memcpy(options->unet_kernel[level], plan->topology.stages[level].kernel, sizeof options->unet_kernel[level]);
        memcpy(options->unet_stride[level], plan->topology.stages[level].stride, sizeof options->unet_stride[level]);
    }
}

status_code segmentation_model_open(const plan *plan, const graph_options *options, graph **graph, failure *failure) {
    model_options model;
    segmentation_model(plan, &model);
    model.unet_heads = 0;
    return model_open(&model, options, graph, failure);
}
