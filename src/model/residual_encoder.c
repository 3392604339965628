/*
 * nnU-Net's residual encoder: a stem of one convolution, then levels of residual blocks. A block adds two convolutions,
 * the second without activation, to its input, and activates the sum. Where its first convolution has a stride, the
 * input is averaged over it; where features differ, a 1x1x1 convolution with a norm follows.
 */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

tensor residual_encoder_stem(graph *g, const model_options *options, tensor x) {
    const unet_layer stem = {.name = "stem", .level = 0, .second = NO_TENSOR, .residual = NO_TENSOR};
    return unet_convolve(g, options, &stem, x);
}

/* What a block's convolutions are added to. */
static tensor shortcut(graph *g, const char *block, const int *stride, int features, int changes, tensor x) {
    char name[64];
    if (stride) x = graph_average_pool(g, x, stride);
    if (!changes) return x;
    snprintf(name, sizeof name, "%s.skip.conv", block);
    x = graph_convolution(g, name, x, &(convolution_options){.features = features, .kernel = {1, 1, 1}});
    graph_begin_he(g, x, UNET_SLOPE);
    snprintf(name, sizeof name, "%s.skip.norm", block);
    return graph_norm(g, name, x, &(norm_options){.kind = NORM_INSTANCE, .slope = 1});
}

static tensor residual_block(graph *g, const model_options *options, int level, int index, tensor x) {
    const int first = level > 0 && index == 0, features = unet_level_features(options, level);
    const int *stride = first ? options->unet_stride[level] : NULL;
    const int strides = first && (stride[0] > 1 || stride[1] > 1 || stride[2] > 1);
    const int changes = first && unet_level_features(options, level - 1) != features;
    char block[32], name[48];
    snprintf(block, sizeof block, "encoder.%d.%d", level, index);
    const tensor skip = shortcut(g, block, strides ? stride : NULL, features, changes, x);
    snprintf(name, sizeof name, "%s.conv1", block);
    unet_layer layer = {.name = name, .level = level, .stride = stride, .second = NO_TENSOR, .residual = NO_TENSOR};
    x = unet_convolve(g, options, &layer, x);
    snprintf(name, sizeof name, "%s.conv2", block);
    layer.stride = NULL;
    layer.residual = skip;
    return unet_convolve(g, options, &layer, x);
}

tensor residual_encoder_level(graph *g, const model_options *options, int level, tensor x) {
    for (int index = 0; index < options->unet_blocks[level]; index++) x = residual_block(g, options, level, index, x);
    return x;
}
